/*
 * Mail from threads that are no loop's: each of a few threads sends notices as fast as it can to an
 * actor on a loop that is awake, or asks it and waits for each answer. No more than a window of
 * notices is under way at once, so that what is measured is what arrives.
 *
 * The first notice holds the actor until each thread has filled its window. So all memory that
 * notices under way can take is there before the measurement, however the threads are scheduled.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <gyre/gyre.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { THREADS_MAX = 64, SHOW_EVERY = 256 };
/* Notices of a thread beyond its window: what it sends between two looks, and what has been handled
 * and is not on its way home yet. */
enum { FILL_MORE = 2 * SHOW_EVERY };

struct parcel {
	uint64_t number;
};
GYRE_MESSAGE(parcel, 0x100);

struct hold {
	char none;
};
GYRE_MESSAGE(hold, 0x101);

struct settings {
	int64_t threads;
	int64_t notices;
	int64_t asks;
	int64_t window;
	const char *cpus;
	bool pin;
	bool json;
};

/* Written by the actor, read by the threads. */
static uint64_t arrived __attribute__((aligned(64)));

/* Allocations when all threads were past their first windows, or their first asks. */
static uint64_t allocated_before;
static uint32_t steady_threads;

/* Threads that have filled their windows, and when the last one had; until then the actor is held.
 */
static uint32_t full_threads;
static uint64_t full_ns;

static struct settings settings = { .threads = 1, .notices = 20000000, .window = 16384 };
static struct gyre_system *current;
static struct gyre_address receiver;

/* ---- the actor ---- */

static int wait_until_full(struct gyre_stack *stack)
{
	while (__atomic_load_n(&full_threads, __ATOMIC_ACQUIRE) < settings.threads) {
		perf_relax();
	}
	return gyre_return(stack);
}

static int take_notice(struct gyre_stack *stack)
{
	uint64_t *count = gyre_state(stack);

	if (gyre_message(stack, hold) != NULL) {
		return wait_until_full(stack);
	}
	if (++*count % SHOW_EVERY == 0) {
		__atomic_store_n(&arrived, *count, __ATOMIC_RELEASE);
	}
	return gyre_return(stack);
}

static int take_ask(struct gyre_stack *stack)
{
	const struct parcel *parcel = gyre_message(stack, parcel);

	return gyre_reply(stack, gyre_new(stack, parcel, parcel->number + 1));
}

static const struct gyre_class receiver_class = {
	.name = "receiver",
	.state_bytes = sizeof(uint64_t),
	.behaviour = { .notice = take_notice, .ask = take_ask },
};

/* ---- the threads ---- */

static uint64_t allocations(void)
{
	struct gyre_counters counters = { 0 };

	(void)gyre_system_counters(current, &counters);
	return counters.allocations;
}

/* From here on nothing new is to be allocated. */
static void reach_steady_state(void)
{
	if (__atomic_add_fetch(&steady_threads, 1, __ATOMIC_ACQ_REL) == settings.threads) {
		__atomic_store_n(&allocated_before, allocations(), __ATOMIC_RELEASE);
	}
}

/* How many of its notices a thread sends before the actor takes any. */
static uint64_t fill_of(uint64_t count)
{
	uint64_t window = (uint64_t)(settings.window / settings.threads) + FILL_MORE;

	return window < count / 4 ? window : count / 4;
}

static void fill(uint64_t notices)
{
	for (uint64_t i = 0; i < notices; i++) {
		(void)gyre_system_notify(current, receiver, gyre_system_new(current, parcel, i));
	}
	__atomic_store_n(&full_ns, perf_now_ns(), __ATOMIC_RELAXED);
	(void)__atomic_add_fetch(&full_threads, 1, __ATOMIC_ACQ_REL);
}

static void send_notices(uint64_t count)
{
	uint64_t threads = (uint64_t)settings.threads;
	uint64_t window = (uint64_t)settings.window / threads;
	uint64_t filled = fill_of(count);

	fill(filled);
	for (uint64_t i = filled; i < count; i++) {
		if (i == count / 4) {
			reach_steady_state();
		}
		if (i % SHOW_EVERY == 0) {
			while (i > __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) / threads + window) {
				perf_relax();
			}
		}
		(void)gyre_system_notify(current, receiver, gyre_system_new(current, parcel, i));
	}
}

static void ask_in_turn(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct gyre_mail *answer = NULL;

		if (i == count / 4) {
			reach_steady_state();
		}
		if (gyre_system_ask(current, receiver, gyre_system_new(current, parcel, i), 0,
				    &answer) < 0) {
			abort();
		}
		gyre_mail_destroy(NULL, answer);
	}
}

