/*
 * The run of a house: a pass over its lanes in strict order (replies, exceptions, asks, notices,
 * events, then channel completions). The pass works on a snapshot: mail that arrives meanwhile
 * waits for the next pass. A pass handles no more than the run budget, so that a house with a long
 * queue goes to the back of the loop's queue. Where the budget ends a pass, the next one goes on
 * with the lanes behind, so that a flood of one kind does not shut out the others.
 *
 * The event of an end may stand in any lane (watch.h). While one stands in a lane other than that
 * of events, the passes of the house look at each mail for it; other passes do not.
 */
#include <errno.h>

#include <gyre/shutdown.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

#include "actor/behaviour.h"
#include "actor/dispatch.h"
#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/lifecycle.h"
#include "actor/life/node_loss.h"
#include "actor/life/receive_timeout.h"
#include "actor/life/restart.h"
#include "actor/life/shutdown.h"
#include "actor/life/supervise.h"
#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/misuse.h"
#include "actor/stack/stack.h"
#include "actor/timer.h"

/* Lanes whose mail counts as activity for a receive time-out. */
enum { ACTIVITY = (1U << GY_LANE_EVENT) - 1 };

struct pass {
	struct gy_home *home;
	struct gy_house *house;
	uint32_t budget;
	uint32_t handled;
};

static void handled(struct pass *pass)
{
	pass->handled++;
	pass->budget--;
}

/* Returns whether the next message of a taken lane may run in this pass. */
static inline bool may_go_on(const struct pass *pass, enum gy_lane lane)
{
	return pass->budget > 0 && (pass->house->closed & 1U << lane) == 0;
}

/*
 * Runs a message of a class that has barriers. A barrier that ends at once has been alone anyway; a
 * barrier that waits closes the lanes until its own stack ends.
 */
static __attribute__((noinline)) void call_barrier(struct pass *pass, struct gy_stack *stack)
{
	bool is_barrier =
		pass->house->class_info->class->barrier(stack->head.type, stack->head.message);

	gy_stack_call(stack);
	if (is_barrier && stack->suspended) {
		pass->house->extra->barrier = stack;
		gy_house_add_reason(pass->house, GY_CLOSED_BY_BARRIER);
	}
}

static inline void call(struct pass *pass, struct gy_stack *stack)
{
	handled(pass);
	if (gy_likely(pass->house->class_info->class->barrier == NULL)) {
		gy_stack_call(stack);
	} else {
		call_barrier(pass, stack);
	}
}

/* Ends a mail whose kind the present behaviour has no handler for. */
static GY_COLD void unhandled(struct pass *pass, struct gyre_mail *mail)
{
	pass->budget--;
	if (mail->node.kind != GY_MAIL_EVENT) {
		gy_warn_unhandled(pass->home, pass->house, mail);
	}
	gy_drop(pass->home, mail, gy_house_address(pass->house), GYRE_DROP_UNHANDLED, -ENOSYS);
}

/* There is no memory to handle it. */
static GY_COLD void lack_stack(struct pass *pass, struct gyre_mail *mail)
{
	pass->budget--;
	if (gy_house_keeps(pass->house, mail)) {
		gy_house_keep(pass->house, mail);
	} else {
		gy_drop(pass->home, mail, gy_house_address(pass->house), GYRE_DROP_NO_MEMORY,
			-ENOMEM);
	}
}

/* A stack with a message in it, or NULL and the mail is kept or dropped. */
static struct gy_stack *begin(struct pass *pass, struct gyre_mail *mail, gyre_handler_fn handler)
{
	struct gy_stack *stack = gy_stack_scratch(pass->home, pass->house);

	if (gy_unlikely(stack == NULL)) {
		lack_stack(pass, mail);
		return NULL;
	}
	gy_stack_set_message(stack, mail, handler);
	return stack;
}

