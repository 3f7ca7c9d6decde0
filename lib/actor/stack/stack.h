/*
 * The runtime's side of a stack: the message, the handler that runs or waits, and its promises.
 */
#ifndef GY_ACTOR_STACK_STACK_H
#define GY_ACTOR_STACK_STACK_H

#include <gyre/actor.h>
#include <gyre/stack.h>

#include <string.h>

#include "actor/home.h"
#include "actor/mail/mail_pool.h"
#include "actor/stack/batch.h"
#include "actor/stack/cause.h"
#include "actor/stack/promise.h"

enum { GY_FRAME_ALIGN = 16 };

/* What a handler returns to wait; gy_stack_suspend() gives it. */
enum { GY_SUSPENDED = 1 };

/* One completion is enough to resume a stack. */
#define GY_AWAIT_ANY UINT32_MAX

/* In place of what a stack owes: the answer is there, and leaves in the envelope of its question as
 * soon as the handler returns. See envelope.c. */
enum { GY_OWES_ENVELOPE = UINT16_MAX };

struct gy_stack {
	struct gyre_stack head; /* what users' accessors read */
	struct gy_home *home;
	struct gy_house *house;
	struct gyre_mail *mail; /* the message, owned; NULL when there is none */
	struct gy_batch *batch; /* of a batch handler, else NULL; then also dirty */
	struct gy_cause *cause; /* that it fails with, owned, else NULL; see @caused */
	gyre_handler_fn handler;
	struct gy_promise *outstanding;
	struct gy_promise *completed;
	struct gy_list item; /* in house->suspended */
	/* An answer: the errno that the asker gets without one; GY_OWES_ENVELOPE; or 0 for none. */
	uint16_t owed;
	uint8_t size_class;
	bool suspended; /* the handler waits, or did */
	/* How many marked promises are still to complete before the handler goes on. 0 for a wait
	 * that looks at no marks and ends when no promise is outstanding, which is that of most
	 * handlers; GY_AWAIT_ANY for one that ends with any promise. See ends_wait() in promise.c.
	 */
	uint32_t awaited_count;
	/* These four bytes are compared as one: see gy_stack_is_plain(). */
	bool dirty;	 /* has promises, or had: it must be cleaned at its end */
	bool suspending; /* gyre_suspend() was called in this run of the handler; then also dirty */
	bool given;	 /* the handler has taken its message, so that @mail is NULL */
	bool hook : 1;	 /* of a mount or a restart hook: a failure stops the actor */
	bool request : 1;   /* of the peer of a channel: see gyre/exchange.h */
	bool forwarded : 1; /* the message was; then also dirty */
	bool caused : 1;    /* @cause is there */
	bool piping : 1;    /* pipelines of channels run with it: see gy_channel_ops */
	/* As @marked, of a wait for any of some, which leaves the marks of the others behind. */
	bool marked_any : 1;
	bool marked : 1;     /* a promise may have is_awaited set; see await.c */
	bool by_quorum : 1;  /* marked promises count only if they succeed; see await_quorum.c */
	uint32_t frame_room; /* the bytes of @frame, however many of them its class uses */
	uint32_t spare;	     /* with @by_quorum: how many marked promises may still fail */
	uint32_t exchange;   /* with @request: which exchange of its channel it came by */
	unsigned char frame[] __attribute__((aligned(GY_FRAME_ALIGN)));
};

static inline struct gy_stack *gy_stack_of(struct gyre_stack *stack)
{
	return gy_container_of(stack, struct gy_stack, head);
}

static inline const struct gy_stack *gy_stack_of_const(const struct gyre_stack *stack)
{
	return gy_container_of(stack, const struct gy_stack, head);
}

_Static_assert(offsetof(struct gy_stack, given) == offsetof(struct gy_stack, dirty) + 2 &&
		       offsetof(struct gy_stack, frame_room) ==
			       offsetof(struct gy_stack, dirty) + 4,
	       "compared as one");

/* A new scratch stack of a size; NULL without memory. */
GY_COLD struct gy_stack *gy_stack_make_scratch(struct gy_home *home, uint8_t size_class);

/* Clears a small frame in whole units of its alignment, for which it has room: no call. */
static inline void gy_stack_clear_frame(struct gy_stack *stack, size_t bytes)
{
	if (bytes > 2 * (size_t)GY_FRAME_ALIGN) {
		memset(stack->frame, 0, bytes);
	} else if (bytes > GY_FRAME_ALIGN) {
		memset(stack->frame, 0, 2 * (size_t)GY_FRAME_ALIGN);
	} else {
		memset(stack->frame, 0, GY_FRAME_ALIGN);
	}
}

