/*
 * Spawning: where an actor goes, what it is given, what is refused; and that it may be done
 * anywhere.
 */
#include "fixture.h"

#include "base/atomic.h"

enum { MANY = 3000, LOOPS = 3 };

struct frame {
	struct gyre_future future;
	struct gyre_address to;
	uint32_t i;
};

static int ask_number(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	return gyre_ask(stack, to, gyre_new(stack, number, value), 0, &frame->future);
}

/* ---- where ---- */

static uint32_t mounted[LOOPS];

static int count_loop(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&mounted[gyre_self(stack).loop], 1);
	return gyre_return(stack);
}

static const struct gyre_class counted_class = { .name = "counted", .mount = count_loop };

static int spawn_everywhere(struct gyre_stack *stack)
{
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
	struct gyre_address address;
	uint32_t seen[LOOPS] = { 0 };

	expect(gyre_spawn(stack, &counted_class, GYRE_NO_ARGUMENT, NULL, &address) == 0);
	expect(address.loop == gyre_self(stack).loop);
	for (options.loop = 0; options.loop < LOOPS; options.loop++) {
		expect(gyre_spawn(stack, &counted_class, GYRE_NO_ARGUMENT, &options, &address) ==
		       0);
		expect(address.loop == options.loop);
	}
	options.place = GYRE_PLACE_ROUND_ROBIN;
	for (uint32_t i = 0; i < 2 * LOOPS; i++) {
		expect(gyre_spawn(stack, &counted_class, GYRE_NO_ARGUMENT, &options, &address) ==
		       0);
		seen[address.loop]++;
	}
	for (uint32_t i = 0; i < LOOPS; i++) {
		expect(seen[i] == 2);
	}
	return fixture_end(stack);
}

Test(spawn, puts_an_actor_on_the_own_loop_on_a_given_one_or_on_one_after_the_other)
{
	const struct gyre_class class = { .name = "script", .mount = spawn_everywhere };

	fixture_open(LOOPS);
	(void)spawn_outside(&class, 1);
	fixture_run();
	fixture_close();
	cr_assert_leq(mounted[0], 3);
	cr_assert_leq(mounted[1], 4);
	cr_assert_leq(mounted[2], 3);
}

static int end_when_all(struct gyre_stack *stack)
{
	static uint32_t count;

	(void)count_loop(stack);
	return gy_fetch_add(&count, 1) == 2 * LOOPS - 1 ? fixture_end(stack) : gyre_return(stack);
}

Test(spawn, from_outside_goes_from_loop_to_loop)
{
	const struct gyre_class class = { .name = "end", .mount = end_when_all };
	struct gyre_address address;

	fixture_open(LOOPS);
	for (uint32_t i = 0; i < 2 * LOOPS; i++) {
		cr_assert_eq(
			gyre_system_spawn(fixture.system, &class, GYRE_NO_ARGUMENT, NULL, &address),
			0);
	}
	fixture_run();
	fixture_close();
	for (uint32_t i = 0; i < LOOPS; i++) {
		cr_assert_eq(mounted[i], 2);
	}
}

/* ---- the argument ---- */

static int mount_with_number(struct gyre_stack *stack)
{
	const struct number *argument = gyre_message(stack, number);

	expect(argument != NULL && argument->value == 4711);
	expect(gyre_address_is_nobody(gyre_sender(stack)));
	expect(gyre_take(stack) == NULL);
	expect(gyre_message(stack, number)->value == 4711);
	trace('m');
	return gyre_return(stack);
}

static int say_hello(struct gyre_stack *stack)
{
	trace('h');
	return gyre_reply(stack, gyre_new(stack, number, 1));
}

static const struct gyre_class argued_class = { .name = "argued",
						.mount = mount_with_number,
						.behaviour.ask = say_hello };

