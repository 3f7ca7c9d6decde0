/*
 * Asks and replies: one client actor with a number of asks outstanding, one server actor that
 * answers each, on the same loop or on two. Every outstanding ask is a stack of the client that
 * asks, awaits, and asks again.
 */
#include <errno.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/allocations.h"
#include "common/options.h"
#include "common/report.h"
#include "common/tunables.h"

enum { WARM_UP_SHARE = 10 };

struct question {
	uint64_t number;
};
GYRE_MESSAGE(question, 0x100);

struct answer {
	uint64_t number;
};
GYRE_MESSAGE(answer, 0x101);

struct settings {
	int64_t outstanding;
	int64_t asks;
	int64_t loops;
	const char *cpus;
	bool json;
};

struct go {
	const struct settings *settings;
	struct gyre_address server;
	struct gyre_address client;
};
GYRE_MESSAGE(go, 0x102);

/* ---- server ---- */

static int server_ask(struct gyre_stack *stack)
{
	const struct question *question = gyre_message(stack, question);

	return gyre_reply(stack, gyre_new(stack, answer, question->number + 1));
}

static const struct gyre_class server_class = {
	.name = "server",
	.behaviour.ask = server_ask,
};

/* ---- client ---- */

struct client {
	struct go go;
	uint64_t round; /* of asks to make */
	uint64_t asked;
	uint64_t busy; /* stacks that have not ended */
	uint64_t start_ns;
	uint64_t allocations;
	bool measuring;
	bool failed;
};

struct client_frame {
	struct gyre_future future;
	uint64_t number;
};

struct work {
	char unused;
};
GYRE_MESSAGE(work, 0x103);

static int begin_round(struct gyre_stack *stack, uint64_t round)
{
	struct client *self = gyre_state(stack);

	self->round = round;
	self->asked = 0;
	self->busy = (uint64_t)self->go.settings->outstanding;
	self->allocations = perf_allocations(stack);
	self->start_ns = gyre_now(stack);
	for (int64_t i = 0; i < self->go.settings->outstanding; i++) {
		int r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, work, 0));

		if (r < 0) {
			return gyre_throw(stack, r);
		}
	}
	return gyre_return(stack);
}

static void report(struct gyre_stack *stack, const struct client *self)
{
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;
	struct perf_report out;

	perf_report_init(&out, "ask");
	perf_report_number(&out, "outstanding", (double)self->go.settings->outstanding);
	perf_report_number(&out, "asks_per_s", (double)self->asked / seconds);
	perf_report_number(&out, "ns_per_ask", 1e9 * seconds / (double)self->asked);
	perf_report_number(&out, "allocations",
			   (double)(perf_allocations(stack) - self->allocations));
	perf_report_print(&out, self->go.settings->json);
}

static int end_stack(struct gyre_stack *stack, struct client *self)
{
	if (--self->busy > 0) {
		return gyre_return(stack);
	}
	if (!self->measuring && !self->failed) {
		self->measuring = true;
		return begin_round(stack, (uint64_t)self->go.settings->asks);
	}
	if (!self->failed) {
		report(stack, self);
	}
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static int client_work(struct gyre_stack *stack)
{
	struct client *self = gyre_state(stack);
	struct client_frame *frame = gyre_frame(stack);

	GYRE_BEGIN(stack);
	while (self->asked < self->round && !self->failed) {
		frame->number = self->asked++;
		GYRE_AWAIT(stack,
			   gyre_ask(stack, self->go.server,
				    gyre_new(stack, question, frame->number), 0, &frame->future));
		if (gyre_future_failed(&frame->future) ||
		    gyre_future_get(&frame->future, answer)->number != frame->number + 1) {
			self->failed = true;
		}
	}
	return end_stack(stack, self);
	GYRE_END(stack);
}

static int client_notice(struct gyre_stack *stack)
{
	struct client *self = gyre_state(stack);
	const struct go *go = gyre_message(stack, go);

	if (go == NULL) {
		return client_work(stack);
	}
	self->go = *go;
	return begin_round(
		stack, (uint64_t)(go->settings->asks / WARM_UP_SHARE + go->settings->outstanding));
}

static const struct gyre_class client_class = {
	.name = "client",
	.state_bytes = sizeof(struct client),
	.frame_bytes = sizeof(struct client_frame),
	.behaviour.notice = client_notice,
};

/* ---- setting up ---- */

static int build(struct gyre_system *system, const struct settings *settings)
{
	struct gyre_spawn_options here = { .place = GYRE_PLACE_LOOP, .loop = 0 };
	struct gyre_spawn_options there = { .place = GYRE_PLACE_LOOP,
					    .loop = gyre_system_loops(system) - 1 };
	struct gyre_address server;
	struct gyre_address client;
	int r = gyre_system_spawn(system, &server_class, GYRE_NO_ARGUMENT, &there, &server);

	if (r == 0) {
		r = gyre_system_spawn(system, &client_class, GYRE_NO_ARGUMENT, &here, &client);
	}
	if (r == 0) {
		r = gyre_system_notify(system, client,
				       gyre_system_new(system, go, settings, server, client));
	}
	return r;
}

int main(int argc, char **argv)
{
	struct settings settings = { .outstanding = 1, .asks = 10000000, .loops = 1 };
	struct gyre_system_options system_options = { 0 };
	const struct perf_option options[] = {
		{ "outstanding", PERF_OPTION_NUMBER, "asks on their way at once",
		  &settings.outstanding, 1, 1000000, NULL },
		{ "asks", PERF_OPTION_NUMBER, "how many in all", &settings.asks, 1, INT64_MAX,
		  NULL },
		{ "loops", PERF_OPTION_NUMBER, "1: same loop; 2: client and server on one each",
		  &settings.loops, 1, 2, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		PERF_TUNABLES(&system_options),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system *system = NULL;
	int r;

	perf_options_parse(argc, argv, "asks and replies between two actors", options,
			   sizeof(options) / sizeof(options[0]));
	system_options.loops = (uint32_t)settings.loops;
	system_options.cpus = settings.cpus;
	r = gyre_system_create(&system_options, &system);
	if (r == 0) {
		r = build(system, &settings);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : perf_fail("ask", r);
}
