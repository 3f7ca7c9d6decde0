/*
 * Three nodes whose actors do all that goes between nodes at once, over TCP and Unix sockets by
 * chance: notices small and large, asks, lookups, watches of actors that end; while loops rob each
 * other and threads send from outside. In some rounds nothing breaks, and then nothing may be lost;
 * in others connections are cut and the third node stops and comes back, and then nothing older may
 * arrive after something newer. Each ask must end, those without a time-out too; each watch tells
 * once; each message has an end that is counted, on its way between nodes too; and when all is
 * quiet links hold nothing any more.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include <gyre/name.h>
#include <gyre/outside.h>
#include <gyre/watch.h>

#include "links.h"
#include "stress.h"

enum {
	ROUNDS = 4,
	LOOPS = 2,
	WORKERS = 6, /* a node, most on its first loop, so that the other robs it */
	THREADS = 2,
	SENDERS = WORKERS + THREADS,
	WATCHES = 4,
	STEPS = 6,
	STEP_TURNS = 400,
	DESCRIPTORS = 256,
	ADDRESS_BYTES = 64,
	BULK_BYTES = 100000,
	SLACK_BYTES = 1 << 12,
};

/* Where a notice stands in the order of its sender. */
struct place_in_line {
	uint64_t life; /* of the sender's node */
	uint64_t number;
	uint32_t node; /* from 0 */
	uint32_t sender;
};

struct shot {
	struct place_in_line place;
	uint64_t words[4];
};
GYRE_MESSAGE(shot, 0x2401);

struct bulk {
	struct place_in_line place;
	unsigned char bytes[BULK_BYTES];
};
GYRE_MESSAGE(bulk, 0x2402);

struct victim_wanted {
	uint64_t seed;
};
GYRE_MESSAGE(victim_wanted, 0x2403);

struct victim {
	struct gyre_address address;
};
GYRE_MESSAGE(victim, 0x2404);

struct turn {
	uint64_t number;
};
GYRE_MESSAGE(turn, 0x2405);

struct rest_of {
	struct gyre_address worker;
};
GYRE_MESSAGE(rest_of, 0x2407);

/* Gives the workers of a node their turns. */
struct bell {
	struct gyre_address resting[WORKERS];
	uint32_t count;
};

struct origin {
	struct gyre_address bell;
	uint64_t random;
	uint64_t life;
	uint32_t node;
	uint32_t index;
};
GYRE_MESSAGE(origin, 0x2406);

struct last {
	uint64_t life;
	uint64_t number; /* of the next one */
};

struct worker {
	struct origin origin;
	struct gyre_address found[NODES][WORKERS];
	uint64_t next[NODES][WORKERS];
	struct last last[NODES][SENDERS];
	struct gyre_address watched[WATCHES];
};

struct frame {
	struct gyre_future future;
	uint64_t value;
	uint32_t node;
	uint32_t worker;
};

struct visitor {
	pthread_t id;
	uint64_t random;
	uint64_t asked; /* callbacks that must come */
	uint64_t heard; /* atomic: that came */
	uint32_t index;
};

static const struct gyre_type *const types[] = {
	&gyre_type_shot,   &gyre_type_bulk, &gyre_type_victim_wanted,
	&gyre_type_victim, &gyre_type_load, NULL,
};

static struct gyre_system *systems[NODES];
static bool calm; /* in this round nothing breaks */
static pthread_mutex_t book = PTHREAD_MUTEX_INITIALIZER;
static struct gyre_address workers[NODES][WORKERS]; /* under the book's mutex */
static uint32_t may_run;			    /* atomic, as the rest */
static uint32_t ending;
static uint64_t turns;
static uint64_t heard[2]; /* shots, bulks */
static uint64_t told;
static uint64_t open_asks[NODES];
static uint64_t open_watches[NODES];
static uint64_t resets; /* asks that failed with their link */
static struct ledger ledger;
static uint64_t stolen;

