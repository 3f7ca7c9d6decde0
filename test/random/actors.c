/*
 * The classes: what their handlers and hooks do with a message, an event or a restart. All do the
 * same, which is drawn; they differ in what their classes say of batches, barriers, limits, routes
 * and failures.
 */
#include <errno.h>

#include "random.h"

/* ---- the end of a handler ---- */

static int suspend(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	int r;

	if (frame->barrier) {
		self->barrier = frame->mail + 1;
	}
	r = wait_for_some(stack);
	must(self->world, self->life, r > 0, "%d", r);
	return r;
}

static int finish_ask(struct gyre_stack *stack, int error)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	int r;

	if (error < 0 && !frame->replied && one_in(&self->random, 2)) {
		return complain(stack);
	}
	if (frame->stashed || error < 0) {
		return error;
	}
	if (frame->replied) {
		/* An answer for which there was no memory leaves room for another. */
		if (one_in(&self->random, 16) && !self->world->plan.lean) {
			r = gyre_reply(stack, gyre_new(stack, verdict, .pledge = frame->pledge));
			must(self->world, self->life, r == -EALREADY, "%d", r);
		}
		return 0;
	}
	switch (draw(&self->random, 8)) {
	case 0:
		return one_in(&self->random, 2) ? -EIO : complain(stack);
	case 1:
		return gyre_return(stack);
	default:
		return answer(stack);
	}
}

static int go_on(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	int error = 0;
	bool waits = frame->rounds++ < 3 && act(stack, true, kind, &error);

	if (kind == KIND_ASK && waits && !frame->replied && one_in(&self->random, 4)) {
		(void)answer(stack);
	}
	if (waits) {
		return suspend(stack);
	}
	if (frame->barrier) {
		self->barrier = 0;
	}
	return kind == KIND_ASK ? finish_ask(stack, error) : error;
}

static int handle(struct gyre_stack *stack, enum kind kind, uint8_t behaviour)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);
	const struct head *head = head_of(stack);

	expect_alive(self);
	expect_time_left(stack);
	if (gyre_stack_state(stack) != 0) {
		must(self->world, self->life,
		     frame->gone ? head == NULL : head != NULL && head->mail == frame->mail,
		     "another message stands in the stack");
		return settle(stack) ? go_on(stack, kind) : suspend(stack);
	}
	expect_nothing_in(frame, self);
	must(self->world, self->life, self->behaviour == behaviour, "%u runs, not %u", behaviour,
	     self->behaviour);
	expect_message(stack, kind, head, gyre_sender(stack));
	frame->mail = head->mail;
	frame->barrier = classes[self->class].barrier != NULL && (head->marks & MARK_BARRIER) != 0;
	if (kind == KIND_ASK) {
		frame->wish = gyre_message(stack, wish) != NULL;
		frame->pledge = pledge_of(stack);
	}
	if (gy_load_relaxed(&self->world->closing) != 0) {
		calm_down(stack);
	}
	return go_on(stack, kind);
}

/* What runs without a message: an event, a mount, a hook. */
static int act_alone(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	int error = 0;
	bool waits;

	if (gyre_stack_state(stack) != 0 && !settle(stack)) {
		return suspend(stack);
	}
	waits = frame->rounds++ < 2 && act(stack, false, KIND_NOTICE, &error);
	return waits ? suspend(stack) : error;
}

static int handle_event(struct gyre_stack *stack, uint8_t behaviour)
{
	struct self *self = self_of(stack);

	expect_alive(self);
	expect_time_left(stack);
	if (gyre_stack_state(stack) == 0) {
		expect_nothing_in(frame_of(stack), self);
		must(self->world, self->life, self->behaviour == behaviour);
		must(self->world, self->life, self->phase != PHASE_RESTART);
		expect_event(stack);
		if (gy_load_relaxed(&self->world->closing) != 0) {
			calm_down(stack);
		}
	}
	return frame_of(stack)->phase != 0 ? hold_on(stack) : act_alone(stack);
}

/* ---- batches ---- */

