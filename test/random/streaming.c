/*
 * Streams: an actor starts a graph, over several loops, which goes on beside it and ends by itself;
 * or is cut off, as it is the actor's child. Its numbers come in order, none is left out, and each
 * sink has all of them where nothing has cut it off and there was memory. A graph is known until
 * what it owns is freed.
 */
#include <errno.h>
#include <stdlib.h>

#include "random.h"

enum { COUNT_MAX = 700, STAGES_MAX = 5 };

struct flow {
	struct world *world;
	uint32_t life; /* that has started it */
	uint32_t made;
	uint32_t count; /* to be made */
	uint32_t come;
	uint32_t fails_at; /* of those that have come; 0 for never */
};

static int make_number(void *arg, void *out)
{
	struct flow *flow = (struct flow *)arg;

	if (flow->made == flow->count) {
		return 0;
	}
	((struct drop *)out)->number = ++flow->made;
	return 1;
}

static int same_number(void *arg, void *in, void *out)
{
	(void)arg;
	*(struct drop *)out = *(const struct drop *)in;
	return 0;
}

static int keep_all(void *arg, const void *in)
{
	(void)arg;
	(void)in;
	return 1;
}

static int expect_next(void *arg, void *in)
{
	struct flow *flow = (struct flow *)arg;
	const struct drop *drop = (const struct drop *)in;

	must(flow->world, flow->life, drop->number == ++flow->come, "element %u came as number %u",
	     drop->number, flow->come);
	return flow->come == flow->fails_at ? -EIO : 0;
}

static void flow_ends(void *pointer)
{
	struct flow *flow = (struct flow *)pointer;

	must(flow->world, flow->life, flow->come <= flow->made && flow->made <= flow->count,
	     "%u of %u of %u elements have come", flow->come, flow->made, flow->count);
	(void)gy_add_relaxed(&flow->world->flows, UINT64_MAX);
	free(flow);
}

/* A stage that changes nothing. */
static struct gyre_stream add_stage(struct gyre_stream from, uint64_t *random)
{
	const struct gyre_boundary_options options = {
		.place = one_in(random, 2) ? GYRE_PLACE_ROUND_ROBIN : GYRE_PLACE_HERE,
		.elements_max = draw(random, 3) * 7, /* or the default */
	};
	struct gyre_stream branches[2];

	switch (draw(random, 4)) {
	case 0:
		return gyre_stream_map(from, &gyre_type_drop, same_number, NULL);
	case 1:
		return gyre_stream_filter(from, keep_all, NULL);
	case 2: /* of two branches one is not looked at */
		gyre_stream_broadcast(from, 2, draw(random, 3), branches);
		gyre_stream_each(branches[1], NULL, NULL);
		return branches[0];
	default:
		return gyre_stream_boundary(from, &options);
	}
}

static struct gyre_graph *build(struct self *self, struct flow *flow)
{
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_drop, make_number, flow);

	for (uint32_t i = draw(&self->random, STAGES_MAX); i > 0; i--) {
		s = add_stage(s, &self->random);
	}
	if (one_in(&self->random, 4)) {
		s = gyre_stream_take(s, draw(&self->random, COUNT_MAX));
	}
	gyre_stream_each(s, expect_next, flow);
	(void)gy_add_relaxed(&self->world->flows, 1);
	gyre_graph_own(graph, flow, flow_ends);
	return graph;
}

void start_stream(struct gyre_stack *stack)
{
	static const struct gyre_graph_options anywhere = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct self *self = self_of(stack);
	struct world *world = self->world;
	struct flow *flow = (struct flow *)calloc(1, sizeof(*flow));
	struct gyre_address address;
	int r;

	must(world, self->life, flow != NULL);
	flow->world = world;
	flow->life = self->life;
	flow->count = draw(&self->random, COUNT_MAX);
	flow->fails_at = one_in(&self->random, 4) ? draw(&self->random, COUNT_MAX) : 0;
	r = gyre_graph_start(stack, build(self, flow), &anywhere, &address);
	trace(self->life, "starts a stream", 0, (uint64_t)r);
	must(world, self->life,
	     r == 0 || (r == -ENOMEM && world->plan.lean) ||
		     (r == -ESHUTDOWN &&
		      (world->plan.resizing || gy_load_acquire(&world->stopped) != 0)),
	     "%d", r);
}

bool streams_have_ended(struct world *world)
{
	if (gy_load_acquire(&world->flows) != 0) {
		world->differs = "a stream";
		return false;
	}
	return true;
}
