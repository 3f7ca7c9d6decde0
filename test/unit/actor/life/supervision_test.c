/*
 * Supervision: every scope and decision, for a failure at each place where an actor may fail, with
 * the children beside their parent and on another loop. Each cell is a life of its own: a parent
 * with three children, of which the middle one fails.
 */
#include "actor/puppet_kit.h"

#include <stdio.h>
#include <string.h>

#include <gyre/loop_data.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

enum where { MOUNT, NOTICE, AFTER_WAIT, ASK, EVENT, TIMER, HOOK, GRANDCHILD, STOPPING, STOLEN };
enum { BEFORE, FAILING, AFTER, CHILDREN, SCOPES = 3, DECISIONS = 4, TEXT_BYTES = 96 };

/* Later than so much time is what comes after it for sure, and as late as a timer may be. */
#define LATER_NS GYRE_MICROSECONDS(100)
#define LATE_NS	 GYRE_MICROSECONDS(1200)

static const char *const scope_names[SCOPES] = { "one for one", "all for one", "rest for one" };
static const char *const decision_names[DECISIONS] = { "restart", "ignore", "stop", "escalate" };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

struct cell {
	enum where where;
	enum gyre_scope scope;
	enum gyre_decision decision;
	uint32_t loop;
	char text[TEXT_BYTES];
};

struct child {
	struct gyre_address address;
	uint32_t restarts;
	uint32_t told;
	int reason;
};

struct state {
	uint32_t index;
};

static struct cell cell;
static struct gyre_address parent;
static struct gyre_address watcher;
static struct gyre_address stopped; /* that a child watches */
static struct child children[CHILDREN];
static int ask_outcome;
static uint32_t handled; /* by the one that fails, after its failure */
static uint32_t ended;	 /* children */

/* ---- the children ---- */

static struct child *child_of(struct gyre_stack *stack)
{
	return &children[((struct state *)gyre_state(stack))->index];
}

static int fail_after_wait(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &puppet_frame(stack)->future));
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

static int stop_itself(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static int stop_and_fail(struct gyre_stack *stack)
{
	cr_assert_eq(stop_itself(stack), 0);
	return gyre_throw(stack, -EIO);
}

static int count_handled(struct gyre_stack *stack)
{
	handled++;
	return gyre_return(stack);
}

static int start_timer(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1,
				&(struct gyre_timer_options){ .delay_ns = GYRE_MILLISECONDS(1) });
}

static int watch_stopped(struct gyre_stack *stack)
{
	return gyre_watch(stack, stopped);
}

static const struct gyre_class grandchild_class = {
	.name = "grandchild",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_ESCALATE,
};

static struct gyre_address grandchild;

static int spawn_grandchild(struct gyre_stack *stack)
{
	return gyre_spawn(stack, &grandchild_class, GYRE_NO_ARGUMENT,
			  &(struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 },
			  &grandchild);
}

static int mount_child(struct gyre_stack *stack)
{
	struct state *state = (struct state *)gyre_state(stack);

	state->index = (uint32_t)gyre_message(stack, number)->value;
	return cell.where == MOUNT && state->index == FAILING ? puppet_fail(stack)
							      : gyre_return(stack);
}

static int restart_child(struct gyre_stack *stack)
{
	struct child *child = child_of(stack);

	if (cell.where == HOOK && child == &children[FAILING] && child->restarts == 0) {
		child->restarts++;
		return puppet_fail(stack);
	}
	child->restarts++;
	return gyre_return(stack);
}

static void count_end(void *state)
{
	(void)state;
	ended++;
}

static struct gyre_class child_class = {
	.name = "child",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct puppet_frame),
	.mount = mount_child,
	.clean = count_end,
	.behaviour = { .notice = puppet_run, .ask = puppet_fail, .event = puppet_fail },
	.strategy = GYRE_STRATEGY_ESCALATE,
	.restart = restart_child,
	.supervision.decision = GYRE_DECISION_ESCALATE,
};

/* ---- the parent and the watcher ---- */

