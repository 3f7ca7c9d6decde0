/*
 * Lives of all sorts on three loops: actors spawn children on any loop, watch each other, ask,
 * stash, fail and are restarted or stopped in every way, all at random. What must hold whatever
 * happens: who is watched is told to have ended once, after its state was cleaned, and never when
 * the watch was called off; children end before their parents; every ask ends; and nothing is left.
 *
 * Three keepers, which nobody stops, give the orders. Each life has a record that is never used
 * again, with which all this is checked.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/watch.h>

#include "stress.h"

enum {
	LOOPS = 3,
	STEPS = 25000,
	KNOWN = 96,
	RECORDS_MAX = 1 << 18,
	WATCHED_MAX = 16,
	DEPTH_MAX = 4,
	ASKS_ITSELF = 1,
	ANSWER_NOW = 1000,
};

static const uint64_t patience_ns = GYRE_MILLISECONDS(20); /* of an ask */

/* ---- what is known of each life ---- */

/* All atomic. */
struct record {
	uint32_t alive;
	uint32_t children;
	uint32_t ended;
};

static struct record records[RECORDS_MAX];
static uint32_t record_last; /* 0 is nobody's */

struct acquaintance {
	struct gyre_address address;
	uint32_t record;
};

static struct acquaintance known[KNOWN];
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct acquaintance any_known(uint64_t *random)
{
	struct acquaintance one;

	(void)pthread_mutex_lock(&known_mutex);
	one = known[stress_random(random, KNOWN)];
	(void)pthread_mutex_unlock(&known_mutex);
	return one;
}

/* Returns who is not known any more. */
static struct acquaintance make_known(struct acquaintance one, uint64_t *random)
{
	uint32_t place = stress_random(random, KNOWN);
	struct acquaintance former;

	(void)pthread_mutex_lock(&known_mutex);
	former = known[place];
	known[place] = one;
	(void)pthread_mutex_unlock(&known_mutex);
	return former;
}

/* ---- messages ---- */

enum deed { SPAWN, WATCH, UNWATCH, ASK, STASH, UNSTASH, FAIL, FAIL_LATER, STOP, DEEDS };

struct order {
	enum deed deed;
	struct acquaintance whom;
};
GYRE_MESSAGE(order, 0x2010);

struct birth {
	uint64_t random;
	uint32_t record;
	uint32_t parent; /* 0 for none */
	uint32_t depth;
};
GYRE_MESSAGE(birth, 0x2011);

/* From a keeper to itself, since it hears of ends only when its mount is over. */
struct beginning {
	char unused;
};
GYRE_MESSAGE(beginning, 0x2012);

struct life {
	uint64_t random;
	uint32_t record;
	uint32_t parent;
	uint32_t depth;
	uint32_t watched_count;
	struct acquaintance watched[WATCHED_MAX];
};

struct frame {
	struct gyre_future future;
	struct acquaintance whom;
	uint32_t steps;
};

static struct life *life_of(struct gyre_stack *stack)
{
	return (struct life *)gyre_state(stack);
}

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* ---- counting ---- */

static void begin_life(struct gyre_stack *stack, const struct birth *birth)
{
	struct life *life = life_of(stack);

	life->random = birth->random;
	life->record = birth->record;
	life->parent = birth->parent;
	life->depth = birth->depth;
	check(gy_fetch_add(&records[life->record].alive, 1) == 0);
	check(gy_load_acquire(&records[life->record].ended) == 0);
	(void)gy_fetch_add(&records[life->parent].children, 1);
}

static void end_life(void *state)
{
	const struct life *life = (const struct life *)state;

	check(life->record != 0);
	check(gy_load_acquire(&records[life->record].children) == 0);
	check(gy_fetch_add(&records[life->record].alive, -1U) == 1);
	check(gy_fetch_add(&records[life->record].ended, 1) == 0);
	(void)gy_fetch_add(&records[life->parent].children, -1U);
}