static void expect_batch(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	uint32_t count = gyre_batch_count(stack);

	must(self->world, self->life, count > 0 && count <= classes[self->class].batch_max);
	for (uint32_t i = 0; i < count; i++) {
		const struct head *head = batch_head(stack, i);

		expect_message(stack, kind, head, gyre_batch_sender(stack, i));
		must(self->world, self->life, (head->marks & MARK_BATCH) != 0);
		must(self->world, self->life,
		     classes[self->class].barrier == NULL || (head->marks & MARK_BARRIER) == 0);
	}
	if (gy_load_relaxed(&self->world->closing) != 0) {
		calm_down(stack);
	}
}

static void forward_some(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);

	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		if (likes(self, DEED_FORWARD) && spend(self->world)) {
			forward_of_batch(stack, kind, i);
		}
	}
}

static void answer_batch(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;

	for (uint32_t i = 0; i < gyre_batch_count(stack); i++) {
		const struct wish *wish = gyre_batch_get(stack, i, wish);
		uint32_t pledge = batch_pledge(stack, i);
		int r;

		if (one_in(&self->random, 4) || batch_head(stack, i) == NULL) {
			continue;
		}
		trace(self->life, "answers", pledge, i);
		must(world, self->life, gy_add_relaxed(&world->pledges[pledge].answered, 1) == 0);
		r = wish != NULL ? gyre_batch_reply(stack, i,
						    gyre_new(stack, present, .pledge = pledge,
							     .by = self->life,
							     .token = token_get(world)))
				 : gyre_batch_reply(stack, i,
						    gyre_new(stack, verdict, .pledge = pledge,
							     .by = self->life));
		must(world, self->life, r == 0 || world->plan.lean, "%d", r);
	}
}

static int handle_batch(struct gyre_stack *stack, enum kind kind)
{
	struct self *self = self_of(stack);
	int r;

	expect_alive(self);
	expect_time_left(stack);
	if (gyre_stack_state(stack) == 0) {
		expect_nothing_in(frame_of(stack), self);
		expect_batch(stack, kind);
		forward_some(stack, kind);
	}
	r = act_alone(stack);
	if (r == 0 && kind == KIND_ASK) {
		answer_batch(stack);
	}
	return r;
}

static int on_notice_batch(struct gyre_stack *stack)
{
	return handle_batch(stack, KIND_NOTICE);
}

static int on_ask_batch(struct gyre_stack *stack)
{
	return handle_batch(stack, KIND_ASK);
}

/* ---- births and ends ---- */

static void be_born(struct gyre_stack *stack, const struct birth *birth, uint32_t number)
{
	struct self *self = self_of(stack);
	struct world *world = birth->world;
	struct life *life = &world->lives[number];

	*self = (struct self){
		.world = world,
		.random = birth->random ^ number,
		.life = number,
		.parent = birth->parent,
		.depth = birth->depth,
		.class = birth->class,
		.keeper = birth->keeper,
		.meant = 1U << birth->group,
		.groups = birth->group == 0 ? 0 : 1U << birth->group,
		.born_in = birth->group,
		.link = self->link,
	};
	if (birth->life == 0) {
		life->class = birth->class;
	}
	life->address = gyre_self(stack);
	(void)gy_add_relaxed(&world->groups[birth->group].joined, 1);
	(void)gy_add_relaxed(&world->groups[birth->group].born, 1);
	(void)gy_add_relaxed(&world->lives[birth->parent].children, 1);
	must(world, number, gy_load_relaxed(&life->ended) == 0);
	must(world, number, gy_exchange(&life->alive, 1) == 0);
	trace(number, "is born", birth->parent, birth->class);
	expect_place(world, number, birth, gyre_self(stack));
	expect_first_name(stack, birth->name);
}