/* Something has not come about, which must have a reason. */
static void check_failure(int error)
{
	check(error < 0);
	(void)gy_fetch_add(&resets, error == -ECONNRESET);
	if (calm && gy_load_acquire(&ending) == 0) {
		(void)fprintf(stderr, "failed: %s\n", strerror(-error));
		check(!calm);
	}
}

/* ---- notices ---- */

static void take_place(struct worker *self, const struct place_in_line *place)
{
	struct last *last;

	check(place->node < NODES && place->sender < SENDERS);
	last = &self->last[place->node][place->sender];
	check(place->life >= last->life);
	if (place->life > last->life) {
		last->number = 0;
	}
	if (place->number < last->number || (calm && place->number > last->number)) {
		(void)fprintf(stderr, "at %u/%u from %u/%u: %llu came after %llu%s\n",
			      self->origin.node, self->origin.index, place->node, place->sender,
			      (unsigned long long)place->number,
			      (unsigned long long)last->number - 1, calm ? ", calm" : "");
		_exit(1);
	}
	last->life = place->life;
	last->number = place->number + 1;
}

static void take_shot(struct worker *self, const struct shot *shot)
{
	for (uint32_t i = 0; i < 4; i++) {
		check(shot->words[i] == shot->place.number * (i + 3));
	}
	take_place(self, &shot->place);
	(void)gy_fetch_add(&heard[0], 1);
}

static void take_bulk(struct worker *self, const struct bulk *bulk)
{
	for (uint32_t i = 0; i < BULK_BYTES; i += 997) {
		check(bulk->bytes[i] == (unsigned char)bulk->place.number);
	}
	take_place(self, &bulk->place);
	(void)gy_fetch_add(&heard[1], 1);
}

static struct gyre_mail *fill(struct gyre_mail *mail, bool large, const struct place_in_line *place)
{
	struct bulk *bulk = (struct bulk *)gyre_payload(mail);
	struct shot *shot = (struct shot *)gyre_payload(mail);

	if (large) {
		bulk->place = *place;
		memset(bulk->bytes, (int)(place->number & 0xff), BULK_BYTES);
		return mail;
	}
	shot->place = *place;
	for (uint32_t i = 0; i < 4; i++) {
		shot->words[i] = place->number * (i + 3);
	}
	return mail;
}

static void shoot(struct gyre_stack *stack, struct worker *self, uint32_t node, uint32_t worker)
{
	struct place_in_line place = { self->origin.life, 0, self->origin.node,
				       self->origin.index };

	for (uint32_t i = stress_random(&self->origin.random, 8) + 1; i > 0; i--) {
		bool large = stress_random(&self->origin.random, 24) == 0;
		struct gyre_mail *mail =
			gyre_mail_create(stack, large ? &gyre_type_bulk : &gyre_type_shot);
		int r;

		place.number = self->next[node][worker]++;
		r = gyre_notify(stack, self->found[node][worker], fill(mail, large, &place));
		if (r < 0) {
			check_failure(r);
		}
	}
}

/* ---- those who are watched ---- */

static int be_victim(struct gyre_stack *stack)
{
	uint64_t seed = gyre_message(stack, victim_wanted)->seed;

	return gyre_timer_start(
		stack, 1,
		&(struct gyre_timer_options){ .delay_ns = GYRE_MICROSECONDS(seed % 2000) });
}