/* ---- watching ---- */

static struct acquaintance *find_watched(struct life *life, struct gyre_address address)
{
	for (uint32_t i = 0; i < life->watched_count; i++) {
		if (gyre_address_equal(life->watched[i].address, address)) {
			return &life->watched[i];
		}
	}
	return NULL;
}

static void forget(struct life *life, struct acquaintance *one)
{
	*one = life->watched[--life->watched_count];
}

static void watch(struct gyre_stack *stack, struct acquaintance whom)
{
	struct life *life = life_of(stack);

	if (whom.record == 0 || life->watched_count == WATCHED_MAX ||
	    gyre_address_equal(whom.address, gyre_self(stack))) {
		return;
	}
	check(gyre_watch(stack, whom.address) == 0);
	if (find_watched(life, whom.address) == NULL) {
		life->watched[life->watched_count++] = whom;
	}
}

static void unwatch(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);
	struct acquaintance *one;

	if (life->watched_count > 0) {
		one = &life->watched[stress_random(&life->random, life->watched_count)];
		check(gyre_unwatch(stack, one->address) == 0);
		forget(life, one);
	}
}

/* An end is told once, of those who are watched, and after it has happened. */
static void hear_of_end(struct gyre_stack *stack, const struct gyre_terminated *terminated)
{
	struct acquaintance *one = find_watched(life_of(stack), terminated->actor);

	check(one != NULL);
	check(gy_load_acquire(&records[one->record].alive) == 0);
	forget(life_of(stack), one);
}

/* ---- deeds ---- */

static const struct gyre_class classes[3];

static void spawn(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);
	struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP };
	struct acquaintance child = { .record = gy_fetch_add(&record_last, 1) + 1 };
	struct birth birth = { .record = child.record, .depth = life->depth + 1 };
	int r;

	if (child.record >= RECORDS_MAX || birth.depth > DEPTH_MAX) {
		return;
	}
	birth.random = gy_random_next(&life->random);
	options.loop = stress_random(&life->random, LOOPS);
	options.detached = stress_random(&life->random, 4) == 0;
	birth.parent = options.detached ? 0 : life->record;
	r = gyre_spawn(stack, &classes[stress_random(&life->random, 3)],
		       gyre_fill_birth(gyre_mail_create(stack, &gyre_type_birth), birth), &options,
		       &child.address);
	check(r == 0 || r == -ESHUTDOWN);
	if (r == 0) {
		struct acquaintance former = make_known(child, &life->random);

		if (former.record != 0) {
			(void)gyre_poison(stack, former.address);
		}
	}
}

static void check_outcome(const struct gyre_future *future)
{
	int error = gyre_future_error(future);

	check(error == 0 || error == -ETIMEDOUT || error == -ESRCH || error == -ESHUTDOWN ||
	      error == -EIO || error == -ENOMSG);
}

static int ask(struct gyre_stack *stack, struct acquaintance whom)
{
	return gyre_ask(stack, whom.address, load_new(stack, whom.record), patience_ns,
			&frame_of(stack)->future);
}

static int nap(struct gyre_stack *stack)
{
	return gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->future);
}

/* Deeds that end at once. */
static int act(struct gyre_stack *stack, const struct order *order)
{
	switch (order->deed) {
	case SPAWN:
		spawn(stack);
		break;
	case WATCH:
		watch(stack, order->whom);
		break;
	case UNWATCH:
		unwatch(stack);
		break;
	case STASH: /* comes again with each unstash, until it is let go */
		if (stress_random(&life_of(stack)->random, 2) == 0) {
			(void)gyre_stash(stack);
		}
		break;
	case UNSTASH:
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
		break;
	case FAIL:
		return -EIO;
	default:
		return gyre_stop(stack, gyre_self(stack));
	}
	return gyre_return(stack);
}

