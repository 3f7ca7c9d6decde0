/*
 * What actors do besides sending: each deed is drawn by the weights of the plan, and costs a step
 * of the world's. When those are used up nothing new is begun.
 */
#include <errno.h>

#include "random.h"

/* ---- ends and watches ---- */

static bool is_watched(const struct self *self, struct gyre_address actor)
{
	for (uint32_t i = 0; i < self->watched_count; i++) {
		if (gyre_address_equal(self->watched[i].address, actor)) {
			return true;
		}
	}
	return false;
}

/* One for each actor, and none with whom it watches: it would not be told of that end. */
static void make_pact(struct gyre_stack *stack, struct acquaintance whom)
{
	struct self *self = self_of(stack);
	int r;

	if (self->keeper || whom.life == self->life || !gyre_address_is_nobody(self->pact) ||
	    is_watched(self, whom.address)) {
		return;
	}
	r = gyre_watch_pact(stack, whom.address);
	trace(self->life, "makes a pact with", whom.life, (uint64_t)r);
	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	if (r == 0) {
		self->pact = whom.address;
		gy_store_release(&self->world->lives[self->life].pact, whom.life);
	}
}

static void watch(struct gyre_stack *stack, struct acquaintance whom)
{
	struct self *self = self_of(stack);
	int r;

	if (gyre_address_equal(self->pact, whom.address)) {
		return;
	}
	for (uint32_t i = 0; i < self->watched_count; i++) {
		if (gyre_address_equal(self->watched[i].address, whom.address)) {
			r = gyre_watch(stack, whom.address);
			must(self->world, self->life, r == 0 || self->world->plan.lean, "%d", r);
			return;
		}
	}
	if (self->watched_count == WATCHED_MAX) {
		return;
	}
	r = gyre_watch(stack, whom.address);
	must(self->world, self->life,
	     whom.life == self->life ? r == -EINVAL : r == 0 || self->world->plan.lean, "%d", r);
	if (r == 0) {
		self->watched[self->watched_count++] = (struct watched){
			.address = whom.address,
			.life = whom.life,
			.record = watch_begin(self->world, self->life, whom.life),
		};
	}
}

static void unwatch(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t at;
	int r;

	if (self->watched_count == 0) {
		return;
	}
	at = draw(&self->random, self->watched_count);
	r = gyre_unwatch(stack, self->watched[at].address);
	trace(self->life, "watches no more", self->watched[at].life, (uint64_t)r);
	must(self->world, self->life, r == 0, "%d", r);
	model_forget_watched(self, at);
}

static void end(struct gyre_stack *stack, struct acquaintance whom, enum deed deed)
{
	struct self *self = self_of(stack);
	int r;

	if (whom.life == self->life && self->keeper) {
		return;
	}
	if (deed == DEED_GRACEFUL) {
		r = gyre_stop_gracefully(stack, whom.address, draw(&self->random, 3000000), NULL);
	} else if (deed == DEED_POISON) {
		r = gyre_poison(stack, whom.address);
	} else {
		r = gyre_stop(stack, whom.address);
	}
	trace(self->life,
	      deed == DEED_STOP	    ? "stops"
	      : deed == DEED_POISON ? "poisons"
				    : "ends",
	      whom.life, (uint64_t)r);
	if (r == 0) {
		doom(self->world, whom.life);
		self->stopped |= deed == DEED_STOP && whom.life == self->life;
	}
	must(self->world, self->life,
	     r == 0 || r == -ESRCH || (r == -ENOMEM && self->world->plan.lean) ||
		     (r == -EINVAL && whom.life == self->life && deed == DEED_GRACEFUL),
	     "%d", r);
}

/* ---- behaviours ---- */

static void unstash(struct gyre_stack *stack, uint32_t max)
{
	struct self *self = self_of(stack);
	uint32_t expected = max < self->stashed_count ? max : self->stashed_count;
	uint32_t count;

	if (self->front[KIND_NOTICE].count + self->front[KIND_ASK].count + expected >= FRONT_MAX) {
		return;
	}
	must(self->world, self->life, gyre_stashed(stack) == self->stashed_count);
	count = gyre_unstash(stack, max);
	trace(self->life, "unstashes", count, max);
	must(self->world, self->life, count == expected, "%u of %u", count, expected);
	model_unstash(self, count);
}

