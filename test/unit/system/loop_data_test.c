/* The program's data of each loop: who makes it, who reads it, who frees it, and when. */
#include "resize_rig.h"

#include <pthread.h>

#include <gyre/loop_data.h>

struct data {
	uint32_t loop;
	pthread_t thread;
};

static struct data records[LOOPS_MAX];
static uint32_t made;
static uint32_t freed;
static uint32_t failing = UINT32_MAX;
static uint32_t seen;

static int make(struct gyre_system *system, uint32_t loop, void *arg, void **ret_data)
{
	expect(arg == &made && gyre_system_user(system) == &freed);
	if (loop == failing) {
		return -EIO;
	}
	records[loop] = (struct data){ .loop = loop, .thread = pthread_self() };
	*ret_data = &records[loop];
	(void)gy_fetch_add(&made, 1);
	return 0;
}

static void release(struct gyre_system *system, uint32_t loop, void *data, void *arg)
{
	expect(arg == &made && gyre_system_user(system) == &freed);
	expect(data == &records[loop]);
	expect(pthread_equal(records[loop].thread, pthread_self()) != 0);
	(void)gy_fetch_add(&freed, 1);
}

static struct gyre_system_options options_of(uint32_t loops)
{
	return (struct gyre_system_options){
		.loops = loops,
		.loops_max = LOOPS_MAX,
		.loop_init = make,
		.loop_fini = release,
		.loop_arg = &made,
		.user = &freed,
	};
}

static int look(struct gyre_stack *stack)
{
	const struct data *data = (const struct data *)gyre_loop_data(stack);

	expect(data == &records[gyre_self(stack).loop]);
	expect(pthread_equal(data->thread, pthread_self()) != 0);
	(void)gy_fetch_add(&seen, 1);
	return gyre_return(stack);
}

static const struct gyre_class looking_class = { .name = "looking", .mount = look };

static int look_on_each(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < LOOPS_MAX; i++) {
		(void)spawn_on(stack, &looking_class, i);
	}
	while (gy_load_acquire(&seen) < LOOPS_MAX) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, future));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(loop_data, is_made_for_each_loop_and_freed_on_its_thread)
{
	const struct gyre_system_options options = options_of(LOOPS_MAX);

	play_with(&options, look_on_each);
	cr_expect_eq(made, LOOPS_MAX);
	cr_expect_eq(freed, LOOPS_MAX);
}

Test(loop_data, that_cannot_be_made_fails_the_start_and_is_freed_elsewhere)
{
	const struct gyre_system_options options = options_of(3);
	struct gyre_system *system = NULL;

	failing = 1;
	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_expect_eq(gyre_system_start(system), -EIO);
	gyre_system_destroy(system);
	cr_expect_eq(made, 2);
	cr_expect_eq(freed, 2);
}

Test(loop_data, comes_and_goes_with_a_loop)
{
	const struct gyre_system_options options = options_of(1);

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (uint32_t round = 1; round <= 3; round++) {
		cr_assert_eq(resize(LOOPS_MAX), 0);
		cr_expect_eq(gy_load_acquire(&made), 1 + round * (LOOPS_MAX - 1));
		cr_assert_eq(resize(1), 0);
		cr_expect_eq(gy_load_acquire(&freed), round * (LOOPS_MAX - 1));
	}
	failing = 2;
	cr_expect_eq(resize(LOOPS_MAX), -EIO);
	cr_expect_gt(fixture.errors, 0);
	fixture.errors = 0;
	cr_expect_eq(gyre_system_loops(fixture.system), 1);
	gyre_system_stop(fixture.system);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_expect_eq(freed, made);
}

/* The first ones may still be on their way from the start to their first turn. */
Test(loop_data, that_cannot_be_made_for_a_new_loop_keeps_none_of_the_others_from_turning,
     .timeout = 60)
{
	for (uint32_t round = 1; round <= 20; round++) {
		const struct gyre_system_options options = options_of(LOOPS_MAX - 1);
		struct gyre_system *system = NULL;

		failing = LOOPS_MAX - 1;
		cr_assert_eq(gyre_system_create(&options, &system), 0);
		cr_assert_eq(gyre_system_start(system), 0);
		cr_assert_eq(gyre_system_resize(system, LOOPS_MAX), -EIO);
		gyre_system_destroy(system);
		cr_expect_eq(made, round * (LOOPS_MAX - 1));
		cr_expect_eq(freed, made);
	}
}

static int send_on(struct gyre_stack *stack)
{
	for (uint64_t i = 0; i < 10; i++) {
		expect(gyre_notify(stack, gyre_message(stack, place)->address,
				   gyre_new(stack, number, i)) == 0);
	}
	gy_store_release(&seen, 1);
	return gyre_return(stack);
}

static const struct gyre_class sending_class = { .name = "sending", .behaviour.notice = send_on };

Test(loop_data, that_cannot_be_made_again_leaves_a_loop_that_keeps_no_mail_of_others)
{
	const struct gyre_system_options options = options_of(3);
	struct gyre_address sending;
	struct gyre_address gone;

	fixture_open_with(&options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	sending = spawn_outside(&sending_class, 1);
	gone = spawn_outside(&sink_class, 2);
	cr_assert_eq(resize(2), 0);
	failing = 2;
	cr_assert_eq(resize(3), -EIO);
	cr_expect_gt(fixture.errors, 0);
	fixture.errors = 0;
	cr_assert_eq(gyre_system_notify(fixture.system, sending,
					gyre_system_new(fixture.system, place, gone)),
		     0);
	wait_for(&seen, 1);
	gyre_system_stop(fixture.system);
	cr_expect_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_expect_eq(fixture.letters_count, 10);
}

Test(loop_data, cannot_be_freed_where_it_is_not_made)
{
	struct gyre_system_options options = options_of(1);
	struct gyre_system *system = NULL;

	options.loop_init = NULL;
	cr_expect_eq(gyre_system_create(&options, &system), -EINVAL);
	cr_expect_null(system);
}

static int look_at_nothing(struct gyre_stack *stack)
{
	expect(gyre_loop_data(stack) == NULL);
	return fixture_end(stack);
}

Test(loop_data, is_null_without_a_constructor)
{
	play(1, look_at_nothing);
}
