/*
 * Asks from threads that are no loop's: answers, every error, order, callbacks, and what the stop
 * of a system leaves of those that wait.
 */
#include <gyre/group.h>
#include <gyre/outside.h>

#include <pthread.h>
#include <sched.h>

#include "actor/parcel_rig.h"
#include "base/atomic.h"
#include "system/drain.h"
#include "system/process.h"
#include "system/system.h"
#include "system/threads.h"

enum { THREADS = 4, EACH = 500, UNDER_WAY_MAX = 256 };

static void open_running(uint32_t loops)
{
	fixture_open(loops);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static int ask_number(struct gyre_address to, uint64_t value, uint64_t timeout_ns,
		      struct gyre_mail **ret_answer)
{
	return gyre_system_ask(fixture.system, to, gyre_system_new(fixture.system, number, value),
			       timeout_ns, ret_answer);
}

/* Asks with a parcel, to see that it is unpacked once whatever becomes of it. */
static int ask_parcel(struct gyre_address to, uint64_t timeout_ns)
{
	return gyre_system_ask(fixture.system, to, parcel_outside(1), timeout_ns, NULL);
}

static void await(const uint32_t *flag, uint32_t value)
{
	while (gy_load_acquire(flag) < value) {
		(void)sched_yield();
	}
}

/* ---- answers ---- */

Test(outside_ask, brings_the_answer_to_the_thread_that_waits_for_it)
{
	open_running(2);
	for (uint32_t loop = 0; loop < 2; loop++) {
		struct gyre_address adder = spawn_outside(&adder_class, loop);

		for (uint64_t i = 0; i < EACH; i++) {
			struct gyre_mail *answer = NULL;

			cr_assert_eq(ask_number(adder, i, 0, &answer), 0);
			cr_assert_eq(gyre_mail_get(answer, number)->value, i + 1);
			cr_assert_null(gyre_mail_get(answer, place));
			gyre_mail_destroy(NULL, answer);
		}
		cr_assert_eq(ask_number(adder, 1, GYRE_FOREVER, NULL), 0);
	}
	fixture_close();
	cr_assert_eq(fixture.letters_count, 0);
	cr_assert_null(gyre_mail_get(NULL, number));
}

static struct gyre_counters counters_now(void)
{
	struct gyre_counters counters = { 0 };

	cr_assert_eq(gyre_system_counters(fixture.system, &counters), 0);
	return counters;
}

static void ask_often(struct gyre_address to, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++) {
		struct gyre_mail *answer = NULL;

		cr_assert_eq(ask_number(to, i, 0, &answer), 0);
		gyre_mail_destroy(NULL, answer);
	}
}

/* The loop leaves its park once for each ask at most: it polls for nothing here, so a second
 * wake-up would show as a second park. */
Test(outside_ask, wakes_the_loop_once)
{
	struct gyre_address adder;
	uint64_t parks;

	fixture_open_with(&(struct gyre_system_options){ .loops = 1, .spin_ns = GYRE_SPIN_NEVER });
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	adder = spawn_outside(&adder_class, 0);
	ask_often(adder, 1);
	parks = counters_now().parks;
	ask_often(adder, EACH);
	cr_assert_leq(counters_now().parks, parks + EACH + 2);
	fixture_close();
}

/* A loop keeps a chain of what it is to give back, and gives it back when it is long or the loop
 * has nothing to do; so how much is under way at most depends on when the loop sleeps. */
Test(outside_ask, allocates_no_more_than_what_can_be_under_way)
{
	struct gyre_address adder;
	uint64_t allocations;

	open_running(1);
	adder = spawn_outside(&adder_class, 0);
	ask_often(adder, 1);
	allocations = counters_now().allocations;
	ask_often(adder, (uint64_t)20 * UNDER_WAY_MAX);
	cr_assert_leq(counters_now().allocations - allocations, UNDER_WAY_MAX);
	fixture_close();
}

static int answer_large(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_large);

	((struct large *)gyre_payload(mail))->values[4999] = gyre_message(stack, number)->value;
	return gyre_reply(stack, mail);
}

static const struct gyre_class large_class = { .name = "large", .behaviour.ask = answer_large };

