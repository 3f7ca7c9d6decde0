/*
 * The life of a stack. Each loop has one scratch stack a size, that serves message after message;
 * only when a handler suspends is it kept, and replaced from the pool at the next message.
 */
#include "actor/stack/stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "actor/class_log.h"
#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/path.h"
#include "actor/life/restart.h"
#include "actor/mail/send.h"
#include "actor/misuse.h"
#include "actor/stack/envelope.h"
#include "actor/stack/promise_pool.h"

enum { ERRNO_MAX = 4095, TEXT_BYTES = 512 };

static struct gy_stack *make(struct gy_home *home, uint8_t size_class)
{
	struct gy_stack *stack = (struct gy_stack *)gy_pool_get(&home->stacks.pools[size_class]);

	if (stack == NULL) {
		return NULL;
	}
	gy_assume(size_class < GY_SIZES_COUNT); /* frames are no larger */
	*stack = (struct gy_stack){ .home = home,
				    .size_class = size_class,
				    .frame_room = (uint32_t)(gy_sizes_bytes(size_class) -
							     sizeof(*stack)) };
	stack->head.frame = stack->frame;
	gy_list_init(&stack->item);
	return stack;
}

struct gy_stack *gy_stack_make_scratch(struct gy_home *home, uint8_t size_class)
{
	struct gy_stack *stack = make(home, size_class);

	home->scratch[size_class] = stack;
	return stack;
}

struct gy_stack *gy_stack_make_kept(struct gy_home *home, struct gy_house *house,
				    size_t frame_bytes)
{
	struct gy_stack *stack = make(home, gy_sizes_class(sizeof(*stack) + frame_bytes));

	if (stack != NULL) {
		memset(stack->frame, 0, frame_bytes);
		stack->house = house;
		stack->head.actor = house->state;
		stack->dirty = true;
		stack->suspended = true;
		gy_list_append(&house->suspended, &stack->item);
	}
	return stack;
}

/* The handler waits: the stack is kept until its promises complete. */
static void keep(struct gy_stack *stack)
{
	struct gy_house *house = stack->house;

	if (stack->suspended) {
		return;
	}
	gy_assert(stack->home->scratch[stack->size_class] == stack);
	stack->suspended = true;
	stack->home->scratch[stack->size_class] = NULL;
	gy_list_append(&house->suspended, &stack->item);
}

static void end_barrier(struct gy_stack *stack)
{
	struct gy_house *house = stack->house;

	if (house->extra == NULL || house->extra->barrier != stack) {
		return;
	}
	house->extra->barrier = NULL;
	gy_house_remove_reason(house, GY_CLOSED_BY_BARRIER);
}

/* A mount that has waited has ended. */
static GY_COLD void end_mount(struct gy_house *house)
{
	gy_house_remove_reason(house, GY_CLOSED_BY_HOOK);
	if (house->channels_actor && house->extra != NULL && house->extra->endpoints != NULL) {
		house->home->channel_ops->release(house);
	}
}

void gy_stack_clean(struct gy_stack *stack)
{
	bool hook = stack->hook;

	gy_promises_clear(stack);
	stack->head.state = 0;
	stack->owed = 0;
	stack->awaited_count = 0;
	stack->hook = false;
	stack->request = false;
	stack->forwarded = false;
	stack->marked_any = false;
	stack->dirty = false;
	stack->given = false;
	stack->marked = false;
	stack->by_quorum = false;
	stack->suspending = false;
	if (!stack->suspended) {
		return;
	}
	gy_assert(stack->outstanding == NULL && stack->completed == NULL);
	stack->suspended = false;
	gy_list_remove(&stack->item);
	end_barrier(stack);
	if (hook && !gy_restart_hook_ended(stack)) {
		end_mount(stack->house);
	}
	if (gy_list_empty(&stack->house->suspended) && gy_graceful_stop_is_closing(stack->house)) {
		gy_house_request_stop(stack->house, 0);
	}
	if (stack->home->scratch[stack->size_class] == NULL) {
		stack->home->scratch[stack->size_class] = stack;
	} else {
		gy_pool_put_any(&stack->home->stacks.pools[stack->size_class], stack);
	}
}

static const char *hook_name(const struct gy_stack *stack)
{
	if (!stack->hook) {
		return "handler";
	}
	return stack->handler == stack->house->class_info->class->mount ? "mount" : "restart hook";
}

/* Words for an error that lead to its cause. */
static const char *cause_of(int error)
{
	return error == -EDEADLK ? "it waited though nothing was outstanding" : strerror(-error);
}