static int end_life(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class victim_class = {
	.name = "victim",
	.mount = be_victim,
	.behaviour = { .notice = end_life, .event = end_life },
};

static int make_victim(struct gyre_stack *stack)
{
	struct gyre_address address;
	uint64_t seed = gyre_message(stack, victim_wanted)->seed;
	int r = gyre_spawn(stack, &victim_class, gyre_new(stack, victim_wanted, seed), NULL,
			   &address);

	return r < 0 ? gyre_throw(stack, r) : gyre_reply(stack, gyre_new(stack, victim, address));
}

static void watch(struct gyre_stack *stack, struct worker *self, struct gyre_address victim)
{
	for (uint32_t i = 0; i < WATCHES; i++) {
		if (gyre_address_is_nobody(self->watched[i])) {
			check(gyre_watch(stack, victim) == 0);
			self->watched[i] = victim;
			(void)gy_fetch_add(&open_watches[self->origin.node], 1);
			break;
		}
	}
	if (stress_random(&self->origin.random, 2) == 0) {
		(void)gyre_stop(stack, victim);
	}
}

static void hear_end(struct worker *self, const struct gyre_terminated *terminated)
{
	uint32_t i = 0;

	while (i < WATCHES && !gyre_address_equal(self->watched[i], terminated->actor)) {
		i++;
	}
	check(i < WATCHES); /* it was not told of before */
	self->watched[i] = GYRE_NOBODY;
	(void)gy_fetch_add(&open_watches[self->origin.node], -1UL);
	(void)gy_fetch_add(&told, 1);
}

/* ---- a turn ---- */

/* Without one an ask ends all the same: what a broken link loses fails. */
static uint64_t any_timeout(uint64_t *random)
{
	return calm || stress_random(random, 2) == 0
		       ? GYRE_FOREVER
		       : GYRE_MICROSECONDS(stress_random(random, 20000) + 1);
}

static void look_up(struct gyre_stack *stack, struct worker *self, struct frame *frame)
{
	char name[8];

	(void)snprintf(name, sizeof(name), "w%u", frame->worker);
	(void)gyre_node_lookup(stack, (uint16_t)(frame->node + 1), name,
			       any_timeout(&self->origin.random), &frame->future);
}

/* Whether there is something to wait for. */
static bool begin_turn(struct gyre_stack *stack, struct worker *self, struct frame *frame)
{
	uint64_t *random = &self->origin.random;
	struct gyre_mail *mail;

	frame->node = stress_random(random, NODES);
	frame->worker = stress_random(random, WORKERS);
	frame->value = stress_random(random, 1000000);
	if (gyre_address_is_nobody(self->found[frame->node][frame->worker]) ||
	    stress_random(random, 16) == 0) {
		frame->value = 0;
		look_up(stack, self, frame);
		return true;
	}
	if (stress_random(random, 3) != 0 ||
	    gyre_address_equal(self->found[frame->node][frame->worker], gyre_self(stack))) {
		shoot(stack, self, frame->node, frame->worker);
		return false;
	}
	mail = stress_random(random, 3) == 0 ? gyre_new(stack, victim_wanted, frame->value)
					     : load_new(stack, frame->value);
	(void)gyre_ask(stack, self->found[frame->node][frame->worker], mail, any_timeout(random),
		       &frame->future);
	return true;
}

static void end_turn(struct gyre_stack *stack, struct worker *self, const struct frame *frame)
{
	const struct gyre_node_found *found = gyre_future_get(&frame->future, gyre_node_found);
	const struct victim *victim = gyre_future_get(&frame->future, victim);
	const struct load *answer = gyre_future_get(&frame->future, load);
	struct gyre_address *known = &self->found[frame->node][frame->worker];

	(void)gy_fetch_add(&open_asks[self->origin.node], -1UL);
	if (found != NULL) {
		check(found->address.node == frame->node + 1);
		if (!gyre_address_equal(*known, found->address)) {
			check(!calm || gyre_address_is_nobody(*known));
			*known = found->address;
		}
	} else if (victim != NULL) {
		watch(stack, self, victim->address);
	} else if (answer != NULL) {
		check(load_check(answer) == frame->value + 1);
	} else if (gyre_future_error(&frame->future) != -ENOENT) { /* it has not begun to live */
		check_failure(gyre_future_error(&frame->future));
	}
}

/* Not by a timer of its own, with which it could not be stolen. */
static int rest(struct gyre_stack *stack, struct worker *self)
{
	(void)gy_fetch_add(&turns, 1);
	(void)gyre_notify(stack, self->origin.bell, gyre_new(stack, rest_of, gyre_self(stack)));
	return gyre_return(stack);
}

static int hear_rest(struct gyre_stack *stack)
{
	struct bell *bell = (struct bell *)gyre_state(stack);

	check(bell->count < WORKERS);
	bell->resting[bell->count++] = gyre_message(stack, rest_of)->worker;
	return gyre_return(stack);
}

/* So they are ready all at once. */
static int ring(struct gyre_stack *stack)
{
	struct bell *bell = (struct bell *)gyre_state(stack);

	while (bell->count > 0 && gy_load_acquire(&may_run) != 0) {
		(void)gyre_notify(stack, bell->resting[--bell->count], gyre_new(stack, turn, 0));
	}
	return gyre_return(stack);
}

static int hang_bell(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1,
				&(struct gyre_timer_options){ .period_ns = GYRE_MILLISECONDS(1) });
}

