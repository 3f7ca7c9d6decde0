/*
 * Answers that go home in the envelope of their question: see envelope.c.
 */
#ifndef GY_ACTOR_STACK_ENVELOPE_H
#define GY_ACTOR_STACK_ENVELOPE_H

#include "actor/stack/stack.h"

/* Answers @ask, whose asker is on another loop or gone, with @mail: at once, or when the handler
 * returns. */
void gy_envelope_answer(struct gy_stack *stack, const struct gyre_mail *ask,
			struct gyre_mail *mail);
/* The handler has ended, or waits. Whether it has left an answer, which is then to be sent by one
 * of the two functions below. */
bool gy_envelope_end(struct gy_stack *stack);
/* The handler sends to a loop: if an answer for that is kept, it leaves before. */
void gy_envelope_open(struct gy_stack *stack, uint16_t loop);
/* The handler has ended: sends what is kept in the envelope of the stack's message. */
void gy_envelope_send(struct gy_stack *stack);
/* The handler waits, and may still read its message: sends what is kept by itself. */
void gy_envelope_send_apart(struct gy_stack *stack);

#endif
