/*
 * Streams: elements that go from sources through stages to sinks, of which a source produces only
 * what a sink has room for.
 *
 *	struct gyre_graph *graph = gyre_graph_create();
 *	struct gyre_stream s = gyre_stream_vector(graph, &gyre_type_number, numbers, 1000);
 *
 *	s = gyre_stream_filter(s, is_odd, NULL);
 *	s = gyre_stream_map(s, &gyre_type_square, square_of, NULL);
 *	gyre_stream_each(s, print_square, NULL);
 *	GYRE_AWAIT(stack, gyre_graph_run(stack, graph, NULL, &frame->done));
 *
 * A graph is built first, by any thread, and then runs in an actor of its own. All stages between
 * two boundaries (see gyre_stream_boundary()) run in one actor, one after the other: a sink asks
 * the stage before it for as many elements as it can take, that one asks the one before, and what a
 * source has comes back through all of them as a block. Nothing is queued in between but what the
 * stages say: so take(10) behind a source takes ten elements from it, and not one more.
 *
 * Elements are messages of a fixed size, declared by GYRE_MESSAGE() or its like, of at most
 * GYRE_STREAM_ELEMENT_BYTES_MAX bytes. An element that owns something has one owner at each moment,
 * and is destroyed wherever it ends.
 *
 * A stream ends in one of three ways. Its source completes: every element has been produced, and
 * the sinks get all of them. It fails with a negative errno: what a stage had produced before still
 * comes, and the sinks end with that errno, unless gyre_stream_recover() turns it into an element.
 * Or a sink, or a stage such as gyre_stream_take(), wants no more: it cancels, and all above it
 * end.
 *
 * Building does not fail call by call: a graph remembers its first error, later calls do nothing,
 * and gyre_graph_run() or gyre_graph_start() returns it. Functions that are given to stages run in
 * the graph's actor, one at a time for each part between boundaries, in phase 3 and perhaps on
 * another loop than the one that has started the graph; so what their @arg points to is the graph's
 * while it runs. They must not block.
 */
#ifndef GYRE_STREAM_H
#define GYRE_STREAM_H

#include <gyre/actor.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

struct gyre_graph;

/** GYRE_STREAM_ELEMENT_BYTES_MAX - the largest element, in bytes */
#define GYRE_STREAM_ELEMENT_BYTES_MAX 65536

/** GYRE_STREAM_BATCH_MAX - the most elements of one batch */
#define GYRE_STREAM_BATCH_MAX 65536

/** GYRE_STREAM_BRANCHES_MAX - the most streams that one stage joins or splits into */
#define GYRE_STREAM_BRANCHES_MAX 1024

/** GYRE_STREAM_DEPTH_MAX - the most stages one behind the other, from a source or a boundary to a
 * sink or the next boundary */
#define GYRE_STREAM_DEPTH_MAX 1000

/**
 * struct gyre_stream - an open end of a graph, from which elements come
 * @graph: the graph; NULL if there was no memory for it
 * @stage: for the library
 * @outlet: for the library
 *
 * Exactly one stage or sink must take it: the same end twice, and an end that nothing takes, are
 * -EINVAL when the graph is started.
 */
struct gyre_stream {
	struct gyre_graph *graph;
	uint32_t stage;
	uint32_t outlet;
};

/* ---- functions that stages are given ---- */

/**
 * gyre_generate_fn - produces the next element
 * @arg: what was given with the function
 * @out: room for the element, all zero
 *
 * Runs in phase 3, once for each element that is asked for; it is not re-entered. The last call is
 * the one that does not return 1. Returns 1 with an element; 0 when there are no more; or a
 * negative errno, with which the stream fails. Where it returns no element, @out owns nothing.
 */
typedef int (*gyre_generate_fn)(void *arg, void *out);

/**
 * gyre_map_fn - makes an element of another one
 * @arg: what was given with the function
 * @in: the element; what it still owns afterwards is destroyed, so set to zero what was moved out
 * @out: room for the new element; all zero if its type owns something
 *
 * Runs in phase 3, once for each element, in order; it is not re-entered, and no call tells that it
 * was the last. Returns 0; or a negative errno, with which the stream fails, and then @out owns
 * nothing.
 */
typedef int (*gyre_map_fn)(void *arg, void *in, void *out);