static void run_notice(struct pass *pass, struct gyre_mail *mail)
{
	gyre_handler_fn handler = pass->house->behaviour->notice;
	struct gy_stack *stack;

	if (gy_unlikely(mail->type == &gy_type_poison)) {
		gy_house_poisoned(pass->house, mail);
		handled(pass);
		gy_mail_put(pass->home, mail);
		return;
	}
	if (gy_unlikely(handler == NULL)) {
		handler = gy_route_find(pass->house->behaviour->notice_routes, mail->type->id);
		if (handler == NULL) {
			unhandled(pass, mail);
			return;
		}
	}
	stack = begin(pass, mail, handler);
	if (gy_likely(stack != NULL)) {
		call(pass, stack);
	}
}

/*
 * Returns whether nobody waits for that ask any more. The deadline of an actor that another loop
 * runs is by the clock of its own loop.
 */
static inline bool is_overdue(const struct pass *pass, const struct gyre_mail *mail)
{
	const struct gy_house *house = pass->house;

	return gy_unlikely(gy_deadline_passed(mail->deadline, pass->home->loop.sure_ns)) &&
	       (!gy_house_is_away(house) ||
		gy_deadline_passed(
			mail->deadline,
			gy_load_relaxed(
				&gy_home_peer(pass->home, house->self.loop)->loop.sure_ns)));
}

static void run_ask(struct pass *pass, struct gyre_mail *mail)
{
	gyre_handler_fn handler = pass->house->behaviour->ask;
	struct gy_stack *stack;

	if (gy_unlikely(is_overdue(pass, mail))) {
		pass->budget--;
		gy_drop(pass->home, mail, gy_house_address(pass->house), GYRE_DROP_EXPIRED,
			-ETIMEDOUT);
		return;
	}
	if (gy_unlikely(handler == NULL)) {
		handler = gy_route_find(pass->house->behaviour->ask_routes, mail->type->id);
		if (handler == NULL) {
			unhandled(pass, mail);
			return;
		}
	}
	stack = begin(pass, mail, handler);
	if (gy_likely(stack != NULL)) {
		stack->owed = ENOMSG;
		call(pass, stack);
	}
}

/* Returns whether an event still counts: it may have waited while its cause was called off. */
static bool is_wanted(struct gy_house *house, struct gyre_mail *mail)
{
	if (mail->node.kind == GY_MAIL_PUBLISHED) {
		return house->home->options.directory->claim_event(house, mail);
	}
	switch (mail->type->id) {
	case GYRE_ID(gyre_timeout):
		return gy_timer_claim(house, mail);
	case GYRE_ID(gyre_terminated):
		return gy_watch_claim(house, mail);
	case GYRE_ID(gyre_receive_timeout):
		return gy_receive_timeout_claim(house, mail);
	case GYRE_ID(gyre_stopping):
		return gy_shutdown_claim(house, mail);
	default:
		return true;
	}
}

/*
 * Runs an event, which comes once: so the stack is there before the event is claimed. False without
 * memory for the stack: then the event waits. @lane is where it stood.
 */
static bool run_event(struct pass *pass, enum gy_lane lane, struct gyre_mail *mail)
{
	struct gy_house *house = pass->house;
	gyre_handler_fn handler = house->behaviour->event;

	if (gy_unlikely(mail->type == &gy_type_watch)) {
		pass->budget--;
		return gy_watch_retry(house, mail);
	}
	if (gy_unlikely(mail->type == &gy_type_failure)) {
		pass->budget--;
		return gy_failure_retry(house, mail);
	}
	if (gy_unlikely(mail->type == &gy_type_node_loss)) {
		pass->budget--;
		return gy_node_loss_retry(house, mail);
	}
	if (mail->type->id == GYRE_ID(gyre_terminated)) {
		if (gy_watch_hold(house, mail, lane)) {
			pass->budget--;
			return true;
		}
		if (gy_watch_end_by_pact(house, mail)) {
			handled(pass);
			return true;
		}
	}
	if (handler == NULL) {
		handler = gy_route_find(house->behaviour->event_routes, mail->type->id);
	}
	if (handler != NULL && gy_unlikely(gy_stack_scratch(pass->home, house) == NULL)) {
		return false;
	}
	if (!is_wanted(house, mail)) {
		pass->budget--;
		gy_drop(pass->home, mail, gy_house_address(house), GYRE_DROP_CANCELLED, 0);
	} else if (handler == NULL) {
		unhandled(pass, mail);
	} else {
		handled(pass);
		gy_stack_call(begin(pass, mail, handler));
	}
	return true;
}

