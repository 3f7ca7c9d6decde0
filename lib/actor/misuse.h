/*
 * Mistakes of handlers that would go unnoticed. Each is a warning in the log of the class, with the
 * message and the remedy. A mistake that would write to foreign memory ends the program, with the
 * same words.
 */
#ifndef GY_ACTOR_MISUSE_H
#define GY_ACTOR_MISUSE_H

#include "base/macros.h"

struct gy_home;
struct gy_house;
struct gy_stack;
struct gyre_future;
struct gyre_mail;

/* A stack with an ask, or a batch of asks, ends without an error and without an answer. */
GY_COLD void gy_warn_unanswered(const struct gy_stack *stack);
/* The handler answers an ask again; @mail is the answer, or NULL. */
GY_COLD void gy_warn_second_answer(const struct gy_stack *stack, const struct gyre_mail *ask,
				   const struct gyre_mail *mail);
/* The handler answers what it has forwarded; @mail as above. */
GY_COLD void gy_warn_forwarded(const struct gy_stack *stack, const struct gyre_mail *mail);
/* The handler has returned neither 0, nor a negative errno, nor the result of a suspend. */
GY_COLD void gy_warn_result(const struct gy_stack *stack, int result);
/* The handler waits, and nothing is outstanding that would wake it. */
GY_COLD void gy_warn_endless_wait(const struct gy_stack *stack);
/* The behaviour of @house has no handler for asks or notices of the type of @mail. */
GY_COLD void gy_warn_unhandled(struct gy_home *home, const struct gy_house *house,
			       const struct gyre_mail *mail);

/* The future of a call will be gone when the call completes: ends the program. */
_Noreturn GY_COLD void gy_warn_misplaced_future(const struct gy_stack *stack,
						const struct gyre_future *future);

#endif
