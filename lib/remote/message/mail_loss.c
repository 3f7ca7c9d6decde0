/*
 * Mail for another node that cannot go there: who waits for it, or for what would answer it, is
 * told.
 *
 * A watch that cannot be asked for is over at once; if an order that ends one, or a round, lacks
 * memory, there is another round. Answers and events of a loop that retires, or
 * has, leave by the first loop, unless that stops as well; where answers might overtake earlier
 * ones, who waits is told that way that they are lost. Other mail is a dead letter.
 */
#include "remote/message/mail_loss.h"

#include <errno.h>

#include "actor/life/node_loss.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "remote/link/link.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/peer/peer_life.h"
#include "remote/peer/peer_state.h"
#include "remote/peer/rounds.h"

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

static bool is_answer(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_REPLY || mail->node.kind == GY_MAIL_EXCEPTION;
}

/* An answer is lost: who waits for it is told, unless the peer has ended. Whether that took the
 * mail of the answer, since there is no memory for another one. */
static bool fail_answer(struct gy_home *home, struct gyre_address asker, struct gyre_mail *mail,
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
	gy_outgoing_send_failure(link, asker, mail);
	return true;
}

static void repeat_round(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	gy_count(&home->counters.handled, 1);
	gy_rounds_begin_later(gy_links_of(home), to.node, mail->from.loop);
	gy_mail_put(home, mail);
}

/* A watch of a life whose end has still to be told on this loop ends with that, after its last
 * mail. A watch that lacks memory is asked for again, by the record that the watcher has of it; but
 * there are no rounds with a node of which nothing is known. */
static void end_watch(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
		      int error)
{
	struct gy_links *links = gy_links_of(home);

	if (error == -ENOMEM && gy_peer_find(links->nodes, to.node) == NULL) {
		error = -EHOSTUNREACH;
	}
	if (gy_lives_end_is_due(links, to)) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
	} else if (error == -ENOMEM) {
		repeat_round(home, to, mail);
	} else {
		gy_watch_refused(home, mail, error);
	}
}

/* Whether the peer may still have to take what this loop has said to it. */
static bool may_overtake(struct gy_home *home, struct gyre_address to)
{
	const struct gy_link *link =
		(struct gy_link *)gy_id_table_find(&gy_links_of(home)->dialled, to.node);

	return link != NULL && gy_link_has(link, GY_LINK_FLAG_UNACKNOWLEDGED);
}

int gy_mail_loss(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail, int error)
{
	if (mail->type == &gy_type_watch) {
		end_watch(home, to, mail, error);
		return 0;
	}
	if (error == -ENOMEM &&
	    (mail->type == &gy_type_unwatch || mail->type == &gy_type_round_over)) {
		repeat_round(home, to, mail);
		return 0;
	}
	if (error == -ESHUTDOWN && home->loop.index != 0 &&
	    (is_answer(mail) || mail->node.kind == GY_MAIL_EVENT)) {
		if (!is_answer(mail) || !may_overtake(home, to)) {
			return gy_route_by_loop(home, 0, to, mail);
		}
		error = -ECONNRESET;
	}
	if (error != -ESHUTDOWN && is_answer(mail) && fail_answer(home, to, mail, error)) {
		return error;
	}
	gy_drop(home, mail, to, reason_of(error), error);
	return error;
}

int gy_mail_loss_stale(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	if (mail->type == &gy_type_watch) {
		end_watch(home, to, mail, -EHOSTDOWN);
		return 0;
	}
	gy_drop(home, mail, to, GYRE_DROP_FORMER_LIFE, -EHOSTDOWN);
	return -EHOSTDOWN;
}
