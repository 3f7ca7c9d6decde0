/*
 * The way of a mail from its sender to a lane: on the same loop at once, with plain stores; to
 * another loop through the outbox; and what becomes of mail that finds nobody. Every mail that
 * enters here is counted as sent, and later exactly once as handled or as dropped for a reason.
 */
#include <errno.h>

#include "actor/life/children.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/lifecycle.h"
#include "actor/life/node_loss.h"
#include "actor/life/supervise.h"
#include "actor/life/watch.h"
#include "actor/life/watch_walk.h"
#include "actor/mail/send.h"
#include "actor/stack/ask_cycle.h"
#include "actor/stack/envelope.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"
#include "loop/borrowed.h"

const struct gyre_type gy_type_exception = { .name = "exception",
					     .id = 0x02,
					     .bytes = sizeof(struct gy_exception) };
const struct gyre_type gy_type_stop = { .name = "stop", .id = GY_ID_STOP };
const struct gyre_type gy_type_poison = { .name = "poison", .id = 0x04 };

static const char *const drop_names[] = {
	[GYRE_DROP_MAILBOX_FULL] = "mailbox full",
	[GYRE_DROP_NO_ACTOR] = "no actor",
	[GYRE_DROP_STOPPED] = "stopped",
	[GYRE_DROP_SHUTDOWN] = "shutdown",
	[GYRE_DROP_UNHANDLED] = "unhandled",
	[GYRE_DROP_EXPIRED] = "expired",
	[GYRE_DROP_LATE] = "late",
	[GYRE_DROP_SECOND] = "second answer",
	[GYRE_DROP_CANCELLED] = "cancelled",
	[GYRE_DROP_NO_MEMORY] = "no memory",
	[GYRE_DROP_NODE_DOWN] = "node down",
	[GYRE_DROP_LINK_FULL] = "link full",
	[GYRE_DROP_FORMER_LIFE] = "former life",
	[GYRE_DROP_NOT_UNDERSTOOD] = "not understood",
};
_Static_assert(gy_countof(drop_names) == GYRE_DROP_COUNT, "each reason has a name");

const char *gyre_drop_name(enum gyre_drop reason)
{
	return (size_t)reason < gy_countof(drop_names) ? drop_names[reason] : "unknown";
}

/*
 * Whether a house has that address, and its class can be told. The cookie comes first: if it is
 * another, other threads may be reserving the slot. Of one that is away a thief has the class.
 */
static bool has_kind(const struct gy_house *house, uint32_t cookie)
{
	return gy_load_acquire(&house->self.cookie) == cookie && !gy_house_is_away(house) &&
	       house->class_info != NULL;
}

static void count_drop(struct gy_home *home, const struct gyre_mail *mail, struct gyre_address to,
		       enum gyre_drop reason)
{
	struct gy_house *house = to.loop == home->loop.index && gy_is_of_node(home->node, to)
					 ? gy_house_at(home, to.slot)
					 : NULL;

	gy_count(&home->counters.dropped[reason], 1);
	if (house != NULL && has_kind(house, to.cookie)) {
		gy_count(&house->class_info->dropped[reason], 1);
	}
	if (home->options.dead_letter != NULL) {
		home->options.dead_letter(home, mail, to, reason);
	}
}

void gy_drop(struct gy_home *home, struct gyre_mail *mail, struct gyre_address to,
	     enum gyre_drop reason, int error)
{
	gy_assert(error <= 0 && (unsigned)reason < GYRE_DROP_COUNT);
	count_drop(home, mail, to, reason);
	if (mail->node.kind == GY_MAIL_PUBLISHED) {
		home->options.directory->lose_event(mail);
	}
	if (mail->node.kind == GY_MAIL_ASK) {
		gy_fail_ask(home, mail, error);
	} else {
		gy_mail_put(home, mail);
	}
}

static int nobody(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	gy_drop(home, mail, to, GYRE_DROP_NO_ACTOR, -ESRCH);
	return -ESRCH;
}

