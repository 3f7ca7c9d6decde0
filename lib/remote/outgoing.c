/*
 * Mail for other nodes: encoded where it is sent, into the link's buffer, and given to the channel
 * at the end of the job. So all that a loop says to a peer in a turn is one send.
 *
 * What a link holds is bounded, from the send until the peer has taken it out of its connection and
 * said so (its credit): past the bound a send fails, and nothing grows. Answers have a quarter more
 * room than questions, or two nodes that fill each other's links with asks would lose the answers.
 */
#include "remote/outgoing.h"

#include <errno.h>

#include <gyre/watch.h>

#include "actor/mail_pool.h"
#include "actor/node_loss.h"
#include "actor/send.h"
#include "actor/watch.h"
#include "remote/fragments.h"
#include "remote/id_table.h"
#include "remote/link.h"
#include "remote/link_dial.h"
#include "remote/link_flush.h"
#include "remote/node.h"
#include "remote/peer_life.h"
#include "remote/peer_state.h"
#include "remote/runtime_messages.h"
#include "remote/types.h"

enum { OVERHEAD_BYTES = GY_WIRE_HEAD_BYTES_MAX };

/* Mail for another node that is on its way to the loop that is to send it. It is counted as sent
 * already. */
struct relay {
	struct gyre_address to;
	struct gyre_mail *mail;
};
static const struct gyre_type type_relay = { .name = "relay to a node",
					     .id = 0x4a,
					     .bytes = sizeof(struct relay) };

static void tell_frames(struct gy_link *link)
{
	uint64_t frames = link->queued_frames - link->told_frames;

	(void)gy_add_relaxed(&link->peer->sent, frames);
	gy_count(&link->links->home->counters.to_nodes, frames);
	link->told_frames = link->queued_frames;
}

static void flush(struct gy_loop *loop, struct gy_later *later)
{
	struct gy_link *link = gy_container_of(later, struct gy_link, later);

	link->flushing = false;
	link->used_ns = loop->now_ns;
	tell_frames(link);
	gy_link_flush(link);
}

/* Before the first that is said in a job. */
static void begin(struct gy_link *link)
{
	gy_frame_page_rewind(&link->frame_page);
	link->flushing = true;
	link->later.run = flush;
	gy_loop_later(&link->links->home->loop, &link->later);
}

/* ---- encoding ---- */

static inline enum gy_wire_kind kind_of(const struct gyre_mail *mail)
{
	switch ((enum gy_mail_kind)mail->node.kind) {
	case GY_MAIL_NOTICE:
		return GY_WIRE_NOTICE;
	case GY_MAIL_ASK:
		return mail->type == &gy_type_lookup ? GY_WIRE_LOOKUP : GY_WIRE_ASK;
	case GY_MAIL_REPLY:
		return GY_WIRE_REPLY;
	case GY_MAIL_EXCEPTION:
		return GY_WIRE_EXCEPTION;
	default:
		return GY_WIRE_EVENT;
	}
}

static uint16_t left_of(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_ASK ? gy_wire_left_encode(mail->deadline) : 0;
}

static inline void fill_head(struct gyre_address to, const struct gyre_mail *mail,
			     struct gy_frame *ret_frame)
{
	*ret_frame = (struct gy_frame){
		.kind = kind_of(mail),
		.bytes = mail->type->bytes,
		.body = mail->payload,
		.to_loop = to.loop,
		.from_loop = mail->from.loop,
		.to_slot = to.slot,
		.to_cookie = to.cookie,
		.from_slot = mail->from.slot,
		.from_cookie = mail->from.cookie,
		.type = mail->type->id,
		.layout = gy_type_layout(mail->type),
		.left = left_of(mail),
		.ask_id = mail->ask_id,
	};
}

/* Whether its messages travel as the bytes that they have here. */
static bool is_plain(const struct gyre_type *type)
{
	return type->id >= GY_IDS_OF_GYRE && type->encoding == NULL && type->destroy == NULL;
}