/* The asker of a failed ask is told; any other failure is the actor's own affair. Takes the cause.
 */
static void failed(struct gy_stack *stack, int error, struct gy_cause *cause)
{
	struct gy_house *house = stack->house;
	struct gy_home *home = stack->home;
	const char *message = stack->head.type == NULL ? NULL : stack->head.type->name;

	gy_count(&home->counters.failed, 1);
	if (stack->mail != NULL ? stack->mail->node.kind == GY_MAIL_ASK
				: stack->batch != NULL && stack->batch->asks) {
		gy_assert(cause == NULL);
		return;
	}
	gy_house_set_cause(house, error, cause);
	gy_house_warn(home, house, "its %s%s%s failed: %s", hook_name(stack),
		      message == NULL ? "" : " of ", message == NULL ? "" : message,
		      cause_of(error));
	if (stack->hook) {
		gy_house_hook_failed(house, error);
	} else {
		gy_house_failed(house, error);
	}
}

/* Returns the result that counts: a result that is no errno counts as -EINVAL. */
static GY_COLD int end_badly(struct gy_stack *stack, int result)
{
	struct gy_cause *cause = stack->cause;

	if (result > 0 || result < -ERRNO_MAX) {
		gy_warn_result(stack, result);
		result = -EINVAL;
	}
	if (cause != NULL) {
		stack->cause = NULL;
		stack->caused = false;
	}
	if (result < 0) {
		failed(stack, result, cause);
	} else {
		gy_cause_unref(cause); /* it was thrown, and not returned */
	}
	if (stack->owed != 0 && stack->mail != NULL) {
		if (result == 0 && stack->owed == ENOMSG) {
			gy_warn_unanswered(stack);
		}
		gy_fail_ask(stack->home, stack->mail, result < 0 ? result : -(int)stack->owed);
		stack->mail = NULL;
		stack->owed = 0;
	}
	return result;
}

void gy_stack_returned(struct gy_stack *stack, int result)
{
	bool envelope = stack->owed == GY_OWES_ENVELOPE && gy_envelope_end(stack);

	stack->given = false;
	if (gy_unlikely(stack->piping)) {
		stack->home->channel_ops->returned(stack);
	}
	if (stack->suspending) {
		stack->suspending = false;
		if (gy_likely(result == GY_SUSPENDED)) {
			if (envelope) {
				gy_envelope_send_apart(stack);
			}
			keep(stack);
			return;
		}
	}
	if (gy_unlikely(result != 0 || stack->owed != 0 || stack->caused)) {
		result = end_badly(stack, result);
	}
	if (envelope) {
		gy_envelope_send(stack);
	} else if (gy_likely(stack->mail != NULL)) {
		gy_mail_put(stack->home, stack->mail);
		stack->mail = NULL;
	}
	if (stack->batch != NULL) {
		if (result == 0) {
			gy_warn_unanswered(stack);
		}
		gy_batch_end(stack, result < 0 ? result : -ENOMSG);
	}
	if (stack->dirty) {
		gy_stack_clean(stack);
	}
}

void gy_stack_abort(struct gy_stack *stack, int error)
{
	gyre_frame_clean_fn frame_clean = stack->house->class_info->class->frame_clean;

	if (frame_clean != NULL) {
		frame_clean(stack->head.frame, stack->head.actor);
	}
	if (stack->batch != NULL) {
		gy_batch_end(stack, error);
	}
	if (stack->cause != NULL) {
		gy_cause_unref(stack->cause);
		stack->cause = NULL;
		stack->caused = false;
	}
	if (stack->owed != 0) {
		gy_fail_ask(stack->home, stack->mail, error);
		stack->mail = NULL;
	}
	if (stack->mail != NULL) {
		gy_mail_put(stack->home, stack->mail);
		stack->mail = NULL;
	}
	gy_stack_clean(stack);
}

void gy_stack_leave_pipeline(struct gy_stack *stack)
{
	gy_assert(!stack->suspended && stack->mail == NULL);
	gy_cause_unref(stack->cause);
	stack->cause = NULL;
	stack->caused = false;
	gy_stack_clean(stack);
}

int gy_stack_suspend(struct gy_stack *stack, uint32_t state, uint32_t awaited_count)
{
	gy_assert(state != 0 && stack->outstanding != NULL);
	stack->head.state = state;
	stack->awaited_count = awaited_count;
	stack->suspending = true;
	return GY_SUSPENDED;
}

static GY_COLD int wait_for_nothing(const struct gy_stack *stack, uint32_t state)
{
	if (state == 0) {
		return -EINVAL;
	}
	gy_warn_endless_wait(stack);
	return -EDEADLK;
}