static void become(struct gyre_stack *stack, enum deed deed)
{
	struct self *self = self_of(stack);
	uint8_t other = (uint8_t)draw(&self->random, BEHAVIOURS);
	const struct gyre_behaviour *behaviour = &behaviours[self->class][other];
	int r = 0;

	if (deed == DEED_BECOME) {
		r = gyre_become(stack, behaviour);
		self->behaviour = r == 0 ? other : self->behaviour;
	} else if (deed == DEED_NESTED) {
		r = gyre_become_nested(stack, behaviour);
		if (r == 0) {
			self->nested[self->nested_count++] = self->behaviour;
			self->behaviour = other;
		}
	} else {
		gyre_unbecome(stack);
		self->behaviour = self->nested_count > 0 ? self->nested[--self->nested_count] : 0;
	}
	must(self->world, self->life,
	     r == 0 || (r == -ENOBUFS && self->nested_count == GYRE_NESTED_MAX) ||
		     (r == -ENOMEM && self->world->plan.lean),
	     "%d", r);
	trace(self->life, "becomes", self->behaviour, self->nested_count);
}

/* ---- time ---- */

static void start_timer(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint32_t key = draw(&self->random, TIMERS - 1);
	const struct gyre_timer_options options = {
		.delay_ns = draw(&self->random, 1000000),
		.period_ns = one_in(&self->random, 3) ? 200000 + draw(&self->random, 1000000) : 0,
	};
	const struct timer_model timer = {
		.on = true,
		.once = options.period_ns == 0,
		.next_ns = now_ns() + options.delay_ns,
		.period_ns = options.period_ns,
	};
	int r = gyre_timer_start(stack, key, &options);

	trace(self->life, "starts timer", key, options.delay_ns);
	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	self->timers[key] = r == 0 ? timer : (struct timer_model){ .on = false };
}

static void stop_timer(struct gyre_stack *stack, uint32_t key)
{
	struct self *self = self_of(stack);
	int r = gyre_timer_stop(stack, key);

	/* One that has fired, and whose event waits, runs no longer. */
	must(self->world, self->life, r == 0 || r == -ENOENT, "%d", r);
	must(self->world, self->life, r == 0 ? self->timers[key].on : true);
	trace(self->life, "stops timer", key, (uint64_t)r);
	self->timers[key].on = false;
}

static void start_idle(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	uint64_t idle_ns = 100000 + draw(&self->random, 2000000);
	int r = gyre_receive_timeout_start(stack, idle_ns);

	must(self->world, self->life, r == 0 || (r == -ENOMEM && self->world->plan.lean), "%d", r);
	if (r == 0) {
		self->idle_ns = idle_ns;
	}
}

static void stop_idle(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	int r = gyre_receive_timeout_stop(stack);

	must(self->world, self->life, r == (self->idle_ns > 0 ? 0 : -ENOENT), "%d", r);
	self->idle_ns = 0;
}

static void burn(struct self *self)
{
	uint64_t end_ns = now_ns() + draw(&self->random, 30000);

	while (now_ns() < end_ns) {
		gy_pause();
	}
}

/* ---- drawing ---- */

static enum deed draw_deed(struct self *self)
{
	const struct plan *plan = &self->world->plan;
	uint32_t at = draw(&self->random, plan->weights_sum);
	uint32_t deed = 0;

	while (at >= plan->weights[deed]) {
		at -= plan->weights[deed++];
	}
	return (enum deed)deed;
}

/* What actors do to be found, and to find others. */
static void do_to_be_found(struct gyre_stack *stack, enum deed deed)
{
	switch (deed) {
	case DEED_REGISTER:
		register_name(stack);
		break;
	case DEED_UNREGISTER:
		unregister_name(stack);
		break;
	case DEED_LOOKUP:
		look_up(stack);
		break;
	case DEED_JOIN:
	case DEED_LEAVE:
		join(stack, deed == DEED_LEAVE);
		break;
	case DEED_SUBSCRIBE:
		subscribe(stack);
		break;
	case DEED_UNSUBSCRIBE:
		unsubscribe(stack);
		break;
	case DEED_PUBLISH:
		publish(stack);
		break;
	case DEED_SERVE:
		join_service(stack);
		break;
	case DEED_SERVE_NO_MORE:
		leave_service(stack);
		break;
	case DEED_PICK:
		pick_service(stack);
		break;
	case DEED_WATCH_SERVICE:
		watch_service(stack);
		break;
	default:
		burn(self_of(stack));
	}
}