static int spawn_child(struct gyre_stack *stack, uint32_t i)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = cell.loop };

	return gyre_spawn(stack, &child_class, gyre_new(stack, number, i), &options,
			  &children[i].address);
}

static int spawn_children(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < CHILDREN; i++) {
		cr_assert_eq(spawn_child(stack, i), 0);
	}
	return gyre_return(stack);
}

static struct gyre_class parent_class = {
	.name = "parent",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour.notice = puppet_run,
	.strategy = GYRE_STRATEGY_STOP,
};

static int hear_of_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	for (uint32_t i = 0; i < CHILDREN; i++) {
		if (gyre_address_equal(terminated->actor, children[i].address)) {
			children[i].told++;
			children[i].reason = terminated->reason;
		}
	}
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = sizeof(struct puppet_frame),
	.behaviour = { .notice = puppet_run, .event = hear_of_end },
};

static int watch_children(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < CHILDREN; i++) {
		cr_assert(gyre_watch(stack, children[i].address) == 0);
	}
	return gyre_return(stack);
}

/* So early that the watcher hears of a mount that fails. */
static int spawn_watched_children(struct gyre_stack *stack)
{
	(void)spawn_children(stack);
	return gyre_notify(stack, watcher, gyre_new(stack, call, watch_children));
}

static int ask_child(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, children[FAILING].address, gyre_new(stack, number, 1), 0,
				   &puppet_frame(stack)->future));
	ask_outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

/* ---- theft ---- */

static struct gyre_test *running;
static const uint32_t *failed_on; /* a loop */

static int init_loop(struct gyre_system *system, uint32_t loop, void *arg, void **ret_data)
{
	static uint32_t numbers[] = { 0, 1 };

	(void)system;
	(void)arg;
	*ret_data = &numbers[loop];
	return 0;
}

static int fail_anywhere(struct gyre_stack *stack)
{
	failed_on = (const uint32_t *)gyre_loop_data(stack);
	return puppet_fail(stack);
}

static int hold_loop_up(struct gyre_stack *stack)
{
	gyre_test_advance(running, GYRE_MILLISECONDS(1));
	return gyre_return(stack);
}

/* The loop finds two when it is free again: it keeps one, and gives the first away. */
static void call_stolen(struct gyre_test *test)
{
	struct gyre_system *system = gyre_test_system(test);
	struct gyre_address blocker = puppet_spawn(test, &puppet_class, cell.loop);

	running = test;
	(void)gyre_system_notify(system, blocker, gyre_test_new(test, call, hold_loop_up));
	gyre_test_advance(test, GYRE_MICROSECONDS(100));
	(void)gyre_system_notify(system, children[FAILING].address,
				 gyre_test_new(test, call, fail_anywhere));
	(void)gyre_system_notify(system, blocker, gyre_test_new(test, call, hold_loop_up));
	gyre_test_advance(test, GYRE_MILLISECONDS(3));
	cr_assert_not_null(failed_on);
	cr_assert_eq(*failed_on, 1 - cell.loop, "it was not stolen: %s", cell.text);
}

/* ---- a cell ---- */

static void cause_failure(struct gyre_test *test)
{
	struct gyre_address failing = children[FAILING].address;

	switch (cell.where) {
	case MOUNT:
		break;
	case NOTICE:
	case HOOK:
		puppet_call(test, failing, puppet_fail);
		break;
	case AFTER_WAIT:
		puppet_call(test, failing, fail_after_wait);
		break;
	case ASK:
		puppet_call(test, watcher, ask_child);
		break;
	case EVENT:
		puppet_call(test, failing, watch_stopped);
		break;
	case TIMER:
		puppet_call(test, failing, start_timer);
		break;
	case GRANDCHILD:
		puppet_call(test, failing, spawn_grandchild);
		puppet_call(test, grandchild, puppet_fail);
		break;
	case STOPPING:
		puppet_call(test, failing, stop_and_fail);
		break;
	case STOLEN:
		call_stolen(test);
		break;
	}
	gyre_test_advance(test, GYRE_MILLISECONDS(2));
}

