/*
 * The runtime's side of a stack, and its promises.
 *
 * Promises stand in two chains of their stack: those outstanding, which are also in the house's
 * hash table, and those completed, whose results wait to be read. A stack ends with both chains
 * emptied.
 */
#ifndef GY_ACTOR_STACK_H
#define GY_ACTOR_STACK_H

#include <string.h>

#include "actor/house.h"

/* The messages of a batch stack, owned. An ask that was answered has lost its id. */
struct gy_batch {
	uint32_t count;
	uint32_t max;
	bool asks;
	uint8_t size_class;
	struct gyre_mail *mails[];
};

enum { GY_FRAME_ALIGN = 16 };

struct gy_stack {
	struct gyre_stack head; /* what users' accessors read */
	struct gy_home *home;
	struct gy_house *house;
	struct gyre_mail *mail; /* the message, owned; NULL when there is none */
	struct gy_batch *batch; /* of a batch handler, else NULL; then also dirty */
	gyre_handler_fn handler;
	struct gy_list outstanding;
	struct gy_list completed;
	struct gy_list item; /* in house->suspended */
	uint32_t owed; /* an answer: the errno that the asker gets without one; 0 when none is */
	uint8_t size_class;
	bool mount;	 /* of the mount hook: a failure stops the actor; then also dirty */
	bool dirty;	 /* has promises, or had: it must be cleaned at its end */
	bool suspended;	 /* the handler waits, or did */
	bool any;	 /* one completion is enough to resume */
	bool suspending; /* gyre_suspend() was called in this run of the handler; then also dirty */
	unsigned char frame[] __attribute__((aligned(GY_FRAME_ALIGN)));
};

struct gy_promise {
	struct gy_table_item item; /* its key is the ask's id */
	struct gy_list link;	   /* in the stack's outstanding or completed */
	struct gy_stack *stack;
	struct gyre_mail *answer; /* owned; NULL while outstanding, and for an error or a sleep */
	/* Tells this use of the memory from all others; 0 while in the pool. Atomic: who asks by an
	 * old future may be on another loop by now than the promise. */
	uint64_t serial;
	int error;
	bool completed;
	bool sleeps;
	bool looked;	     /* for a cycle of waits, at the time-out */
	struct gy_origin to; /* who was asked; nobody for a sleep */
	int lost;	     /* the error that there was no memory to tell; 0 for none */
	struct gy_timer timer;
};

static inline struct gy_stack *gy_stack_of(struct gyre_stack *stack)
{
	return gy_container_of(stack, struct gy_stack, head);
}

static inline const struct gy_stack *gy_stack_of_const(const struct gyre_stack *stack)
{
	return gy_container_of(stack, const struct gy_stack, head);
}

/* A new scratch stack of a size; NULL without memory. */
GY_COLD struct gy_stack *gy_stack_make_scratch(struct gy_home *home, uint8_t size_class);

/* A small one as a whole number of what it is aligned to, for which it has room: without a call. */
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

/* A stack that is kept until its end, as if it had been suspended already: for a message that
 * begins while the scratch stack may be in use. NULL without memory. */
struct gy_stack *gy_stack_make_kept(struct gy_home *home, struct gy_house *house,
				    size_t frame_bytes);

/* What a handler returned, where that is more than 0 from a stack that is as good as new. */
void gy_stack_returned(struct gy_stack *stack, int result);

/* Runs the handler, from the start or after a suspension, and does what it returned. */
static inline void gy_stack_call(struct gy_stack *stack)
{
	int result = stack->handler(&stack->head);

	if (gy_likely(result == 0 && !stack->dirty && stack->mail != NULL)) {
		gy_mail_put(stack->home, stack->mail);
		stack->mail = NULL;
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
 * Answers with an error. The handler may still read the question, so that takes a mail of its own;
 * without one, the handler's end tells that error. Returns 0.
 */
int gy_answer_error(struct gy_stack *stack, struct gyre_mail *ask, int error);
/* For an answer of the wrong type: frees it, tells the asker and the log. Returns -EPROTO. */
GY_COLD int gy_answer_refuse_type(struct gy_stack *stack, struct gyre_mail *ask,
				  struct gyre_mail *mail);

/* An empty batch for @house; NULL when there is no memory. */
struct gy_batch *gy_batch_make(struct gy_house *house, bool asks);
/* Runs the handler for a batch, which is taken. How many messages were handled: all or, for lack of
 * memory, none. */
uint32_t gy_batch_run(struct gy_house *house, struct gy_batch *batch);
/* Answers what is unanswered with @error, and frees the messages. */
void gy_batch_end(struct gy_stack *stack, int error);

/* Makes the stack as good as new, and scratch again or free. */
void gy_stack_clean(struct gy_stack *stack);
/* Ends a suspended stack of a house that stops. */
void gy_stack_abort(struct gy_stack *stack, int error);

/* Completes a promise with @mail, taken, and resumes its stack if that is due. False if nobody
 * waits. */
bool gy_promise_complete(struct gy_house *house, struct gyre_mail *mail);
/* Sends an order to a house, which it answers in its time; NULL is no memory. */
int gy_ask_order(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		 struct gyre_future *ret_future);
/* A promise that no actor was asked for, but somebody will answer by mail; its id, or 0 when there
 * is no memory. */
uint64_t gy_promise_open(struct gy_stack *stack, uint64_t timeout_ns,
			 struct gyre_future *ret_future);
/* What was just opened is an ask to another node itself, and ends with it. */
void gy_promise_of_node(const struct gyre_future *future, uint16_t node);
/* It fails with @error as soon as there is memory for the mail that tells so. */
void gy_promise_fail_later(struct gy_promise *promise, int error);
/* Frees those that no pool has. */
void gy_promises_fini(struct gy_home *home);
/* Empties both chains; results that were not read are freed. */
void gy_promises_clear(struct gy_stack *stack);
void gy_promises_recycle(struct gy_stack *stack);
/* Takes the time-outs of what is outstanding to another loop's wheel. */
void gy_promises_pack(struct gy_stack *stack, struct gy_wheel *wheel, uint64_t now_ns);
void gy_promises_unpack(struct gy_stack *stack, struct gy_wheel *wheel);

/* The look for a cycle of waits, for which the time-out of that ask was held back, is over. */
void gy_promise_was_read(struct gy_house *house, uint64_t ask_id);

/* ---- ask_cycle.c ---- */

/*
 * An ask has timed out: logs the cycle of waits that it is part of, if it is. Whether that is still
 * under way, on another loop, and needs the cycle to stand: gy_promise_was_read() follows.
 */
GY_COLD bool gy_ask_cycle_check(const struct gy_promise *promise);
/* Takes the mail. */
void gy_ask_cycle_probe_arrived(struct gy_home *home, struct gyre_mail *mail);

#endif