static int spawn_with_argument(struct gyre_stack *stack)
{
	const struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	expect(gyre_spawn(stack, &argued_class, gyre_new(stack, number, 4711), NULL, &frame->to) ==
	       0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_spawn(stack, &argued_class, gyre_new(stack, number, 4711), &there,
			  &frame->to) == 0);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(spawn, gives_its_argument_to_the_mount_hook_here_and_on_another_loop)
{
	play(2, spawn_with_argument);
	cr_assert_str_eq(traced, "mhmh");
	/* An argument is not counted: only two asks and two answers. */
	cr_assert_eq(fixture.counters.sent, 4);
}

static int end_with_number(struct gyre_stack *stack)
{
	(void)mount_with_number(stack);
	return fixture_end(stack);
}

Test(spawn, from_outside_gives_its_argument_too)
{
	const struct gyre_class class = { .name = "argued", .mount = end_with_number };
	struct gyre_address address;

	fixture_open(1);
	cr_assert_eq(gyre_system_spawn(fixture.system, &class,
				       gyre_system_new(fixture.system, number, 4711), NULL,
				       &address),
		     0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "m");
}

static int ignore(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

Test(spawn, throws_away_an_argument_that_no_mount_hook_takes)
{
	const struct gyre_class class = { .name = "plain", .behaviour.notice = ignore };
	struct gyre_address address;

	fixture_open(1);
	cr_assert_eq(gyre_system_spawn(fixture.system, &class,
				       gyre_system_new(fixture.system, number, 1), NULL, &address),
		     0);
	fixture_close();
	cr_assert_eq(fixture.counters.sent, 0);
}

/* ---- what is refused ---- */

static const struct gyre_class nameless_class = { .name = NULL };
static const struct gyre_class stateful_class = { .name = "s", .state_bytes = (1 << 24) + 1 };
static const struct gyre_class framed_class = { .name = "f", .frame_bytes = 8193 };

static int spawn_badly(struct gyre_stack *stack)
{
	const struct gyre_class *bad[] = { NULL, &nameless_class, &stateful_class, &framed_class };
	const struct gyre_spawn_options nowhere = { .place = GYRE_PLACE_LOOP, .loop = 2 };
	const struct gyre_spawn_options far = { .place = GYRE_PLACE_LOOP, .loop = 65536 };
	const struct gyre_spawn_options odd = { .place = (enum gyre_place)77 };
	struct gyre_address address = { .slot = 123 };

	for (uint32_t i = 0; i < 4; i++) {
		expect(gyre_spawn(stack, bad[i], gyre_new(stack, number, 1), NULL, &address) ==
		       -EINVAL);
		expect(gyre_system_spawn(fixture.system, bad[i],
					 gyre_system_new(fixture.system, number, 1), NULL,
					 &address) == -EINVAL);
	}
	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &nowhere, &address) == -EINVAL);
	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &far, &address) == -EINVAL);
	expect(gyre_spawn(stack, &sink_class, GYRE_NO_ARGUMENT, &odd, &address) == -EINVAL);
	expect(gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &nowhere,
				 &address) == -EINVAL);
	expect(gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, &odd, &address) ==
	       -EINVAL);
	expect(gyre_system_spawn(NULL, &sink_class, GYRE_NO_ARGUMENT, NULL, &address) == -EINVAL);
	expect(gyre_system_spawn(fixture.system, &sink_class, GYRE_NO_ARGUMENT, NULL, NULL) ==
	       -EINVAL);
	expect(address.slot == 123);
	return fixture_end(stack);
}

Test(spawn, refuses_what_is_no_class_too_large_or_nowhere_and_keeps_no_argument)
{
	play(2, spawn_badly);
	cr_assert_eq(fixture.counters.spawned, 1);
}

/* ---- state and frame ---- */

enum { STATE_BYTES = 100000, FRAME_BYTES = 8192 };