static void open_family(struct gyre_test *test)
{
	(void)snprintf(cell.text, sizeof(cell.text), "%s, %s, children on loop %u",
		       scope_names[cell.scope], decision_names[cell.decision], cell.loop);
	memset(children, 0, sizeof(children));
	ask_outcome = 0;
	handled = 0;
	ended = 0;
	failed_on = NULL;
	stopped = puppet_spawn(test, &puppet_class, 1);
	puppet_call(test, stopped, stop_itself);
	watcher = puppet_spawn(test, &watcher_class, 1);
	parent = puppet_spawn(test, &parent_class, 0);
	puppet_call(test, parent, spawn_watched_children);
}

static void open_cell(struct gyre_test *test)
{
	parent_class.supervision =
		(struct gyre_supervision){ .scope = cell.scope, .decision = cell.decision };
	open_family(test);
}

static bool is_in_scope(uint32_t i)
{
	return i == FAILING || cell.scope == GYRE_ALL_FOR_ONE ||
	       (cell.scope == GYRE_REST_FOR_ONE && i > FAILING);
}

/* Whether the failing one ends whatever is decided. */
static bool ends_anyway(void)
{
	return cell.where == MOUNT ||
	       (cell.where == HOOK && cell.decision == GYRE_DECISION_RESTART);
}

static bool is_supervised(void)
{
	return cell.where != ASK && cell.where != STOPPING;
}

static bool must_end(uint32_t i)
{
	if (i == FAILING && (ends_anyway() || cell.where == STOPPING)) {
		return true;
	}
	if (!is_supervised()) {
		return false;
	}
	switch (cell.decision) {
	case GYRE_DECISION_ESCALATE:
		return true; /* with the parent */
	case GYRE_DECISION_STOP:
		return is_in_scope(i);
	default:
		return false;
	}
}

/* A restart hook that fails makes the others restart again, unless they are about to. */
static bool restarts_are_right(uint32_t i)
{
	bool restarts = is_supervised() && cell.decision == GYRE_DECISION_RESTART && is_in_scope(i);
	uint32_t most = cell.where == HOOK && i != FAILING ? 2 : 1;

	if (!restarts || (i == FAILING && cell.where == MOUNT)) {
		return children[i].restarts == 0;
	}
	if (i == AFTER && cell.where == MOUNT) {
		return children[i].restarts <= 1; /* 0 if it mounts after the failure */
	}
	return children[i].restarts >= 1 && children[i].restarts <= most;
}

static int must_reason(uint32_t i)
{
	if (i == FAILING) {
		return cell.where == STOPPING ? 0 : -EIO;
	}
	return cell.decision == GYRE_DECISION_ESCALATE ? 0 : -EIO; /* or it stops with its parent */
}

static void expect_life(struct gyre_test *test, struct gyre_address actor, bool ends)
{
	if (ends) {
		expect_ended(test, actor);
	} else {
		expect_alive(test, actor);
	}
}

static void check_child(struct gyre_test *test, uint32_t i)
{
	const struct child *child = &children[i];
	bool ends = must_end(i);

	expect_life(test, child->address, ends);
	cr_assert_eq(child->told, ends, "child %u: %s", i, cell.text);
	cr_assert(restarts_are_right(i), "child %u has restarted %u times: %s", i, child->restarts,
		  cell.text);
	cr_assert(!ends || cell.where == MOUNT || child->reason == must_reason(i),
		  "child %u has ended with %d: %s", i, child->reason, cell.text);
}

static void check_cell(struct gyre_test *test)
{
	bool parent_ends = is_supervised() && cell.decision == GYRE_DECISION_ESCALATE;

	expect_life(test, parent, parent_ends);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		check_child(test, i);
	}
	cr_assert_eq(ask_outcome, cell.where == ASK ? -EIO : 0);
	if (!must_end(FAILING)) {
		puppet_call(test, children[FAILING].address, count_handled);
		cr_assert_eq(handled, 1, "it does not go on: %s", cell.text);
	}
	expect_alive(test, watcher); /* the system goes on */
}

static void play_cell(struct gyre_test *test, void *arg)
{
	(void)arg;
	open_cell(test);
	cause_failure(test);
	check_cell(test);
}

