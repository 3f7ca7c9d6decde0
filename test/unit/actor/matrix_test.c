/*
 * The whole matrix of failures: each hook and handler, at once and after a wait, under each
 * strategy; and what the actor, its mailbox, its timers, its watcher and the system then do. Each
 * cell is a life of its own in a model.
 */
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "model.h"

#include <stdio.h>
#include <string.h>

#include <gyre/batch.h>
#include <gyre/watch.h>

enum where { MOUNT, NOTICE, ASK, EVENT, BATCH, BEFORE, RESTART, AFTER, WHERES };
enum { STRATEGIES = 4, FINE = 1, FAIL, HOOKS_MAX = 8, TEXT_BYTES = 96 };

enum end { GOES_ON, RESTARTS, STOPS, SHUTS_DOWN };

static const char *const where_names[WHERES] = { "mount",   "notice",		"ask",
						 "event",   "batch of notices", "before_restart",
						 "restart", "after_restart" };
static const char *const strategy_names[STRATEGIES] = { "restart", "ignore", "stop", "shut down" };

/* Where there is no restart, its hooks are not called, and what counts is the failed notice. */
static const enum end ends[WHERES][STRATEGIES] = {
	[MOUNT] = { STOPS, STOPS, STOPS, STOPS },
	[NOTICE] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[ASK] = { GOES_ON, GOES_ON, GOES_ON, GOES_ON },
	[EVENT] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[BATCH] = { RESTARTS, GOES_ON, STOPS, SHUTS_DOWN },
	[BEFORE] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
	[RESTART] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
	[AFTER] = { STOPS, GOES_ON, STOPS, SHUTS_DOWN },
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
	return where >= BEFORE;
}

static int handle(struct gyre_stack *stack)
{
	if (gyre_batch_count(stack) == 0 && gyre_message(stack, number)->value == FINE) {
		fine_count++;
		return gyre_return(stack);
	}
	return fail_with(stack, cell.waits && !is_restart_hook(cell.where), -EIO);
}

static int mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options in_an_hour = { .delay_ns = GYRE_SECONDS(3600) };

	expect(gyre_timer_start(stack, 1, &in_an_hour) == 0);
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
	return cell.where == BATCH && type->id == GYRE_ID(number) &&
	       ((const struct number *)message)->value == FAIL;
}

static struct gyre_class class = {
	.name = "target",
	.frame_bytes = sizeof(struct puppet_frame),
	.mount = mount,
	.behaviour = { .notice = handle, .ask = handle, .event = handle, .notice_batch = handle },
	.batch_notices = is_for_batches,
	.before_restart = before,
	.restart = restart,
	.after_restart = after,
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

static void put_failure(void)
{
	if (cell.where == MOUNT) {
		return;
	}
	model_settle();
	if (cell.where == ASK) {
		model_call(watcher, ask_target);
	} else {
		model_put(target, lane_of_cell(), FAIL);
	}
	if (cell.where == BATCH) {
		model_put(target, GY_LANE_NOTICE, FAIL);
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
	model_put(target, lane_of_cell(), FINE);
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

static void assert_cell(enum end end)
{
	uint32_t failures = hooks_expected(end)[0] != 0 && end == STOPS ? 2 : 1;

	if (end == STOPS) {
		assert_stopped();
	} else {
		assert_alive();
	}
	cr_assert_str_eq(hooks, hooks_expected(end), "%s: hooks were %s", cell.text, hooks);
	cr_assert_eq(timers_running(), end == GOES_ON || end == SHUTS_DOWN, "%s: %lu timers run",
		     cell.text, timers_running());
	cr_assert_eq(model.shut_down, end == SHUTS_DOWN, "%s: the system was stopped %u times",
		     cell.text, model.shut_down);
	cr_assert_eq(ask_outcome, cell.where == ASK ? -EIO : 0, "%s: the asker was told %d",
		     cell.text, ask_outcome);
	cr_assert_eq(model.home[0].counters.failed, failures, "%s: %lu failures were counted",
		     cell.text, model.home[0].counters.failed);
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
	model_open(1);
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
		play_cell(where, (enum gyre_strategy)strategy, true);
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
