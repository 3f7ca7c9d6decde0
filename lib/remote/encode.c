/*
 * The encoder's memory, which doubles, and what a decoder allocates. What a peer says about lengths
 * is held against the bytes that are there before anything is allocated.
 */
#include <errno.h>
#include <stdlib.h>

#include <gyre/encode.h>

#include "base/memory.h"
#include "remote/wire.h"

enum { ROOM_FIRST = 256 };

static bool make_room(struct gyre_encoder *out, size_t count)
{
	size_t room = out->room == 0 ? ROOM_FIRST : out->room;
	unsigned char *bytes;

	while (room < count) {
		room *= 2;
	}
	bytes = (unsigned char *)gy_memory_resize(out->bytes, out->count, room);
	if (bytes == NULL) {
		out->error = -ENOMEM;
		return false;
	}
	out->bytes = bytes;
	out->room = room;
	return true;
}

void gyre_encode_bytes(struct gyre_encoder *out, const void *bytes, size_t count)
{
	if (out->error != 0 || count == 0) {
		return;
	}
	if (count > out->max - out->count) {
		out->error = -EMSGSIZE;
		return;
	}
	if (out->count + count <= out->room || make_room(out, out->count + count)) {
		memcpy(out->bytes + out->count, bytes, count);
		out->count += count;
	}
}

void gy_encoder_fini(struct gyre_encoder *out)
{
	gy_memory_put(out->bytes);
	*out = (struct gyre_encoder){ 0 };
}

char *gyre_decode_text(struct gyre_decoder *in)
{
	uint32_t count = gyre_decode_u32(in);
	const char *from = (const char *)gyre_decode_view(in, count);
	char *text;

	if (from == NULL || memchr(from, '\0', count) != NULL) {
		in->error = -EPROTO;
		return NULL;
	}
	text = (char *)malloc((size_t)count + 1);
	if (text == NULL) {
		in->error = -ENOMEM;
		return NULL;
	}
	memcpy(text, from, count);
	text[count] = '\0';
	return text;
}