static void run_answer(struct pass *pass, struct gyre_mail *mail)
{
	pass->budget--;
	pass->handled += gy_promise_complete(pass->house, mail);
}

static inline __attribute__((always_inline)) void run_mail(struct pass *pass, enum gy_lane lane,
							   struct gyre_mail *mail)
{
	switch (lane) {
	case GY_LANE_NOTICE:
		run_notice(pass, mail);
		break;
	case GY_LANE_ASK:
		run_ask(pass, mail);
		break;
	case GY_LANE_REPLY:
	case GY_LANE_EXCEPTION:
		run_answer(pass, mail);
		break;
	case GY_LANE_EVENT: /* has a loop of its own */
	case GY_LANES:
		break;
	}
}

bool gy_dispatch_one(struct gy_home *home, struct gy_house *house, enum gy_lane lane,
		     struct gyre_mail *mail)
{
	struct pass pass = { home, house, 1, 0 };

	run_mail(&pass, lane, mail);
	return pass.handled > 0;
}

/* Whether a notice has to wait for the memory of its handler's stack, in its place. */
static GY_COLD bool lacks_memory(struct pass *pass, const struct gyre_mail *mail)
{
	struct gy_house *house = pass->house;

	if (!gy_house_keeps(house, mail) ||
	    gy_stack_make_scratch(pass->home, house->class_info->stack_class) != NULL) {
		return false;
	}
	pass->budget--;
	gy_house_retry_later(house, GY_CLOSED_BY_NOTICE_MEMORY);
	return true;
}

/* Asked before a message leaves the count of what waits, and its place among urgent ones: what is
 * kept neither tells marks nor is overtaken. */
static inline bool must_wait(struct pass *pass, const struct gyre_mail *mail)
{
	return gy_unlikely(pass->home->scratch[pass->house->class_info->stack_class] == NULL) &&
	       lacks_memory(pass, mail);
}

/* Runs a taken lane of a house with a limit: a message leaves the count before it is handled. */
static __attribute__((noinline)) void run_bounded_lane(struct pass *pass, enum gy_lane lane,
						       struct gy_node *first, struct gy_node *last)
{
	struct gy_house *house = pass->house;
	struct gy_node *node = first;

	while (node != NULL && may_go_on(pass, lane)) {
		struct gy_node *next = node->next;

		if (must_wait(pass, gy_mail_of(node))) {
			break;
		}
		gy_house_count_down(house, node, lane);
		run_mail(pass, lane, gy_mail_of(node));
		node = next;
	}
	gy_house_put_rest_back(house, lane, node, last);
}

/* Runs a taken lane of any kind but events. @lane is a constant where this is inlined. */
static inline __attribute__((always_inline)) void
run_lane_of(struct pass *pass, enum gy_lane lane, struct gy_node *first, struct gy_node *last)
{
	struct gy_house *house = pass->house;
	bool answers = lane <= GY_LANE_EXCEPTION;
	struct gy_node *node = first;

	if (!answers && gy_unlikely(house->limit != 0)) {
		run_bounded_lane(pass, lane, first, last);
		return;
	}
	while (node != NULL && may_go_on(pass, lane)) {
		struct gy_node *next = node->next;

		if (next != NULL) {
			gy_prefetch(next);
		}
		if (answers) {
			house->replies--;
		}
		run_mail(pass, lane, gy_mail_of(node));
		node = next;
	}
	gy_house_put_rest_back(house, lane, node, last);
}