static inline void remember(struct gy_link *link, struct gyre_address to,
			    const struct gyre_mail *mail)
{
	link->last_sent = (struct gy_last_sent){
		.type = is_plain(mail->type) ? mail->type : NULL,
		.type_id = mail->type->id,
		.bytes = mail->type->bytes,
		.to = to,
		.from = mail->from,
	};
}

static inline __attribute__((always_inline)) int add_frame(struct gy_link *link,
							   const struct gy_frame *frame,
							   struct gyre_address to,
							   const struct gyre_mail *mail)
{
	uint32_t head_bytes = gy_wire_head_bytes(frame->kind);
	unsigned char *at =
		gy_frame_page_reserve(link, &link->frame_page, head_bytes + frame->bytes);

	if (gy_unlikely(at == NULL)) {
		return -ENOMEM;
	}
	(void)gy_wire_put(frame, at);
	if (frame->bytes > 0) {
		memcpy(at + head_bytes, frame->body, frame->bytes);
	}
	link->frame_page.at = at + head_bytes + frame->bytes;
	link->queued_bytes += head_bytes + frame->bytes;
	link->queued_frames++;
	if (frame->kind == GY_WIRE_NOTICE) {
		remember(link, to, mail);
	}
	return 0;
}

static __attribute__((noinline)) int add_unsettled(struct gy_link *link,
						   const struct gy_frame *frame,
						   struct gyre_address to,
						   const struct gyre_mail *mail)
{
	int r = gy_in_flight_reserve(link);

	r = r < 0 ? r : add_frame(link, frame, to, mail);
	if (r == 0) {
		gy_in_flight_add(link, frame);
	}
	return r;
}

static inline int add_whole(struct gy_link *link, const struct gy_frame *frame,
			    struct gyre_address to, const struct gyre_mail *mail)
{
	return gy_unlikely(gy_in_flight_is_tracked(frame)) ? add_unsettled(link, frame, to, mail)
							   : add_frame(link, frame, to, mail);
}

/* Whether a body of so many bytes stays within the bound, whatever the kind of its message. */
static inline bool has_room(const struct gy_link *link, uint32_t bytes)
{
	return link->queued_bytes - link->credited_bytes + bytes + OVERHEAD_BYTES <=
	       link->queued_bytes_max;
}

static int check(const struct gy_link *link, const struct gy_frame *frame)
{
	uint64_t max = link->queued_bytes_max;
	bool is_answer = frame->kind == GY_WIRE_REPLY || frame->kind == GY_WIRE_EXCEPTION;

	if (frame->bytes > link->message_bytes_max) {
		return -EMSGSIZE;
	}
	if (frame->kind == GY_WIRE_EVENT) {
		/* The end of a watch must not be lost, and there are no more than watches; what is
		 * owed has a bound of its own. */
		return 0;
	}
	/* One message larger than the bound may go alone. */
	if (link->queued_bytes - link->credited_bytes > 0 &&
	    link->queued_bytes - link->credited_bytes + frame->bytes + OVERHEAD_BYTES >
		    (is_answer ? max + max / 4 : max)) {
		return -EAGAIN;
	}
	return 0;
}

/* Whose large messages must be first: the event of an end is from nobody, but comes after the last
 * mail of the actor that has ended. */
static struct gyre_address speaker(const struct gyre_mail *mail)
{
	if (mail->type->id == GYRE_ID(gyre_terminated) && mail->node.kind == GY_MAIL_EVENT) {
		return ((const struct gyre_terminated *)(const void *)mail->payload)->actor;
	}
	return gy_mail_sender(mail);
}

static int add(struct gy_link *link, const struct gy_frame *frame, struct gyre_address to,
	       const struct gyre_mail *mail)
{
	int r = check(link, frame);

	if (r < 0) {
		return r;
	}
	if (gy_unlikely(frame->bytes > GY_WIRE_BODY_BYTES_MAX) ||
	    (gy_unlikely(link->fragments_count > 0) &&
	     gy_fragments_pending(link, speaker(mail), to))) {
		return gy_fragments_add(link, frame, speaker(mail), to);
	}
	return add_whole(link, frame, to, mail);
}