static void play_all(enum where where)
{
	struct gyre_system_options options = two_loops;

	options.steal_floor = 1;
	options.steal_aggression = 1;
	options.loop_init = init_loop;
	for (uint32_t i = 0; i < SCOPES * DECISIONS * 2; i++) {
		cell = (struct cell){ .where = where,
				      .scope = (enum gyre_scope)(i % SCOPES),
				      .decision = (enum gyre_decision)(i / SCOPES % DECISIONS),
				      .loop = i / (SCOPES * DECISIONS) };
		kit_play(play_cell, &options);
	}
}

Test(supervision, of_a_failed_mount_ends_the_child_and_decides_about_the_others)
{
	play_all(MOUNT);
}

Test(supervision, of_a_failed_notice_is_as_the_class_of_the_parent_says)
{
	play_all(NOTICE);
}

Test(supervision, of_a_handler_that_fails_after_a_wait_is_the_same)
{
	play_all(AFTER_WAIT);
}

Test(supervision, is_no_matter_of_a_failed_ask)
{
	play_all(ASK);
}

Test(supervision, of_a_failed_event_is_the_same)
{
	play_all(EVENT);
}

Test(supervision, of_a_failed_timer_is_the_same)
{
	play_all(TIMER);
}

Test(supervision, of_a_failed_restart_hook_ends_the_child_and_decides_about_the_others)
{
	play_all(HOOK);
}

Test(supervision, of_a_childs_child_goes_up_as_far_as_it_is_escalated)
{
	play_all(GRANDCHILD);
}

Test(supervision, is_no_matter_of_an_actor_that_stops)
{
	play_all(STOPPING);
}

Test(supervision, of_an_actor_that_fails_on_another_loop_waits_until_it_is_back)
{
	play_all(STOLEN);
}

/* ---- the hook ---- */

static struct gyre_failure seen;
static char seen_class[16];
static char seen_path[64];
static enum gyre_decision to_decide;
static struct gyre_class deciding_class;

static enum gyre_decision decide(void *state, const struct gyre_failure *failure)
{
	*(uint32_t *)state += 1;
	seen = *failure;
	(void)snprintf(seen_class, sizeof(seen_class), "%s", failure->class_name);
	(void)snprintf(seen_path, sizeof(seen_path), "%s", failure->path);
	return to_decide;
}

static uint32_t decisions;

static int count_decisions(struct gyre_stack *stack)
{
	decisions = *(const uint32_t *)gyre_state(stack);
	return gyre_return(stack);
}

static void open_deciding(struct gyre_test *test, enum gyre_decision decision)
{
	to_decide = decision;
	cell = (struct cell){ .where = NOTICE };
	open_cell(test);
	deciding_class = parent_class;
	deciding_class.state_bytes = sizeof(uint32_t);
	deciding_class.supervision = (struct gyre_supervision){ .decide = decide };
	memset(children, 0, sizeof(children));
	parent = puppet_spawn(test, &deciding_class, 0);
	puppet_call(test, parent, spawn_children);
}

KIT_TEST_WITH(supervision, by_a_hook_sees_who_has_failed_and_why, &two_loops)
{
	open_deciding(test, GYRE_DECISION_IGNORE);
	puppet_call(test, children[AFTER].address, puppet_fail);
	cr_assert(gyre_address_equal(seen.child, children[AFTER].address));
	cr_assert_str_eq(seen_class, "child");
	cr_assert_str_eq(seen_path, "/user/parent-4/child-3");
	cr_assert_eq(seen.error, -EIO);
	cr_assert_not(seen.ends);
	puppet_call(test, parent, count_decisions);
	cr_assert_eq(decisions, 1);
	cr_assert_eq(children[AFTER].restarts, 0);
}

KIT_TEST_WITH(supervision, by_a_hook_that_returns_no_decision_escalates, &two_loops)
{
	open_deciding(test, (enum gyre_decision)77);
	puppet_call(test, children[AFTER].address, puppet_fail);
	expect_ended(test, parent);
}

