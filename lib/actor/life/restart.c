/*
 * Failures and restarts, by the strategy of the class. A restart happens in the same house and
 * between two messages: address, state memory and mailboxes stay. While it is delayed, all lanes
 * are closed; begin() comes after the delay, and then the three hooks.
 *
 * - begin() stops the timers and the receive time-out: events of them that wait already are void.
 *   The behaviour is the class's again, and what was stashed goes back to the front of its lanes.
 * - The children stop, unless the class keeps them, and the hooks come when the last has ended.
 * - Suspended handlers go on, with the asks and sleeps that they have outstanding. A barrier that
 *   waits stays in force until its own stack ends. Watches and channels stay.
 *
 * A hook may wait for answers. Until it has ended, asks, notices and events wait. Answers come in
 * for every stack of the house: a handler that was suspended before the failure can run while a
 * hook waits, and between that hook and the next.
 */
#include "actor/life/restart.h"
#include <stdio.h>

#include <gyre/event.h>

#include "actor/behaviour.h"
#include "actor/house_extra.h"
#include "actor/life/children.h"
#include "actor/life/path.h"
#include "actor/life/receive_timeout.h"
#include "actor/life/restart_window.h"
#include "actor/life/shutdown.h"
#include "actor/life/supervise.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "actor/timer.h"

struct gy_restart {
	struct gy_timer timer; /* of a delayed restart */
	struct gy_house *house;
	struct gy_restart_window window;
	uint32_t hook;		/* that is next */
	struct gy_stack *stack; /* of the one that waits */
	bool due;
	bool begun;
	bool awaits_children;
};

static void delay_is_over(struct gy_timer *timer)
{
	struct gy_restart *restart = gy_container_of(timer, struct gy_restart, timer);

	restart->due = true;
	/* The run handles no mail: the restart comes at its end. */
	if (restart->house->status == GY_HOUSE_WAITING) {
		gy_house_ready(restart->house);
	}
}

static struct gy_restart *restart_of(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);
	struct gy_restart *restart = extra == NULL ? NULL : extra->restart;

	if (extra != NULL && restart == NULL) {
		restart = (struct gy_restart *)gy_sizes_new(&house->home->parts, sizeof(*restart));
		if (restart == NULL) {
			return NULL;
		}
		*restart = (struct gy_restart){ .house = house };
		gy_timer_init(&restart->timer, delay_is_over);
		extra->restart = restart;
	}
	return restart;
}

void gy_restart_fini(struct gy_house *house)
{
	struct gy_restart *restart = house->extra == NULL ? NULL : house->extra->restart;

	if (restart != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &restart->timer);
		gy_sizes_delete(&house->home->parts, restart, sizeof(*restart));
		house->extra->restart = NULL;
	}
}

static bool is_under_way(const struct gy_restart *restart)
{
	return restart->due || restart->awaits_children || restart->stack != NULL ||
	       gy_timer_is_started(&restart->timer);
}

static void start(struct gy_house *house, struct gy_restart *restart, uint64_t delay_ns)
{
	gy_house_add_reason(house, GY_CLOSED_BY_RESTART);
	if (delay_ns != 0) {
		gy_timer_start(&house->home->loop.wheel, &restart->timer, delay_ns);
		return;
	}
	restart->due = true;
	if (house->status == GY_HOUSE_WAITING) {
		gy_house_ready(house);
	}
}

static void order_restart(struct gy_house *house, int error)
{
	const struct gyre_class *class = house->class_info->class;
	struct gy_loop *loop = &house->home->loop;
	struct gy_restart *restart = restart_of(house);
	uint32_t count;

	if (restart == NULL) {
		gy_house_request_stop(house, error);
		return;
	}
	if (is_under_way(restart)) {
		return; /* one restart mends all that failed before it */
	}
	count = gy_restart_window_count(&restart->window, class->restart_window_ns,
					gy_clock_ns(&loop->clock));
	if (class->restarts_max != 0 && count > class->restarts_max) {
		gy_house_warn(house->home, house,
			      "stopped, since it failed more than %u times within its window of "
			      "restarts",
			      class->restarts_max);
		gy_house_request_stop(house, error);
		return;
	}
	start(house, restart, gy_restart_delay(class->restart_delay_ns, count));
}

/* Whether the mount has not ended, which a restart would not repeat. */
static bool is_mounting(const struct gy_house *house)
{
	const struct gy_restart *restart = house->extra == NULL ? NULL : house->extra->restart;

	return house->status == GY_HOUSE_MOUNTING || ((house->reasons & GY_CLOSED_BY_HOOK) != 0 &&
						      (restart == NULL || restart->stack == NULL));
}

void gy_house_order_restart(struct gy_house *house, int error, uint64_t delay_ns)
{
	struct gy_restart *restart;

	if (gy_house_is_stopped(house) || is_mounting(house)) {
		return;
	}
	restart = restart_of(house);
	if (restart == NULL) {
		gy_house_request_stop(house, error);
	} else if (!is_under_way(restart)) {
		start(house, restart, delay_ns);
	}
}

static void publish_failure(struct gy_house *house, int error)
{
	struct gyre_failed event = { .actor =
					     gy_address_shown(house->home, gy_house_address(house)),
				     .reason = error };

	(void)snprintf(event.class_name, sizeof(event.class_name), "%s", house->class_info->name);
	gy_home_publish(house->home, &gyre_type_gyre_failed, &event);
}

