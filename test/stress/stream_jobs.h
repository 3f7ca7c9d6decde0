/*
 * Elements that own something, jobs, which are what an actor has drawn to do, and the actors that
 * produce and consume the elements of a job.
 */
#ifndef GY_TEST_STREAM_JOBS_H
#define GY_TEST_STREAM_JOBS_H

#include <errno.h>

#include <gyre/move.h>
#include <gyre/stream.h>
#include <gyre/stream_ends.h>

#include "stress.h"

enum {
	LOOPS = 3,
	ELEMENTS_MAX = 300,
	SINKS_MAX = 3,
	WORKERS_MAX = 3,
	ACTORS_MAX = 8,
	MARK = 3,
};

/* ---- elements ---- */

static uint32_t alive; /* parcels; atomic */

struct parcel {
	uint64_t value;
	uint64_t *marked; /* the value, times MARK */
};

static void parcel_fini(struct parcel *parcel)
{
	if (parcel->marked != NULL) {
		check(*parcel->marked == parcel->value * MARK);
		*parcel->marked = 0;
		free(parcel->marked);
		(void)gy_fetch_add(&alive, -1U);
	}
}

static void parcel_fill(struct parcel *parcel, uint64_t value)
{
	parcel->value = value;
	parcel->marked = (uint64_t *)malloc(sizeof(uint64_t));
	check(parcel->marked != NULL);
	*parcel->marked = value * MARK;
	(void)gy_fetch_add(&alive, 1);
}

static int parcel_copy(struct parcel *parcel)
{
	if (parcel->marked != NULL) {
		parcel_fill(parcel, parcel->value);
	}
	return 0;
}

GYRE_MESSAGE_OWNING(parcel, 0x2101, parcel_fini, parcel_copy);

static void parcel_check(const struct parcel *parcel)
{
	check(parcel->marked != NULL && *parcel->marked == parcel->value * MARK);
}

struct serial {
	uint64_t number;
};
GYRE_MESSAGE(serial, 0x2102);

/* ---- jobs: what an actor has drawn to do ---- */

enum mode {
	MODE_WHOLE,	 /* all elements arrive */
	MODE_TAKE,	 /* the first ones */
	MODE_FAIL,	 /* a function fails */
	MODE_SINK_ENDS,	 /* the sink wants no more */
	MODE_SINK_FAILS, /* the sink fails */
	MODE_TIMEOUT,
	MODE_STOP, /* the graph is stopped from outside */
	MODE_COUNT,
};

enum split { SPLIT_NONE, SPLIT_BROADCAST, SPLIT_BALANCE, SPLIT_COUNT };

/* What a sink has got. */
struct tally {
	uint64_t count;
	uint64_t sum;
	uint64_t end_at; /* after so many elements it returns */
	int end_result;
};

struct job {
	uint64_t random;
	uint32_t refs; /* atomic */
	enum mode mode;
	enum split split;
	bool is_endless;
	bool offers;	/* to another actor */
	bool gathers;	/* several elements become one */
	uint64_t last;	/* element of each source */
	uint64_t total; /* of all of them */
	uint64_t sum;
	uint64_t limit; /* of the mode */
	uint32_t sinks;
	struct tally tallies[SINKS_MAX];
	uint32_t producers; /* of these, those of a graph that offers */
	uint32_t actors_count;
	struct gyre_address actors[ACTORS_MAX];
	uint32_t consumers_count;
	struct gyre_address consumers[SINKS_MAX];
};

static void job_put(void *pointer)
{
	struct job *job = (struct job *)pointer;

	if (gy_fetch_add(&job->refs, -1U) == 1) {
		free(job);
	}
}

static struct job *job_get(struct job *job)
{
	(void)gy_fetch_add(&job->refs, 1);
	return job;
}

static struct job *job_draw(uint64_t *random)
{
	struct job *job = (struct job *)calloc(1, sizeof(*job));

	check(job != NULL);
	job->random = gy_random_next(random);
	job->refs = 1;
	job->mode = (enum mode)stress_random(&job->random, MODE_COUNT);
	job->offers = job->mode != MODE_TIMEOUT && stress_random(&job->random, 3) == 0;
	job->is_endless = job->mode >= MODE_TIMEOUT ||
			  (job->mode != MODE_WHOLE && stress_random(&job->random, 2) == 0);
	job->last = stress_random(&job->random, ELEMENTS_MAX) + 1;
	if (job->mode != MODE_SINK_ENDS && job->mode != MODE_SINK_FAILS) {
		job->split = (enum split)stress_random(
			&job->random, job->mode == MODE_TAKE ? SPLIT_BALANCE : SPLIT_COUNT);
	}
	job->limit = stress_random(&job->random, (uint32_t)job->last) + 1;
	return job;
}

static uint32_t pick(struct job *job, uint32_t limit)
{
	return stress_random(&job->random, limit);
}

struct order {
	struct job *job; /* owned */
	uint64_t last;
	uint32_t tally;
};

static void order_fini(struct order *order)
{
	if (order->job != NULL) {
		job_put(order->job);
	}
}

GYRE_MESSAGE_OWNING(order, 0x2103, order_fini);

/* Moves an order into the state of an actor. */
static int keep_order(struct gyre_stack *stack)
{
	struct order *order = (struct order *)gyre_state(stack);

	check(gyre_move(stack, order, order) == 0);
	return gyre_return(stack);
}

static void clean_order(void *state)
{
	order_fini((struct order *)state);
}

