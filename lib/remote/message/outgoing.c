/*
 * What a link has to send: mail that waits for it to open, and the frames that are queued since
 * then and given to the channel at the end of the phase. So all that a loop says to a peer in a
 * turn is one send, unless it says much.
 *
 * Two nodes that ask and answer each other would take turns, each idle while the other works, if
 * each sent only when it had nothing left to do. So a loop that had to wait for its input sends
 * what each job says, if that is worth a system call; where there is always more to do, system
 * calls are saved.
 */
#include "remote/message/outgoing.h"

#include <errno.h>
#include <string.h>

#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "channel/channel.h"
#include "channel/output/output.h"
#include "remote/link/link_dial.h"
#include "remote/link/link_flush.h"
#include "remote/message/encode.h"
#include "remote/message/mail_loss.h"
#include "remote/node.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"

/* ---- flushes ---- */

/* As much as is worth a system call of its own. */
enum { AT_ONCE_BYTES = 2048 };

static void count_frames(struct gy_link *link)
{
	uint64_t frames = link->queued_frames - link->counted_frames;

	(void)gy_add_relaxed(&link->peer->sent, frames);
	gy_count(&link->links->home->counters.to_nodes, frames);
	link->counted_frames = link->queued_frames;
}

/* Prepares the send of what the channel has. Where it has more to do than to send, or sends
 * already, it goes the usual way. False if nothing was prepared. */
static bool start_send(const struct gy_link *link)
{
	struct gyre_channel *channel =
		gy_link_can_send(link) ? gyre_context_channel(link->ctx) : NULL;

	return channel != NULL && channel->receive.armed && !channel->send.armed &&
	       (channel->state & GY_CHANNEL_SLOW) == 0 && gy_output_start(channel) == 0;
}

static void flush(struct gy_link *link)
{
	link->used_ns = link->links->home->loop.now_ns;
	count_frames(link);
	gy_link_flush(link);
}

/* The phase ends: what was prepared goes to the kernel with all else. */
static void flush_at_phase_end(struct gy_loop *loop, struct gy_later *ending)
{
	struct gy_link *link = gy_container_of(ending, struct gy_link, ending);

	(void)loop;
	gy_link_clear(link, GY_LINK_FLAG_FLUSH_QUEUED);
	link->direct_end = NULL;
	flush(link);
	(void)start_send(link);
}

/* The job has ended: gives the kernel what was written before the next jobs run. */
static void flush_after_job(struct gy_loop *loop, struct gy_later *later)
{
	struct gy_link *link = gy_container_of(later, struct gy_link, later);

	gy_link_clear(link, GY_LINK_FLAG_FLUSH_SOON);
	flush(link);
	if (start_send(link)) {
		(void)gy_ring_submit(loop->ring);
	}
}

/* Before the first frame of a phase. */
static void queue_flush(struct gy_link *link)
{
	gy_frame_page_rewind(&link->frame_page);
	gy_link_set(link, GY_LINK_FLAG_FLUSH_QUEUED);
	link->ending.run = flush_at_phase_end;
	gy_loop_at_phase_end(&link->links->home->loop, &link->ending);
}

static void queue_flush_after_job(struct gy_link *link)
{
	if (!gy_link_has(link, GY_LINK_FLAG_FLUSH_SOON)) {
		gy_link_set(link, GY_LINK_FLAG_FLUSH_SOON);
		link->later.run = flush_after_job;
		gy_loop_later(&link->links->home->loop, &link->later);
	}
}

/* ---- what may be written without more ado ---- */

/* So many bytes, up to the end of the page and the bound of the link. */
static size_t direct_room(const struct gy_link *link)
{
	const struct gy_frame_page *page = &link->frame_page;
	size_t room = (size_t)(page->end - page->at);
	uint64_t held = link->queued_bytes - link->credited_bytes + GY_WIRE_HEAD_BYTES_MAX;

	if (link->stage != GY_LINK_STAGE_OPEN || link->fragments_count > 0 ||
	    held >= link->queued_bytes_max) {
		return 0;
	}
	return link->queued_bytes_max - held < room ? link->queued_bytes_max - held : room;
}

