/*
 * Cycles of waits: an actor asks another, which asks a third, which cannot answer before the first
 * has its answer, since a barrier, or a mount or restart hook that waits, holds it back. Deadlines
 * end such a cycle; here it gets a name. When an ask has timed out, a probe follows it from house
 * to house, on whatever loop: from the stack that deals with the ask to the ask that this stack
 * waits for. If that leads to a house whose mailbox is held closed by a stack that the probe has
 * seen waiting, the chain is logged.
 */
#include <stdio.h>

#include "actor/house_extra.h"
#include "actor/stack/ask_cycle.h"
#include "actor/stack/stack.h"

enum { HOPS_MAX = 16, SCAN_MAX = 1024, PROBES_MAX = 64, TEXT_BYTES = 1024 };

struct hop {
	struct gy_origin actor;
	bool holds;	  /* the stack that waits there holds the mailbox closed */
	const char *name; /* of its kind */
};

struct probe {
	uint64_t ask_id; /* of the ask that has timed out */
	uint32_t count;
	bool ended; /* on its way home */
	struct hop hops[HOPS_MAX];
};

static const struct gyre_type type_probe = { .name = "probe",
					     .id = 0x0f,
					     .bytes = sizeof(struct probe) };

/* Logs the cycle from hop @first on. */
static void log_cycle(struct gy_home *home, const struct probe *probe, uint32_t first)
{
	char text[TEXT_BYTES];
	size_t bytes = 0;

	for (uint32_t i = first; i <= probe->count && bytes < sizeof(text); i++) {
		const struct hop *hop = &probe->hops[i < probe->count ? i : first];

		bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, "%s%s[%u:%u]",
					  i == first ? "" : " -> ", hop->name,
					  (unsigned)hop->actor.loop, (unsigned)hop->actor.slot);
	}
	(void)gy_log_limited(home->loop.options.log, &home->cycles_limit, home->loop.now_ns,
			     GYRE_LOG_WARNING,
			     "actor %s: an ask has timed out in a cycle of waits: %s",
			     probe->hops[0].name, text);
}

/* The stack whose end opens the mailbox: of a barrier, or of a mount or restart hook that waits. */
static const struct gy_stack *holder_of(const struct gy_house *house)
{
	const struct gy_list *item = house->suspended.previous; /* it has begun to wait last */
	const struct gy_stack *hook = gy_container_of(item, const struct gy_stack, item);

	if ((house->reasons & GY_CLOSED_BY_HOOK) != 0 && item != &house->suspended && hook->hook) {
		return hook;
	}
	return house->extra == NULL ? NULL : house->extra->barrier;
}

/* The stack that deals with an ask; if the ask still waits, the stack that holds the mailbox
 * closed. */
static const struct gy_stack *stack_of(const struct gy_house *house, struct gy_origin asker,
				       uint64_t ask_id)
{
	const struct gy_list *item = house->suspended.next;

	for (uint32_t i = 0; i < SCAN_MAX && item != &house->suspended; i++, item = item->next) {
		const struct gy_stack *stack = gy_container_of(item, const struct gy_stack, item);

		if (stack->owed != 0 && stack->mail != NULL && stack->mail->ask_id == ask_id &&
		    gy_origin_equal(stack->mail->from, asker)) {
			return stack;
		}
	}
	return holder_of(house);
}

static void append(struct probe *probe, const struct gy_stack *stack)
{
	const struct gy_house *house = stack->house;

	probe->hops[probe->count++] = (struct hop){
		.actor = house->self,
		.holds = holder_of(house) == stack,
		.name = house->class_info->name,
	};
}

/* Logs the cycle if that ask goes to a house that the chain holds closed; returns whether it
 * does. */
static bool closes_cycle(struct gy_home *home, const struct probe *probe,
			 const struct gy_promise *promise)
{
	for (uint32_t i = 0; i < probe->count; i++) {
		if (probe->hops[i].holds && gy_origin_equal(probe->hops[i].actor, promise->to)) {
			log_cycle(home, probe, i);
			return true;
		}
	}
	return false;
}

static bool can_be_followed(const struct gy_home *home, const struct gy_promise *promise)
{
	return promise->to.cookie != 0 && promise->to.node == home->node &&
	       promise->to.loop < gy_loops_made(home->loop.peers);
}

/* The ask to follow from a stack: the first, or NULL if one closes a cycle, which is then
 * logged. */