static void do_other(struct gyre_stack *stack, enum deed deed)
{
	switch (deed) {
	case DEED_UNSTASH:
		unstash(stack, one_in(&self_of(stack)->random, 2) ? UINT32_MAX : 1);
		break;
	case DEED_BECOME:
	case DEED_NESTED:
	case DEED_UNBECOME:
		become(stack, deed);
		break;
	case DEED_TIMER:
		start_timer(stack);
		break;
	case DEED_TIMER_STOP:
		stop_timer(stack, draw(&self_of(stack)->random, TIMERS - 1));
		break;
	case DEED_IDLE:
		start_idle(stack);
		break;
	case DEED_IDLE_STOP:
		stop_idle(stack);
		break;
	case DEED_HOLD:
		hold(stack);
		break;
	case DEED_RELEASE:
		release(stack);
		break;
	case DEED_STREAM:
		start_stream(stack);
		break;
	case DEED_DIAL:
		dial_and_go(stack);
		break;
	case DEED_WRITE:
	case DEED_HANG_UP:
		use_channel(stack, deed == DEED_HANG_UP);
		break;
	case DEED_FLOOD:
		flood(stack);
		break;
	case DEED_URGENT_PAIR:
		send_urgent_pair(stack);
		break;
	case DEED_CALL_OFF:
		call_off(stack);
		break;
	case DEED_CANCEL:
		break;
	default:
		do_to_be_found(stack, deed);
	}
}

static void do_with(struct gyre_stack *stack, enum deed deed, struct acquaintance whom)
{
	switch (deed) {
	case DEED_NOTIFY:
		send_letter(stack, whom, 0);
		break;
	case DEED_PARCEL:
		send_parcel(stack, whom);
		break;
	case DEED_BULK:
		send_bulk(stack, whom);
		break;
	case DEED_POST:
		post(stack, whom);
		break;
	case DEED_WATCH:
		watch(stack, whom);
		break;
	case DEED_PACT:
		make_pact(stack, whom);
		break;
	case DEED_STOP:
	case DEED_POISON:
	case DEED_GRACEFUL:
		end(stack, whom, deed);
		break;
	default:
		ask_and_go(stack, whom);
	}
}

/* Deeds that need nobody else, or find whom they need. */
static void do_one(struct gyre_stack *stack, enum deed deed)
{
	struct self *self = self_of(stack);
	struct acquaintance whom;

	switch (deed) {
	case DEED_SELF_FIRST:
		send_self_first(stack);
		break;
	case DEED_NOTIFY_GROUP:
		notify_group(stack);
		break;
	case DEED_SPAWN:
		spawn(stack);
		break;
	case DEED_SPAWN_GROUP:
		spawn_group(stack);
		break;
	case DEED_UNWATCH:
		unwatch(stack);
		break;
	case DEED_STOP_SELF:
		whom = (struct acquaintance){ .address = gyre_self(stack), .life = self->life };
		end(stack, whom, DEED_STOP);
		break;
	case DEED_NOTIFY:
	case DEED_PARCEL:
	case DEED_BULK:
	case DEED_POST:
	case DEED_WATCH:
	case DEED_PACT:
	case DEED_STOP:
	case DEED_POISON:
	case DEED_GRACEFUL:
	case DEED_ASK_AND_GO:
		whom = known_any(self->world, &self->random);
		if (whom.life != 0) {
			do_with(stack, deed, whom);
		}
		break;
	default:
		do_other(stack, deed);
	}
}