Test(outside_ask, brings_answers_that_are_too_large_for_a_pool_and_outlive_the_system)
{
	struct gyre_mail *answers[2] = { NULL, NULL };

	open_running(1);
	cr_assert_eq(ask_number(spawn_outside(&large_class, 0), 7, 0, &answers[0]), 0);
	cr_assert_eq(ask_number(spawn_outside(&adder_class, 0), 7, 0, &answers[1]), 0);
	fixture_close();
	cr_assert_eq(gyre_mail_get(answers[0], large)->values[4999], 7);
	cr_assert_eq(gyre_mail_get(answers[1], number)->value, 8);
	gyre_mail_destroy(NULL, answers[0]);
	gyre_mail_destroy(NULL, answers[1]);
}

static int answer_parcel(struct gyre_stack *stack)
{
	return gyre_reply(stack, parcel(stack, *gyre_message(stack, parcel)->goods + 1));
}

static const struct gyre_class packer_class = { .name = "packer", .behaviour.ask = answer_parcel };

Test(outside_ask, gives_away_what_an_answer_owns_once)
{
	struct gyre_mail *answer = NULL;
	struct gyre_address packer;
	struct parcel kept;

	open_running(1);
	packer = spawn_outside(&packer_class, 0);
	cr_assert_eq(gyre_system_ask(fixture.system, packer, parcel_outside(5), 0, &answer), 0);
	cr_assert_eq(gyre_mail_move(answer, parcel, &kept), 0);
	cr_assert_null(gyre_mail_get(answer, parcel));
	cr_assert_eq(gyre_mail_move(answer, parcel, &kept), -ENOENT);
	gyre_mail_destroy(NULL, answer);
	cr_assert_eq(unpack(&kept), 6);
	cr_assert_eq(gyre_system_ask(fixture.system, packer, parcel_outside(5), 0, &answer), 0);
	gyre_mail_destroy(NULL, answer);
	cr_assert_eq(ask_parcel(packer, 0), 0);
	fixture_close();
	assert_all_unpacked();
}

