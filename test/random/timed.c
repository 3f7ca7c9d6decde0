/*
 * Notices that are sent after a time, once or in periods: of an actor by a timer of its own, and of
 * a thread outside by one of gyre's. None comes early; one that was called off before it was sent
 * never comes; and in periods the copies are counted, so that none comes before its turn.
 */
#include <errno.h>

#include "random.h"

enum { POST_KEY = TIMERS, PERIOD_MAX_NS = 1200000 };

/* Made before the call that starts the timer, so that the delay counts from here at the earliest.
 */
static struct gyre_timer_options draw_times(uint64_t *random)
{
	return (struct gyre_timer_options){
		.delay_ns = draw(random, 1000000),
		.period_ns = one_in(random, 3) ? 200000 + draw(random, PERIOD_MAX_NS - 200000) : 0,
	};
}

/* The head of a notice that is due by @options; its record is 0 if there are too many. */
static struct head make_head(struct world *world, uint32_t from, uint64_t *random,
			     const struct gyre_timer_options *options)
{
	uint16_t marks = (uint16_t)(marks_draw(random) | MARK_TIMED |
				    (options->period_ns != 0 ? MARK_COPIED : 0));
	struct head head = head_make(world, from, KIND_NOTICE, marks, 0);

	if (head.mail != 0) {
		world->mails[head.mail].due_ns = now_ns() + options->delay_ns;
		world->mails[head.mail].period_ns = options->period_ns;
	}
	return head;
}

void expect_in_time(struct self *self, const struct head *head)
{
	struct world *world = self->world;
	struct mail_record *record = &world->mails[head->mail];
	uint64_t due_ns = record->due_ns;

	must(world, self->life, gy_load_relaxed(&record->called_off) == 0, "mail %u was called off",
	     head->mail);
	if (record->period_ns != 0) {
		must(world, self->life, gy_load_relaxed(&world->quiet) == 0,
		     "mail %u comes again and again", head->mail);
		(void)gy_add_relaxed(&world->periods, 1);
		if (gy_load_relaxed(&record->stashed) == 0) {
			due_ns += gy_add_relaxed(&record->copies, 1) * record->period_ns;
		}
	}
	must(world, self->life, now_ns() >= due_ns, "mail %u is %lu ns early", head->mail,
	     (unsigned long)(due_ns - now_ns()));
}

bool periods_are_over(struct world *world)
{
	uint32_t before = gy_load_relaxed(&world->periods);

	if (before == 0) {
		return true;
	}
	drive_ns(world, 2 * PERIOD_MAX_NS);
	if (gy_load_relaxed(&world->periods) != before) {
		world->differs = "a notice that is sent in periods";
		return false;
	}
	return true;
}

/* ---- of actors ---- */

void model_post_ended(struct self *self)
{
	mail_owe(self->world, self->post, 0);
	self->post = 0;
}

void post(struct gyre_stack *stack, struct acquaintance to)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct gyre_timer_options options = draw_times(&self->random);
	struct head head = make_head(world, self->life, &self->random, &options);
	struct gyre_mail *mail;
	int r;

	if (head.mail == 0) {
		return;
	}
	model_post_ended(self); /* if it runs still, it is replaced */
	if (options.period_ns == 0) {
		mail_owe(world, head.mail, to.life);
	}
	mail = options.period_ns == 0 && one_in(&self->random, 2)
		       ? gyre_new(stack, parcel, .head = head, .token = token_get(world))
		       : gyre_new(stack, letter, .head = head);
	r = gyre_send_after(stack, POST_KEY, to.address, mail, &options);
	trace(self->life, "sends later", head.mail, (uint64_t)r);
	must(world, self->life, r == 0 || (r == -ENOMEM && world->plan.lean), "%d", r);
	if (r == 0) {
		self->post = head.mail;
	} else {
		mail_owe(world, head.mail, 0);
	}
}

void call_off(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct mail_record *record = &world->mails[self->post];
	int r = gyre_timer_stop(stack, POST_KEY);

	trace(self->life, "calls off", self->post, (uint64_t)r);
	must(world, self->life, r == 0 || r == -ENOENT, "%d", r);
	must(world, self->life, self->post != 0 || r == -ENOENT);
	if (self->post == 0) {
		return;
	}
	must(world, self->life, r == 0 || record->period_ns == 0, "its periods had an end");
	if (r == 0) {
		if (record->period_ns == 0) {
			gy_store_relaxed(&record->called_off, 1);
		}
		model_post_ended(self);
	}
	self->post = 0;
}

/* ---- of threads ---- */

static uint64_t key_of(const struct outsider *outsider, uint32_t index)
{
	return outsider->life * UINT64_C(16) + index;
}

void post_outside(struct outsider *outsider, struct acquaintance to)
{
	struct world *world = outsider->world;
	uint32_t index = draw(&outsider->random, POSTS_OUTSIDE);
	struct gyre_timer_options options = draw_times(&outsider->random);
	struct head head = make_head(world, outsider->life, &outsider->random, &options);
	int r;

	if (head.mail == 0) {
		return;
	}
	mail_owe(world, outsider->posts[index], 0);
	if (options.period_ns == 0) {
		mail_owe(world, head.mail, to.life);
	}
	r = gyre_system_send_after(world->system, key_of(outsider, index), to.address,
				   options.period_ns == 0 && one_in(&outsider->random, 2)
					   ? gyre_system_new(world->system, parcel, .head = head,
							     .token = token_get(world))
					   : gyre_system_new(world->system, letter, .head = head),
				   &options);
	check_result(outsider, r);
	if (r == 0) {
		outsider->posts[index] = head.mail;
	} else {
		mail_owe(world, head.mail, 0);
	}
}

/* One that is under way comes all the same. */
int call_off_outside(struct outsider *outsider, uint32_t index)
{
	struct world *world = outsider->world;
	int r = gyre_system_timer_stop(world->system, key_of(outsider, index));

	check_result(outsider, r);
	mail_owe(world, outsider->posts[index], 0);
	return r;
}

/* What comes once need not be, unless it was to replace what comes again and there was no memory.
 */
void call_all_off(struct outsider *outsider)
{
	const struct world *world = outsider->world;

	for (uint32_t i = 0; i < POSTS_OUTSIDE; i++) {
		uint32_t mail = outsider->posts[i];

		if (mail == 0 || (world->mails[mail].period_ns == 0 && !world->plan.lean)) {
			continue;
		}
		while (call_off_outside(outsider, i) == -ENOMEM) {
			pause_ns(100000);
		}
	}
}
