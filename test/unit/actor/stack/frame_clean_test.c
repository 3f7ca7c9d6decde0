/* What the frame of a suspended handler owns, when its actor stops: freed once, and never else. */
#include <stdlib.h>

#include "fixture.h"

struct owning_frame {
	struct gyre_future future;
	char *memory;
};

struct keeper {
	uint32_t begun;
};

static void clean_frame(void *frame, void *state)
{
	expect(((const struct keeper *)state)->begun > 0);
	free(((struct owning_frame *)frame)->memory);
	trace('f');
}

static void clean_keeper(void *state)
{
	(void)state;
	trace('c');
}

/* A notice of 0 returns, any other waits for so many milliseconds. */
static int keep(struct gyre_stack *stack)
{
	struct owning_frame *frame = (struct owning_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	((struct keeper *)gyre_state(stack))->begun++;
	frame->memory = (char *)malloc(16);
	if (gyre_message(stack, number)->value > 0) {
		GYRE_AWAIT(stack,
			   gyre_sleep(stack, GYRE_MILLISECONDS(gyre_message(stack, number)->value),
				      &frame->future));
	}
	free(frame->memory);
	trace('r');
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class keeper_class = {
	.name = "keeper",
	.state_bytes = sizeof(struct keeper),
	.frame_bytes = sizeof(struct owning_frame),
	.behaviour.notice = keep,
	.clean = clean_keeper,
	.frame_clean = clean_frame,
};

enum { FOR_LONG = 3600000 };

static void send(struct gyre_stack *stack, struct gyre_address to, uint64_t value)
{
	expect(gyre_notify(stack, to, gyre_new(stack, number, value)) == 0);
}

static int stop_while_three_wait(struct gyre_stack *stack)
{
	struct gyre_address keeper = spawn_on(stack, &keeper_class, 0);

	for (int i = 0; i < 3; i++) {
		send(stack, keeper, FOR_LONG);
	}
	send(stack, keeper, 0);
	expect(gyre_poison(stack, keeper) == 0);
	return fixture_end(stack);
}

Test(frame_clean, is_called_for_each_handler_that_waits_before_the_state_is_cleaned)
{
	play(1, stop_while_three_wait);
	cr_assert_str_eq(traced, "rfffc");
}

struct main_frame {
	struct gyre_future future;
	struct gyre_address keeper;
};

static int let_it_return(struct gyre_stack *stack)
{
	struct main_frame *frame = (struct main_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->keeper = spawn_on(stack, &keeper_class, 0);
	send(stack, frame->keeper, 1);
	GYRE_AWAIT(stack,
		   gyre_stop_gracefully(stack, frame->keeper, GYRE_SECONDS(30), &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(frame_clean, is_not_called_for_a_handler_that_has_returned)
{
	play_steady(let_it_return);
	cr_assert_str_eq(traced, "rc");
}

/* ---- beside children ---- */

static void clean_child(void *state)
{
	(void)state;
	trace('k');
}

static const struct gyre_class child_class = { .name = "child", .clean = clean_child };

static int keep_with_child(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	((struct keeper *)gyre_state(stack))->begun++;
	(void)spawn_on(stack, &child_class, 0);
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_SECONDS(3600),
				     &((struct owning_frame *)gyre_frame(stack))->future));
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class parent_class = {
	.name = "parent",
	.state_bytes = sizeof(struct keeper),
	.frame_bytes = sizeof(struct owning_frame),
	.behaviour.notice = keep_with_child,
	.clean = clean_keeper,
	.frame_clean = clean_frame,
};

static int stop_a_parent_that_waits(struct gyre_stack *stack)
{
	struct gyre_address parent = spawn_on(stack, &parent_class, 0);

	send(stack, parent, 0);
	expect(gyre_poison(stack, parent) == 0);
	return fixture_end(stack);
}

Test(frame_clean, is_called_before_the_children_of_an_actor_without_channels_have_gone)
{
	play(1, stop_a_parent_that_waits);
	cr_assert_str_eq(traced, "fkc");
}