/* The scratch stack of @house's size, made ready for a message of it; NULL without memory. */
static inline struct gy_stack *gy_stack_scratch(struct gy_home *home, struct gy_house *house)
{
	struct gy_stack *stack = home->scratch[house->class_info->stack_class];
	size_t frame_bytes = house->class_info->frame_bytes;

	if (gy_unlikely(stack == NULL)) {
		stack = gy_stack_make_scratch(home, house->class_info->stack_class);
		if (stack == NULL) {
			return NULL;
		}
	}
	stack->house = house;
	stack->head.actor = house->state;
	if (frame_bytes != 0) {
		gy_stack_clear_frame(stack, frame_bytes);
	}
	return stack;
}

/* A stack that is kept until its end, as if it had been suspended: for a message that begins while
 * the scratch stack may be in use. NULL without memory. */
struct gy_stack *gy_stack_make_kept(struct gy_home *home, struct gy_house *house,
				    size_t frame_bytes);

/* Puts the message into a stack that is ready for one. */
static inline void gy_stack_set_message(struct gy_stack *stack, struct gyre_mail *mail,
					gyre_handler_fn handler)
{
	stack->head.message = mail->payload;
	stack->head.type = mail->type;
	stack->mail = mail;
	stack->handler = handler;
}

/* Slow path of gy_stack_call(): the stack is dirty or owes an answer, or the handler did not return
 * 0. */
void gy_stack_returned(struct gy_stack *stack, int result);

/* Whether a stack whose handler has returned has its message, and no promises. What it owes is
 * another question: the answer was stored just before, and not as one with these. */
static inline bool gy_stack_is_plain(const struct gy_stack *stack)
{
	static const unsigned char none[4];

	return memcmp(&stack->dirty, none, sizeof(none)) == 0;
}

/* Whether a handler that has returned leaves nothing to do but to free the message. */
static inline bool gy_stack_ends_plainly(const struct gy_stack *stack, int result)
{
	return result == 0 && gy_stack_is_plain(stack) && stack->owed == 0 && stack->mail != NULL;
}

static inline void gy_stack_put_mail(struct gy_stack *stack)
{
	gy_mail_put(stack->home, stack->mail);
	stack->mail = NULL;
}

/* Runs the handler, from the start or after a suspension, and acts on its result. */
static inline void gy_stack_call(struct gy_stack *stack)
{
	int result = stack->handler(&stack->head);

	if (gy_likely(gy_stack_ends_plainly(stack, result))) {
		gy_stack_put_mail(stack);
		return;
	}
	gy_stack_returned(stack, result);
}

/* gy_stack_call() for a stack that waits, and most often waits again. */
static inline void gy_stack_resume(struct gy_stack *stack)
{
	int result = stack->handler(&stack->head);

	gy_verify(stack->suspended);
	if (gy_likely(result == GY_SUSPENDED) && gy_likely(stack->suspending) &&
	    gy_likely(stack->owed != GY_OWES_ENVELOPE) && gy_likely(!stack->piping)) {
		stack->suspending = false;
		return;
	}
	gy_stack_returned(stack, result);
}

/*
 * Answers @ask with @mail, taken; the ask then has no id any more. -EALREADY when it had none;
 * -ENOMEM for NULL, and -EPROTO when the type of @ask demands another answer, which the asker gets
 * too.
 */
int gy_answer(struct gy_stack *stack, struct gyre_mail *ask, struct gyre_mail *mail);
/*
 * Answers with an error in a mail of its own, since the handler may still read the question.
 * Without memory the handler's end tells the error. Returns 0.
 */
int gy_answer_error(struct gy_stack *stack, struct gyre_mail *ask, int error);

/* Drops the answer to an ask that was forwarded; -EALREADY. */
GY_COLD int gy_answer_forwarded(struct gy_stack *stack, struct gyre_mail *mail);

/* Whether the stack waits for marked promises only. */
static inline bool gy_stack_awaits_some(const struct gy_stack *stack)
{
	return stack->awaited_count != 0 && stack->awaited_count != GY_AWAIT_ANY;
}

/* Has the stack wait when its handler returns the result; @awaited_count as in the stack. */
int gy_stack_suspend(struct gy_stack *stack, uint32_t state, uint32_t awaited_count);
/* Makes the stack as good as new, and scratch again or free. */
void gy_stack_clean(struct gy_stack *stack);
/* Handlers of a pipeline have run on the stack: they cannot wait, and have no failure of their own
 * that what they have thrown could be the cause of. */
GY_COLD void gy_stack_leave_pipeline(struct gy_stack *stack);
/* Ends a suspended stack of a house that stops. */
void gy_stack_abort(struct gy_stack *stack, int error);

#endif
