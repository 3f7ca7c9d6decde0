/*
 * The stack of one message, from its dispatch to its end, across suspensions: reading the message,
 * answering it, asking others and waiting for what they answer.
 *
 * A handler that waits is written in one of two ways: with states, as a function that is called
 * again and looks at gyre_stack_state(); or straight on, with GYRE_BEGIN(), GYRE_AWAIT() and
 * GYRE_END(). In both, data that must survive the wait belongs in the frame: local variables do not
 * survive.
 */
#ifndef GYRE_STACK_H
#define GYRE_STACK_H

#include <errno.h>

#include <gyre/actor.h>

GYRE_BEGIN_DECLS

struct gy_promise;

/**
 * struct gyre_stack - one message on its way through a handler; use the accessors below
 * @message: the payload
 * @type: the type of the message; NULL where there is none, as in a mount without argument
 * @actor: the state of the actor
 * @frame: the frame of this message
 * @state: the state it was suspended with; 0 at the start
 */
struct gyre_stack {
	const void *message;
	const struct gyre_type *type;
	void *actor;
	void *frame;
	uint32_t state;
};

/**
 * struct gyre_future - the answer to an ask, or the end of a sleep
 * @promise: for the runtime
 * @id: for the runtime
 * @error: why the ask could not be made
 *
 * A future lives in the frame of the stack that waits for it, or in the state of its actor, where
 * the runtime finds it when the answer comes. A local variable of the handler is gone by then. With
 * `assertions` at cheap or full, a call that gets a future anywhere else ends the program. A
 * completed future may be read until the stack is suspended with another state than its present
 * one, or ends.
 */
struct gyre_future {
	struct gy_promise *promise;
	uint64_t id;
	int error;
};

/* ---- reading ---- */

/** gyre_state() - the state of the actor, of the size that its class declares */
static inline void *gyre_state(const struct gyre_stack *stack)
{
	return stack->actor;
}

/** gyre_frame() - the frame of this message, of the size that the class declares, zeroed at first
 */
static inline void *gyre_frame(const struct gyre_stack *stack)
{
	return stack->frame;
}

/** gyre_stack_state() - the state that gyre_suspend() was given; 0 at the start */
static inline uint32_t gyre_stack_state(const struct gyre_stack *stack)
{
	return stack->state;
}

/** gyre_message_id() - the type id of the message, for switch and GYRE_ID(); 0: no message */
static inline uint32_t gyre_message_id(const struct gyre_stack *stack)
{
	return stack->type == NULL ? 0 : stack->type->id;
}

/** gyre_message_as() - the message if it has the id of @type, else NULL; see gyre_message() */
static inline const void *gyre_message_as(const struct gyre_stack *stack,
					  const struct gyre_type *type)
{
	if (gyre_message_id(stack) != type->id) {
		return NULL;
	}
	if (stack->message == NULL) {
		__builtin_unreachable(); /* a message that is gone takes its type along */
	}
	return stack->message;
}

/** gyre_message() - the message as const struct NAME *, or NULL when it is of another type */
#define gyre_message(STACK, NAME) ((const struct NAME *)gyre_message_as((STACK), &gyre_type_##NAME))

