/*
 * Supervision: every scope and decision, for a failure at each place where an actor may fail, with
 * the children beside their parent and on another loop. Each cell is a life of its own in a model:
 * a parent with three children, of which the middle one fails.
 */
#include "actor/model.h"

#include <stdio.h>
#include <string.h>

#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/steal_actor.h"

enum where { MOUNT, NOTICE, AFTER_WAIT, ASK, EVENT, TIMER, HOOK, GRANDCHILD, STOPPING, STOLEN };
enum { BEFORE, FAILING, AFTER, CHILDREN, SCOPES = 3, DECISIONS = 4, TEXT_BYTES = 96 };

static const char *const scope_names[SCOPES] = { "one for one", "all for one", "rest for one" };
static const char *const decision_names[DECISIONS] = { "restart", "ignore", "stop", "escalate" };

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

/* ---- the children ---- */

static struct child *child_of(struct gyre_stack *stack)
{
	return &children[((struct state *)gyre_state(stack))->index];
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static int fail_after_wait(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &puppet_frame(stack)->future));
	return gyre_throw(stack, -EIO);
	GYRE_END(stack);
}

static int stop_and_fail(struct gyre_stack *stack)
{
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
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
	return cell.where == MOUNT && state->index == FAILING ? fail(stack) : gyre_return(stack);
}

static int restart_child(struct gyre_stack *stack)
{
	struct child *child = child_of(stack);

	if (cell.where == HOOK && child == &children[FAILING] && child->restarts == 0) {
		child->restarts++;
		return fail(stack);
	}
	child->restarts++;
	return gyre_return(stack);
}

static struct gyre_class child_class = {
	.name = "child",
	.state_bytes = sizeof(struct state),
	.frame_bytes = sizeof(struct puppet_frame),
	.mount = mount_child,
	.behaviour = { .notice = puppet_run, .ask = fail, .event = fail },
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
		expect(spawn_child(stack, i) == 0);
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
		expect(gyre_watch(stack, children[i].address) == 0);
	}
	return gyre_return(stack);
}

static int ask_child(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, children[FAILING].address, gyre_new(stack, number, 1), 0,
				   &puppet_frame(stack)->future));
	ask_outcome = gyre_future_error(&puppet_frame(stack)->future);
	GYRE_END(stack);
}

/* ---- a cell ---- */

/* The notice is handled by the other loop. */
static void call_stolen(struct gyre_address actor, gyre_handler_fn function)
{
	struct gy_house *house = model_house(actor);
	struct gy_home *home = house->home;
	struct gy_home *thief = &model.home[1 - actor.loop];

	model_call(actor, function);
	cr_assert_eq(gy_queue_pop(&home->loop.state), &house->job);
	cr_assert(gy_house_seal(&home->loop, &house->job));
	gy_house_run_stolen(&thief->loop, &house->job);
}

static void cause_failure(void)
{
	struct gyre_address failing = children[FAILING].address;

	switch (cell.where) {
	case MOUNT:
		break;
	case NOTICE:
	case HOOK:
		model_call(failing, fail);
		break;
	case AFTER_WAIT:
		model_call(failing, fail_after_wait);
		break;
	case ASK:
		model_call(watcher, ask_child);
		break;
	case EVENT:
		model_call(failing, watch_stopped);
		break;
	case TIMER:
		model_call(failing, start_timer);
		break;
	case GRANDCHILD:
		model_call(failing, spawn_grandchild);
		model_settle();
		model_call(grandchild, fail);
		break;
	case STOPPING:
		model_call(failing, stop_and_fail);
		break;
	case STOLEN:
		call_stolen(failing, fail);
		break;
	}
	model_settle();
	model_advance(GYRE_MILLISECONDS(2));
}

