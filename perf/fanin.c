/*
 * Fan-in: a few producers, dealt out to the loops, send to one consumer on the first loop. A
 * producer sends a batch of parcels for each credit; the consumer gives the credit back when the
 * last parcel of a batch has come. So no more than producers x window x batch parcels are under way
 * at once, memory is bounded, and what is measured is what arrives. The consumer looks at the
 * number of every parcel: the order of each producer is checked all the way.
 */
#include <errno.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/allocations.h"
#include "common/options.h"
#include "common/report.h"
#include "common/tunables.h"

enum { PRODUCERS_MAX = 64, WARM_UP_SHARE = 10 };

struct parcel {
	uint32_t producer;
	uint32_t number;
};
GYRE_MESSAGE(parcel, 0x100);

struct credit {
	uint64_t unused;
};
GYRE_MESSAGE(credit, 0x101);

struct settings {
	int64_t producers;
	int64_t messages;
	int64_t batch;
	int64_t window;
	int64_t loops;
	const char *cpus;
	bool apart;
	bool json;
};

static struct settings settings = {
	.producers = 8, .messages = 50000000, .batch = 256, .window = 2, .loops = 2
};

struct start {
	struct gyre_address consumer;
	uint32_t producer;
};
GYRE_MESSAGE(start, 0x102);

/* ---- a producer ---- */

struct producer {
	struct gyre_address consumer;
	uint32_t index;
	uint32_t sent;
};

