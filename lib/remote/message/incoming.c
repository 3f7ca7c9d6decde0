/*
 * Bytes to frames. A frame that lies in one slice is read where it stands; the parts of any other
 * are copied together, each once, so that no slice waits for the next one. Until the peer has
 * proved what it is, nothing is kept for it but a small frame.
 */
#include "remote/message/incoming.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"
#include "channel/channel.h"
#include "remote/link/link.h"
#include "remote/link/link_handshake.h"
#include "remote/message/receive.h"
#include "remote/message/receive_run.h"
#include "remote/node.h"
#include "remote/peer/peer_state.h"

/* ---- frames ---- */

static void take(struct gy_link *link, const unsigned char *bytes, uint32_t count)
{
	struct gy_frame frame;
	int r = 0;

	gy_wire_get(bytes, &frame);
	if (gy_likely(gy_link_can_send(link))) {
		r = gy_receive(link, &frame, count);
	} else {
		gy_link_handshake_receive(link, &frame);
	}
	if (gy_unlikely(r < 0)) {
		gy_link_abort(link, r);
	}
}

/* The frames that lie in the slice as a whole. How many bytes, or -EPROTO. */
static int64_t take_slice(struct gy_link *link, const unsigned char *bytes, size_t count)
{
	size_t at = 0;

	while (link->stage != GY_LINK_STAGE_ENDED) {
		int64_t length;

		at += gy_receive_run(link, bytes + at, count - at);
		length = gy_wire_bytes(bytes + at, count - at);
		if (length < 0) {
			return length;
		}
		if (length == 0 || (size_t)length > count - at) {
			break;
		}
		take(link, bytes + at, (uint32_t)length);
		at += (size_t)length;
	}
	return (int64_t)at;
}

/* ---- parts of frames ---- */

static size_t gather(struct gy_partial_frame *partial_frame, unsigned char *to, uint32_t whole,
		     const unsigned char *bytes, size_t count)
{
	size_t part = whole - partial_frame->at < count ? whole - partial_frame->at : count;

	memcpy(to + partial_frame->at, bytes, part);
	partial_frame->at += (uint32_t)part;
	return part;
}

/* The length is known: gets memory for the whole frame. */
static int begin_frame(const struct gy_link *link, struct gy_partial_frame *partial_frame)
{
	int64_t length = gy_wire_bytes(partial_frame->word, sizeof(partial_frame->word));

	if (length < 0) {
		return (int)length;
	}
	if (length > GY_LINK_HANDSHAKE_BYTES_MAX && link->stage != GY_LINK_STAGE_OPEN) {
		return -EMSGSIZE; /* nobody has proved yet that it may make us keep as much */
	}
	partial_frame->frame = (unsigned char *)gy_memory_get_raw((size_t)length);
	if (partial_frame->frame == NULL) {
		return -ENOMEM;
	}
	memcpy(partial_frame->frame, partial_frame->word, sizeof(partial_frame->word));
	partial_frame->bytes = (uint32_t)length;
	return 0;
}

/* Takes bytes of a frame that does not lie in one slice. How many, or a negative errno. */
static int64_t take_part(struct gy_link *link, const unsigned char *bytes, size_t count)
{
	struct gy_partial_frame *partial_frame = &link->partial_frame;
	size_t taken = 0;

	if (partial_frame->frame == NULL) {
		int r;

		taken = gather(partial_frame, partial_frame->word, sizeof(partial_frame->word),
			       bytes, count);
		if (partial_frame->at < sizeof(partial_frame->word)) {
			return (int64_t)taken;
		}
		r = begin_frame(link, partial_frame);
		if (r < 0) {
			return r;
		}
	}
	taken += gather(partial_frame, partial_frame->frame, partial_frame->bytes, bytes + taken,
			count - taken);
	if (partial_frame->at == partial_frame->bytes) {
		struct gy_partial_frame whole = *partial_frame;

		*partial_frame = (struct gy_partial_frame){ 0 };
		take(link, whole.frame, whole.bytes);
		gy_memory_put(whole.frame);
	}
	return (int64_t)taken;
}

/* ---- bytes ---- */

static void take_all(struct gy_link *link, struct gyre_buffer *data)
{
	while (link->stage != GY_LINK_STAGE_ENDED && gyre_buffer_bytes(data) > 0) {
		const void *at = NULL;
		size_t count = gyre_buffer_peek(data, 0, &at);
		const unsigned char *bytes = (const unsigned char *)at;
		int64_t taken = link->partial_frame.at > 0 ? 0 : take_slice(link, bytes, count);

		if (taken == 0) {
			taken = take_part(link, bytes, count);
		}
		if (taken < 0) {
			gy_link_handshake_failed(link, bytes, count);
			gy_link_abort(link, (int)taken);
			return;
		}
		(void)gyre_buffer_skip(data, (size_t)taken);
	}
}

void gy_incoming_read(struct gy_link *link, struct gyre_buffer *data)
{
	uint64_t before = link->consumed_frames;

	link->heard_ns = link->links->home->loop.now_ns;
	gy_large_receive_update(gyre_context_channel(link->ctx), gyre_buffer_bytes(data));
	take_all(link, data);
	gyre_buffer_destroy(data);
	if (link->peer != NULL && link->consumed_frames != before) {
		(void)gy_add_relaxed(&link->peer->received, link->consumed_frames - before);
	}
	if (link->peer != NULL && link->stage == GY_LINK_STAGE_OPEN) {
		gy_peer_heard(link->links, link->peer);
		gy_receive_credit_if_due(link);
	}
	gy_walk(gy_link_check(link));
}

void gy_incoming_reset(struct gy_link *link)
{
	gy_memory_put(link->partial_frame.frame);
	link->partial_frame = (struct gy_partial_frame){ 0 };
	gy_partial_messages_reset(link);
	gy_heads_reset(&link->heads);
	link->consumed_bytes = 0;
	link->consumed_frames = 0;
	link->announced_bytes = 0;
	link->uncredited_tracked = 0;
}

void gy_incoming_check(const struct gy_link *link)
{
	const struct gy_partial_frame *frame = &link->partial_frame;

	gy_assert(link->stage == GY_LINK_STAGE_ENDED || frame->frame == NULL
			  ? frame->at <= GY_WIRE_WORD_BYTES
			  : frame->at < frame->bytes);
}
