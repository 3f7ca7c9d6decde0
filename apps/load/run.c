/*
 * The leader: an actor that takes all loops through the run, step by step: until the connections
 * are made, through the warm-up, the measurement, and the wait for what is still under way. It asks
 * the pacers for their counts, which is how it knows, and prints progress from them.
 *
 * The first SIGINT, SIGTERM or SIGHUP ends the measurement early, and what was measured is
 * reported. One that comes during the wait for what is under way ends that.
 */
#include <signal.h>
#include <sys/resource.h>

#include "load.h"

static const uint64_t soon_ns = GYRE_MILLISECONDS(5);
static const uint64_t progress_ns = GYRE_SECONDS(1);
/* What sends a signal may send it twice, as timeout(1) does. */
static const uint64_t same_ns = GYRE_MILLISECONDS(100);

struct leader {
	struct load *load;
	enum load_step step;
	uint64_t step_ns;    /* when it began */
	uint64_t printed_ns; /* when progress was printed, as of @printed */
	struct load_counts printed;
	bool interrupted; /* since the beginning, or that of LOAD_DRAIN */
};

struct leader_frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_future third;
	uint64_t loop;
};

static struct leader *leader_of(struct gyre_stack *stack)
{
	return (struct leader *)gyre_state(stack);
}

static void add(struct load_counts *sum, const struct load_counts *counts)
{
	sum->requests += counts->requests;
	sum->lost += counts->lost;
	sum->unsent += counts->unsent;
	sum->settled += counts->settled;
	sum->open += counts->open;
	sum->under_way += counts->under_way;
	for (int i = 0; i < LOAD_ERRORS; i++) {
		sum->errors[i] += counts->errors[i];
	}
	sum->other = counts->other != 0 ? counts->other : sum->other;
	if (counts->elapsed_ns > sum->elapsed_ns) {
		sum->elapsed_ns = counts->elapsed_ns;
	}
}

/* ---- steps ---- */

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * GYRE_SECONDS(1) +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void take_step(struct gyre_stack *stack, enum load_step step)
{
	struct leader *self = leader_of(stack);
	struct load *load = self->load;

	if (step == LOAD_MEASURE || step == LOAD_DRAIN) {
		load->cpu_ns = cpu_ns() - load->cpu_ns;
	}
	self->step = step;
	self->interrupted = self->interrupted && step != LOAD_DRAIN;
	self->step_ns = gyre_now(stack);
	self->printed_ns = self->step_ns;
	self->printed = (struct load_counts){ 0 };
	for (uint64_t i = 0; i < load->settings.loops; i++) {
		(void)gyre_notify(stack, load->loops[i].pacer, gyre_new(stack, load_order, step));
	}
}

static void print_progress(struct leader *self, uint64_t now_ns)
{
	const struct load_settings *settings = &self->load->settings;

	if (!settings->json && now_ns - self->printed_ns >= progress_ns) {
		load_print_progress(&self->printed, &self->load->total, self->step,
				    (double)(now_ns - self->printed_ns) / 1e9);
		self->printed = self->load->total;
		self->printed_ns = now_ns;
	}
}

/* Whether the present step is over, as the counts and the time say. */
static bool is_over(const struct leader *self, uint64_t now_ns)
{
	const struct load_settings *settings = &self->load->settings;
	const struct load_counts *total = &self->load->total;
	bool lost_all = total->open == 0 && !settings->reconnect;
	uint64_t past_ns = now_ns - self->step_ns;

	switch (self->step) {
	case LOAD_CONNECT:
		return self->interrupted || total->settled >= settings->connections;
	case LOAD_WARM_UP:
		return self->interrupted || lost_all || past_ns >= settings->warmup_ns;
	case LOAD_MEASURE:
		return self->interrupted || lost_all || past_ns >= settings->duration_ns;
	case LOAD_DRAIN:
		return self->interrupted || total->under_way == 0 ||
		       past_ns >= settings->timeout_ns;
	case LOAD_DONE:
		break;
	}
	return true;
}

static void advance(struct gyre_stack *stack)
{
	struct leader *self = leader_of(stack);
	uint64_t now_ns = gyre_now(stack);

	print_progress(self, now_ns);
	if (is_over(self, now_ns)) {
		take_step(stack, (enum load_step)(self->step + 1));
	}
}

/* How long to wait for the next look: not beyond the end of a step. */
static uint64_t pause_ns(struct gyre_stack *stack)
{
	const struct leader *self = leader_of(stack);
	const struct load_settings *settings = &self->load->settings;
	uint64_t step_ns = self->step == LOAD_WARM_UP ? settings->warmup_ns : settings->duration_ns;
	uint64_t past_ns = gyre_now(stack) - self->step_ns;
	uint64_t left_ns = past_ns < step_ns ? step_ns - past_ns : 0;

	if (self->step != LOAD_WARM_UP && self->step != LOAD_MEASURE) {
		return soon_ns;
	}
	return left_ns < progress_ns / 10 ? left_ns : progress_ns / 10;
}

/* The run is a notice of its own, for signals are not heard before the mount has ended. */
static int prepare(struct gyre_stack *stack)
{
	struct leader_frame *frame = (struct leader_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	leader_of(stack)->load = gyre_message(stack, load_leader_start)->load;
	GYRE_AWAIT(stack, gyre_signal_watch(stack, SIGINT, &frame->future) |
				  gyre_signal_watch(stack, SIGTERM, &frame->other) |
				  gyre_signal_watch(stack, SIGHUP, &frame->third));
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, load_begin, 0));
	GYRE_END(stack);
}

static int lead(struct gyre_stack *stack)
{
	struct leader *self = leader_of(stack);
	struct leader_frame *frame = (struct leader_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	take_step(stack, LOAD_CONNECT);
	while (self->step != LOAD_DONE) {
		GYRE_AWAIT(stack, gyre_sleep(stack, pause_ns(stack), &frame->future));
		self->load->total = (struct load_counts){ 0 };
		for (frame->loop = 0; frame->loop < self->load->settings.loops; frame->loop++) {
			GYRE_AWAIT(stack, gyre_ask(stack, self->load->loops[frame->loop].pacer,
						   gyre_new(stack, load_counts_wanted, 0),
						   GYRE_FOREVER, &frame->future));
			if (gyre_future_failed(&frame->future)) {
				return gyre_throw(stack, gyre_future_error(&frame->future));
			}
			add(&self->load->total, gyre_future_get(&frame->future, load_counts));
		}
		advance(stack);
	}
	gyre_system_stop(gyre_system_of(stack));
	GYRE_END(stack);
}

static int interrupt(struct gyre_stack *stack)
{
	struct leader *self = leader_of(stack);
	bool is_same = self->step == LOAD_DRAIN && gyre_now(stack) - self->step_ns < same_ns;

	self->interrupted = self->interrupted || !is_same;
	return gyre_return(stack);
}

static const struct gyre_route notices[] = {
	GYRE_ROUTE(load_begin, lead),
	GYRE_ROUTE_END,
};
static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_signal, interrupt),
	GYRE_ROUTE_END,
};

const struct gyre_class load_leader_class = {
	.name = "leader",
	.state_bytes = sizeof(struct leader),
	.frame_bytes = sizeof(struct leader_frame),
	.mount = prepare,
	.behaviour = { .notice_routes = notices, .event_routes = events },
	.strategy = GYRE_STRATEGY_SHUT_DOWN,
};