/**
 * gyre_self() - the address of the running actor
 * @stack: the stack of the running handler
 *
 * The address stays the same to the end of the actor. Handlers of its channels may still run when
 * the actor has stopped: what they send comes from that address too, though mail to it is refused.
 *
 * Return: the address.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_self(const struct gyre_stack *stack);

/**
 * gyre_frame_bytes() - how large a frame the class of the running actor has
 * @stack: the stack of the running handler
 *
 * For code that does not know the class, and puts something into the frame.
 *
 * Return: @frame_bytes of the class, in bytes; 0 for none.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API size_t gyre_frame_bytes(const struct gyre_stack *stack);

/**
 * gyre_sender() - the address of the actor that sent the message
 * @stack: the stack of the running handler
 *
 * Return: the address; GYRE_NOBODY if no actor sent the message, and after gyre_take() or
 *   gyre_forward().
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_sender(const struct gyre_stack *stack);

/**
 * gyre_system_of() - the system that the running actor lives in
 * @stack: the stack of the running handler
 *
 * Return: the system.
 * Ownership: stays the program's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_system *gyre_system_of(const struct gyre_stack *stack);

/**
 * gyre_now() - the monotonic clock
 * @stack: the stack of the running handler
 *
 * Return: the clock in nanoseconds, read anew.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_now(const struct gyre_stack *stack);

/**
 * gyre_take() - takes the mail of a notice out of its stack, to pass it on
 * @stack: the stack of the running handler
 *
 * The payload may be changed through gyre_payload() before it is sent on. A mail that is kept must
 * be given away or freed before the actor stops, which may come at any time: see gyre_mail_keep().
 * Answers and notices of batches have gyre_future_take() and gyre_batch_take().
 *
 * Return: the mail, or NULL if there is none to take: for an ask or an event, and after the mail
 *   was taken or its payload was moved out.
 * Errors:
 *   NULL  there is none
 * Ownership: the caller's. The stack shows no message from then on.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_take(struct gyre_stack *stack);

/**
 * gyre_time_left() - how long the asker of the running message still waits, as far as is known
 * @stack: the stack of the running handler
 *
 * The time came with the ask, which has been on its way since: an asker may wait less long than
 * this says, never longer. An ask that was forwarded has what is left of the time of its first
 * asker. Of a batch, the asker counts that waits longest.
 *
 * A call that waits and names no time-out, as gyre_ask() with 0, gets the least of the default and
 * this time. A time-out that is named is taken as it is.
 *
 * Return: nanoseconds; 0 when the time is over; GYRE_FOREVER when the asker waits without a limit,
 *   and when nobody waits: for notices and events, and once the ask was answered or forwarded.
 * Ownership: a value.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API uint64_t gyre_time_left(const struct gyre_stack *stack);

/**
 * gyre_is_awaited() - whether anybody still waits for an answer to the running message
 * @stack: the stack of the running handler
 *
 * For work that takes long: what nobody waits for need not be done. An asker on the same loop is
 * known to wait or not; of others only the time is known, so true means that the answer may be
 * awaited.
 *
 * Return: false when the message is no ask, was answered or forwarded, when its time is over, or
 *   its asker has given it up; of a batch, when that holds of all its asks.
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API bool gyre_is_awaited(const struct gyre_stack *stack);

/* ---- ending ---- */

/** gyre_return() - the message is done, without an answer; an asker gets -ENOMSG */
static inline int gyre_return(struct gyre_stack *stack)
{
	(void)stack;
	return 0;
}

/**
 * gyre_throw() - the message has failed with a negative errno
 *
 * Askers see -EIO for -EINPROGRESS, with which a future says that there is no answer yet.
 */
static inline int gyre_throw(struct gyre_stack *stack, int error)
{
	(void)stack;
	return error < 0 ? error : -EINVAL;
}