/* ---- limits ---- */

static void open_limited(struct gyre_test *test, const struct gyre_supervision *supervision)
{
	cell = (struct cell){ .where = NOTICE };
	parent_class.supervision = *supervision;
	open_family(test);
}

static void fail_child(struct gyre_test *test, uint32_t i)
{
	puppet_call(test, children[i].address, puppet_fail);
}

KIT_TEST_WITH(supervision, counts_the_restarts_of_all_children_together_in_a_window_that_slides,
	      &two_loops)
{
	open_limited(test, &(struct gyre_supervision){ .restarts_max = 2,
						       .window_ns = GYRE_SECONDS(10) });
	fail_child(test, BEFORE);
	pass_since_call(test, GYRE_SECONDS(6));
	fail_child(test, AFTER);
	pass_since_call(test, GYRE_SECONDS(4) + LATER_NS); /* the first counts no more */
	fail_child(test, FAILING);
	cr_assert_eq(children[FAILING].restarts, 1);
	expect_alive(test, parent);
	pass_since_call(test, GYRE_SECONDS(5)); /* the second does */
	fail_child(test, FAILING);
	expect_ended(test, parent);
	cr_assert_eq(children[BEFORE].told, 1);
	cr_assert_eq(children[FAILING].restarts, 1);
}

static uint32_t parent_restarts;

static int count_restart_of_parent(struct gyre_stack *stack)
{
	parent_restarts++;
	return parent_class.keep_children ? gyre_return(stack) : spawn_children(stack);
}

static void fail_three_times(struct gyre_test *test, bool keep_children)
{
	parent_class.strategy = GYRE_STRATEGY_RESTART;
	parent_class.restart = count_restart_of_parent;
	parent_class.keep_children = keep_children;
	open_limited(test, &(struct gyre_supervision){ .restarts_max = 1 });
	fail_child(test, BEFORE);
	fail_child(test, FAILING); /* the parent restarts */
	fail_child(test, AFTER);
}

KIT_TEST_WITH(supervision,
	      counts_from_the_beginning_after_the_parent_has_restarted_with_new_children,
	      &two_loops)
{
	fail_three_times(test, false);
	cr_assert_eq(parent_restarts, 1);
	cr_assert_eq(children[BEFORE].restarts, 1);
	cr_assert_eq(children[AFTER].restarts, 1);
}

KIT_TEST_WITH(supervision, goes_on_counting_when_the_parent_has_restarted_and_kept_its_children,
	      &two_loops)
{
	fail_three_times(test, true);
	cr_assert_eq(parent_restarts, 2);
	cr_assert_eq(children[BEFORE].restarts, 1);
	cr_assert_eq(children[AFTER].restarts, 0);
}

KIT_TEST_WITH(supervision, delays_restarts_twice_as_long_each_time, &two_loops)
{
	open_limited(test, &(struct gyre_supervision){ .scope = GYRE_ALL_FOR_ONE,
						       .delay_ns = GYRE_MILLISECONDS(10) });
	for (uint32_t i = 0; i < 3; i++) {
		fail_child(test, FAILING);
		pass_since_call(test, (GYRE_MILLISECONDS(10) << i) - GYRE_MICROSECONDS(100));
		cr_assert_eq(children[BEFORE].restarts, i);
		gyre_test_advance(test, LATE_NS);
		cr_assert_eq(children[BEFORE].restarts, i + 1);
		cr_assert_eq(children[FAILING].restarts, i + 1);
	}
}

/* ---- the root ---- */

/* The system has stopped, with one line about it. */
static void expect_stopped(struct gyre_test *test)
{
	cr_assert_eq(gyre_system_wait(gyre_test_system(test)), -EIO);
	cr_assert_eq(heard_with("the system stops"), 1);
}

KIT_TEST_WITH(supervision, ends_at_the_root_which_stops_the_system_with_the_error, &two_loops)
{
	(void)puppet_spawn(test, &grandchild_class, 0);
	grandchild = puppet_spawn(test, &grandchild_class, 0);
	heard.errors_are_right = true;
	puppet_call(test, grandchild, puppet_fail);
	expect_stopped(test);
	cr_assert_str_eq(heard_last(),
			 "actor grandchild /user/grandchild-2: no parent has settled its "
			 "failure: Input/output error; the system stops");
}

