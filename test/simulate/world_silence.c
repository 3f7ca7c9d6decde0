/*
 * Silence: a system of two loops in which nothing moves but one ask. It comes from a thread that
 * runs no loop, is passed on between the loops a few times, and is answered; then comes the next.
 * So a loop that is about to park when mail for it comes has nobody else to wake it, and who goes
 * to sleep in spite of the mail sleeps on. The ask has no time-out, since its timer would wake the
 * loop.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "world.h"

enum { LOOPS = 2, HOPS_MAX = 4, ASKS = 400, PAUSES = 8 /* one in so many asks comes after one */ };

/* There are no other threads than these, and no work: an ask takes some microseconds. */
static const uint64_t soon_ns = GYRE_MILLISECONDS(10);

struct silence {
	struct gyre_sim *sim;
	struct gyre_address walkers[LOOPS];
	uint32_t hops; /* that are left of the ask that is under way */
	uint64_t rounds;
};

struct arrival {
	uint32_t at;
};
GYRE_MESSAGE(arrival, 0x5601);

struct walk {
	struct silence *silence;
};
GYRE_REQUEST(walk, 0x5602, arrival);

struct walker {
	struct silence *silence;
	uint32_t at;
};
GYRE_MESSAGE(walker, 0x5603);

/* ---- walkers ---- */

static int on_walk(struct gyre_stack *stack)
{
	const struct walker *self = (const struct walker *)gyre_state(stack);

	if (self->silence->hops == 0) {
		return gyre_reply_to(stack, walk, .at = self->at);
	}
	self->silence->hops--;
	return gyre_forward(stack, self->silence->walkers[(self->at + 1) % LOOPS]);
}

static int on_mount(struct gyre_stack *stack)
{
	*(struct walker *)gyre_state(stack) = *gyre_message(stack, walker);
	return gyre_return(stack);
}

static const struct gyre_class walker_class = { .name = "walker",
						.state_bytes = sizeof(struct walker),
						.behaviour = { .ask = on_walk },
						.mount = on_mount };

/* ---- who asks ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return GYRE_SECONDS((uint64_t)now.tv_sec) + (uint64_t)now.tv_nsec;
}

static void ask_once(struct gyre_system *system, struct silence *silence)
{
	uint32_t hops = (uint32_t)(gyre_sim_random(silence->sim) % HOPS_MAX);
	uint32_t first = (uint32_t)(gyre_sim_random(silence->sim) % LOOPS);
	uint64_t begin_ns;
	int r;

	if (gyre_sim_random(silence->sim) % PAUSES == 0) {
		world_pause(gyre_sim_random(silence->sim) % GYRE_MILLISECONDS(1));
	}
	silence->hops = hops;
	begin_ns = now_ns();
	r = gyre_system_ask(system, silence->walkers[first],
			    gyre_system_new(system, walk, .silence = silence), GYRE_FOREVER, NULL);
	if (r < 0) {
		world_violate("an ask has failed: %s", strerrordesc_np(-r));
	} else if (now_ns() - begin_ns > soon_ns) {
		world_violate("an ask of %" PRIu32 " hops took %" PRIu64 " ms", hops,
			      (now_ns() - begin_ns) / GYRE_MILLISECONDS(1));
	}
}

static int be_host(void *arg)
{
	const struct gyre_system_options options = { .loops = LOOPS, .log = world_no_log };
	struct silence *silence = (struct silence *)arg;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	for (uint32_t i = 0; r == 0 && i < LOOPS; i++) {
		const struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP, .loop = i };

		r = gyre_system_spawn(system, &walker_class,
				      gyre_system_new(system, walker, silence, i), &place,
				      &silence->walkers[i]);
	}
	r = r < 0 ? r : gyre_system_start(system);
	for (uint32_t i = 0; r == 0 && i < ASKS; i++) {
		ask_once(system, silence);
	}
	if (r == 0) {
		gyre_system_stop(system);
		r = gyre_system_wait(system);
	}
	gyre_system_destroy(system);
	silence->rounds += r == 0;
	return r;
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct silence *silence = (struct silence *)state;

	silence->sim = sim;
	return gyre_sim_host(sim, "alpha", be_host, silence, NULL);
}

static uint64_t progress(const void *state, uint32_t part)
{
	(void)part;
	return ((const struct silence *)state)->rounds;
}

const struct world world_silence = {
	.name = "silence",
	.state_bytes = sizeof(struct silence),
	.hosts = 1,
	.trouble = TROUBLE_FAULTS,
	.go_on_seconds = 60,
	.build = build,
	.parts = 1,
	.progress = progress,
};
