/*
 * One program from its seed to its end: the system is made, actors and threads stir it until the
 * steps are used up, all calms down and is looked at, and the system stops; or it is stopped in the
 * midst of it. Then everything must be accounted for.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap.h"
#include "random.h"

/* Phases are let go of long before; but a loop that retires waits so long for handlers that wait
 * for others, which nobody may answer before all calms down. */
enum { HOLD_SECONDS = 30, RETIRE_SECONDS = 5 };

/* Both atomic. */
static struct world *playing;
static uint64_t playing_since_ns; /* 0 while none is */

struct world *world_now(void)
{
	return gy_load_acquire(&playing);
}

bool world_hangs(uint64_t limit_ns)
{
	uint64_t since_ns = gy_load_acquire(&playing_since_ns);

	return since_ns != 0 && now_ns() - since_ns > limit_ns;
}

/* ---- drawing a plan ---- */

static void draw_weights(struct plan *plan, uint64_t *random)
{
	static const enum deed often[] = { DEED_NOTIFY, DEED_PARCEL, DEED_SPAWN, DEED_ASK };
	static const enum deed seldom[] = { DEED_STOP,	      DEED_POISON,    DEED_GRACEFUL,
					    DEED_STOP_SELF,   DEED_AWAIT_END, DEED_WORK,
					    DEED_SPAWN_GROUP, DEED_DIAL,      DEED_AWAIT_DIAL };

	for (uint32_t i = 0; i < DEEDS; i++) {
		plan->weights[i] = one_in(random, 3) ? 0 : 4 + draw(random, 28);
	}
	for (uint32_t i = 0; i < sizeof(often) / sizeof(often[0]); i++) {
		plan->weights[often[i]] += 8 + draw(random, 32);
	}
	for (uint32_t i = 0; i < sizeof(seldom) / sizeof(seldom[0]); i++) {
		plan->weights[seldom[i]] /= 4;
	}
	for (uint32_t i = 0; i < DEEDS; i++) {
		plan->weights_sum += plan->weights[i];
	}
}

struct plan plan_draw(uint64_t seed, uint32_t loops, uint32_t steps)
{
	static const uint32_t loops_drawn[] = { 1, 2, 3, 8 };
	static const uint64_t ticks_ns[] = { 100000, 300000, 1000000 };
	static const uint32_t budgets[] = { 1, 3, 32, 300 };
	uint64_t random = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
	struct plan plan = { .seed = seed };

	plan.loops = loops_drawn[draw(&random, 4)];
	plan.steps = 100 + draw(&random, 500);
	plan.outsiders = draw(&random, OUTSIDERS + 1);
	plan.lean = one_in(&random, 8);
	plan.resizing = one_in(&random, 6) && !plan.lean;
	plan.abrupt = one_in(&random, 4);
	plan.patience_ns = 400000 + draw(&random, 3000000);
	plan.pinned = one_in(&random, 2) ? draw(&random, PINNED_MAX + 1) : 0;
	plan.tick_ns = ticks_ns[draw(&random, 3)];
	plan.run_budget = budgets[draw(&random, 4)];
	draw_weights(&plan, &random);
	/* Its owner must not wait for a resize. */
	plan.embedded = !plan.resizing && one_in(&random, 6)
				? (uint8_t)(1 + draw(&random, EMBEDDINGS - 1))
				: EMBEDDED_NOT;
	plan.links = one_in(&random, 3);
	plan.loops = loops == 0 ? plan.loops : loops;
	plan.steps = steps == 0 ? plan.steps : steps;
	return plan;
}

/* ---- the system ---- */

static void dead_letter(const struct gyre_type *type, struct gyre_address from,
			struct gyre_address to, enum gyre_drop reason, void *arg)
{
	struct world *world = (struct world *)arg;

	(void)from;
	trace(0, gyre_drop_name(reason), type->id, to.slot);
	(void)gy_add_relaxed(&world->lost[reason], 1);
	if (type->id == GYRE_ID(rumour)) {
		rumour_ends(world);
	}
}

