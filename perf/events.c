/*
 * Events: one actor publishes to several that have subscribed, a batch at a time; when all have
 * had it they give a credit for the next. By hand the publisher keeps the addresses of the others
 * and notifies each, which is what the event stream saves. Subscribers look at the number of every
 * event: none may be missed.
 */
#include <errno.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/allocations.h"
#include "common/options.h"
#include "common/report.h"
#include "common/tunables.h"

enum { SUBSCRIBERS_MAX = 4096, WARM_UP_SHARE = 10 };

struct parcel {
	uint64_t number;
};
GYRE_MESSAGE(parcel, 0x100);

struct credit {
	uint64_t unused;
};
GYRE_MESSAGE(credit, 0x101);

/* Of a subscriber: it has subscribed. */
struct ready {
	uint64_t unused;
};
GYRE_MESSAGE(ready, 0x102);

struct settings {
	int64_t subscribers;
	int64_t events;
	int64_t batch;
	int64_t window;
	int64_t loops;
	const char *cpus;
	bool apart;
	bool by_hand;
	bool json;
};

static struct settings settings = {
	.subscribers = 8, .events = 20000000, .batch = 256, .window = 2, .loops = 2
};

/* ---- a subscriber ---- */

struct subscriber {
	struct gyre_address publisher;
	uint64_t expected;
};

static int subscriber_mount(struct gyre_stack *stack)
{
	struct subscriber *self = gyre_state(stack);
	int r = 0;

	self->publisher = gyre_parent(stack);
	if (!settings.by_hand) {
		r = gyre_subscribe(stack, &gyre_type_parcel, gyre_event_key_of(NULL), NULL);
	}
	return r < 0 ? gyre_throw(stack, r)
		     : gyre_notify(stack, self->publisher, gyre_new(stack, ready, 0));
}

static int subscriber_parcel(struct gyre_stack *stack)
{
	struct subscriber *self = gyre_state(stack);
	const struct parcel *parcel = gyre_message(stack, parcel);

	if (parcel == NULL || parcel->number != self->expected++) {
		abort();
	}
	if ((self->expected & ((uint64_t)settings.batch - 1)) == 0) {
		return gyre_notify(stack, self->publisher, gyre_new(stack, credit, 0));
	}
	return gyre_return(stack);
}

static const struct gyre_class subscriber_class = {
	.name = "subscriber",
	.state_bytes = sizeof(struct subscriber),
	.mount = subscriber_mount,
	.behaviour = { .notice = subscriber_parcel, .event = subscriber_parcel },
};

/* ---- the publisher ---- */

struct publisher {
	struct gyre_address subscribers[SUBSCRIBERS_MAX];
	uint32_t ready;
	int64_t credits;
	uint64_t sent;
	uint64_t acknowledged;
	uint64_t look_at;
	uint64_t start_ns;
	uint64_t allocations;
	bool measuring;
};

static int send_to_each(struct gyre_stack *stack, const struct publisher *self)
{
	int r = 0;

	for (int64_t i = 0; r == 0 && i < settings.subscribers; i++) {
		r = gyre_notify(stack, self->subscribers[i], gyre_new(stack, parcel, self->sent));
	}
	return r;
}

static int publish(struct gyre_stack *stack, const struct publisher *self)
{
	int r = gyre_publish(stack, gyre_new(stack, parcel, self->sent), gyre_event_key_of(NULL));

	return r < 0 || r == settings.subscribers ? r : -EPROTO;
}

static int send_batch(struct gyre_stack *stack, struct publisher *self)
{
	int r = 0;

	for (int64_t i = 0; r >= 0 && i < settings.batch; i++) {
		r = settings.by_hand ? send_to_each(stack, self) : publish(stack, self);
		self->sent++;
	}
	return r < 0 ? r : 0;
}

static void report(struct gyre_stack *stack, const struct publisher *self)
{
	double ns = (double)(gyre_now(stack) - self->start_ns);
	double copies = (double)settings.events * (double)settings.subscribers;
	struct perf_report out;

	perf_report_init(&out, "events");
	perf_report_number(&out, "messages_per_s", 1e9 * copies / ns);
	perf_report_number(&out, "ns_per_message", ns / copies);
	perf_report_number(&out, "allocations",
			   (double)(perf_allocations(stack) - self->allocations));
	perf_report_number(&out, "subscribers", (double)settings.subscribers);
	perf_report_number(&out, "loops", (double)settings.loops);
	perf_report_print(&out, settings.json);
}