static void set_direct(struct gy_link *link, size_t room)
{
	link->direct_end = room == 0 ? NULL : link->frame_page.at + room;
}

/* After a frame was queued. A loop that waits soon sends soon: mail that makes it much comes here
 * again. */
static void update_direct(struct gy_link *link)
{
	size_t written = (size_t)(link->frame_page.at - link->frame_page.begin);
	size_t room = direct_room(link);
	bool much = written >= AT_ONCE_BYTES || link->out != NULL;

	if (much && (link->links->home->loop.waited || link->out != NULL)) {
		queue_flush_after_job(link);
	} else if (!much && room > AT_ONCE_BYTES - written) {
		room = AT_ONCE_BYTES - written;
	}
	set_direct(link, room);
}

/* ---- mail that waits ---- */

void gy_outgoing_note_receiver(struct gyre_mail *mail, struct gyre_address to)
{
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	mail->node.ahead = (int32_t)to.life;
	mail->from.node = to.loop;
}

struct gyre_address gy_outgoing_take_receiver(struct gyre_mail *mail, uint16_t own_node)
{
	const struct gyre_address to = { .slot = mail->to_slot,
					 .cookie = mail->to_cookie,
					 .loop = mail->from.node,
					 .life = (uint32_t)mail->node.ahead };

	mail->from.node = mail->from.cookie == 0 ? 0 : own_node;
	mail->node.ahead = 0;
	return to;
}

uint64_t gy_outgoing_waiting_bytes(const struct gy_node *node)
{
	return gy_mail_bytes(gy_container_of(node, const struct gyre_mail, node)) +
	       (uint64_t)GY_WIRE_HEAD_BYTES_MAX;
}

/* An event comes once: if it finds no memory to leave with, the link breaks, and it waits for the
 * next connection, ahead of all other mail. But the end of a round says nothing there. */
static int wait_first(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	gy_outgoing_note_receiver(mail, to);
	if (link->waiting == NULL) {
		link->waiting_last = &mail->node;
		link->waiting_since_ns = link->links->home->loop.now_ns;
	}
	mail->node.next = link->waiting;
	link->waiting = &mail->node;
	link->waiting_bytes += gy_outgoing_waiting_bytes(&mail->node);
	gy_link_abort(link, -ENOMEM); /* which drops what waits where there is no next one */
	return 0;
}

int gy_outgoing_wait(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	uint64_t bytes = gy_outgoing_waiting_bytes(&mail->node);

	if (link->waiting_bytes > 0 && mail->node.kind != GY_MAIL_EVENT &&
	    link->waiting_bytes + bytes > link->links->nodes->options.link_bytes_max) {
		return gy_mail_loss(link->links->home, to, mail, -EAGAIN);
	}
	if (link->waiting_bytes == 0) {
		link->waiting_since_ns = link->links->home->loop.now_ns;
	}
	link->waiting_bytes += bytes;
	gy_outgoing_note_receiver(mail, to);
	mail->node.next = NULL;
	if (link->waiting == NULL) {
		link->waiting = &mail->node;
	} else {
		link->waiting_last->next = &mail->node;
	}
	link->waiting_last = &mail->node;
	return 0;
}

static struct gyre_mail *take_waiting(struct gy_link *link, struct gyre_address *ret_to)
{
	struct gyre_mail *mail = gy_mail_of(link->waiting);

	link->waiting = mail->node.next;
	*ret_to = gy_outgoing_take_receiver(mail, link->links->home->node);
	ret_to->node = link->peer->id;
	return mail;
}

static uint64_t count_waiting(const struct gy_link *link)
{
	uint64_t bytes = 0;

	for (const struct gy_node *node = link->waiting; node != NULL; node = node->next) {
		bytes += gy_outgoing_waiting_bytes(node);
	}
	return bytes;
}