static struct gyre_address spawn(struct gyre_stack *stack, struct job *job,
				 const struct gyre_class *class, uint32_t tally)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP,
						    .loop = pick(job, LOOPS) };
	struct gyre_address address;

	check(job->actors_count < ACTORS_MAX);
	check(gyre_spawn(stack, class,
			 gyre_new(stack, order, .job = job_get(job), .tally = tally,
				  .last = job->is_endless ? UINT64_MAX : job->last),
			 &options, &address) == 0);
	job->actors[job->actors_count++] = address;
	return address;
}

/* ---- producers ---- */

struct producer {
	struct order order;
	uint64_t made;
	bool is_done;
};

static int push_some(struct gyre_stack *stack, struct producer *producer,
		     const struct gyre_stream_demand *demand)
{
	struct parcel parcels[32];
	uint64_t credit = demand->elements;

	while (credit > 0 && producer->made < producer->order.last) {
		uint64_t count = 1 + (producer->made * 7 + demand->elements) % 32;
		uint64_t left = producer->order.last - producer->made;
		int r;

		count = count < credit ? count : credit;
		count = count < left ? count : left;
		for (uint64_t i = 0; i < count; i++) {
			parcel_fill(&parcels[i], ++producer->made);
		}
		credit -= count;
		r = gyre_stream_push(stack, demand->stream, &gyre_type_parcel, parcels,
				     (uint32_t)count);
		check(r == 0 || r == -ESRCH);
	}
	return 0;
}

static int produce(struct gyre_stack *stack)
{
	struct producer *producer = (struct producer *)gyre_state(stack);
	const struct gyre_stream_demand *demand = gyre_message(stack, gyre_stream_demand);
	int r;

	(void)push_some(stack, producer, demand);
	if (producer->made == producer->order.last && !producer->is_done) {
		producer->is_done = true;
		r = gyre_stream_finish(stack, demand->stream, 0);
		check(r == 0 || r == -ESRCH);
	}
	return gyre_return(stack);
}

static int hear_cancel(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_route producer_notices[] = {
	GYRE_ROUTE(gyre_stream_demand, produce),
	GYRE_ROUTE(gyre_stream_cancelled, hear_cancel),
	GYRE_ROUTE_END,
};

static const struct gyre_class producer_class = {
	.name = "producer",
	.state_bytes = sizeof(struct producer),
	.mount = keep_order,
	.clean = clean_order,
	.behaviour.notice_routes = producer_notices,
};

/* ---- consumers ---- */

struct consumer {
	struct order order;
	struct gyre_stream_ref stream;
	uint64_t wanted;
	uint64_t got;
	uint64_t sent; /* as it was told, once it has ended */
	bool has_ended;
};

/* The end of a graph that is cut off may come before its last elements. */
static bool is_cut_off(const struct job *job)
{
	return job->mode >= MODE_TIMEOUT;
}

static int request(struct gyre_stack *stack, struct consumer *consumer)
{
	int r;

	consumer->wanted = 1 + consumer->got % 37;
	r = gyre_stream_request(stack, consumer->stream, consumer->wanted);
	check(r == 0 || r == -ESRCH);
	return gyre_return(stack);
}

static int hear_opened(struct gyre_stack *stack)
{
	struct consumer *consumer = (struct consumer *)gyre_state(stack);

	consumer->stream = gyre_message(stack, gyre_stream_opened)->stream;
	return request(stack, consumer);
}

static void count_parcel(struct tally *tally, const struct parcel *parcel)
{
	parcel_check(parcel);
	tally->count++;
	tally->sum += parcel->value;
}

static int consume(struct gyre_stack *stack)
{
	struct consumer *consumer = (struct consumer *)gyre_state(stack);

	check(consumer->wanted > 0);
	check(!consumer->has_ended ||
	      (is_cut_off(consumer->order.job) && consumer->got < consumer->sent));
	count_parcel(&consumer->order.job->tallies[consumer->order.tally],
		     gyre_message(stack, parcel));
	consumer->got++;
	return --consumer->wanted > 0 ? gyre_return(stack) : request(stack, consumer);
}

static int hear_ended(struct gyre_stack *stack)
{
	struct consumer *consumer = (struct consumer *)gyre_state(stack);

	check(!consumer->has_ended);
	consumer->sent = gyre_message(stack, gyre_stream_ended)->elements;
	check(consumer->sent == consumer->got ||
	      (is_cut_off(consumer->order.job) && consumer->got < consumer->sent));
	consumer->has_ended = true;
	(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
	return gyre_return(stack);
}

static int answer_when_ended(struct gyre_stack *stack)
{
	const struct consumer *consumer = (const struct consumer *)gyre_state(stack);

	if (!consumer->has_ended) {
		return gyre_stash(stack);
	}
	return gyre_reply(stack, gyre_new(stack, serial, consumer->got));
}

static const struct gyre_route consumer_notices[] = {
	GYRE_ROUTE(gyre_stream_opened, hear_opened),
	GYRE_ROUTE(parcel, consume),
	GYRE_ROUTE(gyre_stream_ended, hear_ended),
	GYRE_ROUTE_END,
};

static const struct gyre_class consumer_class = {
	.name = "consumer",
	.state_bytes = sizeof(struct consumer),
	.mount = keep_order,
	.clean = clean_order,
	.behaviour = { .notice_routes = consumer_notices, .ask = answer_when_ended },
};

#endif
