/*
 * Actors on all loops draw graphs and run them: boundaries on random loops and with small windows,
 * workers, broadcasts, pairs, batches, streams that one actor offers and another accepts, and
 * actors that produce and consume. Some are stopped or timed out in the middle, some end by take,
 * some by a function or a sink that fails. Elements own memory that their maker wrote: none may be
 * lost, destroyed twice, or seen before it was written; and where all of them must arrive, all do.
 */
#include <errno.h>

#include <gyre/stream.h>
#include <gyre/stream_ends.h>
#include <gyre/watch.h>

#include "stream_jobs.h"

enum { DRIVERS = 6, STEPS = 120, WATCHED_MAX = 32 };

/* ---- functions of stages ---- */

struct spring {
	uint64_t made;
	uint64_t last;
};

static struct spring *spring_make(struct gyre_graph *graph, uint64_t last)
{
	struct spring *spring = (struct spring *)calloc(1, sizeof(*spring));

	check(spring != NULL);
	spring->last = last;
	gyre_graph_own(graph, spring, free);
	return spring;
}

static int next_parcel(void *arg, void *out)
{
	struct spring *spring = (struct spring *)arg;

	if (spring->made == spring->last) {
		return 0;
	}
	parcel_fill((struct parcel *)out, ++spring->made);
	return 1;
}

static int next_serial(void *arg, void *out)
{
	((struct serial *)out)->number = ++((struct spring *)arg)->made;
	return 1;
}

static int move_parcel(void *arg, void *in, void *out)
{
	struct parcel *parcel = (struct parcel *)in;

	(void)arg;
	parcel_check(parcel);
	*(struct parcel *)out = *parcel;
	parcel->marked = NULL;
	return 0;
}

static int count_down(void *arg, void *in, void *out)
{
	struct spring *fuse = (struct spring *)arg;

	return ++fuse->made > fuse->last ? -EIO : move_parcel(NULL, in, out);
}

static int keep_parcel(void *arg, const void *in)
{
	(void)arg;
	parcel_check((const struct parcel *)in);
	return 1;
}

static int pair_parcel(void *arg, void *left, void *right, void *out)
{
	check(((const struct serial *)right)->number == ++((struct spring *)arg)->made);
	return move_parcel(NULL, left, out);
}

static int gather_parcels(void *arg, void *in, uint32_t count, void *out)
{
	const struct parcel *parcels = (const struct parcel *)in;
	uint64_t sum = 0;

	(void)arg;
	for (uint32_t i = 0; i < count; i++) {
		parcel_check(&parcels[i]);
		sum += parcels[i].value;
	}
	parcel_fill((struct parcel *)out, sum);
	return 0;
}

static int not_to_recover(void *arg, int error, void *out)
{
	(void)arg;
	(void)error;
	(void)out;
	check(false);
	return 0;
}

static int count_each(void *arg, void *in)
{
	struct tally *tally = (struct tally *)arg;

	count_parcel(tally, (const struct parcel *)in);
	return tally->count == tally->end_at ? tally->end_result : 0;
}

/* ---- building ---- */

static struct gyre_window draw_window(struct job *job)
{
	static const uint32_t elements[] = { 0, 1, 2, 7, 64, 500 };
	static const uint32_t bytes[] = { 0, 0, 1, 40, 1000 };
	struct gyre_window window = { 0 };

	window.elements_max = elements[pick(job, 6)];
	window.bytes_max = bytes[pick(job, 5)];
	return window;
}

static struct gyre_stream cross(struct job *job, struct gyre_stream s)
{
	struct gyre_window window = draw_window(job);
	const struct gyre_boundary_options options = {
		.place = (enum gyre_place)pick(job, GYRE_PLACE_PINNED),
		.loop = pick(job, LOOPS),
		.elements_max = window.elements_max,
		.bytes_max = window.bytes_max,
	};

	return gyre_stream_boundary(s, &options);
}

static struct gyre_stream pipe_through(struct job *job, struct gyre_stream s, uint32_t depth);

static struct gyre_stream have_worked(struct job *job, struct gyre_stream s, uint32_t depth)
{
	struct gyre_stream branches[WORKERS_MAX];
	uint32_t count = 1 + pick(job, WORKERS_MAX);

	gyre_stream_balance(s, count, branches);
	for (uint32_t i = 0; i < count; i++) {
		branches[i] = pipe_through(job, branches[i], depth - 1);
	}
	return gyre_stream_merge(branches, count);
}

