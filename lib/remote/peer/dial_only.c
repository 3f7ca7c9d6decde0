/*
 * A node that does not listen. A message goes over a link that its sender has dialled, so nothing
 * that another node says to an actor reaches this one: no answer, no found name, no end that is
 * watched. What needs one fails where it is sent; the rest leaves as from any node.
 */
#include "remote/peer/dial_only.h"

#include <errno.h>

#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "remote/link/links.h"
#include "remote/message/outgoing.h"
#include "remote/message/route.h"
#include "remote/node.h"
#include "remote/peer/one_way.h"

static bool needs_answer(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_ASK || mail->type == &gy_type_watch;
}

/* Once. */
static void log_lack(struct gy_nodes *nodes, uint16_t to)
{
	if (gy_exchange(&nodes->lack_logged, 1) == 0) {
		gy_log(nodes->log, GYRE_LOG_WARNING,
		       "node %u: it does not listen, so node %u cannot dial it to answer: asks, "
		       "watches and names looked up there fail at once; give it an address "
		       "(listen)",
		       nodes->options.id, to);
	}
}

static int route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	if (!needs_answer(mail)) {
		return gy_remote_ops.route(home, to, mail);
	}
	log_lack(gy_links_of(home)->nodes, to.node);
	gy_count(&home->counters.sent, 1);
	if (mail->type == &gy_type_watch) {
		gy_watch_refused(home, mail, -EADDRNOTAVAIL);
		return 0;
	}
	gy_drop(home, mail, to, GYRE_DROP_NODE_DOWN, -EADDRNOTAVAIL);
	return -EADDRNOTAVAIL;
}

void gy_remote_ops_for(struct gy_nodes *nodes)
{
	nodes->ops = gy_remote_ops;
	if (!gy_node_listens(nodes)) {
		nodes->ops.route = route;
	}
	nodes->one_way_ops = nodes->ops;
	if (gy_node_listens(nodes)) {
		nodes->one_way_ops.route = gy_one_way_route;
	}
}