static void make_system(struct world *world)
{
	const struct plan *plan = &world->plan;
	const struct gyre_system_options options = {
		.loops = plan->loops,
		.loops_max = first_pinned(world),
		.loops_pinned = plan->pinned,
		.embedded = plan->embedded != EMBEDDED_NOT,
		.ring_entries = 64,
		.buffer_count = 16,
		.datagram_buffer_count = 16,
		.run_budget = plan->run_budget,
		.ask_timeout_ns = plan->patience_ns,
		.drain_timeout_ns = GYRE_SECONDS(plan->resizing ? RETIRE_SECONDS : HOLD_SECONDS),
		.steal_floor = 1,
		.steal_aggression = 1,
		.timer_tick_ns = plan->tick_ns,
		.spin_ns = plan->seed % 4 == 0 ? 20000 : GYRE_SPIN_NEVER,
		.stall_ns = plan->seed % 4 == 1 ? (int64_t)GYRE_SECONDS(1) : GYRE_STALL_NEVER,
		.offload_threads = pool_threads(0),
		.offload_pools = pools_named,
		.offload_pools_count = POOLS - 1,
		.offload_queue_max = 64,
		.memory_limit_bytes = GYRE_MEMORY_LIMIT_NEVER,
		.log = log_line,
		.log_arg = world,
		.dead_letter = dead_letter,
		.dead_letter_arg = world,
		.user = world,
	};
	int r = gyre_system_create(&options, &world->system);

	must(world, 0, r == 0, "%d", r);
}

static void make_groups(struct world *world, uint64_t *random)
{
	for (uint32_t i = 1; i <= 2; i++) {
		const struct gyre_group_options options = {
			.routing = (enum gyre_routing)draw(random, GYRE_ROUTING_BY_KEY),
		};
		int r = gyre_system_group_create(world->system, &options,
						 &world->groups[i].address);

		must(world, 0, r == 0, "%d", r);
		world->groups[i].everyone = options.routing == GYRE_ROUTING_ALL;
		world->open_groups[i] = (uint8_t)i;
	}
	world->groups_count = 2;
}

static void spawn_one(struct world *world, uint64_t *random, uint32_t loop, bool keeper)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct acquaintance one = { .life = life_take(world) };
	uint8_t class = keeper ? 0 : draw_class(random, true);
	int r;

	world->lives[one.life].class = class;
	r = gyre_system_spawn(world->system, &classes[class],
			      gyre_system_new(world->system, birth, .world = world,
					      .random = gy_random_next(random), .life = one.life,
					      .class = class, .keeper = keeper,
					      .place = GYRE_PLACE_LOOP, .loop = (uint16_t)loop),
			      &options, &one.address);
	must(world, 0, r == 0, "%d", r);
	if (!keeper) {
		(void)known_add(world, random, one);
	}
}

static struct world *make_world(const struct plan *plan, uint64_t *random)
{
	struct world *world = (struct world *)calloc(1, sizeof(*world));

	if (world == NULL) {
		abort();
	}
	world->plan = *plan;
	world->steps_left = plan->steps;
	world->mails_max = plan->steps * 8 + 64;
	world->pledges_max = plan->steps * 4 + 64;
	world->watches_max = plan->steps * 2 + 64;
	world->mails = (struct mail_record *)calloc(world->mails_max, sizeof(*world->mails));
	world->pledges = (struct pledge *)calloc(world->pledges_max, sizeof(*world->pledges));
	world->watches = (struct watch_record *)calloc(world->watches_max, sizeof(*world->watches));
	must(world, 0, world->mails != NULL && world->pledges != NULL && world->watches != NULL);
	(void)pthread_mutex_init(&world->known_mutex, NULL);
	world->doing = "making the system";
	gy_store_release(&playing, world);
	gy_store_release(&playing_since_ns, now_ns());
	trace_begin(plan->seed);
	make_system(world);
	make_groups(world, random);
	make_links(world, random);
	for (uint32_t i = 0; i < plan->loops; i++) {
		spawn_one(world, random, i, true);
		spawn_one(world, random, i, false);
	}
	return world;
}

