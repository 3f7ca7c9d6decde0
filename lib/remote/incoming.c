/*
 * What comes over a link: frames taken out of the bytes, and mail made of messages, with pools of
 * the loop that serves the link. A frame that lies in one slice is read where it stands; of any
 * other the parts are copied together, each once, so that no slice waits for what comes later.
 *
 * A peer is not trusted to be right: a frame that is none, or that the stage of the link does not
 * allow, ends the link. A message that is not understood is lost alone, and its asker told. If that
 * lacks memory, or what is lost comes once, as an answer or the end of an actor, the link ends
 * before the peer is told that it was taken: then it is lost as with any link, and what follows
 * from that has been thought of.
 */
#include "remote/incoming.h"

#include <errno.h>

#include <gyre/name.h>

#include "actor/send.h"
#include "actor/stack.h"
#include "base/memory.h"
#include "channel/large_receive.h"
#include "remote/fast_receive.h"
#include "remote/in_flight.h"
#include "remote/link.h"
#include "remote/link_flush.h"
#include "remote/link_handshake.h"
#include "remote/node.h"
#include "remote/one_way.h"
#include "remote/peer_state.h"
#include "remote/repeat.h"
#include "remote/runtime_messages.h"
#include "remote/types.h"
#include "remote/wire.h"

enum { CREDIT_BYTES = 16 };
/* The part of the window that the peer is told of at once. */
enum { CREDIT_SHARE = 16 };

/* ---- mail ---- */

static struct gy_origin origin_of(const struct gy_link *link, const struct gy_frame *frame)
{
	return (struct gy_origin){ .slot = gy_incoming_slot(link, frame->from_slot),
				   .cookie = frame->from_cookie,
				   .loop = frame->from_loop,
				   .node = link->peer->id };
}

static struct gyre_mail *make(struct gy_link *link, const struct gyre_type *type,
			      const struct gy_frame *frame, enum gy_mail_kind kind)
{
	struct gyre_mail *mail = gy_mail_get(link->links->home, type);

	if (gy_likely(mail != NULL)) {
		mail->node.kind = (uint8_t)kind;
		mail->from = origin_of(link, frame);
		mail->ask_id = frame->ask_id;
		mail->deadline = 0;
	}
	return mail;
}

static struct gyre_address receiver_of(const struct gy_link *link, const struct gy_frame *frame)
{
	return (struct gyre_address){ .slot = frame->to_slot,
				      .cookie = frame->to_cookie,
				      .loop = frame->to_loop,
				      .node = link->links->home->node };
}

static struct gyre_address sender_of(const struct gy_link *link, const struct gy_frame *frame)
{
	return gy_origin_address(origin_of(link, frame));
}

/* Tells an asker, here or there, that its ask has failed; -ENOMEM. */
static int tell_error(struct gy_link *link, const struct gy_frame *frame, struct gyre_address asker,
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

/* A message that cannot become mail: it was sent to this system, and is lost here. -ENOMEM if who
 * waits for it cannot be told. */
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
		return tell_error(link, frame, sender_of(link, frame), error);
	}
	if (frame->kind == GY_WIRE_REPLY) {
		return tell_error(link, frame, receiver_of(link, frame), error);
	}
	return frame->kind == GY_WIRE_NOTICE || error != -ENOMEM ? 0 : -ENOMEM;
}

static int decode(const struct gyre_type *type, const struct gy_frame *frame, void *payload)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	int r;

	memset(payload, 0, type->bytes);
	r = type->encoding->decode(payload, &in);
	return r < 0 || in.error != 0 || in.left != 0 ? -EPROTO : 0;
}

static int fill(const struct gyre_type *type, const struct gy_frame *frame, void *payload)
{
	if (gy_unlikely(gy_type_is_encoded(type))) {
		return decode(type, frame, payload);
	}
	memcpy(payload, frame->body, type->bytes);
	return 0;
}

uint32_t gy_incoming_patience(uint16_t encoded)
{
	uint64_t left = gy_wire_left_decode(encoded);

	return left > GY_DEADLINE_SPAN_NS >> GY_DEADLINE_SHIFT ? 0 : (uint32_t)left;
}

