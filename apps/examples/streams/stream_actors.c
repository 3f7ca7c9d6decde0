/*
 * Stream actors: one actor produces as much as another one on another loop has asked for.
 *
 * A miner on loop 0 digs when it is told how many stones are wanted, a jeweller on loop 1 asks for
 * three at a time. Between them is a graph: it asks the miner in advance for as many stones as its
 * window allows, so that the jeweller does not wait, and never for more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { STONES = 10, AT_A_TIME = 3, TAG = 7 };

struct stone {
	uint32_t number;
};
GYRE_MESSAGE(stone, 0x100);

static int dig(struct gyre_stack *stack)
{
	const struct gyre_stream_demand *demand = gyre_message(stack, gyre_stream_demand);
	uint32_t *dug = gyre_state(stack);
	int r = 0;

	/* Else a gyre_stream_cancelled: nobody wants stones any more. */
	for (uint64_t i = 0; demand != NULL && i < demand->elements && *dug < STONES; i++) {
		struct stone stone = { ++*dug };

		r = gyre_stream_push(stack, demand->stream, &gyre_type_stone, &stone, 1);
		if (r == 0 && *dug == STONES) {
			r = gyre_stream_finish(stack, demand->stream, 0);
		}
	}
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class miner_class = { .name = "miner",
					       .state_bytes = sizeof(uint32_t),
					       .strategy = GYRE_STRATEGY_ESCALATE,
					       .behaviour.notice = dig };

struct jeweller {
	struct gyre_stream_ref stream;
	uint32_t wanted;
};

static int ask_for_more(struct gyre_stack *stack, struct jeweller *jeweller)
{
	jeweller->wanted = AT_A_TIME;
	return gyre_stream_request(stack, jeweller->stream, AT_A_TIME);
}

static int set(struct gyre_stack *stack)
{
	const struct gyre_stream_opened *opened = gyre_message(stack, gyre_stream_opened);
	const struct gyre_stream_ended *ended = gyre_message(stack, gyre_stream_ended);
	struct jeweller *jeweller = gyre_state(stack);

	if (opened != NULL) {
		jeweller->stream = opened->stream; /* its tag tells which, if there are several */
		return ask_for_more(stack, jeweller);
	}
	if (ended != NULL) {
		printf("\n%" PRIu64 " stones: %s\n", ended->elements, strerror(-ended->reason));
		return gyre_stop(stack, gyre_parent(stack));
	}
	jeweller->wanted--;
	printf("%" PRIu32 "%c", gyre_message(stack, stone)->number,
	       jeweller->wanted == 0 ? '\n' : ' ');
	return jeweller->wanted == 0 ? ask_for_more(stack, jeweller) : gyre_return(stack);
}

static const struct gyre_class jeweller_class = { .name = "jeweller",
						  .state_bytes = sizeof(struct jeweller),
						  .strategy = GYRE_STRATEGY_ESCALATE,
						  .behaviour.notice = set };

static int run(struct gyre_stack *stack)
{
	static const struct gyre_spawn_options other = { .place = GYRE_PLACE_LOOP, .loop = 1 };
	static const struct gyre_window window = { .elements_max = 4 };
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_address miner = { 0 };
	struct gyre_address jeweller = { 0 };
	struct gyre_address started;
	int r = gyre_spawn(stack, &miner_class, GYRE_NO_ARGUMENT, NULL, &miner);

	r = r < 0 ? r : gyre_spawn(stack, &jeweller_class, GYRE_NO_ARGUMENT, &other, &jeweller);
	gyre_stream_to_actor(gyre_stream_from_actor(graph, &gyre_type_stone, miner, TAG, &window),
			     jeweller, TAG);
	if (r < 0) {
		gyre_graph_destroy(graph);
		return r;
	}
	r = gyre_graph_start(stack, graph, NULL, &started);
	r = r < 0 ? r : gyre_watch(stack, jeweller);
	return r < 0 ? r : gyre_watch(stack, started);
}

/* Where the graph or the jeweller has failed, nobody else would end the program. */
static int see_end(struct gyre_stack *stack)
{
	int reason = gyre_message(stack, gyre_terminated)->reason;

	return reason < 0 ? gyre_throw(stack, reason) : gyre_return(stack);
}

static const struct gyre_class main_class = { .name = "main",
					      .mount = run,
					      .behaviour.event = see_end,
					      .strategy = GYRE_STRATEGY_ESCALATE,
					      .supervision.decision = GYRE_DECISION_ESCALATE };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 2 });
}
