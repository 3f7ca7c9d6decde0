/* What the frame of a suspended handler owns, when its actor stops: freed once, and never else. */
#include <stdlib.h>

#include "actor/script_kit.h"

struct owning_frame {
	struct gyre_future future;
	char *memory;
};

struct keeper {
	uint32_t begun;
};

static void clean_frame(void *frame, void *state)
{
	cr_assert_gt(((const struct keeper *)state)->begun, 0);
	free(((struct owning_frame *)frame)->memory);
	mark('f');
}

static void clean_keeper(void *state)
{
	(void)state;
	mark('c');
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
	mark('r');
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

static int stop_while_three_wait(struct gyre_stack *stack)
{
	struct gyre_address keeper = script_spawn(stack, &keeper_class);

	for (int i = 0; i < 3; i++) {
		script_tell(stack, keeper, FOR_LONG);
	}
	script_tell(stack, keeper, 0);
	cr_assert_eq(gyre_poison(stack, keeper), 0);
	return gyre_return(stack);
}

KIT_TEST(frame_clean, is_called_for_each_handler_that_waits_before_the_state_is_cleaned)
{
	script_play(test, stop_while_three_wait);
	expect_marks("rfffc");
}

struct stopping_frame {
	struct gyre_future future;
};

static int let_it_return(struct gyre_stack *stack)
{
	struct stopping_frame *frame = (struct stopping_frame *)gyre_frame(stack);
	struct gyre_address keeper;

	GYRE_BEGIN(stack);
	keeper = script_spawn(stack, &keeper_class);
	script_tell(stack, keeper, 1);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, keeper, GYRE_SECONDS(30), &frame->future));
	cr_assert_eq(gyre_future_error(&frame->future), 0);
	mark('!');
	GYRE_END(stack);
}

KIT_TEST(frame_clean, is_not_called_for_a_handler_that_has_returned)
{
	script_play(test, let_it_return);
	expect_marks("rc!");
}

/* ---- beside children ---- */

static void clean_child(void *state)
{
	(void)state;
	mark('k');
}

static const struct gyre_class child_class = { .name = "child", .clean = clean_child };

static int keep_with_child(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	((struct keeper *)gyre_state(stack))->begun++;
	(void)script_spawn(stack, &child_class);
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
	struct gyre_address parent = script_spawn(stack, &parent_class);

	script_tell(stack, parent, 0);
	cr_assert_eq(gyre_poison(stack, parent), 0);
	return gyre_return(stack);
}

KIT_TEST(frame_clean, is_called_before_the_children_of_an_actor_without_channels_have_gone)
{
	script_play(test, stop_a_parent_that_waits);
	expect_marks("fkc");
}
