/*
 * Thefts: many actors on one loop, all of which have work, beside loops with little to do, which
 * steal from it. Each actor sends numbered notices to a sink on another loop, wherever it runs. The
 * sink must get all of them, those of each actor in their order. A handler gives its CPU away now
 * and then, as one may that takes its time.
 */
#include <inttypes.h>
#include <sched.h>

#include "world.h"

enum {
	LOOPS = 3,
	SOURCES = 40,
	NOTICES = 60, /* of each source */
	SENT_MAX = 3, /* in one run of a handler */
	YIELDS = 16,  /* one in so many runs */
};

struct thefts {
	struct gyre_sim *sim;
	struct gyre_system *system;
	struct gyre_address sink;
	uint32_t heard[SOURCES]; /* the last number */
	uint32_t sources_done;
	uint64_t rounds;
};

struct source {
	struct thefts *thefts;
	uint32_t index;
	uint32_t sent;
};
GYRE_MESSAGE(source, 0x5701);

struct more {
	char nothing;
};
GYRE_MESSAGE(more, 0x5702);

struct piece {
	uint32_t source;
	uint32_t number; /* from 1 on */
};
GYRE_MESSAGE(piece, 0x5703);

/* ---- sources ---- */

static int send_some(struct gyre_stack *stack, struct source *self)
{
	uint32_t count = 1 + (uint32_t)(gyre_sim_random(self->thefts->sim) % SENT_MAX);
	int r = 0;

	while (r == 0 && count-- > 0 && self->sent < NOTICES) {
		self->sent++;
		r = gyre_notify(stack, self->thefts->sink,
				gyre_new(stack, piece, self->index, self->sent));
	}
	return r;
}

static int on_more(struct gyre_stack *stack)
{
	struct source *self = (struct source *)gyre_state(stack);
	int r = send_some(stack, self);

	if (gyre_sim_random(self->thefts->sim) % YIELDS == 0) {
		(void)sched_yield();
	}
	if (r == 0 && self->sent < NOTICES) {
		r = gyre_notify(stack, gyre_self(stack), gyre_new(stack, more));
	}
	return r < 0 ? r : gyre_return(stack);
}

static int on_source_mount(struct gyre_stack *stack)
{
	*(struct source *)gyre_state(stack) = *gyre_message(stack, source);
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, more));
}

static const struct gyre_class source_class = { .name = "source",
						.state_bytes = sizeof(struct source),
						.behaviour = { .notice = on_more },
						.strategy = GYRE_STRATEGY_SHUT_DOWN,
						.mount = on_source_mount };

/* ---- the sink ---- */

struct sink {
	struct thefts *thefts;
};
GYRE_MESSAGE(sink, 0x5704);

static int on_piece(struct gyre_stack *stack)
{
	struct thefts *thefts = ((const struct sink *)gyre_state(stack))->thefts;
	const struct piece *piece = gyre_message(stack, piece);

	if (piece->number != thefts->heard[piece->source] + 1) {
		world_violate("notice %" PRIu32 " of actor %" PRIu32 " came after %" PRIu32,
			      piece->number, piece->source, thefts->heard[piece->source]);
	}
	thefts->heard[piece->source] = piece->number;
	thefts->sources_done += piece->number == NOTICES;
	if (thefts->sources_done == SOURCES) {
		gyre_system_stop(thefts->system);
	}
	return gyre_return(stack);
}

static int on_sink_mount(struct gyre_stack *stack)
{
	*(struct sink *)gyre_state(stack) = *gyre_message(stack, sink);
	return gyre_return(stack);
}

static const struct gyre_class sink_class = { .name = "sink",
					      .state_bytes = sizeof(struct sink),
					      .behaviour = { .notice = on_piece },
					      .mount = on_sink_mount };

/* ---- the host ---- */

static int spawn_all(struct thefts *thefts)
{
	static const struct gyre_spawn_options first = { .place = GYRE_PLACE_LOOP };
	static const struct gyre_spawn_options second = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	struct gyre_system *system = thefts->system;
	int r = gyre_system_spawn(system, &sink_class, gyre_system_new(system, sink, thefts),
				  &second, &thefts->sink);

	for (uint32_t i = 0; r == 0 && i < SOURCES; i++) {
		struct gyre_address address;

		r = gyre_system_spawn(system, &source_class,
				      gyre_system_new(system, source, thefts, i, 0), &first,
				      &address);
	}
	return r;
}

static int be_host(void *arg)
{
	const struct gyre_system_options options = {
		.loops = LOOPS,
		.run_budget = 1,
		.steal_floor = 1,
		.steal_aggression = 1,
		.log = world_no_log,
	};
	struct thefts *thefts = (struct thefts *)arg;
	int r = gyre_system_create(&options, &thefts->system);

	r = r < 0 ? r : spawn_all(thefts);
	r = r < 0 ? r : gyre_system_start(thefts->system);
	r = r < 0 ? r : gyre_system_wait(thefts->system);
	gyre_system_destroy(thefts->system);
	thefts->rounds += r == 0;
	return r;
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct thefts *thefts = (struct thefts *)state;

	thefts->sim = sim;
	return gyre_sim_host(sim, "alpha", be_host, thefts, NULL);
}

static uint64_t progress(const void *state, uint32_t part)
{
	(void)part;
	return ((const struct thefts *)state)->rounds;
}

const struct world world_thefts = {
	.name = "thefts",
	.state_bytes = sizeof(struct thefts),
	.hosts = 1,
	.trouble = TROUBLE_FAULTS,
	.go_on_seconds = 60,
	.build = build,
	.parts = 1,
	.progress = progress,
};