/* What does not travel as the bytes it has here. */
static int encode_body(struct gy_link *link, struct gy_frame *frame, struct gyre_address to,
		       const struct gyre_mail *mail)
{
	struct gyre_encoder out = { .max = link->message_bytes_max };
	int r = 0;

	if (mail->type->id < GY_IDS_OF_GYRE) {
		r = gy_runtime_message_encode(mail, frame, &out);
	} else if (!gy_type_travels(mail->type)) {
		r = -EPROTO;
	} else if (gy_type_is_encoded(mail->type)) {
		r = mail->type->encoding->encode(mail->payload, &out);
	}
	r = r < 0 ? r : out.error;
	if (out.bytes != NULL) {
		frame->body = out.bytes;
		frame->bytes = (uint32_t)out.count;
	}
	if (r == 0) {
		r = add(link, frame, to, mail);
	}
	gy_encoder_fini(&out);
	return r;
}

static __attribute__((noinline)) int encode_any(struct gy_link *link, struct gyre_address to,
						const struct gyre_mail *mail)
{
	struct gy_frame frame;

	fill_head(to, mail, &frame);
	return is_plain(mail->type) ? add(link, &frame, to, mail)
				    : encode_body(link, &frame, to, mail);
}

/* Most mail: then the head is made where it is to stand. */
static inline int encode(struct gy_link *link, struct gyre_address to, const struct gyre_mail *mail)
{
	uint32_t bytes = mail->type->bytes;
	struct gy_frame frame;

	if (gy_unlikely(!is_plain(mail->type) || bytes > GY_WIRE_BODY_BYTES_MAX ||
			bytes > link->message_bytes_max || link->fragments_count > 0 ||
			!has_room(link, bytes))) {
		return encode_any(link, to, mail);
	}
	fill_head(to, mail, &frame);
	return add_whole(link, &frame, to, mail);
}

/* ---- sending ---- */

static enum gyre_drop reason_of(int error)
{
	switch (error) {
	case -EAGAIN:
		return GYRE_DROP_LINK_FULL;
	case -ENOMEM:
		return GYRE_DROP_NO_MEMORY;
	case -ESHUTDOWN:
		return GYRE_DROP_SHUTDOWN;
	case -EPROTO:
	case -EMSGSIZE:
	case -EOPNOTSUPP:
		return GYRE_DROP_NOT_UNDERSTOOD;
	default:
		return GYRE_DROP_NODE_DOWN;
	}
}

static int lose(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail, int error);

/* Mail that another loop of this node has to send: it goes there in a relay. */
static int carry(struct gy_home *home, uint16_t loop, struct gyre_address to,
		 struct gyre_mail *mail)
{
	struct gyre_mail *relay = gy_mail_get(home, &type_relay);

	if (relay == NULL) {
		return lose(home, to, mail, -ENOMEM);
	}
	*(struct relay *)gyre_payload(relay) = (struct relay){ .to = to, .mail = mail };
	relay->node.kind = GY_MAIL_REMOTE;
	gy_loop_send(&home->loop, loop, &relay->node);
	return 0;
}

static bool is_answer(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_REPLY || mail->node.kind == GY_MAIL_EXCEPTION;
}

static void owe(struct gy_link *link, struct gyre_address asker, struct gyre_mail *mail);

/* An answer is lost: who waits for it is told, unless the peer has ended. Whether that took the
 * mail of the answer, for there is no other. */
static bool owe_answer(struct gy_home *home, struct gyre_address asker, struct gyre_mail *mail,
		       int error)
{
	struct gy_link *link =
		(struct gy_link *)gy_id_table_find(&gy_links_of(home)->dialled, asker.node);

	if (link == NULL || !gy_peer_is_alive(link->peer) ||
	    gy_outgoing_fail_answer(link, asker, mail->ask_id, error) == 0) {
		return false;
	}
	gy_mail_release(mail);
	gy_unanswered_convert(mail, error);
	owe(link, asker, mail);
	return true;
}