/* Runs the taken lane of events. An event that lacks memory stays, with all behind it. */
static void run_events(struct pass *pass, struct gy_node *first, struct gy_node *last)
{
	struct gy_house *house = pass->house;
	struct gy_node *node = first;

	while (node != NULL && may_go_on(pass, GY_LANE_EVENT)) {
		struct gy_node *next = node->next;

		if (!run_event(pass, GY_LANE_EVENT, gy_mail_of(node))) {
			gy_house_retry_later(house, GY_CLOSED_BY_EVENT_MEMORY);
			break;
		}
		house->events--;
		node = next;
	}
	gy_house_put_rest_back(house, GY_LANE_EVENT, node, last);
}

static inline __attribute__((always_inline)) bool
is_batched(const struct gy_house *house, enum gy_lane lane, struct gyre_mail *mail)
{
	const struct gyre_class *class = house->class_info->class;
	gyre_filter_fn filter = lane == GY_LANE_ASK ? class->batch_asks : class->batch_notices;
	gyre_handler_fn handler =
		lane == GY_LANE_ASK ? house->behaviour->ask_batch : house->behaviour->notice_batch;

	return filter != NULL && handler != NULL && mail->type != &gy_type_poison &&
	       (class->barrier == NULL || !class->barrier(mail->type, mail->payload)) &&
	       filter(mail->type, mail->payload);
}

static void flush_batch(struct pass *pass, struct gy_batch **batch)
{
	struct gy_batch *full = *batch;

	if (full != NULL) {
		*batch = NULL;
		pass->handled += gy_batch_run(pass->house, full);
	}
}

/* The message that is about to be handled waits no longer. */
static inline void leave_mailbox(struct gy_house *house, struct gyre_mail *mail, enum gy_lane lane)
{
	if (house->limit != 0) {
		gy_house_count_down(house, &mail->node, lane);
	}
}

/* Puts @mail into the batch, which is made if need be. False if it must be dispatched alone. */
static inline __attribute__((always_inline)) bool
add_to_batch(struct pass *pass, enum gy_lane lane, struct gy_batch **batch, struct gyre_mail *mail)
{
	if (lane == GY_LANE_ASK && is_overdue(pass, mail)) {
		return false; /* which answers it */
	}
	if (*batch == NULL) {
		*batch = gy_batch_make(pass->house, lane == GY_LANE_ASK);
		if (*batch == NULL) {
			return false;
		}
	}
	leave_mailbox(pass->house, mail, lane);
	(*batch)->mails[(*batch)->count++] = mail;
	pass->budget--;
	if ((*batch)->count == (*batch)->max) {
		flush_batch(pass, batch);
	}
	return true;
}

/* Runs a lane of asks or notices of a class that has them in batches. */
static __attribute__((noinline)) void run_batched_lane(struct pass *pass, enum gy_lane lane,
						       struct gy_node *first, struct gy_node *last)
{
	struct gy_house *house = pass->house;
	struct gy_batch *batch = NULL;
	struct gy_node *node = first;

	while (node != NULL && may_go_on(pass, lane)) {
		struct gy_node *next = node->next;
		struct gyre_mail *mail = gy_mail_of(node);

		if (must_wait(pass, mail)) {
			break;
		}
		if (is_batched(house, lane, mail) && add_to_batch(pass, lane, &batch, mail)) {
			node = next;
		} else if (batch != NULL) {
			flush_batch(pass, &batch); /* which may have closed the lane */
		} else {
			leave_mailbox(house, mail, lane);
			run_mail(pass, lane, mail);
			node = next;
		}
	}
	flush_batch(pass, &batch);
	gy_house_put_rest_back(house, lane, node, last);
}

/* A loop for each lane, so that the loop need not ask what kind of mail it has. */
static inline void run_lane(struct pass *pass, enum gy_lane lane, struct gy_node *first,
			    struct gy_node *last)
{
	switch (lane) {
	case GY_LANE_NOTICE:
		if (gy_likely(pass->house->class_info->class->batch_notices == NULL)) {
			run_lane_of(pass, GY_LANE_NOTICE, first, last);
		} else {
			run_batched_lane(pass, lane, first, last);
		}
		break;
	case GY_LANE_ASK:
		if (gy_likely(pass->house->class_info->class->batch_asks == NULL)) {
			run_lane_of(pass, GY_LANE_ASK, first, last);
		} else {
			run_batched_lane(pass, lane, first, last);
		}
		break;
	case GY_LANE_REPLY:
		run_lane_of(pass, GY_LANE_REPLY, first, last);
		break;
	case GY_LANE_EVENT:
		run_events(pass, first, last);
		break;
	case GY_LANE_EXCEPTION:
	case GY_LANES:
		run_lane_of(pass, GY_LANE_EXCEPTION, first, last);
		break;
	}
}

