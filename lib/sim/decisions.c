/*
 * Decisions. Each is a number below a bound, and 0 is what happens in a dull run: the task that has
 * waited longest goes on, nothing is lost, nothing is late. So a run is a list of the decisions
 * that were not 0, each with its place in the order of all; that is what is recorded, what a replay
 * follows, and what can be made shorter by leaving some out. Those of the scheduler, those of the
 * test and all others are counted apart: who leaves out one of a kind moves none of another.
 *
 * Whether a task is put aside where it stands is asked most often by far, and seldom answered with
 * yes. So not each answer is drawn, but how many places are passed before the next one.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "sim/decisions.h"

struct decision {
	uint64_t place;
	uint32_t value;
};

enum kind { CALL, STEP, TASK, TEST, OTHER, KINDS };

static const char *const kind_names[KINDS] = { "call", "step", "task", "test", "other" };

_Static_assert((int)CALL == (int)GY_SIM_PAUSE_CALL && (int)STEP == (int)GY_SIM_PAUSE_STEP,
	       "pauses are kinds of decisions");

/* Those of one kind. */
struct kind_decisions {
	uint64_t taken;		 /* of pauses: with the places that are passed before the next */
	struct decision *listed; /* a replay */
	uint32_t listed_count;
	uint32_t listed_room;
	uint32_t next; /* of @listed */
};

struct gy_sim_decisions {
	uint64_t random;
	uint64_t secrets;  /* the state of what hosts are told by getrandom() */
	uint64_t workload; /* and of gyre_sim_random() */
	uint64_t of_test;  /* and of gyre_sim_choose() */
	struct kind_decisions kinds[KINDS];
	bool replays;
	FILE *record;
};

static uint32_t draw(uint64_t *state, uint32_t count)
{
	return (uint32_t)((gy_random_next(state) >> 32) * count >> 32);
}

static uint32_t draw_seldom(uint64_t *state, uint32_t count, uint32_t of_a_million)
{
	return draw(state, 1000000) < of_a_million ? 1 + draw(state, count - 1) : 0;
}

/* KINDS: there is none of this name. */
static enum kind find_kind(const char *name)
{
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		if (strcmp(name, kind_names[kind]) == 0) {
			return (enum kind)kind;
		}
	}
	return KINDS;
}

static int read_all(struct gy_sim_decisions *decisions, const char *path)
{
	FILE *file = fopen(path, "re");
	struct decision one;
	char name[16];
	int fields = 0;
	int error = 0;

	if (file == NULL) {
		return -errno;
	}
	while ((fields = fscanf(file, "%15s %" SCNu64 " %" SCNu32, name, &one.place, &one.value)) ==
		       3 &&
	       find_kind(name) != KINDS) {
		struct kind_decisions *kind = &decisions->kinds[find_kind(name)];

		gy_sim_grow((void **)&kind->listed, &kind->listed_room, kind->listed_count + 1,
			    sizeof(one));
		kind->listed[kind->listed_count++] = one;
	}
	if (fields == EOF && ferror(file) != 0) {
		error = errno; /* it is a folder, or cannot be read */
	}
	decisions->replays = true;
	(void)fclose(file);
	if (error != 0) {
		return -error;
	}
	return fields == EOF ? 0 : -EBADMSG;
}

/* ---- pauses ---- */

/*
 * How many places are passed until a task is put aside, where each does so with a small probability
 * p: about ln(1/u)/p, for u drawn between 0 and 1. The logarithm of base 2 is that of the highest
 * bit, and of the bits behind it by a parabola: no floating point, which machines round
 * differently.
 */
static uint64_t draw_gap(struct gy_sim_decisions *decisions, enum gy_sim_pause pause)
{
	static const uint32_t of_a_million[GY_SIM_PAUSES] = {
		[GY_SIM_PAUSE_CALL] = 60000,
		[GY_SIM_PAUSE_STEP] = 2000,
	};
	const uint64_t ln_2 = 693147; /* in millionths */
	const uint64_t one = 1 << 16;
	const uint64_t bend = 22486; /* 0.3431: log2(1 + f) is f + 0.3431 f (1 - f), or nearly so */
	uint64_t u = gy_random_next(&decisions->random) | 1;
	uint32_t zeros = (uint32_t)__builtin_clzll(u);
	uint64_t fraction = (u << zeros) >> 47 & (one - 1);
	uint64_t log_2 =
		(zeros + 1) * one - fraction - (fraction * (one - fraction) / one * bend / one);

	return log_2 * ln_2 / of_a_million[pause] / one;
}

/* The same where they are listed. */
static uint64_t next_gap(struct kind_decisions *kind)
{
	while (kind->next < kind->listed_count && kind->listed[kind->next].place < kind->taken) {
		kind->next++;
	}
	return kind->next < kind->listed_count ? kind->listed[kind->next].place - kind->taken
					       : UINT64_MAX - kind->taken;
}

static void set_next(struct gyre_sim *sim, enum gy_sim_pause pause)
{
	struct gy_sim_decisions *decisions = sim->decisions;
	struct kind_decisions *kind = &decisions->kinds[pause];

	sim->places_left[pause] = decisions->replays ? next_gap(kind) : draw_gap(decisions, pause);
	kind->taken += sim->places_left[pause];
}