static void open_cell(void)
{
	(void)snprintf(cell.text, sizeof(cell.text), "%s, %s, children on loop %u",
		       scope_names[cell.scope], decision_names[cell.decision], cell.loop);
	memset(children, 0, sizeof(children));
	ask_outcome = 0;
	handled = 0;
	parent_class.supervision.scope = cell.scope;
	parent_class.supervision.decision = cell.decision;
	model_open(2);
	stopped = model_spawn(&puppet_class, 1);
	cr_assert_not_null(model_house(stopped));
	gy_house_request_stop(model_house(stopped), 0);
	watcher = model_spawn(&watcher_class, 1);
	parent = model_spawn(&parent_class, 0);
	model_call(parent, spawn_children);
	model_turn_one(0);
	model_call(watcher, watch_children);
	model_settle();
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

static void check_cell(void)
{
	bool parent_ends = is_supervised() && cell.decision == GYRE_DECISION_ESCALATE;

	cr_assert_eq(model_house(parent) == NULL, parent_ends, "%s", cell.text);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		const struct child *child = &children[i];
		bool ended = model_house(child->address) == NULL;

		cr_assert_eq(ended, must_end(i), "child %u: %s", i, cell.text);
		cr_assert_eq(child->told, ended, "child %u: %s", i, cell.text);
		cr_assert(restarts_are_right(i), "child %u has restarted %u times: %s", i,
			  child->restarts, cell.text);
		cr_assert(!ended || cell.where == MOUNT || child->reason == must_reason(i),
			  "child %u has ended with %d: %s", i, child->reason, cell.text);
	}
	cr_assert_eq(ask_outcome, cell.where == ASK ? -EIO : 0);
	if (!must_end(FAILING)) {
		model_call(children[FAILING].address, count_handled);
		model_settle();
		cr_assert_eq(handled, 1, "it does not go on: %s", cell.text);
	}
	cr_assert_eq(model.shut_down, 0);
}

