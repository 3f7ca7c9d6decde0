/*
 * Inspecting: tables of what loops and actors have done, and a tree of the actors, from any thread.
 *
 * A net passes a ball to two players, its children, who hit it 100000 times in all. Then the main
 * thread prints a snapshot while all three still live. No loop stops for that: a server may do it
 * at any time. What each class has handled is exact when the system has stopped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { HITS = 100000 };

struct score {
	uint32_t hits;
};
GYRE_MESSAGE(score, 0x100);

struct ball {
	uint32_t number;
};
GYRE_REQUEST(ball, 0x101, score);

static int hit(struct gyre_stack *stack)
{
	return gyre_forward(stack, gyre_parent(stack));
}

static const struct gyre_class player_class = { .name = "player", .behaviour.ask = hit };

struct net {
	struct gyre_address players[2];
	uint32_t hits;
};

static int hang(struct gyre_stack *stack)
{
	struct net *net = gyre_state(stack);
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		r = gyre_spawn(stack, &player_class, GYRE_NO_ARGUMENT, NULL, &net->players[i]);
	}
	return r;
}

static int pass(struct gyre_stack *stack)
{
	struct net *net = gyre_state(stack);

	return net->hits == HITS ? gyre_reply_to(stack, ball, .hits = net->hits)
				 : gyre_forward(stack, net->players[net->hits++ % 2]);
}

static const struct gyre_class net_class = {
	.name = "net", .state_bytes = sizeof(struct net), .mount = hang, .behaviour.ask = pass
};

static int play(struct gyre_system *system)
{
	struct gyre_address net;
	int r = gyre_system_spawn(system, &net_class, GYRE_NO_ARGUMENT, NULL, &net);

	r = r < 0 ? r : gyre_system_start(system);
	return r < 0 ? r
		     : gyre_system_ask(system, net, gyre_system_new(system, ball, 1), GYRE_FOREVER,
				       NULL);
}

static int print_snapshot(struct gyre_system *system)
{
	struct gyre_snapshot *snapshot;
	int r = gyre_system_inspect(system, &snapshot);

	if (r == 0) {
		r = gyre_snapshot_print(snapshot, stdout);
		gyre_snapshot_destroy(snapshot);
	}
	return r;
}

static int print_handled(struct gyre_system *system)
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
	gyre_snapshot_destroy(snapshot);
	return 0;
}

int main(void)
{
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : play(system);
	r = r < 0 ? r : print_snapshot(system);
	if (r == 0) {
		gyre_system_stop(system);
		r = gyre_system_wait(system);
	}
	r = r < 0 ? r : print_handled(system);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
