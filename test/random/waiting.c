/*
 * What actors wait for: answers, ends of others, work off the loops, time; all of it, any, or some,
 * and what they give up meanwhile.
 */
#include <errno.h>

#include "base/clock.h"
#include "random.h"

/* ---- promises ---- */

static struct waiting *add_waiting(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	return frame->count == PLEDGES_OF_STACK ? NULL : &frame->waiting[frame->count];
}

/* @before_ns: the time that was left then. @r: what was returned when it was begun. */
static int look_at_time(struct gyre_stack *stack, uint32_t pledge, uint64_t before_ns, int r)
{
	struct world *world = self_of(stack)->world;

	if (world->pledges[pledge].inherits) {
		pledge_inherits(world, pledge, before_ns, gyre_time_left(stack), r);
	}
	return r;
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
	/* With 0 it takes what the asker of what runs has left, or the system's time-out. */
	return one_in(&self->random, 3)
		       ? 0
		       : patience_ns / 8 + draw(&self->random, (uint32_t)patience_ns);
}

/* Asks all members, where that is one at most: as gyre_ask(), else an error. */
static int ask_only_member(struct gyre_stack *stack, struct gyre_address group,
			   struct gyre_mail *mail, uint64_t time_ns, struct gyre_future *ret_future)
{
	struct gyre_asked *asked = &frame_of(stack)->asked;
	int r = gyre_ask_all(stack, group, mail, time_ns, 1, asked);

	if (r == 1) {
		*ret_future = asked->future;
		r = gyre_future_error(ret_future);
		return r == -EINPROGRESS ? 0 : r;
	}
	r = r == 0 ? -ESRCH : r;
	*ret_future = (struct gyre_future){ .error = r };
	return r;
}

static int send_ask(struct gyre_stack *stack, struct gyre_address to, uint8_t group,
		    struct waiting *one, uint32_t pledge)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint64_t time_ns = world->pledges[pledge].time_ns;
	uint64_t left_ns = gyre_time_left(stack);
	uint16_t marks = marks_draw(&self->random);
	struct head head = head_make(world, self->life, KIND_ASK, marks, group);
	int r;

	trace(self->life, "asks by mail", head.mail, pledge);
	one->owning = one_in(&self->random, 3);
	if (one->owning) {
		r = gyre_ask(stack, to,
			     gyre_new(stack, wish, .head = head, .pledge = pledge,
				      .token = token_get(world)),
			     time_ns, &one->future);
	} else if (group != 0 && one_in(&self->random, 2)) {
		r = ask_only_member(stack, to,
				    gyre_new(stack, question, .head = head, .pledge = pledge),
				    time_ns, &one->future);
	} else {
		r = gyre_ask(stack, to, gyre_new(stack, question, .head = head, .pledge = pledge),
			     time_ns, &one->future);
	}
	return look_at_time(stack, pledge, left_ns, r);
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
	/* The long ones are for time-outs of who waits for this one. */
	uint64_t max_ns = one_in(&self->random, 4) ? 2 * self->world->plan.patience_ns : 1000000;
	uint64_t time_ns = draw(&self->random, (uint32_t)max_ns);
	uint32_t pledge =
		one == NULL ? 0 : pledge_begin(self->world, PLEDGE_SLEEP, self->life, 0, time_ns);

	int r;

	if (pledge == 0) {
		return false;
	}
	r = one_in(&self->random, 2)
		    ? gyre_sleep(stack, time_ns, &one->future)
		    : gyre_sleep_until(stack, gy_clock_date_ns() + time_ns, &one->future);
	return is_begun(stack, one, pledge, r);
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

bool await_work(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct waiting *one = add_waiting(stack);
	uint64_t time_ns = draw_patience(self, 0);
	uint32_t pledge =
		one == NULL ? 0 : pledge_begin(world, PLEDGE_WORK, self->life, 0, time_ns);
	uint64_t left_ns = gyre_time_left(stack);
	struct gyre_mail *mail;
	int r;

	if (pledge == 0) {
		return false;
	}
	one->owning = one_in(&self->random, 2);
	mail = one->owning ? gyre_new(stack, wish, .pledge = pledge, .token = token_get(world))
			   : gyre_new(stack, question, .pledge = pledge);
	r = work_off(stack, pledge, mail, &one->future);
	return is_begun(stack, one, pledge, look_at_time(stack, pledge, left_ns, r));
}

