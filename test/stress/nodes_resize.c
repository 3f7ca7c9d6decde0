/*
 * Two nodes whose loops come and go while links live, and of which one stops and comes back while
 * the other dials it. Threads ask actors of the other node from outside: whatever loop retires on
 * whichever side, each ask ends, and not by a time-out, and each message has an end that is
 * counted.
 */
#include <errno.h>
#include <pthread.h>

#include <gyre/outside.h>
#include <gyre/resize.h>

#include "links.h"
#include "stress.h"

enum { ROUNDS = 2, PAIR = 2, LOOPS_MAX = 3, THREADS = 2, STEPS = 5, STEP_ASKS = 100 };

struct visitor {
	pthread_t id;
	uint64_t random;
	uint64_t asked; /* callbacks that must come */
	uint64_t heard; /* atomic: that came */
};

static const struct gyre_type *const types[] = { &gyre_type_load, NULL };

static struct gyre_system *systems[PAIR];
static pthread_mutex_t book = PTHREAD_MUTEX_INITIALIZER;
static struct gyre_address adders[LOOPS_MAX]; /* of the second; under the book's mutex */
static uint32_t may_run;		      /* atomic, as the rest */
static uint64_t asks;
static uint64_t answers;
static struct ledger ledger;

static int add(struct gyre_stack *stack)
{
	return gyre_reply(stack, load_new(stack, load_check(gyre_message(stack, load)) + 1));
}

static int take(struct gyre_stack *stack)
{
	(void)load_check(gyre_message(stack, load));
	return gyre_return(stack);
}

static const struct gyre_class adder_class = { .name = "adder",
					       .behaviour = { .ask = add, .notice = take } };

/* ---- from outside ---- */

static void hear(struct gyre_mail *end, int error, void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;

	check(error <= 0);
	if (error == 0) {
		(void)load_check(gyre_mail_get(end, load));
		(void)gy_fetch_add(&answers, 1);
	}
	(void)gy_fetch_add(&visitor->heard, 1);
}

static void ask_and_wait(struct gyre_address to, uint64_t value)
{
	struct gyre_mail *end = NULL;
	int r = gyre_system_ask(systems[0], to, load_new_outside(systems[0], value), GYRE_FOREVER,
				&end);

	check(r <= 0);
	if (r == 0) {
		check(load_check(gyre_mail_get(end, load)) == value + 1);
		(void)gy_fetch_add(&answers, 1);
	}
	gyre_mail_destroy(NULL, end);
}

static void *visit(void *arg)
{
	struct visitor *visitor = (struct visitor *)arg;

	while (gy_load_acquire(&may_run) != 0) {
		uint32_t loop = stress_random(&visitor->random, LOOPS_MAX);
		struct gyre_address to;

		check(pthread_mutex_lock(&book) == 0);
		to = adders[loop];
		check(pthread_mutex_unlock(&book) == 0);
		switch (stress_random(&visitor->random, 3)) {
		case 0:
			ask_and_wait(to, stress_random(&visitor->random, 100000));
			break;
		case 1:
			visitor->asked += gyre_system_ask_callback(
						  systems[0], to, load_new_outside(systems[0], 1),
						  GYRE_FOREVER, hear, visitor) == 0;
			break;
		default:
			(void)gyre_system_notify(systems[0], to, load_new_outside(systems[0], 1));
		}
		(void)gy_fetch_add(&asks, 1);
		stress_dawdle(&visitor->random, 20000);
	}
	return NULL;
}

/* ---- nodes ---- */

/* One on each loop that there is; the others have ended with theirs. */
static void spawn_adders(void)
{
	uint32_t loops = gyre_system_loops(systems[1]);

	check(pthread_mutex_lock(&book) == 0);
	for (uint32_t i = 0; i < loops; i++) {
		adders[i] = stress_spawn(systems[1], &adder_class, i, GYRE_NO_ARGUMENT);
	}
	check(pthread_mutex_unlock(&book) == 0);
}

static void tell(uint32_t node, uint32_t of)
{
	char address[64];
	const struct gyre_node_peer peer = { (uint16_t)(of + 1), address };

	(void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(systems[of]));
	check(gyre_system_node_add_peer(systems[node], &peer) == 0);
}

static void create(uint32_t node)
{
	const struct gyre_node_options options = {
		.id = (uint16_t)(node + 1),
		.listen = "tcp://127.0.0.1:0",
		.types = types,
		.heartbeat_ns = GYRE_MILLISECONDS(20),
		.suspect_ns = GYRE_SECONDS(20),
		.down_ns = GYRE_SECONDS(40),
		.redial_min_ns = GYRE_MILLISECONDS(1),
		.redial_max_ns = GYRE_MILLISECONDS(20),
		.away_ns = GYRE_MILLISECONDS(200),
	};
	const struct gyre_system_options system = {
		.loops = 2,
		.loops_max = LOOPS_MAX,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.drain_timeout_ns = GYRE_MILLISECONDS(200),
		.log = stress_log,
		.node = &options,
	};

	check(gyre_system_create(&system, &systems[node]) == 0);
}

/* A drain that ran out of time is none that failed: connections are closed at once then. */
static void end(uint32_t node)
{
	int r;

	gyre_system_stop(systems[node]);
	r = gyre_system_wait(systems[node]);
	check(r == 0 || r == -ETIMEDOUT);
	ledger_enter(&ledger, systems[node], node);
	ledger_enter_sum(&ledger, node, stress_close(systems[node]).to_nodes);
	systems[node] = NULL;
}

static void open_second(void)
{
	create(1);
	tell(0, 1);
	tell(1, 0);
	spawn_adders();
	check(gyre_system_start(systems[1]) == 0);
}

static void resize(uint32_t node, uint32_t loops)
{
	check(gyre_system_resize(systems[node], loops) == 0);
	if (node == 1) {
		spawn_adders();
	}
}

static void await_asks(uint64_t count)
{
	uint64_t end = gy_load_acquire(&asks) + count;

	while (gy_load_acquire(&asks) < end) {
		links_look_again();
	}
}

static void play_round(uint64_t *random)
{
	struct visitor visitors[THREADS] = { 0 };

	gy_store_release(&may_run, 1);
	create(0);
	check(gyre_system_start(systems[0]) == 0);
	open_second();
	for (uint32_t i = 0; i < THREADS; i++) {
		visitors[i].random = gy_random_next(random);
		check(pthread_create(&visitors[i].id, NULL, visit, &visitors[i]) == 0);
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		await_asks(stress_random(random, STEP_ASKS));
		if (stress_random(random, 4) == 0) {
			end(1);
			open_second();
		} else {
			resize(stress_random(random, PAIR), stress_random(random, LOOPS_MAX) + 1);
		}
	}
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(visitors[i].id, NULL) == 0);
		while (gy_load_acquire(&visitors[i].heard) < visitors[i].asked) {
			links_look_again();
		}
	}
	for (uint32_t i = 0; i < PAIR; i++) {
		while (!links_are_settled(systems[i])) {
			links_look_again();
		}
	}
	end(0);
	end(1);
	ledger_close(&ledger, false);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		play_round(&random);
	}
	(void)printf("%llu asks and notices, %llu answers\n", (unsigned long long)asks,
		     (unsigned long long)answers);
	check(answers > 0);
	return 0;
}
