/*
 * The whole matrix of failures: each hook and handler, at once and after a wait, under each
 * strategy; and what the actor, its mailbox, its timers, its watcher and the system then do. Each
 * cell is a life of its own in a model. GYRE_STRATEGY_ESCALATE has a matrix with its parents, in
 * life/supervision_test.c; failures in the pipeline of a channel have theirs in
 * net/listen/channel_failure_test.c.
 */
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/steal_actor.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

#include <gyre/batch.h>
#include <gyre/watch.h>

enum where {
	MOUNT,
	NOTICE,
	ASK,
	EVENT,
	TIMER,
	BATCH,
	BEFORE,
	RESTART,
	AFTER,
	CHILD,
	STOPPING,
	STOLEN,
	WHERES,
};

enum { STRATEGIES = 4, FINE = 1, FAIL, HOOKS_MAX = 8, TEXT_BYTES = 96, KEY_TO_FAIL = 2 };

enum end { GOES_ON, RESTARTS, STOPS, SHUTS_DOWN };

static const char *const where_names[WHERES] = {
	[MOUNT] = "mount",
	[NOTICE] = "notice",
	[ASK] = "ask",
	[EVENT] = "event",
	[TIMER] = "timer",
	[BATCH] = "batch of notices",
	[BEFORE] = "before_restart",
	[RESTART] = "restart",
	[AFTER] = "after_restart",
	[CHILD] = "child",
	[STOPPING] = "notice after a stop",
	[STOLEN] = "notice on another loop",
};
static const char *const strategy_names[STRATEGIES] = { "restart", "ignore", "stop", "shut down" };

/* Where there is no restart, its hooks are not called, and what counts is the failed notice. */
static const enum end ends[WHERES][STRATEGIES] = {
	[MOUNT] = { STOPS, STOPS, STOPS, STOPS },
	[NOTICE] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[ASK] = { GOES_ON, GOES_ON, GOES_ON, GOES_ON },
	[EVENT] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[TIMER] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[BATCH] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[BEFORE] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
	[RESTART] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
	[AFTER] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
	[CHILD] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[STOPPING] = { STOPS, STOPS, STOPS, STOPS },
	[STOLEN] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
};

struct cell {
	enum where where;
	enum gyre_strategy strategy;
	bool waits;
	char text[TEXT_BYTES];
};

static struct cell cell;
static struct gyre_address target;
static struct gyre_address watcher;

/* What was seen in the cell. */
static char hooks[HOOKS_MAX];
static uint32_t fine_count;
static uint32_t told_count;
static int told_reason;
static int ask_outcome;

/* ---- the target ---- */

static int fail_with(struct gyre_stack *stack, bool waits, int error)
{
	GYRE_BEGIN(stack);
	if (waits) {
		GYRE_AWAIT(stack,
			   gyre_sleep(stack, GYRE_MILLISECONDS(1), &puppet_frame(stack)->future));
	}
	return gyre_throw(stack, error);
	GYRE_END(stack);
}

static bool is_restart_hook(enum where where)
{
	return where == BEFORE || where == RESTART || where == AFTER;
}

/* One with a timer is not stolen. */
static bool has_timer(void)
{
	return cell.where != STOLEN;
}

/* These put the message that is fine behind their failure themselves. */
static bool sends_fine(enum where where)
{
	return where == TIMER || where == CHILD;
}

static int send_fine_and_fail(struct gyre_stack *stack)
{
	int r = fail_with(stack, cell.waits, -EIO);

	if (r < 0) {
		expect(gyre_notify(stack, target, gyre_new(stack, number, FINE)) == 0);
	}
	return r;
}

static int handle(struct gyre_stack *stack)
{
	const struct number *number = gyre_message(stack, number);

	if (number != NULL && number->value == FINE) {
		fine_count++;
		return gyre_return(stack);
	}
	if (cell.where == TIMER) {
		return send_fine_and_fail(stack);
	}
	if (cell.where == STOPPING) {
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
	}
	return fail_with(stack, cell.waits && !is_restart_hook(cell.where), -EIO);
}

static int mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options in_an_hour = { .delay_ns = GYRE_SECONDS(3600) };

	if (has_timer()) {
		expect(gyre_timer_start(stack, 1, &in_an_hour) == 0);
	}
	return cell.where == MOUNT ? fail_with(stack, cell.waits, -EIO) : gyre_return(stack);
}

static int call_hook(struct gyre_stack *stack, enum where where, char what)
{
	if (gyre_stack_state(stack) == 0) {
		hooks[strlen(hooks)] = what;
	}
	return cell.where == where ? fail_with(stack, cell.waits, -EBADMSG) : gyre_return(stack);
}

static int before(struct gyre_stack *stack)
{
	return call_hook(stack, BEFORE, '<');
}

static int restart(struct gyre_stack *stack)
{
	return call_hook(stack, RESTART, '=');
}