/* Whether mail is an order to the house itself, rather than mail for its actor. */
static bool is_order(const struct gyre_mail *mail)
{
	switch (mail->type->id) {
	case GY_ID_STOP:
	case GY_ID_WATCH:
	case GY_ID_UNWATCH:
	case GY_ID_GRACEFUL_STOP:
	case GY_ID_WATCH_VISIT:
	case GY_ID_NODE_LOSS:
	case GY_ID_UNANSWERED:
	case GY_ID_FAILURE:
	case GY_ID_DECISION:
		return true;
	default:
		return false;
	}
}

/* Keeps an order to a house that another loop may run. */
static void defer_order(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	if (mail->type->id == GY_ID_GRACEFUL_STOP) {
		gy_graceful_stop_defer(home, house, mail);
	}
	gy_house_defer(home, house, mail);
}

static void stop_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	gy_count(&home->counters.handled, 1);
	gy_mail_put(home, mail);
	gy_house_request_stop(house, 0);
}

/*
 * Takes mail that is an order, and does it. @house is NULL when nobody has the address: some orders
 * mean something even then, for whoever sent them. False if the mail is left to the caller.
 */
static __attribute__((noinline)) bool order_arrived(struct gy_home *home, struct gy_house *house,
						    struct gyre_mail *mail)
{
	if (!is_order(mail)) {
		return false;
	}
	if (house != NULL && gy_house_is_away(house)) {
		defer_order(home, house, mail);
		return true;
	}
	switch (mail->type->id) {
	case GY_ID_WATCH:
		gy_watch_arrived(home, house, mail);
		return true;
	case GY_ID_UNWATCH:
		gy_unwatch_arrived(home, house, mail);
		return true;
	case GY_ID_WATCH_VISIT:
		gy_watch_visit_arrived(home, house, mail);
		return true;
	case GY_ID_NODE_LOSS:
		gy_node_loss_arrived(home, house, mail);
		return true;
	case GY_ID_UNANSWERED:
		gy_unanswered_arrived(home, house, mail);
		return true;
	case GY_ID_FAILURE:
		gy_failure_arrived(home, house, mail);
		return true;
	case GY_ID_DECISION:
		gy_decision_arrived(home, house, mail);
		return true;
	default:
		break;
	}
	if (house == NULL) {
		return false;
	}
	if (mail->type->id == GY_ID_GRACEFUL_STOP) {
		gy_graceful_stop_arrived(home, house, mail);
	} else {
		stop_arrived(home, house, mail);
	}
	return true;
}

/* Whether an order is for one that has begun to stop as well, while its children or channels end:
 * who waits for its end still may. */
static bool is_for_ending(const struct gyre_mail *mail)
{
	return mail->type == &gy_type_watch || mail->type == &gy_type_unwatch ||
	       (mail->type == &gy_type_graceful_stop && mail->node.kind == GY_MAIL_ASK);
}

/* Delivers mail for a slot that no house has: to a channel, or to nobody. */
static int put_beside(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	if (slot >= GY_CHANNEL_SLOTS && home->channel_ops != NULL) {
		return home->channel_ops->put(home, slot, cookie, mail);
	}
	return nobody(home,
		      (struct gyre_address){ .slot = slot,
					     .cookie = cookie,
					     .loop = home->loop.index,
					     .node = home->node },
		      mail);
}

/* Puts mail that has arrived at its loop into its house, or drops it. */
static int put_here(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	struct gy_house *house = gy_house_find(home, slot, cookie);
	struct gy_house *ending = NULL;

	if (gy_unlikely(house != NULL && !gy_house_is_occupied(house))) {
		ending = house->status == GY_HOUSE_STOPPING ? house : NULL;
		house = NULL;
	}
	if (gy_unlikely(mail->type->id < GY_IDS_OF_GYRE)) {
		struct gy_house *receiver = house == NULL && is_for_ending(mail) ? ending : house;

		if (order_arrived(home, receiver, mail)) {
			return 0;
		}
	}
	if (gy_unlikely(house == NULL)) {
		return put_beside(home, slot, cookie, mail);
	}
	return gy_send_bounded(home, house, mail, gy_mail_lane(mail));
}

