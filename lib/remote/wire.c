/*
 * The rarer frames to bytes and back; those of messages are in the header. Nothing is believed:
 * what is read is in bounds, or it is no frame.
 */
#include "remote/wire.h"

enum {
	FRAGMENT_HEAD_BYTES = 12,
	MAGIC = 0x65727967, /* "gyre" */
	PROVES = 1,
	TELLS_ADDRESS = 2,
};

const uint8_t gy_wire_heads[GY_WIRE_KIND_MASK + 1] = {
	[GY_WIRE_HELLO] = GY_WIRE_WORD_BYTES,	   [GY_WIRE_PROOF] = GY_WIRE_WORD_BYTES,
	[GY_WIRE_REFUSE] = GY_WIRE_WORD_BYTES,	   [GY_WIRE_PING] = GY_WIRE_WORD_BYTES,
	[GY_WIRE_CREDIT] = GY_WIRE_WORD_BYTES,	   [GY_WIRE_NOTICE] = GY_WIRE_HEAD_BYTES,
	[GY_WIRE_EVENT] = GY_WIRE_HEAD_BYTES_MAX,  [GY_WIRE_ASK] = GY_WIRE_HEAD_BYTES_MAX,
	[GY_WIRE_REPLY] = GY_WIRE_HEAD_BYTES_MAX,  [GY_WIRE_EXCEPTION] = GY_WIRE_HEAD_BYTES_MAX,
	[GY_WIRE_LOOKUP] = GY_WIRE_HEAD_BYTES_MAX, [GY_WIRE_FRAGMENT] = FRAGMENT_HEAD_BYTES,
	[GY_WIRE_CLOSE] = GY_WIRE_WORD_BYTES,	   [GY_WIRE_REPEAT] = GY_WIRE_WORD_BYTES,
	[GY_WIRE_REACH] = GY_WIRE_WORD_BYTES,	   [GY_WIRE_REPEAT_ID] = GY_WIRE_REPEAT_ID_BYTES,
};

/* ---- fragments ---- */