static int obey(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);

	GYRE_BEGIN(stack);
	if (order->deed == ASK) {
		GYRE_AWAIT(stack, ask(stack, order->whom));
		check_outcome(&frame_of(stack)->future);
		return gyre_return(stack);
	}
	if (order->deed == FAIL_LATER) {
		GYRE_AWAIT(stack, nap(stack));
		return -EIO;
	}
	return act(stack, order);
	GYRE_END(stack);
}

/* How an ask is taken; 1 when it is to be answered now. */
static int choose_answer(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);

	(void)load_check(gyre_message(stack, load));
	switch (stress_random(&life->random, 10)) {
	case 0:
		return -EIO;
	case 1:
		return gyre_return(stack);
	case 2:
		return gyre_stash(stack) == 0 ? 0 : -EIO;
	case 3:
		check(gyre_stop(stack, gyre_self(stack)) == 0);
		return ANSWER_NOW;
	case 4:
		check(ask(stack, any_known(&life->random)) == 0);
		return gyre_suspend(stack, ASKS_ITSELF);
	default:
		return ANSWER_NOW;
	}
}

/* At once, later, after another, badly or not at all. */
static int answer(struct gyre_stack *stack)
{
	int r = ANSWER_NOW;

	if (gyre_stack_state(stack) == 0) {
		r = choose_answer(stack);
	} else {
		check_outcome(&frame_of(stack)->future);
	}
	return r == ANSWER_NOW ? gyre_reply(stack, load_new(stack, 1)) : r;
}

/* ---- lives ---- */

static int start_timer(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_MILLISECONDS(5),
						    .period_ns = GYRE_MILLISECONDS(5) };

	return gyre_timer_start(stack, 1, &options);
}

static int be_born(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	begin_life(stack, gyre_message(stack, birth));
	check(start_timer(stack) == 0);
	if (stress_random(&life_of(stack)->random, 32) == 0) {
		return -EIO;
	}
	if (stress_random(&life_of(stack)->random, 32) == 0) {
		GYRE_AWAIT(stack, nap(stack));
		return -EIO;
	}
	GYRE_END(stack);
}

static int notice_event(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated != NULL) {
		hear_of_end(stack, terminated);
	} else {
		check(gyre_message(stack, gyre_timeout) != NULL);
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	}
	return gyre_return(stack);
}

static int wait_and_start_timer(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, nap(stack));
	check(start_timer(stack) == 0);
	GYRE_END(stack);
}

#define LIFE                                                                                       \
	.state_bytes = sizeof(struct life), .frame_bytes = sizeof(struct frame), .mount = be_born, \
	.behaviour = { .notice = obey, .ask = answer, .event = notice_event }, .clean = end_life

static const struct gyre_class classes[3] = {
	{ .name = "restarting", LIFE, .restarts_max = 3, .restart = wait_and_start_timer },
	{ .name = "slowly restarting",
	  LIFE,
	  .restarts_max = 5,
	  .restart_delay_ns = GYRE_MILLISECONDS(1),
	  .after_restart = start_timer },
	{ .name = "stopping", LIFE, .strategy = GYRE_STRATEGY_STOP },
};

/* ---- keepers ---- */

static uint32_t keepers_left = LOOPS;

static void give_order(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);
	struct acquaintance to = any_known(&life->random);
	struct order order = { .deed = (enum deed)stress_random(&life->random, DEEDS),
			       .whom = any_known(&life->random) };

	/* There must be more births than deaths. */
	if (order.deed >= FAIL && stress_random(&life->random, 2) == 0) {
		order.deed = SPAWN;
	}
	if (to.record != 0) {
		(void)gyre_notify(
			stack, to.address,
			gyre_fill_order(gyre_mail_create(stack, &gyre_type_order), order));
	}
}

