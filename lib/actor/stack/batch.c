/*
 * The stack of a batch: many messages, one run of a handler. The messages stand in an array that
 * comes from the pools; dispatch.c fills it.
 */
#include <gyre/batch.h>

#include <errno.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"

enum { COUNT_DEFAULT = 64 };

struct gy_batch *gy_batch_make(struct gy_house *house, bool asks)
{
	uint32_t max = house->class_info->class->batch_max == 0
			       ? COUNT_DEFAULT
			       : house->class_info->class->batch_max;
	size_t bytes = sizeof(struct gy_batch) + max * sizeof(struct gyre_mail *);
	uint8_t size_class = gy_sizes_class(bytes);
	struct gy_batch *batch =
		(struct gy_batch *)gy_sizes_get(&house->home->parts, bytes, size_class);

	if (batch != NULL) {
		*batch = (struct gy_batch){ .max = max, .asks = asks, .size_class = size_class };
	}
	return batch;
}

static void drop_all(struct gy_house *house, struct gy_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		gy_drop(house->home, batch->mails[i], gy_house_address(house), GYRE_DROP_NO_MEMORY,
			-ENOMEM);
	}
	gy_sizes_put(&house->home->parts, batch, batch->size_class);
}

uint32_t gy_batch_run(struct gy_house *house, struct gy_batch *batch)
{
	uint32_t count = batch->count;
	struct gy_stack *stack = gy_stack_scratch(house->home, house);

	if (stack == NULL) {
		drop_all(house, batch);
		return 0;
	}
	gy_assert(count > 0 && count <= batch->max);
	house->home->steps++;
	stack->head.message = NULL;
	stack->head.type = NULL;
	stack->mail = NULL;
	stack->batch = batch;
	stack->dirty = true;
	stack->handler = batch->asks ? house->behaviour->ask_batch : house->behaviour->notice_batch;
	gy_stack_call(stack);
	return count;
}

void gy_batch_end(struct gy_stack *stack, int error)
{
	struct gy_batch *batch = stack->batch;
	struct gy_home *home = stack->home;

	stack->batch = NULL;
	for (uint32_t i = 0; i < batch->count; i++) {
		struct gyre_mail *mail = batch->mails[i];

		if (mail == NULL) {
			continue; /* the handler has taken or forwarded it */
		}
		if (batch->asks && mail->ask_id != 0) {
			bool owed = stack->owed != 0 && mail->deadline != 0;

			gy_fail_ask(home, mail, owed ? -(int)mail->deadline : error);
		} else {
			gy_mail_put(home, mail);
		}
	}
	stack->owed = 0;
	gy_sizes_put(&home->parts, batch, batch->size_class);
}

/* ---- what handlers call ---- */

static struct gyre_mail *mail_at(const struct gyre_stack *stack, uint32_t index)
{
	const struct gy_batch *batch = gy_stack_of_const(stack)->batch;

	return batch == NULL || index >= batch->count ? NULL : batch->mails[index];
}

uint32_t gyre_batch_count(const struct gyre_stack *stack)
{
	const struct gy_batch *batch = gy_stack_of_const(stack)->batch;

	return batch == NULL ? 0 : batch->count;
}

const void *gyre_batch_message(const struct gyre_stack *stack, uint32_t index,
			       const struct gyre_type *type)
{
	struct gyre_mail *mail = mail_at(stack, index);

	if (mail == NULL || mail->node.kind == GY_MAIL_MOVED || !gy_type_equal(mail->type, type)) {
		return NULL;
	}
	return mail->payload;
}

struct gyre_address gyre_batch_sender(const struct gyre_stack *stack, uint32_t index)
{
	const struct gyre_mail *mail = mail_at(stack, index);

	return mail == NULL ? GYRE_NOBODY : gy_sender_shown(gy_stack_of_const(stack)->home, mail);
}

int gyre_batch_reply(struct gyre_stack *stack, uint32_t index, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_mail *ask = mail_at(stack, index);

	if (s->batch == NULL || !s->batch->asks || index >= s->batch->count) {
		gyre_mail_destroy(stack, mail);
		return -EINVAL;
	}
	if (ask == NULL) {
		return gy_answer_forwarded(s, mail);
	}
	return gy_answer(s, ask, gy_mail_given(s->home, mail));
}

/* Whether an ask of a batch is still there, and without an answer. */
static bool is_unanswered(const struct gyre_mail *ask)
{
	return ask != NULL && ask->ask_id != 0;
}

/* The one ask that is unanswered, or NULL when there are none or several. */
static struct gyre_mail *only_unanswered(const struct gy_batch *batch)
{
	struct gyre_mail *only = NULL;

	for (uint32_t i = 0; i < batch->count; i++) {
		if (is_unanswered(batch->mails[i])) {
			if (only != NULL) {
				return NULL;
			}
			only = batch->mails[i];
		}
	}
	return only;
}

/* What owns something is not copied for one asker, and may not be copied for several. */
static int reply_to_only(struct gy_stack *stack, struct gyre_mail *mail)
{
	struct gyre_mail *ask = only_unanswered(stack->batch);

	if (ask == NULL) {
		gy_mail_put(stack->home, mail);
		return -EINVAL;
	}
	return gy_answer(stack, ask, gy_mail_given(stack->home, mail));
}

int gyre_batch_reply_all(struct gyre_stack *stack, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);
	int r = mail == NULL ? -ENOMEM : 0;

	if (s->batch == NULL || !s->batch->asks) {
		gyre_mail_destroy(stack, mail);
		return -EINVAL;
	}
	if (mail == GYRE_NO_ARGUMENT) {
		return -EINVAL;
	}
	if (mail != NULL && mail->type->destroy != NULL &&
	    (only_unanswered(s->batch) != NULL || !gy_type_can_be_copied(mail->type))) {
		return reply_to_only(s, mail);
	}
	gy_mail_expect_new(s->home, mail);
	for (uint32_t i = 0; i < s->batch->count; i++) {
		struct gyre_mail *copy;
		int one;

		if (!is_unanswered(s->batch->mails[i])) {
			continue;
		}
		copy = mail == NULL ? NULL : gy_mail_copy(s->home, mail);
		one = gy_answer(s, s->batch->mails[i], copy);
		r = r == 0 ? one : r;
	}
	gyre_mail_destroy(stack, mail);
	return r;
}