/**
 * gyre_throw_with() - gyre_throw() with a message that says more than an errno
 * @stack: the stack of the running handler
 * @error: the negative errno
 * @mail: the message, made by gyre_new(); the failure is the same without, if it is NULL
 *
 * The asker of a failed ask reads the message by gyre_future_cause(), also on another node that
 * knows its type. Of a failed notice or event, or a failed hook, the supervision of the parent sees
 * it (gyre_failure_cause()), and so do those who watch the actor, if it ends with that failure
 * (gyre_terminated_cause()). Each asker of a batch gets a copy; a message that cannot be
 * copied is destroyed then.
 *
 * Return: @error, to be returned by the handler; -EINVAL in place of what is no negative errno.
 * Errors:
 *   -EINVAL  @error is no negative errno
 *   others   @error
 * Ownership: @mail is taken.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_throw_with(struct gyre_stack *stack, int error, struct gyre_mail *mail);

/**
 * gyre_reply() - answers an ask
 * @stack: the stack of the ask
 * @mail: the answer
 *
 * An ask is answered once. The answer goes out at once or, to another loop, when the handler
 * returns; it does not wait for a handler that suspends.
 *
 * Return: 0, to be returned by the handler, or a negative errno.
 * Errors:
 *   -EINVAL    the message is not an ask
 *   -EALREADY  it was answered or forwarded before; this answer is dropped and counted
 *   -ENOMEM    @mail is NULL: it could not be made; the asker gets -ENOMEM too
 *   -EPROTO    the question declares another type of answer; the asker gets -EPROTO too
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_reply(struct gyre_stack *stack, struct gyre_mail *mail);

/**
 * gyre_forward() - passes the running message on to another receiver, and is done with it
 * @stack: the stack of a notice or an ask
 * @to: an actor, a group or a channel, of this or of another node; a stale address is allowed
 *
 * The receiver sees the message as if its sender had sent it there: gyre_sender() is the first
 * sender, and the answer to an ask goes straight to the asker, who waits no longer than it meant
 * to. Messages that one actor forwards to one receiver are dispatched in the order of the calls.
 *
 * An ask that is lost on its way fails at once at its asker, as gyre_ask() says; a notice is with
 * the dead letters. The running actor hears of neither, and its own end changes nothing any more.
 *
 * To another node an ask goes by an actor of this node, which asks for the asker: its receiver sees
 * that one as the sender, and its answer comes back by this node. A notice from a node that the
 * receiver's has never met comes from GYRE_NOBODY.
 *
 * The stack shows no message from then on. It may go on, but an error that it then returns is that
 * of a notice: no asker hears of it.
 *
 * Return: 0, to be returned by the handler, or a negative errno.
 * Errors:
 *   -EINVAL    there is no message, or it is an event or a batch: see gyre_batch_forward(); or its
 *              payload was moved out
 *   -EALREADY  it was answered or forwarded before
 * Ownership: the message is taken, unless there is an error.
 * Context: loop thread, phases 2 and 3, inside a handler. Never blocks on a loop.
 * Since: 0.1
 */
GYRE_API int gyre_forward(struct gyre_stack *stack, struct gyre_address to);

/**
 * gyre_suspend() - waits until no promise of this stack is outstanding
 * @stack: the running stack
 * @state: not 0: what gyre_stack_state() shows when the handler is called again
 *
 * When the state changes, futures that were complete before this call may no longer be read.
 *
 * Return: what the handler must return at once.
 * Errors:
 *   -EDEADLK  no promise is outstanding: nothing would ever resume the stack
 *   -EINVAL   @state is 0
 * Ownership: the frame and the message stay until the stack ends.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_suspend(struct gyre_stack *stack, uint32_t state);

/**
 * gyre_suspend_any() - waits until any promise of this stack completes
 * @stack: the running stack
 * @state: not 0: what gyre_stack_state() shows when the handler is called again
 *
 * When the state changes, futures that were complete before this call may no longer be read.
 *
 * Return: what the handler must return at once.
 * Errors:
 *   -EDEADLK  no promise is outstanding: nothing would ever resume the stack
 *   -EINVAL   @state is 0
 * Ownership: the frame and the message stay until the stack ends.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_suspend_any(struct gyre_stack *stack, uint32_t state);

/* ---- asking ---- */

