/*
 * Graphs without memory from each allocation on, for a while, and without each single one. Whatever
 * a graph is made of, it works or ends with -ENOMEM: nothing stands still, no element is lost
 * unnoticed, and nothing leaks. Rounds go on until one had all the memory that it wanted.
 */
#include "graph_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../heap.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "system/system.h"

TestSuite(stream_no_memory, .timeout = 300);

enum { ROUNDS_MAX = 2000, HOARD_MAX = 4096, ELEMENTS = 150 };

static const uint64_t lack_ns = GYRE_MILLISECONDS(2);

struct round {
	uint32_t number;
	bool once; /* only one allocation fails */
	uint64_t lack_ns;
};

static struct round round_;
static build_fn building;
static void (*building_offer)(struct gyre_graph *graph); /* of a first graph; or NULL */
static uint32_t wanted;					 /* elements of one that works */
static struct gyre_address actor;			 /* that produces or consumes; or nobody */
static const struct gyre_class *actor_class;
static struct gyre_stream_ref offered;
static uint32_t offered_port;
static bool has_lacked;

/* ---- lacking ---- */

static void *hoarded[HOARD_MAX];
static struct gy_pool *hoarded_from[HOARD_MAX];
static uint32_t hoarded_count;
static uint32_t lacks;	 /* atomic */
static uint32_t is_done; /* atomic: the graph has ended */
static bool was_done;	 /* before there was memory again */

/* What the pools of a loop have would make each round one in which nothing lacks. */
static void hoard(void)
{
	struct gy_sizes *nodes = &fixture.system->homes.homes[0].loop.nodes;

	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		void *object = gy_pool_take(&nodes->pools[i]);

		while (object != NULL && hoarded_count < HOARD_MAX) {
			hoarded[hoarded_count] = object;
			hoarded_from[hoarded_count++] = &nodes->pools[i];
			object = gy_pool_take(&nodes->pools[i]);
		}
	}
}

static void begin_to_lack(void)
{
	hoard();
	if (round_.once) {
		heap_lack_once_after(round_.number);
	} else {
		heap_end_after(round_.number);
	}
	gy_store_release(&lacks, 1);
}

/* From outside: an actor could not be told that time has passed. */
static void recover(void)
{
	uint64_t until_ns;

	while (gy_load_acquire(&lacks) == 0) {
		(void)sched_yield();
	}
	until_ns = gy_clock_machine_ns() + round_.lack_ns;
	while (gy_clock_machine_ns() < until_ns) {
		(void)sched_yield();
	}
	was_done = gy_load_acquire(&is_done) != 0;
	has_lacked = heap_recover();
	gy_store_release(&lacks, 0);
}

static void give_back(void)
{
	while (hoarded_count > 0) {
		hoarded_count--;
		gy_pool_put_any(hoarded_from[hoarded_count], hoarded[hoarded_count]);
	}
}

/* ---- rounds ---- */

struct frame {
	struct gyre_future done;
	struct gyre_address first; /* a graph that offers */
};

static void start_offer(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph = gyre_graph_create();

	building_offer(graph);
	if (gyre_graph_start(stack, graph, NULL, &frame->first) < 0) {
		frame->first = GYRE_NOBODY;
	}
	offered = gyre_stream_ref_of(frame->first, offered_port);
}

static int run(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	struct gyre_graph *graph;

	begin_to_lack();
	if (building_offer != NULL) {
		start_offer(stack);
	}
	graph = gyre_graph_create();
	building(graph);
	return gyre_graph_run(stack, graph, NULL, &frame->done);
}