static int after(struct gyre_stack *stack)
{
	return call_hook(stack, AFTER, '>');
}

static bool is_for_batches(const struct gyre_type *type, const void *message)
{
	return type->id == GYRE_ID(number) && ((const struct number *)message)->value == FAIL;
}

static struct gyre_class class = {
	.name = "target",
	.frame_bytes = sizeof(struct puppet_frame),
	.mount = mount,
	.behaviour = { .notice = handle, .ask = handle, .event = handle, .notice_batch = handle },
	.before_restart = before,
	.restart = restart,
	.after_restart = after,
	.supervision.decision = GYRE_DECISION_ESCALATE,
};

static const struct gyre_class child_class = {
	.name = "child",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

/* ---- its watcher, which asks it too ---- */

static int hear_of_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, target));
	told_count++;
	told_reason = terminated->reason;
	return gyre_return(stack);
}

static int ask_target(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, target, gyre_new(stack, number, FAIL), 0,
				   &puppet_frame(stack)->future));
	ask_outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = hear_of_end },
};

/* ---- a cell ---- */

static void set_cell(enum where where, enum gyre_strategy strategy, bool waits)
{
	cell = (struct cell){ .where = where, .strategy = strategy, .waits = waits };
	(void)snprintf(cell.text, sizeof(cell.text), "%s fails %s, strategy %s", where_names[where],
		       waits ? "after a wait" : "at once", strategy_names[strategy]);
	memset(hooks, 0, sizeof(hooks));
	fine_count = 0;
	told_count = 0;
	told_reason = 1;
	ask_outcome = 0;
	class.strategy = strategy;
	class.batch_notices = where == BATCH ? is_for_batches : NULL;
}

/* Spawned and watched, but not mounted yet. */
static void spawn_watched(void)
{
	struct gy_stack *stack;

	watcher = model_spawn(&watcher_class, 0);
	cr_assert_eq(
		gy_spawn(&model.home[0], &(struct gy_spawn_order){ .class = &class }, 0, &target),
		0);
	stack = gy_stack_scratch(&model.home[0], model_house(watcher));
	cr_assert_eq(gyre_watch(&stack->head, target), 0);
}

static enum gy_lane lane_of_cell(void)
{
	return cell.where == EVENT ? GY_LANE_EVENT : GY_LANE_NOTICE;
}

static struct gyre_stack *stack_of_target(void)
{
	return &gy_stack_scratch(&model.home[0], model_house(target))->head;
}

static void let_child_fail(void)
{
	struct gyre_address child;

	cr_assert_eq(gyre_spawn(stack_of_target(), &child_class, GYRE_NO_ARGUMENT,
				&(struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP }, &child),
		     0);
	model_settle();
	model_call(child, send_fine_and_fail);
}

/* The notice is handled by the other loop. */
static void let_be_stolen(void)
{
	struct gy_house *house = model_house(target);

	model_put(target, GY_LANE_NOTICE, FAIL);
	cr_assert_eq(gy_queue_pop(&model.home[0].loop.state), &house->job);
	cr_assert(gy_house_seal(&model.home[0].loop, &house->job));
	gy_house_run_stolen(&model.home[1].loop, &house->job);
}

static void put_failure(void)
{
	const struct gyre_timer_options at_once = { 0 };

	if (cell.where == MOUNT) {
		return;
	}
	model_settle();
	switch (cell.where) {
	case ASK:
		model_call(watcher, ask_target);
		break;
	case TIMER:
		cr_assert_eq(gyre_timer_start(stack_of_target(), KEY_TO_FAIL, &at_once), 0);
		break;
	case CHILD:
		let_child_fail();
		break;
	case STOLEN:
		let_be_stolen();
		break;
	case BATCH:
		model_put(target, GY_LANE_NOTICE, FAIL);
		model_put(target, GY_LANE_NOTICE, FAIL);
		break;
	default:
		model_put(target, lane_of_cell(), FAIL);
		break;
	}
}

/* What waits when the failure happens is one message that is fine. */
static void let_fail(void)
{
	bool message_waits = cell.waits && !is_restart_hook(cell.where);

	put_failure();
	if (message_waits) {
		model_settle();
	}
	if (!sends_fine(cell.where)) {
		model_put(target, lane_of_cell(), FINE);
	}
	if (!message_waits) {
		model_settle();
	}
	model_advance(GYRE_MILLISECONDS(2));
}

/* What runs in the wheel besides the model's own timers. */
static uint64_t timers_running(void)
{
	const struct gy_loop *loop = &model.home[0].loop;

	return loop->wheel.count - gy_timer_is_started(&model.moment[0]) -
	       gy_timer_is_started(&loop->pool_timer);
}

static const char *hooks_expected(enum end end)
{
	if (end == RESTARTS) {
		return "<=>";
	}
	if (is_restart_hook(cell.where) && cell.strategy == GYRE_STRATEGY_RESTART) {
		return cell.where == BEFORE ? "<" : cell.where == RESTART ? "<=" : "<=>";
	}
	return "";
}