/* ---- errors ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static int stop_self(struct gyre_stack *stack)
{
	struct mute_frame {
		struct gyre_future never;
	} *frame = (struct mute_frame *)gyre_frame(stack);

	expect(gyre_sleep(stack, GYRE_FOREVER, &frame->never) == 0);
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class failing_class = { .name = "failing", .behaviour.ask = fail };
static const struct gyre_class deaf_class = { .name = "deaf" };
static const struct gyre_class leaving_class = { .name = "leaving",
						 .frame_bytes = sizeof(struct gyre_future),
						 .behaviour.ask = stop_self };

Test(outside_ask, fails_as_any_ask_does_and_destroys_the_question_once)
{
	struct gyre_address nobody = { .slot = 77, .cookie = 5 };
	struct gyre_mail *untouched = (struct gyre_mail *)(void *)&nobody;

	open_running(1);
	cr_assert_eq(ask_parcel(nobody, 0), -ESRCH);
	cr_assert_eq(ask_parcel(spawn_outside(&sink_class, 0), 0), -ENOMSG);
	cr_assert_eq(ask_parcel(spawn_outside(&failing_class, 0), 0), -EIO);
	cr_assert_eq(ask_parcel(spawn_outside(&deaf_class, 0), 0), -ENOSYS);
	cr_assert_eq(ask_parcel(spawn_outside(&leaving_class, 0), 0), -ESHUTDOWN);
	cr_assert_eq(ask_parcel(spawn_outside(&mute_class, 0), GYRE_MILLISECONDS(1)), -ETIMEDOUT);
	cr_assert_eq(ask_number(nobody, 1, 0, &untouched), -ESRCH);
	cr_assert_eq((void *)untouched, (void *)&nobody);
	fixture_close();
	assert_all_unpacked();
}

static uint32_t mutes_full;

static void hear_of_mute(struct gyre_mail *answer, int error, void *arg)
{
	(void)arg;
	expect(answer == NULL);
	expect(error == -ESHUTDOWN);
	(void)gy_fetch_add(&mutes_full, 1);
}

static bool all_are(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

Test(outside_ask, is_refused_by_a_full_mailbox)
{
	static const struct gyre_class narrow_class = {
		.name = "narrow",
		.frame_bytes = 128,
		.mailbox_limit = 1,
		.barrier = all_are,
		.behaviour.ask = stop_self,
	};
	struct gyre_class narrow = narrow_class;
	struct gyre_address to;

	narrow.behaviour = mute_class.behaviour;
	open_running(1);
	to = spawn_outside(&narrow, 0);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, to, parcel_outside(1), GYRE_FOREVER,
					      hear_of_mute, NULL),
		     0);
	await(&mute_waiting, 1);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, to, parcel_outside(1), GYRE_FOREVER,
					      hear_of_mute, NULL),
		     0);
	cr_assert_eq(ask_parcel(to, 0), -ENOBUFS);
	fixture_close();
	cr_assert_eq(mutes_full, 2);
	assert_all_unpacked();
}

static int ask_from_handler(struct gyre_stack *stack)
{
	struct gyre_mail *answer = NULL;

	expect(gyre_system_ask(gyre_system_of(stack), gyre_self(stack), parcel_outside(1), 0,
			       &answer) == -EDEADLK);
	expect(answer == NULL);
	return fixture_end(stack);
}

Test(outside_ask, is_refused_on_the_thread_of_a_loop)
{
	play(1, ask_from_handler);
	assert_all_unpacked();
}

Test(outside_ask, is_refused_on_the_thread_of_a_loop_that_nobody_watches)
{
	const struct gyre_system_options options = { .loops = 1, .stall_ns = GYRE_STALL_NEVER };

	play_with(&options, ask_from_handler);
	assert_all_unpacked();
}

static void never_called(struct gyre_mail *answer, int error, void *arg)
{
	(void)answer;
	(void)error;
	(void)arg;
	fixture_failed("a callback of an ask that was refused");
}

Test(outside_ask, refuses_misuse_and_the_mail_is_not_lost)
{
	struct gyre_address nowhere = { .loop = 1, .cookie = 5 };
	struct gyre_address far = { .node = 1, .cookie = 5 };
	struct gyre_address here = { .cookie = 5 };

	fixture_open(1);
	cr_assert_eq(ask_parcel(nowhere, 0), -EINVAL);
	cr_assert_eq(ask_parcel(far, 0), -EINVAL);
	cr_assert_eq(gyre_system_ask(NULL, here, parcel_outside(1), 0, NULL), -EINVAL);
	cr_assert_eq(gyre_system_ask(fixture.system, here, NULL, 0, NULL), -ENOMEM);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, nowhere, parcel_outside(1), 0,
					      never_called, NULL),
		     -EINVAL);
	cr_assert_eq(
		gyre_system_ask_callback(fixture.system, here, parcel_outside(1), 0, NULL, NULL),
		-EINVAL);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, here, NULL, 0, never_called, NULL),
		     -ENOMEM);
	fixture_close();
	cr_assert_eq(fixture.counters.sent, 0);
	assert_all_unpacked();
}

static int stop_sender(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_sender(stack));
}

static const struct gyre_class rude_class = { .name = "rude", .behaviour.ask = stop_sender };

Test(outside_ask, goes_on_when_somebody_has_stopped_the_actor_that_carries_it)
{
	struct gyre_address packer;
	struct gyre_address rude;

	open_running(1);
	packer = spawn_outside(&packer_class, 0);
	rude = spawn_outside(&rude_class, 0);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_lt(ask_parcel(rude, 0), 0);
		(void)ask_parcel(packer, 0);
		cr_assert_eq(ask_parcel(packer, 0), 0);
	}
	fixture_close();
	assert_all_unpacked();
}

/* ---- time-outs ---- */

Test(outside_ask, times_out_also_when_no_loop_turns_and_is_then_not_asked_any_more)
{
	struct gyre_address to;

	fixture_open(1);
	to = spawn_outside(&packer_class, 0);
	cr_assert_eq(ask_parcel(to, GYRE_MILLISECONDS(1)), -ETIMEDOUT);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	cr_assert_eq(ask_parcel(to, 0), 0);
	fixture_close();
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_EXPIRED], 1);
	assert_all_unpacked();
}

static uint32_t gave_up;

/* Keeps its loop until the asker has gone. */
static int answer_too_late(struct gyre_stack *stack)
{
	await(&gave_up, 1);
	return answer_parcel(stack);
}

static const struct gyre_class late_class = { .name = "late", .behaviour.ask = answer_too_late };

