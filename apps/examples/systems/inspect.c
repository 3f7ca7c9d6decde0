/*
 * Inspecting: a table of what loops and actors have done, taken from any thread.
 *
 * Two players hit a ball 100000 times. Then the main thread prints how much each class has handled,
 * and the whole snapshot as a table. No loop stops for that: a server may do it at any time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { HITS = 100000 };

struct ball {
	struct gyre_address partner;
	uint32_t hits;
};
GYRE_MESSAGE(ball, 0x100);

static int hit(struct gyre_stack *stack)
{
	const struct ball *ball = gyre_message(stack, ball);

	if (ball->hits == HITS) {
		gyre_system_stop(gyre_system_of(stack));
		return gyre_return(stack);
	}
	return gyre_notify(stack, ball->partner,
			   gyre_new(stack, ball, gyre_self(stack), ball->hits + 1));
}

static const struct gyre_class player_class = { .name = "player", .behaviour.notice = hit };

static int play(struct gyre_system *system)
{
	struct gyre_address players[2];
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		r = gyre_system_spawn(system, &player_class, GYRE_NO_ARGUMENT, NULL, &players[i]);
	}
	r = r < 0 ? r
		  : gyre_system_notify(system, players[0],
				       gyre_system_new(system, ball, players[1], 1));
	return r < 0 ? r : gyre_system_run(system);
}

static int print_snapshot(struct gyre_system *system)
{
	struct gyre_snapshot *snapshot;
	int r = gyre_system_inspect(system, &snapshot);

	if (r < 0) {
		return r;
	}
	for (uint32_t i = 0; i < snapshot->classes_count; i++) {
		printf("%s: %" PRIu64 " messages handled\n", snapshot->classes[i].name,
		       snapshot->classes[i].handled);
	}
	r = gyre_snapshot_print(snapshot, stdout);
	gyre_snapshot_destroy(snapshot);
	return r;
}

int main(void)
{
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : play(system);
	r = r < 0 ? r : print_snapshot(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