static void end_one(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);
	struct acquaintance whom = any_known(&life->random);

	if (whom.record == 0) {
		return;
	}
	switch (stress_random(&life->random, 8)) {
	case 0:
		(void)gyre_stop(stack, whom.address);
		break;
	case 1:
		(void)gyre_poison(stack, whom.address);
		break;
	case 2:
		(void)gyre_stop_gracefully(stack, whom.address, GYRE_MILLISECONDS(3), NULL);
		break;
	default:
		break;
	}
}

static void stir(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);

	for (uint32_t i = 0; i < 2; i++) {
		spawn(stack);
		watch(stack, any_known(&life->random));
	}
	for (uint32_t i = 0; i < 8; i++) {
		give_order(stack);
	}
	end_one(stack);
	if (stress_random(&life->random, 4) == 0) {
		unwatch(stack);
	}
}

/* Those it still watches end, so that it must be told. */
static int stop_watched(struct gyre_stack *stack)
{
	struct life *life = life_of(stack);

	for (uint32_t i = 0; i < life->watched_count; i++) {
		(void)gyre_stop(stack, life->watched[i].address);
	}
	return nap(stack);
}

static int end_gracefully(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	frame->whom = any_known(&life_of(stack)->random);
	return gyre_stop_gracefully(stack, frame->whom.address, GYRE_MILLISECONDS(3),
				    &frame->future);
}

static int keep(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->steps = 0; frame->steps < STEPS; frame->steps++) {
		stir(stack);
		if (frame->steps % 8 == 7) {
			GYRE_AWAIT(stack, end_gracefully(stack));
			check(gyre_future_error(&frame->future) == 0 ||
			      gyre_future_error(&frame->future) == -ESRCH);
			check(gy_load_acquire(&records[frame->whom.record].alive) == 0);
		}
		GYRE_AWAIT(stack, ask(stack, any_known(&life_of(stack)->random)));
		check_outcome(&frame->future);
	}
	while (life_of(stack)->watched_count > 0) {
		GYRE_AWAIT(stack, stop_watched(stack));
	}
	if (gy_fetch_add(&keepers_left, -1U) == 1) {
		gyre_system_stop(gyre_system_of(stack));
	}
	GYRE_END(stack);
}

static int hear(struct gyre_stack *stack)
{
	hear_of_end(stack, gyre_message(stack, gyre_terminated));
	return gyre_return(stack);
}

static int begin_to_keep(struct gyre_stack *stack)
{
	begin_life(stack, gyre_message(stack, birth));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, beginning, 0));
}

static const struct gyre_class keeper_class = {
	.name = "keeper",
	.state_bytes = sizeof(struct life),
	.frame_bytes = sizeof(struct frame),
	.mount = begin_to_keep,
	.behaviour = { .notice = keep, .event = hear },
	.clean = end_life,
};

static void spawn_keepers(struct gyre_system *system, uint64_t seed)
{
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		struct birth birth = { .random = gy_random_next(&seed), .record = ++record_last };

		(void)stress_spawn(
			system, &keeper_class, loop,
			gyre_fill_birth(gyre_system_mail_create(system, &gyre_type_birth), birth));
	}
}

static void check_records(void)
{
	uint32_t lived = 0;

	for (uint32_t i = 1; i < RECORDS_MAX && i <= record_last; i++) {
		check(records[i].alive == 0);
		check(records[i].children == 0);
		lived += records[i].ended;
	}
	check(records[0].children == 0);
	check(lived > (uint32_t)LOOPS * STEPS);
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	struct gyre_counters counters;

	spawn_keepers(system, seed);
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	(void)printf("%llu lives, %llu failures, %llu restarts, %llu messages\n",
		     (unsigned long long)counters.spawned, (unsigned long long)counters.failed,
		     (unsigned long long)counters.restarted, (unsigned long long)counters.sent);
	check_records();
	check(counters.restarted > 0);
	check(counters.dropped[GYRE_DROP_NO_ACTOR] > 0);
	check(counters.dropped[GYRE_DROP_STOPPED] > 0);
	check(counters.dropped[GYRE_DROP_CANCELLED] > 0);
	return 0;
}