Test(outside_ask, drops_and_counts_an_answer_that_comes_after_the_time_out)
{
	struct gyre_address to;

	open_running(1);
	to = spawn_outside(&late_class, 0);
	cr_assert_eq(ask_parcel(to, GYRE_MILLISECONDS(2)), -ETIMEDOUT);
	gy_store_release(&gave_up, 1);
	cr_assert_eq(ask_parcel(to, 0), 0);
	fixture_close();
	cr_assert_geq(fixture.counters.dropped[GYRE_DROP_LATE] +
			      fixture.counters.dropped[GYRE_DROP_EXPIRED],
		      1);
	assert_all_unpacked();
}

/* ---- callbacks and order ---- */

static uint64_t next_ask[THREADS];
static uint64_t next_notice[THREADS];
static uint64_t next_answer[THREADS];
static uint32_t answers;
static struct gyre_address ordered;

static int take_notice(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	expect(next_notice[value >> 32] == (value & UINT32_MAX));
	next_notice[value >> 32]++;
	return gyre_return(stack);
}

static int take_ask(struct gyre_stack *stack)
{
	uint64_t value = gyre_message(stack, number)->value;

	expect(!gyre_address_is_nobody(gyre_sender(stack)));
	expect(next_ask[value >> 32] == (value & UINT32_MAX));
	next_ask[value >> 32]++;
	return gyre_reply(stack, gyre_new(stack, number, value));
}

static const struct gyre_class ordered_class = {
	.name = "ordered",
	.behaviour = { .notice = take_notice, .ask = take_ask },
};

static void hear_in_order(struct gyre_mail *answer, int error, void *arg)
{
	uint64_t value = gyre_mail_get(answer, number)->value;

	expect(error == 0);
	expect(arg == &next_answer[value >> 32]);
	expect(gy_current_worker() != NULL);
	expect(next_answer[value >> 32] == (value & UINT32_MAX));
	next_answer[value >> 32]++;
	(void)gy_fetch_add(&answers, 1);
}

static void *send_each(void *arg)
{
	uint64_t thread = *(const uint64_t *)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		expect(notify_outside(ordered, thread << 32 | i) == 0);
		expect(gyre_system_ask_callback(
			       fixture.system, ordered,
			       gyre_system_new(fixture.system, number, thread << 32 | i), 0,
			       hear_in_order, &next_answer[thread]) == 0);
	}
	return NULL;
}

Test(outside_ask, keeps_the_order_of_each_thread_and_calls_back_once_for_each)
{
	uint64_t numbers[THREADS];
	pthread_t threads[THREADS];

	open_running(2);
	ordered = spawn_outside(&ordered_class, 1);
	for (uint64_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		cr_assert_eq(pthread_create(&threads[i], NULL, send_each, &numbers[i]), 0);
	}
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	await(&answers, THREADS * EACH);
	fixture_close();
	cr_assert_eq(answers, THREADS * EACH);
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(next_notice[i], EACH);
		cr_assert_eq(next_answer[i], EACH);
	}
}

static uint64_t kept_number;

static void keep_parcel(struct gyre_mail *answer, int error, void *arg)
{
	struct parcel kept;

	expect(error == 0);
	expect(gyre_mail_move(answer, parcel, &kept) == 0);
	kept_number = unpack(&kept);
	gy_store_release((uint32_t *)arg, 1);
}

static void hear_error(struct gyre_mail *answer, int error, void *arg)
{
	expect(answer == NULL);
	gy_store_release((uint32_t *)arg, (uint32_t)-error);
}

static uint32_t error_of(struct gyre_address to, uint64_t timeout_ns)
{
	uint32_t error = 0;

	cr_assert_eq(gyre_system_ask_callback(fixture.system, to, parcel_outside(1), timeout_ns,
					      hear_error, &error),
		     0);
	await(&error, 1);
	return error;
}

Test(outside_ask, calls_back_with_an_answer_that_may_be_moved_and_with_every_error)
{
	struct gyre_address nobody = { .slot = 77, .cookie = 5 };
	uint32_t called = 0;

	open_running(1);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, spawn_outside(&packer_class, 0),
					      parcel_outside(3), 0, keep_parcel, &called),
		     0);
	await(&called, 1);
	cr_assert_eq(kept_number, 4);
	cr_assert_eq(error_of(nobody, 0), ESRCH);
	cr_assert_eq(error_of(spawn_outside(&failing_class, 0), 0), EIO);
	cr_assert_eq(error_of(spawn_outside(&mute_class, 0), GYRE_MILLISECONDS(1)), ETIMEDOUT);
	fixture_close();
	assert_all_unpacked();
}

