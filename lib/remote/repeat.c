/*
 * Notices like the one before: from the same actor to the same one, of the same type. Most mail
 * between nodes comes in such runs, so these say nothing but their length, and a run is taken in
 * one go: what the head tells, type, receiver and pool, is found out once for all of it.
 *
 * No user code runs meanwhile, so what has been found stays good to the end of the run.
 */
#include "remote/repeat.h"

#include <errno.h>

#include "actor/mail_pool.h"
#include "remote/fast_receive.h"
#include "remote/link.h"
#include "remote/wire.h"

int gy_repeat_expand(struct gy_link *link, struct gy_frame *frame)
{
	struct gy_last_received *last_received = &link->last_received;
	uint32_t bytes = frame->bytes;
	const unsigned char *body = frame->body;

	if (!last_received->any) {
		return -EPROTO;
	}
	gy_wire_get(last_received->head, &last_received->frame);
	/* From the second on they are taken in one go, if they are for an actor of this loop. */
	last_received->type = last_received->frame.to_loop == link->links->home->here
				      ? gy_fast_receive_type(link->links, last_received->head)
				      : NULL;
	*frame = last_received->frame;
	frame->bytes = bytes;
	frame->body = body;
	return 0;
}

static inline void fill(struct gyre_mail *mail, struct gy_origin from, const unsigned char *body,
			uint32_t bytes)
{
	mail->node.kind = GY_MAIL_NOTICE;
	mail->from = from;
	mail->ask_id = 0;
	mail->deadline = 0;
	if (bytes > 0) {
		memcpy(mail->payload, body, bytes);
	}
}

/* Puts the notices of a run into a house without a limit. How many bytes they took. */
static size_t put(struct gy_link *link, struct gy_house *house, const unsigned char *bytes,
		  size_t count)
{
	struct gy_home *home = link->links->home;
	const struct gy_frame *frame = &link->last_received.frame;
	const struct gyre_type *type = link->last_received.type;
	const struct gy_origin from = { gy_incoming_slot(link, frame->from_slot),
					frame->from_cookie, frame->from_loop, link->peer->id };
	const uint32_t body_bytes = type->bytes;
	const uint32_t word = (uint32_t)GY_WIRE_REPEAT << GY_WIRE_KIND_SHIFT | body_bytes;
	const size_t step = GY_WIRE_WORD_BYTES + (size_t)body_bytes;
	const size_t mail_bytes = GYRE_MAIL_HEADER_BYTES + (size_t)body_bytes;
	const uint8_t size_class = gy_sizes_class(mail_bytes);
	size_t at = 0;
	uint64_t frames = 0;

	while (count - at >= step && gy_wire_word(bytes + at) == word) {
		struct gyre_mail *mail = gy_mail_get_of_class(home, type, mail_bytes, size_class);

		if (gy_unlikely(mail == NULL)) {
			break;
		}
		fill(mail, from, bytes + at + GY_WIRE_WORD_BYTES, body_bytes);
		gy_house_put(home, house, mail, GY_LANE_NOTICE);
		at += step;
		frames++;
	}
	gy_count(&home->counters.sent, frames);
	link->consumed_frames += frames;
	link->consumed_bytes += at;
	link->used_ns = home->loop.now_ns;
	return at;
}

size_t gy_repeat_take(struct gy_link *link, const unsigned char *bytes, size_t count)
{
	struct gy_house *house;

	if (gy_likely(link->last_received.type == NULL || count < GY_WIRE_WORD_BYTES ||
		      gy_wire_word(bytes) >> GY_WIRE_KIND_SHIFT != GY_WIRE_REPEAT)) {
		return 0;
	}
	house = gy_house_find(link->links->home, link->last_received.frame.to_slot,
			      link->last_received.frame.to_cookie);
	return house == NULL || !gy_house_is_occupied(house) || house->limit != 0
		       ? 0
		       : put(link, house, bytes, count);
}
