/*
 * Nodes of gyre on hosts: a counter on some of them, and a client on another that asks them in
 * turn, while links are cut and hosts crash.
 */
#include <signal.h>
#include <stdlib.h>

#include "net_rig.h"

enum { COUNTERS_MAX = 7, CLIENT = 0 };

struct count_once {
};
GYRE_MESSAGE(count_once, 0x5201);

struct count {
	uint64_t value;
};
GYRE_MESSAGE(count, 0x5202);

/* What the client has seen; hosts share the memory of the test. */
struct cluster {
	uint32_t counters;
	bool encrypted;
	uint32_t answers[COUNTERS_MAX];
	uint32_t failures[COUNTERS_MAX];
	uint32_t downs;
	uint32_t ups;
};

struct asker_argument {
	struct cluster *cluster;
	uint32_t which;
};
GYRE_MESSAGE(asker_argument, 0x5203);

struct ask_again {
};
GYRE_MESSAGE(ask_again, 0x5204);

static const struct gyre_type *const types[] = { &gyre_type_count_once, &gyre_type_count, NULL };

/* ---- a counter ---- */

struct counter {
	uint64_t value;
};

static int on_ask(struct gyre_stack *stack)
{
	struct counter *self = (struct counter *)gyre_state(stack);

	return gyre_reply(stack, gyre_new(stack, count, ++self->value));
}

static int on_counter_mount(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, "counter");

	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class counter_class = { .name = "counter",
						 .state_bytes = sizeof(struct counter),
						 .behaviour.ask = on_ask,
						 .mount = on_counter_mount };

/* ---- one who asks a counter ---- */

struct asker {
	struct cluster *cluster;
	uint32_t which;
	struct gyre_address counter;
};

struct asker_frame {
	struct gyre_future future;
};

static int on_notice(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	struct asker_frame *frame = (struct asker_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, (uint16_t)(self->which + 2), "counter", 0,
					   &frame->future));
	if (gyre_future_error(&frame->future) == 0) {
		self->counter = gyre_future_get(&frame->future, gyre_node_found)->address;
	}
	while (gyre_future_error(&frame->future) == 0) {
		GYRE_AWAIT(stack, gyre_ask(stack, self->counter, gyre_new(stack, count_once),
					   GYRE_SECONDS(1), &frame->future));
		if (gyre_future_error(&frame->future) < 0) {
			break;
		}
		self->cluster->answers[self->which]++;
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
	}
	self->cluster->failures[self->which]++;
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(100), &frame->future));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
	GYRE_END(stack);
}

static int on_event(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	if (event != NULL) {
		self->cluster->downs += event->state == GYRE_NODE_DOWN;
		self->cluster->ups += event->state == GYRE_NODE_UP;
	}
	return gyre_return(stack);
}

static int on_asker_mount(struct gyre_stack *stack)
{
	struct asker *self = (struct asker *)gyre_state(stack);
	int r = gyre_node_watch(stack);

	self->cluster = gyre_message(stack, asker_argument)->cluster;
	self->which = gyre_message(stack, asker_argument)->which;
	if (r == 0) {
		r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, ask_again));
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class asker_class = {
	.name = "asker",
	.state_bytes = sizeof(struct asker),
	.frame_bytes = sizeof(struct asker_frame),
	.behaviour = { .notice = on_notice, .event = on_event },
	.mount = on_asker_mount,
};

/* ---- hosts ---- */

/* Links that break are logged again and again. */
static void ignore(const struct gyre_log_line *line, void *arg)
{
	(void)line;
	(void)arg;
}

static struct gyre_system *start_node(const struct cluster *cluster, uint16_t id,
				      const struct gyre_node_peer *peers)
{
	const struct gyre_node_options node = { .id = id,
						.listen = "tcp://[::]:9000",
						.peers = peers,
						.types = types,
						.secret = "of a test, and long enough for it",
						.no_encryption = !cluster->encrypted,
						.heartbeat_ns = GYRE_MILLISECONDS(500),
						.suspect_ns = GYRE_MILLISECONDS(1500),
						.down_ns = GYRE_SECONDS(5) };
	const struct gyre_system_options options = { .loops = 2, .node = &node, .log = ignore };
	struct gyre_system *system;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	return system;
}