/* Whose end is still to be told on this loop ends with that, after its last mail. One that lacks
 * memory is asked for again, by the watcher's own record. */
static void lose_watch(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
		       int error)
{
	if (gy_lives_end_is_due(gy_links_of(home), to)) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
	} else if (error == -ENOMEM) {
		gy_count(&home->counters.handled, 1);
		gy_peer_task_renew_later(gy_links_of(home), to.node, mail->from.loop);
		gy_mail_put(home, mail);
	} else {
		gy_watch_refused(home, mail, error);
	}
}

/* Whether the peer may still have to take what this loop has said to it. */
static bool may_overtake(struct gy_home *home, struct gyre_address to)
{
	const struct gy_link *link =
		(struct gy_link *)gy_id_table_find(&gy_links_of(home)->dialled, to.node);

	return link != NULL && link->unacknowledged;
}

/*
 * A watch that cannot be asked for is over at once. Answers and events of a loop that retires, or
 * has, leave by the first loop, unless that stops as well; where answers might overtake earlier
 * ones, who waits is told that way that they are lost. Other mail is lost.
 */
static int lose(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail, int error)
{
	if (mail->type == &gy_type_watch) {
		lose_watch(home, to, mail, error);
		return 0;
	}
	if (error == -ESHUTDOWN && home->loop.index != 0 &&
	    (is_answer(mail) || mail->node.kind == GY_MAIL_EVENT)) {
		if (!is_answer(mail) || !may_overtake(home, to)) {
			return carry(home, 0, to, mail);
		}
		error = -ECONNRESET;
	}
	if (error != -ESHUTDOWN && is_answer(mail) && owe_answer(home, to, mail, error)) {
		return error;
	}
	gy_drop(home, mail, to, reason_of(error), error);
	return error;
}

/* Mail to a life that is over, or is none of those that the link knows: so is its asker's, if it is
 * an answer. */
static __attribute__((noinline)) int lose_stale(struct gy_home *home, struct gyre_address to,
						struct gyre_mail *mail)
{
	if (mail->type == &gy_type_watch) {
		lose_watch(home, to, mail, -EHOSTDOWN);
		return 0;
	}
	gy_drop(home, mail, to, GYRE_DROP_FORMER_LIFE, -EHOSTDOWN);
	return -EHOSTDOWN;
}

/* Whether the receiver is of another life than the peer's of that link. */
static inline bool is_stale(const struct gy_link *link, struct gyre_address to)
{
	return to.life != gy_life_of(link->theirs.incarnation) && to.life != 0;
}

/* ---- what is like the one before ---- */

/* Whether the head of a mail would be that of the last notice, and it has room as it is. */
static inline bool is_again(const struct gy_link *link, struct gyre_address to,
			    const struct gyre_mail *mail)
{
	const struct gy_last_sent *last_sent = &link->last_sent;
	const struct gyre_type *type = mail->type;

	return last_sent->type == type && mail->node.kind == GY_MAIL_NOTICE &&
	       memcmp(&last_sent->to, &to, sizeof(to)) == 0 &&
	       memcmp(&last_sent->from, &mail->from, sizeof(mail->from)) == 0 &&
	       last_sent->type_id == type->id && last_sent->bytes == type->bytes &&
	       link->stage == GY_LINK_OPEN && link->flushing && link->fragments_count == 0 &&
	       (size_t)(link->frame_page.end - link->frame_page.at) >=
		       GY_WIRE_WORD_BYTES + last_sent->bytes &&
	       has_room(link, last_sent->bytes);
}

static inline int end_again(struct gy_link *link, struct gyre_mail *mail, uint32_t bytes)
{
	link->frame_page.at += bytes;
	link->queued_bytes += bytes;
	link->queued_frames++;
	gy_mail_put(link->links->home, mail);
	return 0;
}