/* ---- groups ---- */

static uint64_t key_of(const struct gyre_type *type, const void *message)
{
	(void)type;
	return ((const struct number *)message)->value;
}

static void expect_group(enum gyre_routing routing, int error)
{
	const struct gyre_group_options options = { .count = 3, .routing = routing, .key = key_of };
	struct gyre_address group;
	uint32_t called = 0;

	cr_assert_eq(gyre_system_group_spawn(fixture.system, &packer_class, GYRE_NO_ARGUMENT,
					     &options, &group),
		     0);
	for (uint32_t i = 0; i < 10; i++) {
		cr_assert_eq(ask_parcel(group, 0), error);
	}
	if (error < 0) {
		cr_assert_eq((int)error_of(group, 0), -error);
		return;
	}
	cr_assert_eq(gyre_system_ask_callback(fixture.system, group, parcel_outside(3), 0,
					      keep_parcel, &called),
		     0);
	await(&called, 1);
	cr_assert_eq(kept_number, 4);
}

Test(outside_ask, of_a_group_is_answered_by_one_of_its_members_whatever_the_routing)
{
	open_running(2);
	expect_group(GYRE_ROUTING_ROUND_ROBIN, 0);
	expect_group(GYRE_ROUTING_NEAR, 0);
	expect_group(GYRE_ROUTING_RANDOM, 0);
	expect_group(GYRE_ROUTING_BY_KEY, 0);
	expect_group(GYRE_ROUTING_LESS_LOADED, 0);
	fixture_close();
	assert_all_unpacked();
}

Test(outside_ask, of_a_group_fails_where_it_sends_to_all_or_has_no_members)
{
	struct gyre_address group;

	open_running(2);
	expect_group(GYRE_ROUTING_ALL, -EINVAL);
	cr_assert_eq(gyre_system_group_create(fixture.system, NULL, &group), 0);
	cr_assert_eq(ask_parcel(group, 0), -ESRCH);
	cr_assert_eq(error_of(group, 0), ESRCH);
	group.slot = UINT32_MAX;
	cr_assert_eq(ask_parcel(group, 0), -ESRCH);
	fixture_close();
	assert_all_unpacked();
}

/* ---- the stop ---- */

static uint32_t shut_out;

static void *ask_mute(void *arg)
{
	if (ask_parcel(*(const struct gyre_address *)arg, GYRE_FOREVER) == -ESHUTDOWN) {
		(void)gy_fetch_add(&shut_out, 1);
	}
	return NULL;
}

Test(outside_ask, ends_with_the_system_for_all_that_wait_and_for_those_that_come_later)
{
	struct gyre_address mutes[2];
	pthread_t threads[THREADS];

	open_running(2);
	mutes[0] = spawn_outside(&mute_class, 0);
	mutes[1] = spawn_outside(&mute_class, 1);
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, ask_mute, &mutes[i % 2]), 0);
		cr_assert_eq(gyre_system_ask_callback(fixture.system, mutes[i % 2],
						      parcel_outside(1), GYRE_FOREVER, hear_of_mute,
						      NULL),
			     0);
	}
	await(&mute_waiting, 2 * THREADS);
	gyre_system_stop(fixture.system);
	cr_assert_eq(ask_parcel(mutes[0], GYRE_FOREVER), -ESHUTDOWN);
	/* Before anybody waits for the system. */
	for (uint64_t i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	cr_assert_eq(shut_out, THREADS);
	cr_assert_eq(mutes_full, THREADS);
	cr_assert_eq(ask_parcel(mutes[1], GYRE_FOREVER), -ESHUTDOWN);
	cr_assert_eq(gyre_system_ask_callback(fixture.system, mutes[1], parcel_outside(1), 0,
					      never_called, NULL),
		     -ESHUTDOWN);
	fixture_close();
	cr_assert_geq(fixture.lost[GYRE_DROP_SHUTDOWN], 3);
	assert_all_unpacked();
}