static int take_message(struct gy_link *link, const struct gy_frame *frame, enum gy_mail_kind kind)
{
	struct gy_home *home = link->links->home;
	const struct gyre_type *type = gy_types_find(&link->links->nodes->types, frame->type);
	struct gyre_mail *mail;

	if (gy_unlikely(type == NULL || gy_type_layout(type) != frame->layout ||
			(!gy_type_is_encoded(type) && frame->bytes != type->bytes))) {
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	mail = make(link, type, frame, kind);
	if (gy_unlikely(mail == NULL)) {
		return lose(link, frame, GYRE_DROP_NO_MEMORY, -ENOMEM);
	}
	if (gy_unlikely(fill(type, frame, gyre_payload(mail)) < 0)) {
		gy_mail_put(home, mail);
		return lose(link, frame, GYRE_DROP_NOT_UNDERSTOOD, -EPROTO);
	}
	if (kind == GY_MAIL_ASK) {
		mail->deadline = gy_incoming_patience(frame->left);
	}
	gy_incoming_deliver(home, receiver_of(link, frame), mail, gy_mail_lane(mail));
	return 0;
}

static int take_exception(struct gy_link *link, const struct gy_frame *frame)
{
	struct gyre_mail *mail = make(link, &gy_type_exception, frame, GY_MAIL_EXCEPTION);
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	int32_t error = (int32_t)gyre_decode_u32(&in);

	if (mail == NULL) {
		return lose(link, frame, GYRE_DROP_NO_MEMORY, -ENOMEM);
	}
	((struct gy_exception *)gyre_payload(mail))->error = error < 0 ? error : -EPROTO;
	(void)gy_send_away(link->links->home, receiver_of(link, frame), mail);
	return 0;
}

/* Orders to an actor, and the end of one that is watched. */
static int take_order(struct gy_link *link, const struct gy_frame *frame, enum gy_mail_kind kind)
{
	struct gy_home *home = link->links->home;
	struct gyre_mail *mail = NULL;
	int r = gy_runtime_message_decode(link, frame, &mail);

	if (r < 0) {
		return lose(link, frame,
			    r == -ENOMEM ? GYRE_DROP_NO_MEMORY : GYRE_DROP_NOT_UNDERSTOOD, r);
	}
	mail->node.kind = (uint8_t)kind;
	mail->from = origin_of(link, frame);
	mail->ask_id = frame->ask_id;
	mail->deadline = 0;
	(void)gy_send_away(home, receiver_of(link, frame), mail);
	return 0;
}

static int take_lookup(struct gy_link *link, const struct gy_frame *frame)
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
		return tell_error(link, frame, sender_of(link, frame), r < 0 ? r : -ENOMEM);
	}
	*(struct gyre_node_found *)gyre_payload(mail) = (struct gyre_node_found){ found };
	(void)gy_send_away(home, gy_mail_sender(mail), mail);
	return 0;
}

/* ---- frames ---- */

static void count(struct gy_link *link, size_t bytes)
{
	link->consumed_bytes += bytes;
	link->consumed_frames++;
}

static int take_whole(struct gy_link *link, const struct gy_frame *frame)
{
	switch (frame->kind) {
	case GY_WIRE_NOTICE:
		return gy_unlikely(frame->type < GY_IDS_OF_GYRE)
			       ? take_order(link, frame, GY_MAIL_NOTICE)
			       : take_message(link, frame, GY_MAIL_NOTICE);
	case GY_WIRE_ASK:
		/* The only order that is answered. */
		return gy_unlikely(frame->type == gy_type_retire.id)
			       ? take_order(link, frame, GY_MAIL_ASK)
			       : take_message(link, frame, GY_MAIL_ASK);
	case GY_WIRE_REPLY:
		return take_message(link, frame, GY_MAIL_REPLY);
	case GY_WIRE_EXCEPTION:
		return take_exception(link, frame);
	case GY_WIRE_EVENT:
		return take_order(link, frame, GY_MAIL_EVENT);
	case GY_WIRE_LOOKUP:
		return take_lookup(link, frame);
	default:
		return -EPROTO;
	}
}