static void play_all(enum where where)
{
	for (uint32_t i = 0; i < SCOPES * DECISIONS * 2; i++) {
		cell = (struct cell){ .where = where,
				      .scope = (enum gyre_scope)(i % SCOPES),
				      .decision = (enum gyre_decision)(i / SCOPES % DECISIONS),
				      .loop = i / (SCOPES * DECISIONS) };
		open_cell();
		cause_failure();
		check_cell();
		model_close();
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

static void open_deciding(enum gyre_decision decision)
{
	to_decide = decision;
	cell = (struct cell){ .where = NOTICE };
	open_cell();
	deciding_class = parent_class;
	deciding_class.state_bytes = sizeof(uint32_t);
	deciding_class.supervision = (struct gyre_supervision){ .decide = decide };
	memset(children, 0, sizeof(children));
	parent = model_spawn(&deciding_class, 0);
	model_call(parent, spawn_children);
	model_settle();
}

Test(supervision, by_a_hook_sees_who_has_failed_and_why)
{
	open_deciding(GYRE_DECISION_IGNORE);
	model_call(children[AFTER].address, fail);
	model_settle();
	cr_assert(gyre_address_equal(seen.child, children[AFTER].address));
	cr_assert_str_eq(seen_class, "child");
	cr_assert_str_eq(seen_path, "/user/parent-4/child-3");
	cr_assert_eq(seen.error, -EIO);
	cr_assert_not(seen.ends);
	cr_assert_eq(*(uint32_t *)model_house(parent)->state, 1);
	cr_assert_eq(children[AFTER].restarts, 0);
	model_close();
}

Test(supervision, by_a_hook_that_returns_no_decision_escalates)
{
	open_deciding((enum gyre_decision)77);
	model_call(children[AFTER].address, fail);
	model_settle();
	cr_assert_null(model_house(parent));
	model_close();
}

/* ---- limits ---- */

static void open_limited(const struct gyre_supervision *supervision)
{
	cell = (struct cell){ .where = NOTICE };
	parent_class.supervision = *supervision;
	open_cell();
	parent_class.supervision = *supervision;
}

static void fail_child(uint32_t i)
{
	model_call(children[i].address, fail);
	model_settle();
}

Test(supervision, counts_the_restarts_of_all_children_together_in_a_window_that_slides)
{
	open_limited(
		&(struct gyre_supervision){ .restarts_max = 2, .window_ns = GYRE_SECONDS(10) });
	fail_child(BEFORE);
	model_advance(GYRE_SECONDS(6));
	fail_child(AFTER);
	model_advance(GYRE_SECONDS(4) + 1); /* the first counts no more */
	fail_child(FAILING);
	cr_assert_eq(children[FAILING].restarts, 1);
	cr_assert_not_null(model_house(parent));
	model_advance(GYRE_SECONDS(5)); /* the second does */
	fail_child(FAILING);
	cr_assert_null(model_house(parent));
	cr_assert_eq(children[BEFORE].told, 1);
	cr_assert_eq(children[FAILING].restarts, 1);
	model_close();
}

static uint32_t parent_restarts;

static int count_restart_of_parent(struct gyre_stack *stack)
{
	parent_restarts++;
	return parent_class.keep_children ? gyre_return(stack) : spawn_children(stack);
}

static void fail_three_times(bool keep_children)
{
	struct gyre_class before = parent_class;

	parent_class.strategy = GYRE_STRATEGY_RESTART;
	parent_class.restart = count_restart_of_parent;
	parent_class.keep_children = keep_children;
	parent_restarts = 0;
	memset(children, 0, sizeof(children));
	open_limited(&(struct gyre_supervision){ .restarts_max = 1 });
	fail_child(BEFORE);
	fail_child(FAILING); /* the parent restarts */
	fail_child(AFTER);
	model_close();
	parent_class = before;
}

Test(supervision, counts_from_the_beginning_after_the_parent_has_restarted_with_new_children)
{
	fail_three_times(false);
	cr_assert_eq(parent_restarts, 1);
	cr_assert_eq(children[BEFORE].restarts, 1);
	cr_assert_eq(children[AFTER].restarts, 1);
}

Test(supervision, goes_on_counting_when_the_parent_has_restarted_and_kept_its_children)
{
	fail_three_times(true);
	cr_assert_eq(parent_restarts, 2);
	cr_assert_eq(children[BEFORE].restarts, 1);
	cr_assert_eq(children[AFTER].restarts, 0);
}

Test(supervision, delays_restarts_twice_as_long_each_time)
{
	open_limited(&(struct gyre_supervision){ .scope = GYRE_ALL_FOR_ONE,
						 .delay_ns = GYRE_MILLISECONDS(10) });
	for (uint32_t i = 0; i < 3; i++) {
		fail_child(FAILING);
		model_advance((GYRE_MILLISECONDS(10) << i) - GYRE_MILLISECONDS(1));
		cr_assert_eq(children[BEFORE].restarts, i);
		model_advance(GYRE_MILLISECONDS(1));
		cr_assert_eq(children[BEFORE].restarts, i + 1);
		cr_assert_eq(children[FAILING].restarts, i + 1);
	}
	model_close();
}

/* ---- the root ---- */

Test(supervision, ends_at_the_root_which_stops_the_system_with_the_error)
{
	model_open(1);
	(void)model_spawn(&grandchild_class, 0);
	grandchild = model_spawn(&grandchild_class, 0);
	model_call(grandchild, fail);
	model_settle();
	cr_assert_eq(model.shut_down, 1);
	cr_assert_eq(model.shut_down_error, -EIO);
	cr_assert_eq(model.errors, 1);
	cr_assert_str_eq(model.line,
			 "actor grandchild /user/grandchild-2: no parent has settled its "
			 "failure: Input/output error; the system stops");
	model.errors = 0;
	model_close();
}

Test(supervision, that_escalates_to_the_root_names_the_actor_where_it_began)
{
	cell = (struct cell){ .where = NOTICE, .decision = GYRE_DECISION_ESCALATE };
	parent_class.strategy = GYRE_STRATEGY_ESCALATE;
	open_cell();
	fail_child(AFTER);
	cr_assert_eq(model.shut_down_error, -EIO);
	cr_assert_not_null(strstr(model.line, "actor child /user/parent-3/child-3: no parent"),
			   "%s", model.line);
	cr_assert_null(model_house(parent));
	model.errors = 0;
	model_close();
}

/* ---- no supervision ---- */

Test(failure, of_an_actor_that_stops_does_not_shut_the_system_down)
{
	static const struct gyre_class class = {
		.name = "essential",
		.frame_bytes = sizeof(struct puppet_frame),
		.behaviour.notice = puppet_run,
		.strategy = GYRE_STRATEGY_SHUT_DOWN,
	};
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&class, 0);
	model_call(actor, stop_and_fail);
	model_settle();
	cr_assert_null(model_house(actor));
	cr_assert_eq(model.shut_down, 0);
	model_close();
}

/* ---- children of one that restarts ---- */

static int fail_and_count(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static uint32_t alive_at_restart;

static int count_alive(struct gyre_stack *stack)
{
	(void)stack;
	alive_at_restart = 0;
	for (uint32_t i = 0; i < CHILDREN; i++) {
		alive_at_restart += model_house(children[i].address) != NULL;
	}
	return 0;
}

static void restart_parent(bool keeps, uint32_t loop)
{
	cell = (struct cell){ .where = NOTICE, .loop = loop };
	parent_class.strategy = GYRE_STRATEGY_RESTART;
	parent_class.restart = count_alive;
	parent_class.keep_children = keeps;
	open_cell();
	model_call(parent, fail_and_count);
	model_settle();
	cr_assert_not_null(model_house(parent));
}

Test(restart, stops_the_children_before_its_hooks_run)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		restart_parent(false, loop);
		cr_assert_eq(alive_at_restart, 0);
		cr_assert_eq(children[BEFORE].told, 1);
		cr_assert_eq(children[BEFORE].reason, 0);
		model_call(parent, spawn_children);
		model_settle();
		cr_assert_not_null(model_house(children[AFTER].address));
		model_call(parent, fail_and_count);
		model_settle();
		cr_assert_eq(alive_at_restart, 0);
		model_close();
	}
}