/* The event of an end has come to the head of another lane than that of events. */
static __attribute__((noinline)) void run_end(struct pass *pass, enum gy_lane lane,
					      struct gyre_mail *mail)
{
	struct gy_house *house = pass->house;

	if ((house->closed & 1U << GY_LANE_EVENT) == 0) {
		if (run_event(pass, lane, mail)) {
			return;
		}
		gy_house_retry_later(house, GY_CLOSED_BY_EVENT_MEMORY);
	} else if (gy_watch_hold(house, mail, lane)) {
		pass->budget--;
		return;
	}
	pass->budget--;
	gy_house_put(pass->home, house, mail, GY_LANE_EVENT);
}

/* Runs the first mail of a lane, or puts it into the batch. False if the batch was run instead, or
 * the mail has to wait: the lane may be closed. */
static __attribute__((noinline)) bool run_first(struct pass *pass, enum gy_lane lane,
						struct gy_batch **batch, struct gyre_mail *mail)
{
	bool bounded = lane == GY_LANE_ASK || lane == GY_LANE_NOTICE;
	bool is_end = mail->node.kind == GY_MAIL_EVENT;

	if (bounded && !is_end && must_wait(pass, mail)) {
		return false;
	}
	if (bounded && !is_end && is_batched(pass->house, lane, mail) &&
	    add_to_batch(pass, lane, batch, mail)) {
		return true;
	}
	if (*batch != NULL) {
		flush_batch(pass, batch);
		return false;
	}
	if (is_end) {
		run_end(pass, lane, mail);
		return true;
	}
	if (bounded) {
		leave_mailbox(pass->house, mail, lane);
	}
	run_mail(pass, lane, mail);
	return true;
}

/* Runs any lane but that of events, of a house that has ends in such lanes. */
static void run_lane_with_ends(struct pass *pass, enum gy_lane lane, struct gy_node *first,
			       struct gy_node *last)
{
	struct gy_house *house = pass->house;
	struct gy_batch *batch = NULL;
	struct gy_node *node = first;

	while (node != NULL && may_go_on(pass, lane)) {
		struct gy_node *next = node->next;

		if (run_first(pass, lane, &batch, gy_mail_of(node))) {
			house->replies -= lane <= GY_LANE_EXCEPTION;
			node = next;
		}
	}
	flush_batch(pass, &batch);
	gy_house_put_rest_back(house, lane, node, last);
}

static inline __attribute__((always_inline)) void run_taken(struct pass *pass, uint32_t taken,
							    bool ends)
{
	struct gy_node *first[GY_LANES];
	struct gy_node *last[GY_LANES];

	for (uint32_t left = taken; left != 0; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (gy_unlikely(pass->house->limit != 0)) {
			gy_house_about_to_take(pass->house, (enum gy_lane)lane);
		}
		first[lane] = gy_house_take_lane(pass->house, (enum gy_lane)lane, &last[lane]);
	}
	for (uint32_t left = taken; left != 0; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (pass->budget == 0 && (pass->house->passed_over & ~GY_ENDS_HELD) == 0) {
			pass->house->passed_over |= (uint8_t)((1U << lane) - 1);
		}
		if (ends && lane != GY_LANE_EVENT) {
			run_lane_with_ends(pass, (enum gy_lane)lane, first[lane], last[lane]);
		} else {
			run_lane(pass, (enum gy_lane)lane, first[lane], last[lane]);
		}
	}
}

static __attribute__((noinline)) void run_many_lanes(struct pass *pass, uint32_t taken)
{
	run_taken(pass, taken, false);
}