static struct gy_partial_message *find_arrival(const struct gy_link *link, uint32_t number,
					       uint32_t *ret_count)
{
	struct gy_list *item = link->partial_messages.next;
	struct gy_partial_message *found = NULL;

	*ret_count = 0;
	for (; item != &link->partial_messages; item = item->next) {
		struct gy_partial_message *arrival =
			gy_container_of(item, struct gy_partial_message, item);

		++*ret_count;
		found = arrival->number == number ? arrival : found;
	}
	return found;
}

static int begin_arrival(struct gy_link *link, const struct gy_fragment *fragment,
			 struct gy_partial_message **ret_arrival)
{
	const struct gyre_node_options *options = &link->links->nodes->options;
	const uint64_t max = (uint64_t)options->message_bytes_max + GY_WIRE_HEAD_BYTES_MAX;
	struct gy_partial_message *arrival;

	if (fragment->left < GY_WIRE_HEAD_BYTES || fragment->left > max) {
		return -EMSGSIZE;
	}
	if (link->partial_messages_bytes + fragment->left > options->link_bytes_max + max) {
		return -EPROTO; /* who keeps to the window has others wait */
	}
	arrival = (struct gy_partial_message *)gy_memory_get(sizeof(*arrival));
	if (arrival == NULL) {
		return -ENOMEM;
	}
	*arrival =
		(struct gy_partial_message){ .number = fragment->stream, .bytes = fragment->left };
	gy_list_append(&link->partial_messages, &arrival->item);
	link->partial_messages_bytes += arrival->bytes;
	*ret_arrival = arrival;
	return 0;
}

static void drop_arrival(struct gy_link *link, struct gy_partial_message *arrival)
{
	link->partial_messages_bytes -= arrival->bytes;
	gy_list_remove(&arrival->item);
	gy_memory_put(arrival->frame);
	gy_memory_put(arrival);
}

/* Not for what is announced, but for what has come, and at most as much again. */
static int grow_arrival(struct gy_partial_message *arrival, uint32_t bytes)
{
	uint64_t room = arrival->room;
	unsigned char *grown;

	if (room - arrival->at >= bytes) {
		return 0;
	}
	room = room * 2 > arrival->at + bytes ? room * 2 : arrival->at + bytes;
	room = room < arrival->bytes ? room : arrival->bytes;
	grown = (unsigned char *)gy_memory_resize(arrival->frame, arrival->at, room);
	if (grown == NULL) {
		return -ENOMEM;
	}
	arrival->frame = grown;
	arrival->room = (uint32_t)room;
	return 0;
}

static int end_arrival(struct gy_link *link, struct gy_partial_message *arrival)
{
	struct gy_frame frame;
	int r = -EPROTO;

	/* The kind is looked at as that of any frame, the length is that of the stream. */
	if (gy_wire_is_message(arrival->frame) &&
	    arrival->bytes >= gy_wire_head_bytes(gy_wire_kind(arrival->frame))) {
		gy_wire_get(arrival->frame, &frame);
		frame.bytes = arrival->bytes - (uint32_t)(frame.body - arrival->frame);
		count(link, 0);
		r = take_whole(link, &frame);
	}
	drop_arrival(link, arrival);
	return r;
}

static int take_fragment(struct gy_link *link, const struct gy_frame *frame)
{
	struct gy_fragment fragment = gy_wire_get_fragment(frame);
	uint32_t partial_messages;
	struct gy_partial_message *arrival = find_arrival(link, fragment.stream, &partial_messages);
	int r = 0;

	if (arrival == NULL) {
		r = partial_messages >= GY_PARTIAL_MESSAGES_MAX
			    ? -EPROTO
			    : begin_arrival(link, &fragment, &arrival);
	}
	if (r < 0) {
		return r;
	}
	if (fragment.left != arrival->bytes - arrival->at || frame->bytes > fragment.left ||
	    frame->bytes == 0) {
		return -EPROTO;
	}
	r = grow_arrival(arrival, frame->bytes);
	if (r < 0) {
		return r;
	}
	memcpy(arrival->frame + arrival->at, frame->body, frame->bytes);
	arrival->at += frame->bytes;
	return arrival->at == arrival->bytes ? end_arrival(link, arrival) : 0;
}

static int take_credit(struct gy_link *link, const struct gy_frame *frame)
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

