/*
 * The words for mistakes. Warnings change nothing about the message; a mistake that corrupts memory
 * ends the program.
 */
#include "actor/misuse.h"

#include <stdio.h>

#include "actor/address_text.h"
#include "actor/class_log.h"
#include "actor/stack/stack.h"

enum { TEXT_BYTES = 384, LOCALS_BYTES = 256 * 1024 };

/* Names the message that the handler of a stack was called with. */
static const char *subject_of(const struct gy_stack *stack)
{
	if (stack->batch != NULL) {
		return "a batch";
	}
	if (stack->mail != NULL) {
		return stack->mail->type->name;
	}
	return stack->hook ? "no message" : "a message that it has taken";
}

/* Names the handler of the class that the stack runs. */
static const char *handler_of(const struct gy_stack *stack)
{
	if (stack->hook) {
		return stack->handler == stack->house->class_info->class->mount ? "mount hook"
										: "restart hook";
	}
	return stack->mail != NULL && gy_mail_lane(stack->mail) == GY_LANE_EVENT ? "event handler"
										 : "handler";
}

static void warn_of_batch(const struct gy_stack *stack)
{
	const struct gyre_mail *first = NULL;
	uint32_t unanswered = 0;

	for (uint32_t i = stack->batch->asks ? stack->batch->count : 0; i-- > 0;) {
		const struct gyre_mail *mail = stack->batch->mails[i];

		/* A mail that could not be made is no mistake of the handler. */
		if (mail != NULL && mail->ask_id != 0 &&
		    (stack->owed == 0 || mail->deadline == 0)) {
			first = mail;
			unanswered++;
		}
	}
	if (first != NULL) {
		gy_class_warn(stack->home, stack->house->class_info,
			      "ended a batch with %u of %u asks unanswered, a %s first; their "
			      "askers get ENOMSG: answer each by gyre_batch_reply(), or all by "
			      "gyre_batch_reply_all()",
			      (unsigned)unanswered, (unsigned)stack->batch->count,
			      first->type->name);
	}
}

void gy_warn_unanswered(const struct gy_stack *stack)
{
	if (stack->batch != NULL) {
		warn_of_batch(stack);
		return;
	}
	gy_class_warn(stack->home, stack->house->class_info,
		      "ended the ask %s without an answer; its asker gets ENOMSG: answer by "
		      "gyre_reply(), or refuse by gyre_throw()",
		      subject_of(stack));
}

void gy_warn_second_answer(const struct gy_stack *stack, const struct gyre_mail *ask,
			   const struct gyre_mail *mail)
{
	gy_class_warn(stack->home, stack->house->class_info,
		      "answered the ask %s a second time, with %s, which is dropped: the asker has "
		      "the first answer",
		      ask->type->name, gy_mail_is_missing(mail) ? "no message" : mail->type->name);
}

void gy_warn_forwarded(const struct gy_stack *stack, const struct gyre_mail *mail)
{
	gy_class_warn(
		stack->home, stack->house->class_info,
		"answered a message that it has forwarded, with %s, which is dropped: whoever "
		"got the message answers it",
		gy_mail_is_missing(mail) ? "no message" : mail->type->name);
}

void gy_warn_result(const struct gy_stack *stack, int result)
{
	gy_class_warn(
		stack->home, stack->house->class_info,
		"its %s returned %d for %s, which counts as EINVAL: return what gyre_return(), "
		"gyre_reply(), gyre_throw() or gyre_suspend() gave",
		handler_of(stack), result, subject_of(stack));
}

void gy_warn_endless_wait(const struct gy_stack *stack)
{
	gy_class_warn(stack->home, stack->house->class_info,
		      "its %s waits with %s, but no ask, sleep or other promise is outstanding; "
		      "the wait fails with EDEADLK: look at what the calls before it returned",
		      handler_of(stack), subject_of(stack));
}

void gy_warn_unhandled(struct gy_home *home, const struct gy_house *house,
		       const struct gyre_mail *mail)
{
	bool ask = mail->node.kind == GY_MAIL_ASK;
	const char *kind = mail->node.kind == GY_MAIL_PUBLISHED ? "event" : "notice";
	char from[GYRE_ADDRESS_TEXT_MAX];

	gy_class_warn(home, house->class_info,
		      "its behaviour has no handler for the %s %s from %s, which is dropped%s",
		      ask ? "ask" : kind, mail->type->name,
		      gy_address_text(gy_mail_sender(mail), from),
		      ask ? "; the asker gets ENOSYS" : "");
}

/* Returns whether @future is a local variable of one of the callers, as far as can be told. */
static bool is_local(const struct gyre_future *future)
{
	return (uintptr_t)future - (uintptr_t)__builtin_frame_address(0) < LOCALS_BYTES;
}

void gy_warn_misplaced_future(const struct gy_stack *stack, const struct gyre_future *future)
{
	char text[TEXT_BYTES];

	(void)snprintf(
		text, sizeof(text),
		"actor %s: its %s waits with %s for a future that is neither in its frame nor "
		"in its state%s: make it a field of the struct whose size is the class's "
		"frame_bytes, and take it from gyre_frame()",
		stack->house->class_info->name, handler_of(stack), subject_of(stack),
		is_local(future) ? ", but a local variable, which is gone when the answer comes"
				 : ", and may be gone when the answer comes");
	gy_assert_failed(text, __FILE__, __LINE__);
}
