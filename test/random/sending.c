/*
 * What actors send each other, and how they answer.
 */
#include <errno.h>

#include "random.h"

/* ---- notices ---- */

static void count_refusal(struct self *self, int r)
{
	must(self->world, self->life,
	     r == 0 || r == -ESRCH || r == -ENOBUFS || (r == -ENOMEM && self->world->plan.lean),
	     "a notice: %d", r);
}

void send_letter(struct gyre_stack *stack, struct gyre_address to, uint8_t group)
{
	struct self *self = self_of(stack);
	uint16_t marks = marks_draw(&self->random);

	if (group != 0 && self->world->groups[group].everyone) {
		marks |= MARK_COPIED;
	}
	count_refusal(self, gyre_notify(stack, to,
					gyre_new(stack, letter,
						 .head = head_make(self->world, self->life,
								   KIND_NOTICE, marks, group))));
}

void send_parcel(struct gyre_stack *stack, struct gyre_address to)
{
	struct self *self = self_of(stack);

	count_refusal(self,
		      gyre_notify(stack, to,
				  gyre_new(stack, parcel,
					   .head = head_make(self->world, self->life, KIND_NOTICE,
							     marks_draw(&self->random), 0),
					   .token = token_get(self->world))));
}

static void send_huge(struct gyre_stack *stack, struct gyre_address to, struct head head)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_huge);
	struct huge *huge;

	if (mail != NULL) {
		huge = (struct huge *)gyre_payload(mail);
		huge->head = head;
		fill_words(huge->words, HUGE_WORDS, head.number);
	}
	count_refusal(self_of(stack), gyre_notify(stack, to, mail));
}

void send_bulk(struct gyre_stack *stack, struct gyre_address to)
{
	struct self *self = self_of(stack);
	struct head head =
		head_make(self->world, self->life, KIND_NOTICE, marks_draw(&self->random), 0);
	struct gyre_mail *mail;
	struct bulk *bulk;

	if (one_in(&self->random, 4)) {
		send_huge(stack, to, head);
		return;
	}
	mail = gyre_mail_create(stack, &gyre_type_bulk);
	if (mail != NULL) {
		bulk = (struct bulk *)gyre_payload(mail);
		bulk->head = head;
		fill_words(bulk->words, BULK_WORDS, head.number);
	}
	count_refusal(self, gyre_notify(stack, to, mail));
}

void send_self_first(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct head head;
	int r;

	if (self->front[KIND_NOTICE].count >= FRONT_MAX / 2 || self->phase == PHASE_MOUNT) {
		return;
	}
	head = head_make(self->world, self->life, KIND_NOTICE, MARK_FIRST, 0);
	r = gyre_notify_self_first(stack, gyre_new(stack, letter, .head = head));
	must(self->world, self->life, r == 0 || self->world->plan.lean, "%d", r);
	if (r == 0) {
		model_put_first(self, KIND_NOTICE, head.mail);
	}
}

void pass_on(struct gyre_stack *stack, struct gyre_address to)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	const struct bulk *bulk = gyre_message(stack, bulk);
	const struct huge *huge = gyre_message(stack, huge);
	struct gyre_mail *mail;
	struct head *head;

	if (frame->gone || frame->mail == 0) {
		return;
	}
	mail = gyre_take(stack);
	must(self->world, self->life, mail != NULL);
	must(self->world, self->life, gyre_take(stack) == NULL);
	frame->gone = true;
	if (one_in(&self->random, 4)) {
		gyre_mail_destroy(stack, mail);
		return;
	}
	head = (struct head *)gyre_payload(mail);
	*head = head_make(self->world, self->life, KIND_NOTICE, marks_draw(&self->random), 0);
	trace(self->life, "passes on", frame->mail, head->mail);
	if (bulk != NULL) {
		fill_words(((struct bulk *)gyre_payload(mail))->words, BULK_WORDS, head->number);
	} else if (huge != NULL) {
		fill_words(((struct huge *)gyre_payload(mail))->words, HUGE_WORDS, head->number);
	}
	count_refusal(self, gyre_notify(stack, to, mail));
}

void move_out(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	struct parcel parcel = { .token = NULL };
	struct wish wish = { .token = NULL };
	int r;

	if (frame->gone || frame->mail == 0) {
		return;
	}
	if (kind == KIND_NOTICE && gyre_message(stack, parcel) != NULL) {
		r = gyre_move(stack, parcel, &parcel);
		must(self->world, self->life, r == 0 && parcel.head.mail == frame->mail, "%d", r);
		token_put(parcel.token);
		frame->gone = true;
	} else if (kind == KIND_ASK && gyre_message(stack, wish) != NULL) {
		r = gyre_move(stack, wish, &wish);
		must(self->world, self->life, r == 0 && wish.head.mail == frame->mail, "%d", r);
		token_put(wish.token);
		frame->gone = true;
	}
}

/* ---- answers ---- */

int answer(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct frame *frame = frame_of(stack);
	int r;

	frame->replied = true;
	trace(self->life, "answers", frame->pledge, 0);
	must(world, self->life, gy_add_relaxed(&world->pledges[frame->pledge].answered, 1) == 0);
	r = frame->wish ? gyre_reply(stack, gyre_new(stack, present, .pledge = frame->pledge,
						     .by = self->life, .token = token_get(world)))
			: gyre_reply(stack, gyre_new(stack, verdict, .pledge = frame->pledge,
						     .by = self->life));
	must(world, self->life, r == 0 || world->plan.lean, "%d", r);
	return r;
}
