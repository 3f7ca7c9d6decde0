/*
 * Mail without a link. The first mail of a loop to a peer makes a link, which takes memory. An ask
 * or a notice that finds none fails; but the end of an actor, or an answer, comes once, and whoever
 * waits for it would wait in vain. Such mail is kept here, in the task that each peer has for each
 * loop, and the link is made a moment later.
 *
 * A loop that dials nobody, since it retires or is pinned, sends its mail by loop 0, which takes
 * memory as well. What has come to wait before leaves before any other mail to that peer.
 */
#include "remote/message/unlinked.h"

#include <errno.h>

#include "actor/life/watch.h"
#include "remote/link/link.h"
#include "remote/link/link_beat.h"
#include "remote/link/link_dial.h"
#include "remote/message/mail_loss.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/peer/peer_life.h"

static const uint64_t again_ns = GYRE_MILLISECONDS(1);

/* A watch is asked for again by the record that the watcher has of it. */
bool gy_unlinked_may_wait(const struct gyre_mail *mail)
{
	return mail->node.kind != GY_MAIL_NOTICE && mail->node.kind != GY_MAIL_ASK &&
	       mail->type != &gy_type_watch;
}

static struct gy_peer_task *task_of(const struct gy_links *links, const struct gy_peer *peer)
{
	return &peer->peer_tasks[links->home->loop.index];
}

static struct gy_peer_task *first_of(const struct gy_links *links)
{
	return gy_container_of(links->unlinked.next, struct gy_peer_task, unlinked_item);
}

static struct gy_node *take(struct gy_peer_task *peer_task)
{
	struct gy_node *first = peer_task->unlinked;

	gy_list_remove(&peer_task->unlinked_item);
	peer_task->unlinked = NULL;
	peer_task->unlinked_last = NULL;
	return first;
}

void gy_unlinked_keep(struct gy_links *links, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_peer_task *peer_task = task_of(links, gy_peer_find(links->nodes, to.node));

	gy_assert(gy_unlinked_may_wait(mail) && !links->draining);
	gy_outgoing_note_receiver(mail, to);
	mail->node.next = NULL;
	if (peer_task->unlinked == NULL) {
		gy_list_append(&links->unlinked, &peer_task->unlinked_item);
		peer_task->unlinked = &mail->node;
	} else {
		peer_task->unlinked_last->next = &mail->node;
	}
	peer_task->unlinked_last = &mail->node;
	if (!gy_timer_is_started(&links->relink)) {
		gy_timer_start(&links->home->loop.wheel, &links->relink, again_ns);
	}
}

void gy_unlinked_adopt(struct gy_link *link)
{
	struct gy_links *links = link->links;
	struct gy_peer_task *peer_task = task_of(links, link->peer);

	gy_assert(link->waiting == NULL);
	if (peer_task->unlinked == NULL) {
		return;
	}
	link->waiting_last = peer_task->unlinked_last;
	link->waiting = take(peer_task);
	link->waiting_since_ns = links->home->loop.now_ns;
	for (const struct gy_node *node = link->waiting; node != NULL; node = node->next) {
		link->waiting_bytes += gy_outgoing_waiting_bytes(node);
	}
}

bool gy_unlinked_leave(struct gy_links *links, const struct gy_peer *peer)
{
	struct gy_peer_task *peer_task = task_of(links, peer);

	while (peer_task->unlinked != NULL) {
		struct gyre_mail *mail = gy_mail_of(peer_task->unlinked);
		struct gy_node *next = mail->node.next;
		struct gyre_address to = gy_outgoing_take_receiver(mail, links->home->node);

		to.node = peer->id;
		if (!gy_route_by_first_loop(links, to, mail)) {
			gy_outgoing_note_receiver(mail, to);
			return false;
		}
		peer_task->unlinked = next;
		if (next == NULL) {
			(void)take(peer_task);
		}
	}
	return true;
}

void gy_unlinked_drop(struct gy_links *links)
{
	gy_timer_stop(&links->home->loop.wheel, &links->relink);
	while (!gy_list_empty(&links->unlinked)) {
		struct gy_peer_task *peer_task = first_of(links);
		struct gy_node *node = take(peer_task);

		while (node != NULL) {
			struct gyre_mail *mail = gy_mail_of(node);
			struct gyre_address to = gy_outgoing_take_receiver(mail, links->home->node);

			node = node->next;
			to.node = peer_task->peer->id;
			(void)gy_mail_loss(links->home, to, mail, -ESHUTDOWN);
		}
	}
}

/* Gives what waits for that peer its way. False while there is no memory for that. */
static bool send_on(struct gy_links *links, struct gy_peer *peer)
{
	struct gy_link *link;

	if (!gy_links_may_dial(links)) {
		return gy_unlinked_leave(links, peer);
	}
	link = gy_link_get_dialled(links, peer);
	if (link != NULL) {
		gy_link_excuse_silence(link); /* nobody has judged it lately */
		gy_link_ensure_dialled(link);
	}
	return link != NULL;
}

static void try_again(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, relink);

	while (!gy_list_empty(&links->unlinked)) {
		if (!send_on(links, first_of(links)->peer)) {
			gy_timer_start(&links->home->loop.wheel, &links->relink, again_ns);
			return;
		}
	}
}

void gy_unlinked_init(struct gy_links *links)
{
	gy_list_init(&links->unlinked);
	gy_timer_init(&links->relink, try_again);
}