static struct gyre_stream pair(struct job *job, struct gyre_stream s)
{
	struct gyre_stream right = gyre_stream_generate(s.graph, &gyre_type_serial, next_serial,
							spring_make(s.graph, UINT64_MAX));

	if (pick(job, 2) == 0) {
		right = cross(job, right);
	}
	return gyre_stream_zip(s, right, &gyre_type_parcel, pair_parcel,
			       spring_make(s.graph, UINT64_MAX));
}

static struct gyre_stream gather(struct job *job, struct gyre_stream s)
{
	const struct gyre_batch_options options = {
		.count_max = 1 + pick(job, 20),
		.within_ns = pick(job, 2) == 0 ? 0 : GYRE_MICROSECONDS(50),
	};

	if (job->mode != MODE_WHOLE && job->mode != MODE_STOP) {
		return s;
	}
	job->gathers = true;
	return gyre_stream_batch(s, &gyre_type_parcel, &options, gather_parcels, NULL);
}

static struct gyre_stream throttle(struct job *job, struct gyre_stream s)
{
	const struct gyre_throttle_options options = {
		.count = 1 + pick(job, 50),
		.burst = pick(job, 50),
		.period_ns = GYRE_MICROSECONDS(50),
	};

	return gyre_stream_throttle(s, &options);
}

static struct gyre_stream add_stage(struct job *job, struct gyre_stream s, uint32_t depth)
{
	switch (pick(job, 9)) {
	case 0:
		return gyre_stream_map(s, &gyre_type_parcel, move_parcel, NULL);
	case 1:
		return gyre_stream_filter(s, keep_parcel, NULL);
	case 2:
		return depth > 0 ? have_worked(job, s, depth) : s;
	case 3:
		return pair(job, s);
	case 4:
		return gather(job, s);
	case 5:
		return job->mode > MODE_TAKE ? s : gyre_stream_recover(s, not_to_recover, NULL);
	case 6:
		return throttle(job, s);
	default:
		return cross(job, s);
	}
}

/* Stages that let all pass. */
static struct gyre_stream pipe_through(struct job *job, struct gyre_stream s, uint32_t depth)
{
	for (uint32_t i = pick(job, 5); i > 0; i--) {
		s = add_stage(job, s, depth);
	}
	return s;
}

static struct gyre_stream one_source(struct gyre_stack *stack, struct job *job,
				     struct gyre_graph *graph)
{
	struct gyre_window window = draw_window(job);
	struct parcel parcels[ELEMENTS_MAX];

	switch (pick(job, job->is_endless ? 2 : 3)) {
	case 0:
		return gyre_stream_from_actor(graph, &gyre_type_parcel,
					      spawn(stack, job, &producer_class, 0), 0, &window);
	case 1:
		return gyre_stream_generate(
			graph, &gyre_type_parcel, next_parcel,
			spring_make(graph, job->is_endless ? UINT64_MAX : job->last));
	default:
		for (uint64_t i = 0; i < job->last; i++) {
			parcel_fill(&parcels[i], i + 1);
		}
		return gyre_stream_vector(graph, &gyre_type_parcel, parcels, job->last);
	}
}

static struct gyre_stream make_sources(struct gyre_stack *stack, struct job *job,
				       struct gyre_graph *graph)
{
	struct gyre_stream streams[WORKERS_MAX];
	uint32_t count = 1 + pick(job, WORKERS_MAX);

	for (uint32_t i = 0; i < count; i++) {
		streams[i] = pipe_through(job, one_source(stack, job, graph), 0);
	}
	job->total = count * job->last;
	job->sum = count * (job->last * (job->last + 1) / 2);
	return count == 1 ? streams[0] : gyre_stream_merge(streams, count);
}

/* A function that fails, in the first graph or in the second. */
static struct gyre_stream lay_fuse(struct job *job, struct gyre_stream s)
{
	return gyre_stream_map(s, &gyre_type_parcel, count_down,
			       spring_make(s.graph, job->limit - 1));
}