static void *run_thread(void *arg)
{
	if (settings.pin) {
		(void)perf_pin(1);
	}
	if (settings.asks > 0) {
		ask_in_turn((uint64_t)(settings.asks / settings.threads));
	} else {
		send_notices(*(const uint64_t *)arg);
	}
	return NULL;
}

static int run_threads(uint64_t notices_each)
{
	pthread_t threads[THREADS_MAX];

	for (int64_t i = 0; i < settings.threads; i++) {
		int r = -pthread_create(&threads[i], NULL, run_thread, &notices_each);

		if (r < 0) {
			return r;
		}
	}
	for (int64_t i = 0; i < settings.threads; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	return 0;
}

static void report_rate(struct perf_report *report, const char *key, uint64_t count, uint64_t ns)
{
	perf_report_number(report, key, (double)count * 1e9 / (double)ns);
	perf_report_number(report, "ns_each", (double)ns / (double)count);
}

/* Three quarters of @sent were sent in the steady state. */
static void report_allocations(struct perf_report *report, uint64_t sent)
{
	perf_report_number(report, "allocations_each",
			   (double)(allocations() - allocated_before) * 4 / 3 / (double)sent);
}

static int run_notices(struct perf_report *report, uint64_t each)
{
	uint64_t sent = each * (uint64_t)settings.threads;
	uint64_t timed = sent - fill_of(each) * (uint64_t)settings.threads;
	int r = gyre_system_notify(current, receiver, gyre_system_new(current, hold, 0));

	r = r < 0 ? r : run_threads(each);
	if (r < 0) {
		__atomic_store_n(&full_threads, THREADS_MAX, __ATOMIC_RELEASE);
	}
	while (r == 0 && __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < sent) {
		perf_relax();
	}
	report_rate(report, "notices_per_s", timed, perf_now_ns() - full_ns);
	report_allocations(report, sent);
	return r;
}

static int run_asks(struct perf_report *report)
{
	uint64_t start_ns = perf_now_ns();
	int r = run_threads(0);

	report_rate(report, "asks_per_s", (uint64_t)settings.asks, perf_now_ns() - start_ns);
	report_allocations(report, (uint64_t)settings.asks);
	return r;
}

static int measure(void)
{
	uint64_t each =
		(uint64_t)settings.notices / (uint64_t)settings.threads / SHOW_EVERY * SHOW_EVERY;
	struct perf_report report;
	int r;

	perf_report_init(&report, "outside");
	perf_report_number(&report, "threads", (double)settings.threads);
	r = settings.asks > 0 ? run_asks(&report) : run_notices(&report, each);
	perf_report_print(&report, settings.json);
	return r;
}

int main(int argc, char **argv)
{
	const struct perf_option options[] = {
		{ "threads", PERF_OPTION_NUMBER, "that send", &settings.threads, 1, THREADS_MAX,
		  NULL },
		{ "notices", PERF_OPTION_NUMBER, "how many in all", &settings.notices, SHOW_EVERY,
		  INT64_MAX / 2, NULL },
		{ "asks", PERF_OPTION_NUMBER, "ask so often, and wait each time, instead",
		  &settings.asks, 0, INT64_MAX / 2, NULL },
		{ "window", PERF_OPTION_NUMBER, "notices under way at once", &settings.window,
		  1 << 10, 1 << 24, NULL },
		{ "cpus", PERF_OPTION_STRING, "CPU for the loop", &settings.cpus, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind the threads to CPU 1", &settings.pin, 0, 0, NULL },
		{ "json", PERF_OPTION_FLAG, "one JSON object", &settings.json, 0, 0, NULL },
	};
	struct gyre_system_options system_options;
	int r;

	perf_options_parse(argc, argv, "mail from threads outside of a system", options,
			   sizeof(options) / sizeof(options[0]));
	system_options = (struct gyre_system_options){ .loops = 1, .cpus = settings.cpus };
	r = gyre_system_create(&system_options, &current);
	if (r == 0) {
		r = gyre_system_spawn(current, &receiver_class, GYRE_NO_ARGUMENT, NULL, &receiver);
	}
	if (r == 0) {
		r = gyre_system_start(current);
	}
	if (r == 0) {
		r = measure();
	}
	gyre_system_destroy(current);
	return r == 0 ? EXIT_SUCCESS : perf_fail("outside", r);
}
