/*
 * The last things that happened, and the report when something does not hold. The trace orders
 * nothing: its stores are relaxed, so that it hides no race from a sanitizer.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { EVENTS = 1 << 14, SHOWN_OF_LIFE = 60, SHOWN_OF_ALL = 80, SHOWN_OPEN = 20 };

struct event {
	uint64_t time_ns;
	const char *what;
	uint64_t a;
	uint64_t b;
	uint32_t life;
};

static struct event events[EVENTS];
static uint32_t events_count; /* atomic */
static uint64_t begun_ns;
static uint32_t reporting; /* atomic */

void trace_begin(uint64_t seed)
{
	begun_ns = now_ns();
	gy_store_relaxed(&events_count, 0);
	trace(0, "seed", seed, 0);
}

void trace(uint32_t life, const char *what, uint64_t a, uint64_t b)
{
	struct event *event = &events[gy_add_relaxed(&events_count, 1) % EVENTS];

	gy_store_relaxed(&event->time_ns, now_ns());
	gy_store_relaxed(&event->what, what);
	gy_store_relaxed(&event->life, life);
	gy_store_relaxed(&event->a, a);
	gy_store_relaxed(&event->b, b);
}

static void show(const struct event *event)
{
	(void)fprintf(stderr, "  %10.3f us  life %-4u %-20s %" PRIu64 " %" PRIi64 "\n",
		      (double)(int64_t)(event->time_ns - begun_ns) / 1e3, event->life, event->what,
		      event->a, (int64_t)event->b);
}

/* The last events, those of @life only if it is not 0. */
static void show_last(uint32_t life, uint32_t max)
{
	uint32_t end = gy_load_relaxed(&events_count);
	uint32_t begin = end < EVENTS ? 0 : end - EVENTS;
	uint32_t from = end;

	for (uint32_t found = 0; from > begin && found < max; from--) {
		found += life == 0 || events[(from - 1) % EVENTS].life == life;
	}
	for (; from < end; from++) {
		if (life == 0 || events[from % EVENTS].life == life) {
			show(&events[from % EVENTS]);
		}
	}
}

static void show_pledges(const struct world *world)
{
	static const char *const names[] = { "ask", "sleep", "end", "work", "outside" };
	uint32_t shown = 0;

	for (uint32_t i = 1; i < world->pledges_max && shown < SHOWN_OPEN; i++) {
		const struct pledge *pledge = &world->pledges[i];

		if (pledge->begun != 0 && pledge->ended == 0 && pledge->given_up == 0 &&
		    world->lives[pledge->owner].ended == 0) {
			(void)fprintf(stderr,
				      "  open: promise %u, %s of life %u to life %u, begun at %.3f "
				      "us for %.3f us, %u answers\n",
				      i, names[pledge->kind], pledge->owner, pledge->whom,
				      (double)(pledge->begun_ns - begun_ns) / 1e3,
				      (double)pledge->time_ns / 1e3, pledge->answered);
			shown++;
		}
	}
}

static void show_watches(const struct world *world)
{
	uint32_t shown = 0;

	for (uint32_t i = 1; i < world->watches_max && shown < SHOWN_OPEN; i++) {
		const struct watch_record *watch = &world->watches[i];

		if (watch->stage == WATCH_ON && world->lives[watch->watched].ended != 0 &&
		    world->lives[watch->watcher].alive != 0) {
			(void)fprintf(stderr, "  owed: life %u was not told that life %u ended\n",
				      watch->watcher, watch->watched);
			shown++;
		}
	}
}

static void show_doomed(const struct world *world)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		if (world->lives[i].doomed != 0 && world->lives[i].alive != 0) {
			(void)fprintf(stderr, "  doomed: life %u, a %s, goes on\n", i,
				      classes[world->lives[i].class].name);
		}
	}
}

static void show_counters(struct world *world)
{
	struct gyre_counters counters;

	if (world->system == NULL || gyre_system_counters(world->system, &counters) < 0) {
		return;
	}
	(void)fprintf(stderr, "  sent %" PRIu64 ", handled %" PRIu64, counters.sent,
		      counters.handled);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		if (counters.dropped[i] != 0 || world->lost[i] != 0) {
			(void)fprintf(stderr, ", %s %" PRIu64 " (told of %" PRIu64 ")",
				      gyre_drop_name((enum gyre_drop)i), counters.dropped[i],
				      world->lost[i]);
		}
	}
	(void)fprintf(stderr,
		      "\n  spawned %" PRIu64 ", stopped %" PRIu64 ", to nodes %" PRIu64 "\n",
		      counters.spawned, counters.stopped, counters.to_nodes);
}

/* Who has not handled the notice of the last round of calming down. */
static void show_unsettled(const struct world *world)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		const struct life *life = &world->lives[i];

		if (life->alive != 0 && life->settled != world->round) {
			(void)fprintf(stderr, "  not calm: life %u, a %s [%u:%u], since round %u\n",
				      i, classes[life->class].name, (unsigned)life->address.loop,
				      (unsigned)life->address.slot, life->settled);
		}
	}
}

void dump(struct world *world)
{
	struct gyre_snapshot *snapshot;

	show_counters(world);
	if (world->system != NULL && gyre_system_inspect(world->system, &snapshot) == 0) {
		(void)gyre_snapshot_print(snapshot, stderr);
		gyre_snapshot_destroy(snapshot);
	}
	show_pledges(world);
	show_watches(world);
	show_doomed(world);
	if (gy_load_relaxed(&world->closing) != 0) {
		show_unsettled(world);
	}
}

void violated(struct world *world, uint32_t life, const char *what, const char *format, ...)
{
	const char *base = strrchr(what, '/');
	va_list arguments;

	if (gy_exchange(&reporting, 1) != 0) {
		for (;;) {
			pause_ns(GYRE_SECONDS(1)); /* the first report ends the process */
		}
	}
	(void)fprintf(
		stderr, "\nseed %" PRIu64 " (%u loops, %u steps%s%s%s%s): %s:", world->plan.seed,
		world->plan.loops, world->plan.steps, world->plan.lean ? ", lean" : "",
		world->plan.resizing ? ", resizing" : "", world->plan.abrupt ? ", abrupt" : "",
		world->plan.embedded != EMBEDDED_NOT ? ", embedded" : "",
		base == NULL ? what : base + 1);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fprintf(stderr, "\nagain: random %" PRIu64 " --loops %u --steps %u\n",
		      world->plan.seed, world->plan.loops, world->plan.steps);
	if (life != 0) {
		(void)fprintf(stderr, "the last of life %u, a %s:\n", life,
			      classes[world->lives[life].class].name);
		show_last(life, SHOWN_OF_LIFE);
	}
	(void)fprintf(stderr, "the last of all:\n");
	show_last(0, SHOWN_OF_ALL);
	dump(world);
	abort(); /* whatever runs it: _exit() of a host that is simulated ends that alone */
}

void log_line(const struct gyre_log_line *line, void *arg)
{
	struct world *world = (struct world *)arg;

	if (line->level >= GYRE_LOG_ERROR && !world->plan.lean) {
		violated(world, 0, "an error was logged", " %s", line->text);
	}
}