static void make_sink(struct gyre_stack *stack, struct job *job, struct gyre_stream s)
{
	uint32_t index = job->sinks++;
	struct tally *tally = &job->tallies[index];

	s = pipe_through(job, s, 1);
	if (job->mode == MODE_TAKE) {
		s = gyre_stream_take(s, job->limit - 1);
	}
	if (job->mode == MODE_SINK_ENDS || job->mode == MODE_SINK_FAILS) {
		tally->end_at = job->limit;
		tally->end_result = job->mode == MODE_SINK_ENDS ? 1 : -EBADF;
	} else if (pick(job, 2) == 0) {
		struct gyre_address consumer = spawn(stack, job, &consumer_class, index);

		job->consumers[job->consumers_count++] = consumer;
		gyre_stream_to_actor(s, consumer, 0);
		return;
	}
	gyre_stream_each(s, count_each, tally);
}

static void make_sinks(struct gyre_stack *stack, struct job *job, struct gyre_stream s)
{
	struct gyre_stream branches[SINKS_MAX] = { s };
	uint32_t count = job->split == SPLIT_NONE ? 1 : 1 + pick(job, SINKS_MAX);

	if (job->split == SPLIT_BROADCAST) {
		gyre_stream_broadcast(s, count, pick(job, 3) == 0 ? 0 : 1 + pick(job, 20),
				      branches);
	} else if (job->split == SPLIT_BALANCE) {
		gyre_stream_balance(s, count, branches);
	}
	for (uint32_t i = 0; i < count; i++) {
		make_sink(stack, job, branches[i]);
	}
}

static struct gyre_graph *make_graph(struct job *job)
{
	struct gyre_graph *graph = gyre_graph_create();

	check(graph != NULL);
	gyre_graph_own(graph, job_get(job), job_put);
	return graph;
}

/* From the sources to the sinks, or from an offer to the sinks. */
static struct gyre_graph *build(struct gyre_stack *stack, struct job *job,
				const struct gyre_stream_ref *ref)
{
	struct gyre_graph *graph = make_graph(job);
	struct gyre_window window = draw_window(job);
	struct gyre_stream s =
		ref == NULL ? make_sources(stack, job, graph)
			    : gyre_stream_accept(graph, &gyre_type_parcel, *ref, &window);

	s = pipe_through(job, s, 2);
	if (job->mode == MODE_FAIL && job->limit > 0) {
		s = lay_fuse(job, s);
	}
	make_sinks(stack, job, s);
	return graph;
}

static struct gyre_graph_options draw_options(struct job *job)
{
	struct gyre_graph_options options = {
		.place = (enum gyre_place)pick(job, GYRE_PLACE_PINNED),
		.loop = pick(job, LOOPS),
		.detached = pick(job, 2) == 0,
	};

	if (job->mode == MODE_TIMEOUT) {
		options.timeout_ns = 1 + GYRE_MICROSECONDS(pick(job, 1000));
	}
	return options;
}

/* ---- what must have come of it ---- */

static uint64_t results[MODE_COUNT]; /* how many; atomic */

static int wanted_result(const struct job *job)
{
	return job->mode == MODE_FAIL	      ? -EIO
	       : job->mode == MODE_SINK_FAILS ? -EBADF
	       : job->mode == MODE_TIMEOUT    ? -ETIMEDOUT
					      : 0;
}

/* What is offered may be over before the other graph fails. */
static bool may_end_so(const struct job *job, int reason)
{
	return reason == wanted_result(job) || (reason == 0 && !job->is_endless) ||
	       (job->mode == MODE_STOP &&
		(reason == -ECANCELED || reason == -ESRCH || reason == -ETIMEDOUT));
}

static void check_result(const struct job *job, const struct gyre_future *future)
{
	const struct gyre_stream_done *done = gyre_future_get(future, gyre_stream_done);
	int error = gyre_future_error(future);

	if (error != wanted_result(job)) {
		(void)fprintf(stderr, "mode %d: %d\n", (int)job->mode, error);
	}
	check(error == wanted_result(job));
	check(error != 0 || done != NULL);
}

static void check_tallies(const struct job *job)
{
	uint64_t times = job->split == SPLIT_BROADCAST ? job->sinks : 1;
	uint64_t most =
		job->mode == MODE_TAKE || job->mode == MODE_FAIL ? job->limit - 1 : job->limit;
	uint64_t count = 0;
	uint64_t sum = 0;

	(void)gy_fetch_add(&results[job->mode], 1);
	if (job->mode == MODE_TIMEOUT) {
		return; /* actors may still count */
	}
	for (uint32_t i = 0; i < job->sinks; i++) {
		count += job->tallies[i].count;
		sum += job->tallies[i].sum;
	}
	switch (job->mode) {
	case MODE_WHOLE:
		check(sum == times * job->sum);
		check(job->gathers || count == times * job->total);
		return;
	case MODE_FAIL:
		check(count <= times * most);
		return;
	case MODE_TAKE: /* at most @last, so there are enough */
		check(count == job->sinks * most);
		return;
	default:
		check(count == most);
	}
}

