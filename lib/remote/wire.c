/*
 * Frames to bytes and back. Nothing is believed: what is read is in bounds, or it is no frame.
 */
#include "remote/wire.h"

#include <endian.h>
#include <errno.h>

enum {
	KIND_SHIFT = 24,
	BODY_MASK = (1 << KIND_SHIFT) - 1,
	HEAD_BYTES = 32,
	HEAD_WITH_ID_BYTES = 40,
	FRAGMENT_HEAD_BYTES = 12,
	MAGIC = 0x65727967, /* "gyre" */
	HAS_SECRET = 1,
};

static const uint8_t head_bytes[GY_WIRE_KINDS] = {
	[GY_WIRE_HELLO] = GY_WIRE_WORD_BYTES,  [GY_WIRE_PROOF] = GY_WIRE_WORD_BYTES,
	[GY_WIRE_REFUSE] = GY_WIRE_WORD_BYTES, [GY_WIRE_PING] = GY_WIRE_WORD_BYTES,
	[GY_WIRE_CREDIT] = GY_WIRE_WORD_BYTES, [GY_WIRE_NOTICE] = HEAD_BYTES,
	[GY_WIRE_EVENT] = HEAD_WITH_ID_BYTES,  [GY_WIRE_ASK] = HEAD_WITH_ID_BYTES,
	[GY_WIRE_REPLY] = HEAD_WITH_ID_BYTES,  [GY_WIRE_EXCEPTION] = HEAD_WITH_ID_BYTES,
	[GY_WIRE_LOOKUP] = HEAD_WITH_ID_BYTES, [GY_WIRE_FRAGMENT] = FRAGMENT_HEAD_BYTES,
	[GY_WIRE_BYE] = GY_WIRE_WORD_BYTES,
};

/* The head as it stands on the wire. */
struct head {
	uint32_t word;
	uint16_t to_loop;
	uint16_t from_loop;
	uint32_t to_slot;
	uint32_t to_cookie;
	uint32_t from_slot;
	uint32_t from_cookie;
	uint32_t type;
	uint16_t layout;
	uint16_t left;
	uint64_t ask_id;
};

_Static_assert(sizeof(struct head) == HEAD_WITH_ID_BYTES, "no padding");
_Static_assert(offsetof(struct head, ask_id) == HEAD_BYTES, "the rest is the shorter head");

uint32_t gy_wire_head_bytes(enum gy_wire_kind kind)
{
	return (uint32_t)kind < GY_WIRE_KINDS ? head_bytes[kind] : 0;
}

bool gy_wire_is_message(const unsigned char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return gy_wire_head_bytes((enum gy_wire_kind)(le32toh(word) >> KIND_SHIFT)) >= HEAD_BYTES;
}

uint32_t gy_wire_put(const struct gy_frame *frame, unsigned char *out)
{
	const struct head head = {
		.word = htole32((uint32_t)frame->kind << KIND_SHIFT | frame->bytes),
		.to_loop = htole16(frame->to_loop),
		.from_loop = htole16(frame->from_loop),
		.to_slot = htole32(frame->to_slot),
		.to_cookie = htole32(frame->to_cookie),
		.from_slot = htole32(frame->from_slot),
		.from_cookie = htole32(frame->from_cookie),
		.type = htole32(frame->type),
		.layout = htole16(frame->layout),
		.left = htole16(frame->left),
		.ask_id = htole64(frame->ask_id),
	};

	memcpy(out, &head, sizeof(head));
	return head_bytes[frame->kind];
}

int64_t gy_wire_bytes(const unsigned char *bytes, size_t count)
{
	uint32_t word;
	uint32_t head;
	uint32_t body;

	if (count < sizeof(word)) {
		return 0;
	}
	memcpy(&word, bytes, sizeof(word));
	word = le32toh(word);
	head = gy_wire_head_bytes((enum gy_wire_kind)(word >> KIND_SHIFT));
	body = word & BODY_MASK;
	return head == 0 || body > GY_WIRE_BODY_BYTES_MAX ? -EPROTO : (int64_t)head + body;
}

void gy_wire_get(const unsigned char *bytes, struct gy_frame *ret_frame)
{
	struct head head = { 0 };
	uint32_t count;

	memcpy(&head.word, bytes, sizeof(head.word));
	head.word = le32toh(head.word);
	count = head_bytes[head.word >> KIND_SHIFT];
	if (count >= HEAD_BYTES) {
		memcpy(&head.to_loop, bytes + sizeof(head.word), HEAD_BYTES - sizeof(head.word));
	}
	if (count == HEAD_WITH_ID_BYTES) {
		memcpy(&head.ask_id, bytes + HEAD_BYTES, sizeof(head.ask_id));
	}
	*ret_frame = (struct gy_frame){
		.kind = (enum gy_wire_kind)(head.word >> KIND_SHIFT),
		.bytes = head.word & BODY_MASK,
		.body = bytes + count,
		.to_loop = le16toh(head.to_loop),
		.from_loop = le16toh(head.from_loop),
		.to_slot = le32toh(head.to_slot),
		.to_cookie = le32toh(head.to_cookie),
		.from_slot = le32toh(head.from_slot),
		.from_cookie = le32toh(head.from_cookie),
		.type = le32toh(head.type),
		.layout = le16toh(head.layout),
		.left = le16toh(head.left),
		.ask_id = le64toh(head.ask_id),
	};
}

