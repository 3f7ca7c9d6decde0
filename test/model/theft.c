/*
 * The ring of jobs that may be stolen: its owner puts two in and takes back what is left, as after
 * every turn, while two thieves take. Each job is run once, by whoever has it to himself. The ring
 * is about to begin anew at its first slot.
 */
#include "loop/steal_ring.h"

#include "base/memory/memory.h"
#include "model.h"

enum { JOBS = 2 };

struct gy_job {
	uint32_t runs;
};

static struct gy_steal_ring *theft;
static struct gy_job *jobs[JOBS];

static void setup(void)
{
	theft = (struct gy_steal_ring *)gy_memory_get(sizeof(*theft));
	theft->head = GY_STEAL_RING_SLOTS - 1;
	theft->tail = GY_STEAL_RING_SLOTS - 1;
	for (uint32_t i = 0; i < JOBS; i++) {
		jobs[i] = (struct gy_job *)gy_memory_get(sizeof(struct gy_job));
	}
}

static void run(struct gy_job *job)
{
	model_check(job->runs == 1);
	job->runs++;
}

static void publish(void)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		jobs[i]->runs = 1; /* is sealed */
		model_check(gy_steal_ring_push(theft, jobs[i]));
	}
	while (gy_steal_ring_count(theft) > 0) {
		struct gy_job *job = gy_steal_ring_take(theft);

		if (job != NULL) {
			run(job);
		}
	}
}

static void steal(void)
{
	struct gy_job *job = gy_steal_ring_count(theft) > 0 ? gy_steal_ring_take(theft) : NULL;

	if (job != NULL) {
		run(job);
	}
}

static void steal_twice(void)
{
	steal();
	steal();
}

static void check(void)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		model_check(jobs[i]->runs == 2);
	}
	model_check(gy_steal_ring_count(theft) == 0);
}

int main(void)
{
	static const struct model_protocol protocol = {
		.title = "each of two jobs that two thieves and their owner take is run once",
		.setup = setup,
		.check = check,
		.threads = { { "owner", publish }, { "thief", steal_twice }, { "other", steal } },
	};
	static const struct model_plant plants[] = {
		{ "a job that two can take", "gy_steal_ring_take", MODEL_COMPARE, MODEL_TORN, 0 },
		{ "a slot that is filled after it is shown", "gy_steal_ring_push",
		  MODEL_STORE_RELAXED, MODEL_SWAPPED, 0 },
		{ "a job that is shown without a release", "gy_steal_ring_push",
		  MODEL_STORE_RELEASE, MODEL_RELAXED, 0 },
		{ "a thief that acquires nothing", "gy_steal_ring_take", MODEL_LOAD_ACQUIRE,
		  MODEL_RELAXED, 0 },
	};

	return model_main(&protocol, 1, plants, gy_countof(plants));
}