/* ---- drivers ---- */

static struct gyre_address drivers[DRIVERS];
static uint32_t unfinished = DRIVERS;

struct invitation {
	struct job *job; /* the asker's, who waits */
	struct gyre_stream_ref ref;
};
GYRE_MESSAGE(invitation, 0x2104);

struct watched {
	struct gyre_address graph;
	struct job *job; /* NULL where it is free */
};

struct driver {
	uint64_t random; /* first, for stress_start() */
	uint32_t steps;
	uint32_t watched_count;
	bool has_finished;
	struct watched watched[WATCHED_MAX];
};

struct driver_frame {
	struct gyre_future future;
	struct gyre_future ended[SINKS_MAX];
	struct job *job;
	struct gyre_stream_ref ref; /* that was offered to this actor */
	struct gyre_address graph;
	bool is_guest;
};

static struct driver_frame *frame_of(struct gyre_stack *stack)
{
	return (struct driver_frame *)gyre_frame(stack);
}

static void stop_actors(struct gyre_stack *stack, const struct job *job, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		(void)gyre_stop(stack, job->actors[i]);
	}
}

/* Starts a graph whose end must come, and is looked at. */
static struct gyre_address start(struct gyre_stack *stack, struct job *job,
				 struct gyre_graph *graph)
{
	struct driver *driver = (struct driver *)gyre_state(stack);
	const struct gyre_graph_options options = draw_options(job);
	struct gyre_address address;
	uint32_t i = 0;

	check(gyre_graph_start(stack, graph, &options, &address) == 0);
	check(gyre_watch(stack, address) == 0);
	while (driver->watched[i].job != NULL) {
		check(++i < WATCHED_MAX);
	}
	driver->watched[i] = (struct watched){ address, job_get(job) };
	driver->watched_count++;
	return address;
}

static void finish_driver(struct gyre_stack *stack, struct driver *driver)
{
	if (driver->steps == STEPS && driver->watched_count == 0 && !driver->has_finished) {
		driver->has_finished = true;
		stress_finish(stack, &unfinished);
	}
}

static int hear_of_end(struct gyre_stack *stack)
{
	struct driver *driver = (struct driver *)gyre_state(stack);
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);
	uint32_t i = 0;
	bool good;

	while (driver->watched[i].job == NULL ||
	       !gyre_address_equal(driver->watched[i].graph, terminated->actor)) {
		check(++i < WATCHED_MAX);
	}
	good = may_end_so(driver->watched[i].job, terminated->reason);
	if (!good) {
		(void)fprintf(stderr, "mode %d: ends with %d\n", (int)driver->watched[i].job->mode,
			      terminated->reason);
	}
	check(good);
	stop_actors(stack, driver->watched[i].job, 0, driver->watched[i].job->producers);
	job_put(driver->watched[i].job);
	driver->watched[i].job = NULL;
	driver->watched_count--;
	finish_driver(stack, driver);
	return gyre_return(stack);
}

static void begin_job(struct gyre_stack *stack)
{
	struct driver *driver = (struct driver *)gyre_state(stack);
	const struct invitation *invitation = gyre_message(stack, invitation);
	struct driver_frame *frame = frame_of(stack);

	frame->is_guest = invitation != NULL;
	if (frame->is_guest) {
		frame->job = invitation->job;
		frame->ref = invitation->ref;
	} else {
		frame->job = job_draw(&driver->random);
	}
}

static const struct gyre_stream_ref *ref_of(const struct driver_frame *frame)
{
	return frame->is_guest ? &frame->ref : NULL;
}

/* Starts a graph that offers its stream, and asks another actor to accept it. */
static int offer(struct gyre_stack *stack)
{
	struct driver_frame *frame = frame_of(stack);
	struct job *job = frame->job;
	struct gyre_graph *graph = make_graph(job);
	struct gyre_stream s = pipe_through(job, make_sources(stack, job, graph), 2);
	/* The other graph may be stopped before it has accepted. */
	uint64_t offer_ns = job->mode == MODE_STOP ? GYRE_MILLISECONDS(20) : 0;
	uint32_t port;

	if (job->mode == MODE_FAIL && pick(job, 2) == 0) {
		s = lay_fuse(job, s);
	}
	job->producers = job->actors_count;
	port = gyre_stream_offer(pipe_through(job, s, 1), offer_ns);
	frame->graph = start(stack, job, graph);
	return gyre_ask(stack, drivers[pick(job, DRIVERS)],
			gyre_new(stack, invitation, job, gyre_stream_ref_of(frame->graph, port)),
			GYRE_FOREVER, &frame->future);
}