int gy_send_bounded(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail,
		    enum gy_lane lane)
{
	if (gy_unlikely(!gy_house_is_occupied(house))) {
		return nobody(home, gy_house_address(house), mail);
	}
	if (house->limit != 0) {
		return gy_house_put_bounded(home, house, mail, lane);
	}
	gy_house_put(home, house, mail, lane);
	return 0;
}

/* Mail that finds nobody: some orders mean something even then. */
static __attribute__((noinline)) int send_to_nobody(struct gy_home *home, struct gyre_address to,
						    struct gyre_mail *mail)
{
	gy_count(&home->counters.sent, 1);
	return order_arrived(home, NULL, mail) ? 0 : nobody(home, to, mail);
}

/* Sends to a group, or to a loop that this system does not have. */
static __attribute__((noinline)) int send_elsewhere(struct gy_home *home, struct gyre_address to,
						    struct gyre_mail *mail)
{
	return to.loop == GY_GROUP_LOOP && home->options.directory != NULL
		       ? home->options.directory->route(home, to, mail)
		       : send_to_nobody(home, to, mail);
}

static inline __attribute__((always_inline)) int
send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	if (!gy_is_of_node(home->node, to)) {
		const struct gy_remote_ops *remote = home->options.remote;

		return gy_likely(remote != NULL) ? remote->route(home, to, mail)
						 : send_to_nobody(home, to, mail);
	}
	if (gy_unlikely(to.loop >= gy_loops_made(home->loop.peers))) {
		return send_elsewhere(home, to, mail);
	}
	gy_count(&home->counters.sent, 1);
	if (to.loop == home->here) {
		if (mail->node.kind == GY_MAIL_ASK) {
			gy_mail_set_deadline(mail, home->loop.now_ns);
		}
		return put_here(home, to.slot, to.cookie, mail);
	}
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	gy_loop_send(&home->loop, to.loop, gy_loop_carry(&home->loop, to.loop, &mail->node));
	return 0;
}

/* After an answer that is still kept. */
static __attribute__((noinline)) int send_behind(struct gy_home *home, struct gyre_address to,
						 struct gyre_mail *mail)
{
	gy_envelope_open(home->envelope, to.loop);
	return send_away(home, to, mail);
}

int gy_send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	return gy_unlikely(home->envelope != NULL) ? send_behind(home, to, mail)
						   : send_away(home, to, mail);
}

void gy_fail_ask(struct gy_home *home, struct gyre_mail *ask, int error)
{
	struct gyre_address asker = gy_mail_sender(ask);

	gy_assert(error < 0);
	gy_mail_release(ask);
	ask->type = &gy_type_exception;
	ask->node.kind = GY_MAIL_EXCEPTION;
	gy_mail_from_nobody(ask);
	((struct gy_exception *)gyre_payload(ask))->error = error;
	(void)gy_send(home, asker, ask, GY_LANE_EXCEPTION);
}

/* Stops an actor of this loop without a mail, so that this needs no memory. False for any other. */
static bool stop_here(struct gy_home *home, struct gyre_address to)
{
	struct gy_house *house =
		gy_is_here(home, to) ? gy_house_find_occupied(home, to.slot, to.cookie) : NULL;

	if (house == NULL) {
		return false;
	}
	gy_count(&home->counters.sent, 1);
	gy_count(&home->counters.handled, 1);
	gy_house_order_stop(house);
	return true;
}

int gy_send_signal(struct gy_home *home, struct gyre_address to, const struct gyre_type *type,
		   enum gy_mail_kind kind)
{
	struct gyre_mail *mail;

	if (type == &gy_type_stop && stop_here(home, to)) {
		return 0;
	}
	mail = gy_mail_get(home, type);
	if (mail == NULL) {
		return type == &gy_type_stop && gy_is_here(home, to) ? -ESRCH : -ENOMEM;
	}
	mail->node.kind = (uint8_t)kind;
	gy_mail_from_nobody(mail);
	mail->ask_id = 0;
	return gy_send_away(home, to, mail);
}

/* Puts mail that has arrived into its house, if there is nothing special about either. @lane is a
 * constant. */