static int begin_mount(struct gyre_stack *stack)
{
	struct birth linked;
	const struct birth *birth =
		linked_birth(stack, &linked) ? &linked : gyre_message(stack, birth);
	struct self *self = self_of(stack);
	uint32_t number;
	const struct gyre_timer_options options = { .delay_ns = 100000, .period_ns = 300000 };

	must(world_now(), 0, birth != NULL && self->world == NULL);
	number = birth->life == 0 ? life_take(birth->world) : birth->life;
	if (number == 0) {
		return -EIO;
	}
	be_born(stack, birth, number);
	if (self->link != 0) {
		link_is_mounted(self);
	}
	if (birth->group != 0 || self->link != 0) {
		(void)known_add(self->world, &self->random,
				(struct acquaintance){ gyre_self(stack), number });
	}
	if (self->keeper) {
		self->timers[TIMERS - 1] =
			(struct timer_model){ .on = true,
					      .next_ns = now_ns() + options.delay_ns,
					      .period_ns = options.period_ns };
		return gyre_timer_start(stack, TIMERS - 1, &options);
	}
	return 0;
}

/* How a mount or a hook has ended, or that it waits. */
static int end_hook(struct self *self, int r, enum phase phase)
{
	if (r < 0) {
		self->stopped = true;
	} else if (r == 0) {
		self->phase = phase;
	}
	return r;
}

static int on_mount(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	int r = 0;

	if (gyre_stack_state(stack) == 0) {
		expect_nothing_in(frame_of(stack), self);
		r = begin_mount(stack);
		if (r < 0 || self->keeper) {
			return self->world == NULL ? r : end_hook(self, r, PHASE_UP);
		}
	} else {
		expect_alive(self);
	}
	if (gyre_stack_state(stack) != 0 || one_in(&self->random, 5)) {
		r = act_alone(stack);
	}
	return end_hook(self, r, PHASE_UP);
}

static void on_clean(void *state)
{
	struct self *self = (struct self *)state;
	struct world *world = self->world;
	struct life *life;

	if (self->link != 0) {
		link_is_cleaned(self);
	}
	if (world == NULL) {
		return; /* there was no life for it */
	}
	life = &world->lives[self->life];
	trace(self->life, "ends", self->parent, 0);
	model_post_ended(self);
	expect_no_phase(self);
	model_lets_go(self);
	must(world, self->life, gy_load_relaxed(&life->children) == 0, "%u children are left",
	     life->children);
	for (uint32_t i = 1; i < GROUPS_MAX; i++) {
		(void)gy_add_relaxed(&world->groups[i].joined, -(self->groups >> i & 1));
	}
	(void)gy_add_relaxed(&world->groups[self->born_in].born, -1U);
	for (uint32_t i = 0; i < NAMES; i++) {
		uint32_t expected = self->life;

		if ((self->names >> i & 1) != 0) {
			(void)gy_compare_exchange(&world->names[i], &expected, 0);
		}
	}
	must(world, self->life, gy_exchange(&life->alive, 0) == 1);
	must(world, self->life, gy_exchange(&life->ended, 1) == 0);
	(void)gy_add_relaxed(&world->lives[self->parent].children, -1U);
}

/* ---- restarts ---- */

static int on_hook(struct gyre_stack *stack, enum phase phase)
{
	struct self *self = self_of(stack);
	int r = 0;

	expect_alive(self);
	must(self->world, self->life, self->phase == PHASE_RESTART);
	if (gyre_stack_state(stack) == 0) {
		expect_nothing_in(frame_of(stack), self);
	}
	if (gyre_stack_state(stack) != 0 || one_in(&self->random, 4)) {
		r = act_alone(stack);
	}
	return end_hook(self, r, phase);
}

static int on_before_restart(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);

	if (gyre_stack_state(stack) == 0) {
		must(self->world, self->life,
		     self->phase == PHASE_UP || self->phase == PHASE_MOUNT);
		/* Without memory to decide for a child, a parent fails itself. */
		must(self->world, self->life, !self->keeper || self->world->plan.lean);
		trace(self->life, "restarts", self->stashed_count, 0);
		self->phase = PHASE_RESTART;
		model_restarted(self);
	}
	return on_hook(stack, PHASE_RESTART);
}

static int on_restart(struct gyre_stack *stack)
{
	return on_hook(stack, PHASE_RESTART);
}

static int on_after_restart(struct gyre_stack *stack)
{
	return on_hook(stack, PHASE_UP);
}

