/*
 * States: a door opens slowly, and messages that come too early are stashed.
 *
 *	closed   --knock-->   opening, which takes 20 ms
 *	opening               stashes who knocks
 *	open                  lets them in, in the order in which they came
 *
 * Each state is a behaviour, with the handlers of the messages that are understood in it.
 */
#include <inttypes.h>
#include <stdio.h>

#include <gyre/gyre.h>

enum { GUESTS = 3 };

struct knock {
	uint32_t guest;
};
GYRE_MESSAGE(knock, 0x100);

static int begin_opening(struct gyre_stack *stack);
static int wait_outside(struct gyre_stack *stack);
static int let_in(struct gyre_stack *stack);
static int end_opening(struct gyre_stack *stack);

static const struct gyre_behaviour opening = { .notice = wait_outside, .event = end_opening };
static const struct gyre_behaviour open = { .notice = let_in };

static int wait_outside(struct gyre_stack *stack)
{
	printf("guest %" PRIu32 " waits\n", gyre_message(stack, knock)->guest);
	return gyre_stash(stack);
}

static int begin_opening(struct gyre_stack *stack)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(20) };
	int r = gyre_timer_start(stack, 0, &soon);

	r = r < 0 ? r : gyre_become(stack, &opening);
	return r < 0 ? gyre_throw(stack, r) : wait_outside(stack);
}

static int end_opening(struct gyre_stack *stack)
{
	int r = gyre_become(stack, &open);

	printf("the door is open for %" PRIu32 "\n", gyre_unstash(stack, GYRE_UNSTASH_ALL));
	return r;
}

static int let_in(struct gyre_stack *stack)
{
	uint32_t guest = gyre_message(stack, knock)->guest;

	printf("guest %" PRIu32 " is in\n", guest);
	return guest == GUESTS ? gyre_stop(stack, gyre_self(stack)) : gyre_return(stack);
}

static const struct gyre_class door_class = { .name = "door", .behaviour.notice = begin_opening };

/* The main actor spawns the door, and stops when that does. */
static int run(struct gyre_stack *stack)
{
	struct gyre_address door;
	int r = gyre_spawn(stack, &door_class, GYRE_NO_ARGUMENT, NULL, &door);

	r = r < 0 ? r : gyre_watch(stack, door);
	for (uint32_t guest = 1; guest <= GUESTS && r == 0; guest++) {
		r = gyre_notify(stack, door, gyre_new(stack, knock, guest));
	}
	return r;
}

static int end(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class main_class = { .name = "main",
					      .mount = run,
					      .behaviour.event = end };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
