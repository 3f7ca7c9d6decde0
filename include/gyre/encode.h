/*
 * Encoding: how messages with pointers travel between nodes. A message without pointers travels as
 * its bytes and needs none of this.
 *
 *	static int encode_order(const void *payload, struct gyre_encoder *out)
 *	{
 *		const struct order *order = payload;
 *
 *		gyre_encode_u32(out, order->count);
 *		gyre_encode_text(out, order->customer);
 *		return 0;
 *	}
 *
 * Numbers are little-endian. An encoder without memory, and a decoder with too few bytes, remember
 * the error: all further calls do nothing, and the message fails as a whole. So calls need not be
 * checked one by one, except before a decoded number decides how much is allocated.
 */
#ifndef GYRE_ENCODE_H
#define GYRE_ENCODE_H

#include <errno.h>
#include <string.h>

#include <gyre/message.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_encoder - bytes that grow; made by gyre, or zeroed with @max set
 * @bytes: the bytes so far
 * @count: how many bytes there are
 * @room: how many bytes @bytes can hold
 * @max: how many bytes there may be
 * @error: 0, or why it failed: -EMSGSIZE over @max, -ENOMEM
 */
struct gyre_encoder {
	unsigned char *bytes;
	size_t count;
	size_t room;
	size_t max;
	int error;
};

/**
 * struct gyre_decoder - bytes that are read from their front
 * @at: the next byte
 * @left: how many bytes are left
 * @error: 0, or -EPROTO if there were too few bytes
 */
struct gyre_decoder {
	const unsigned char *at;
	size_t left;
	int error;
};

/**
 * gyre_encode_fn - writes a payload as bytes
 * @payload: the message
 * @out: the encoder
 *
 * Runs on the sender's loop, in phase 2 or 3, inside gyre_notify(), gyre_ask() or what answers, and
 * on several loops at once; it is not re-entered on one, there is no last call, and it must not
 * call gyre except for gyre_encode_*(). A negative errno, or the encoder's error, fails the send
 * with it.
 */
typedef int (*gyre_encode_fn)(const void *payload, struct gyre_encoder *out);

/**
 * gyre_decode_fn - makes a payload of bytes, which cannot be trusted
 * @payload: zeroed memory of the type's size
 * @in: the decoder
 *
 * Runs on the loop of a link, in phase 2, and on several loops at once; it is not re-entered on
 * one, there is no last call, and it must not call gyre except for gyre_decode_*(). A negative
 * errno, an error of the decoder, or bytes that are left over fail the message with -EPROTO; the
 * destructor of the type is then called for the payload so far.
 */
typedef int (*gyre_decode_fn)(void *payload, struct gyre_decoder *in);

/**
 * struct gyre_encoding - how messages of a type travel
 * @version: of the layout; nodes with different ones do not understand each other's messages
 * @encode: encodes a payload; NULL for messages that travel as their bytes
 * @decode: decodes a payload; NULL for messages that travel as their bytes
 */
struct gyre_encoding {
	uint32_t version;
	gyre_encode_fn encode;
	gyre_decode_fn decode;
};

/**
 * GYRE_MESSAGE_ENCODED() - declares struct NAME as a message with an encoding
 * @NAME: as for GYRE_MESSAGE()
 * @ID: as for GYRE_MESSAGE()
 * @ENCODING: the name of a static const struct gyre_encoding
 * @...: the destructor, and perhaps a function that copies, as for GYRE_MESSAGE_OWNING()
 */
#define GYRE_MESSAGE_ENCODED(NAME, ID, ENCODING, ...)                                     \
	GYRE_OWNING_(NAME, __VA_ARGS__)                                                   \
	GYRE_NOTICE_(NAME)                                                                \
	GYRE_TYPE_(NAME, ID, gyre_destroy_##NAME, GYRE_COPY_OF_(NAME, __VA_ARGS__), NULL, \
		   sizeof(ENCODING), &(ENCODING))

