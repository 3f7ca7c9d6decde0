/*
 * Running graphs by an actor, whose end a probe waits for.
 */
#include "graph_kit.h"

#include <gyre/watch.h>

#include "base/atomic.h"

static build_fn building;
static uint64_t took_ns;

struct run_frame {
	struct gyre_future done;
	uint64_t begun_ns;
};

static int run_it(struct gyre_stack *stack)
{
	struct run_frame *frame = (struct run_frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	GYRE_BEGIN(stack);
	frame->begun_ns = gyre_now(stack);
	graph = gyre_graph_create();
	building(graph);
	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
	note_end(&frame->done);
	took_ns = gyre_now(stack) - frame->begun_ns;
	return gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class runner_class = { .name = "runner",
						.frame_bytes = sizeof(struct run_frame),
						.mount = run_it };

uint64_t graph_run(struct gyre_test *test, build_fn build)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	building = build;
	(void)gyre_probe_watch(probe, gyre_test_spawn(test, &runner_class, GYRE_NO_ARGUMENT));
	(void)gyre_probe_expect(probe, gyre_terminated, GYRE_SECONDS(60));
	cr_assert_eq(gy_load_relaxed(&owned_alive), 0);
	return took_ns;
}

static int refuse_it(struct gyre_stack *stack, void *arg)
{
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_address address;

	(void)arg;
	building(graph);
	got.result = gyre_graph_start(stack, graph, NULL, &address);
	return 0;
}

int graph_refuse(struct gyre_test *test, build_fn build)
{
	building = build;
	(void)gyre_probe_do(gyre_probe_create(test), refuse_it, NULL);
	return got.result;
}