/* All have had another batch. Begins the measurement, or ends it. */
static void look(struct gyre_stack *stack, struct publisher *self)
{
	self->acknowledged += (uint64_t)settings.batch;
	if (self->acknowledged < self->look_at) {
		return;
	}
	if (!self->measuring) {
		self->measuring = true;
		self->allocations = perf_allocations(stack);
		self->start_ns = gyre_now(stack);
		self->look_at += (uint64_t)settings.events;
		return;
	}
	report(stack, self);
	self->look_at = UINT64_MAX;
	gyre_system_stop(gyre_system_of(stack));
}

static int begin(struct gyre_stack *stack, struct publisher *self)
{
	int r = 0;

	for (int64_t i = 0; r == 0 && i < settings.window; i++) {
		r = send_batch(stack, self);
	}
	return r;
}

static int publisher_notice(struct gyre_stack *stack)
{
	struct publisher *self = gyre_state(stack);
	int r = 0;

	if (gyre_message(stack, ready) != NULL) {
		r = ++self->ready == settings.subscribers ? begin(stack, self) : 0;
	} else if (++self->credits == settings.subscribers) {
		self->credits = 0;
		look(stack, self);
		r = send_batch(stack, self);
	}
	return r == 0 ? gyre_return(stack) : gyre_throw(stack, r);
}

static int publisher_mount(struct gyre_stack *stack)
{
	struct publisher *self = gyre_state(stack);
	uint32_t loops = (uint32_t)settings.loops;
	int r = 0;

	self->look_at = (uint64_t)(settings.events / WARM_UP_SHARE) + 1;
	for (uint32_t i = 0; r == 0 && i < (uint32_t)settings.subscribers; i++) {
		struct gyre_spawn_options place = { .place = GYRE_PLACE_LOOP,
						    .loop = settings.apart ? loops - 1
									   : i % loops };

		r = gyre_spawn(stack, &subscriber_class, GYRE_NO_ARGUMENT, &place,
			       &self->subscribers[i]);
	}
	return r == 0 ? gyre_return(stack) : gyre_throw(stack, r);
}

static const struct gyre_class publisher_class = {
	.name = "publisher",
	.state_bytes = sizeof(struct publisher),
	.mount = publisher_mount,
	.behaviour.notice = publisher_notice,
};

int main(int argc, char **argv)
{
	struct gyre_system_options system_options = { 0 };
	const struct perf_option options[] = {
		{ "subscribers", PERF_OPTION_NUMBER, "actors that have subscribed",
		  &settings.subscribers, 1, SUBSCRIBERS_MAX, NULL },
		{ "events", PERF_OPTION_NUMBER, "how many to measure", &settings.events, 1,
		  INT64_MAX / 2, NULL },
		{ "batch", PERF_OPTION_NUMBER, "events for a credit, a power of two",
		  &settings.batch, 1, 256, NULL },
		{ "window", PERF_OPTION_NUMBER, "batches under way", &settings.window, 1, 4, NULL },
		{ "loops", PERF_OPTION_NUMBER, "that the subscribers are dealt out to",
		  &settings.loops, 1, 2, NULL },
		{ "apart", PERF_OPTION_FLAG, "all subscribers on the last loop", &settings.apart, 0,
		  0, NULL },
		{ "by-hand", PERF_OPTION_FLAG, "the publisher notifies each by its address",
		  &settings.by_hand, 0, 0, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPUs for the loops, as 0-3,8", &settings.cpus, 0, 0,
		  NULL },
		PERF_TUNABLES(&system_options),
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	const struct gyre_spawn_options here = { .place = GYRE_PLACE_LOOP, .loop = 0 };
	struct gyre_system *system = NULL;
	struct gyre_address publisher;
	int r;

	perf_options_parse(argc, argv, "events of one actor to many", options,
			   sizeof(options) / sizeof(options[0]));
	if ((settings.batch & (settings.batch - 1)) != 0) {
		return perf_fail("--batch is no power of two", -EINVAL);
	}
	system_options.loops = (uint32_t)settings.loops;
	system_options.cpus = settings.cpus;
	r = gyre_system_create(&system_options, &system);
	if (r == 0) {
		r = gyre_system_spawn(system, &publisher_class, GYRE_NO_ARGUMENT, &here,
				      &publisher);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : perf_fail("events", r);
}
