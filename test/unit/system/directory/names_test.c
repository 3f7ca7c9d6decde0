/*
 * The name directory. An actor does with a name what a number tells it to, and answers with the
 * errno of that.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <gyre/name.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "system/directory/names.h"

enum { LOOPS = 2, ELSEWHERE = 1, RIVALS = 64, MANY = 2000 };

struct frame {
	struct gyre_future future;
	struct gyre_address a;
	struct gyre_address b;
	struct gyre_address found;
};

enum { REGISTER = 'r', UNREGISTER = 'u', FAIL = 'f' };

static struct gyre_address found_outside;
static uint32_t won;
static uint32_t lost;

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int obey(struct gyre_stack *stack)
{
	int r = gyre_message(stack, number)->value == REGISTER
			? gyre_name_register(stack, "clerk")
			: gyre_name_unregister(stack, "clerk");

	return gyre_reply(stack, gyre_new(stack, number, (uint64_t)-r));
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class clerk_class = {
	.name = "clerk",
	.behaviour = { .ask = obey, .notice = fail },
};

static int tell(struct gyre_stack *stack, struct gyre_address to, uint64_t what)
{
	return gyre_ask(stack, to, gyre_new(stack, number, what), 0, &frame_of(stack)->future);
}

/* The errno that the clerk answered with, as a positive number. */
static int answer(struct gyre_stack *stack)
{
	const struct number *number = gyre_future_get(&frame_of(stack)->future, number);

	expect(number != NULL);
	return number == NULL ? -1 : (int)number->value;
}

/* ---- one name ---- */

static int find_what_is_registered(struct gyre_stack *stack)
{
	struct gyre_address found = { 0 };

	expect(gyre_name_lookup(stack, "one", &found) == -ENOENT);
	expect(gyre_name_register(stack, "one") == 0);
	expect(gyre_name_register(stack, "another") == 0);
	expect(gyre_name_lookup(stack, "one", &found) == 0);
	expect(gyre_address_equal(found, gyre_self(stack)));
	expect(gyre_name_lookup(stack, "another", &found) == 0);
	expect(gyre_system_name_lookup(gyre_system_of(stack), "one", &found) == 0);
	expect(gyre_name_unregister(stack, "one") == 0);
	expect(gyre_name_lookup(stack, "one", &found) == -ENOENT);
	expect(gyre_name_lookup(stack, "another", &found) == 0);
	return fixture_end(stack);
}

Test(names, an_actor_is_found_under_each_of_its_names_until_it_gives_it_back)
{
	play(1, find_what_is_registered);
}

static bool is_shown_as(struct gyre_stack *stack, const char *name)
{
	char text[GYRE_NAME_BYTES_MAX + 1] = "";

	(void)gy_name_of(gyre_system_of(stack), gyre_self(stack), sizeof(text), text);
	return strcmp(text, name) == 0;
}

static int give_up_what_is_shown(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "first") == 0);
	expect(gyre_name_register(stack, "second") == 0);
	expect(gyre_name_register(stack, "third") == 0);
	expect(is_shown_as(stack, "first"));
	expect(gyre_name_unregister(stack, "first") == 0);
	expect(is_shown_as(stack, "second"));
	expect(gyre_name_unregister(stack, "third") == 0);
	expect(is_shown_as(stack, "second"));
	expect(gyre_name_unregister(stack, "second") == 0);
	expect(is_shown_as(stack, ""));
	return fixture_end(stack);
}

Test(names, an_actor_is_shown_by_the_oldest_that_it_still_has)
{
	play(1, give_up_what_is_shown);
}

static int misuse(struct gyre_stack *stack)
{
	char text[GYRE_NAME_BYTES_MAX + 2];
	struct gyre_address found;

	memset(text, 'x', sizeof(text));
	text[GYRE_NAME_BYTES_MAX + 1] = '\0';
	expect(gyre_name_register(stack, text) == -EINVAL);
	expect(gyre_name_lookup(stack, text, &found) == -EINVAL);
	text[GYRE_NAME_BYTES_MAX] = '\0';
	expect(gyre_name_register(stack, text) == 0);
	expect(gyre_name_lookup(stack, text, &found) == 0);
	expect(gyre_name_register(stack, "") == -EINVAL);
	expect(gyre_name_register(stack, NULL) == -EINVAL);
	expect(gyre_name_unregister(stack, "") == -EINVAL);
	expect(gyre_name_unregister(stack, "nobody's") == -ENOENT);
	expect(gyre_name_lookup(stack, text, NULL) == -EINVAL);
	expect(gyre_system_name_lookup(NULL, text, &found) == -EINVAL);
	expect(gyre_name_register(stack, text) == -EEXIST);
	return fixture_end(stack);
}

Test(names, have_1_to_255_bytes_and_one_owner)
{
	play(1, misuse);
}

static int take_turns(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &clerk_class, 0);
	frame->b = spawn_on(stack, &clerk_class, ELSEWHERE);
	GYRE_AWAIT(stack, tell(stack, frame->a, REGISTER));
	expect(answer(stack) == 0);
	GYRE_AWAIT(stack, tell(stack, frame->b, REGISTER));
	expect(answer(stack) == EEXIST);
	GYRE_AWAIT(stack, tell(stack, frame->b, UNREGISTER));
	expect(answer(stack) == ENOENT);
	GYRE_AWAIT(stack, tell(stack, frame->a, UNREGISTER));
	expect(answer(stack) == 0);
	GYRE_AWAIT(stack, tell(stack, frame->b, REGISTER));
	expect(answer(stack) == 0);
	expect(gyre_name_lookup(stack, "clerk", &frame->found) == 0);
	expect(gyre_address_equal(frame->found, frame->b));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(names, a_name_that_is_taken_is_refused_until_its_owner_gives_it_back)
{
	play(LOOPS, take_turns);
}