struct place {
	struct cluster *cluster;
	uint32_t which;
};

static int run_counter(void *arg)
{
	const struct place *place = (const struct place *)arg;
	struct gyre_system *system = start_node(place->cluster, (uint16_t)(place->which + 2), NULL);
	struct gyre_address counter;
	int r;

	cr_assert_eq(gyre_system_spawn(system, &counter_class, GYRE_NO_ARGUMENT, NULL, &counter),
		     0);
	r = gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

static int run_client(void *arg)
{
	struct cluster *cluster = (struct cluster *)arg;
	struct gyre_node_peer peers[COUNTERS_MAX + 1] = { { 0 } };
	char names[COUNTERS_MAX][32];
	struct gyre_system *system;
	int r;

	for (uint32_t i = 0; i < cluster->counters; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "tcp://counter-%u:9000", i);
		peers[i] = (struct gyre_node_peer){ (uint16_t)(i + 2), names[i] };
	}
	system = start_node(cluster, 1, peers);
	for (uint32_t i = 0; i < cluster->counters; i++) {
		struct gyre_address asker;

		cr_assert_eq(gyre_system_spawn(system, &asker_class,
					       gyre_system_new(system, asker_argument, cluster, i),
					       NULL, &asker),
			     0);
	}
	r = gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

static struct gyre_sim *make_cluster(uint64_t seed, struct cluster *cluster, struct place *places)
{
	struct gyre_sim *sim = sim_make(seed);

	(void)sim_add(sim, "client", run_client, cluster);
	for (uint32_t i = 0; i < cluster->counters; i++) {
		char name[32];

		places[i] = (struct place){ cluster, i };
		(void)snprintf(name, sizeof(name), "counter-%u", i);
		(void)sim_add(sim, name, run_counter, &places[i]);
	}
	return sim;
}

static void cut(struct gyre_sim *sim, uint32_t host, bool is_cut)
{
	const struct gyre_sim_link link = { .cut = is_cut };

	cr_assert_eq(gyre_sim_link_set(sim, CLIENT, host, &link), 0);
	cr_assert_eq(gyre_sim_link_set(sim, host, CLIENT, &link), 0);
}

/* The counter @which is asked and answers. */
static void expect_answers(struct gyre_sim *sim, const struct cluster *cluster, uint32_t which)
{
	uint32_t before = cluster->answers[which];

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(5)), 0);
	cr_assert(cluster->answers[which] > before + 10, "counter %u: %u answers, then %u", which,
		  before, cluster->answers[which]);
}

Test(sim_nodes, ask_each_other)
{
	struct cluster cluster = { .counters = COUNTERS_MAX };
	struct place places[COUNTERS_MAX];
	struct gyre_sim *sim = make_cluster(1, &cluster, places);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	for (uint32_t i = 0; i < COUNTERS_MAX; i++) {
		expect_answers(sim, &cluster, i);
	}
	cr_assert_eq(cluster.downs, 0);
	gyre_sim_destroy(sim);
}

Test(sim_nodes, declare_one_down_that_is_cut_off_and_go_on_when_the_link_heals)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct cluster cluster = { .counters = 2 };
		struct place places[2];
		struct gyre_sim *sim = make_cluster(seed, &cluster, places);
		uint32_t answers;

		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
		cut(sim, 1, true);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
		cr_assert_eq(cluster.downs, 2, "%u downs", cluster.downs); /* each asker hears it */
		answers = cluster.answers[0];
		expect_answers(sim, &cluster, 1);
		cr_assert_eq(cluster.answers[0], answers);
		cut(sim, 1, false);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
		expect_answers(sim, &cluster, 0);
		gyre_sim_destroy(sim);
	}
}