static __attribute__((noinline)) int recycle_all(struct gy_stack *stack)
{
	gy_promises_recycle(stack);
	return GY_SUSPENDED;
}

/* Recycles what has completed, most often a single promise; returns what a handler that waits does,
 * so that the call of the other function is the last. */
static inline int recycle(struct gy_stack *stack)
{
	struct gy_promise *promise = stack->completed;

	if (gy_unlikely(promise->next != NULL) ||
	    gy_unlikely(!gy_promise_recycle_plainly(stack->home, promise))) {
		return recycle_all(stack);
	}
	stack->completed = NULL;
	return GY_SUSPENDED;
}

static inline int suspend(struct gy_stack *stack, uint32_t state, uint32_t awaited_count,
			  bool change)
{
	if (gy_unlikely(state == 0) || gy_unlikely(stack->outstanding == NULL)) {
		return wait_for_nothing(stack, state);
	}
	gy_stack_suspend(stack, state, awaited_count);
	if (change && stack->completed != NULL) {
		return recycle(stack);
	}
	return GY_SUSPENDED;
}

int gyre_suspend(struct gyre_stack *stack, uint32_t state)
{
	return suspend(gy_stack_of(stack), state, 0, stack->state != state);
}

int gyre_suspend_any(struct gyre_stack *stack, uint32_t state)
{
	return suspend(gy_stack_of(stack), state, GY_AWAIT_ANY, stack->state != state);
}

int gyre_await(struct gyre_stack *stack, uint32_t point)
{
	struct gy_stack *s = gy_stack_of(stack);

	return s->outstanding == NULL && point != 0 ? 0 : suspend(s, point, 0, true);
}

/*
 * Leaves the error to the end of the handler. Each ask of a batch may have an error of its own: it
 * stands in place of the deadline, which an ask that is being handled does not need.
 */
static GY_COLD void owe(struct gy_stack *stack, struct gyre_mail *ask, int error)
{
	struct gy_batch *batch = stack->batch;

	for (uint32_t i = 0; batch != NULL && stack->owed == 0 && i < batch->count; i++) {
		if (batch->mails[i] != NULL) {
			batch->mails[i]->deadline = 0;
		}
	}
	stack->owed = (uint16_t)-error;
	if (batch != NULL) {
		ask->deadline = (uint32_t)-error;
	}
}

int gy_answer_error(struct gy_stack *stack, struct gyre_mail *ask, int error)
{
	struct gyre_mail *mail = gy_mail_get(stack->home, &gy_type_exception);

	if (mail == NULL) {
		owe(stack, ask, error);
		return 0;
	}
	mail->node.kind = GY_MAIL_EXCEPTION;
	mail->ask_id = ask->ask_id;
	gy_mail_from_nobody(mail);
	((struct gy_exception *)gyre_payload(mail))->error = error;
	(void)gy_send(stack->home, gy_mail_sender(ask), mail, GY_LANE_EXCEPTION);
	ask->ask_id = 0;
	return 0;
}

/*
 * Refuses an answer of the wrong type. The asker relies on the type that the question declares, so
 * it gets -EPROTO; the log names the answering actor, whose fault it is. At assertions=full the
 * program ends here.
 */
static GY_COLD int refuse_type(struct gy_stack *stack, struct gyre_mail *ask,
			       struct gyre_mail *mail)
{
	struct gy_home *home = stack->home;
	char text[TEXT_BYTES];

	(void)snprintf(text, sizeof(text), "answers %s with %s, but its answer is %s",
		       ask->type->name, mail->type->name, ask->type->answer->name);
	gy_class_warn(home, stack->house->class_info, "%s", text);
#if GY_ASSERT_LEVEL >= 2
	gy_assert_failed(text, __FILE__, __LINE__);
#else
	gy_mail_put(home, mail);
	(void)gy_answer_error(stack, ask, -EPROTO);
	return -EPROTO;
#endif
}