static void free_world(struct world *world)
{
	for (uint32_t i = 0; i < LIVES_MAX; i++) {
		for (int j = 0; j < KINDS * LINES; j++) {
			free(world->lives[i].seen[j / LINES][j % LINES]);
		}
		free(world->lives[i].told);
	}
	free(world->mails);
	free(world->pledges);
	free(world->watches);
	free(world->links);
	(void)pthread_mutex_destroy(&world->known_mutex);
	free(world);
}

void set_doing(struct world *world, const char *what)
{
	trace(0, what, 0, 0);
	gy_store_release(&world->doing, what);
}

/* ---- stirring ---- */

static void starve(uint64_t *random)
{
	(void)heap_recover();
	switch (draw(random, 3)) {
	case 0:
		heap_end_after(draw(random, 20));
		break;
	default:
		heap_lack_once_after(draw(random, 60));
	}
}

static void resize(struct world *world, uint64_t *random)
{
	uint32_t loops = 1 + draw(random, 4);
	int r;

	set_doing(world, "resizing");
	r = gyre_system_resize(world->system, loops);
	must(world, 0, r == 0, "%u loops: %d", loops, r);
	set_doing(world, "stirring");
}

static void stir(struct world *world, uint64_t *random)
{
	uint64_t limit_ns = now_ns() + GYRE_MILLISECONDS(5) + world->plan.steps * UINT64_C(60000);
	int64_t end = world->plan.abrupt ? draw(random, world->plan.steps) : 0;

	set_doing(world, "stirring");
	while (gy_load_relaxed(&world->steps_left) > end && now_ns() < limit_ns) {
		if (world->plan.lean) {
			starve(random);
		}
		if (world->plan.resizing && one_in(random, 8)) {
			resize(world, random);
		}
		drive_ns(world, 100000);
	}
	(void)heap_recover();
}

/* ---- the end ---- */

/*
 * What nobody waited for any more: at most one answer of each promise. Of an ask it may be two: its
 * time-out, which was on its way when the stack ended that had asked, and then what answers it.
 */
static void check_late(struct world *world)
{
	uint64_t late = 0;

	for (uint32_t i = 1; i < world->pledges_max; i++) {
		const struct pledge *pledge = &world->pledges[i];

		if (pledge->begun != 0 && !pledge->in_time) {
			late += pledge->kind != PLEDGE_SLEEP ? 2
				: pledge->cancelled	     ? 1
							     : pledge->ended == 0;
		}
	}
	must(world, 0, world->lost[GYRE_DROP_LATE] <= late, "%lu came late, %lu could",
	     (unsigned long)world->lost[GYRE_DROP_LATE], (unsigned long)late);
}

static void check_counters(struct world *world, struct tally *tally)
{
	struct gyre_counters counters;
	int64_t steps_left = gy_load_relaxed(&world->steps_left);
	uint64_t ends;

	(void)gyre_system_counters(world->system, &counters);
	ends = counters.handled + counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
		must(world, 0, counters.dropped[i] == world->lost[i],
		     "%s: %lu dropped, %lu told of", gyre_drop_name((enum gyre_drop)i),
		     (unsigned long)counters.dropped[i], (unsigned long)world->lost[i]);
	}
	check_late(world);
	expect_worked(world);
	expect_no_service(world);
	must(world, 0, world->rumours == 0, "%lu events have neither come nor been lost",
	     (unsigned long)world->rumours);
	must(world, 0, counters.sent == ends, "%lu were sent, %lu have ended",
	     (unsigned long)counters.sent, (unsigned long)ends);
	must(world, 0, counters.spawned == counters.stopped, "%lu were spawned, %lu have stopped",
	     (unsigned long)counters.spawned, (unsigned long)counters.stopped);
	tally->steps += world->plan.steps - (uint64_t)(steps_left > 0 ? steps_left : 0);
	tally->sent += counters.sent;
	tally->spawned += counters.spawned;
	tally->restarted += counters.restarted;
	tally->stolen += counters.stolen;
	tally->asks += world->pledges_count;
}