static int script(struct gyre_stack *stack)
{
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct gyre_stream_done *done;

	GYRE_BEGIN(stack);
	actor = actor_class == NULL ? GYRE_NOBODY : spawn_here(stack, actor_class);
	GYRE_AWAIT(stack, run(stack));
	gy_store_release(&is_done, 1);
	give_back();
	got.result = gyre_future_error(&frame->done);
	done = gyre_future_get(&frame->done, gyre_stream_done);
	got.elements = done == NULL ? 0 : done->elements;
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct gyre_class script_class = { .name = "script",
						.frame_bytes = sizeof(struct frame),
						.mount = script };

/*
 * With -ESHUTDOWN, -ESRCH or -ECANCELED where an actor of the graph has failed itself, or was not
 * there in the end, or one that produces has stopped, as it could not say that it has no memory.
 */
static bool may_end_so(int result)
{
	return result == -ENOMEM || result == -ESHUTDOWN || result == -ESRCH ||
	       result == -ECANCELED;
}

static void play_round(uint32_t loops)
{
	uint64_t out = heap_out();

	memset(&got, 0, sizeof(got));
	produced = 0;
	is_done = 0;
	fixture_open(loops);
	(void)spawn_outside(&script_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	recover();
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
	cr_assert_eq(gy_load_relaxed(&owned_alive), 0, "round %u", round_.number);
	cr_assert_eq(heap_out(), out, "round %u: %lu and %lu", round_.number,
		     (unsigned long)heap_out(), (unsigned long)out);
	if (got.result == 0) {
		cr_assert_eq(got.elements, wanted, "round %u: %lu", round_.number,
			     (unsigned long)got.elements);
		return;
	}
	cr_assert(has_lacked, "round %u: %d", round_.number, got.result);
	cr_assert(may_end_so(got.result), "round %u: %d", round_.number, got.result);
}

static void play_rounds(uint32_t loops, build_fn build, uint32_t elements)
{
	building = build;
	wanted = elements;
	for (int once = 0; once < 2; once++) {
		round_ = (struct round){ .once = once != 0, .lack_ns = lack_ns };
		do {
			play_round(loops);
			if (has_lacked || was_done) {
				cr_assert_lt(++round_.number, ROUNDS_MAX);
				round_.lack_ns = lack_ns;
			} else { /* the loop has had no time for anything: once more, with more */
				round_.lack_ns *= 2;
			}
		} while (has_lacked || !was_done);
		cr_expect_gt(round_.number, 5, "nothing was lacking");
	}
}

/* ---- in one actor ---- */

static const uint64_t one = 1;

static int add_up(void *arg, void *in, void *out)
{
	(void)arg;
	((struct number *)out)->value += ((const struct number *)in)->value;
	return 0;
}

static int first_of(void *arg, void *in, uint32_t count, void *out)
{
	(void)arg;
	(void)count;
	*(struct number *)out = *(const struct number *)in;
	return 0;
}

static void build_chain(struct gyre_graph *graph)
{
	static const struct gyre_batch_options by_three = { .count_max = 3,
							    .within_ns = GYRE_SECONDS(5) };
	static const struct gyre_throttle_options fast = { .count = 100,
							   .period_ns = GYRE_MICROSECONDS(300) };
	struct gyre_stream s = gyre_stream_filter(count_from(graph, 0, ELEMENTS), is_odd, NULL);

	s = gyre_stream_map(s, &gyre_type_number, add_arg, (void *)(uintptr_t)&one);
	s = gyre_stream_scan(s, &gyre_type_number, NULL, add_up, NULL);
	s = gyre_stream_batch(s, &gyre_type_number, &by_three, first_of, NULL);
	collect(gyre_stream_take(gyre_stream_throttle(s, &fast), 20));
}

Test(stream_no_memory, ends_a_chain_of_stages_or_lets_it_work)
{
	play_rounds(1, build_chain, 20);
}

static int pair_owned(void *arg, void *left, void *right, void *out)
{
	(void)arg;
	*(struct owned *)out = *(struct owned *)left;
	((struct owned *)left)->value = NULL;
	return *((const struct owned *)right)->value == **(uint64_t *const *)out ? 0 : -EBADF;
}

/* Of two branches pairs are made, and the third stays behind a boundary. */
static struct gyre_stream split_and_join(struct gyre_graph *graph,
					 const struct gyre_boundary_options *options)
{
	struct gyre_stream branches[3];
	struct gyre_stream both[2];

	gyre_stream_broadcast(
		gyre_stream_map(count_from(graph, 0, ELEMENTS), &gyre_type_owned, make_owned, NULL),
		3, 7, branches);
	both[0] = gyre_stream_zip(branches[0], branches[1], &gyre_type_owned, pair_owned, NULL);
	both[1] = gyre_stream_boundary(branches[2], options);
	return gyre_stream_merge(both, 2);
}

static void build_joined(struct gyre_graph *graph)
{
	collect(gyre_stream_map(split_and_join(graph, NULL), &gyre_type_number, read_owned, NULL));
}

Test(stream_no_memory, ends_streams_that_are_split_and_joined_or_lets_them_work)
{
	play_rounds(1, build_joined, 2 * ELEMENTS);
}

/* ---- in several ---- */

static const struct gyre_boundary_options narrow = { .place = GYRE_PLACE_ROUND_ROBIN,
						     .elements_max = 5 };

static void build_workers(struct gyre_graph *graph)
{
	struct gyre_stream branches[3];

	gyre_stream_balance(split_and_join(graph, &narrow), 3, branches);
	for (uint32_t i = 0; i < 3; i++) {
		branches[i] = gyre_stream_boundary(branches[i], i == 0 ? NULL : &narrow);
		branches[i] = gyre_stream_map(branches[i], &gyre_type_number, read_owned, NULL);
		branches[i] = gyre_stream_boundary(branches[i], &narrow);
	}
	collect(gyre_stream_merge(branches, 3));
}

Test(stream_no_memory, ends_parts_in_several_actors_or_lets_them_work)
{
	play_rounds(1, build_workers, 2 * ELEMENTS);
}

Test(stream_no_memory, ends_parts_on_several_loops_or_lets_them_work)
{
	play_rounds(3, build_workers, 2 * ELEMENTS);
}

static void build_offer(struct gyre_graph *graph)
{
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_owned, next_owned, NULL);

	s = gyre_stream_take(gyre_stream_boundary(s, &narrow), ELEMENTS);
	offered_port = gyre_stream_offer(s, 0);
}

static void build_accept(struct gyre_graph *graph)
{
	static const struct gyre_window window = { .elements_max = 9 };

	collect(gyre_stream_map(gyre_stream_accept(graph, &gyre_type_owned, offered, &window),
				&gyre_type_number, read_owned, NULL));
}

Test(stream_no_memory, ends_a_stream_between_graphs_or_lets_it_work)
{
	building_offer = build_offer;
	play_rounds(1, build_accept, ELEMENTS);
}

/* ---- with actors ---- */

enum { FRAME_BYTES = 3000 }; /* of a size that nobody else has: a notice may lack memory */

static const struct gyre_window window_of_ten = { .elements_max = 10 };

struct producer {
	uint64_t next;
};

static int produce(struct gyre_stack *stack)
{
	struct producer *producer = (struct producer *)gyre_state(stack);
	const struct gyre_stream_demand *demand = gyre_message(stack, gyre_stream_demand);
	int r = 0;

	if (demand == NULL || producer->next > ELEMENTS) {
		return gyre_return(stack);
	}
	for (uint64_t i = 0; r == 0 && i < demand->elements && producer->next < ELEMENTS; i++) {
		struct number number = { producer->next++ };

		r = gyre_stream_push(stack, demand->stream, &gyre_type_number, &number, 1);
	}
	if (r < 0 || producer->next == ELEMENTS) {
		producer->next = ELEMENTS + 1;
		if (gyre_stream_finish(stack, demand->stream, r) < 0) {
			return gyre_stop(stack, gyre_self(stack)); /* the last resort */
		}
	}
	return gyre_return(stack);
}

static const struct gyre_class producer_class = { .name = "producer",
						  .state_bytes = sizeof(struct producer),
						  .frame_bytes = FRAME_BYTES,
						  .behaviour.notice = produce };

static void build_from_actor(struct gyre_graph *graph)
{
	collect(gyre_stream_from_actor(graph, &gyre_type_number, actor, 0, &window_of_ten));
}

Test(stream_no_memory, ends_what_an_actor_produces_or_lets_it_work)
{
	actor_class = &producer_class;
	play_rounds(1, build_from_actor, ELEMENTS);
}

static int consume(struct gyre_stack *stack)
{
	const struct gyre_stream_opened *opened = gyre_message(stack, gyre_stream_opened);

	if (opened != NULL && gyre_stream_request(stack, opened->stream, UINT64_MAX) < 0) {
		return gyre_stop(stack, gyre_self(stack));
	}
	return gyre_return(stack);
}

static const struct gyre_class consumer_class = { .name = "consumer",
						  .frame_bytes = FRAME_BYTES,
						  .behaviour.notice = consume };

static void build_to_actor(struct gyre_graph *graph)
{
	gyre_stream_to_actor(count_from(graph, 0, ELEMENTS), actor, 0);
}

Test(stream_no_memory, ends_what_an_actor_consumes_or_lets_it_work)
{
	actor_class = &consumer_class;
	play_rounds(1, build_to_actor, ELEMENTS);
}

/* ---- files ---- */

enum { CHUNKS = 20, CHUNK_BYTES = 1000 };

static char from_path[] = "/tmp/gyre-stream-XXXXXX";
static char to_path[] = "/tmp/gyre-stream-XXXXXX";

static void build_copy(struct gyre_graph *graph)
{
	static const struct gyre_read_file_options parts = { .chunk_bytes = CHUNK_BYTES };

	gyre_stream_write_file(gyre_stream_read_file(graph, from_path, &parts), to_path, NULL);
}

Test(stream_no_memory, ends_a_copy_of_a_file_or_lets_it_work)
{
	static const char zeros[CHUNKS * CHUNK_BYTES];
	int from = mkstemp(from_path);
	int to = mkstemp(to_path);

	cr_assert(from >= 0 && to >= 0);
	cr_assert_eq(write(from, zeros, sizeof(zeros)), sizeof(zeros));
	cr_assert_eq(close(from), 0);
	cr_assert_eq(close(to), 0);
	play_rounds(1, build_copy, CHUNKS);
	(void)unlink(from_path);
	(void)unlink(to_path);
}
