/*
 * Services of several nodes in one process: how long it takes until all nodes know of one join and
 * of all, and how many bytes that is on their links. Each node has one loop and one actor, which
 * joins its share of the services; beats of the links are so rare that none is in the figures.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { NODES_MAX = 16 };

struct settings {
	int64_t nodes;
	int64_t services;
	bool json;
};

static struct settings settings = { .nodes = 5, .services = 10000 };

struct order {
	uint32_t first;
	uint32_t count;
};
GYRE_MESSAGE(order, 0x100);

struct node {
	struct gyre_system *system;
	struct gyre_address actor;
};

static struct node nodes[NODES_MAX];

struct key {
	char name[24];
	struct gyre_service service;
};

static const struct gyre_service *key_of(struct key *key, uint32_t number)
{
	(void)snprintf(key->name, sizeof(key->name), "service-%u", (unsigned)number);
	key->service = (struct gyre_service){ key->name, 0x100, 0, NULL };
	return &key->service;
}

static int join(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);
	struct key key;
	int r = 0;

	for (uint32_t i = 0; i < order->count && r == 0; i++) {
		r = gyre_service_join(stack, key_of(&key, order->first + i));
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class actor_class = { .name = "member", .behaviour.notice = join };

/* Dialled by the one with the higher id; the others learn where it came from. */
static int introduce(uint32_t id)
{
	char text[32];
	int r = 0;

	for (uint32_t peer = 0; peer < id && r == 0; peer++) {
		(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
			       gyre_system_node_port(nodes[peer].system));
		r = gyre_system_node_add_peer(
			nodes[id].system, &(struct gyre_node_peer){ (uint16_t)(peer + 1), text });
	}
	return r;
}

static int open_node(uint32_t id)
{
	const struct gyre_node_options node = { .id = (uint16_t)(id + 1),
						.listen = "tcp://127.0.0.1:0",
						.heartbeat_ns = GYRE_SECONDS(60),
						.suspect_ns = GYRE_SECONDS(600),
						.down_ns = GYRE_SECONDS(1200) };
	const struct gyre_system_options options = { .loops = 1, .node = &node };
	int r = gyre_system_create(&options, &nodes[id].system);

	r = r < 0 ? r : introduce(id);
	r = r < 0 ? r
		  : gyre_system_spawn(nodes[id].system, &actor_class, GYRE_NO_ARGUMENT, NULL,
				      &nodes[id].actor);
	return r < 0 ? r : gyre_system_start(nodes[id].system);
}

static int tell(uint32_t id, uint32_t first, uint32_t count)
{
	return gyre_system_notify(nodes[id].system, nodes[id].actor,
				  gyre_system_new(nodes[id].system, order, first, count));
}

static bool knows(uint32_t id, uint32_t service)
{
	struct key key;
	uint32_t count = 0;

	return gyre_system_service_find(nodes[id].system, key_of(&key, service), 0, NULL, &count) ==
		       0 &&
	       count > 0;
}

/* Until all nodes know of these services. */
static void await_all(uint32_t first, uint32_t count)
{
	for (uint32_t id = 0; id < (uint32_t)settings.nodes; id++) {
		for (uint32_t i = 0; i < count; i++) {
			while (!knows(id, first + i)) {
				(void)sched_yield();
			}
		}
	}
}

static uint64_t bytes_sent(void)
{
	struct gyre_counters counters;
	uint64_t bytes = 0;

	for (uint32_t id = 0; id < (uint32_t)settings.nodes; id++) {
		if (gyre_system_counters(nodes[id].system, &counters) == 0) {
			bytes += counters.bytes_sent;
		}
	}
	return bytes;
}

/* What is under way when all know are receipts: they have come when nothing more is sent. */
static uint64_t bytes_settled(void)
{
	uint64_t bytes = bytes_sent();
	uint64_t until_ns = perf_now_ns() + GYRE_MILLISECONDS(200);

	while (perf_now_ns() < until_ns) {
		uint64_t now = bytes_sent();

		if (now != bytes) {
			bytes = now;
			until_ns = perf_now_ns() + GYRE_MILLISECONDS(200);
		}
		(void)sched_yield();
	}
	return bytes;
}

static int measure(struct perf_report *out)
{
	uint32_t count = (uint32_t)settings.nodes;
	uint32_t share = (uint32_t)settings.services / count;
	uint64_t bytes;
	uint64_t start_ns;
	int r = 0;

	for (uint32_t id = 0; id < count && r == 0; id++) {
		r = tell(id, (uint32_t)settings.services + id, 1); /* they meet */
	}
	if (r < 0) {
		return r;
	}
	await_all((uint32_t)settings.services, count);
	bytes = bytes_settled();
	start_ns = perf_now_ns();
	for (uint32_t id = 0; id < count && r == 0; id++) {
		r = tell(id, id * share, share);
	}
	if (r < 0) {
		return r;
	}
	await_all(0, share * count);
	perf_report_number(out, "all_ms", (double)(perf_now_ns() - start_ns) / 1e6);
	perf_report_number(out, "all_bytes", (double)(bytes_settled() - bytes));
	bytes = bytes_settled();
	start_ns = perf_now_ns();
	r = tell(0, (uint32_t)settings.services + count, 1);
	if (r == 0) {
		await_all((uint32_t)settings.services + count, 1);
		perf_report_number(out, "join_us", (double)(perf_now_ns() - start_ns) / 1e3);
		perf_report_number(out, "join_bytes", (double)(bytes_settled() - bytes));
	}
	return r;
}

int main(int argc, char **argv)
{
	const struct perf_option options[] = {
		{ "nodes", PERF_OPTION_NUMBER, "how many", &settings.nodes, 2, NODES_MAX, NULL },
		{ "services", PERF_OPTION_NUMBER, "all together", &settings.services, 1, 60000,
		  NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct perf_report out;
	int r = 0;

	perf_options_parse(argc, argv, "services that all nodes are to know", options,
			   sizeof(options) / sizeof(options[0]));
	perf_report_init(&out, "services");
	perf_report_number(&out, "nodes", (double)settings.nodes);
	perf_report_number(&out, "services", (double)settings.services);
	for (uint32_t id = 0; id < (uint32_t)settings.nodes && r == 0; id++) {
		r = open_node(id);
	}
	if (r == 0) {
		r = measure(&out);
	}
	for (uint32_t id = 0; id < (uint32_t)settings.nodes; id++) {
		gyre_system_destroy(nodes[id].system);
	}
	if (r < 0) {
		return perf_fail("services", r);
	}
	perf_report_print(&out, settings.json);
	return EXIT_SUCCESS;
}
