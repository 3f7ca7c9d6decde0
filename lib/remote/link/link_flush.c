/*
 * What a link gives to its channel: frames of its own at once, messages as far as the channel is
 * writable and the peer has credit left. Without memory for that the link ends.
 */
#include "remote/link/link_flush.h"

#include <errno.h>

#include "buffer/buffer.h"
#include "channel/channel.h"
#include "remote/link/frame_page.h"
#include "remote/link/link.h"
#include "remote/message/fragments.h"
#include "remote/wire.h"

/* ---- frames that are no messages ---- */

/* Goes ahead of messages that the channel does not have yet. */
void gy_link_send_bytes(struct gy_link *link, const void *frame, uint32_t bytes)
{
	struct gyre_buffer *buffer;

	if (link->ctx == NULL) {
		return;
	}
	buffer = gy_buffer_get(&gy_channels_of(link->links->home)->pools);
	if (buffer != NULL && gyre_buffer_append(buffer, frame, bytes) < 0) {
		gyre_buffer_destroy(buffer);
		buffer = NULL;
	}
	link->sent_ns = link->links->home->loop.now_ns;
	if (gyre_context_write(link->ctx, buffer) == -ENOMEM) {
		gy_link_abort(link, -ENOMEM);
	}
}

void gy_link_send_control(struct gy_link *link, enum gy_wire_kind kind, const void *body,
			  uint32_t bytes)
{
	unsigned char frame[GY_WIRE_HEAD_BYTES_MAX + GY_PROOF_BYTES];
	const struct gy_frame head = { .kind = kind, .bytes = bytes };
	uint32_t head_bytes = gy_wire_put(&head, frame);

	memcpy(frame + head_bytes, body, bytes);
	gy_link_send_bytes(link, frame, head_bytes + bytes);
}

/* ---- messages ---- */

static bool has_credit(const struct gy_link *link)
{
	return link->sent_bytes - link->credited_bytes < link->window_bytes;
}

static void write_messages(struct gy_link *link, struct gyre_buffer *data)
{
	link->sent_bytes += gyre_buffer_bytes(data);
	link->sent_ns = link->links->home->loop.now_ns;
	(void)gyre_context_write(link->ctx, data); /* handlers hear of a failure */
}

/* No more than makes the channel unwritable: links do not go up to its limit. */
static bool flush_frames(struct gy_link *link)
{
	size_t max = (size_t)gyre_context_channel(link->ctx)->write_high_bytes + 1;
	struct gyre_buffer *front = link->out;

	if (gyre_buffer_bytes(link->out) <= max) {
		link->out = NULL;
	} else if (gyre_buffer_split(link->out, max, &front) < 0) {
		gy_link_abort(link, -ENOMEM);
		return false;
	}
	write_messages(link, front);
	return true;
}

static bool flush_fragment(struct gy_link *link)
{
	struct gyre_buffer *buffer = gy_fragments_next(link);

	if (buffer == NULL) {
		gy_link_abort(link, -ENOMEM);
		return false;
	}
	write_messages(link, buffer);
	return true;
}

static bool can_flush(const struct gy_link *link)
{
	return gy_link_can_send(link) && has_credit(link) &&
	       gyre_channel_is_writable(gyre_context_channel(link->ctx));
}

void gy_link_flush(struct gy_link *link)
{
	if (!gy_link_can_send(link)) {
		return;
	}
	if (gy_frame_page_commit(link, &link->frame_page) < 0) {
		gy_link_abort(link, -ENOMEM);
		return;
	}
	while (link->out != NULL && can_flush(link)) {
		if (!flush_frames(link)) {
			return;
		}
	}
	while (link->fragments_count > 0 && can_flush(link)) {
		if (!flush_fragment(link)) {
			return;
		}
	}
	if (gy_unlikely(link->stage == GY_LINK_STAGE_LEAVING)) {
		gy_link_leave(link);
	}
	gy_walk(gy_link_check(link));
}