static int reason_expected(void)
{
	if (cell.where == STOPPING) {
		return 0;
	}
	return is_restart_hook(cell.where) && cell.strategy == GYRE_STRATEGY_RESTART ? -EBADMSG
										     : -EIO;
}

static void assert_stopped(void)
{
	cr_assert_null(model_house(target), "%s: it goes on", cell.text);
	cr_assert_eq(fine_count, 0, "%s: what waited was handled", cell.text);
	cr_assert_eq(model.lost[GYRE_DROP_STOPPED], 1, "%s: what waited is no dead letter",
		     cell.text);
	cr_assert_eq(told_count, 1, "%s: its watcher was told %u times", cell.text, told_count);
	cr_assert_eq(told_reason, reason_expected(), "%s: its watcher was told %d", cell.text,
		     told_reason);
}

static void assert_alive(void)
{
	cr_assert_not_null(model_house(target), "%s: it has stopped", cell.text);
	cr_assert_eq(fine_count, 1, "%s: what waited was not handled", cell.text);
	cr_assert_eq(told_count, 0, "%s: its watcher was told", cell.text);
}

static uint64_t failed_count(void)
{
	return model.home[0].counters.failed +
	       (cell.where == STOLEN ? model.home[1].counters.failed : 0);
}

static void assert_cell(enum end end)
{
	uint32_t failures = hooks_expected(end)[0] != 0 && end == STOPS ? 2 : 1;

	if (end == STOPS) {
		assert_stopped();
	} else {
		assert_alive();
	}
	cr_assert_str_eq(hooks, hooks_expected(end), "%s: hooks were %s", cell.text, hooks);
	cr_assert_eq(timers_running(), has_timer() && (end == GOES_ON || end == SHUTS_DOWN),
		     "%s: %lu timers run", cell.text, timers_running());
	cr_assert_eq(model.shut_down, end == SHUTS_DOWN, "%s: the system was stopped %u times",
		     cell.text, model.shut_down);
	cr_assert_eq(ask_outcome, cell.where == ASK ? -EIO : 0, "%s: the asker was told %d",
		     cell.text, ask_outcome);
	cr_assert_eq(failed_count(), failures, "%s: %lu failures were counted", cell.text,
		     failed_count());
	cr_assert_eq(model.home[0].counters.restarted, hooks_expected(end)[0] != 0,
		     "%s: %lu restarts were counted", cell.text, model.home[0].counters.restarted);
}

/* The watch of what goes on, or has restarted, is in force: a later stop is told. */
static void assert_watch_is_kept(void)
{
	gy_house_request_stop(model_house(target), 0);
	model_settle();
	cr_assert_eq(told_count, 1, "%s: its watcher was told %u times of a later stop", cell.text,
		     told_count);
	cr_assert_eq(told_reason, 0, "%s: its watcher was told %d", cell.text, told_reason);
}

static void play_cell(enum where where, enum gyre_strategy strategy, bool waits)
{
	enum end end = ends[where][strategy];

	set_cell(where, strategy, waits);
	model_open(where == STOLEN ? 2 : 1);
	spawn_watched();
	let_fail();
	assert_cell(end);
	if (end != STOPS) {
		assert_watch_is_kept();
	}
	model_close();
}

static void play_row(enum where where)
{
	for (uint32_t strategy = 0; strategy < STRATEGIES; strategy++) {
		play_cell(where, (enum gyre_strategy)strategy, false);
		if (where != STOPPING) { /* where nothing waits any more */
			play_cell(where, (enum gyre_strategy)strategy, true);
		}
	}
}

Test(failure, of_a_mount_is_what_the_matrix_says)
{
	play_row(MOUNT);
}

Test(failure, of_a_notice_is_what_the_matrix_says)
{
	play_row(NOTICE);
}

Test(failure, of_an_ask_is_what_the_matrix_says)
{
	play_row(ASK);
}

Test(failure, of_an_event_is_what_the_matrix_says)
{
	play_row(EVENT);
}

Test(failure, of_a_batch_is_what_the_matrix_says)
{
	play_row(BATCH);
}

Test(failure, of_before_restart_is_what_the_matrix_says)
{
	play_row(BEFORE);
}

Test(failure, of_restart_is_what_the_matrix_says)
{
	play_row(RESTART);
}

Test(failure, of_after_restart_is_what_the_matrix_says)
{
	play_row(AFTER);
}

Test(failure, of_a_timer_is_what_the_matrix_says)
{
	play_row(TIMER);
}

Test(failure, of_a_child_that_escalates_is_what_the_matrix_says)
{
	play_row(CHILD);
}

Test(failure, of_an_actor_that_stops_is_what_the_matrix_says)
{
	play_row(STOPPING);
}

Test(failure, of_an_actor_on_another_loop_is_what_the_matrix_says)
{
	play_row(STOLEN);
}