/* Mail that does not go to the page as it is. */
static int send_slow(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_home *home = link->links->home;
	int r = gy_encode(link, to, mail);

	if (gy_unlikely(r == -ENOMEM && mail->node.kind == GY_MAIL_EVENT &&
			mail->type != &gy_type_round_over)) {
		return wait_first(link, to, mail);
	}
	if (r < 0) {
		return gy_mail_loss(home, to, mail, r);
	}
	if (gy_unlikely(mail->type == &gy_type_watch)) {
		gy_link_set(link, GY_LINK_FLAG_PINNED);
	}
	gy_mail_put(home, mail);
	return 0;
}

int gy_outgoing_send(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail)
{
	const struct gyre_address head_to = gy_head_to(link, to, mail);
	uint32_t index = gy_head_index(&link->heads, head_to, mail);
	struct gy_sent_head *head = &link->heads.sent[index];
	int r;

	if (!gy_link_has(link, GY_LINK_FLAG_FLUSH_QUEUED)) {
		queue_flush(link);
	}
	set_direct(link, direct_room(link));
	link->last_index = index;
	r = gy_encode_is_repeat(link, head, head_to, mail) ? gy_encode_repeat(link, head, mail)
							   : send_slow(link, to, mail);
	update_direct(link);
	return r;
}

/* The link may break again meanwhile; then the rest waits on. */
void gy_outgoing_send_waiting(struct gy_link *link)
{
	struct gyre_address to;

	while (link->waiting != NULL && link->stage == GY_LINK_STAGE_OPEN) {
		struct gyre_mail *mail = take_waiting(link, &to);

		if (gy_link_is_stale(link, to)) {
			(void)gy_mail_loss_stale(link->links->home, to, mail);
		} else {
			(void)gy_outgoing_send(link, to, mail);
		}
	}
	link->waiting_bytes = count_waiting(link);
}

bool gy_outgoing_is_unmet(const struct gy_peer *peer, uint32_t life)
{
	return life != 0 && gy_lives_find(&peer->lives, life) == 0;
}

/* Whether mail stays. Mail that names no life is for the life that the node had when it was sent.
 */
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
		return gy_outgoing_is_unmet(link->peer, to.life) ||
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
			(void)gy_outgoing_wait(link, to, mail);
		} else {
			(void)gy_mail_loss(link->links->home, to, mail, error);
		}
	}
}

/* ---- failures of answers ---- */

void gy_outgoing_send_failure(struct gy_link *link, struct gyre_address asker,
			      struct gyre_mail *mail)
{
	struct gy_home *home = link->links->home;

	asker = gy_lives_shown(link->links->nodes, asker);
	if (link->stage == GY_LINK_STAGE_OPEN && gy_link_is_stale(link, asker)) {
		(void)gy_mail_loss_stale(home, asker, mail);
	} else if (link->stage == GY_LINK_STAGE_OPEN) {
		(void)gy_outgoing_send(link, asker, mail);
	} else if (link->links->draining || gy_link_is_retiring(link)) {
		(void)gy_mail_loss(home, asker, mail, -ESHUTDOWN);
	} else {
		(void)gy_outgoing_wait(link, asker, mail);
		gy_link_ensure_dialled(link);
	}
}

/* The link may hold twice its bound for such: beyond that asks end by their time-outs. */
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
	gy_outgoing_send_failure(link, asker, mail);
	return 0;
}

/* ---- the end of a connection ---- */

void gy_outgoing_reset(struct gy_link *link)
{
	uint64_t lost = link->queued_frames - link->credited_frames;

	count_frames(link);
	if (lost > 0) {
		(void)gy_add_relaxed(&link->peer->lost, lost);
	}
	gy_frame_page_drop(link, &link->frame_page);
	gy_heads_reset(&link->heads);
	link->last_index = 0;
	gyre_buffer_destroy(link->out);
	link->out = NULL;
	link->queued_bytes = 0;
	link->credited_bytes = 0;
	gy_in_flight_reset(link);
	link->parcel_bytes = 0;
	link->fragment_bytes = 0;
	link->sent_bytes = 0;
	link->queued_frames = 0;
	link->counted_frames = 0;
	link->credited_frames = 0;
}