/* ---- fragments ---- */

void gy_wire_put_fragment(const struct gy_fragment *fragment, uint32_t bytes, unsigned char *out)
{
	const uint32_t words[] = {
		htole32((uint32_t)GY_WIRE_FRAGMENT << KIND_SHIFT | bytes),
		htole32(fragment->stream),
		htole32(fragment->left),
	};

	memcpy(out, words, sizeof(words));
}

struct gy_fragment gy_wire_get_fragment(const struct gy_frame *frame)
{
	uint32_t words[2];

	memcpy(words, frame->body - sizeof(words), sizeof(words));
	return (struct gy_fragment){ .stream = le32toh(words[0]), .left = le32toh(words[1]) };
}

/* ---- times ---- */

enum { MANTISSA_BITS = 11, EXPONENT_MAX = 31 };

uint16_t gy_wire_left_encode(uint64_t units)
{
	const uint64_t mantissa_max = (1 << MANTISSA_BITS) - 1;
	uint64_t exponent = 0;

	while (units > mantissa_max && exponent < EXPONENT_MAX) {
		units = units / 2 + units % 2;
		exponent++;
	}
	units = units < mantissa_max ? units : mantissa_max;
	return (uint16_t)(exponent << MANTISSA_BITS | units);
}

uint64_t gy_wire_left_decode(uint16_t left)
{
	return (uint64_t)(left & ((1 << MANTISSA_BITS) - 1)) << (left >> MANTISSA_BITS);
}

/* ---- the hello ---- */

static void encode_u16(struct gyre_encoder *out, uint16_t value)
{
	gyre_encode_u8(out, (uint8_t)value);
	gyre_encode_u8(out, (uint8_t)(value >> 8));
}

static uint16_t decode_u16(struct gyre_decoder *in)
{
	uint16_t low = gyre_decode_u8(in);

	return (uint16_t)(low | gyre_decode_u8(in) << 8);
}

uint32_t gy_hello_put(const struct gy_hello *hello, unsigned char *out)
{
	struct gyre_encoder body = { .bytes = out + GY_WIRE_WORD_BYTES,
				     .room = GY_HELLO_BYTES_MAX - GY_WIRE_WORD_BYTES,
				     .max = GY_HELLO_BYTES_MAX - GY_WIRE_WORD_BYTES };
	uint8_t name_bytes = (uint8_t)strlen(hello->cluster);
	uint32_t word;

	gyre_encode_u32(&body, MAGIC);
	encode_u16(&body, hello->version_min);
	encode_u16(&body, hello->version_max);
	encode_u16(&body, hello->node);
	encode_u16(&body, hello->expected);
	gyre_encode_u64(&body, hello->incarnation);
	encode_u16(&body, hello->loop);
	encode_u16(&body, hello->port);
	encode_u16(&body, hello->has_secret ? HAS_SECRET : 0);
	gyre_encode_u32(&body, hello->message_bytes_max);
	gyre_encode_u32(&body, hello->window_bytes);
	gyre_encode_bytes(&body, hello->nonce, sizeof(hello->nonce));
	gyre_encode_u8(&body, name_bytes);
	gyre_encode_bytes(&body, hello->cluster, name_bytes);
	gy_assert(body.error == 0);
	word = htole32((uint32_t)GY_WIRE_HELLO << KIND_SHIFT | (uint32_t)body.count);
	memcpy(out, &word, sizeof(word));
	return GY_WIRE_WORD_BYTES + (uint32_t)body.count;
}

int gy_hello_get(const unsigned char *body, size_t count, struct gy_hello *ret_hello)
{
	struct gyre_decoder in = { .at = body, .left = count };
	uint32_t magic = gyre_decode_u32(&in);
	struct gy_hello hello = { 0 };
	uint8_t name_bytes;

	hello.version_min = decode_u16(&in);
	hello.version_max = decode_u16(&in);
	hello.node = decode_u16(&in);
	hello.expected = decode_u16(&in);
	hello.incarnation = gyre_decode_u64(&in);
	hello.loop = decode_u16(&in);
	hello.port = decode_u16(&in);
	hello.has_secret = (decode_u16(&in) & HAS_SECRET) != 0;
	hello.message_bytes_max = gyre_decode_u32(&in);
	hello.window_bytes = gyre_decode_u32(&in);
	(void)gyre_decode_bytes(&in, hello.nonce, sizeof(hello.nonce));
	name_bytes = gyre_decode_u8(&in);
	if (name_bytes > GYRE_NODE_NAME_BYTES_MAX ||
	    !gyre_decode_bytes(&in, hello.cluster, name_bytes) || magic != MAGIC) {
		return -EPROTO;
	}
	*ret_hello = hello;
	return 0;
}