/**
 * gyre_ask() - sends a message that must be answered
 * @stack: the running stack, which will own the promise
 * @to: the receiver; a stale address is allowed
 * @mail: the question
 * @timeout_ns: how long the answer may take; 0 for the system's default, or what gyre_time_left()
 *   tells if that is less; GYRE_FOREVER for no limit
 * @ret_future: where the answer will be; in the frame of @stack, or the state of its actor
 *
 * The future always completes, with an answer or an error: -ETIMEDOUT, -ESRCH (no such actor),
 * -ESHUTDOWN (the receiver stopped), -ENOBUFS (its mailbox is full), -ENOSYS (it takes no asks),
 * -ENOMSG (it did not answer), -EPROTO (the answer has another type than the question declares), or
 * the errno that its handler failed with. For an actor of another node also -EHOSTDOWN,
 * -EHOSTUNREACH, -ECONNRESET (the ask or its answer may have been lost with a link), -EAGAIN (the
 * link is full) and -EADDRNOTAVAIL (no answer can come: this node does not listen, or the other
 * cannot dial it). The future never completes inside this call.
 *
 * Asks of one sender to one receiver are dispatched in the order of the calls, but futures complete
 * in the order of the answers. Between asks and notices there is no order:
 *
 * - An ask overtakes notices that wait for the receiver, also earlier ones of the same sender.
 * - A notice overtakes asks, also earlier ones of the same sender, when more of them wait than the
 *   receiver handles in one run (run_budget): notices come in between.
 * - An ask whose handler suspends is passed by later asks and notices, unless it is a barrier.
 * - An answer overtakes all asks and notices that wait for the asker.
 *
 * Where the order matters, send one kind, or wait for the answer before the next call.
 *
 * When the ask of a barrier times out, a cycle of waits that it is part of is looked for and
 * logged. Where the cycle leads to other loops, the time-out may be up to 0.1 s late.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EINVAL  @ret_future is NULL; nothing is sent
 *   -ENOMEM  there is no memory, or @mail is NULL
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left: nothing is
 *               sent
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		      uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_sleep() - a future that completes after a time
 * @stack: the running stack, which will own the promise
 * @delay_ns: how long; never less, and on an idle loop at most a timer tick more
 * @ret_future: completes without an error; in the frame of @stack, or the state of its actor
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EINVAL  @ret_future is NULL
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_sleep(struct gyre_stack *stack, uint64_t delay_ns,
			struct gyre_future *ret_future);

/**
 * gyre_cancel() - gives up one ask, sleep or other promise of the running stack
 * @stack: the running stack, which owns the promise
 * @future: a future that is outstanding
 *
 * The future shows -ECANCELED at once, and may be read as any that has completed. Who was asked
 * hears nothing of it; an answer that comes later is dropped and counted. What a call of file.h or
 * an offloaded piece of work does goes on.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EALREADY  it has completed, or the call that was to make it has failed
 *   -EINVAL    @future is NULL, or of another stack
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_cancel(struct gyre_stack *stack, const struct gyre_future *future);

/**
 * gyre_stop_gracefully() - stops an actor when it has finished its work, or when a time is over
 * @stack: the running stack, which will own the promise
 * @actor: the actor, of this or of another node; a stale address is allowed
 * @timeout_ns: the time from the arrival of the order at the actor; at its end the actor stops as
 *   by gyre_stop()
 * @ret_future: completes when the actor is gone, with its children and channels; in the frame of
 *   @stack. NULL if that is of no interest
 *
 * The actor first handles the notices that wait for it now, and asks that come meanwhile. Then it
 * takes no more of either, but its suspended messages may end; with the last of them it stops. The
 * future shows -ESRCH if it was gone before, and for an actor of another node also what gyre_ask()
 * does: -EHOSTDOWN when that node is lost, among others.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EINVAL  @actor is the running one, which cannot wait for its own end; a group, which is known
 *            at once only without @ret_future
 *   -ENOMEM  there is no memory
 *   -ESRCH   without @ret_future: it has stopped already (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stop_gracefully(struct gyre_stack *stack, struct gyre_address actor,
				  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_future_error() - how an ask ended
 * @future: a future that gyre_ask() or gyre_sleep() has set
 *
 * Return: 0 if it completed without an error, with or without an answer; -EINPROGRESS until it
 *   completes; else the negative errno that it failed with.
 * Errors:
 *   -EINPROGRESS  the promise is outstanding
 *   -ESTALE       the promise was recycled at a suspend
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns it.
 * Since: 0.1
 */
GYRE_API int gyre_future_error(const struct gyre_future *future);

/** gyre_future_failed() - whether an ask has ended without an answer */
static inline bool gyre_future_failed(const struct gyre_future *future)
{
	return gyre_future_error(future) < 0;
}