/* A call of its own, so that what has no body saves no registers. */
static __attribute__((noinline)) int say_body_again(struct gy_link *link, struct gyre_mail *mail)
{
	uint32_t bytes = link->last_sent.bytes;

	memcpy(link->frame_page.at + GY_WIRE_WORD_BYTES, mail->payload, bytes);
	return end_again(link, mail, GY_WIRE_WORD_BYTES + bytes);
}

static inline int say_again(struct gy_link *link, struct gyre_mail *mail)
{
	uint32_t word =
		htole32((uint32_t)GY_WIRE_REPEAT << GY_WIRE_KIND_SHIFT | link->last_sent.bytes);

	memcpy(link->frame_page.at, &word, sizeof(word));
	return link->last_sent.bytes > 0 ? say_body_again(link, mail)
					 : end_again(link, mail, GY_WIRE_WORD_BYTES);
}

/* ---- any ---- */

/* Where mail says so whose link is not open: nothing reads that ahead now, and the node is this. */
static void note_receiver(struct gyre_mail *mail, struct gyre_address to)
{
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	mail->node.ahead = (int32_t)to.life;
	mail->from.node = to.loop;
}

/* What comes once, and finds no memory to leave with: the link breaks, and it waits for the next
 * connection, before all else. */
static int keep(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	gy_link_abort(link, -ENOMEM);
	note_receiver(mail, to);
	if (link->waiting == NULL) {
		link->waiting_last = &mail->node;
		link->away_ns = link->links->home->loop.now_ns;
	}
	mail->node.next = link->waiting;
	link->waiting = &mail->node;
	link->waiting_bytes += mail->type->bytes + OVERHEAD_BYTES;
	return 0;
}

static int send_now(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_home *home = link->links->home;
	int r;

	if (!link->flushing) {
		begin(link);
	}
	if (is_again(link, to, mail)) {
		return say_again(link, mail);
	}
	r = encode(link, to, mail);
	if (gy_unlikely(r == -ENOMEM && mail->node.kind == GY_MAIL_EVENT)) {
		return keep(link, to, mail);
	}
	if (r < 0) {
		return lose(home, to, mail, r);
	}
	link->pinned = link->pinned || mail->type == &gy_type_watch;
	gy_mail_put(home, mail);
	return 0;
}

/* Until the link is open. */
static int wait(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	uint64_t bytes = mail->type->bytes + OVERHEAD_BYTES;

	if (link->waiting_bytes > 0 && mail->node.kind != GY_MAIL_EVENT &&
	    link->waiting_bytes + bytes > link->links->nodes->options.link_bytes_max) {
		return lose(link->links->home, to, mail, -EAGAIN);
	}
	if (link->waiting_bytes == 0) {
		link->away_ns = link->links->home->loop.now_ns;
	}
	link->waiting_bytes += bytes;
	note_receiver(mail, to);
	mail->node.next = NULL;
	if (link->waiting == NULL) {
		link->waiting = &mail->node;
	} else {
		link->waiting_last->next = &mail->node;
	}
	link->waiting_last = &mail->node;
	return 0;
}

/* It has been counted as sent. */
static void owe(struct gy_link *link, struct gyre_address asker, struct gyre_mail *mail)
{
	struct gy_home *home = link->links->home;

	asker = gy_lives_shown(link->links->nodes, asker);
	if (link->stage == GY_LINK_OPEN && is_stale(link, asker)) {
		(void)lose_stale(home, asker, mail);
	} else if (link->stage == GY_LINK_OPEN) {
		(void)send_now(link, asker, mail);
	} else if (link->links->draining || gy_link_is_last(link)) {
		(void)lose(home, asker, mail, -ESHUTDOWN);
	} else {
		(void)wait(link, asker, mail);
		gy_link_ensure_dialled(link);
	}
}