/** GYRE_MESSAGE_VERSIONED() - as GYRE_MESSAGE(), with an encoding that only has a version */
#define GYRE_MESSAGE_VERSIONED(NAME, ID, ENCODING) \
	GYRE_NOTICE_(NAME)                         \
	GYRE_TYPE_(NAME, ID, NULL, NULL, NULL, sizeof(ENCODING), &(ENCODING))

/**
 * gyre_encode_bytes() - appends bytes
 * @out: the encoder
 * @bytes: the bytes, which are copied; may be NULL when @count is 0
 * @count: how many bytes
 *
 * The encoder remembers an error, and the message then fails with it.
 *
 * Errors:
 *   -EMSGSIZE  there would be more than its maximum
 *   -ENOMEM    there is no memory
 * Ownership: @bytes stays the caller's.
 * Context: any thread, inside an encode function.
 * Since: 0.1
 */
GYRE_API void gyre_encode_bytes(struct gyre_encoder *out, const void *bytes, size_t count);

/** gyre_encode_u8() - appends a byte */
static inline void gyre_encode_u8(struct gyre_encoder *out, uint8_t value)
{
	gyre_encode_bytes(out, &value, sizeof(value));
}

/** gyre_encode_u32() - appends a number of 32 bits */
static inline void gyre_encode_u32(struct gyre_encoder *out, uint32_t value)
{
	unsigned char bytes[4];

	for (int i = 0; i < 4; i++) {
		bytes[i] = (unsigned char)(value >> (8 * i));
	}
	gyre_encode_bytes(out, bytes, sizeof(bytes));
}

/** gyre_encode_u64() - appends a number of 64 bits */
static inline void gyre_encode_u64(struct gyre_encoder *out, uint64_t value)
{
	gyre_encode_u32(out, (uint32_t)value);
	gyre_encode_u32(out, (uint32_t)(value >> 32));
}

/** gyre_encode_text() - appends a string with its length before it; NULL as an empty one */
static inline void gyre_encode_text(struct gyre_encoder *out, const char *text)
{
	size_t count = text == NULL ? 0 : strlen(text);

	gyre_encode_u32(out, (uint32_t)count);
	gyre_encode_bytes(out, text, count);
}

/** gyre_decode_view() - the next @count bytes where they stand, valid during the call; or NULL */
static inline const void *gyre_decode_view(struct gyre_decoder *in, size_t count)
{
	const unsigned char *at = in->at;

	if (in->error != 0 || count > in->left) {
		in->error = -EPROTO;
		return NULL;
	}
	in->at += count;
	in->left -= count;
	return at;
}

/** gyre_decode_bytes() - copies the next @count bytes to @to; false when there are too few */
static inline bool gyre_decode_bytes(struct gyre_decoder *in, void *to, size_t count)
{
	const void *from = gyre_decode_view(in, count);

	if (from != NULL && count > 0) {
		memcpy(to, from, count);
	}
	return from != NULL;
}

/** gyre_decode_u8() - the next byte; 0 when there is none */
static inline uint8_t gyre_decode_u8(struct gyre_decoder *in)
{
	uint8_t value = 0;

	(void)gyre_decode_bytes(in, &value, sizeof(value));
	return value;
}

/** gyre_decode_u32() - the next number of 32 bits; 0 when there are too few bytes */
static inline uint32_t gyre_decode_u32(struct gyre_decoder *in)
{
	unsigned char bytes[4] = { 0 };

	(void)gyre_decode_bytes(in, bytes, sizeof(bytes));
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/** gyre_decode_u64() - the next number of 64 bits; 0 when there are too few bytes */
static inline uint64_t gyre_decode_u64(struct gyre_decoder *in)
{
	uint64_t low = gyre_decode_u32(in);

	return low | (uint64_t)gyre_decode_u32(in) << 32;
}

/** gyre_decode_text() - the next string where it stands, without a final 0; NULL for none */
static inline const char *gyre_decode_text(struct gyre_decoder *in, size_t *ret_count)
{
	uint32_t count = gyre_decode_u32(in);
	const char *text = (const char *)gyre_decode_view(in, count);

	*ret_count = text == NULL ? 0 : count;
	return text;
}

GYRE_END_DECLS

#endif
