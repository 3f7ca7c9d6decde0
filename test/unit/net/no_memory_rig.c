#include "net/no_memory_rig.h"

enum { ROUNDS_MAX = 1000, LEAN_TURNS = 30 };

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
