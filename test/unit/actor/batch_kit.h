/*
 * What the tests of batches share: an actor that takes them, its filters and handlers, and scripts
 * that the test plays on it by a probe.
 *
 * What the actor gets is marked: a batch of notices as (abc), one of asks as [abc], and what comes
 * alone as its letter. All is on one loop, where what waits for the actor is certain: it is all
 * that the probe sends at once.
 */
#ifndef GY_TEST_BATCH_KIT_H
#define GY_TEST_BATCH_KIT_H

#include <errno.h>

#include <gyre/batch.h>
#include <gyre/counters.h>

#include "kit_test.h"
#include "marks.h"

struct letter {
	char what;
};
GYRE_MESSAGE(letter, 0x1001);

struct place {
	struct gyre_address address;
};
GYRE_MESSAGE(place, 0x1002);

/*
 * The actor, which a test changes before it plays. Small letters and places are chosen; what fails
 * is ignored. Alone, B becomes one that has no batches, and W waits for the gate. The first letter
 * of a batch of notices has it: e fail, f put a 1 first, m fill the mailbox, s stop itself, w wait
 * for the gate, which is marked by 0, and mark itself again. Asks are answered by their capitals,
 * the last one first, and those alone by 1.
 */
extern struct gyre_class batching_class;

/* A mount hook that starts a timer, for the event. */
int note_mount(struct gyre_stack *stack);

/* Filters. */
bool is_any(const struct gyre_type *type, const void *message);
bool is_capital(const struct gyre_type *type, const void *message);

/* For handlers of batches. */
struct gyre_mail *new_letter(struct gyre_stack *stack, char what);
char letter_at(const struct gyre_stack *stack, uint32_t index);
void mark_batch(struct gyre_stack *stack, const char *brackets);
int answer_one(struct gyre_stack *stack, uint32_t index);
/* For GYRE_AWAIT(): sleeps, or waits until the script opens the gate. */
int sleep_for(struct gyre_stack *stack, uint64_t ns);
int wait_for_gate(struct gyre_stack *stack);

/* So many letters have been lost for a reason; those that a test does not expect fail it. */
void expect_dropped(struct gyre_test *test, enum gyre_drop reason, uint32_t count);
struct gyre_counters counters_of(struct gyre_test *test);

/*
 * Words, between spaces. Those up to / or ? happen at once: tLETTERS tells the actor, rLETTERS
 * finds it full, l tells it a place, aLETTERS asks it, dLETTERS asks with next to no time; p
 * poisons it, s stops it; o opens the gate. Then / lets all run that can, and ?ANSWERS takes as
 * many answers of asks, in their order: letters, or - for -ENOMSG, ! for -EIO, # for -ESHUTDOWN, ~
 * for -ETIMEDOUT, % for -ENOMEM, $ for -EINVAL. =MARKS says what has been marked by then. In the
 * end no more answers may have come.
 */
void play_script(struct gyre_test *test, const char *words);
/* Has an actor ask a, b and c at once, and says which of them got which answer. */
void play_three(struct gyre_test *test, const char *answers);

#endif
