#include "net/no_memory_rig.h"

#include "actor/stack/stack.h"
#include "fixture.h"

enum { ROUNDS_MAX = 1000, LEAN_TURNS = 30, STACKS_MAX = 256, MAILS_MAX = 1024 };

struct rig lean_rig;
uint32_t lean_houses;

struct gyre_system *lean_system(void)
{
	return (struct gyre_system *)(void *)&lean_rig.homes;
}

bool lean_has_failed(void)
{
	return lean_rig.home.houses < 1 + lean_houses;
}

void lean_open(void)
{
	rig_init(&lean_rig, NULL);
}

void lean_close(void)
{
	cr_assert_null(fixture.failure, "%s", fixture.failure);
	lean_rig.warnings_expected = lean_rig.logged;
	rig_fini(&lean_rig);
}

void lean_begin(const struct lean_round *round)
{
	if (round->once) {
		heap_lack_once_after(round->number);
	} else {
		heap_end_after(round->number);
	}
}

bool lean_recover(void)
{
	for (int i = 0; i < LEAN_TURNS; i++) {
		rig_turn(&lean_rig);
	}
	return heap_recover();
}

static bool play_one(bool (*play_round)(const struct lean_round *round),
		     const struct lean_round *round)
{
	uint64_t out = heap_out();
	bool lacked;

	rig_init(&lean_rig, NULL);
	lean_houses = 1;
	lacked = play_round(round);
	lean_rig.warnings_expected = lean_rig.logged;
	rig_fini(&lean_rig);
	cr_assert_eq(heap_out(), out, "round %u", round->number);
	return lacked;
}

void lean_play(bool (*play_round)(const struct lean_round *round))
{
	for (int once = 0; once < 2; once++) {
		struct lean_round round = { .once = once != 0 };

		while (play_one(play_round, &round)) {
			cr_assert_lt(++round.number, ROUNDS_MAX);
		}
		cr_expect_gt(round.number, 0, "nothing was lacking");
	}
}

/* ---- stacks ---- */

static struct gy_stack *stacks[STACKS_MAX];
static uint8_t stacks_from[STACKS_MAX];
static uint32_t stacks_count;

void lean_take_stacks(void)
{
	struct gy_home *home = &lean_rig.home;

	stacks_count = 0;
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		struct gy_stack *stack = home->scratch[i];

		home->scratch[i] = NULL;
		while (stack != NULL || (stack = gy_pool_take(&home->stacks.pools[i])) != NULL) {
			cr_assert_lt(stacks_count, STACKS_MAX);
			stacks[stacks_count] = stack;
			stacks_from[stacks_count++] = (uint8_t)i;
			stack = NULL;
		}
	}
}

void lean_give_stacks_back(void)
{
	while (stacks_count > 0) {
		stacks_count--;
		gy_pool_put_any(&lean_rig.home.stacks.pools[stacks_from[stacks_count]],
				stacks[stacks_count]);
	}
}

/* ---- mail ---- */

static void *mails[MAILS_MAX];
static struct gy_pool *mails_from[MAILS_MAX];
static uint32_t mails_count;

void lean_take_all(struct gy_home *home)
{
	heap_end_after(0);
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		struct gy_pool *pool = &home->loop.nodes.pools[i];

		while (mails_count < MAILS_MAX &&
		       (mails[mails_count] = gy_pool_take(pool)) != NULL) {
			mails_from[mails_count++] = pool;
		}
	}
}

void lean_give_all_back(void)
{
	(void)heap_recover();
	while (mails_count > 0) {
		mails_count--;
		gy_pool_put_any(mails_from[mails_count], mails[mails_count]);
	}
}