void gy_wire_put_fragment(const struct gy_fragment *fragment, uint32_t bytes, unsigned char *out)
{
	const uint32_t words[] = {
		htole32((uint32_t)GY_WIRE_FRAGMENT << GY_WIRE_KIND_SHIFT | bytes),
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
	uint8_t address_bytes = (uint8_t)strlen(hello->address);
	uint32_t word;

	gyre_encode_u32(&body, MAGIC);
	encode_u16(&body, hello->version_min);
	encode_u16(&body, hello->version_max);
	encode_u16(&body, hello->node);
	encode_u16(&body, hello->expected);
	gyre_encode_u64(&body, hello->incarnation);
	gyre_encode_u32(&body, hello->over);
	encode_u16(&body, hello->loop);
	encode_u16(&body, hello->port);
	encode_u16(&body, (hello->proves ? PROVES : 0) | (address_bytes > 0 ? TELLS_ADDRESS : 0));
	gyre_encode_u32(&body, hello->message_bytes_max);
	gyre_encode_u32(&body, hello->window_bytes);
	gyre_encode_u64(&body, hello->dial);
	gyre_encode_bytes(&body, hello->nonce, sizeof(hello->nonce));
	gyre_encode_u8(&body, name_bytes);
	gyre_encode_bytes(&body, hello->cluster, name_bytes);
	if (address_bytes > 0) {
		gyre_encode_u8(&body, address_bytes);
		gyre_encode_bytes(&body, hello->address, address_bytes);
	}
	gy_assert(body.error == 0);
	word = htole32((uint32_t)GY_WIRE_HELLO << GY_WIRE_KIND_SHIFT | (uint32_t)body.count);
	memcpy(out, &word, sizeof(word));
	return GY_WIRE_WORD_BYTES + (uint32_t)body.count;
}

/* A text that is not empty. */
static bool decode_address(struct gyre_decoder *in, char address[GYRE_SOCKET_ADDRESS_TEXT_MAX])
{
	uint8_t bytes = gyre_decode_u8(in);

	return bytes > 0 && bytes < GYRE_SOCKET_ADDRESS_TEXT_MAX &&
	       gyre_decode_bytes(in, address, bytes) && strlen(address) == bytes;
}

int gy_hello_get(const unsigned char *body, size_t count, struct gy_hello *ret_hello)
{
	struct gyre_decoder in = { .at = body, .left = count };
	uint32_t magic = gyre_decode_u32(&in);
	struct gy_hello hello = { 0 };
	uint8_t name_bytes;
	uint16_t flags;

	hello.version_min = decode_u16(&in);
	hello.version_max = decode_u16(&in);
	hello.node = decode_u16(&in);
	if (in.error == 0 && magic == MAGIC && hello.version_max < GY_WIRE_VERSION_MIN) {
		*ret_hello = hello; /* the rest may be in another form */
		return 0;
	}
	hello.expected = decode_u16(&in);
	hello.incarnation = gyre_decode_u64(&in);
	hello.over = gyre_decode_u32(&in);
	hello.loop = decode_u16(&in);
	hello.port = decode_u16(&in);
	flags = decode_u16(&in);
	hello.proves = (flags & PROVES) != 0;
	hello.message_bytes_max = gyre_decode_u32(&in);
	hello.window_bytes = gyre_decode_u32(&in);
	hello.dial = gyre_decode_u64(&in);
	(void)gyre_decode_bytes(&in, hello.nonce, sizeof(hello.nonce));
	name_bytes = gyre_decode_u8(&in);
	if (name_bytes > GYRE_NODE_NAME_BYTES_MAX ||
	    !gyre_decode_bytes(&in, hello.cluster, name_bytes) || magic != MAGIC ||
	    ((flags & TELLS_ADDRESS) != 0 && !decode_address(&in, hello.address))) {
		return -EPROTO;
	}
	*ret_hello = hello;
	return 0;
}

/* ---- whether the dialler can be dialled ---- */

static bool is_printable(char letter)
{
	return letter > ' ' && letter <= '~';
}

uint32_t gy_reach_put(const struct gy_reach *reach, unsigned char *out)
{
	uint32_t letters = (uint32_t)strnlen(reach->address, GY_REACH_TEXT_BYTES_MAX);
	struct gyre_encoder body = { .bytes = out + GY_WIRE_WORD_BYTES,
				     .room = GY_REACH_BYTES_MAX - GY_WIRE_WORD_BYTES,
				     .max = GY_REACH_BYTES_MAX - GY_WIRE_WORD_BYTES };
	uint32_t word;

	gyre_encode_u32(&body, (uint32_t)reach->error);
	gyre_encode_u32(&body, reach->left_ms);
	gyre_encode_bytes(&body, reach->address, letters);
	gy_assert(body.error == 0);
	word = htole32((uint32_t)GY_WIRE_REACH << GY_WIRE_KIND_SHIFT | (uint32_t)body.count);
	memcpy(out, &word, sizeof(word));
	return GY_WIRE_WORD_BYTES + (uint32_t)body.count;
}

int gy_reach_get(const unsigned char *body, size_t count, struct gy_reach *ret_reach)
{
	struct gyre_decoder in = { .at = body, .left = count };
	struct gy_reach reach = { .error = (int)gyre_decode_u32(&in),
				  .left_ms = gyre_decode_u32(&in) };

	if (in.error != 0 || reach.error > 0 || reach.error < -GY_WIRE_ERRNO_MAX ||
	    in.left > GY_REACH_TEXT_BYTES_MAX) {
		return -EPROTO;
	}
	for (size_t i = 0; i < in.left; i++) {
		char letter = (char)in.at[i];

		reach.address[i] = is_printable(letter) ? letter : '?';
	}
	*ret_reach = reach;
	return 0;
}