KIT_TEST_WITH(supervision, that_escalates_to_the_root_names_the_actor_where_it_began, &two_loops)
{
	cell = (struct cell){ .where = NOTICE, .decision = GYRE_DECISION_ESCALATE };
	parent_class.strategy = GYRE_STRATEGY_ESCALATE;
	open_cell(test);
	heard.errors_are_right = true;
	fail_child(test, AFTER);
	expect_stopped(test);
	cr_assert_eq(heard_with("actor child /user/parent-3/child-3: no parent"), 1, "%s",
		     heard_last());
}

/* ---- no supervision ---- */

KIT_TEST_WITH(failure, of_an_actor_that_stops_does_not_shut_the_system_down, &two_loops)
{
	static const struct gyre_class class = {
		.name = "essential",
		.frame_bytes = sizeof(struct puppet_frame),
		.behaviour.notice = puppet_run,
		.strategy = GYRE_STRATEGY_SHUT_DOWN,
	};
	struct gyre_address actor = puppet_spawn(test, &class, 0);
	struct gyre_address other = puppet_spawn(test, &puppet_class, 0);

	puppet_call(test, actor, stop_and_fail);
	expect_ended(test, actor);
	expect_alive(test, other);
}

/* ---- children of one that restarts ---- */

static uint32_t alive_at_restart;

static int count_alive(struct gyre_stack *stack)
{
	(void)stack;
	alive_at_restart = CHILDREN - ended;
	return 0;
}

static void restart_parent(struct gyre_test *test, bool keeps, uint32_t loop)
{
	cell = (struct cell){ .where = NOTICE, .loop = loop };
	parent_class.strategy = GYRE_STRATEGY_RESTART;
	parent_class.restart = count_alive;
	parent_class.keep_children = keeps;
	open_cell(test);
	alive_at_restart = 77;
	puppet_call(test, parent, puppet_fail);
	expect_alive(test, parent);
}

KIT_TEST_WITH(restart, stops_the_children_before_its_hooks_run, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		restart_parent(test, false, loop);
		cr_assert_eq(alive_at_restart, 0);
		cr_assert_eq(children[BEFORE].told, 1);
		cr_assert_eq(children[BEFORE].reason, 0);
		ended = 0;
		alive_at_restart = 77;
		puppet_call(test, parent, spawn_children);
		expect_alive(test, children[AFTER].address);
		puppet_call(test, parent, puppet_fail);
		cr_assert_eq(alive_at_restart, 0);
	}
}

KIT_TEST_WITH(restart, leaves_the_children_alone_if_the_class_keeps_them, &two_loops)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		restart_parent(test, true, loop);
		cr_assert_eq(alive_at_restart, CHILDREN);
		cr_assert_eq(children[BEFORE].told, 0);
	}
}

/* The parent awaits a child in its mount, and the child fails: nobody waits for ever. */
static int await_child(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	cr_assert(spawn_child(stack, FAILING) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, children[FAILING].address, GYRE_FOREVER,
					       &frame->future));
	ask_outcome = gyre_future_error(&frame->future);
	GYRE_END(stack);
}

static void await_child_in_mount(struct gyre_test *test, void *arg)
{
	(void)arg;
	cell = (struct cell){ .where = MOUNT, .loop = 1 };
	ask_outcome = 77;
	parent_class.mount = await_child;
	parent = puppet_spawn(test, &parent_class, 0);
	settle(test);
	expect_alive(test, parent);
	cr_assert(ask_outcome == 0 || ask_outcome == -ESRCH, "%d", ask_outcome);
}

/* What is to stop the child may come too late for it. */
Test(supervision, decides_while_the_parent_waits_in_its_mount)
{
	const struct gyre_test_options options = { .system = &two_loops,
						   .allow_dead_letters = true };

	kit_run(await_child_in_mount, NULL, &options);
}