static int stop_it(struct gyre_stack *stack)
{
	struct driver_frame *frame = frame_of(stack);
	struct gyre_address graph =
		frame->is_guest && pick(frame->job, 2) == 0 ? frame->ref.at : frame->graph;

	if (pick(frame->job, 2) == 0) {
		(void)gyre_stop(stack, graph);
		return 0;
	}
	return gyre_stop_gracefully(stack, graph, GYRE_MICROSECONDS(pick(frame->job, 100)),
				    &frame->future);
}

static int run(struct gyre_stack *stack)
{
	struct driver_frame *frame = frame_of(stack);
	struct gyre_graph *graph = build(stack, frame->job, ref_of(frame));
	const struct gyre_graph_options options = draw_options(frame->job);

	return gyre_graph_run(stack, graph, &options, &frame->future);
}

static int ask_consumers(struct gyre_stack *stack)
{
	struct driver_frame *frame = frame_of(stack);
	const struct job *job = frame->job;

	if (job->mode == MODE_TIMEOUT) {
		return 0; /* it was cut off */
	}
	for (uint32_t i = 0; i < job->consumers_count; i++) {
		check(gyre_ask(stack, job->consumers[i], gyre_new(stack, serial, 0), GYRE_FOREVER,
			       &frame->ended[i]) == 0);
	}
	return 0;
}

static int end_job(struct gyre_stack *stack)
{
	struct driver *driver = (struct driver *)gyre_state(stack);
	struct driver_frame *frame = frame_of(stack);
	struct job *job = frame->job;

	if (frame->is_guest) {
		return gyre_reply(stack, gyre_new(stack, serial, 0));
	}
	stop_actors(stack, job, job->producers, job->actors_count);
	job_put(job);
	if (++driver->steps < STEPS) {
		return gyre_notify(stack, gyre_self(stack), load_new(stack, 0));
	}
	finish_driver(stack, driver);
	return gyre_return(stack);
}

static int go(struct gyre_stack *stack)
{
	struct driver_frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	begin_job(stack);
	if (frame->job->offers && !frame->is_guest) {
		GYRE_AWAIT(stack, offer(stack));
		check(gyre_future_error(&frame->future) == 0);
	} else if (frame->job->mode == MODE_STOP) {
		frame->graph = start(stack, frame->job, build(stack, frame->job, ref_of(frame)));
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MICROSECONDS(pick(frame->job, 500)),
					     &frame->future));
		GYRE_AWAIT(stack, stop_it(stack));
	} else {
		GYRE_AWAIT(stack, run(stack));
		check_result(frame->job, &frame->future);
		GYRE_AWAIT(stack, ask_consumers(stack));
		check_tallies(frame->job);
	}
	return end_job(stack);
	GYRE_END(stack);
}

static const struct gyre_route driver_asks[] = { GYRE_ROUTE(invitation, go), GYRE_ROUTE_END };

static const struct gyre_class driver_class = {
	.name = "driver",
	.state_bytes = sizeof(struct driver),
	.frame_bytes = sizeof(struct driver_frame),
	.mount = stress_start,
	.behaviour = { .notice = go, .ask_routes = driver_asks, .event = hear_of_end },
};

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	struct gyre_counters counters;

	for (uint32_t i = 0; i < DRIVERS; i++) {
		drivers[i] = stress_spawn(system, &driver_class, i % LOOPS,
					  load_new_outside(system, seed + i));
	}
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	if (alive != 0) {
		(void)fprintf(stderr, "%u elements have leaked\n", alive);
	}
	check(alive == 0);
	(void)printf("%llu sent, %llu actors;", (unsigned long long)counters.sent,
		     (unsigned long long)counters.spawned);
	for (uint32_t i = 0; i < MODE_STOP; i++) {
		(void)printf(" %llu", (unsigned long long)results[i]);
		check(results[i] > 0);
	}
	(void)printf(" graphs\n");
	return 0;
}
