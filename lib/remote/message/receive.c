/*
 * Frames to mail: the only place where messages of other nodes become mail, in memory of the loop
 * that serves the link.
 *
 * Most messages have a head that came before, and what it stands for here has been found then:
 * receive_run.c takes such, and those with a head of their own that are as plain, one after the
 * other. All other frames are taken one by one, here.
 *
 * A peer is not trusted to be right: a frame that is malformed, or that is not allowed on this side
 * of the link, ends the link. A message that is not understood is lost alone, and its asker told.
 * If that lacks memory, or what is lost comes once, as an answer or the end of an actor, the link
 * ends before the peer is told that the message was taken: it is then lost as with any broken link.
 */
#include "remote/message/receive.h"

#include <errno.h>
#include <string.h>

#include <gyre/name.h>

#include "actor/life/node_loss.h"
#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "remote/link/link.h"
#include "remote/link/link_flush.h"
#include "remote/message/causes.h"
#include "remote/message/forward.h"
#include "remote/message/receive_run.h"
#include "remote/message/runtime_messages.h"
#include "remote/node.h"
#include "remote/peer/one_way.h"
#include "remote/peer/rounds.h"
#include "remote/types.h"

enum {
	CREDIT_BYTES = 16,
	/* Asks and answers that are credited at once, too: the peer keeps a note of each until
	 * then, and what it keeps should fit into its cache. */
	CREDIT_TRACKED = 2048,
};

/* ---- heads ---- */

static inline struct gyre_address receiver_of(const struct gy_link *link,
					      const struct gy_frame *frame)
{
	return (struct gyre_address){ .slot = frame->to_slot,
				      .cookie = frame->to_cookie,
				      .loop = frame->to_loop,
				      .node = link->links->home->node };
}

static struct gyre_address sender_of(const struct gy_link *link, const struct gy_frame *frame)
{
	return gy_origin_address(gy_receive_origin(link, frame));
}

/* Mail is from whom the frame says, and is an answer to, or asks, what it says. */
static inline void set_head(struct gyre_mail *mail, const struct gy_link *link,
			    const struct gy_frame *frame, enum gy_mail_kind kind)
{
	mail->node.kind = (uint8_t)kind;
	mail->from = gy_receive_origin(link, frame);
	mail->ask_id = frame->ask_id;
	mail->deadline = 0;
}

static inline struct gyre_mail *make(const struct gy_link *link, const struct gyre_type *type,
				     const struct gy_frame *frame, enum gy_mail_kind kind)
{
	struct gyre_mail *mail = gy_mail_get(link->links->home, type);

	if (gy_likely(mail != NULL)) {
		set_head(mail, link, frame, kind);
	}
	return mail;
}

/* Delivers as gy_send() does, to an address that may be stale. */
static inline void deliver(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
			   enum gy_lane lane)
{
	struct gy_house *house =
		gy_likely(gy_is_here(home, to)) ? gy_house_find(home, to.slot, to.cookie) : NULL;

	if (gy_likely(house != NULL && gy_house_is_occupied(house) && house->limit == 0)) {
		gy_count(&home->counters.sent, 1);
		if (lane == GY_LANE_ASK) {
			gy_mail_set_deadline(mail, home->loop.now_ns);
		}
		gy_house_put(home, house, mail, lane);
	} else {
		(void)gy_send_away(home, to, mail);
	}
}

/* ---- losses ---- */

/* Tells an asker, on this node or the peer, that its ask has failed; -ENOMEM. */
static int fail_ask(struct gy_link *link, const struct gy_frame *frame, struct gyre_address asker,
		    int error)
{
	struct gyre_mail *mail = make(link, &gy_type_exception, frame, GY_MAIL_EXCEPTION);

	if (mail != NULL) {
		((struct gy_exception *)gyre_payload(mail))->error = error;
		gy_mail_from_nobody(mail);
		(void)gy_send_away(link->links->home, asker, mail);
	}
	return mail == NULL ? -ENOMEM : 0;
}

