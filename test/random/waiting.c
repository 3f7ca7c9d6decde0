/*
 * What actors wait for: answers, ends of others, work off the loops, time.
 */
#include <errno.h>

#include "random.h"

/* ---- promises ---- */

static struct waiting *add_waiting(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	return frame->count == PLEDGES_OF_STACK ? NULL : &frame->waiting[frame->count];
}

/* @r: what was returned when it was begun. Whether it is waited for. */
static bool is_begun(struct gyre_stack *stack, struct waiting *one, uint32_t pledge, int r)
{
	struct self *self = self_of(stack);

	if (r < 0) {
		must(self->world, self->life, gyre_future_error(&one->future) == r, "%d is not %d",
		     gyre_future_error(&one->future), r);
		pledge_refused(self->world, pledge, r);
		return false;
	}
	must(self->world, self->life, r == 0);
	one->pledge = pledge;
	frame_of(stack)->count++;
	return true;
}

static uint64_t draw_patience(struct self *self, uint32_t whom)
{
	uint64_t patience_ns = self->world->plan.patience_ns;

	/* Such asks lead only to later lives, so that they make no cycle. */
	if (whom > self->life && one_in(&self->random, 3)) {
		return GYRE_FOREVER;
	}
	return patience_ns / 8 + draw(&self->random, (uint32_t)patience_ns);
}

static int send_ask(struct gyre_stack *stack, struct gyre_address to, uint8_t group,
		    struct waiting *one, uint32_t pledge)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint64_t time_ns = world->pledges[pledge].time_ns;
	uint16_t marks = marks_draw(&self->random);
	struct head head = head_make(world, self->life, KIND_ASK, marks, group);

	trace(self->life, "asks by mail", head.mail, pledge);
	one->owning = one_in(&self->random, 3);
	if (one->owning) {
		return gyre_ask(stack, to,
				gyre_new(stack, wish, .head = head, .pledge = pledge,
					 .token = token_get(world)),
				time_ns, &one->future);
	}
	return gyre_ask(stack, to, gyre_new(stack, question, .head = head, .pledge = pledge),
			time_ns, &one->future);
}

bool await_ask(struct gyre_stack *stack, struct acquaintance to, uint8_t group)
{
	struct self *self = self_of(stack);
	struct waiting *one = add_waiting(stack);
	uint32_t pledge = one == NULL ? 0
				      : pledge_begin(self->world, PLEDGE_ASK, self->life, to.life,
						     draw_patience(self, to.life));

	if (pledge == 0) {
		return false;
	}
	return is_begun(stack, one, pledge, send_ask(stack, to.address, group, one, pledge));
}

void ask_and_go(struct gyre_stack *stack, struct acquaintance to)
{
	struct self *self = self_of(stack);
	struct waiting *one = add_waiting(stack);
	uint32_t pledge = one == NULL ? 0
				      : pledge_begin(self->world, PLEDGE_ASK, self->life, to.life,
						     draw_patience(self, 0));

	if (pledge != 0) {
		gy_store_relaxed(&self->world->pledges[pledge].given_up, 1);
		if (send_ask(stack, to.address, 0, one, pledge) == 0) {
			frame_of(stack)->ghosts++;
		}
	}
}

bool await_sleep(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct waiting *one = add_waiting(stack);
	uint64_t time_ns = draw(&self->random, 1000000);
	uint32_t pledge =
		one == NULL ? 0 : pledge_begin(self->world, PLEDGE_SLEEP, self->life, 0, time_ns);

	return pledge != 0 &&
	       is_begun(stack, one, pledge, gyre_sleep(stack, time_ns, &one->future));
}

bool await_end(struct gyre_stack *stack, struct acquaintance whom)
{
	struct self *self = self_of(stack);
	struct waiting *one = add_waiting(stack);
	uint32_t pledge = one == NULL ? 0
				      : pledge_begin(self->world, PLEDGE_END, self->life, whom.life,
						     GYRE_FOREVER);
	int r;

	if (pledge == 0) {
		return false;
	}
	r = gyre_stop_gracefully(stack, whom.address, draw(&self->random, 3000000), &one->future);
	must(self->world, self->life, (r == -EINVAL) == (whom.life == self->life) || r == -ENOMEM,
	     "%d", r);
	if (r == 0) {
		doom(self->world, whom.life);
	}
	return is_begun(stack, one, pledge, r);
}