/* ---- ends ---- */

/* The next to have the name: registers it where it hears of the end. */
static int inherit(struct gyre_stack *stack)
{
	struct gyre_address found;

	expect(gyre_message(stack, gyre_terminated) != NULL);
	expect(gyre_name_lookup(stack, "clerk", &found) == -ENOENT);
	expect(gyre_name_register(stack, "clerk") == 0);
	return fixture_end(stack);
}

static int watch_clerk(struct gyre_stack *stack)
{
	struct gyre_address clerk;

	expect(gyre_name_lookup(stack, "clerk", &clerk) == 0);
	expect(gyre_watch(stack, clerk) == 0);
	return gyre_stop(stack, clerk);
}

static const struct gyre_class heir_class = {
	.name = "heir",
	.mount = watch_clerk,
	.behaviour.event = inherit,
};

static int let_inherit(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &clerk_class, 0);
	GYRE_AWAIT(stack, tell(stack, frame->a, REGISTER));
	(void)spawn_on(stack, &heir_class, ELSEWHERE);
	return gyre_return(stack);
	GYRE_END(stack);
}

Test(names, whoever_hears_of_an_end_can_register_the_names_at_once)
{
	play(LOOPS, let_inherit);
}

static int restart_clerk(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &clerk_class, ELSEWHERE);
	GYRE_AWAIT(stack, tell(stack, frame->a, REGISTER));
	expect(gyre_notify(stack, frame->a, gyre_new(stack, number, FAIL)) == 0);
	GYRE_AWAIT(stack, tell(stack, frame->a, REGISTER));
	expect(answer(stack) == EEXIST);
	expect(gyre_name_lookup(stack, "clerk", &frame->found) == 0);
	expect(gyre_address_equal(frame->found, frame->a));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(names, a_restart_keeps_them)
{
	play(LOOPS, restart_clerk);
	cr_assert_eq(fixture.counters.restarted, 1);
}

/* ---- many ---- */

static int compete(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, "the one");

	expect(r == 0 || r == -EEXIST);
	(void)gy_fetch_add(r == 0 ? &won : &lost, 1);
	if (gy_load_acquire(&won) + gy_load_acquire(&lost) == RIVALS) {
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static const struct gyre_class rival_class = { .name = "rival", .mount = compete };

Test(names, of_many_that_want_one_name_exactly_one_gets_it)
{
	fixture_open(4);
	for (uint32_t i = 0; i < RIVALS; i++) {
		(void)spawn_outside(&rival_class, i % 4);
	}
	fixture_run();
	fixture_close();
	cr_assert_eq(won, 1);
	cr_assert_eq(lost, RIVALS - 1);
}

static const char *numbered(char *text, uint32_t i)
{
	(void)snprintf(text, 16, "name %u", i);
	return text;
}

static int have_many(struct gyre_stack *stack)
{
	struct gyre_address found;
	char text[16];

	for (uint32_t i = 0; i < MANY; i++) {
		expect(gyre_name_register(stack, numbered(text, i)) == 0);
	}
	for (uint32_t i = 0; i < MANY; i += 2) {
		expect(gyre_name_unregister(stack, numbered(text, i)) == 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		int r = gyre_name_lookup(stack, numbered(text, i), &found);

		expect(r == (i % 2 == 0 ? -ENOENT : 0));
	}
	return fixture_end(stack);
}

Test(names, an_actor_may_have_more_of_them_than_the_directory_began_with)
{
	play(1, have_many);
}

/* ---- from outside ---- */

static int be_found(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "server") == 0);
	return gyre_return(stack);
}

static int end(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static const struct gyre_class server_class = {
	.name = "server",
	.mount = be_found,
	.behaviour.notice = end,
};

static void *look_until_found(void *arg)
{
	(void)arg;
	while (gyre_system_name_lookup(fixture.system, "server", &found_outside) == -ENOENT) {
		gy_pause();
	}
	(void)notify_outside(found_outside, 0);
	return NULL;
}

Test(names, are_found_by_any_thread)
{
	struct gyre_address address;
	pthread_t thread;

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "server", &found_outside), -ENOENT);
	address = spawn_outside(&server_class, ELSEWHERE);
	cr_assert_eq(pthread_create(&thread, NULL, look_until_found, NULL), 0);
	fixture_run();
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "server", &found_outside), -ENOENT);
	fixture_close();
	cr_assert(gyre_address_equal(found_outside, address));
}

static int name_of_this_system(struct gyre_stack *stack)
{
	struct gyre_system *other = NULL;
	const struct gyre_system_options options = { .loops = 1, .buffer_count = 16 };
	struct gyre_address found;

	expect(gyre_name_register(stack, "here") == 0);
	expect(gyre_system_create(&options, &other) == 0);
	expect(gyre_system_name_lookup(other, "here", &found) == -ENOENT);
	trace('h');
	gyre_system_destroy(other);
	return fixture_end(stack);
}

Test(names, belong_to_one_system)
{
	play(1, name_of_this_system);
	cr_assert_str_eq(traced, "h");
}