int gy_answer(struct gy_stack *stack, struct gyre_mail *ask, struct gyre_mail *mail)
{
	struct gy_home *home = stack->home;
	int result; /* an answer is never refused */

	if (gy_unlikely(ask->ask_id == 0)) {
		gy_warn_second_answer(stack, ask, mail);
		if (!gy_mail_is_missing(mail)) {
			gy_count(&home->counters.sent, 1);
			mail->node.kind = GY_MAIL_REPLY;
			gy_mail_from(mail, stack->house);
			gy_drop(home, mail, gy_mail_sender(ask), GYRE_DROP_SECOND, 0);
		}
		return -EALREADY;
	}
	if (gy_mail_is_missing(mail)) {
		(void)gy_answer_error(stack, ask, gy_mail_report_no_memory(mail));
		return gy_mail_report_no_memory(mail);
	}
	if (ask->type->answer != NULL &&
	    gy_unlikely(!gy_type_equal(ask->type->answer, mail->type))) {
		return refuse_type(stack, ask, mail);
	}
	mail->node.kind = GY_MAIL_REPLY;
	mail->ask_id = ask->ask_id;
	gy_mail_from(mail, stack->house);
	ask->ask_id = 0;
	if (!gy_send_here(home, stack->house, gy_mail_sender(ask), mail, GY_LANE_REPLY, &result)) {
		gy_envelope_answer(stack, ask, mail);
	}
	return 0;
}

int gy_answer_forwarded(struct gy_stack *stack, struct gyre_mail *mail)
{
	struct gy_home *home = stack->home;

	gy_warn_forwarded(stack, mail);
	if (!gy_mail_is_missing(mail)) {
		gy_count(&home->counters.sent, 1);
		mail->node.kind = GY_MAIL_REPLY;
		gy_mail_from(mail, stack->house);
		gy_drop(home, mail, GYRE_NOBODY, GYRE_DROP_SECOND, 0);
	}
	return -EALREADY;
}

/*
 * Answers an asker on this loop to which the last mail of the actor went too, where nothing is
 * missing or special: all of that is known before anything is done. @ask is that of the stack.
 */
static inline bool reply_here(struct gy_stack *stack, struct gyre_mail *ask, struct gyre_mail *mail)
{
	struct gy_home *home = stack->home;
	struct gy_house *house = stack->house;
	struct gy_house *asker = house->recent;

	if (gy_unlikely(ask == NULL) || gy_unlikely(ask->node.kind != GY_MAIL_ASK) ||
	    gy_unlikely(ask->ask_id == 0) || gy_unlikely(ask->type->answer != NULL) ||
	    gy_mail_is_missing(mail) || gy_unlikely(mail->node.kind != GY_NODE_NEW) ||
	    gy_unlikely(!gy_mail_is_from_here(home, ask)) ||
	    gy_unlikely(!gy_mail_is_from_house(asker, ask))) {
		return false;
	}
	mail = gy_mail_given_new(home, mail);
	mail->node.kind = GY_MAIL_REPLY;
	mail->ask_id = ask->ask_id;
	gy_mail_from(mail, house);
	ask->ask_id = 0;
	stack->owed = 0;
	gy_count(&home->counters.sent, 1);
	gy_house_put(home, asker, mail, GY_LANE_REPLY);
	return true;
}

static __attribute__((noinline)) int reply_otherwise(struct gyre_stack *stack,
						     struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);

	if (s->mail != NULL && gy_house_finds_another(s->home, s->house, gy_mail_sender(s->mail)) &&
	    reply_here(s, s->mail, mail)) {
		return 0;
	}
	if (gy_unlikely(s->mail == NULL || s->mail->node.kind != GY_MAIL_ASK)) {
		if (s->forwarded) {
			return gy_answer_forwarded(s, mail);
		}
		gyre_mail_destroy(stack, mail);
		return -EINVAL;
	}
	if (gy_likely(s->mail->ask_id != 0)) {
		s->owed = 0; /* else the first answer may still stand here */
	}
	return gy_answer(s, s->mail, gy_mail_given(s->home, mail));
}

int gyre_reply(struct gyre_stack *stack, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);

	if (gy_likely(reply_here(s, s->mail, mail))) {
		return 0;
	}
	return reply_otherwise(stack, mail);
}

size_t gyre_frame_bytes(const struct gyre_stack *stack)
{
	return gy_stack_of_const(stack)->house->class_info->frame_bytes;
}

struct gyre_address gyre_self(const struct gyre_stack *stack)
{
	const struct gy_house *house = gy_stack_of_const(stack)->house;

	return gy_address_shown(house->home, gy_house_address(house));
}

struct gyre_address gyre_sender(const struct gyre_stack *stack)
{
	const struct gy_stack *s = gy_stack_of_const(stack);

	return s->mail == NULL ? GYRE_NOBODY : gy_sender_shown(s->home, s->mail);
}

struct gyre_system *gyre_system_of(const struct gyre_stack *stack)
{
	return gy_stack_of_const(stack)->home->options.system;
}

uint64_t gyre_now(const struct gyre_stack *stack)
{
	return gy_clock_ns(&gy_stack_of_const(stack)->home->loop.clock);
}
