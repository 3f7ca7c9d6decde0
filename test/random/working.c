/*
 * Work off the loops, by the pool without a name and by those that the options name. Each piece
 * knows which pool was to do it; so many of one pool as it has threads are done at a time, and in
 * the end each pool has counted its own.
 */
#include <errno.h>
#include <string.h>

#include "random.h"

enum { THREADS = 2 };

const struct gyre_offload_pool pools_named[POOLS - 1] = {
	{ .name = "disk", .threads = 1, .queue_max = 4 },
	{ .name = "numbers" },
};

uint32_t pool_threads(uint32_t number)
{
	uint32_t threads = number == 0 ? 0 : pools_named[number - 1].threads;

	return threads == 0 ? THREADS : threads;
}

/* What a piece returns is drawn by its number, as nothing else is the thread's own. */
static int work_on(struct gyre_work *work, struct world *world, uint32_t pledge)
{
	bool wishes = gyre_work_get(work, wish) != NULL;

	if (pledge % 8 == 0) {
		pause_ns(GYRE_MILLISECONDS(1));
	}
	if (pledge % 8 == 1) {
		return -EIO;
	}
	if (pledge % 8 == 2) {
		return 0;
	}
	(void)gy_add_relaxed(&world->pledges[pledge].answered, 1);
	return wishes ? gyre_work_reply(work, gyre_work_new(work, present, .pledge = pledge,
							    .token = token_get(world)))
		      : gyre_work_reply(work, gyre_work_new(work, verdict, .pledge = pledge));
}

static int do_work(struct gyre_work *work)
{
	struct world *world = (struct world *)gyre_system_user(gyre_work_system(work));
	const struct wish *wish = gyre_work_get(work, wish);
	const struct question *question = gyre_work_get(work, question);
	uint32_t pledge = wish != NULL ? wish->pledge : question->pledge;
	uint32_t number = world->pledges[pledge].pool;
	struct pool *pool = &world->pools[number];
	int r;

	must(world, 0, number < POOLS, "promise %u had no pool", pledge);
	must(world, 0, gy_add_relaxed(&pool->busy, 1) < pool_threads(number),
	     "pool %u has more threads than it may", number);
	(void)gy_add_relaxed(&pool->done, 1);
	r = work_on(work, world, pledge);
	(void)gy_add_relaxed(&pool->busy, -1U);
	return r;
}

int work_off(struct gyre_stack *stack, uint32_t pledge, struct gyre_mail *mail,
	     struct gyre_future *ret_future)
{
	struct self *self = self_of(stack);
	struct pledge *record = &self->world->pledges[pledge];
	uint64_t time_ns = record->time_ns;
	bool lacks = mail == NULL;
	int r;

	record->pool = (uint8_t)draw(&self->random, one_in(&self->random, 16) ? POOLS + 1 : POOLS);
	if (record->pool == 0) {
		return gyre_offload(stack, do_work, mail, time_ns, ret_future);
	}
	if (record->pool < POOLS) {
		return gyre_offload_to(stack, pools_named[record->pool - 1].name, do_work, mail,
				       time_ns, ret_future);
	}
	r = gyre_offload_to(stack, "none", do_work, mail, time_ns, ret_future);
	must(self->world, self->life, r == (lacks ? -ENOMEM : -ENOENT), "%d", r);
	return r;
}

void expect_worked(struct world *world)
{
	struct gyre_snapshot *snapshot;

	must(world, 0, gyre_system_inspect(world->system, &snapshot) == 0);
	must(world, 0, snapshot->offload_pools_count == POOLS);
	for (uint32_t i = 0; i < POOLS; i++) {
		const struct gyre_offload_pool_snapshot *pool = &snapshot->offload_pools[i];
		const char *name = i == 0 ? "" : pools_named[i - 1].name;

		must(world, 0, strcmp(pool->name, name) == 0, "it is called \"%s\"", pool->name);
		must(world, 0, pool->threads <= pool_threads(i), "pool %u has %u threads", i,
		     pool->threads);
		must(world, 0, pool->done == world->pools[i].done,
		     "pool %u has done %lu pieces of %u", i, (unsigned long)pool->done,
		     world->pools[i].done);
	}
	gyre_snapshot_destroy(snapshot);
}