/* ---- the handlers of each behaviour ---- */

#define HANDLERS_OF(NUMBER)                                     \
	static int on_notice_##NUMBER(struct gyre_stack *stack) \
	{                                                       \
		return handle(stack, KIND_NOTICE, NUMBER);      \
	}                                                       \
	static int on_ask_##NUMBER(struct gyre_stack *stack)    \
	{                                                       \
		return handle(stack, KIND_ASK, NUMBER);         \
	}                                                       \
	static int on_event_##NUMBER(struct gyre_stack *stack)  \
	{                                                       \
		return handle_event(stack, NUMBER);             \
	}                                                       \
	struct gyre_needs_a_semicolon

HANDLERS_OF(0);
HANDLERS_OF(1);
HANDLERS_OF(2);

static const struct gyre_route notices_1[] = { GYRE_ROUTE(letter, on_notice_1),
					       GYRE_ROUTE_OTHERS(on_notice_1) };
static const struct gyre_route notices_2[] = { GYRE_ROUTE(bulk, on_notice_2),
					       GYRE_ROUTE(letter, on_notice_2), GYRE_ROUTE_END };
static const struct gyre_route asks_1[] = { GYRE_ROUTE(question, on_ask_1), GYRE_ROUTE_END };
static const struct gyre_route events_2[] = { GYRE_ROUTE(gyre_timeout, on_event_2),
					      GYRE_ROUTE(gyre_terminated, on_event_2),
					      GYRE_ROUTE_OTHERS(on_event_2) };

static bool is_ours(const struct gyre_type *type)
{
	return type->id >= GYRE_ID(letter) && type->id <= GYRE_ID(wish) &&
	       type->id != GYRE_ID(verdict) && type->id != GYRE_ID(present);
}

static bool is_batched(const struct gyre_type *type, const void *message)
{
	return is_ours(type) && (((const struct head *)message)->marks & MARK_BATCH) != 0;
}

static bool is_urgent(const struct gyre_type *type, const void *message)
{
	return is_ours(type) && (((const struct head *)message)->marks & MARK_URGENT) != 0;
}

static bool is_barrier(const struct gyre_type *type, const void *message)
{
	return is_ours(type) && (((const struct head *)message)->marks & MARK_BARRIER) != 0;
}

#define PLAIN_0                                                             \
	{                                                                   \
		.notice = on_notice_0, .ask = on_ask_0, .event = on_event_0 \
	}
#define PLAIN_1                                                             \
	{                                                                   \
		.notice = on_notice_1, .ask = on_ask_1, .event = on_event_1 \
	}
#define PLAIN_2                                                             \
	{                                                                   \
		.notice = on_notice_2, .ask = on_ask_2, .event = on_event_2 \
	}
#define BATCHES_0                                                            \
	{                                                                    \
		.notice = on_notice_0, .ask = on_ask_0, .event = on_event_0, \
		.notice_batch = on_notice_batch, .ask_batch = on_ask_batch   \
	}
#define BATCHES_1                                                            \
	{                                                                    \
		.notice = on_notice_1, .ask = on_ask_1, .event = on_event_1, \
		.ask_batch = on_ask_batch                                    \
	}
#define ROUTES_1                                                                      \
	{                                                                             \
		.notice_routes = notices_1, .ask_routes = asks_1, .event = on_event_1 \
	}
#define ROUTES_2                                                     \
	{                                                            \
		.notice_routes = notices_2, .event_routes = events_2 \
	}

const struct gyre_behaviour behaviours[CLASSES][BEHAVIOURS] = {
	{ PLAIN_0, PLAIN_1, PLAIN_2 },	   { BATCHES_0, BATCHES_1, PLAIN_2 },
	{ PLAIN_0, PLAIN_1, PLAIN_2 },	   { PLAIN_0, PLAIN_1, PLAIN_2 },
	{ PLAIN_0, PLAIN_1, PLAIN_2 },	   { BATCHES_0, PLAIN_1, ROUTES_2 },
	{ PLAIN_0, PLAIN_1, PLAIN_2 },	   { PLAIN_0, PLAIN_1, PLAIN_2 },
	{ BATCHES_0, BATCHES_1, PLAIN_2 }, { PLAIN_0, ROUTES_1, ROUTES_2 },
	{ BATCHES_0, BATCHES_1, PLAIN_2 },
};