/* The peer may wait to hear that all was taken, and then say more by another link: that must find
 * it in the inboxes of the other loops. */
static void take_bye(struct gy_link *link)
{
	gy_link_set(link, GY_LINK_CLOSING);
	if (!link->dialled && link->consumed_bytes > link->announced_bytes) {
		gy_loop_flush(&link->links->home->loop);
		gy_incoming_credit(link);
	}
}

static int take_open(struct gy_link *link, struct gy_frame *frame, uint32_t bytes)
{
	if (frame->kind == GY_WIRE_PING) {
		return 0;
	}
	if (frame->kind == GY_WIRE_CLOSE) {
		take_bye(link);
		return 0;
	}
	if (link->dialled) {
		return frame->kind == GY_WIRE_CREDIT  ? take_credit(link, frame)
		       : frame->kind == GY_WIRE_REACH ? gy_one_way_receive_reach(link, frame)
						      : -EPROTO;
	}
	link->used_ns = link->links->home->loop.now_ns;
	if (frame->kind == GY_WIRE_FRAGMENT) {
		link->consumed_bytes += bytes;
		return take_fragment(link, frame);
	}
	count(link, bytes);
	if (frame->kind == GY_WIRE_REPEAT) {
		int r = gy_repeat_expand(link, frame);

		return r < 0 ? r : take_whole(link, frame);
	}
	if (frame->kind == GY_WIRE_NOTICE) {
		gy_repeat_remember(link, frame->body - GY_WIRE_HEAD_BYTES);
	}
	return take_whole(link, frame);
}

static void take(struct gy_link *link, const unsigned char *bytes, uint32_t count_of)
{
	struct gy_frame frame;
	int r = 0;

	if (gy_likely(link->stage == GY_LINK_OPEN && !link->dialled) &&
	    gy_likely(gy_fast_receive(link, bytes))) {
		count(link, count_of);
		link->used_ns = link->links->home->loop.now_ns;
		return;
	}
	gy_wire_get(bytes, &frame);
	if (gy_likely(gy_link_can_send(link))) {
		r = frame.kind == GY_WIRE_REFUSE ? -ECONNREFUSED
						 : take_open(link, &frame, count_of);
	} else {
		gy_link_handshake_receive(link, &frame);
	}
	if (gy_unlikely(r < 0)) {
		gy_link_abort(link, r);
	}
}

/* ---- bytes ---- */

/* The frames that lie in the slice as a whole. How many bytes, or -EPROTO. */
static int64_t take_slice(struct gy_link *link, const unsigned char *bytes, size_t count_of)
{
	size_t at = 0;

	while (link->stage != GY_LINK_ENDED) {
		int64_t length;

		at += gy_repeat_take(link, bytes + at, count_of - at);
		length = gy_wire_bytes(bytes + at, count_of - at);
		if (length < 0) {
			return length;
		}
		if (length == 0 || (size_t)length > count_of - at) {
			break;
		}
		take(link, bytes + at, (uint32_t)length);
		at += (size_t)length;
	}
	return (int64_t)at;
}

static size_t gather(struct gy_partial_frame *partial_frame, unsigned char *to, uint32_t whole,
		     const unsigned char *bytes, size_t count_of)
{
	size_t part = whole - partial_frame->at < count_of ? whole - partial_frame->at : count_of;

	memcpy(to + partial_frame->at, bytes, part);
	partial_frame->at += (uint32_t)part;
	return part;
}

