/*
 * Calming down: when nothing new is begun any more, all that was begun must end, and all that is
 * known must agree.
 *
 * Of an actor that is in the midst of its end, or of a restart, nothing else need show: it has no
 * mail, and nobody waits for it. So all actors get a notice in each round, and whoever goes on must
 * have handled that of the present one. What one actor has decided about another may still be on
 * its way to it then, and is not when all is calm in the next round too.
 */
#include "random.h"

/* Of these, one after the other. */
enum { CALM_ROUNDS = 2 };

enum { CALM_SECONDS = 40 };

static bool is_balanced(struct world *world)
{
	struct gyre_counters before;
	struct gyre_counters after;
	uint64_t ends;

	(void)gyre_system_counters(world->system, &before);
	(void)gyre_system_counters(world->system, &after);
	ends = before.handled + before.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += before.dropped[i];
	}
	/* What had ended before was all that had been sent after. */
	return ends == after.sent;
}

static bool pledges_are_kept(const struct world *world)
{
	uint32_t count = gy_load_relaxed(&world->pledges_count);

	for (uint32_t i = 1; i <= count && i < world->pledges_max; i++) {
		const struct pledge *pledge = &world->pledges[i];

		if (gy_load_acquire(&pledge->begun) != 0 && gy_load_relaxed(&pledge->ended) == 0 &&
		    gy_load_relaxed(&pledge->given_up) == 0 &&
		    gy_load_relaxed(&world->lives[pledge->owner].alive) != 0) {
			return false;
		}
	}
	return true;
}

static bool all_are_told(const struct world *world)
{
	uint32_t count = gy_load_relaxed(&world->watches_count);

	for (uint32_t i = 1; i <= count && i < world->watches_max && !world->plan.lean; i++) {
		const struct watch_record *watch = &world->watches[i];

		if (gy_load_acquire(&watch->stage) == WATCH_ON &&
		    gy_load_relaxed(&world->lives[watch->watched].ended) != 0 &&
		    gy_load_relaxed(&world->lives[watch->watcher].alive) != 0) {
			return false;
		}
	}
	return true;
}

static bool doomed_have_ended(const struct world *world)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		if (gy_load_relaxed(&world->lives[i].doomed) != 0 &&
		    gy_load_relaxed(&world->lives[i].alive) != 0) {
			return false;
		}
	}
	return true;
}

/* Whoever has a pact with one that has ended must have ended too. */
static bool pacts_are_kept(const struct world *world)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		uint32_t with = gy_load_acquire(&world->lives[i].pact);

		if (with != 0 && !world->plan.lean &&
		    gy_load_relaxed(&world->lives[with].ended) != 0 &&
		    gy_load_relaxed(&world->lives[i].alive) != 0) {
			return false;
		}
	}
	return true;
}

/* Each notice to one that goes on, and takes whatever comes, has come. */
static bool notices_have_come(struct world *world)
{
	uint32_t count = gy_load_relaxed(&world->mails_count);

	for (uint32_t i = 1; i <= count && i < world->mails_max && !world->plan.lean; i++) {
		uint32_t life = gy_load_relaxed(&world->mails[i].owed);

		if (life != 0 && gy_load_acquire(&world->lives[life].alive) != 0 &&
		    takes_all(world->lives[life].class)) {
			trace(life, "has not got mail", i, 0);
			world->differs = "a notice";
			return false;
		}
	}
	return true;
}

/* Begins a round. */
static void tell_to_settle(struct world *world)
{
	world->round++;
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		if (gy_load_acquire(&world->lives[i].alive) != 0) {
			(void)gyre_system_notify(world->system, world->lives[i].address,
						 gyre_system_new(world->system, letter,
								 .head.marks = MARK_SETTLE,
								 .head.number = world->round));
		}
	}
}

static bool all_have_settled(struct world *world)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		if (gy_load_acquire(&world->lives[i].alive) != 0 &&
		    gy_load_relaxed(&world->lives[i].settled) != world->round) {
			world->differs = "an end or a restart";
			return false;
		}
	}
	return true;
}

/* Names lead to somebody only as long as somebody has them. */
static bool names_agree(struct world *world)
{
	struct gyre_address found;

	for (uint32_t i = 0; i < NAMES; i++) {
		bool taken = gyre_system_name_lookup(world->system, names_known[i], &found) == 0;

		if (taken != (gy_load_relaxed(&world->names[i]) != 0)) {
			world->differs = names_known[i];
			return false;
		}
	}
	return true;
}

static bool groups_agree(struct world *world)
{
	uint32_t count = gy_load_relaxed(&world->groups_count);

	for (uint32_t i = 1; i <= count && i < GROUPS_MAX && !world->plan.lean; i++) {
		const struct group *group = &world->groups[i];
		uint32_t size = 0;

		if (group->address.loop < PLACES_MAX) {
			continue; /* one of one member, or none */
		}
		if (gyre_system_group_size(world->system, group->address, &size) < 0 &&
		    !group->spawned) {
			return false;
		}
		if (size != gy_load_relaxed(&group->joined)) {
			trace(0, "size of group", i, size);
			trace(0, "but joined", i, gy_load_relaxed(&group->joined));
			world->differs = "the size of a group";
			return false;
		}
		if (group->elastic && size > 1 && gy_load_relaxed(&group->born) != 0) {
			world->differs = "a group that has more members than it needs";
			return false;
		}
	}
	return true;
}

static bool is_calm(struct world *world)
{
	world->differs = NULL;
	return all_have_settled(world) && is_balanced(world) && pledges_are_kept(world) &&
	       all_are_told(world) && doomed_have_ended(world) && pacts_are_kept(world) &&
	       notices_have_come(world) && names_agree(world) && groups_agree(world) &&
	       streams_have_ended(world) && periods_are_over(world) && links_have_settled(world);
}

/* Whether all is calm in the present round, before it has lasted for long. */
static bool becomes_calm(struct world *world)
{
	for (uint32_t i = 0; i < 20; i++) {
		drive_ns(world, 50000 + i * UINT64_C(20000));
		if (is_calm(world)) {
			return true;
		}
	}
	return false;
}

static void wait_until_calm(struct world *world, uint64_t limit_ns)
{
	uint32_t rounds = 0;

	while (rounds < CALM_ROUNDS) {
		must(world, 0, now_ns() < limit_ns,
		     "something is not done, not told or not agreed on: %s",
		     world->differs == NULL ? "see below" : world->differs);
		tell_to_settle(world);
		rounds = becomes_calm(world) ? rounds + 1 : 0;
	}
}

void calm_world(struct world *world)
{
	uint64_t limit_ns = now_ns() + GYRE_SECONDS(CALM_SECONDS);

	set_doing(world, "calming down");
	wait_until_calm(world, limit_ns);
	if (world->plan.pinned > 0) {
		set_doing(world, "filling the loops for one actor");
		fill_pinned(world, limit_ns);
		wait_until_calm(world, limit_ns);
	}
	gy_store_relaxed(&world->quiet, 1);
}

void settle_while_held(struct world *world)
{
	uint64_t limit_ns = now_ns() + GYRE_SECONDS(CALM_SECONDS);

	while (phases_are_held(world)) {
		must(world, 0, now_ns() < limit_ns, "a phase of the shutdown does not end");
		tell_to_settle(world);
		drive_ns(world, 500000);
	}
}