/* ---- life ---- */

int gy_sim_decisions_init(struct gyre_sim *sim, const struct gyre_sim_options *options)
{
	struct gy_sim_decisions *decisions =
		(struct gy_sim_decisions *)gy_sim_get(sizeof(*decisions));
	uint64_t seed = options->seed;

	sim->decisions = decisions;
	decisions->random = gy_random_next(&seed);
	decisions->secrets = gy_random_next(&seed);
	decisions->workload = gy_random_next(&seed);
	decisions->of_test = gy_random_next(&seed);
	if (options->replay != NULL) {
		int r = read_all(decisions, options->replay);

		if (r < 0) {
			return r;
		}
	}
	if (options->record != NULL) {
		decisions->record = fopen(options->record, "we");
		if (decisions->record == NULL) {
			return -errno;
		}
		/* What ends the process is what decisions are most wanted of. */
		(void)setvbuf(decisions->record, NULL, _IOLBF, 0);
	}
	set_next(sim, GY_SIM_PAUSE_CALL);
	set_next(sim, GY_SIM_PAUSE_STEP);
	return 0;
}

void gy_sim_decisions_fini(struct gyre_sim *sim)
{
	struct gy_sim_decisions *decisions = sim->decisions;

	if (decisions != NULL) {
		gy_sim_output_close(decisions->record, "decisions");
		for (uint32_t kind = 0; kind < KINDS; kind++) {
			gy_sim_put(decisions->kinds[kind].listed);
		}
		gy_sim_put(decisions);
	}
}

/* ---- taking them ---- */

/* The decision at the present place of the list that is replayed; 0 if it has none. */
static uint32_t look_up(struct kind_decisions *kind)
{
	while (kind->next < kind->listed_count && kind->listed[kind->next].place < kind->taken) {
		kind->next++;
	}
	return kind->next < kind->listed_count && kind->listed[kind->next].place == kind->taken
		       ? kind->listed[kind->next].value
		       : 0;
}

/* Takes the next decision of a kind; @drawn is what the seed would have. */
static uint32_t take(struct gyre_sim *sim, enum kind kind, uint32_t count, uint32_t drawn)
{
	struct gy_sim_decisions *decisions = sim->decisions;
	struct kind_decisions *of_kind = &decisions->kinds[kind];
	uint32_t value = decisions->replays ? look_up(of_kind) : drawn;

	gy_assert(count > 0);
	value = value < count ? value : count - 1;
	if (value != 0 && decisions->record != NULL) {
		(void)fprintf(decisions->record, "%s %" PRIu64 " %" PRIu32 "\n", kind_names[kind],
			      of_kind->taken, value);
	}
	of_kind->taken++;
	return value;
}

uint32_t gy_sim_choose(struct gyre_sim *sim, uint32_t count)
{
	return count == 1 ? 0 : take(sim, OTHER, count, draw(&sim->decisions->random, count));
}

uint32_t gy_sim_choose_task(struct gyre_sim *sim, uint32_t count, uint32_t of_a_million)
{
	return count == 1 ? 0
			  : take(sim, TASK, count,
				 draw_seldom(&sim->decisions->random, count, of_a_million));
}

bool gy_sim_pause(struct gyre_sim *sim, enum gy_sim_pause pause)
{
	bool pauses = take(sim, (enum kind)pause, 2, 1) != 0;

	set_next(sim, pause);
	return pauses;
}

uint32_t gyre_sim_choose(struct gyre_sim *sim, uint32_t count)
{
	if (count < 2) {
		return 0;
	}
	return take(sim, TEST, count, draw(&sim->decisions->of_test, count));
}

bool gy_sim_happens(struct gyre_sim *sim, uint32_t of_a_million)
{
	return of_a_million != 0 &&
	       take(sim, OTHER, 2, draw_seldom(&sim->decisions->random, 2, of_a_million)) != 0;
}

size_t gy_sim_shorten(struct gyre_sim *sim, size_t count)
{
	enum { FEW = 4, MANY = 1 << 20 };
	size_t most;

	if (count <= 1 || !gy_sim_happens(sim, sim->faults)) {
		return count;
	}
	most = gy_sim_choose(sim, 2) == 0 ? FEW : MANY;
	return 1 + gy_sim_choose(sim, (uint32_t)(count - 1 < most ? count - 1 : most));
}

uint64_t gy_sim_choose_time(struct gyre_sim *sim, uint64_t most_ns)
{
	enum { STEPS = 1 << 16 };

	/* In so many steps, so that a decision stays a small number. */
	return most_ns == 0 ? 0
			    : (uint64_t)((unsigned __int128)most_ns * gy_sim_choose(sim, STEPS) /
					 (STEPS - 1));
}

void gy_sim_random_bytes(struct gyre_sim *sim, void *memory, size_t bytes)
{
	unsigned char *at = (unsigned char *)memory;

	while (bytes > 0) {
		uint64_t random = gy_random_next(&sim->decisions->secrets);
		size_t count = bytes < sizeof(random) ? bytes : sizeof(random);

		memcpy(at, &random, count);
		at += count;
		bytes -= count;
	}
}

uint64_t gyre_sim_random(struct gyre_sim *sim)
{
	return gy_random_next(&sim->decisions->workload);
}