Test(outside_ask, of_a_system_that_never_runs_ends_with_it)
{
	struct gyre_address to;

	fixture_open(2);
	to = spawn_outside(&mute_class, 1);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(gyre_system_ask_callback(fixture.system, to, parcel_outside(i),
						      GYRE_FOREVER, hear_of_mute, NULL),
			     0);
	}
	fixture_close();
	cr_assert_eq(mutes_full, 3);
	assert_all_unpacked();
}

/* As a thread that looked at the system just before its end. */
Test(outside_ask, that_falls_behind_the_loops_is_a_dead_letter_with_the_type_of_the_question)
{
	struct gyre_address to;

	open_running(1);
	to = spawn_outside(&mute_class, 0);
	gyre_system_stop(fixture.system);
	while (gy_load_acquire(&fixture.system->stage) != GY_STAGE_END) {
	}
	cr_assert_eq(pthread_join(fixture.system->workers[0].thread, NULL), 0);
	fixture.system->workers[0].started = false;
	fixture.system->stage = GY_STAGE_RUNNING;
	fixture.system->stop = 0;
	cr_assert_eq(gyre_system_ask_callback(fixture.system, to, parcel_outside(1), GYRE_FOREVER,
					      hear_of_mute, NULL),
		     0);
	fixture.system->stop = 1;
	fixture.system->stage = GY_STAGE_END;
	fixture_close();
	cr_assert_eq(mutes_full, 1);
	cr_assert_eq(fixture.letters_count, 1);
	cr_assert_eq(fixture.letters[0].type, GYRE_ID(parcel));
	cr_assert(gyre_address_equal(fixture.letters[0].to, to));
	assert_all_unpacked();
}

/* ---- the order of what a key leads to one member ---- */

static uint32_t in_the_way;
static uint32_t may_go;
static uint64_t order[4];
static uint32_t order_count;
static uint32_t heard;

static int stand_in_the_way(struct gyre_stack *stack)
{
	gy_store_release(&in_the_way, 1);
	await(&may_go, 1);
	return gyre_return(stack);
}

static int take_turn(struct gyre_stack *stack)
{
	order[order_count++] = gyre_message(stack, number)->value;
	return gyre_reply(stack, gyre_new(stack, number, 0));
}

static int join(struct gyre_stack *stack)
{
	expect(gyre_group_join(stack, ordered) == 0);
	(void)gy_fetch_add(&in_the_way, 1);
	return gyre_return(stack);
}

static uint64_t same_key(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return 7;
}

static const struct gyre_class standing_class = { .name = "standing",
						  .behaviour.notice = stand_in_the_way };
static const struct gyre_class turning_class = { .name = "turning",
						 .mount = join,
						 .behaviour.ask = take_turn };
static const struct gyre_class plain_class = { .name = "plain", .behaviour.ask = take_turn };

static void hear_turn(struct gyre_mail *answer, int error, void *arg)
{
	(void)answer;
	(void)arg;
	expect(error == 0);
	(void)gy_fetch_add(&heard, 1);
}

static void ask_group(uint64_t value)
{
	cr_assert_eq(gyre_system_ask_callback(fixture.system, ordered,
					      gyre_system_new(fixture.system, number, value),
					      GYRE_FOREVER, hear_turn, NULL),
		     0);
}

/* One loop does nothing meanwhile, which is none of theirs. */
Test(outside_ask, keeps_the_order_of_what_a_key_leads_to_one_member)
{
	const struct gyre_group_options options = { .routing = GYRE_ROUTING_BY_KEY,
						    .key = same_key };
	struct gyre_address other;

	open_running(2);
	cr_assert_eq(gyre_system_group_create(fixture.system, &options, &ordered), 0);
	for (uint32_t i = 0; i < 2; i++) {
		(void)spawn_outside(&turning_class, 1);
	}
	await(&in_the_way, 2);
	other = spawn_outside(&plain_class, 1);
	gy_store_release(&in_the_way, 0);
	cr_assert_eq(notify_outside(spawn_outside(&standing_class, 0), 0), 0);
	await(&in_the_way, 1);
	ask_group(1);
	ask_group(2);
	/* What one of them has had to do is done by then. */
	cr_assert_eq(ask_number(other, 3, GYRE_FOREVER, NULL), 0);
	gy_store_release(&may_go, 1);
	await(&heard, 2);
	fixture_close();
	cr_expect_eq(order[0], 1, "%lu came first", order[0]);
	cr_expect_eq(order[1], 2);
}