static int send_batch(struct gyre_stack *stack, struct producer *self)
{
	for (int64_t i = 0; i < settings.batch; i++) {
		int r = gyre_notify(stack, self->consumer,
				    gyre_new(stack, parcel, self->index, self->sent++));

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int producer_notice(struct gyre_stack *stack)
{
	struct producer *self = gyre_state(stack);
	const struct start *start = gyre_message(stack, start);
	int64_t batches = 1;
	int r = 0;

	if (start != NULL) {
		*self = (struct producer){ start->consumer, start->producer, 0 };
		batches = settings.window;
	}
	while (r == 0 && batches-- > 0) {
		r = send_batch(stack, self);
	}
	return r == 0 ? gyre_return(stack) : gyre_throw(stack, r);
}

static const struct gyre_class producer_class = {
	.name = "producer",
	.state_bytes = sizeof(struct producer),
	.behaviour.notice = producer_notice,
};

/* ---- the consumer ---- */

struct consumer {
	uint64_t taken;
	uint64_t look_at; /* the count at which the measurement begins, and then ends */
	uint64_t start_ns;
	uint64_t allocations;
	bool measuring;
	bool done;
	uint32_t expected[PRODUCERS_MAX]; /* the next number of each */
};

static uint32_t loop_of(uint32_t producer)
{
	uint32_t loops = (uint32_t)settings.loops;

	return settings.apart ? loops - 1 : producer % loops;
}

/* Of all that came, how much came from the other loop. */
static double crossed_share(const struct consumer *self)
{
	uint64_t crossed = 0;

	for (uint32_t i = 0; i < (uint32_t)settings.producers; i++) {
		crossed += loop_of(i) == 0 ? 0 : self->expected[i];
	}
	return (double)crossed / (double)self->taken;
}

static void report(struct gyre_stack *stack, const struct consumer *self)
{
	double ns = (double)(gyre_now(stack) - self->start_ns);
	double messages = (double)settings.messages;
	struct perf_report out;

	perf_report_init(&out, "fanin");
	perf_report_number(&out, "messages_per_s", 1e9 * messages / ns);
	perf_report_number(&out, "ns_per_message", ns / messages);
	perf_report_number(&out, "crossed_share", crossed_share(self));
	perf_report_number(&out, "allocations",
			   (double)(perf_allocations(stack) - self->allocations));
	perf_report_number(&out, "producers", (double)settings.producers);
	perf_report_number(&out, "loops", (double)settings.loops);
	perf_report_print(&out, settings.json);
}

/* Begins the measurement, or ends it. */
static __attribute__((noinline)) void look(struct gyre_stack *stack, struct consumer *self)
{
	if (!self->measuring) {
		self->measuring = true;
		self->allocations = perf_allocations(stack);
		self->start_ns = gyre_now(stack);
		self->look_at += (uint64_t)settings.messages;
		return;
	}
	self->done = true;
	report(stack, self);
	gyre_system_stop(gyre_system_of(stack));
}

static int consumer_notice(struct gyre_stack *stack)
{
	struct consumer *self = gyre_state(stack);
	const struct parcel *parcel = gyre_message(stack, parcel);

	if (parcel->number != self->expected[parcel->producer]++) {
		abort();
	}
	if (++self->taken == self->look_at) {
		look(stack, self);
	}
	if (((parcel->number + 1) & ((uint32_t)settings.batch - 1)) == 0 && !self->done) {
		return gyre_notify(stack, gyre_sender(stack), gyre_new(stack, credit, 0));
	}
	return gyre_return(stack);
}

static int consumer_mount(struct gyre_stack *stack)
{
	struct consumer *self = gyre_state(stack);

	self->look_at = (uint64_t)(settings.messages / WARM_UP_SHARE) + 1;
	return gyre_return(stack);
}

static const struct gyre_class consumer_class = {
	.name = "consumer",
	.state_bytes = sizeof(struct consumer),
	.mount = consumer_mount,
	.behaviour.notice = consumer_notice,
};

/* ---- setting up ---- */

static int add_producer(struct gyre_system *system, struct gyre_address consumer, uint32_t index)
{
	struct gyre_spawn_options place = {
		.place = GYRE_PLACE_LOOP,
		.loop = (uint16_t)loop_of(index),
	};
	struct gyre_address producer;
	int r = gyre_system_spawn(system, &producer_class, GYRE_NO_ARGUMENT, &place, &producer);

	if (r == 0) {
		r = gyre_system_notify(system, producer,
				       gyre_system_new(system, start, consumer, index));
	}
	return r;
}

static int build(struct gyre_system *system)
{
	struct gyre_spawn_options here = { .place = GYRE_PLACE_LOOP, .loop = 0 };
	struct gyre_address consumer;
	int r = gyre_system_spawn(system, &consumer_class, GYRE_NO_ARGUMENT, &here, &consumer);

	for (uint32_t i = 0; r == 0 && i < (uint32_t)settings.producers; i++) {
		r = add_producer(system, consumer, i);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct gyre_system_options system_options = { 0 };
	const struct perf_option options[] = {
		{ "producers", PERF_OPTION_NUMBER, "actors that send", &settings.producers, 1,
		  PRODUCERS_MAX, NULL },
		{ "messages", PERF_OPTION_NUMBER, "how many to measure", &settings.messages, 1,
		  INT64_MAX / 2, NULL },
		{ "batch", PERF_OPTION_NUMBER, "messages for a credit, a power of two",
		  &settings.batch, 1, 1 << 16, NULL },
		{ "window", PERF_OPTION_NUMBER, "credits of each producer", &settings.window, 1, 64,
		  NULL },
		{ "loops", PERF_OPTION_NUMBER, "that the producers are dealt out to",
		  &settings.loops, 1, 2, NULL },
		{ "apart", PERF_OPTION_FLAG, "all producers on the last loop", &settings.apart, 0,
		  0, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		PERF_TUNABLES(&system_options),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system *system = NULL;
	int r;

	perf_options_parse(argc, argv, "notices of many actors to one", options,
			   sizeof(options) / sizeof(options[0]));
	if ((settings.batch & (settings.batch - 1)) != 0) {
		return perf_fail("--batch is no power of two", -EINVAL);
	}
	system_options.loops = (uint32_t)settings.loops;
	system_options.cpus = settings.cpus;
	r = gyre_system_create(&system_options, &system);
	if (r == 0) {
		r = build(system);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : perf_fail("fanin", r);
}