/**
 * gyre_keep_fn - chooses elements
 * @arg: what was given with the function
 * @in: the element
 *
 * Runs in phase 3, once for each element, in order; it is not re-entered, and no call tells that it
 * was the last. Returns 1 to keep the element; 0 to drop it; or a negative errno, with which the
 * stream fails.
 */
typedef int (*gyre_keep_fn)(void *arg, const void *in);

/**
 * gyre_stream_batch_fn - makes an element of several
 * @arg: what was given with the function
 * @in: the elements, one behind the other; what they still own afterwards is destroyed
 * @count: how many, at least 1
 * @out: room for the new element; all zero if its type owns something
 *
 * Runs in phase 3, once for each batch; it is not re-entered, and no call tells that it was the
 * last. Returns 0; or a negative errno, with which the stream fails, and then @out owns nothing.
 */
typedef int (*gyre_stream_batch_fn)(void *arg, void *in, uint32_t count, void *out);

/**
 * gyre_zip_fn - makes an element of two, one of each stream
 * @arg: what was given with the function
 * @left: the element of the first stream; what it still owns afterwards is destroyed
 * @right: that of the second stream; likewise
 * @out: room for the new element; all zero if its type owns something
 *
 * Runs in phase 3, once for each pair, in order; it is not re-entered, and no call tells that it
 * was the last. Returns 0; or a negative errno, with which the stream fails, and then @out owns
 * nothing.
 */
typedef int (*gyre_zip_fn)(void *arg, void *left, void *right, void *out);

/**
 * gyre_recover_fn - replaces the failure of a stream by a last element
 * @arg: what was given with the function
 * @error: the negative errno that the stream has failed with
 * @out: room for the element, all zero
 *
 * Runs in phase 3, at most once, which is the last call; it is not re-entered. Returns 1 with an
 * element, after which the stream completes; 0 to complete without one; or a negative errno, with
 * which the stream fails instead.
 */
typedef int (*gyre_recover_fn)(void *arg, int error, void *out);

/**
 * gyre_each_fn - takes an element at the end of a stream
 * @arg: what was given with the function
 * @in: the element; what it still owns afterwards is destroyed
 *
 * Runs in phase 3, once for each element, in order; it is not re-entered, and no call tells that it
 * was the last. Returns 0; 1 when no more elements are wanted, which cancels the stream; or a
 * negative errno, with which the sink fails.
 */
typedef int (*gyre_each_fn)(void *arg, void *in);

/**
 * gyre_free_fn - frees what a graph has owned
 * @pointer: what gyre_graph_own() was given
 *
 * Runs once, in phase 3 when the graph has ended, or where it is destroyed; it is the last call for
 * @pointer and is not re-entered. It may call only those of gyre's functions that any thread may.
 */
typedef void (*gyre_free_fn)(void *pointer);

/* ---- graphs ---- */

/**
 * gyre_graph_create() - an empty graph
 *
 * Return: the graph, or NULL, which every call that takes a graph accepts.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM)
 * Ownership: the caller's, until it is started or gyre_graph_destroy() takes it.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_graph *gyre_graph_create(void);

/**
 * gyre_graph_destroy() - throws away a graph that is not to be started after all
 * @graph: the graph, or NULL
 *
 * Ownership: @graph is taken, with all that was given to it.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_graph_destroy(struct gyre_graph *graph);

/**
 * gyre_graph_own() - has a graph free something when it has ended
 * @graph: the graph
 * @pointer: what; the @arg of a stage, for example
 * @free_pointer: frees it
 *
 * What was given last is freed first. Where the graph is NULL or has no memory, it is freed at
 * once.
 *
 * Ownership: @pointer is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_graph_own(struct gyre_graph *graph, void *pointer, gyre_free_fn free_pointer);

/**
 * struct gyre_graph_options - how a graph is started; all zero is the default
 * @place: the loop of its actor, as for gyre_spawn(); not GYRE_PLACE_PINNED
 * @loop: the index of the loop for GYRE_PLACE_LOOP
 * @timeout_ns: how long it may run; then it fails with -ETIMEDOUT. 0 for no limit
 * @detached: not a child of the actor that starts it, and so not stopped with that
 */
struct gyre_graph_options {
	enum gyre_place place;
	uint32_t loop;
	uint64_t timeout_ns;
	bool detached;
};

/**
 * struct gyre_stream_done - the answer to gyre_graph_run()
 * @elements: how many elements all sinks of the graph have taken
 */
