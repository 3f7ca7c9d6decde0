/*
 * What actors send each other, and how they answer.
 */
#include <errno.h>

#include "random.h"

/* ---- notices ---- */

/* The sender hears of a full mailbox where the class refuses what has no room. */
static bool may_be_full(const struct world *world, uint32_t life)
{
	const struct gyre_class *class = &classes[world->lives[life].class];

	return life == 0 || (class->mailbox_limit != 0 && class->overflow == GYRE_OVERFLOW_REFUSE);
}

static void send_notice(struct gyre_stack *stack, struct acquaintance to, const struct head *head,
			struct gyre_mail *mail)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t number = head->mail;
	int r;

	mail_owe(world, number, to.life);
	r = gyre_notify(stack, to.address, mail);
	must(world, self->life,
	     r == 0 || r == -ESRCH || (r == -ENOBUFS && may_be_full(world, to.life)) ||
		     (r == -ENOMEM && world->plan.lean),
	     "a notice: %d", r);
	if (r < 0) {
		mail_owe(world, number, 0);
	}
}

void send_letter(struct gyre_stack *stack, struct acquaintance to, uint8_t group)
{
	struct self *self = self_of(stack);
	uint16_t marks = marks_draw(&self->random);
	struct head head;

	if (group != 0 && self->world->groups[group].everyone) {
		marks |= MARK_COPIED;
	}
	head = head_make(self->world, self->life, KIND_NOTICE, marks, group);
	send_notice(stack, to, &head, gyre_new(stack, letter, .head = head));
}

void send_parcel(struct gyre_stack *stack, struct acquaintance to)
{
	struct self *self = self_of(stack);
	struct head head =
		head_make(self->world, self->life, KIND_NOTICE, marks_draw(&self->random), 0);

	send_notice(stack, to, &head,
		    gyre_new(stack, parcel, .head = head, .token = token_get(self->world)));
}

static struct gyre_mail *make_huge(struct gyre_stack *stack, const struct head *head)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_huge);
	struct huge *huge;

	if (mail != NULL) {
		huge = (struct huge *)gyre_payload(mail);
		huge->head = *head;
		fill_words(huge->words, HUGE_WORDS, head->number);
	}
	return mail;
}

static struct gyre_mail *make_bulk(struct gyre_stack *stack, const struct head *head)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_bulk);
	struct bulk *bulk;

	if (mail != NULL) {
		bulk = (struct bulk *)gyre_payload(mail);
		bulk->head = *head;
		fill_words(bulk->words, BULK_WORDS, head->number);
	}
	return mail;
}

void send_bulk(struct gyre_stack *stack, struct acquaintance to)
{
	struct self *self = self_of(stack);
	struct head head =
		head_make(self->world, self->life, KIND_NOTICE, marks_draw(&self->random), 0);

	send_notice(stack, to, &head,
		    one_in(&self->random, 4) ? make_huge(stack, &head) : make_bulk(stack, &head));
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
	mail_owe(self->world, head.mail, self->life);
	r = gyre_notify_self_first(stack, gyre_new(stack, letter, .head = head));
	must(self->world, self->life, r == 0 || self->world->plan.lean, "%d", r);
	if (r == 0) {
		model_put_first(self, KIND_NOTICE, head.mail);
	} else {
		mail_owe(self->world, head.mail, 0);
	}
}

void pass_on(struct gyre_stack *stack, struct acquaintance to)
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
	send_notice(stack, to, head, mail);
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

int complain(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct frame *frame = frame_of(stack);
	struct pledge *pledge = &world->pledges[frame->pledge];

	frame->replied = true;
	trace(self->life, "fails with a message", frame->pledge, 0);
	must(world, self->life, gy_exchange(&pledge->thrown_by, self->life) == 0);
	return frame->wish ? gyre_throw_with(stack, -EIO,
					     gyre_new(stack, grievance, .pledge = frame->pledge,
						      .by = self->life, .token = token_get(world)))
			   : gyre_throw_with(stack, -EIO,
					     gyre_new(stack, complaint, .pledge = frame->pledge,
						      .by = self->life));
}
