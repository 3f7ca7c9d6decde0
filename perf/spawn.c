/*
 * Spawning: how long a number of idle state actors without user state takes, what memory they hold,
 * and how fast actors come and go in the steady state.
 */
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/allocations.h"
#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { CHURN_AT_ONCE = 64 };

struct settings {
	int64_t actors;
	int64_t churn;
	bool json;
};

struct go {
	const struct settings *settings;
};
GYRE_MESSAGE(go, 0x100);

struct mounted {
	char unused;
};
GYRE_MESSAGE(mounted, 0x101);

struct parent {
	struct gyre_address parent;
};
GYRE_MESSAGE(parent, 0x102);

static const struct gyre_class idle_class = { .name = "idle" };

/* ---- an actor that tells its parent and stops ---- */

static int brief_mount(struct gyre_stack *stack)
{
	int r = gyre_notify(stack, gyre_message(stack, parent)->parent,
			    gyre_new(stack, mounted, 0));

	return r < 0 ? r : gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class brief_class = { .name = "brief", .mount = brief_mount };

/* ---- the spawner ---- */

struct spawner {
	const struct settings *settings;
	struct perf_report report;
	int64_t left;	 /* of the churn: still to be spawned */
	int64_t waiting; /* for their notice */
	double rss_before_bytes;
	uint64_t start_ns;
	uint64_t allocations;
	bool warm; /* the pools have what the churn needs */
};

static int spawn_brief(struct gyre_stack *stack, struct spawner *self)
{
	struct gyre_address address;

	self->waiting++;
	return gyre_spawn(stack, &brief_class, gyre_new(stack, parent, gyre_self(stack)), NULL,
			  &address);
}

static int begin_churn(struct gyre_stack *stack, struct spawner *self, int64_t count)
{
	int r = 0;

	self->left = count;
	self->allocations = perf_allocations(stack);
	self->start_ns = gyre_now(stack);
	for (int i = 0; i < CHURN_AT_ONCE && self->left > 0 && r == 0; i++) {
		self->left--;
		r = spawn_brief(stack, self);
	}
	return r;
}

/* The last one tells when it is mounted, which is when all are. */
static int spawn_idle(struct gyre_stack *stack, struct spawner *self)
{
	int r = 0;

	self->rss_before_bytes = perf_rss_bytes();
	self->start_ns = gyre_now(stack);
	for (int64_t i = 0; i < self->settings->actors && r == 0; i++) {
		struct gyre_address address;

		r = gyre_spawn(stack, &idle_class, GYRE_NO_ARGUMENT, NULL, &address);
	}
	return r < 0 ? r : spawn_brief(stack, self);
}

static int end_spawning(struct gyre_stack *stack, struct spawner *self)
{
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;
	double actors = (double)self->settings->actors;

	perf_report_number(&self->report, "actors", actors);
	perf_report_number(&self->report, "spawn_s", seconds);
	perf_report_number(&self->report, "spawns_per_s", actors / seconds);
	perf_report_number(&self->report, "rss_bytes", perf_rss_bytes());
	perf_report_number(&self->report, "bytes_per_actor",
			   (perf_rss_bytes() - self->rss_before_bytes) / actors);
	return begin_churn(stack, self, (int64_t)CHURN_AT_ONCE * CHURN_AT_ONCE);
}

static int end_churn(struct gyre_stack *stack, struct spawner *self)
{
	double seconds = (double)(gyre_now(stack) - self->start_ns) / 1e9;

	if (!self->warm) {
		self->warm = true;
		return begin_churn(stack, self, self->settings->churn);
	}
	perf_report_number(&self->report, "churn_per_s", (double)self->settings->churn / seconds);
	perf_report_number(&self->report, "allocations",
			   (double)(perf_allocations(stack) - self->allocations));
	perf_report_print(&self->report, self->settings->json);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

static int spawner_notice(struct gyre_stack *stack)
{
	struct spawner *self = gyre_state(stack);
	const struct go *go = gyre_message(stack, go);

	if (go != NULL) {
		self->settings = go->settings;
		perf_report_init(&self->report, "spawn");
		return spawn_idle(stack, self);
	}
	self->waiting--;
	if (self->report.count == 0) {
		return end_spawning(stack, self);
	}
	if (self->left > 0) {
		self->left--;
		return spawn_brief(stack, self);
	}
	return self->waiting > 0 ? gyre_return(stack) : end_churn(stack, self);
}

static const struct gyre_class spawner_class = {
	.name = "spawner",
	.state_bytes = sizeof(struct spawner),
	.behaviour.notice = spawner_notice,
};

int main(int argc, char **argv)
{
	struct settings settings = { .actors = 1000000, .churn = 1000000 };
	const struct perf_option options[] = {
		{ "actors", PERF_OPTION_NUMBER, "idle actors to spawn", &settings.actors, 1,
		  16000000, NULL },
		{ "churn", PERF_OPTION_NUMBER, "actors that then come and go", &settings.churn, 1,
		  INT64_MAX, NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	const struct gyre_system_options one_loop = { .loops = 1 };
	struct gyre_system *system = NULL;
	struct gyre_address spawner;
	int r;

	perf_options_parse(argc, argv, "how fast actors are made and what they cost", options,
			   sizeof(options) / sizeof(options[0]));
	r = gyre_system_create(&one_loop, &system);
	if (r == 0) {
		r = gyre_system_spawn(system, &spawner_class, GYRE_NO_ARGUMENT, NULL, &spawner);
	}
	if (r == 0) {
		r = gyre_system_notify(system, spawner, gyre_system_new(system, go, &settings));
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : perf_fail("spawn", r);
}
