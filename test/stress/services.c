/*
 * Actors on all loops of two nodes join services, leave them and stop, and others take their place;
 * watchers come and go, threads from outside look and pick. What an actor has joined it must find
 * at once, and what it has left it must not; versions of listings must count up. In the middle the
 * second node ends and comes again. When all is quiet, both nodes must find and list what there is,
 * of the present lives alone, and nothing may be left in the end.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <gyre/node.h>
#include <gyre/outside.h>
#include <gyre/service.h>

#include "stress.h"

enum { NODES = 2, LOOPS = 2, WORKERS = 6, WATCHERS = 3, SERVICES = 4, THREADS = 2, STEPS = 1500 };
enum { MEMBERS_MAX = 64, ROUNDS = 2 };

GYRE_SERVICE(first, 0x100, load);
GYRE_SERVICE(second, 0x101, load);
GYRE_SERVICE(third, 0x102, load);
static const struct gyre_service fourth = { "first", 0x103, 0, NULL };
static const struct gyre_service *const services[SERVICES] = { &gyre_service_first,
							       &gyre_service_second,
							       &gyre_service_third, &fourth };

/* By node, from 0; atomic. */
static uint32_t joined[NODES][SERVICES];
static uint32_t working[NODES];
static uint32_t listed[NODES][WATCHERS][SERVICES];
static uint32_t looking;
static struct gyre_system *systems[NODES];

/* ---- workers ---- */

struct worker {
	uint64_t random;
	uint32_t joined; /* a bit for each service */
	uint32_t left;	 /* steps */
	uint32_t node;
};

/* Steps that are left, and where. */
struct birth {
	uint64_t random;
	uint32_t left;
	uint32_t node;
};
GYRE_MESSAGE(birth, 0x1300);

static bool finds_itself(const struct gyre_stack *stack, uint32_t service)
{
	struct gyre_address members[MEMBERS_MAX];
	uint32_t count = 0;

	check(gyre_service_find(stack, services[service], MEMBERS_MAX, members, &count) == 0);
	check(count <= MEMBERS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		if (gyre_address_equal(members[i], gyre_self(stack))) {
			return true;
		}
	}
	return false;
}

static void change(struct gyre_stack *stack, struct worker *worker, uint32_t service)
{
	bool is_in = (worker->joined >> service & 1) != 0;
	int r = is_in ? gyre_service_leave(stack, services[service])
		      : gyre_service_join(stack, services[service]);

	check(r == 0);
	worker->joined ^= 1U << service;
	(void)gy_fetch_add(&joined[worker->node][service], is_in ? -1U : 1U);
	check(finds_itself(stack, service) == !is_in);
}

static int begin(struct gyre_stack *stack)
{
	struct worker *worker = (struct worker *)gyre_state(stack);
	const struct birth *birth = gyre_message(stack, birth);

	worker->random = birth->random;
	worker->left = birth->left;
	worker->node = birth->node;
	return gyre_notify(stack, gyre_self(stack), load_new(stack, 0));
}

static const struct gyre_class *worker_class(void);

/* The next one goes on with the steps. What it has joined it leaves by its end. */
static int end(struct gyre_stack *stack, struct worker *worker)
{
	struct gyre_address next;
	const struct gyre_spawn_options options = { .detached = true,
						    .place = GYRE_PLACE_LOOP,
						    .loop = (gyre_self(stack).loop + 1U) % LOOPS };
	int r = gyre_spawn(stack, worker_class(),
			   gyre_new(stack, birth, worker->random, worker->left, worker->node),
			   &options, &next);

	check(r == 0);
	for (uint32_t i = 0; i < SERVICES; i++) {
		(void)gy_fetch_add(&joined[worker->node][i], -(worker->joined >> i & 1U));
	}
	return gyre_stop(stack, gyre_self(stack));
}

static int work(struct gyre_stack *stack)
{
	struct worker *worker = (struct worker *)gyre_state(stack);
	struct gyre_address picked;
	uint32_t service = stress_random(&worker->random, SERVICES);
	int r;

	if (worker->left == 0) {
		(void)gy_fetch_add(&working[worker->node], -1U);
		return gyre_return(stack);
	}
	worker->left--;
	change(stack, worker, service);
	r = gyre_service_pick(stack, services[service],
			      stress_random(&worker->random, GYRE_PICK_NEAR + 1), &picked);
	check(r == 0 || (r == -ENOENT && (worker->joined >> service & 1) == 0));
	stress_dawdle(&worker->random, 20);
	if (stress_random(&worker->random, 50) == 0) {
		return end(stack, worker);
	}
	return gyre_notify(stack, gyre_self(stack), load_new(stack, 0));
}

static const struct gyre_class worker_table = { .name = "worker",
						.state_bytes = sizeof(struct worker),
						.mount = begin,
						.behaviour.notice = work };

static const struct gyre_class *worker_class(void)
{
	return &worker_table;
}

/* ---- watchers ---- */

struct watcher {
	uint64_t random;
	uint64_t last[SERVICES];
	uint32_t node;
	uint32_t index;
};