static const struct gyre_class bell_class = {
	.name = "bell",
	.state_bytes = sizeof(struct bell),
	.mount = hang_bell,
	.behaviour = { .notice = hear_rest, .event = ring },
};

static int live(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, shot) != NULL) {
		take_shot(self, gyre_message(stack, shot));
		return gyre_return(stack);
	}
	if (gyre_message(stack, bulk) != NULL) {
		take_bulk(self, gyre_message(stack, bulk));
		return gyre_return(stack);
	}
	/* Now and then for as long as a thief needs to wake. */
	stress_dawdle(&self->origin.random,
		      stress_random(&self->origin.random, 6) == 0 ? 50000 : 1000);
	if (begin_turn(stack, self, frame)) {
		(void)gy_fetch_add(&open_asks[self->origin.node], 1);
		GYRE_AWAIT(stack, 0);
		end_turn(stack, self, frame);
	}
	return rest(stack, self);
	GYRE_END(stack);
}

static int answer(struct gyre_stack *stack)
{
	if (gyre_message(stack, victim_wanted) != NULL) {
		return make_victim(stack);
	}
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static int hear(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);

	check(gyre_message(stack, gyre_terminated) != NULL);
	hear_end(self, gyre_message(stack, gyre_terminated));
	return gyre_return(stack);
}

static int begin_life(struct gyre_stack *stack)
{
	struct worker *self = (struct worker *)gyre_state(stack);
	char name[8];

	self->origin = *gyre_message(stack, origin);
	(void)snprintf(name, sizeof(name), "w%u", self->origin.index);
	check(gyre_name_register(stack, name) == 0);
	return rest(stack, self);
}

static const struct gyre_class worker_class = {
	.name = "worker",
	.state_bytes = sizeof(struct worker),
	.frame_bytes = sizeof(struct frame),
	.mount = begin_life,
	.behaviour = { .notice = live, .ask = answer, .event = hear },
};

/* ---- from outside ---- */

static void hear_answer(struct gyre_mail *end, int error, void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;

	if (error == 0) {
		(void)load_check(gyre_mail_get(end, load));
	} else {
		check_failure(error);
	}
	(void)gy_fetch_add(&visitor->heard, 1);
}

static void ask_and_wait(struct visitor *visitor, struct gyre_system *system,
			 struct gyre_address to)
{
	uint64_t value = stress_random(&visitor->random, 100000);
	struct gyre_mail *end = NULL;
	int r = gyre_system_ask(system, to, load_new_outside(system, value),
				any_timeout(&visitor->random), &end);

	if (r == 0) {
		check(load_check(gyre_mail_get(end, load)) == value + 1);
	} else {
		check_failure(r);
	}
	gyre_mail_destroy(NULL, end);
}

/* The third node comes and goes: only the others can be used by threads. */
static void *visit(void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;
	struct gyre_system *system = systems[visitor->index];
	uint64_t next[NODES][WORKERS] = { { 0 } };

	while (gy_load_acquire(&may_run) != 0) {
		uint32_t node = stress_random(&visitor->random, NODES);
		uint32_t worker = stress_random(&visitor->random, WORKERS);
		bool large = stress_random(&visitor->random, 24) == 0;
		struct place_in_line place = { 1, next[node][worker], visitor->index,
					       WORKERS + visitor->index };
		struct gyre_address to;

		check(pthread_mutex_lock(&book) == 0);
		to = workers[node][worker];
		check(pthread_mutex_unlock(&book) == 0);
		switch (stress_random(&visitor->random, 4)) {
		case 0:
			ask_and_wait(visitor, system, to);
			break;
		case 1:
			visitor->asked +=
				gyre_system_ask_callback(system, to, load_new_outside(system, 1),
							 any_timeout(&visitor->random), hear_answer,
							 visitor) == 0;
			break;
		default:
			next[node][worker]++;
			(void)gyre_system_notify(
				system, to,
				fill(gyre_system_mail_create(system, large ? &gyre_type_bulk
									   : &gyre_type_shot),
				     large, &place));
		}
		stress_dawdle(&visitor->random, 5000);
	}
	return NULL;
}

