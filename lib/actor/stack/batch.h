/*
 * Batches: many messages in one run of a handler.
 */
#ifndef GY_ACTOR_STACK_BATCH_H
#define GY_ACTOR_STACK_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct gy_house;
struct gy_stack;
struct gyre_mail;

/* The messages of a batch stack, owned. An ask that was answered has lost its id; a message that
 * the handler has taken or forwarded is NULL. */
struct gy_batch {
	uint32_t count;
	uint32_t max;
	bool asks;
	uint8_t size_class;
	struct gyre_mail *mails[];
};

/* An empty batch for @house; NULL when there is no memory. */
struct gy_batch *gy_batch_make(struct gy_house *house, bool asks);
/* Runs the handler for a batch, which is taken. Returns how many messages were handled: all or, for
 * lack of memory, none. */
uint32_t gy_batch_run(struct gy_house *house, struct gy_batch *batch);
/* Answers the asks that are unanswered with @error, and frees the messages. */
void gy_batch_end(struct gy_stack *stack, int error);

#endif