/* A message that cannot become mail is a dead letter here. -ENOMEM if who waits for it cannot be
 * told.
 */
static int lose(struct gy_link *link, const struct gy_frame *frame, enum gyre_drop reason,
		int error)
{
	struct gy_home *home = link->links->home;
	const struct gyre_type type = { .name = "message of another node", .id = frame->type };
	const struct gyre_mail mail = { .type = &type,
					.from = gy_origin_of(sender_of(link, frame)) };

	gy_count(&home->counters.sent, 1);
	gy_count(&home->counters.dropped[reason], 1);
	if (home->options.dead_letter != NULL) {
		home->options.dead_letter(home, &mail, receiver_of(link, frame), reason);
	}
	if (frame->kind == GY_WIRE_ASK || frame->kind == GY_WIRE_LOOKUP) {
		return fail_ask(link, frame, sender_of(link, frame), error);
	}
	if (frame->kind == GY_WIRE_REPLY) {
		return fail_ask(link, frame, receiver_of(link, frame), error);
	}
	return frame->kind == GY_WIRE_NOTICE || error != -ENOMEM ? 0 : -ENOMEM;
}

/* ---- messages of users ---- */

static inline int deliver_message(const struct gy_link *link, const struct gy_frame *frame,
				  struct gyre_mail *mail, enum gy_mail_kind kind)
{
	if (kind == GY_MAIL_ASK) {
		mail->deadline = gy_receive_patience(frame->left);
	}
	deliver(link->links->home, receiver_of(link, frame), mail,
		(enum gy_lane)(kind - GY_MAIL_REPLY));
	return 0;
}

/* A message whose body has not the size of its type: with a tail, if it has the size that it counts
 * itself. */
static __attribute__((noinline)) int receive_tail(struct gy_link *link,
						  const struct gy_frame *frame,
						  const struct gyre_type *type,
						  enum gy_mail_kind kind)
{
	struct gyre_mail *mail;

	if (!gy_type_varies(type) || !gy_tail_fits(type, frame->body, frame->bytes)) {
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	mail = gy_mail_get_tail(link->links->home, type, gy_tail_count(type, frame->body));
	if (mail == NULL) {
		return lose(link, frame, GYRE_DROP_NO_MEMORY, -ENOMEM);
	}
	memcpy(mail->payload, frame->body, frame->bytes);
	set_head(mail, link, frame, kind);
	return deliver_message(link, frame, mail, kind);
}

static inline int receive_message(struct gy_link *link, const struct gy_frame *frame,
				  enum gy_mail_kind kind)
{
	struct gy_home *home = link->links->home;
	const struct gyre_type *type = gy_receive_type(link->links, frame->type, frame->layout);
	struct gyre_mail *mail;