static inline __attribute__((always_inline)) bool
put_plainly(struct gy_home *home, struct gyre_mail *mail, enum gy_lane lane)
{
	struct gy_house *house = gy_house_find(home, mail->to_slot, mail->to_cookie);

	if (gy_unlikely(house == NULL) || gy_unlikely(!gy_house_is_occupied(house)) ||
	    gy_unlikely(mail->type->id < GY_IDS_OF_GYRE) || house->limit != 0) {
		return false;
	}
	gy_house_put(home, house, mail, lane);
	return true;
}

/* Delivers whatever put_plainly() does not. */
static __attribute__((noinline)) void deliver(struct gy_home *home, struct gyre_mail *mail)
{
	switch ((enum gy_mail_kind)mail->node.kind) {
	case GY_MAIL_SPAWN:
		gy_spawn_arrived(home, mail);
		break;
	case GY_MAIL_STOP_CHILDREN:
		gy_family_order_arrived(home, mail);
		break;
	case GY_MAIL_DECIDE_CHILDREN:
		gy_family_decision_arrived(home, mail);
		break;
	case GY_MAIL_CHILDREN_GONE:
		gy_family_report_arrived(home, mail);
		break;
	case GY_MAIL_HOME:
		gy_house_came_home(home, mail);
		break;
	case GY_MAIL_REMOTE:
		home->options.remote->arrived(home, mail);
		break;
	case GY_MAIL_PROBE:
		gy_ask_cycle_probe_arrived(home, mail);
		break;
	default:
		(void)put_here(home, mail->to_slot, mail->to_cookie, mail);
		break;
	}
}

/* Delivers a node from the inbox, in phase 2. */
void gy_home_deliver(struct gy_loop *loop, struct gy_node *node)
{
	struct gy_home *home = gy_home_of(loop);
	struct gyre_mail *mail = gy_mail_of(node);
	bool done = false;

	if (node->kind == GY_MAIL_NOTICE) {
		done = put_plainly(home, mail, GY_LANE_NOTICE);
	} else if (node->kind == GY_MAIL_ASK) {
		gy_mail_set_deadline(mail, home->loop.now_ns);
		done = put_plainly(home, mail, GY_LANE_ASK);
	} else if (node->kind == GY_MAIL_REPLY) {
		done = put_plainly(home, mail, GY_LANE_REPLY);
	}
	if (gy_unlikely(!done)) {
		deliver(home, mail);
	}
}

/* Takes its arguments as gyre_notify() does, which so leaves them where they are. */
static __attribute__((noinline)) int
notify_otherwise(const struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail)
{
	return gy_send(gy_stack_of_const(stack)->home, to, mail, GY_LANE_NOTICE);
}

int gyre_notify(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail)
{
	const struct gy_stack *s = gy_stack_of(stack);
	struct gy_home *home = s->home;
	struct gy_house *house;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	mail = gy_mail_given(home, mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from(mail, s->house);
	if (gy_unlikely(!gy_is_here(home, to))) {
		return gy_send_away(home, to, mail);
	}
	house = gy_house_find_recent(home, s->house, to);
	if (gy_unlikely(house == NULL) || gy_unlikely(house->limit != 0)) {
		return notify_otherwise(stack, to, mail);
	}
	gy_count(&home->counters.sent, 1);
	gy_house_put(home, house, mail, GY_LANE_NOTICE);
	return 0;
}

int gyre_notify_self_first(struct gyre_stack *stack, struct gyre_mail *mail)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	mail = gy_mail_given(house->home, mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from(mail, house);
	gy_count(&house->home->counters.sent, 1);
	if (gy_unlikely(!gy_house_is_occupied(house))) {
		return nobody(house->home, gy_house_address(house), mail);
	}
	gy_house_put_first(house, GY_LANE_NOTICE, &mail->node, &mail->node);
	return 0;
}

struct gyre_mail *gyre_mail_create(struct gyre_stack *stack, const struct gyre_type *type)
{
	return gy_unlikely(type == NULL) ? NULL : gy_mail_get(gy_stack_of(stack)->home, type);
}

struct gyre_mail *gyre_mail_create_small(struct gyre_stack *stack, const struct gyre_type *type)
{
	gy_verify(type->bytes <= GYRE_MAIL_SMALL_BYTES && type->destroy == NULL);
	return gy_mail_get_small(gy_stack_of(stack)->home, type);
}