struct gyre_stream_done {
	uint64_t elements;
};
GYRE_OWN_MESSAGE_(gyre_stream_done, 0x88);

/** gyre_graph_run_sized() - gyre_graph_run() with the size of @options */
GYRE_API int gyre_graph_run_sized(struct gyre_stack *stack, struct gyre_graph *graph,
				  const struct gyre_graph_options *options, size_t options_bytes,
				  struct gyre_future *ret_future);

/**
 * gyre_graph_run() - starts a graph, and tells when it has ended
 * @stack: the running stack, which will own the promise
 * @graph: the graph, complete
 * @options: how; NULL for the defaults
 * @ret_future: a struct gyre_stream_done, or the failure of the first sink that has failed; in the
 *   frame of @stack, or the state of its actor
 *
 * The graph goes on when the future is cancelled; see gyre_graph_start() for one that can be
 * stopped. Where a part of it finds no memory to go on, it may also fail with -ESHUTDOWN, -ESRCH or
 * -ECANCELED.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG   the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @ret_future is NULL, the options name no loop, or the graph was not built right: a
 *            stream that is taken twice or not at all, a function that is NULL, a type that cannot
 *            be an element, streams of different types merged, a bound that is passed, or no sink
 *   -ENOMEM  there is no memory, also if building the graph found none
 *   -ESHUTDOWN  as gyre_spawn()
 *   others   why a part of the graph could not be built
 * Ownership: @graph is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_graph_run(struct gyre_stack *stack, struct gyre_graph *graph,
				 const struct gyre_graph_options *options,
				 struct gyre_future *ret_future)
{
	return gyre_graph_run_sized(stack, graph, options, sizeof(*options), ret_future);
}

/** gyre_graph_start_sized() - gyre_graph_start() with the size of @options */
GYRE_API int gyre_graph_start_sized(struct gyre_stack *stack, struct gyre_graph *graph,
				    const struct gyre_graph_options *options, size_t options_bytes,
				    struct gyre_address *ret_address);

/**
 * gyre_graph_start() - starts a graph and goes on
 * @stack: the stack of the running handler
 * @graph: the graph, complete
 * @options: how; NULL for the defaults
 * @ret_address: the address of the graph's actor
 *
 * The actor ends with the graph: gyre_watch() tells when, and with what failure. gyre_stop() cuts
 * the graph off: its sources are cancelled, and elements on their way are destroyed.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   as gyre_graph_run()
 * Ownership: @graph is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_graph_start(struct gyre_stack *stack, struct gyre_graph *graph,
				   const struct gyre_graph_options *options,
				   struct gyre_address *ret_address)
{
	return gyre_graph_start_sized(stack, graph, options, sizeof(*options), ret_address);
}

/* ---- sources ---- */

/**
 * gyre_stream_vector() - a source: the elements of an array
 * @graph: the graph
 * @type: their type, as &gyre_type_NAME
 * @elements: the array; may be NULL when @count is 0
 * @count: how many
 *
 * Return: the stream.
 * Ownership: the elements are moved: what they own is the graph's, whatever becomes of it.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_vector(struct gyre_graph *graph,
					       const struct gyre_type *type, void *elements,
					       size_t count);

/**
 * gyre_stream_generate() - a source: what a function produces
 * @graph: the graph
 * @type: of the elements, as &gyre_type_NAME
 * @next: produces an element each time that one is asked for
 * @arg: for @next
 *
 * Return: the stream.
 * Ownership: @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_generate(struct gyre_graph *graph,
						 const struct gyre_type *type,
						 gyre_generate_fn next, void *arg);

/**
 * struct gyre_stream_tick - an element of gyre_stream_ticks()
 * @number: of the period, from 0 on
 * @missed: how many periods before this one have passed without being asked for
 */
struct gyre_stream_tick {
	uint64_t number;
	uint64_t missed;
};
GYRE_OWN_MESSAGE_(gyre_stream_tick, 0x86);

/**
 * gyre_stream_ticks() - a source: an element for each period of time
 * @graph: the graph
 * @period_ns: the period, at least 1; the first tick comes after one
 *
 * Ticks are struct gyre_stream_tick. They are not made up for: when nothing asks for a while, the
 * next tick comes at once and says how many were missed. The source never completes.
 *
 * Return: the stream.
 * Ownership: nothing changes hands.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_ticks(struct gyre_graph *graph, uint64_t period_ns);

/* ---- stages ---- */

