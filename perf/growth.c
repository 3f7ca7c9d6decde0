/*
 * What a message costs as a system grows. Each loop has a ring of actors of its own, round which
 * its own tokens go: the loops have nothing to do with each other, so a message may cost no more
 * than where there is one loop. With --cross the actors of all loops make one ring, and each
 * message changes loop.
 *
 * The cost is the CPU time of the whole process for each message, which tells more than the rate
 * where there are more loops than CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <gyre/gyre.h>

#include "common/options.h"
#include "common/report.h"
#include "common/tunables.h"

enum { LOOPS_MAX = 1024, ACTORS_MAX = 1 << 20, TOKENS_MAX = 1 << 20 };

struct token {
	uint64_t hops; /* still to go */
};
GYRE_MESSAGE(token, 0x100);

struct neighbour {
	struct gyre_address next;
};
GYRE_MESSAGE(neighbour, 0x101);

struct settings {
	int64_t loops;
	int64_t actors;
	int64_t tokens;
	int64_t hops;
	const char *cpus;
	bool cross;
	bool json;
};

static struct settings settings = { .loops = 2, .actors = 100, .tokens = 1024, .hops = 50000000 };

/* Written by the last hop of each token. */
static uint64_t tokens_left;
static uint64_t end_ns;
static uint64_t end_cpu_ns;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- an actor ---- */

static int end_token(struct gyre_stack *stack)
{
	if (__atomic_sub_fetch(&tokens_left, 1, __ATOMIC_ACQ_REL) == 0) {
		end_ns = clock_ns(CLOCK_MONOTONIC);
		end_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

static int take(struct gyre_stack *stack)
{
	struct gyre_address *next = (struct gyre_address *)gyre_state(stack);
	const struct token *token = gyre_message(stack, token);

	if (token == NULL) {
		*next = gyre_message(stack, neighbour)->next;
		return gyre_return(stack);
	}
	if (token->hops == 0) {
		return end_token(stack);
	}
	return gyre_notify(stack, *next, gyre_new(stack, token, token->hops - 1));
}

static const struct gyre_class actor_class = {
	.name = "actor",
	.state_bytes = sizeof(struct gyre_address),
	.behaviour.notice = take,
};

/* ---- setting up ---- */

/* Actor @i of all stands on loop i % loops. Its neighbour is the next on that loop, or of all. */
static size_t neighbour_of(size_t i, size_t count)
{
	return (i + (settings.cross ? 1 : (size_t)settings.loops)) % count;
}

static int spawn_all(struct gyre_system *system, struct gyre_address *actors, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct gyre_spawn_options place = {
			.place = GYRE_PLACE_LOOP,
			.loop = (uint16_t)(i % (size_t)settings.loops),
		};

		r = gyre_system_spawn(system, &actor_class, GYRE_NO_ARGUMENT, &place, &actors[i]);
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		r = gyre_system_notify(
			system, actors[i],
			gyre_system_new(system, neighbour, actors[neighbour_of(i, count)]));
	}
	return r;
}

/* Deals the tokens of each loop out to its actors. */
static int send_all(struct gyre_system *system, const struct gyre_address *actors, size_t count)
{
	size_t tokens = (size_t)(settings.tokens * settings.loops);
	uint64_t hops = (uint64_t)settings.hops / tokens;
	int r = 0;

	tokens_left = tokens;
	for (size_t i = 0; i < tokens && r == 0; i++) {
		r = gyre_system_notify(system, actors[i % count],
				       gyre_system_new(system, token, hops));
	}
	return r;
}

static int build(struct gyre_system *system)
{
	size_t count = (size_t)(settings.actors * settings.loops);
	struct gyre_address *actors = (struct gyre_address *)malloc(count * sizeof(*actors));
	int r;

	if (actors == NULL) {
		return -ENOMEM;
	}
	r = spawn_all(system, actors, count);
	if (r == 0) {
		r = send_all(system, actors, count);
	}
	free(actors);
	return r;
}

static int measure(struct gyre_system *system)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t tokens = (uint64_t)(settings.tokens * settings.loops);
	uint64_t hops_all = (uint64_t)settings.hops - (uint64_t)settings.hops % tokens;
	double hops = (double)hops_all;
	int r = gyre_system_start(system);
	struct perf_report report;

	if (r == 0) {
		r = gyre_system_wait(system);
	}
	if (r < 0) {
		return r;
	}
	perf_report_init(&report, "growth");
	perf_report_number(&report, "messages_per_s", 1e9 * hops / (double)(end_ns - start_ns));
	perf_report_number(&report, "cpu_ns_per_message",
			   (double)(end_cpu_ns - start_cpu_ns) / hops);
	perf_report_number(&report, "loops", (double)settings.loops);
	perf_report_number(&report, "actors", (double)(settings.actors * settings.loops));
	perf_report_print(&report, settings.json);
	return 0;
}

int main(int argc, char **argv)
{
	struct gyre_system_options system_options = { .spin_ns = GYRE_SPIN_NEVER };
	const struct perf_option options[] = {
		{ "loops", PERF_OPTION_NUMBER, "how many", &settings.loops, 1, LOOPS_MAX, NULL },
		{ "actors", PERF_OPTION_NUMBER, "of each loop", &settings.actors, 1, ACTORS_MAX,
		  NULL },
		{ "tokens", PERF_OPTION_NUMBER, "of each loop", &settings.tokens, 1, TOKENS_MAX,
		  NULL },
		{ "hops", PERF_OPTION_NUMBER, "of all tokens together", &settings.hops, 1,
		  INT64_MAX / 2, NULL },
		{ "cross", PERF_OPTION_FLAG, "each hop changes loop", &settings.cross, 0, 0, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		PERF_TUNABLES(&system_options),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system *system = NULL;
	int r;

	perf_options_parse(argc, argv, "what a message costs as a system grows", options,
			   sizeof(options) / sizeof(options[0]));
	system_options.loops = (uint32_t)settings.loops;
	system_options.cpus = settings.cpus;
	r = gyre_system_create(&system_options, &system);
	if (r == 0) {
		r = build(system);
	}
	if (r == 0) {
		r = measure(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : perf_fail("growth", r);
}
