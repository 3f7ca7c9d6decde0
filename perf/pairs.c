/*
 * What memory loops take for each other: a talker on each loop sends a burst of messages to the
 * talker of every other loop, and again when as many have come back. So nodes of each loop are on
 * their way to every other one, or stay there to carry something back, and each pair has what a
 * pair ever takes.
 *
 * Memory is what the process holds at the end beyond what it held when all loops ran and nobody had
 * talked.
 */
#include <errno.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { LOOPS_MAX = 256, BURST_MAX = 4096 };

struct parcel {
	uint64_t number;
};
GYRE_MESSAGE(parcel, 0x100);

struct place {
	int64_t index;
};
GYRE_MESSAGE(place, 0x101);

struct talk {
};
GYRE_MESSAGE(talk, 0x102);

struct talker {
	int64_t index;
	uint64_t received; /* parcels */
	uint64_t sent;
	bool talking;
};

struct settings {
	int64_t loops;
	int64_t burst;
	int64_t messages;
	const char *cpus;
	bool json;
};

static struct settings settings = { .loops = 64, .burst = 64, .messages = 20000000 };

/* Written before the loops run, or by the last talker that is mounted or has ended. */
static struct gyre_address talkers[LOOPS_MAX];
static uint64_t talkers_mounted;
static uint64_t talkers_ended;
static struct {
	double rss_bytes;
	uint64_t ns;
	struct perf_cpu_time cpu;
} at_first;
static struct perf_report report;

/* Parcels of a burst, to all others. */
static uint64_t burst_parcels(void)
{
	return (uint64_t)(settings.burst * (settings.loops - 1));
}

/* Parcels that each talker sends and receives. */
static uint64_t parcels_each(void)
{
	uint64_t each = (uint64_t)(settings.messages / settings.loops) / burst_parcels();

	return burst_parcels() * (each == 0 ? 1 : each);
}

/* ---- what is reported ---- */

static double mail_bytes(struct gyre_system *system)
{
	struct gyre_snapshot *snapshot = NULL;
	double bytes = 0;

	if (gyre_system_inspect(system, &snapshot) < 0) {
		return 0;
	}
	for (uint32_t i = 0; i < snapshot->loops_count; i++) {
		bytes += (double)snapshot->loops[i].mail.bytes;
	}
	gyre_snapshot_destroy(snapshot);
	return bytes;
}

static void make_report(struct gyre_system *system)
{
	double messages = (double)parcels_each() * (double)settings.loops;
	double ns = (double)(perf_now_ns() - at_first.ns);
	struct perf_cpu_time cpu = { .total_ns = 0 };

	(void)perf_cpu_time(0, &cpu);
	perf_report_init(&report, "pairs");
	perf_report_number(&report, "loops", (double)settings.loops);
	perf_report_number(&report, "rss_bytes", perf_rss_bytes() - at_first.rss_bytes);
	perf_report_number(&report, "mail_bytes", mail_bytes(system));
	perf_report_number(&report, "messages_per_s", 1e9 * messages / ns);
	perf_report_number(&report, "cpu_ns_per_message",
			   (double)(cpu.total_ns - at_first.cpu.total_ns) / messages);
}

/* ---- a talker ---- */

static int send_burst(struct gyre_stack *stack, struct talker *self)
{
	int r = 0;

	self->sent += burst_parcels();
	for (int64_t i = 1; i < settings.loops && r == 0; i++) {
		struct gyre_address to = talkers[(self->index + i) % settings.loops];

		for (int64_t k = 0; k < settings.burst && r == 0; k++) {
			r = gyre_notify(stack, to, gyre_new(stack, parcel, (uint64_t)k));
		}
	}
	return r;
}

static int end_talker(struct gyre_stack *stack)
{
	if (__atomic_add_fetch(&talkers_ended, 1, __ATOMIC_ACQ_REL) == (uint64_t)settings.loops) {
		make_report(gyre_system_of(stack));
		gyre_system_stop(gyre_system_of(stack));
	}
	return gyre_return(stack);
}

/* Others may talk before this one has been told to. */
static int take(struct gyre_stack *stack)
{
	struct talker *self = (struct talker *)gyre_state(stack);
	int r = 0;

	if (gyre_message(stack, talk) != NULL) {
		self->talking = true;
	} else {
		self->received++;
	}
	while (self->talking && r == 0 && self->sent <= self->received &&
	       self->sent < parcels_each()) {
		r = send_burst(stack, self);
	}
	if (r == 0 && self->talking && self->received == parcels_each()) {
		return end_talker(stack);
	}
	return r < 0 ? r : gyre_return(stack);
}

/* The last one has all of them talk. */
static int mount(struct gyre_stack *stack)
{
	struct talker *self = (struct talker *)gyre_state(stack);
	int r = 0;

	self->index = gyre_message(stack, place)->index;
	if (__atomic_add_fetch(&talkers_mounted, 1, __ATOMIC_ACQ_REL) < (uint64_t)settings.loops) {
		return gyre_return(stack);
	}
	at_first.rss_bytes = perf_rss_bytes();
	at_first.ns = perf_now_ns();
	r = perf_cpu_time(0, &at_first.cpu);
	for (int64_t i = 0; i < settings.loops && r == 0; i++) {
		r = gyre_notify(stack, talkers[i], gyre_new(stack, talk));
	}
	return r;
}

static const struct gyre_class talker_class = {
	.name = "talker",
	.state_bytes = sizeof(struct talker),
	.mount = mount,
	.behaviour.notice = take,
};

/* ---- setting up ---- */

static int spawn_all(struct gyre_system *system)
{
	int r = 0;

	for (int64_t i = 0; i < settings.loops && r == 0; i++) {
		const struct gyre_spawn_options options = {
			.place = GYRE_PLACE_LOOP,
			.loop = (uint32_t)i,
		};

		r = gyre_system_spawn(system, &talker_class, gyre_system_new(system, place, i),
				      &options, &talkers[i]);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct gyre_system_options system_options = { .spin_ns = GYRE_SPIN_NEVER };
	const struct perf_option options[] = {
		{ "loops", PERF_OPTION_NUMBER, "how many", &settings.loops, 2, LOOPS_MAX, NULL },
		{ "burst", PERF_OPTION_NUMBER, "messages to each other loop at once",
		  &settings.burst, 1, BURST_MAX, NULL },
		{ "messages", PERF_OPTION_NUMBER, "of all loops together, about",
		  &settings.messages, 1, INT64_MAX / 2, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system *system = NULL;
	int r;

	perf_options_parse(argc, argv, "what memory loops take for each other", options,
			   sizeof(options) / sizeof(options[0]));
	system_options.loops = (uint32_t)settings.loops;
	system_options.cpus = settings.cpus;
	r = gyre_system_create(&system_options, &system);
	if (r == 0) {
		r = spawn_all(system);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	if (r < 0 || report.count == 0) {
		return perf_fail("pairs", r < 0 ? r : -EIO);
	}
	perf_report_print(&report, settings.json);
	return EXIT_SUCCESS;
}
