/*
 * What the tests of batches share: an actor that takes them, its filters and handlers, and scripts.
 *
 * The trace shows a batch of notices as (abc), one of asks as [abc], and what comes alone as its
 * letter. Nearly all is on one loop, where what waits for the target is certain: it is all that the
 * script sends before it lets the others run.
 */
#ifndef GY_TEST_BATCH_RIG_H
#define GY_TEST_BATCH_RIG_H

#include <gyre/batch.h>

#include "fixture.h"

enum { ASKS_MAX = 12 };

struct frame {
	struct gyre_future turn;
	struct gyre_future asks[ASKS_MAX];
};

static inline struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/*
 * The target, which a test changes before it starts. Small letters and places are chosen; what
 * fails is ignored. Alone, B becomes one that has no batches, and W waits for the gate. The first
 * letter of a batch of notices has it: e fail, f put a 1 first, m fill the mailbox, s stop itself,
 * w wait for the gate, which is traced as 0, and trace itself again. Asks are answered by their
 * capitals, the last one first, and those alone by 1.
 */
extern struct gyre_class batching_class;
/* Where it lives; the script is on loop 0. */
extern uint32_t target_loop;

/* A mount hook that starts a timer, for the event. */
int note_mount(struct gyre_stack *stack);

/* Filters. */
bool is_any(const struct gyre_type *type, const void *message);
bool is_capital(const struct gyre_type *type, const void *message);

/* For handlers of batches. */
struct gyre_mail *letter(struct gyre_stack *stack, char what);
char letter_at(struct gyre_stack *stack, uint32_t index);
void trace_batch(struct gyre_stack *stack, const char *brackets);
int answer_one(struct gyre_stack *stack, uint32_t index);
/* Asks an actor that never answers: what waits for it goes on when the script stops it. */
int wait_for_gate(struct gyre_stack *stack);

/*
 * Words, between spaces: tLETTERS tells the target, rLETTERS finds it full, l tells it a place,
 * aLETTERS asks it, dLETTERS asks with next to no time; p poisons it, s
 * stops it, n makes another; o opens the gate; / lets all run that can, ? waits for all answers and
 * traces them in the order of the asks, - for -ENOMSG, ! for -EIO, # for -ESHUTDOWN, ~ for
 * -ETIMEDOUT, % for -ENOMEM, $ for -EINVAL; =TRACE says what has then been traced.
 */
void play_script(uint32_t run_budget, const char *words);
/* On one loop, whose time goes on only while it waits; a new target waits in its mount until what
 * was asked with next to no time is late. */
void play_late_script(const char *words);

#endif