/**
 * gyre_stream_map() - makes an element of each element
 * @from: the stream
 * @type: of the new elements, as &gyre_type_NAME
 * @map: makes one
 * @arg: for @map
 *
 * Return: the stream of the new elements.
 * Ownership: @from is taken. @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_map(struct gyre_stream from, const struct gyre_type *type,
					    gyre_map_fn map, void *arg);

/**
 * gyre_stream_filter() - keeps some elements
 * @from: the stream
 * @keep: chooses
 * @arg: for @keep
 *
 * Return: the stream of those that are kept.
 * Ownership: @from is taken. @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_filter(struct gyre_stream from, gyre_keep_fn keep,
					       void *arg);

/**
 * gyre_stream_scan() - adds each element to a value, and shows the value each time
 * @from: the stream
 * @type: of the value, as &gyre_type_NAME; one that owns nothing
 * @first: the value before the first element; NULL for all zero
 * @add: adds @in to the value: @out, which holds the value so far
 * @arg: for @add
 *
 * Return: the stream of the values, one for each element.
 * Ownership: @from is taken; *@first is copied. @arg stays the caller's, who keeps it until the
 *   graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_scan(struct gyre_stream from, const struct gyre_type *type,
					     const void *first, gyre_map_fn add, void *arg);

/**
 * gyre_stream_take() - takes a number of elements, and cancels what is above
 * @from: the stream
 * @count: how many; with 0 the stream completes at once
 *
 * Return: the stream of the first @count elements.
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_take(struct gyre_stream from, uint64_t count);

/**
 * gyre_stream_recover() - completes a stream that fails
 * @from: the stream
 * @recover: says how
 * @arg: for @recover
 *
 * Return: the stream.
 * Ownership: @from is taken. @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_recover(struct gyre_stream from, gyre_recover_fn recover,
						void *arg);

/**
 * struct gyre_batch_options - when a batch is complete
 * @count_max: with so many elements, 1 to GYRE_STREAM_BATCH_MAX
 * @within_ns: or so long after its first element; 0 for however long it takes. Never early
 */
struct gyre_batch_options {
	uint32_t count_max;
	uint64_t within_ns;
};

/** gyre_stream_batch_sized() - gyre_stream_batch() with the size of @options */
GYRE_API struct gyre_stream gyre_stream_batch_sized(struct gyre_stream from,
						    const struct gyre_type *type,
						    const struct gyre_batch_options *options,
						    size_t options_bytes,
						    gyre_stream_batch_fn gather, void *arg);

/**
 * gyre_stream_batch() - makes an element of several, by count and time
 * @from: the stream
 * @type: of the new elements, as &gyre_type_NAME
 * @options: when a batch is complete
 * @gather: makes an element of a batch
 * @arg: for @gather
 *
 * The last batch may be smaller. At most @count_max elements wait in the stage.
 *
 * Return: the stream of the new elements.
 * Ownership: @from is taken. @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
static inline struct gyre_stream gyre_stream_batch(struct gyre_stream from,
						   const struct gyre_type *type,
						   const struct gyre_batch_options *options,
						   gyre_stream_batch_fn gather, void *arg)
{
	return gyre_stream_batch_sized(from, type, options, sizeof(*options), gather, arg);
}

/**
 * struct gyre_throttle_options - how fast elements may pass
 * @count: so many elements, from 1 on
 * @period_ns: in each time of this length, at least 1
 * @burst: how many may pass at once after a pause; 0 for @count
 */
struct gyre_throttle_options {
	uint32_t count;
	uint32_t burst;
	uint64_t period_ns;
};

/** gyre_stream_throttle_sized() - gyre_stream_throttle() with the size of @options */
GYRE_API struct gyre_stream gyre_stream_throttle_sized(struct gyre_stream from,
						       const struct gyre_throttle_options *options,
						       size_t options_bytes);

/**
 * gyre_stream_throttle() - lets elements pass at a rate
 * @from: the stream
 * @options: the rate
 *
 * Elements that may not pass yet are not asked for. A bucket of @burst tokens is full at the start,
 * and gets @count of them in each period, evenly.
 *
 * Return: the stream.
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
static inline struct gyre_stream gyre_stream_throttle(struct gyre_stream from,
						      const struct gyre_throttle_options *options)
{
	return gyre_stream_throttle_sized(from, options, sizeof(*options));
}

/* ---- joining and splitting ---- */