static void check_lives(struct world *world)
{
	for (uint32_t i = 0; i < LIVES_MAX; i++) {
		must(world, i, world->lives[i].alive == 0, "it outlives its system");
		must(world, i, world->lives[i].children == 0, "%u children",
		     world->lives[i].children);
	}
	must(world, 0, world->flows == 0, "%lu streams outlive their system",
	     (unsigned long)world->flows);
	must(world, 0, world->tokens == 0, "%lu payloads were not destroyed",
	     (unsigned long)world->tokens);
}

static uint32_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint32_t count = 0;

	while (folder != NULL && readdir(folder) != NULL) {
		count++;
	}
	if (folder != NULL) {
		(void)closedir(folder);
	}
	return count;
}

static void begin_outsiders(struct world *world, struct outsider *outsiders, uint64_t *random)
{
	for (uint32_t i = 0; i < world->plan.outsiders; i++) {
		outsiders[i] = (struct outsider){ .world = world,
						  .random = gy_random_next(random),
						  .life = life_take(world) };
		(void)gy_add_relaxed(&world->outside, 1);
		must(world, 0,
		     pthread_create(&outsiders[i].thread, NULL, outsider_run, &outsiders[i]) == 0);
	}
}

static void end_outsiders(struct world *world, struct outsider *outsiders)
{
	set_doing(world, "joining the threads outside");
	/* They may wait for the first loop. */
	while (world->plan.embedded != EMBEDDED_NOT && gy_load_acquire(&world->outside) > 0) {
		drive_ns(world, 50000);
	}
	for (uint32_t i = 0; i < world->plan.outsiders; i++) {
		(void)pthread_join(outsiders[i].thread, NULL);
	}
}

static void stop(struct world *world)
{
	set_doing(world, "stopping");
	gy_store_release(&world->stopped, 1);
	gyre_system_stop(world->system);
}

static void wait_for_end(struct world *world, const struct outsider *outsiders, struct tally *tally)
{
	int r;

	set_doing(world, "waiting for the end");
	r = gyre_system_wait(world->system);
	must(world, 0, r == 0 || (r == -ETIMEDOUT && world->plan.resizing), "%d", r);
	for (uint32_t i = 0; i < world->plan.outsiders; i++) {
		must(world, outsiders[i].life, gy_load_relaxed(&outsiders[i].callbacks) == 0,
		     "%u calls have not come", outsiders[i].callbacks);
	}
	check_counters(world, tally);
	gyre_system_destroy(world->system);
	world->system = NULL;
	check_lives(world);
	expect_no_link(world);
}

void play(const struct plan *plan, struct tally *tally)
{
	uint64_t random = plan->seed;
	uint64_t out = heap_out();
	uint32_t descriptors = count_descriptors();
	struct outsider outsiders[OUTSIDERS];
	struct world *world = make_world(plan, &random);

	must(world, 0, gyre_system_start(world->system) == 0);
	begin_outsiders(world, outsiders, &random);
	stir(world, &random);
	if (plan->abrupt) {
		stop(world);
	}
	gy_store_release(&world->closing, 1);
	end_outsiders(world, outsiders);
	if (!plan->abrupt) {
		calm_world(world);
		stop(world);
	} else {
		settle_while_held(world);
	}
	wait_for_end(world, outsiders, tally);
	must(world, 0, heap_out() == out, "%ld blocks of memory are left",
	     (long)(heap_out() - out));
	must(world, 0, count_descriptors() == descriptors, "descriptors are left");
	gy_store_release(&playing_since_ns, 0);
	free_world(world);
}
