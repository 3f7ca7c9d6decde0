/*
 * Promises: outstanding asks and sleeps of a stack.
 *
 * A promise stands in one of two chains of its stack: those outstanding, and those completed, whose
 * results wait to be read. Both begin with the newest. A stack ends with both chains emptied.
 *
 * In the pool a promise has no @previous and its timer is not started, so that those who take one
 * write only what differs.
 */
#ifndef GY_ACTOR_STACK_PROMISE_H
#define GY_ACTOR_STACK_PROMISE_H

#include <gyre/stack.h>

#include "actor/mail/mail.h"
#include "base/list.h"
#include "loop/wheel.h"

struct gy_home;
struct gy_house;
struct gy_stack;

/* In place of an error that is lost, of asks whose receiver is to stop if nobody waits any more;
 * see bound_ask.h. */
enum {
	GY_LOST_STOPS = 1,
	GY_LOST_OWED_AND_READ, /* that order waits for memory; the stack reads the end meanwhile */
	GY_LOST_RELEASED,      /* one of the two has done with the promise */
};

struct gy_promise {
	struct gy_stack *stack; /* the first, since a check of the pool writes here */
	/* Its place, which use of the memory this is, and whether it has completed: see
	 * promise_places.h. The next use's while in the pool. Atomic: an old future may be read on
	 * another loop than the one that has the promise now. */
	uint64_t id;
	struct gy_house *house; /* atomic, likewise: whose actor asks, or was the last to */
	/* Of one that has completed: owned, the reply or the cause of an error; NULL for an error
	 * without a cause, for a sleep, and when it was taken. */
	struct gyre_mail *answer;
	struct gy_promise *next; /* in the stack's outstanding or completed */
	/* In those outstanding, NULL for the first; or in those for which the home owes a stop. */
	struct gy_promise *previous;
	/* These 8 bytes are cleared as one. */
	int16_t lost; /* the error to tell as soon as there is memory; or 0; or one of GY_LOST_ */
	int16_t error;
	bool sleeps;
	bool cycle_checked; /* a cycle of waits has been looked for, at the time-out */
	bool is_awaited;    /* the mark of those that the stack waits for; see await.c */
	union {
		/* By gy_home_number(), of an ask that did not reach its receiver at once: it tells
		 * which asks to another node are the later ones. */
		uint64_t number;
		struct gy_promise *next_spare;
	};
	struct gy_origin to; /* who was asked; nobody for a sleep */
	struct gy_timer timer;
};

/* Completes a promise with @mail, taken, and resumes its stack if that is due. False if nobody
 * waits. */
bool gy_promise_complete(struct gy_house *house, struct gyre_mail *mail);
/* The same for the replies that wait in the lane of a running house, which is not empty and holds
 * nothing else, as far as the budget goes. Returns how many were waited for. */
uint32_t gy_promises_complete(struct gy_home *home, struct gy_house *house);
/* Asks a house itself by an order, which is answered without a time-out. @mail NULL: no memory. */
int gy_ask_order(struct gy_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		 struct gyre_future *ret_future);
/* A promise that no actor was asked for, but that is answered by mail. Returns its id, or 0 when
 * there is no memory. */
uint64_t gy_promise_open(struct gy_stack *stack, uint64_t timeout_ns,
			 struct gyre_future *ret_future);
/* The promise that was just opened is an ask to another node, and ends with that. */
void gy_promise_of_node(const struct gyre_future *future, uint16_t node);
/* Fails the promise with @error as soon as there is memory for the mail that tells so. */
void gy_promise_fail_later(struct gy_promise *promise, int error);
/* The search for a cycle of waits is over, for which the time-out of that ask was held back. */
void gy_promise_cycle_checked(struct gy_house *house, uint64_t ask_id);

/* A home ends: frees the promises that no pool has; the shared ones with the last home. */
void gy_promises_fini(struct gy_home *home);
/* Empties both chains; results that were not read are freed. */
void gy_promises_clear(struct gy_stack *stack);
/* Completes one that is outstanding with -ECANCELED, for the handler that runs. */
void gy_promise_cancel(struct gy_stack *stack, struct gy_promise *promise);
/* Empties the chain of completed promises. */
void gy_promises_recycle(struct gy_stack *stack);
/* The same, but those that are marked stay there, without the mark. */
void gy_promises_recycle_others(struct gy_stack *stack);
/* Removes the marks of all promises. */
GY_COLD void gy_promises_remove_marks(struct gy_stack *stack);
/* Takes the time-outs of outstanding promises to another wheel: packed here, unpacked there. */
void gy_promises_pack(struct gy_stack *stack, struct gy_wheel *wheel, uint64_t now_ns);
void gy_promises_unpack(struct gy_stack *stack, struct gy_wheel *wheel);

#endif