/**
 * gyre_stream_merge() - one stream of several, in the order in which elements come
 * @from: the streams, of one graph and one type
 * @count: how many, 1 to GYRE_STREAM_BRANCHES_MAX
 *
 * Elements of one stream stay in their order. Streams that always have elements take turns. The
 * stream completes with the last of them, and fails with the first that fails, which cancels the
 * others. Nothing is queued.
 *
 * Return: the stream.
 * Ownership: the streams are taken; the array stays the caller's.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_merge(const struct gyre_stream *from, uint32_t count);

/**
 * gyre_stream_zip() - pairs the elements of two streams
 * @left: the first stream
 * @right: the second, of the same graph
 * @type: of the new elements, as &gyre_type_NAME
 * @zip: makes an element of two
 * @arg: for @zip
 *
 * The stream ends when either does: the other is cancelled, and elements without a partner are
 * destroyed. @right is asked for as many elements as @left has given, so at most one block of @left
 * waits.
 *
 * Return: the stream of the new elements.
 * Ownership: both streams are taken. @arg stays the caller's, who keeps it until the graph has
 *   ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_zip(struct gyre_stream left, struct gyre_stream right,
					    const struct gyre_type *type, gyre_zip_fn zip,
					    void *arg);

/**
 * gyre_stream_broadcast() - several streams, each of which has all elements
 * @from: the stream; elements that own something need a function that copies, see gyre_copy_fn
 * @count: how many, 1 to GYRE_STREAM_BRANCHES_MAX
 * @waiting_max: how many elements the fastest may be ahead of the slowest; 0 for 128
 * @ret_streams: the streams
 *
 * A stream that is cancelled leaves the others alone; with the last one @from is cancelled.
 *
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_stream_broadcast(struct gyre_stream from, uint32_t count, uint32_t waiting_max,
				    struct gyre_stream *ret_streams);

/**
 * gyre_stream_balance() - several streams, which share the elements
 * @from: the stream
 * @count: how many, 1 to GYRE_STREAM_BRANCHES_MAX
 * @ret_streams: the streams
 *
 * Each element goes to one stream, that which asks first; so a stream that is slow gets fewer.
 * Nothing is queued. A stream that is cancelled leaves the others alone; with the last one @from is
 * cancelled.
 *
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_stream_balance(struct gyre_stream from, uint32_t count,
				  struct gyre_stream *ret_streams);

/**
 * struct gyre_boundary_options - a boundary in a graph; all zero is the default
 * @place: the loop of what is above the boundary: GYRE_PLACE_HERE for that of the graph,
 *   GYRE_PLACE_LOOP or GYRE_PLACE_ROUND_ROBIN
 * @loop: the index of the loop for GYRE_PLACE_LOOP
 * @elements_max: how many elements may be on their way, up to 2^20; 0 for 4096
 * @bytes_max: how many bytes they may have together, up to 2^30, though one element passes in any
 *   case; 0 for 1 MiB
 */
struct gyre_boundary_options {
	enum gyre_place place;
	uint32_t loop;
	uint32_t elements_max;
	uint32_t bytes_max;
};

/** gyre_stream_boundary_sized() - gyre_stream_boundary() with the size of @options */
GYRE_API struct gyre_stream gyre_stream_boundary_sized(struct gyre_stream from,
						       const struct gyre_boundary_options *options,
						       size_t options_bytes);

/**
 * gyre_stream_boundary() - has what is above run in an actor of its own
 * @from: the stream
 * @options: where, and how much may be on its way; NULL for the defaults
 *
 * The two sides run side by side where they have different loops. What is below asks in advance for
 * as many elements as the options allow, and again when half of them have been taken.
 *
 * Where a part of a graph has several boundaries below it, the first that names a place decides.
 *
 * Return: the stream.
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
static inline struct gyre_stream gyre_stream_boundary(struct gyre_stream from,
						      const struct gyre_boundary_options *options)
{
	return gyre_stream_boundary_sized(from, options, sizeof(*options));
}

/* ---- sinks ---- */

/**
 * gyre_stream_each() - a sink: a function gets each element
 * @from: the stream
 * @each: the function; NULL to throw the elements away
 * @arg: for @each
 *
 * Ownership: @from is taken. @arg stays the caller's, who keeps it until the graph has ended.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_stream_each(struct gyre_stream from, gyre_each_fn each, void *arg);

GYRE_END_DECLS

#endif