/* So many may be owed beyond the bound as there is room within it: the rest ends by time-outs. */
int gy_outgoing_fail_answer(struct gy_link *link, struct gyre_address asker, uint64_t ask_id,
			    int error)
{
	uint64_t held = link->queued_bytes - link->credited_bytes + link->waiting_bytes;
	struct gyre_mail *mail;

	if (held > 2 * (uint64_t)link->links->nodes->options.link_bytes_max) {
		return 0;
	}
	mail = gy_unanswered_make(link->links->home, ask_id, error);
	if (mail == NULL) {
		return -ENOMEM;
	}
	gy_count(&link->links->home->counters.sent, 1);
	owe(link, asker, mail);
	return 0;
}

static struct gyre_mail *take_waiting(struct gy_link *link, struct gyre_address *ret_to)
{
	struct gyre_mail *mail = gy_mail_of(link->waiting);

	link->waiting = mail->node.next;
	*ret_to = (struct gyre_address){ .slot = mail->to_slot,
					 .cookie = mail->to_cookie,
					 .loop = mail->from.node,
					 .node = link->peer->id,
					 .life = (uint32_t)mail->node.ahead };
	mail->from.node = mail->from.cookie == 0 ? 0 : link->links->home->node;
	mail->node.ahead = 0;
	return mail;
}

static uint64_t count_waiting(const struct gy_link *link)
{
	uint64_t bytes = 0;

	for (struct gy_node *node = link->waiting; node != NULL; node = node->next) {
		bytes += gy_mail_of(node)->type->bytes + OVERHEAD_BYTES;
	}
	return bytes;
}

/* It may break again meanwhile; then the rest waits on. */
void gy_outgoing_send_waiting(struct gy_link *link)
{
	struct gyre_address to;

	while (link->waiting != NULL && link->stage == GY_LINK_OPEN) {
		struct gyre_mail *mail = take_waiting(link, &to);

		if (is_stale(link, to)) {
			(void)lose_stale(link->links->home, to, mail);
		} else {
			(void)send_now(link, to, mail);
		}
	}
	link->waiting_bytes = count_waiting(link);
}

/* A life that others have met before: that the former one is over says nothing about it. */
static bool is_unmet(const struct gy_peer *peer, uint32_t life)
{
	return life != 0 && gy_lives_find(&peer->lives, life) == 0;
}

/* Whether it stays. One that is to be for whatever life the node has is for the one that it had. */
static bool stays(const struct gy_link *link, struct gyre_address to, const struct gyre_mail *mail,
		  enum gy_waiting lost)
{
	const struct gy_lives *lives = &link->peer->lives;

	switch (lost) {
	case GY_WAITING_BUT_EVENTS:
		return mail->node.kind == GY_MAIL_EVENT;
	case GY_WAITING_ASKS:
		return mail->node.kind != GY_MAIL_ASK;
	case GY_WAITING_OVER:
		return is_unmet(link->peer, to.life) ||
		       (to.life != 0 && !gy_peer_is_down(link->peer) &&
			!gy_lives_is_over(lives, gy_lives_find(lives, to.life)));
	default:
		return false;
	}
}

void gy_outgoing_drop_waiting(struct gy_link *link, int error, enum gy_waiting which)
{
	struct gy_node *last = link->waiting == NULL ? NULL : link->waiting_last;
	struct gyre_address to;
	bool more = last != NULL;

	link->waiting_bytes = 0;
	while (more) {
		struct gyre_mail *mail = take_waiting(link, &to);

		more = &mail->node != last;
		if (stays(link, to, mail, which)) {
			(void)wait(link, to, mail);
		} else {
			(void)lose(link->links->home, to, mail, error);
		}
	}
}

void gy_outgoing_reset(struct gy_link *link)
{
	uint64_t lost = link->queued_frames - link->credited_frames;

	tell_frames(link);
	if (lost > 0) {
		(void)gy_add_relaxed(&link->peer->lost, lost);
	}
	gy_frame_page_drop(link, &link->frame_page);
	link->last_sent.type = NULL;
	gyre_buffer_destroy(link->out);
	link->out = NULL;
	link->queued_bytes = 0;
	link->credited_bytes = 0;
	gy_in_flight_reset(link);
	link->parcel_bytes = 0;
	link->fragment_bytes = 0;
	link->sent_bytes = 0;
	link->queued_frames = 0;
	link->told_frames = 0;
	link->credited_frames = 0;
}