static int check_zero(struct gyre_stack *stack)
{
	unsigned char *state = (unsigned char *)gyre_state(stack);
	unsigned char *frame = (unsigned char *)gyre_frame(stack);

	/* The first byte of the state counts the messages; the rest stays zero. */
	for (uint32_t i = 1; i < STATE_BYTES; i++) {
		expect(state[i] == 0);
	}
	for (uint32_t i = 0; i < FRAME_BYTES; i++) {
		expect(frame[i] == 0);
		frame[i] = 0xaa;
	}
	return ++state[0] == 4 ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class zeroed_class = {
	.name = "zeroed",
	.state_bytes = STATE_BYTES,
	.frame_bytes = FRAME_BYTES,
	.mount = check_zero,
	.behaviour.notice = check_zero,
};

static int send_three(struct gyre_stack *stack)
{
	struct gyre_address to = spawn_here(stack, &zeroed_class);

	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, i)) == 0);
	}
	return gyre_return(stack);
}

Test(spawn, zeroes_the_state_once_and_the_frame_for_each_message)
{
	play(1, send_three);
	cr_assert_eq(fixture.counters.handled, 3);
}

/* ---- many, while something runs ---- */

static struct gyre_address addresses[MANY];

static int spawn_many(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = gyre_self(stack);
	for (uint32_t i = 0; i < MANY; i++) {
		addresses[i] = spawn_here(stack, &adder_class);
		expect(!gyre_address_equal(addresses[i], addresses[i / 2]) || i == 0);
	}
	/* Houses do not move: the spawning one least of all. */
	expect(gyre_address_equal(frame->to, gyre_self(stack)));
	for (frame->i = 0; frame->i < MANY; frame->i += 7) {
		GYRE_AWAIT(stack, ask_number(stack, addresses[frame->i], frame->i));
		expect(gyre_future_get(&frame->future, number)->value == frame->i + 1);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(spawn, of_thousands_inside_a_handler_gives_each_an_address_of_its_own)
{
	play(1, spawn_many);
	cr_assert_eq(fixture.counters.spawned, MANY + 1);
}

static struct gyre_address child;
static bool timer_was_here;
static bool ended;

static void note_end(void *state)
{
	(void)state;
	ended = true;
}

static int spawn_child(struct gyre_stack *stack)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = 1,
						    .detached = true };

	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &options, &child) == 0);
	return gyre_return(stack);
}

static int spawn_and_reply(struct gyre_stack *stack)
{
	(void)spawn_child(stack);
	return gyre_reply(stack, gyre_new(stack, place, child));
}

static int start_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options at_once = { 0 };

	(void)spawn_child(stack);
	return gyre_timer_start(stack, 1, &at_once);
}

static int spawn_at_event(struct gyre_stack *stack)
{
	timer_was_here = true;
	return spawn_child(stack);
}

static int wait_and_spawn(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (!timer_was_here) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	(void)spawn_child(stack);
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	(void)spawn_child(stack);
	GYRE_END(stack);
}

static const struct gyre_class fertile_class = {
	.name = "fertile",
	.frame_bytes = sizeof(struct frame),
	.mount = start_timer,
	.behaviour = { .notice = wait_and_spawn, .ask = spawn_and_reply, .event = spawn_at_event },
	.clean = note_end,
};

static int use_fertile(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_here(stack, &fertile_class);
	GYRE_AWAIT(stack, ask_number(stack, frame->to, 1));
	expect(gyre_future_get(&frame->future, place) != NULL);
	expect(gyre_notify(stack, frame->to, gyre_new(stack, number, 1)) == 0);
	while (!ended) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	GYRE_AWAIT(stack, ask_number(stack, child, 1));
	expect(gyre_future_get(&frame->future, number)->value == 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(spawn, is_allowed_in_every_handler_also_of_an_actor_about_to_stop)
{
	play(2, use_fertile);
	/* The script, the fertile one, and five children of mount, event, ask and notice. */
	cr_assert_eq(fixture.counters.spawned, 7);
}
