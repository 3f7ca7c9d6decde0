/*
 * Mistakes of handlers that are taken for something else, so that nobody would notice: each is a
 * warning with the class, the message, and what to do, in the log of the class. One that would
 * write to memory of somebody else ends the program, with the same words.
 */
#ifndef GY_ACTOR_MISUSE_H
#define GY_ACTOR_MISUSE_H

#include "base/macros.h"

struct gy_home;
struct gy_house;
struct gy_stack;
struct gyre_future;
struct gyre_mail;

/* A stack with an ask, or a batch of them, ends, and has not answered though nothing failed. */
GY_COLD void gy_warn_unanswered(const struct gy_stack *stack);
/* It answers an ask again; @mail is the answer, or NULL. */
GY_COLD void gy_warn_second_answer(const struct gy_stack *stack, const struct gyre_mail *ask,
				   const struct gyre_mail *mail);
/* Its handler has returned what is neither 0 nor a negative errno, nor from a suspend. */
GY_COLD void gy_warn_result(const struct gy_stack *stack, int result);
/* It waits, and nothing is outstanding that would wake it. */
GY_COLD void gy_warn_endless_wait(const struct gy_stack *stack);
/* Nobody in @house takes asks or notices of the type of @mail. */
GY_COLD void gy_warn_unhandled(struct gy_home *home, const struct gy_house *house,
			       const struct gyre_mail *mail);

/* A call was given a future that will not be there when it completes: ends the program. */
_Noreturn GY_COLD void gy_warn_misplaced_future(const struct gy_stack *stack,
						const struct gyre_future *future);

#endif