static int begin_watching(struct gyre_stack *stack)
{
	struct watcher *watcher = (struct watcher *)gyre_state(stack);
	const struct birth *birth = gyre_message(stack, birth);

	watcher->random = birth->random;
	watcher->index = birth->left;
	watcher->node = birth->node;
	for (uint32_t i = 0; i < SERVICES; i++) {
		check(gyre_service_watch(stack, services[i], i) == 0);
	}
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	struct watcher *watcher = (struct watcher *)gyre_state(stack);
	const struct gyre_listing *listing = gyre_message(stack, gyre_listing);
	uint32_t service = (uint32_t)listing->tag;

	check(service < SERVICES && listing->service_id == services[service]->id);
	check(listing->count == listing->total);
	check(watcher->last[service] == 0 || listing->version > watcher->last[service]);
	watcher->last[service] = listing->version;
	for (uint32_t i = 0; i < listing->count; i++) {
		check(!gyre_address_is_nobody(listing->members[i]));
	}
	gy_store_release(&listed[watcher->node][watcher->index][service], listing->total);
	stress_dawdle(&watcher->random, 50);
	if (stress_random(&watcher->random, 10) == 0) {
		check(gyre_service_unwatch(stack, services[service]) == 0);
		watcher->last[service] = 0;
		check(gyre_service_watch(stack, services[service], service) == 0);
	}
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .state_bytes = sizeof(struct watcher),
						 .mount = begin_watching,
						 .behaviour.event = hear };

/* ---- threads from outside ---- */

static void *look(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	struct gyre_address members[MEMBERS_MAX];
	uint64_t random = (uintptr_t)&system;
	uint32_t count;
	int r;

	while (gy_load_acquire(&looking) != 0) {
		uint32_t service = stress_random(&random, SERVICES);

		check(gyre_system_service_find(system, services[service], MEMBERS_MAX, members,
					       &count) == 0);
		for (uint32_t i = 0; i < count && i < MEMBERS_MAX; i++) {
			check(members[i].cookie != 0 && members[i].life != 0);
		}
		r = gyre_system_service_pick(system, services[service], GYRE_PICK_RANDOM, members);
		check(r == 0 || r == -ENOENT);
		(void)sched_yield();
	}
	return NULL;
}

/* ---- nodes ---- */

static void open_node(uint32_t node, uint64_t *random)
{
	const struct gyre_node_options options = { .id = (uint16_t)(node + 1),
						   .listen = "tcp://127.0.0.1:0",
						   .heartbeat_ns = GYRE_SECONDS(1),
						   .suspect_ns = GYRE_SECONDS(1000),
						   .down_ns = GYRE_SECONDS(2000),
						   .redial_min_ns = GYRE_MILLISECONDS(1),
						   .redial_max_ns = GYRE_MILLISECONDS(20) };
	const struct gyre_system_options system = { .loops = LOOPS,
						    .stall_ns = GYRE_STALL_NEVER,
						    .node = &options };
	char text[64];
	const struct gyre_node_peer first = { 1, text };

	check(gyre_system_create(&system, &systems[node]) == 0);
	if (node > 0) {
		(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
			       gyre_system_node_port(systems[0]));
		check(gyre_system_node_add_peer(systems[node], &first) == 0);
	}
	for (uint32_t i = 0; i < SERVICES; i++) {
		gy_store_release(&joined[node][i], 0);
	}
	gy_store_release(&working[node], WORKERS);
	for (uint32_t i = 0; i < WATCHERS; i++) {
		(void)stress_spawn(
			systems[node], &watcher_class, i % LOOPS,
			gyre_system_new(systems[node], birth, gy_random_next(random), i, node));
	}
	for (uint32_t i = 0; i < WORKERS; i++) {
		(void)stress_spawn(
			systems[node], &worker_table, i % LOOPS,
			gyre_system_new(systems[node], birth, gy_random_next(random), STEPS, node));
	}
	check(gyre_system_start(systems[node]) == 0);
}

static void await_quiet(void)
{
	for (uint32_t node = 0; node < NODES; node++) {
		while (gy_load_acquire(&working[node]) != 0) {
			(void)sched_yield();
		}
	}
}

static bool agree(uint32_t node, uint32_t service)
{
	uint32_t all = gy_load_acquire(&joined[0][service]) + gy_load_acquire(&joined[1][service]);
	uint32_t count = 0;
	bool is = true;

	check(gyre_system_service_find(systems[node], services[service], 0, NULL, &count) == 0);
	for (uint32_t i = 0; i < WATCHERS; i++) {
		is = is && gy_load_acquire(&listed[node][i][service]) == all;
	}
	return is && count == all;
}

/* What is found and what was listed last is what there is. */
static void await_agreement(void)
{
	for (uint32_t node = 0; node < NODES; node++) {
		for (uint32_t service = 0; service < SERVICES; service++) {
			while (!agree(node, service)) {
				(void)sched_yield();
			}
		}
	}
}

static void close_node(uint32_t node)
{
	gyre_system_stop(systems[node]);
	check(gyre_system_wait(systems[node]) == 0);
	(void)stress_end(systems[node]);
	systems[node] = NULL;
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);
	pthread_t threads[THREADS];

	open_node(0, &random);
	gy_store_release(&looking, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_create(&threads[i], NULL, look, systems[0]) == 0);
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		open_node(1, &random);
		await_quiet();
		await_agreement();
		close_node(1);
	}
	gy_store_release(&looking, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	close_node(0);
	return 0;
}
