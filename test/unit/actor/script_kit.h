/*
 * Scripts, for tests with the testkit: the mount hook of an actor, which spawns others, sends to
 * them, and awaits what they answer. What they did shows by their marks.
 */
#ifndef GY_TEST_SCRIPT_KIT_H
#define GY_TEST_SCRIPT_KIT_H

#include <errno.h>

#include <gyre/stack.h>

#include "actor/marks.h"
#include "kit_test.h"

enum { SCRIPT_FRAME_BYTES = 512 };

/* A message for any purpose. */
struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

/* Has an actor with a frame of SCRIPT_FRAME_BYTES run @script, and gives all a second for it. */
void script_play(struct gyre_test *test, gyre_handler_fn script);
/* For handlers: spawns, which works. */
struct gyre_address script_spawn(struct gyre_stack *stack, const struct gyre_class *class);
/* For handlers: sends a number. */
void script_tell(struct gyre_stack *stack, struct gyre_address to, uint64_t value);
/* For handlers: sends each letter as a number. */
void script_tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters);

/* For handlers: messages that the system has sent until now. */
uint64_t script_messages_sent(struct gyre_stack *stack);

/* Answers each ask. */
extern const struct gyre_class script_answering_class;
/* Keeps its asker waiting without end; and how many asks it has got. */
extern const struct gyre_class script_mute_class;
extern uint32_t script_mute_asks;

#endif