Test(sim_nodes, find_one_again_that_has_crashed_and_booted)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct cluster cluster = { .counters = 2 };
		struct place places[2];
		struct gyre_sim *sim = make_cluster(seed, &cluster, places);

		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
		cr_assert_eq(gyre_sim_crash(sim, 1), 0);
		cr_assert_eq(gyre_sim_run(sim, gyre_sim_random(sim) % GYRE_SECONDS(20)), 0);
		cr_assert_eq(gyre_sim_restart(sim, 1), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
		expect_answers(sim, &cluster, 0);
		expect_answers(sim, &cluster, 1);
		gyre_sim_destroy(sim);
	}
}

static uint64_t ask_encrypted(uint64_t seed)
{
	struct cluster cluster = { .counters = 2, .encrypted = true };
	struct place places[2];
	struct gyre_sim *sim = make_cluster(seed, &cluster, places);
	uint64_t digest;

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	expect_answers(sim, &cluster, 0);
	expect_answers(sim, &cluster, 1);
	digest = gyre_sim_digest(sim);
	for (uint32_t host = 0; host <= cluster.counters; host++) {
		/* A crash would leave what OpenSSL has allocated. */
		cr_assert_eq(gyre_sim_signal(sim, host, SIGTERM), 0);
	}
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_nodes, do_the_same_for_the_same_seed_when_they_encrypt)
{
	uint64_t digest = ask_encrypted(1);

	cr_assert_eq(ask_encrypted(1), digest);
	cr_assert_neq(ask_encrypted(2), digest);
}

/* ---- trouble of all kinds ---- */

static void make_trouble(struct gyre_sim *sim, uint32_t hosts)
{
	uint64_t kind = gyre_sim_random(sim) % 6;
	uint32_t host = (uint32_t)(gyre_sim_random(sim) % hosts);
	uint32_t other = (uint32_t)((host + 1 + gyre_sim_random(sim) % (hosts - 1)) % hosts);
	const struct gyre_sim_link link = { .jitter_ns =
						    gyre_sim_random(sim) % GYRE_MILLISECONDS(20),
					    .loss = (uint32_t)(gyre_sim_random(sim) % 100000),
					    .clog = kind == 0,
					    .cut = kind == 1 };

	if (kind == 2) {
		cr_assert_eq(gyre_sim_crash(sim, host), 0);
		cr_assert_eq(gyre_sim_run(sim, gyre_sim_random(sim) % GYRE_SECONDS(10)), 0);
		cr_assert_eq(gyre_sim_restart(sim, host), 0);
	} else if (kind == 3) {
		gyre_sim_heal(sim);
	} else {
		cr_assert_eq(gyre_sim_link_set(sim, host, other, &link), 0);
	}
}

static uint64_t run_with_trouble(uint64_t seed)
{
	struct cluster cluster = { .counters = 3 };
	struct place places[3];
	struct gyre_sim *sim = make_cluster(seed, &cluster, places);
	uint64_t digest;

	for (uint32_t i = 0; i < 30; i++) {
		cr_assert_eq(gyre_sim_run(sim, gyre_sim_random(sim) % GYRE_SECONDS(10)), 0);
		make_trouble(sim, cluster.counters + 1);
	}
	gyre_sim_heal(sim);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(120)), 0);
	for (uint32_t i = 0; i < cluster.counters; i++) {
		expect_answers(sim, &cluster, i);
	}
	digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_nodes, go_on_after_all_kinds_of_trouble)
{
	const char *text = getenv("SIM_SEED");
	uint64_t from = text == NULL ? 0 : strtoull(text, NULL, 10);

	for (uint64_t seed = from; seed < from + 8; seed++) {
		cr_assert_eq(run_with_trouble(seed), run_with_trouble(seed), "seed %llu",
			     (unsigned long long)seed);
	}
}
