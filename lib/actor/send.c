/*
 * The way of a mail from its sender to a lane: on the same loop at once, with plain stores; to
 * another loop through the outbox; and what becomes of mail that finds nobody. Every mail that
 * enters here is counted as sent, and later exactly once as handled or as dropped for a reason.
 */
#include <errno.h>

#include "actor/stack.h"

const struct gyre_type gy_type_exception = { "exception", 0x02, sizeof(struct gy_exception) };
const struct gyre_type gy_type_stop = { "stop", 0x03, 0 };
const struct gyre_type gy_type_poison = { "poison", 0x04, 0 };

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
};
_Static_assert(gy_countof(drop_names) == GYRE_DROP_COUNT, "each reason has a name");

const char *gyre_drop_name(enum gyre_drop reason)
{
	return (size_t)reason < gy_countof(drop_names) ? drop_names[reason] : "unknown";
}

static void count_drop(struct gy_home *home, const struct gyre_mail *mail, struct gyre_address to,
		       enum gyre_drop reason)
{
	gy_count(&home->counters.dropped[reason], 1);
	if (home->options.dead_letter != NULL) {
		home->options.dead_letter(home, mail, to, reason);
	}
}

void gy_drop(struct gy_home *home, struct gyre_mail *mail, struct gyre_address to,
	     enum gyre_drop reason, int error)
{
	count_drop(home, mail, to, reason);
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

/* Puts mail that has arrived at its loop into its house, or drops it. */
static int put_here(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	struct gy_house *house = gy_house_find(home, slot, cookie);

	if (gy_unlikely(house == NULL)) {
		return nobody(home,
			      (struct gyre_address){
				      .slot = slot, .cookie = cookie, .loop = home->loop.index },
			      mail);
	}
	if (gy_unlikely(mail->type == &gy_type_stop)) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
		gy_house_close(house);
		return 0;
	}
	if (house->limit != 0 && !gy_house_admit(house, mail, gy_mail_lane(mail))) {
		return -ENOBUFS;
	}
	gy_house_put(house, mail, gy_mail_lane(mail));
	return 0;
}

int gy_send_away(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	gy_count(&home->counters.sent, 1);
	if (to.node != 0 || to.loop >= home->loop.peers->count) {
		return nobody(home, to, mail);
	}
	if (to.loop == home->loop.index) {
		return put_here(home, to.slot, to.cookie, mail);
	}
	mail->to_slot = to.slot;
	mail->to_cookie = to.cookie;
	gy_loop_send(&home->loop, to.loop, &mail->node);
	return 0;
}

void gy_fail_ask(struct gy_home *home, struct gyre_mail *ask, int error)
{
	struct gyre_address asker = gy_mail_sender(ask);

	ask->type = &gy_type_exception;
	ask->node.kind = GY_MAIL_EXCEPTION;
	ask->from.cookie = 0;
	((struct gy_exception *)gyre_payload(ask))->error = error;
	(void)gy_send(home, asker, ask, GY_LANE_EXCEPTION);
}

int gy_send_signal(struct gy_home *home, struct gyre_address to, const struct gyre_type *type,
		   enum gy_mail_kind kind)
{
	struct gyre_mail *mail = gy_mail_get(home, type);

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = (uint8_t)kind;
	mail->from.cookie = 0;
	return gy_send_away(home, to, mail);
}

/* From the inbox, in phase 2. */
void gy_home_deliver(struct gy_loop *loop, struct gy_node *node)
{
	struct gy_home *home = gy_home_of(loop);
	struct gyre_mail *mail = gy_mail_of(node);

	if (gy_unlikely(node->kind == GY_MAIL_SPAWN)) {
		gy_spawn_arrived(home, mail);
		return;
	}
	(void)put_here(home, mail->to_slot, mail->to_cookie, mail);
}

int gyre_notify(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);

	if (gy_unlikely(mail == NULL)) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from(mail, s->house);
	return gy_send(s->home, to, mail, GY_LANE_NOTICE);
}

int gyre_notify_self_first(struct gyre_stack *stack, struct gyre_mail *mail)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from(mail, house);
	gy_count(&house->home->counters.sent, 1);
	gy_house_put_first(house, mail);
	return 0;
}

struct gyre_mail *gyre_mail_new(struct gyre_stack *stack, const struct gyre_type *type)
{
	if (gy_unlikely(type->bytes > GYRE_MESSAGE_BYTES_MAX)) {
		return NULL;
	}
	return gy_mail_get(gy_stack_of(stack)->home, type);
}

void gyre_mail_free(struct gyre_stack *stack, struct gyre_mail *mail)
{
	if (mail == NULL) {
		return;
	}
	if (stack != NULL) {
		gy_mail_put(gy_stack_of(stack)->home, mail);
	} else {
		gy_assert(mail->node.owner == GY_NODE_FROM_HEAP);
		gy_memory_put(mail);
	}
}