bool await_dial(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct waiting *one = add_waiting(stack);
	struct dial *to = one == NULL ? NULL : take_dial(self);
	uint32_t pledge =
		to == NULL ? 0
			   : pledge_begin(self->world, PLEDGE_DIAL, self->life, 0, GYRE_FOREVER);

	if (pledge == 0) {
		return false;
	}
	self->world->pledges[pledge].bond = bond_of(to);
	return is_begun(stack, one, pledge, dial(stack, to, NULL, &one->future));
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

/* What an ask has failed with is what was thrown for it, and of its type; else there is nothing. */
static void look_at_cause(struct self *self, const struct waiting *one, int error)
{
	struct world *world = self->world;
	const struct complaint *complaint = gyre_future_cause(&one->future, complaint);
	const struct grievance *grievance = gyre_future_cause(&one->future, grievance);
	uint32_t by = gy_load_relaxed(&world->pledges[one->pledge].thrown_by);
	bool any = complaint != NULL || grievance != NULL;

	if (error != -EIO || by == 0) {
		must(world, self->life, !any, "promise %u (%d) has a cause", one->pledge, error);
		return;
	}
	must(world, self->life, any || world->plan.lean, "promise %u has lost its cause",
	     one->pledge);
	if (any) {
		must(world, self->life, one->owning ? complaint == NULL : grievance == NULL);
		must(world, self->life,
		     (one->owning ? grievance->pledge : complaint->pledge) == one->pledge &&
			     (one->owning ? grievance->by : complaint->by) == by,
		     "promise %u has the cause of another", one->pledge);
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
	if (self->told_phase != 0 && kind == PLEDGE_ASK) {
		expect_present(self, one->pledge, error);
	}
	look_at_cause(self, one, error);
	if (error == 0 && (kind == PLEDGE_ASK || kind == PLEDGE_WORK)) {
		look_at_answer(self, one);
	}
	if (error == 0 && kind == PLEDGE_DIAL) {
		expect_connected(self, one);
	}
	one->pledge = 0;
	return true;
}

/* Whether it ends the wait when it completes. */
static bool is_awaited(const struct frame *frame, uint32_t index)
{
	return frame->wait == AWAIT_ALL || frame->wait == AWAIT_ANY ||
	       (frame->named >> index & 1) != 0;
}

/* Whether one that ends the wait does so now; else it may have come before, and the last now. */
static bool comes_now(const struct frame *frame, uint32_t index)
{
	uint32_t alone = frame->wait == AWAIT_ALL ? frame->count - frame->ended == 1
						  : frame->named == 1U << index;

	switch (frame->wait) {
	case AWAIT_ALL:
		return frame->ghosts == 0 && alone;
	case AWAIT_ANY:
		return frame->ghosts == 0;
	case AWAIT_NAMED_ALL:
		return alone;
	default:
		return is_awaited(frame, index);
	}
}

/* What was waited for has come, and nothing else has ended the wait. */
static void expect_awaited(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	bool all = frame->wait == AWAIT_ALL || frame->wait == AWAIT_NAMED_ALL;
	uint32_t came = 0;

	must(self->world, self->life, gyre_stack_state(stack) == frame->wait);
	for (uint32_t i = 0; i < frame->count; i++) {
		const struct waiting *one = &frame->waiting[i];

		if (one->pledge == 0 || !is_awaited(frame, i)) {
			continue;
		}
		if (gyre_future_error(&one->future) != -EINPROGRESS) {
			came++;
		} else {
			must(self->world, self->life, !all, "promise %u has not come", one->pledge);
		}
	}
	must(self->world, self->life, came > 0 || (frame->ghosts > 0 && frame->wait <= AWAIT_ANY),
	     "nothing has come");
}

bool settle(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	uint8_t ended = frame->ended;

	expect_awaited(stack);
	for (uint32_t i = 0; i < frame->count; i++) {
		struct waiting *one = &frame->waiting[i];
		bool now = comes_now(frame, i);

		if (one->pledge != 0 && now && gyre_future_error(&one->future) != -EINPROGRESS) {
			check_first(self, one, gyre_future_error(&one->future));
		}
		if (one->pledge != 0 && settle_one(self, one)) {
			ended++;
		}
	}
	frame->ended = ended;
	cancel_some(stack);
	return frame->ended == frame->count;
}

/* ---- giving up ---- */

static void cancel(struct gyre_stack *stack, struct waiting *one)
{
	struct self *self = self_of(stack);
	const struct gyre_future *future = &one->future;
	int r = gyre_cancel(stack, future);

	must(self->world, self->life, r == 0, "%d", r);
	pledge_cancelled(self->world, one->pledge, gyre_future_error(future));
	must(self->world, self->life,
	     gyre_future_get(future, verdict) == NULL && gyre_future_get(future, present) == NULL);
	must(self->world, self->life, gyre_cancel(stack, future) == -EALREADY);
	must(self->world, self->life, gyre_await_any(stack, AWAITS, &future, 1) == 0,
	     "it would wait for what was given up");
	one->pledge = 0;
	frame_of(stack)->ended++;
}

void cancel_some(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);

	for (uint32_t i = 0; i < frame->count; i++) {
		if (frame->waiting[i].pledge != 0 && likes(self, DEED_CANCEL)) {
			cancel(stack, &frame->waiting[i]);
		}
	}
}

/* ---- waiting ---- */

/* Names some of what is outstanding, or all, and the first of them perhaps twice. */
static uint32_t name_some(struct gyre_stack *stack, const struct gyre_future **ret_futures)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	uint32_t count = 0;

	frame->named = 0;
	for (uint32_t i = 0; i < frame->count; i++) {
		if (frame->waiting[i].pledge != 0 && (count == 0 || one_in(&self->random, 2))) {
			frame->named |= (uint8_t)(1U << i);
			ret_futures[count++] = &frame->waiting[i].future;
		}
	}
	ret_futures[count] = ret_futures[0];
	return count + one_in(&self->random, 4);
}

int wait_for_some(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	const struct gyre_future *futures[PLEDGES_OF_STACK + 1];
	uint32_t count = name_some(stack, futures);

	frame->wait = (uint8_t)(AWAIT_ALL + draw(&self_of(stack)->random, AWAITS - AWAIT_ALL));
	switch (frame->wait) {
	case AWAIT_ALL:
		return gyre_suspend(stack, AWAIT_ALL);
	case AWAIT_ANY:
		return gyre_suspend_any(stack, AWAIT_ANY);
	case AWAIT_NAMED_ALL:
		return gyre_await_all(stack, AWAIT_NAMED_ALL, futures, count);
	default:
		return gyre_await_any(stack, AWAIT_NAMED_ANY, futures, count);
	}
}
