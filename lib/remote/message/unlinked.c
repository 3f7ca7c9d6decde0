/*
 * Mail without a link. The first mail of a loop to a peer makes a link, which takes memory. An ask
 * or a notice that finds none fails; but the end of an actor, or an answer, comes once, and whoever
 * waits for it would wait in vain. Such mail is kept here, in the task that each peer has for each
 * loop, and the link is made a moment later.
 */
#include "remote/message/unlinked.h"

#include <errno.h>

#include "actor/life/watch.h"
#include "remote/link/link.h"
#include "remote/link/link_beat.h"
#include "remote/link/link_dial.h"
#include "remote/message/mail_loss.h"
#include "remote/message/outgoing.h"
#include "remote/peer/peer_life.h"

static const uint64_t again_ns = GYRE_MILLISECONDS(1);

/* A watch is asked for again by the record that the watcher has of it. */
bool gy_unlinked_may_wait(const struct gyre_mail *mail)
{
	return mail->node.kind != GY_MAIL_NOTICE && mail->node.kind != GY_MAIL_ASK &&
	       mail->type != &gy_type_watch;
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
	struct gy_peer *peer = gy_peer_find(links->nodes, to.node);
	struct gy_peer_task *peer_task = &peer->peer_tasks[links->home->loop.index];

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
	struct gy_peer_task *peer_task = &link->peer->peer_tasks[links->home->loop.index];

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

static void make_links(struct gy_timer *timer)
{
	struct gy_links *links = gy_container_of(timer, struct gy_links, relink);

	while (!gy_list_empty(&links->unlinked)) {
		struct gy_link *link = gy_link_get_dialled(links, first_of(links)->peer);

		if (link == NULL) {
			gy_timer_start(&links->home->loop.wheel, &links->relink, again_ns);
			return;
		}
		if (gy_link_is_retiring(link)) {
			gy_outgoing_drop_waiting(link, -ESHUTDOWN, GY_WAITING_ALL);
		} else {
			gy_link_excuse_silence(link); /* nobody has judged it lately */
			gy_link_ensure_dialled(link);
		}
	}
}

void gy_unlinked_init(struct gy_links *links)
{
	gy_list_init(&links->unlinked);
	gy_timer_init(&links->relink, make_links);
}