/**
 * gyre_future_answer() - the answer to an ask
 * @future: a future that gyre_ask() has set
 * @type: the type it must have
 *
 * Mostly called through gyre_future_get().
 *
 * Return: the payload, or NULL when there is no answer or it has another type.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with the promise, until the next suspend with another state or the stack's end.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns it.
 * Since: 0.1
 */
GYRE_API const void *gyre_future_answer(const struct gyre_future *future,
					const struct gyre_type *type);

/** gyre_future_get() - the answer as const struct NAME *, or NULL: gyre_future_get(&frame->price,
 * price)->cents
 */
#define gyre_future_get(FUTURE, NAME) \
	((const struct NAME *)gyre_future_answer((FUTURE), &gyre_type_##NAME))

/**
 * gyre_future_cause_as() - the message that an ask has failed with
 * @future: a future that gyre_ask() has set
 * @type: the type it must have
 *
 * Mostly called through gyre_future_cause().
 *
 * Return: the payload, or NULL when the ask has not failed by gyre_throw_with(), or with a message
 *   of another type.
 * Errors:
 *   NULL  there is none of that type
 * Ownership: stays with the promise, as the answer would.
 * Context: loop thread, phases 2 and 3, inside a handler of the stack that owns it.
 * Since: 0.1
 */
GYRE_API const void *gyre_future_cause_as(const struct gyre_future *future,
					  const struct gyre_type *type);

/** gyre_future_cause() - the message that an ask has failed with as const struct NAME *, or NULL */
#define gyre_future_cause(FUTURE, NAME) \
	((const struct NAME *)gyre_future_cause_as((FUTURE), &gyre_type_##NAME))

/* ---- straight on ---- */

/**
 * gyre_await() - gyre_suspend() for GYRE_AWAIT(), always with a change of state
 * @stack: the running stack
 * @point: where to resume, not 0
 *
 * Return: 0 when no promise is outstanding and the handler goes on at once; else what the handler
 *   must return at once.
 * Errors:
 *   -EINVAL  @point is 0
 * Ownership: the frame and the message stay until the stack ends.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_await(struct gyre_stack *stack, uint32_t point);

/** GYRE_AWAIT_ALL_MAX - the most futures that one GYRE_AWAIT_ALL() or GYRE_AWAIT_ANY() names */
#define GYRE_AWAIT_ALL_MAX 4096U

/**
 * gyre_await_all() - waits until given futures have completed, for GYRE_AWAIT_ALL()
 * @stack: the running stack
 * @point: where to resume, not 0: what gyre_stack_state() then shows
 * @futures: pointers to futures of this stack, some of which may be the same
 * @count: how many, from 1 to GYRE_AWAIT_ALL_MAX
 *
 * Other promises of the stack may stay outstanding; they do not resume it. When the handler goes
 * on, all of @futures may be read, also those that were complete before this call. If it has to
 * wait, other futures that were complete before may no longer be read.
 *
 * A future has completed when it shows no -EINPROGRESS: with an answer, with an error, or since the
 * call that was to make its promise has failed. Each shows its own end by gyre_future_error(). With
 * asks that have time-outs the wait is as long as the longest of them, at most.
 *
 * Return: 0 when all have completed and the handler goes on at once; else what the handler must
 *   return at once.
 * Errors:
 *   -EINVAL  @point or @count is out of its bounds, @futures or one of them is NULL, or a future of
 *            another stack, in the state of the actor, is among them
 * Ownership: the frame and the message stay until the stack ends. @futures is read only inside of
 *   the call.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_await_all(struct gyre_stack *stack, uint32_t point,
			    const struct gyre_future *const *futures, uint32_t count);

/**
 * gyre_await_any() - waits until one of given futures has completed, for GYRE_AWAIT_ANY()
 * @stack: the running stack
 * @point: where to resume, not 0: what gyre_stack_state() then shows
 * @futures: pointers to futures of this stack, some of which may be the same
 * @count: how many, from 1 to GYRE_AWAIT_ALL_MAX
 *
 * As gyre_await_all(), but the handler goes on as soon as one of @futures has completed, at once if
 * one has already. The others stay outstanding; see gyre_cancel().
 *
 * Return: 0 when one has completed and the handler goes on at once; else what the handler must
 *   return at once.
 * Errors:
 *   -EINVAL  @point or @count is out of its bounds, @futures or one of them is NULL, or a future of
 *            another stack, in the state of the actor, is among them
 * Ownership: the frame and the message stay until the stack ends. @futures is read only inside of
 *   the call.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_await_any(struct gyre_stack *stack, uint32_t point,
			    const struct gyre_future *const *futures, uint32_t count);

/** GYRE_BEGIN() - the first statement of a handler that awaits */
#define GYRE_BEGIN(STACK)                  \
	switch (gyre_stack_state(STACK)) { \
	case 0:

/**
 * GYRE_AWAIT() - makes promises, then waits until no promise of the stack is outstanding
 * @STACK: the running stack
 * @CALL: gyre_ask(), gyre_sleep(), or an expression that makes several promises; if it is negative,
 *   or nothing is outstanding after it, the handler goes on without waiting
 *
 * Use at most one on a source line, and none inside a switch of the handler.
 */
#define GYRE_AWAIT(STACK, CALL)                                                 \
	do {                                                                    \
		if ((CALL) >= 0) {                                              \
			const int gyre_result_ = gyre_await((STACK), __LINE__); \
                                                                                \
			if (gyre_result_ != 0) {                                \
				return gyre_result_;                            \
			}                                                       \
		}                                                               \
		__attribute__((fallthrough));                                   \
	case __LINE__:;                                                         \
	} while (0)

/**
 * GYRE_AWAIT_ALL() - waits until all of some futures have completed: (stack, &frame->a, &frame->b)
 * @STACK: the running stack
 * @...: pointers to futures of the stack, at most GYRE_AWAIT_ALL_MAX
 *
 * Answered, failed or timed out: each future tells its own end, and may still be read if it had
 * completed before. Promises of the stack that are not named may stay outstanding; wait for them by
 * another GYRE_AWAIT_ALL(), since GYRE_AWAIT() ends what completed meanwhile. For futures in an
 * array see gyre_await_all().
 *
 * Use at most one on a source line, and none inside a switch of the handler.
 */
#define GYRE_AWAIT_ALL(STACK, ...) GYRE_AWAIT_SOME_(gyre_await_all, (STACK), __VA_ARGS__)

/**
 * GYRE_AWAIT_ANY() - waits until one of some futures has completed: (stack, &frame->a, &frame->b)
 * @STACK: the running stack
 * @...: pointers to futures of the stack, at most GYRE_AWAIT_ALL_MAX
 *
 * Goes on at once if one has completed already. gyre_future_error() shows -EINPROGRESS for the
 * others, which stay outstanding; give them up by gyre_cancel(). For futures in an array see
 * gyre_await_any().
 *
 * Use at most one on a source line, and none inside a switch of the handler.
 */
#define GYRE_AWAIT_ANY(STACK, ...) GYRE_AWAIT_SOME_(gyre_await_any, (STACK), __VA_ARGS__)

#define GYRE_AWAIT_SOME_(AWAIT, STACK, ...)                                                        \
	do {                                                                                       \
		{                                                                                  \
			const struct gyre_future *const gyre_futures_[] = { __VA_ARGS__ };         \
			const int gyre_result_ =                                                   \
				AWAIT((STACK), __LINE__, gyre_futures_,                            \
				      (uint32_t)(sizeof(gyre_futures_) / sizeof(*gyre_futures_))); \
                                                                                                   \
			if (gyre_result_ != 0) {                                                   \
				return gyre_result_;                                               \
			}                                                                          \
		}                                                                                  \
		__attribute__((fallthrough));                                                      \
	case __LINE__:;                                                                            \
	} while (0)

/** GYRE_END() - the last statement of a handler that awaits; reaching it is gyre_return() */
#define GYRE_END(STACK) \
	}               \
	return gyre_return(STACK)

GYRE_END_DECLS

#endif
