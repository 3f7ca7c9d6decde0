/*
 * Failures that carry a message. On a stack, the cause waits until the handler has returned: only a
 * result that is an error makes it the cause of a failure. A bit of the stack says that there is
 * one, and takes the handler's end off the short way.
 */
#include "actor/stack/cause.h"

#include <string.h>

#include "actor/house_extra.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"

enum { ERRNO_MAX = 4095 };

static void release_caused(void *payload)
{
	gy_cause_unref(((struct gy_caused *)payload)->cause);
}

const struct gyre_type gy_type_caused = { .name = "exception with a cause",
					  .id = 0x72,
					  .bytes = sizeof(struct gy_caused),
					  .destroy = release_caused };

/* ---- shared causes ---- */

struct gy_cause *gy_cause_make(struct gy_home *home, struct gyre_mail *mail)
{
	uint32_t bytes = gy_mail_bytes(mail);
	struct gy_cause *cause = (struct gy_cause *)gy_memory_get_raw(sizeof(*cause) + bytes);

	if (cause != NULL) {
		*cause = (struct gy_cause){ .references = 1, .bytes = bytes, .type = mail->type };
		memcpy(cause->payload, mail->payload, bytes);
		gy_mail_disown(mail); /* the cause does now */
	}
	gy_mail_put(home, mail);
	return cause;
}

void gy_cause_unref(struct gy_cause *cause)
{
	if (cause == NULL || gy_fetch_add(&cause->references, -1U) > 1) {
		return;
	}
	if (cause->type->destroy != NULL) {
		cause->type->destroy(cause->payload);
	}
	gy_memory_put(cause);
}

const void *gy_cause_as(const struct gy_cause *cause, const struct gyre_type *type)
{
	return cause == NULL || !gy_type_equal(cause->type, type) ? NULL : cause->payload;
}

void gy_house_set_cause(struct gy_house *house, int error, struct gy_cause *cause)
{
	struct gy_house_extra *extra = cause == NULL ? house->extra : gy_house_extra_get(house);

	if (extra == NULL) {
		gy_cause_unref(cause);
		return;
	}
	gy_cause_unref(extra->cause);
	extra->cause = cause;
	extra->cause_error = error;
}

struct gy_cause *gy_house_cause(const struct gy_house *house, int error)
{
	const struct gy_house_extra *extra = house->extra;

	return extra != NULL && error < 0 && extra->cause_error == error ? extra->cause : NULL;
}

/* ---- to who has asked ---- */

/* For another node the cause travels in a mail of the runtime's own. NULL without memory. */
static struct gyre_mail *wrap(struct gy_home *home, struct gyre_mail *mail, int error)
{
	struct gyre_mail *wrapped = gy_mail_get(home, &gy_type_caused);
	struct gy_caused *caused;

	if (wrapped == NULL) {
		gy_mail_put(home, mail);
		return NULL;
	}
	caused = (struct gy_caused *)gyre_payload(wrapped);
	caused->exception.error = error;
	caused->cause = gy_cause_make(home, mail);
	if (caused->cause == NULL) {
		gy_mail_put(home, wrapped);
		return NULL;
	}
	return wrapped;
}

/* Fails an ask that is not answered with an error and its cause, taken. */
static void fail_ask(struct gy_stack *stack, struct gyre_mail *ask, struct gyre_mail *mail,
		     int error)
{
	struct gy_home *home = stack->home;
	struct gyre_address asker = gy_mail_sender(ask);

	if (!gy_is_of_node(home->node, asker)) {
		mail = wrap(home, mail, error);
	}
	if (mail == NULL) {
		(void)gy_answer_error(stack, ask, error);
		return;
	}
	mail->node.kind = GY_MAIL_EXCEPTION;
	mail->ask_id = ask->ask_id;
	mail->deadline = (uint32_t)-error;
	gy_mail_from_nobody(mail);
	ask->ask_id = 0;
	(void)gy_send(home, asker, mail, GY_LANE_EXCEPTION);
}

/* Each ask of a batch gets a copy; not all that own something can be copied. */
static void fail_batch(struct gy_stack *stack, struct gyre_mail *mail, int error)
{
	const struct gy_batch *batch = stack->batch;

	for (uint32_t i = 0; i < batch->count && gy_type_can_be_copied(mail->type); i++) {
		struct gyre_mail *ask = batch->mails[i]; /* NULL if it was forwarded */
		struct gyre_mail *copy =
			ask == NULL || ask->ask_id == 0 ? NULL : gy_mail_copy(stack->home, mail);

		if (copy != NULL) {
			fail_ask(stack, ask, copy, error);
		}
	}
	gy_mail_put(stack->home, mail);
}

int gyre_throw_with(struct gyre_stack *stack, int error, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);

	error = error < 0 && error >= -ERRNO_MAX ? error : -EINVAL;
	if (gy_mail_is_missing(mail)) {
		return error;
	}
	mail = gy_mail_given(s->home, mail);
	if (mail->type->id < GY_IDS_OF_GYRE) {
		gy_mail_put(s->home, mail); /* it would be taken for an exception of gyre's */
		return error;
	}
	if (s->batch != NULL && s->batch->asks) {
		fail_batch(s, mail, error);
	} else if (s->mail == NULL || s->mail->node.kind != GY_MAIL_ASK) {
		gy_cause_unref(s->cause);
		s->cause = gy_cause_make(s->home, mail);
		s->caused = s->cause != NULL;
	} else if (s->mail->ask_id != 0) {
		s->owed = 0;
		fail_ask(s, s->mail, mail, error);
	} else {
		gy_mail_put(s->home, mail); /* the ask has its answer */
	}
	return error;
}

const void *gyre_future_cause_as(const struct gyre_future *future, const struct gyre_type *type)
{
	const struct gyre_mail *mail;
	int error = gyre_future_error(future);

	if (error >= 0 || error == -EINPROGRESS || error == -ESTALE || future->promise == NULL) {
		return NULL;
	}
	mail = future->promise->answer;
	return mail == NULL || !gy_type_equal(mail->type, type) ? NULL : mail->payload;
}