/* Whether its node is known to have another life now, or none. */
static bool is_over(const struct gy_links *links, struct gyre_address to)
{
	const struct gy_peer *peer = to.life == 0 ? NULL : gy_peer_find(links->nodes, to.node);
	uint32_t number = peer == NULL ? 0 : gy_lives_find(&peer->lives, to.life);

	return number != 0 && gy_lives_is_over(&peer->lives, number);
}

/* The link to a node that is down, for mail that may find it in its next life. */
static struct gy_link *get_for_unmet(const struct gy_links *links, struct gyre_address to)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, to.node);

	return link != NULL && is_unmet(link->peer, to.life) ? link : NULL;
}

static int send_on(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_link *link = (struct gy_link *)gy_id_table_find(&links->dialled, to.node);
	int error;

	if (gy_likely(link != NULL && link->stage == GY_LINK_OPEN)) {
		if (gy_unlikely(to.slot > gy_slot_mask)) {
			to = gy_lives_shown(links->nodes, to); /* where an ask came from */
		}
		if (gy_unlikely(is_stale(link, to))) {
			return lose_stale(links->home, to, mail);
		}
		links->recent = link;
		return send_now(link, to, mail);
	}
	to = gy_lives_shown(links->nodes, to);
	if (is_over(links, to)) {
		return lose_stale(links->home, to, mail);
	}
	link = gy_link_get(links, to.node, &error);
	if (link == NULL && error == -EHOSTDOWN) {
		link = get_for_unmet(links, to);
	}
	return link == NULL ? lose(links->home, to, mail, error) : wait(link, to, mail);
}

static __attribute__((noinline)) int route_any(struct gy_home *home, struct gyre_address to,
					       struct gyre_mail *mail)
{
	if (gy_unlikely(home->here == GY_LOOP_NONE && mail->from.cookie != 0 &&
			mail->from.loop != home->loop.index)) {
		return carry(home, mail->from.loop, to, mail); /* it leaves by its own loop */
	}
	return send_on(gy_links_of(home), to, mail);
}

static int route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_link *link = gy_links_of(home)->recent;

	gy_count(&home->counters.sent, 1);
	if (gy_likely(link != NULL && is_again(link, to, mail) && home->here != GY_LOOP_NONE)) {
		return say_again(link, mail);
	}
	return route_any(home, to, mail);
}

int gy_outgoing_drop(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
		     int error)
{
	return lose(home, to, mail, error);
}

struct gyre_mail *gy_relay_create(struct gyre_address to, struct gyre_mail *mail)
{
	struct gyre_mail *relay = gy_mail_get_from_heap(&type_relay);

	if (relay != NULL) {
		*(struct relay *)gyre_payload(relay) = (struct relay){ .to = to, .mail = mail };
		relay->node.kind = GY_MAIL_REMOTE;
	}
	return relay;
}

static struct gyre_address shown(const struct gy_home *home, struct gyre_address address)
{
	return gy_lives_shown(gy_links_of(home)->nodes, address);
}

static void arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct relay relay = *(const struct relay *)gyre_payload(mail);
	struct gy_links *links = gy_links_of(home);

	gy_mail_put(home, mail);
	if (links->one_ways > 0 && gy_one_way_refuses(links, relay.to, relay.mail)) {
		(void)lose(home, relay.to, relay.mail, -EADDRNOTAVAIL);
	} else {
		(void)send_on(links, relay.to, relay.mail);
	}
}

/* Links are channels, which end by themselves; nothing is to wait for them any more. */
static void drain(struct gy_home *home)
{
	gy_links_drain(gy_links_of(home));
}

static void resume(struct gy_home *home)
{
	gy_links_resume(gy_links_of(home));
}

const struct gy_remote_ops gy_remote_ops = {
	.route = route,
	.arrived = arrived,
	.leave = gy_links_leave,
	.drain = drain,
	.resume = resume,
	.shown = shown,
};