static int do_work(struct gyre_work *work)
{
	struct world *world = (struct world *)gyre_system_user(gyre_work_system(work));
	const struct wish *wish = gyre_work_get(work, wish);
	const struct question *question = gyre_work_get(work, question);
	uint32_t pledge = wish != NULL ? wish->pledge : question->pledge;

	if (pledge % 8 == 0) {
		pause_ns(GYRE_MILLISECONDS(1));
	}
	if (pledge % 8 == 1) {
		return -EIO;
	}
	if (pledge % 8 == 2) {
		return 0;
	}
	(void)gy_add_relaxed(&world->pledges[pledge].answered, 1);
	return wish != NULL ? gyre_work_reply(work, gyre_work_new(work, present, .pledge = pledge,
								  .token = token_get(world)))
			    : gyre_work_reply(work, gyre_work_new(work, verdict, .pledge = pledge));
}

bool await_work(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct waiting *one = add_waiting(stack);
	uint64_t time_ns = draw_patience(self, 0);
	uint32_t pledge =
		one == NULL ? 0 : pledge_begin(world, PLEDGE_WORK, self->life, 0, time_ns);
	struct gyre_mail *mail;

	if (pledge == 0) {
		return false;
	}
	one->owning = one_in(&self->random, 2);
	mail = one->owning ? gyre_new(stack, wish, .pledge = pledge, .token = token_get(world))
			   : gyre_new(stack, question, .pledge = pledge);
	return is_begun(stack, one, pledge,
			gyre_offload(stack, do_work, mail, time_ns, &one->future));
}

/* ---- what came ---- */

static void look_at_answer(struct self *self, struct waiting *one)
{
	const struct verdict *verdict = gyre_future_get(&one->future, verdict);
	const struct present *present = gyre_future_get(&one->future, present);
	struct present moved = { .token = NULL };

	must(self->world, self->life, one->owning ? present != NULL : verdict != NULL);
	pledge_answered(self->world, one->pledge, one->owning ? present->pledge : verdict->pledge,
			one->owning ? present->by : verdict->by);
	if (one->owning && one_in(&self->random, 2)) {
		must(self->world, self->life, gyre_future_move(&one->future, present, &moved) == 0);
		token_put(moved.token);
	}
}

/* The life that has ended an ask: by its answer, or since it failed or had none; 0 for none. */
static uint32_t who_ended(const struct world *world, const struct waiting *one, int error)
{
	const struct verdict *verdict = gyre_future_get(&one->future, verdict);
	const struct present *present = gyre_future_get(&one->future, present);

	if (error == 0) {
		return verdict != NULL ? verdict->by : present != NULL ? present->by : 0;
	}
	return error == -EIO || error == -ENOMSG || error == -ENOSYS
		       ? gy_load_relaxed(&world->pledges[one->pledge].whom)
		       : 0;
}

/* What ends a wait comes now if it is the first that does; else it may have come before. */
static void check_first(struct self *self, const struct waiting *one, int error)
{
	const struct world *world = self->world;
	uint32_t by =
		world->pledges[one->pledge].kind == PLEDGE_ASK ? who_ended(world, one, error) : 0;

	must(self->world, self->life, by == 0 || world->lives[self->life].told[by] == 0,
	     "life %u ended promise %u (%d) after its end was told", by, one->pledge, error);
}

static bool settle_one(struct self *self, struct waiting *one)
{
	int error = gyre_future_error(&one->future);
	enum pledge_kind kind = self->world->pledges[one->pledge].kind;

	if (error == -EINPROGRESS) {
		return false;
	}
	pledge_end(self->world, one->pledge, error);
	if (error == 0 && (kind == PLEDGE_ASK || kind == PLEDGE_WORK)) {
		look_at_answer(self, one);
	}
	one->pledge = 0;
	return true;
}

bool settle(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	uint8_t before = frame->ended;
	bool first = frame->ghosts == 0 && (frame->any || frame->count - frame->ended == 1);

	for (uint32_t i = 0; i < frame->count; i++) {
		struct waiting *one = &frame->waiting[i];

		if (one->pledge != 0 && first && gyre_future_error(&one->future) != -EINPROGRESS) {
			check_first(self, one, gyre_future_error(&one->future));
		}
		if (one->pledge != 0 && settle_one(self, one)) {
			frame->ended++;
		}
	}
	must(self->world, self->life, frame->ended > before || frame->ghosts > 0,
	     "nothing has come");
	must(self->world, self->life, frame->any || frame->ended == frame->count,
	     "%u of %u have come", frame->ended, frame->count);
	return frame->ended == frame->count;
}
