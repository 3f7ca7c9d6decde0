/*
 * The encoder's memory, which doubles up to the largest message. A loop keeps that of its last one:
 * most messages are small, and are copied to a page when they are encoded.
 */
#include "remote/message/encoder.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"

enum { ROOM_FIRST = 256, KEPT_BYTES_MAX = 4096 };

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

void gy_encoder_begin(struct gyre_encoder *out, struct gyre_encoder *kept, size_t max)
{
	*out = (struct gyre_encoder){ .bytes = kept->bytes, .room = kept->room, .max = max };
	*kept = (struct gyre_encoder){ 0 };
}

void gy_encoder_end(struct gyre_encoder *out, struct gyre_encoder *kept)
{
	if (kept->bytes != NULL || out->room > KEPT_BYTES_MAX) {
		gy_encoder_fini(out);
	} else {
		*kept = (struct gyre_encoder){ .bytes = out->bytes, .room = out->room };
	}
}
