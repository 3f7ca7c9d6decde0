/*
 * Random actor programs on one host, each checked against a model of all that may happen: those of
 * test/random, whose threads go on in an order that the seed draws.
 */
#include "actors.h"
#include "world.h"

struct actors {
	uint64_t seed;
	uint64_t played;
};

static int play_one(void *arg)
{
	struct actors *actors = (struct actors *)arg;

	actors_play(actors->seed);
	actors->played++;
	return 0;
}

static int build(struct gyre_sim *sim, void *state)
{
	struct actors *actors = (struct actors *)state;

	actors->seed = gyre_sim_random(sim) >> 1;
	return gyre_sim_host(sim, "alpha", play_one, actors, NULL);
}

static uint64_t progress(const void *state, uint32_t part)
{
	(void)part;
	return ((const struct actors *)state)->played;
}

const struct world world_actors = {
	.name = "actors",
	.state_bytes = sizeof(struct actors),
	.hosts = 1,
	.go_on_seconds = 600,
	.build = build,
	.parts = 1,
	.progress = progress,
};
