/*
 * What a failure leads to, by the strategy of the class. A restart happens in the same house:
 * address, state memory and mailboxes stay, timers stop, the behaviour is the class's again, and
 * the three hooks run. It happens between two messages; if it is delayed, the mailbox is closed
 * until then.
 */
#include "actor/stack.h"

enum { DOUBLINGS_MAX = 6 };

static const uint64_t window_default_ns = GYRE_SECONDS(60);

struct gy_restart {
	struct gy_timer timer; /* of a delayed restart */
	struct gy_house *house;
	uint64_t window_start_ns;
	uint32_t count; /* in the window */
	bool due;
};

static void delay_is_over(struct gy_timer *timer)
{
	struct gy_restart *restart = gy_container_of(timer, struct gy_restart, timer);

	restart->due = true;
	/* It has nothing to run but the restart, which comes at the end of the run. */
	if (restart->house->status == GY_HOUSE_WAITING) {
		gy_house_ready(restart->house);
	}
}

static struct gy_restart *restart_of(struct gy_house *house)
{
	struct gy_restart *restart = house->restart;

	if (restart == NULL) {
		restart = (struct gy_restart *)gy_sizes_get(&house->home->parts, sizeof(*restart),
							    gy_sizes_class(sizeof(*restart)));
		if (restart == NULL) {
			return NULL;
		}
		*restart = (struct gy_restart){ .house = house };
		gy_timer_init(&restart->timer, delay_is_over);
		house->restart = restart;
	}
	return restart;
}

void gy_restart_fini(struct gy_house *house)
{
	struct gy_restart *restart = house->restart;

	if (restart != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &restart->timer);
		gy_sizes_put(&house->home->parts, restart, gy_sizes_class(sizeof(*restart)));
		house->restart = NULL;
	}
}

/* Whether one more restart is within the limits. */
static bool count(struct gy_restart *restart, const struct gyre_class *class, uint64_t now_ns)
{
	uint64_t window_ns =
		class->restart_window_ns == 0 ? window_default_ns : class->restart_window_ns;

	if (restart->count == 0 || now_ns - restart->window_start_ns > window_ns) {
		restart->window_start_ns = now_ns;
		restart->count = 0;
	}
	restart->count++;
	return class->restarts_max == 0 || restart->count <= class->restarts_max;
}

static void order_restart(struct gy_house *house)
{
	const struct gyre_class *class = house->class;
	struct gy_loop *loop = &house->home->loop;
	struct gy_restart *restart = restart_of(house);
	uint32_t doublings;

	if (restart == NULL || gy_house_is_stopped(house)) {
		gy_house_close(house);
		return;
	}
	if (restart->due || gy_timer_is_started(&restart->timer)) {
		return; /* one restart mends all that failed before it */
	}
	if (!count(restart, class, gy_clock_ns(&loop->clock))) {
		gy_log(loop->options.log, GYRE_LOG_WARNING,
		       "actor %s: stopped, since it failed more than %u times", class->name,
		       class->restarts_max);
		gy_house_close(house);
		return;
	}
	house->closed = GY_CLOSED_BY_RESTART;
	if (class->restart_delay_ns == 0) {
		restart->due = true;
		return;
	}
	doublings = restart->count - 1 < DOUBLINGS_MAX ? restart->count - 1 : DOUBLINGS_MAX;
	gy_timer_start(&loop->wheel, &restart->timer, class->restart_delay_ns << doublings);
}

void gy_house_failed(struct gy_house *house)
{
	switch (house->class->strategy) {
	case GYRE_STRATEGY_RESTART:
		order_restart(house);
		break;
	case GYRE_STRATEGY_IGNORE:
		break;
	case GYRE_STRATEGY_STOP:
		gy_house_close(house);
		break;
	case GYRE_STRATEGY_SHUT_DOWN:
		house->home->options.shut_down(house->home->options.system);
		break;
	}
}

/* A hook that fails stops the actor, as a mount that fails does. */
static void call_hook(struct gy_house *house, gyre_handler_fn hook)
{
	struct gy_stack *stack;

	if (hook == NULL || gy_house_is_stopped(house)) {
		return;
	}
	stack = gy_stack_scratch(house->home, house);
	if (stack == NULL) {
		gy_house_close(house);
		return;
	}
	stack->head.message = NULL;
	stack->head.type = NULL;
	stack->mail = NULL;
	stack->handler = hook;
	stack->mount = true;
	stack->dirty = true;
	gy_stack_call(stack);
}

void gy_house_restart(struct gy_house *house)
{
	struct gy_restart *restart = house->restart;

	if (!restart->due || gy_house_is_stopped(house)) {
		return;
	}
	restart->due = false;
	gy_timers_stop(house);
	house->behaviour = &house->class->behaviour;
	gy_count(&house->home->counters.restarted, 1);
	call_hook(house, house->class->before_restart);
	call_hook(house, house->class->restart);
	call_hook(house, house->class->after_restart);
	gy_house_open(house);
}