Test(restart, leaves_the_children_alone_if_the_class_keeps_them)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		restart_parent(true, loop);
		cr_assert_eq(alive_at_restart, CHILDREN);
		cr_assert_eq(children[BEFORE].told, 0);
		model_close();
	}
}

static int wait_in_vain(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_FOREVER, &puppet_frame(stack)->future));
	GYRE_END(stack);
}

Test(restart, that_waits_for_children_ends_when_the_actor_is_stopped)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		cell = (struct cell){ .where = NOTICE, .loop = loop };
		parent_class.strategy = GYRE_STRATEGY_RESTART;
		parent_class.restart = count_alive;
		open_cell();
		alive_at_restart = 77;
		model_call(children[AFTER].address, wait_in_vain);
		model_settle();
		model_call(parent, fail_and_count);
		model_turn_one(0); /* the order is on its way */
		gy_house_request_stop(model_house(parent), 0);
		model_settle();
		cr_assert_null(model_house(parent));
		cr_assert_eq(children[AFTER].told, 1);
		model_close();
	}
}

/* As a group does that makes a member by its parent, see system/directory/group_loops.c. */
static int spawn_late(uint32_t loop)
{
	struct gy_house *house = model_house(parent);
	const struct gy_spawn_order order = { .class = &grandchild_class,
					      .parent = house,
					      .child_of = house->self };
	struct gyre_address address;

	return gy_spawn(house->home, &order, (uint16_t)loop, &address);
}

Test(restart, that_waits_for_children_lets_no_other_child_be_made)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		cell = (struct cell){ .where = NOTICE, .loop = 1 };
		parent_class.strategy = GYRE_STRATEGY_RESTART;
		parent_class.restart = count_alive;
		open_cell();
		alive_at_restart = 77;
		model_call(parent, fail_and_count);
		model_turn_one(0); /* the order is on its way */
		cr_assert_eq(alive_at_restart, 77);
		cr_assert_eq(spawn_late(loop), -ESHUTDOWN);
		model_settle();
		cr_assert_eq(alive_at_restart, 0);
		cr_assert_eq(spawn_late(loop), 0);
		model_close();
	}
}

Test(supervision, of_one_that_is_stopped_meanwhile_is_void)
{
	for (uint32_t loop = 0; loop < 2; loop++) {
		cell = (struct cell){ .where = NOTICE, .scope = GYRE_ALL_FOR_ONE, .loop = loop };
		open_cell();
		model_call(children[AFTER].address, fail);
		model_turn_one(loop);
		gy_house_request_stop(model_house(parent), 0);
		model_settle();
		cr_assert_null(model_house(parent));
		for (uint32_t i = 0; i < CHILDREN; i++) {
			cr_assert_null(model_house(children[i].address));
			cr_assert_eq(children[i].told, 1);
		}
		model_close();
	}
}

/* The parent awaits a child in its mount, and the child fails: nobody waits for ever. */
static int await_child(struct gyre_stack *stack)
{
	struct puppet_frame *frame = puppet_frame(stack);

	GYRE_BEGIN(stack);
	expect(spawn_child(stack, FAILING) == 0);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, children[FAILING].address, GYRE_FOREVER,
					       &frame->future));
	ask_outcome = gyre_future_error(&frame->future);
	GYRE_END(stack);
}

Test(supervision, decides_while_the_parent_waits_in_its_mount)
{
	cell = (struct cell){ .where = MOUNT, .loop = 1 };
	model_open(2);
	ask_outcome = 77;
	parent_class.mount = await_child;
	parent = model_spawn(&parent_class, 0);
	cr_assert_not_null(model_house(parent));
	cr_assert(ask_outcome == 0 || ask_outcome == -ESRCH, "%d", ask_outcome);
	model_close();
}
