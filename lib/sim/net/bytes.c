/*
 * The bytes that a socket's buffer holds: appended at one end and dropped at the other, in one
 * piece of memory, so that they can be sent and read without a seam.
 */
#include <string.h>

#include "base/assert.h"
#include "sim/net/stream.h"

enum { ROOM_MIN = 4096 };

static void make_room(struct gy_sim_bytes *bytes, size_t count)
{
	size_t room = bytes->room < ROOM_MIN ? ROOM_MIN : bytes->room;
	unsigned char *memory = bytes->memory;

	if (bytes->from + bytes->count + count <= bytes->room) {
		return;
	}
	while (room < bytes->count + count) {
		room *= 2;
	}
	if (room > bytes->room) {
		memory = (unsigned char *)gy_sim_get(room);
	}
	if (bytes->count > 0) {
		memmove(memory, bytes->memory + bytes->from, bytes->count);
	}
	if (memory != bytes->memory) {
		gy_sim_put(bytes->memory);
	}
	*bytes = (struct gy_sim_bytes){ .memory = memory, .room = room, .count = bytes->count };
}

void gy_sim_bytes_append(struct gy_sim_bytes *bytes, const void *more, size_t count)
{
	if (count > 0) {
		make_room(bytes, count);
		memcpy(bytes->memory + bytes->from + bytes->count, more, count);
		bytes->count += count;
	}
}

void gy_sim_bytes_append_slices(struct gy_sim_bytes *bytes, const struct iovec *slices,
				uint32_t slices_count, size_t count)
{
	if (count > 0) {
		make_room(bytes, count);
		bytes->count += gy_sim_gather(slices, slices_count, 0,
					      bytes->memory + bytes->from + bytes->count, count);
	}
}

void gy_sim_bytes_drop(struct gy_sim_bytes *bytes, size_t count)
{
	gy_assert(count <= bytes->count);
	bytes->count -= count;
	bytes->from = bytes->count == 0 ? 0 : bytes->from + count;
}

void gy_sim_bytes_fini(struct gy_sim_bytes *bytes)
{
	gy_sim_put(bytes->memory);
	*bytes = (struct gy_sim_bytes){ 0 };
}