#define COMMON                                                                     \
	.state_bytes = sizeof(struct self), .frame_bytes = sizeof(struct frame),   \
	.mount = on_mount, .clean = on_clean, .before_restart = on_before_restart, \
	.after_restart = on_after_restart

enum { ORPHANS = 9 }; /* classes from there on leave failures to their parents */

uint8_t draw_class(uint64_t *random, bool orphan)
{
	return (uint8_t)draw(random, orphan ? ORPHANS : CLASSES);
}

static enum gyre_decision decide(void *state, const struct gyre_failure *failure)
{
	struct self *self = (struct self *)state;

	expect_alive(self);
	must(self->world, self->life, failure->error < 0 && failure->cause == NULL);
	return (enum gyre_decision)draw(&self->random, GYRE_DECISION_ESCALATE + 1);
}

const struct gyre_class classes[CLASSES] = {
	{ .name = "plain",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .restart = on_restart,
	  .supervision = { .scope = GYRE_ALL_FOR_ONE, .delay_ns = 100000 } },
	{ .name = "batching",
	  COMMON,
	  .behaviour = BATCHES_0,
	  .batch_notices = is_batched,
	  .batch_asks = is_batched,
	  .batch_max = 4,
	  .strategy = GYRE_STRATEGY_IGNORE,
	  .supervision.decision = GYRE_DECISION_ESCALATE },
	{ .name = "barring",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .barrier = is_barrier,
	  .restarts_max = 3,
	  .restart_delay_ns = 300000,
	  .keep_children = true,
	  .supervision = { .scope = GYRE_REST_FOR_ONE, .restarts_max = 2, .window_ns = 2000000 } },
	{ .name = "bounded",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .mailbox_limit = 6,
	  .mailbox_high = 4,
	  .mailbox_low = 1,
	  .strategy = GYRE_STRATEGY_STOP,
	  .supervision = { .scope = GYRE_REST_FOR_ONE, .decision = GYRE_DECISION_STOP } },
	{ .name = "stashing",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .stash_max = 4,
	  .restarts_max = 5,
	  .restart_window_ns = 2000000,
	  .supervision.decide = decide },
	{ .name = "bounded batches",
	  COMMON,
	  .behaviour = BATCHES_0,
	  .batch_notices = is_batched,
	  .batch_asks = is_batched,
	  .batch_max = 3,
	  .mailbox_limit = 10,
	  .restart_delay_ns = 200000,
	  .strategy = GYRE_STRATEGY_RESTART,
	  .keep_children = true },
	{ .name = "dropping newest",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .mailbox_limit = 6,
	  .overflow = GYRE_OVERFLOW_DROP_NEWEST,
	  .mailbox_high = 5,
	  .mailbox_low = 2 },
	{ .name = "dropping oldest",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .urgent = is_urgent,
	  .mailbox_limit = 5,
	  .overflow = GYRE_OVERFLOW_DROP_OLDEST },
	{ .name = "urgent batches",
	  COMMON,
	  .behaviour = BATCHES_0,
	  .urgent = is_urgent,
	  .barrier = is_barrier,
	  .batch_notices = is_batched,
	  .batch_asks = is_batched,
	  .batch_max = 4 },
	{ .name = "routing",
	  COMMON,
	  .behaviour = PLAIN_0,
	  .strategy = GYRE_STRATEGY_ESCALATE,
	  .supervision.scope = GYRE_ALL_FOR_ONE },
	{ .name = "barring batches",
	  COMMON,
	  .behaviour = BATCHES_0,
	  .barrier = is_barrier,
	  .batch_notices = is_batched,
	  .batch_asks = is_batched,
	  .batch_max = 8,
	  .strategy = GYRE_STRATEGY_ESCALATE,
	  .supervision.decision = GYRE_DECISION_IGNORE },
};