static const struct gy_promise *next_of(struct gy_home *home, const struct probe *probe,
					const struct gy_stack *stack)
{
	const struct gy_promise *first = NULL;
	const struct gy_promise *promise = stack->outstanding;

	for (uint32_t i = 0; i < SCAN_MAX && promise != NULL; i++, promise = promise->next) {
		if (gy_stack_awaits_some(stack) && !promise->is_awaited) {
			continue; /* the stack goes on without it */
		}
		if (closes_cycle(home, probe, promise)) {
			return NULL;
		}
		if (first == NULL && can_be_followed(home, promise)) {
			first = promise;
		}
	}
	return first;
}

/* Follows @promise as far as it leads on this loop. Returns whether it leads to another loop. */
static bool follow(struct gy_home *home, struct gyre_mail *mail, const struct gy_promise *promise)
{
	struct probe *probe = (struct probe *)gyre_payload(mail);

	while (promise != NULL) {
		const struct gy_house *house;
		const struct gy_stack *stack;

		mail->to_slot = promise->to.slot;
		mail->to_cookie = promise->to.cookie;
		mail->ask_id = promise->id;
		if (promise->to.loop != home->loop.index) {
			gy_loop_send(&home->loop, promise->to.loop, &mail->node);
			return true;
		}
		house = gy_house_find_occupied(home, mail->to_slot, mail->to_cookie);
		stack = house == NULL || gy_house_is_away(house)
				? NULL
				: stack_of(house, probe->hops[probe->count - 1].actor,
					   mail->ask_id);
		if (stack == NULL || probe->count == HOPS_MAX) {
			return false;
		}
		append(probe, stack);
		promise = next_of(home, probe, stack);
	}
	return false;
}

/* Lets the ask fail whose time-out was held back for the probe. */
static void come_home(struct gy_home *home, struct gyre_mail *mail)
{
	const struct probe *probe = (const struct probe *)gyre_payload(mail);
	struct gy_origin origin = probe->hops[0].actor;
	struct gy_house *house;

	if (origin.loop != home->loop.index) {
		((struct probe *)gyre_payload(mail))->ended = true;
		gy_loop_send(&home->loop, origin.loop, &mail->node);
		return;
	}
	house = gy_house_find_occupied(home, origin.slot, origin.cookie);
	/* A house that is away has nothing outstanding: that ask was answered meanwhile. */
	if (house != NULL && !gy_house_is_away(house)) {
		gy_promise_cycle_checked(house, probe->ask_id);
	}
	gy_mail_put(home, mail);
}

void gy_ask_cycle_probe_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct probe *probe = (struct probe *)gyre_payload(mail);
	const struct gy_house *house = NULL;
	const struct gy_stack *stack = NULL;

	if (!probe->ended) { /* else it still has an address of another loop */
		house = gy_house_find_occupied(home, mail->to_slot, mail->to_cookie);
	}
	if (house != NULL && !gy_house_is_away(house) && probe->count < HOPS_MAX) {
		stack = stack_of(house, probe->hops[probe->count - 1].actor, mail->ask_id);
	}
	if (stack != NULL) {
		append(probe, stack);
		if (follow(home, mail, next_of(home, probe, stack))) {
			return;
		}
	}
	come_home(home, mail);
}

/* Limits probes, so that a storm of time-outs does not get worse. */
static bool may_look(struct gy_home *home)
{
	if (home->loop.now_ns - home->probes_ns > GYRE_MILLISECONDS(100)) {
		home->probes_ns = home->loop.now_ns;
		home->probes = 0;
	}
	return home->probes++ < PROBES_MAX;
}

bool gy_ask_cycle_check(const struct gy_promise *promise)
{
	const struct gy_house *house = promise->stack->house;
	struct gy_home *home = house->home;
	struct gyre_mail *mail;
	struct probe *probe;

	if (!can_be_followed(home, promise) || !may_look(home)) {
		return false;
	}
	mail = gy_mail_get(home, &type_probe);
	if (mail == NULL) {
		return false;
	}
	mail->node.kind = GY_MAIL_PROBE;
	probe = (struct probe *)gyre_payload(mail);
	*probe = (struct probe){ .ask_id = promise->id };
	append(probe, promise->stack);
	if (!closes_cycle(home, probe, promise) && follow(home, mail, promise)) {
		return holder_of(house) == promise->stack;
	}
	gy_mail_put(home, mail);
	return false;
}