	if (gy_unlikely(type == NULL)) {
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	if (gy_unlikely(!gy_type_is_encoded(type) && frame->bytes != type->bytes)) {
		return receive_tail(link, frame, type, kind);
	}
	mail = make(link, type, frame, kind);
	if (gy_unlikely(mail == NULL)) {
		return lose(link, frame, GYRE_DROP_NO_MEMORY, -ENOMEM);
	}
	if (gy_unlikely(gy_type_fill(type, frame->body, frame->bytes, gyre_payload(mail)) < 0)) {
		gy_mail_put(home, mail);
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	return deliver_message(link, frame, mail, kind);
}

/* ---- messages of gyre ---- */

/* An exception with a cause that is understood here; NULL for another, and without memory. */
static GY_COLD struct gyre_mail *make_caused(struct gy_link *link, const struct gy_frame *frame,
					     int error)
{
	struct gy_frame inner = *frame;
	struct gyre_mail *mail;

	if (frame->bytes < sizeof(uint32_t)) {
		return NULL;
	}
	inner.body = frame->body + sizeof(uint32_t);
	inner.bytes = frame->bytes - (uint32_t)sizeof(uint32_t);
	mail = gy_cause_decode(link, &inner);
	if (mail != NULL) {
		set_head(mail, link, frame, GY_MAIL_EXCEPTION);
		mail->deadline = (uint32_t)-error;
	}
	return mail;
}

static int receive_exception(struct gy_link *link, const struct gy_frame *frame)
{
	struct gyre_mail *mail;
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	int error = gy_wire_errno(gyre_decode_u32(&in));

	mail = make_caused(link, frame, error);
	if (mail == NULL) {
		mail = make(link, &gy_type_exception, frame, GY_MAIL_EXCEPTION);
		if (mail == NULL) {
			return lose(link, frame, GYRE_DROP_NO_MEMORY, -ENOMEM);
		}
		((struct gy_exception *)gyre_payload(mail))->error = error;
	}
	(void)gy_send_away(link->links->home, receiver_of(link, frame), mail);
	return 0;
}

/* Orders to an actor, the end of one that is watched, and that of a round of watches. */
static int receive_runtime_message(struct gy_link *link, const struct gy_frame *frame,
				   enum gy_mail_kind kind)
{
	struct gy_home *home = link->links->home;
	struct gyre_mail *mail = NULL;
	bool ends_round = frame->type == gy_type_round_over.id && kind == GY_MAIL_EVENT;
	int r = ends_round ? gy_sweeps_begin(link, frame)
			   : gy_runtime_message_decode(link, frame, &mail);

	if (r < 0) {
		return lose(link, frame,
			    r == -ENOMEM ? GYRE_DROP_NO_MEMORY : GYRE_DROP_NOT_UNDERSTOOD, r);
	}
	if (mail != NULL) {
		set_head(mail, link, frame, kind);
		(void)gy_send_away(home, receiver_of(link, frame), mail);
	}
	return 0;
}

static int receive_lookup(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_home *home = link->links->home;
	char name[GYRE_NAME_BYTES_MAX + 1] = { 0 };
	struct gyre_address found = { 0 };
	struct gyre_mail *mail;
	int r = -EPROTO;

	if (frame->bytes > 0 && frame->bytes < sizeof(name)) {
		memcpy(name, frame->body, frame->bytes);
		r = link->links->nodes->look_up(home->options.system, name, &found);
		found.life = home->life; /* which the link has said */
	}
	mail = r < 0 ? NULL : make(link, &gyre_type_gyre_node_found, frame, GY_MAIL_REPLY);
	if (mail == NULL) {
		return fail_ask(link, frame, sender_of(link, frame), r < 0 ? r : -ENOMEM);
	}
	*(struct gyre_node_found *)gyre_payload(mail) = (struct gyre_node_found){ found };
	(void)gy_send_away(home, gy_mail_sender(mail), mail);
	return 0;
}

/* A notice of a third node, of a type of the program: gyre's own are not forwarded. */
static int receive_forwarded(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_home *home = link->links->home;
	struct gy_frame inner;
	struct gy_origin sender;
	const struct gyre_type *type;
	struct gyre_mail *mail;
	bool varies;

	if (gy_forwarded_take_apart(link, frame, &inner, &sender) < 0) {
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	type = inner.type < GY_IDS_OF_GYRE ? NULL
					   : gy_receive_type(link->links, inner.type, inner.layout);
	varies = type != NULL && gy_type_varies(type);
	if (type == NULL || (varies ? !gy_tail_fits(type, inner.body, inner.bytes)
				    : !gy_type_is_encoded(type) && inner.bytes != type->bytes)) {
		return lose(link, &inner, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	mail = varies ? gy_mail_get_tail(home, type, gy_tail_count(type, inner.body))
		      : gy_mail_get(home, type);
	if (mail == NULL) {
		return lose(link, &inner, GYRE_DROP_NO_MEMORY, -ENOMEM);
	}
	if (varies) {
		memcpy(mail->payload, inner.body, inner.bytes);
	} else if (gy_type_fill(type, inner.body, inner.bytes, gyre_payload(mail)) < 0) {
		gy_mail_put(home, mail);
		return lose(link, &inner, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	set_head(mail, link, &inner, GY_MAIL_NOTICE);
	mail->from = sender;
	return deliver_message(link, &inner, mail, GY_MAIL_NOTICE);
}

/* ---- any message ---- */

static int receive_whole(struct gy_link *link, const struct gy_frame *frame)
{
	link->uncredited_tracked += gy_in_flight_is_tracked(frame);
	switch (frame->kind) {
	case GY_WIRE_NOTICE:
		if (gy_unlikely(frame->type == GY_ID_FORWARDED)) {
			return receive_forwarded(link, frame);
		}
		return gy_unlikely(frame->type < GY_IDS_OF_GYRE)
			       ? receive_runtime_message(link, frame, GY_MAIL_NOTICE)
			       : receive_message(link, frame, GY_MAIL_NOTICE);
	case GY_WIRE_ASK:
		/* The only order that is answered. */
		return gy_unlikely(frame->type == gy_type_graceful_stop.id)
			       ? receive_runtime_message(link, frame, GY_MAIL_ASK)
			       : receive_message(link, frame, GY_MAIL_ASK);
	case GY_WIRE_REPLY:
		return receive_message(link, frame, GY_MAIL_REPLY);
	case GY_WIRE_EXCEPTION:
		return receive_exception(link, frame);
	case GY_WIRE_EVENT:
		return receive_runtime_message(link, frame, GY_MAIL_EVENT);
	case GY_WIRE_LOOKUP:
		return receive_lookup(link, frame);
	default:
		return -EPROTO;
	}
}

static void count(struct gy_link *link, size_t bytes)
{
	link->consumed_bytes += bytes;
	link->consumed_frames++;
}

/* The kind of a message in fragments is checked as that of any frame; its length is theirs. */
static int receive_assembled(struct gy_link *link, const struct gy_partial_message *message)
{
	struct gy_frame frame;

	if (!gy_wire_is_message(message->frame) ||
	    message->bytes < gy_wire_head_bytes(gy_wire_kind(message->frame))) {
		return -EPROTO;
	}
	gy_wire_get(message->frame, &frame);
	frame.bytes = message->bytes - (uint32_t)(frame.body - message->frame);
	count(link, 0);
	return receive_whole(link, &frame);
}

static int receive_fragment(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_partial_message *whole = NULL;
	int r = gy_partial_message_add(link, frame, &whole);

	if (r == 0 && whole != NULL) {
		r = receive_assembled(link, whole);
		gy_partial_message_drop(link, whole);
	}
	return r;
}

/* ---- heads that may be named again ---- */

/* Without memory the head is not known when it is named. */
static int remember(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_heads *heads = &link->heads;

	if (frame->index >= GY_WIRE_HEADS) {
		return 0;
	}
	if (frame->index > heads->mask) {
		int r = gy_heads_grow(heads);

		if (r < 0) {
			return r;
		}
	}
	gy_receive_head(link, frame->body - gy_wire_head_bytes(frame->kind),
			&heads->received[frame->index]);
	return 0;
}

/* The frame that one stands for which names a head. */
static int expand_repeat(const struct gy_link *link, struct gy_frame *frame)
{
	const struct gy_received_head *head;

	if (frame->index > link->heads.mask) {
		return -EPROTO; /* that of no head, or of none that came */
	}
	head = &link->heads.received[frame->index];
	if (head->kind == 0 || (head->kind == GY_WIRE_NOTICE) != (frame->kind == GY_WIRE_REPEAT)) {
		return -EPROTO;
	}
	frame->kind = (enum gy_wire_kind)head->kind;
	frame->to_loop = head->to_loop;
	frame->from_loop = head->from.loop;
	frame->to_slot = head->to_slot;
	frame->to_cookie = head->to_cookie;
	frame->from_slot = head->from.slot & gy_slot_mask;
	frame->from_cookie = head->from.cookie;
	frame->type = head->type_id;
	frame->layout = head->layout;
	frame->left = head->left;
	return 0;
}

/* Frames of an accepted link that is open: messages, whole, with a head from before, or in
 * fragments. */
static inline int receive_accepted(struct gy_link *link, struct gy_frame *frame, uint32_t bytes)
{
	link->used_ns = link->links->home->loop.now_ns;
	if (gy_unlikely(frame->kind == GY_WIRE_FRAGMENT)) {
		link->consumed_bytes += bytes;
		return receive_fragment(link, frame);
	}
	count(link, bytes);
	if (frame->kind == GY_WIRE_REPEAT || frame->kind == GY_WIRE_REPEAT_ID) {
		int r = expand_repeat(link, frame);

		return r < 0 ? r : receive_whole(link, frame);
	}
	if ((gy_wire_indexed >> (uint32_t)frame->kind & 1U) != 0) {
		int r = remember(link, frame);

		if (r < 0) {
			return r;
		}
	}
	return receive_whole(link, frame);
}

/* ---- frames that are no messages ---- */

static int receive_credit(struct gy_link *link, const struct gy_frame *frame)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	uint64_t bytes = gyre_decode_u64(&in);
	uint64_t frames = gyre_decode_u64(&in);

	if (in.error != 0 || bytes > link->sent_bytes || bytes < link->credited_bytes ||
	    frames > link->queued_frames || frames < link->credited_frames) {
		return -EPROTO;
	}
	link->credited_bytes = bytes;
	link->credited_frames = frames;
	gy_in_flight_acknowledge(link);
	gy_link_flush(link);
	return 0;
}

/* The peer may wait for the credit, and then send by another link: that mail must find this link's
 * in the inboxes of the other loops. */
static void receive_close(struct gy_link *link)
{
	gy_link_set(link, GY_LINK_FLAG_CLOSING);
	if (!link->dialled && link->consumed_bytes > link->announced_bytes) {
		gy_loop_flush(&link->links->home->loop);
		gy_receive_send_credit(link);
	}
}

static int receive_dialled(struct gy_link *link, const struct gy_frame *frame)
{
	switch (frame->kind) {
	case GY_WIRE_CREDIT:
		return receive_credit(link, frame);
	case GY_WIRE_REACH:
		return gy_one_way_receive_reach(link, frame);
	default:
		return -EPROTO;
	}
}

int gy_receive(struct gy_link *link, struct gy_frame *frame, uint32_t bytes)
{
	gy_assert(gy_link_can_send(link));
	switch (frame->kind) {
	case GY_WIRE_REFUSE:
		return -ECONNREFUSED;
	case GY_WIRE_PING:
		return 0;
	case GY_WIRE_CLOSE:
		receive_close(link);
		return 0;
	default:
		return link->dialled ? receive_dialled(link, frame)
				     : receive_accepted(link, frame, bytes);
	}
}

/* ---- credit ---- */

void gy_receive_send_credit(struct gy_link *link)
{
	unsigned char body[CREDIT_BYTES];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };

	link->announced_bytes = link->consumed_bytes;
	link->uncredited_tracked = 0;
	gyre_encode_u64(&out, link->consumed_bytes);
	gyre_encode_u64(&out, link->consumed_frames);
	gy_link_send_control(link, GY_WIRE_CREDIT, body, sizeof(body));
}

void gy_receive_credit_if_due(struct gy_link *link)
{
	uint64_t window = link->links->nodes->options.link_bytes_max;

	if (link->theirs.window_bytes < window) {
		window = link->theirs.window_bytes;
	}
	if (link->stage == GY_LINK_STAGE_OPEN && !link->dialled &&
	    (link->consumed_bytes - link->announced_bytes >= window / GY_CREDIT_SHARE ||
	     link->uncredited_tracked >= CREDIT_TRACKED) &&
	    link->consumed_bytes > link->announced_bytes) {
		gy_receive_send_credit(link);
	}
}