/* ---- nodes ---- */

static void write_local(char text[ADDRESS_BYTES], uint32_t node)
{
	(void)snprintf(text, ADDRESS_BYTES, "unix:@gyre-stress-%d-%u", (int)getpid(), node);
}

/* Over TCP or a Unix socket, by chance. */
static void write_address(char text[ADDRESS_BYTES], uint32_t node, uint64_t *random)
{
	if (stress_random(random, 2) == 0) {
		write_local(text, node);
	} else {
		(void)snprintf(text, ADDRESS_BYTES, "tcp://127.0.0.1:%u",
			       gyre_system_node_port(systems[node]));
	}
}

static void tell_others(uint32_t node, uint64_t *random)
{
	char address[ADDRESS_BYTES];
	struct gyre_node_peer peer = { .address = address };

	for (uint32_t i = 0; i < NODES; i++) {
		if (i == node || systems[i] == NULL) {
			continue;
		}
		peer.id = (uint16_t)(node + 1);
		write_address(address, node, random);
		check(gyre_system_node_add_peer(systems[i], &peer) == 0);
		peer.id = (uint16_t)(i + 1);
		write_address(address, i, random);
		check(gyre_system_node_add_peer(systems[node], &peer) == 0);
	}
}

static void spawn_workers(uint32_t node, uint64_t life, uint64_t *random)
{
	struct gyre_address bell = stress_spawn(systems[node], &bell_class, 0, GYRE_NO_ARGUMENT);

	check(pthread_mutex_lock(&book) == 0);
	for (uint32_t i = 0; i < WORKERS; i++) {
		struct gyre_mail *mail = gyre_system_new(systems[node], origin, bell,
							 gy_random_next(random), life, node, i);

		workers[node][i] =
			stress_spawn(systems[node], &worker_class, i / (WORKERS - 1), mail);
	}
	check(pthread_mutex_unlock(&book) == 0);
}

static void open_node(uint32_t node, uint64_t life, uint64_t *random)
{
	char local[ADDRESS_BYTES];
	const struct gyre_node_options options = {
		.id = (uint16_t)(node + 1),
		.listen = "tcp://127.0.0.1:0",
		.listen_local = local,
		.types = types,
		.secret = "known to all nodes of this program",
		.link_bytes_max = calm ? 1 << 30 : 1 << 20,
		.heartbeat_ns = GYRE_MILLISECONDS(20),
		.suspect_ns = calm ? GYRE_SECONDS(100) : GYRE_MILLISECONDS(100),
		.down_ns = calm ? GYRE_SECONDS(200) : GYRE_MILLISECONDS(300),
		.redial_min_ns = GYRE_MILLISECONDS(1),
		.redial_max_ns = GYRE_MILLISECONDS(20),
		.away_ns = calm ? GYRE_SECONDS(100) : GYRE_MILLISECONDS(200),
	};
	const struct gyre_system_options system = {
		.loops = LOOPS,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.steal_floor = 1,
		.steal_aggression = 1,
		.log = stress_log,
		.node = &options,
	};

	write_local(local, node);
	check(gyre_system_create(&system, &systems[node]) == 0);
	gy_store_release(&open_asks[node], 0);
	gy_store_release(&open_watches[node], 0);
	tell_others(node, random);
	spawn_workers(node, life, random);
}