void gy_house_hook_failed(struct gy_house *house, int error)
{
	bool stops_already = gy_house_is_stopped(house);

	publish_failure(house, error);
	gy_house_request_stop(house, error);
	if (!stops_already && house->class_info->class->strategy == GYRE_STRATEGY_ESCALATE) {
		gy_supervise_report(house, error, true, NULL);
	}
}

void gy_house_failed(struct gy_house *house, int error)
{
	publish_failure(house, error);
	gy_house_failed_for(house, error, NULL);
}

void gy_house_failed_for(struct gy_house *house, int error, const struct gyre_mail *origin)
{
	gy_assert(error < 0);
	if (gy_house_is_stopped(house)) {
		return; /* its end is settled, and so is the reason */
	}
	switch (house->class_info->class->strategy) {
	case GYRE_STRATEGY_RESTART:
		/* A child has failed while the mount waits, perhaps for that child. */
		if (origin != NULL && is_mounting(house)) {
			gy_house_request_stop(house, error);
		} else {
			order_restart(house, error);
		}
		break;
	case GYRE_STRATEGY_ESCALATE:
		gy_supervise_report(house, error, false, origin);
		break;
	case GYRE_STRATEGY_IGNORE:
		break;
	case GYRE_STRATEGY_STOP:
		gy_house_request_stop(house, error);
		break;
	case GYRE_STRATEGY_SHUT_DOWN:
		house->home->options.shut_down(house->home->options.system, 0);
		break;
	}
}

/* A hook that fails stops the actor, as a mount that fails does. Its stack, if it waits. */
static struct gy_stack *call_hook(struct gy_house *house, gyre_handler_fn hook)
{
	struct gy_stack *stack;

	if (hook == NULL || gy_house_is_stopped(house)) {
		return NULL;
	}
	stack = gy_stack_scratch(house->home,
				 house); /* gy_house_restart() has seen that it is there */
	house->home->steps++;
	stack->head.message = NULL;
	stack->head.type = NULL;
	stack->mail = NULL;
	stack->handler = hook;
	stack->hook = true;
	stack->dirty = true;
	gy_stack_call(stack);
	return stack->suspended ? stack : NULL;
}

static void begin(struct gy_house *house)
{
	gy_timers_stop(house);
	gy_receive_timeout_stop(house);
	gy_shutdown_leave(house);
	gy_behaviour_reset(house);
	(void)gy_house_unstash(house, GYRE_UNSTASH_ALL);
	gy_count(&house->home->counters.restarted, 1);
}

void gy_house_restart(struct gy_house *house)
{
	const struct gyre_class *class = house->class_info->class;
	const gyre_handler_fn hooks[] = { class->before_restart, class->restart,
					  class->after_restart };
	struct gy_restart *restart = house->extra->restart;

	gy_assert(house->status == GY_HOUSE_RUNNING);
	if (!restart->due || gy_house_is_stopped(house)) {
		return;
	}
	restart->due = false;
	gy_house_add_reason(house, GY_CLOSED_BY_RESTART);
	gy_house_remove_reason(house, GY_CLOSED_BY_HOOK); /* of the hook that has ended */
	if (gy_stack_scratch(house->home, house) == NULL) {
		/* The restart goes on when there is memory. */
		gy_timer_start(&house->home->loop.wheel, &restart->timer, GYRE_MILLISECONDS(1));
		return;
	}
	if (!restart->begun) {
		restart->begun = true;
		begin(house);
		if (!class->keep_children) {
			gy_children_forget_restarts(house);
			restart->awaits_children = !gy_children_stop(house);
		}
		if (restart->awaits_children) {
			return;
		}
	}
	while (restart->hook < gy_countof(hooks)) {
		restart->stack = call_hook(house, hooks[restart->hook++]);
		if (restart->stack != NULL) {
			gy_house_add_reason(house, GY_CLOSED_BY_HOOK);
			gy_house_remove_reason(house, GY_CLOSED_BY_RESTART);
			return;
		}
	}
	restart->hook = 0;
	restart->begun = false;
	gy_house_remove_reason(house, GY_CLOSED_BY_RESTART);
}

bool gy_restart_awaits_children(const struct gy_house *house)
{
	const struct gy_restart *restart = house->extra == NULL ? NULL : house->extra->restart;

	return restart != NULL && restart->awaits_children;
}

void gy_restart_children_gone(struct gy_house *house)
{
	struct gy_restart *restart = house->extra->restart;

	gy_assert(restart->awaits_children);
	restart->awaits_children = false;
	restart->due = true;
	if (house->status == GY_HOUSE_WAITING) {
		gy_house_ready(house);
	}
}

bool gy_restart_hook_ended(struct gy_stack *stack)
{
	struct gy_house *house = stack->house;
	struct gy_restart *restart = house->extra == NULL ? NULL : house->extra->restart;

	if (restart == NULL || restart->stack != stack) {
		return false;
	}
	restart->stack = NULL;
	restart->due = true;
	return true;
}

bool gy_restart_is_quiet(const struct gy_house *house)
{
	const struct gy_restart *restart = house->extra->restart;

	return restart == NULL || !is_under_way(restart);
}

void gy_restart_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns)
{
	if (house->extra->restart != NULL) {
		gy_timer_pack(wheel, &house->extra->restart->timer, now_ns);
	}
}

void gy_restart_unpack(struct gy_house *house, struct gy_wheel *wheel)
{
	if (house->extra->restart != NULL) {
		gy_timer_unpack(wheel, &house->extra->restart->timer);
	}
}