/* The length is known: memory for the whole. */
static int begin_frame(const struct gy_link *link, struct gy_partial_frame *partial_frame)
{
	int64_t length = gy_wire_bytes(partial_frame->word, sizeof(partial_frame->word));

	if (length < 0) {
		return (int)length;
	}
	if (length > GY_LINK_HANDSHAKE_BYTES_MAX && link->stage != GY_LINK_OPEN) {
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

/* Of a frame that begins in one slice and ends in another. How many bytes, or a negative errno. */
static int64_t take_part(struct gy_link *link, const unsigned char *bytes, size_t count_of)
{
	struct gy_partial_frame *partial_frame = &link->partial_frame;
	size_t taken = 0;

	if (partial_frame->frame == NULL) {
		int r;

		taken = gather(partial_frame, partial_frame->word, sizeof(partial_frame->word),
			       bytes, count_of);
		if (partial_frame->at < sizeof(partial_frame->word)) {
			return (int64_t)taken;
		}
		r = begin_frame(link, partial_frame);
		if (r < 0) {
			return r;
		}
	}
	taken += gather(partial_frame, partial_frame->frame, partial_frame->bytes, bytes + taken,
			count_of - taken);
	if (partial_frame->at == partial_frame->bytes) {
		struct gy_partial_frame whole = *partial_frame;

		*partial_frame = (struct gy_partial_frame){ 0 };
		take(link, whole.frame, whole.bytes);
		gy_memory_put(whole.frame);
	}
	return (int64_t)taken;
}

static void take_all(struct gy_link *link, struct gyre_buffer *data)
{
	while (link->stage != GY_LINK_ENDED && gyre_buffer_bytes(data) > 0) {
		const void *at = NULL;
		size_t count_of = gyre_buffer_peek(data, 0, &at);
		const unsigned char *bytes = (const unsigned char *)at;
		int64_t taken = link->partial_frame.at > 0 ? 0 : take_slice(link, bytes, count_of);

		if (taken == 0) {
			taken = take_part(link, bytes, count_of);
		}
		if (taken < 0) {
			gy_link_handshake_failed(link, bytes, count_of);
			gy_link_abort(link, (int)taken);
			return;
		}
		(void)gyre_buffer_skip(data, (size_t)taken);
	}
}

void gy_incoming_credit(struct gy_link *link)
{
	unsigned char body[CREDIT_BYTES];
	struct gyre_encoder out = { .bytes = body, .room = sizeof(body), .max = sizeof(body) };

	link->announced_bytes = link->consumed_bytes;
	gyre_encode_u64(&out, link->consumed_bytes);
	gyre_encode_u64(&out, link->consumed_frames);
	gy_link_send_control(link, GY_WIRE_CREDIT, body, sizeof(body));
}

/* The peer may send as much again. It waits for that at its own bound too, if that is lower. */
static void credit_if_due(struct gy_link *link)
{
	uint64_t window = link->links->nodes->options.link_bytes_max;

	if (link->theirs.window_bytes < window) {
		window = link->theirs.window_bytes;
	}
	if (link->stage == GY_LINK_OPEN && !link->dialled &&
	    link->consumed_bytes - link->announced_bytes >= window / CREDIT_SHARE &&
	    link->consumed_bytes > link->announced_bytes) {
		gy_incoming_credit(link);
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
	if (link->peer != NULL && link->stage == GY_LINK_OPEN) {
		gy_peer_heard(link->links, link->peer);
		credit_if_due(link);
	}
	gy_link_verify(link);
}

void gy_incoming_reset(struct gy_link *link)
{
	gy_memory_put(link->partial_frame.frame);
	link->partial_frame = (struct gy_partial_frame){ 0 };
	while (!gy_list_empty(&link->partial_messages)) {
		drop_arrival(link, gy_container_of(link->partial_messages.next,
						   struct gy_partial_message, item));
	}
	link->last_received = (struct gy_last_received){ 0 };
	link->consumed_bytes = 0;
	link->consumed_frames = 0;
	link->announced_bytes = 0;
}

static void check_partial_messages(const struct gy_link *link)
{
	const struct gy_list *item = link->partial_messages.next;
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (; item != &link->partial_messages; item = item->next) {
		const struct gy_partial_message *message =
			gy_container_of(item, const struct gy_partial_message, item);

		gy_verify(message->at < message->bytes);
		gy_verify(message->at <= message->room && message->room <= message->bytes);
		gy_verify((message->frame == NULL) == (message->room == 0));
		bytes += message->bytes;
		count++;
	}
	gy_verify(count <= GY_PARTIAL_MESSAGES_MAX);
	gy_verify(bytes == link->partial_messages_bytes);
}

void gy_incoming_check(const struct gy_link *link)
{
	const struct gy_partial_frame *frame = &link->partial_frame;

	gy_verify(link->stage == GY_LINK_ENDED || frame->frame == NULL
			  ? frame->at <= GY_WIRE_WORD_BYTES
			  : frame->at < frame->bytes);
	check_partial_messages(link);
}