static void end_node(uint32_t node)
{
	struct gyre_counters counters;

	check(gyre_system_wait(systems[node]) == 0);
	ledger_enter(&ledger, systems[node], node);
	counters = stress_end(systems[node]);
	ledger_enter_sum(&ledger, node, counters.to_nodes);
	stolen += counters.stolen;
	systems[node] = NULL;
}

static void restart_third(uint64_t life, uint64_t *random)
{
	gyre_system_stop(systems[NODES - 1]);
	end_node(NODES - 1);
	open_node(NODES - 1, life, random);
	check(gyre_system_start(systems[NODES - 1]) == 0);
}

/* Breaks connections as a network does: what is under way is lost or arrives. */
static void cut_some(uint64_t *random)
{
	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		int listens = 1;
		socklen_t bytes = sizeof(listens);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 &&
		    listens == 0 && stress_random(random, 4) == 0) {
			(void)shutdown(fd, (int)stress_random(random, 3));
		}
	}
}

static void await_turns(uint64_t count)
{
	uint64_t end = gy_load_acquire(&turns) + count;

	while (gy_load_acquire(&turns) < end) {
		links_look_again();
	}
}

/* Everything that was begun must come to its end. */
static void await_quiet(void)
{
	for (uint32_t node = 0; node < NODES; node++) {
		while (gy_load_acquire(&open_asks[node]) != 0 ||
		       gy_load_acquire(&open_watches[node]) != 0) {
			links_look_again();
		}
	}
	for (uint32_t node = 0; node < NODES; node++) {
		while (!links_are_settled(systems[node])) {
			links_look_again();
		}
	}
}

static void stop_all(uint64_t *random)
{
	uint32_t first = stress_random(random, NODES);

	gy_store_release(&ending, 1);
	for (uint32_t i = 0; i < NODES; i++) {
		gyre_system_stop(systems[(first + i) % NODES]);
		for (uint32_t k = stress_random(random, 200); k > 0; k--) {
			(void)sched_yield();
		}
	}
}

static void play_round(uint64_t *random)
{
	struct visitor visitors[THREADS];
	bool quietly = stress_random(random, 2) == 0;

	memset(visitors, 0, sizeof(visitors));
	gy_store_release(&may_run, 1);
	gy_store_release(&ending, 0);
	for (uint32_t i = 0; i < NODES; i++) {
		open_node(i, 1, random);
	}
	for (uint32_t i = 0; i < NODES; i++) { /* once they know of each other */
		check(gyre_system_start(systems[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		visitors[i].random = gy_random_next(random);
		visitors[i].index = i;
		check(pthread_create(&visitors[i].id, NULL, visit, &visitors[i]) == 0);
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		await_turns(stress_random(random, STEP_TURNS));
		if (!calm && stress_random(random, 4) == 0) {
			restart_third(i + 2, random);
		} else if (!calm) {
			cut_some(random);
		}
	}
	if (!quietly) {
		stop_all(random);
	}
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(visitors[i].id, NULL) == 0);
	}
	if (quietly) {
		await_quiet();
		stop_all(random);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		end_node(i);
	}
	ledger_close(&ledger, calm && quietly);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(gy_load_acquire(&visitors[i].heard) == visitors[i].asked);
	}
}

/* What builds with a sanitizer know of the heap. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* A round leaves nothing behind: as much is allocated as after the first. */
static void check_memory(uint32_t round)
{
	static size_t base_line;
	size_t now = __sanitizer_get_current_allocated_bytes == NULL
			     ? 0
			     : __sanitizer_get_current_allocated_bytes();

	base_line = round == 0 ? now : base_line;
	check(now <= base_line + SLACK_BYTES);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		calm = i % 3 == 0;
		play_round(&random);
		check_memory(i);
	}
	(void)printf("%llu turns, %llu shots, %llu bulks, %llu ends told of, %llu asks reset, "
		     "%llu actors robbed\n",
		     (unsigned long long)turns, (unsigned long long)heard[0],
		     (unsigned long long)heard[1], (unsigned long long)told,
		     (unsigned long long)resets, (unsigned long long)stolen);
	check(heard[0] > 0 && heard[1] > 0 && told > 0);
	return 0;
}