/* Deeds that take the message away. False if it is none. */
static bool do_with_message(struct gyre_stack *stack, enum deed deed, enum kind kind)
{
	struct self *self = self_of(stack);
	struct acquaintance whom;

	switch (deed) {
	case DEED_PASS_ON:
		whom = known_any(self->world, &self->random);
		if (kind == KIND_NOTICE && whom.life != 0) {
			pass_on(stack, whom);
		}
		return true;
	case DEED_MOVE_OUT:
		move_out(stack, kind);
		return true;
	case DEED_FORWARD:
		forward(stack, kind);
		return true;
	default:
		return false;
	}
}

static bool stash(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	uint32_t max = classes[self->class].stash_max;
	int r;

	if (frame->mail == 0 || frame->gone || frame->replied || frame->count > 0 ||
	    gyre_stack_state(stack) != 0 || self->stashed_count == STASHED_MAX) {
		return false;
	}
	r = gyre_stash(stack);
	must(self->world, self->life,
	     max != 0 && self->stashed_count == max ? r == -ENOBUFS
						    : r == 0 || self->world->plan.lean,
	     "%d", r);
	if (r == 0) {
		frame->gone = true;
		frame->stashed = true;
		model_stashed(self, kind, frame->mail);
	}
	return r == 0;
}

static bool begin_waiting(struct gyre_stack *stack, enum deed deed)
{
	struct self *self = self_of(stack);
	struct acquaintance whom = known_any(self->world, &self->random);

	switch (deed) {
	case DEED_ASK:
		return whom.life != 0 && await_ask(stack, whom, 0);
	case DEED_ASK_GROUP:
		return ask_group(stack);
	case DEED_AWAIT_END:
		return whom.life != 0 && await_end(stack, whom);
	case DEED_WORK:
		return await_work(stack);
	case DEED_AWAIT_DIAL:
		return await_dial(stack);
	default:
		return await_sleep(stack);
	}
}

/* Often it waits for several at once. */
static void wait_for(struct gyre_stack *stack, enum deed deed)
{
	struct self *self = self_of(stack);

	(void)begin_waiting(stack, deed);
	while (one_in(&self->random, 3) && spend(self->world)) {
		(void)begin_waiting(stack,
				    (enum deed)(DEED_ASK + draw(&self->random, DEEDS - DEED_ASK)));
	}
}

void calm_down(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);

	if (self->stashed_count > 0) {
		unstash(stack, UINT32_MAX);
	}
	for (uint32_t i = 0; i < TIMERS; i++) {
		if (self->timers[i].on) {
			stop_timer(stack, i);
		}
	}
	if (self->post != 0) {
		call_off(stack);
	}
	if (self->idle_ns > 0) {
		stop_idle(stack);
	}
	close_channel(stack);
}

void act_in_pipeline(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	enum deed deed = draw_deed(self);

	switch (deed) {
	case DEED_NOTIFY:
	case DEED_PARCEL:
	case DEED_BULK:
	case DEED_NOTIFY_GROUP:
	case DEED_SPAWN:
	case DEED_SPAWN_GROUP:
	case DEED_STOP:
	case DEED_POISON:
	case DEED_PUBLISH:
	case DEED_PICK:
		trace(self->life, "acts in its pipeline", deed, 0);
		do_one(stack, deed);
		break;
	default: /* others fail when the actor is about to end */
		break;
	}
}

bool act(struct gyre_stack *stack, bool message, enum kind kind, int *ret_error)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	uint32_t count = 1 + draw(&self->random, 3);

	frame->count = 0;
	frame->ended = 0;
	while (count-- > 0 && !self->stopped && spend(self->world)) {
		enum deed deed = draw_deed(self);

		if (deed == DEED_FAIL) {
			*ret_error = self->keeper ? 0 : -EIO;
			return false;
		}
		if (deed == DEED_STASH) {
			if (message && stash(stack, kind)) {
				return false;
			}
		} else if (deed >= DEED_ASK) {
			wait_for(stack, deed);
			break;
		} else if (deed != DEED_PASS_ON && deed != DEED_MOVE_OUT && deed != DEED_FORWARD) {
			do_one(stack, deed);
		} else if (message) {
			(void)do_with_message(stack, deed, kind);
		}
	}
	cancel_some(stack);
	return frame->ended < frame->count;
}