static __attribute__((noinline)) void run_lanes_with_ends(struct pass *pass, uint32_t taken)
{
	bool was_closing = gy_graceful_stop_is_closing(pass->house);

	run_taken(pass, taken, true);
	if (!was_closing && gy_graceful_stop_is_closing(pass->house)) {
		gy_watch_release(pass->house);
	}
}

/* Lanes that the last pass did not reach have their turn before the others have another. */
static __attribute__((noinline)) uint32_t resume_pass(struct gy_house *house, uint32_t taken)
{
	uint32_t left = taken & ~(uint32_t)house->passed_over;

	house->passed_over &= GY_ENDS_HELD;
	return left != 0 ? left : taken;
}

static __attribute__((noinline)) void run_one_lane(struct pass *pass, enum gy_lane lane)
{
	struct gy_node *first;
	struct gy_node *last;

	if (gy_unlikely(pass->house->limit != 0)) {
		gy_house_about_to_take(pass->house, lane);
	}
	first = gy_house_take_lane(pass->house, lane, &last);
	run_lane(pass, lane, first, last);
}

static inline __attribute__((always_inline)) void run_lanes(struct pass *pass)
{
	struct gy_house *house = pass->house;
	uint32_t taken = house->pending & ~house->closed & (GY_PENDING_CHANNELS - 1U);

	if (gy_unlikely(house->passed_over != 0)) {
		taken = resume_pass(house, taken);
		if (house->passed_over != 0) {
			run_lanes_with_ends(pass, taken);
			return;
		}
	}
	if (taken != 0 && (taken & (taken - 1)) == 0) {
		run_one_lane(pass, (enum gy_lane)__builtin_ctz(taken));
	} else if (taken != 0) {
		run_many_lanes(pass, taken);
	}
}

static void run_channels(struct pass *pass)
{
	struct gy_house *house = pass->house;
	struct gy_stack *stack = gy_stack_scratch(pass->home, house);

	house->pending &= (uint8_t)~GY_PENDING_CHANNELS;
	pass->home->steps++;
	if (stack != NULL) {
		stack->head.message = NULL;
		stack->head.type = NULL;
		stack->mail = NULL;
		pass->home->channel_ops->run(house, stack);
	} else {
		gy_house_channels_ready(house);
		gy_house_retry_later(house, GY_CLOSED_BY_WORK_MEMORY);
	}
}

uint32_t gy_dispatch_all(struct gy_home *home, struct gy_house *house)
{
	struct pass whole = { home, house, home->options.run_budget, 0 };
	struct pass *pass = &whole;

	if (gy_unlikely(house->extra != NULL && house->extra->receive_timeout != NULL &&
			(house->pending & ~house->closed & ACTIVITY) != 0)) {
		gy_receive_timeout_run_begins(house);
	}
	if (!gy_house_is_stopped(house)) {
		run_lanes(pass);
	}
	if ((house->pending & ~house->closed & GY_PENDING_CHANNELS) != 0) {
		run_channels(pass);
	}
	return pass->handled;
}

static void run_sealed_lane(struct pass *pass, enum gy_lane lane, struct gy_sealed_lane *sealed)
{
	pass->budget = pass->home->options.run_budget;
	while (sealed->first != NULL && pass->budget > 0 &&
	       (pass->house->closed & (1U << lane)) == 0) {
		struct gy_node *node = sealed->first;

		sealed->first = node->next;
		run_mail(pass, lane, gy_mail_of(node));
	}
}

uint32_t gy_house_run_sealed(struct gy_home *home, struct gy_house *house,
			     struct gy_sealed_lane *asks, struct gy_sealed_lane *notices)
{
	struct pass pass = { home, house, 0, 0 };

	gy_assert(gy_house_is_away(house) && house->home == home);
	gy_home_show_running(home, house);
	run_sealed_lane(&pass, GY_LANE_ASK, asks);
	run_sealed_lane(&pass, GY_LANE_NOTICE, notices);
	return pass.handled;
}
