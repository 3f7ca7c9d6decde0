/*
 * Frames from any bytes, as a link reads them. What is a frame is in bounds, and taken apart and
 * put together again it is the same; what is a fragment has its head; what says whether the dialler
 * can be dialled has an errno and a text that can be printed; the lengths of all frames add up to
 * no more than what there was.
 */
#include <stdlib.h>
#include <string.h>

#include "remote/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void take_reach(const struct gy_frame *frame)
{
	unsigned char bytes[GY_REACH_BYTES_MAX];
	struct gy_reach reach = { .left_ms = 77 };
	struct gy_reach again;
	uint32_t count;

	if (gy_reach_get(frame->body, frame->bytes, &reach) < 0) {
		check(reach.left_ms == 77);
		return;
	}
	count = gy_reach_put(&reach, bytes);
	check(reach.error <= 0 && count <= sizeof(bytes) && gy_wire_bytes(bytes, count) == count);
	check(gy_reach_get(bytes + GY_WIRE_WORD_BYTES, count - GY_WIRE_WORD_BYTES, &again) == 0);
	check(again.error == reach.error && again.left_ms == reach.left_ms &&
	      strcmp(again.address, reach.address) == 0);
	for (const char *at = reach.address; *at != '\0'; at++) {
		check(*at > ' ' && *at <= '~');
	}
}

static void take(const uint8_t *bytes, size_t length)
{
	unsigned char again[GY_WIRE_HEAD_BYTES_MAX];
	struct gy_frame frame;
	uint32_t head;

	gy_wire_get(bytes, &frame);
	head = gy_wire_head_bytes(frame.kind);
	check(head + (size_t)frame.bytes == length);
	check(frame.body == bytes + head);
	check(frame.bytes <= GY_WIRE_BODY_BYTES_MAX);
	if (frame.kind == GY_WIRE_FRAGMENT) {
		struct gy_fragment fragment = gy_wire_get_fragment(&frame);

		gy_wire_put_fragment(&fragment, frame.bytes, again);
		check(memcmp(again, bytes, head) == 0);
		return;
	}
	if (frame.kind == GY_WIRE_REACH) {
		take_reach(&frame);
	}
	check(gy_wire_put(&frame, again) == head);
	check(memcmp(again, bytes, head) == 0);
	check(gy_wire_left_encode(gy_wire_left_decode(frame.left)) <= frame.left);
	check(gy_wire_left_decode(gy_wire_left_encode(frame.ask_id)) >= frame.ask_id ||
	      frame.ask_id >> 40 != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0;

	for (;;) {
		int64_t length = gy_wire_bytes(data + at, size - at);

		check(length != 0 || size - at < GY_WIRE_WORD_BYTES);
		if (length <= 0 || (size_t)length > size - at) {
			return 0;
		}
		take(data + at, (size_t)length);
		at += (size_t)length;
	}
}
