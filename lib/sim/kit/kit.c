/*
 * A test from its begin to its end: a simulation with one host, whose boot function makes the
 * system, calls the test, looks for what was lost, and stops the system again. Failures are told on
 * the host, where the call was made; only that a test does not end is told from outside.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/macros.h"
#include "sim/kit/kit.h"
#include "sim/scheduler.h"

static const uint64_t time_ns_default = GYRE_SECONDS(3600);
static const uint64_t under_way_ns = GYRE_MILLISECONDS(10);
static const uint64_t on_its_way_max_ns = GYRE_SECONDS(60);

/* ---- failures ---- */

static void print_and_abort(const struct gyre_test *test, const char *place, const char *text)
{
	const struct gyre_sim_options *sim = test->options->sim;

	(void)fprintf(stderr, "%s: %s (seed %" PRIu64 ")\n", place, text,
		      sim == NULL ? 0 : sim->seed);
	abort();
}

void gy_test_fail(struct gyre_test *test, const char *place, const char *format, ...)
{
	char text[GY_TEST_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	test->failures++;
	gy_sim_trace(test->sim, NULL, "the test fails: %s", text);
	if (test->sim->trace != NULL) {
		(void)fflush(test->sim->trace); /* the process may end now */
	}
	if (test->options->failure != NULL) {
		test->options->failure(place, text, test->options->failure_arg);
	} else {
		print_and_abort(test, place, text);
	}
}

void gyre_test_fail_at(struct gyre_test *test, const char *place, const char *text)
{
	gy_test_fail(test, place, "%s", text);
}

/* ---- waiting ---- */

uint64_t gy_test_until(const struct gyre_test *test, uint64_t ns)
{
	return gy_time_add(test->sim->now_ns, ns);
}

bool gy_test_wait(struct gyre_test *test, uint64_t until_ns)
{
	(void)gy_sim_wait(&test->changed, until_ns, "what is to be tested");
	return test->sim->now_ns < until_ns;
}

bool gy_test_wait_until(struct gyre_test *test, const bool *is_so)
{
	uint64_t until_ns = gy_test_until(test, on_its_way_max_ns);
	bool in_time = true;

	while (!*is_so && in_time) {
		in_time = gy_test_wait(test, until_ns);
	}
	return *is_so;
}

struct gy_list *gy_test_first(struct gyre_test *test, const struct gy_list *list, uint64_t until_ns)
{
	bool in_time = true;

	while (gy_list_empty(list) && in_time) {
		in_time = gy_test_wait(test, until_ns);
	}
	return gy_list_empty(list) ? NULL : list->next;
}

void gy_test_changed(struct gyre_test *test)
{
	gy_sim_wake_all(&test->changed);
}

void gyre_test_advance(struct gyre_test *test, uint64_t ns)
{
	uint64_t until_ns = gy_test_until(test, ns);

	while (gy_test_wait(test, until_ns)) {
		continue;
	}
}

/* ---- what a test is made of ---- */

struct gyre_system *gyre_test_system(const struct gyre_test *test)
{
	return test->system;
}

struct gyre_sim *gyre_test_sim(const struct gyre_test *test)
{
	return test->sim;
}

struct gyre_address gyre_test_spawn_at(struct gyre_test *test, const struct gyre_class *actor_class,
				       struct gyre_mail *argument, const char *place)
{
	struct gyre_address address = GYRE_NOBODY;
	int r = gyre_system_spawn(test->system, actor_class, argument, NULL, &address);

	if (r < 0) {
		gy_test_fail(test, place, "the actor cannot be made: %s", strerrordesc_np(-r));
		return GYRE_NOBODY;
	}
	return address;
}

void gyre_test_fail_allocation(struct gyre_test *test, uint64_t number)
{
	gy_sim_allocations_fail(test->host, number);
}

bool gyre_test_recover(struct gyre_test *test)
{
	return gy_sim_allocations_recover(test->host);
}

/* ---- the host ---- */

static int start_system(struct gyre_test *test)
{
	struct gyre_system_options options = { .loops = 0 };
	int r;

	if (test->options->system != NULL) {
		options = *test->options->system;
	}
	options.loops = options.loops == 0 ? 1 : options.loops;
	options.dead_letter = gy_test_dead_letter;
	options.dead_letter_arg = test;
	r = gyre_system_create(&options, &test->system);
	return r < 0 ? r : gyre_system_start(test->system);
}

static int boot(void *arg)
{
	struct gyre_test *test = (struct gyre_test *)arg;

	test->error = start_system(test);
	if (test->error == 0) {
		test->body(test, test->arg);
		(void)gyre_test_recover(test);
		gyre_test_advance(test, under_way_ns);
		gy_test_tell_dead(test);
	}
	test->body_ended = true;
	gy_test_free_channels(test);
	gyre_system_destroy(test->system);
	gy_test_free_probes(test);
	gy_test_free_taps(test);
	return test->error;
}

/* ---- the whole ---- */

static bool has_ended(void *arg)
{
	return !((const struct gyre_test *)arg)->host->up;
}

/* Fails the test for what the host has allocated and not given back. */
static void tell_leaks(struct gyre_test *test)
{
	size_t bytes;
	uint32_t count = gy_sim_memory_out(test->host, &bytes);

	if (count > 0 && !test->options->allow_leaks) {
		gy_test_fail(test, "gyre_test_run()",
			     "%u pieces of memory of gyre, %zu bytes, were not given back: mails, "
			     "buffers or shared bytes",
			     count, bytes);
	}
}

/* Runs the host to its end. */
static void go(struct gyre_test *test)
{
	uint64_t most_ns =
		test->options->time_ns_max == 0 ? time_ns_default : test->options->time_ns_max;
	int r = gyre_sim_run_until(test->sim, has_ended, test, most_ns);

	if (r == -ETIMEDOUT && test->body_ended) {
		r = gyre_sim_run_until(test->sim, has_ended, test, time_ns_default);
	}
	if (r == -ETIMEDOUT) {
		gy_test_fail(test, "gyre_test_run()",
			     "the %s not ended after %" PRIu64 " ms (time_ns_max)",
			     test->body_ended ? "system has" : "test has",
			     test->sim->now_ns / GYRE_MILLISECONDS(1));
	} else if (r < 0) {
		gy_test_fail(test, "gyre_test_run()", "the simulation has failed: %s",
			     gyre_sim_failure(test->sim));
	} else if (!test->body_ended) {
		gy_test_fail(test, "gyre_test_run()",
			     "the host has ended before the test, as by exit()");
	} else {
		tell_leaks(test);
	}
}

static void init(struct gyre_test *test, const struct gyre_test_options *options, gyre_test_fn body,
		 void *arg)
{
	*test = (struct gyre_test){ .options = options, .body = body, .arg = arg };
	gy_sim_queue_init(&test->changed);
	gy_list_init(&test->probes);
	gy_list_init(&test->channels);
	gy_list_init(&test->taps);
}

int gyre_test_run(const struct gyre_test_options *options, gyre_test_fn body, void *arg)
{
	static const struct gyre_test_options none;
	struct gyre_test *test;
	uint32_t host;
	int r;

	if (body == NULL || gy_sim_here != NULL) {
		return -EINVAL;
	}
	test = (struct gyre_test *)gy_sim_get(sizeof(*test));
	init(test, options == NULL ? &none : options, body, arg);
	r = gyre_sim_create(test->options->sim, &test->sim);
	r = r < 0 ? r : gyre_sim_host(test->sim, "test", boot, test, &host);
	if (r == 0) {
		test->host = test->sim->hosts[host];
		gy_sim_host_set_skew(test->host, 0);
		go(test);
	}
	gyre_sim_destroy(test->sim);
	/* After a test that did not end. */
	gy_test_free_probes(test);
	gy_test_free_taps(test);
	gy_test_free_channels(test);
	if (r == 0) {
		r = test->error < 0 ? test->error : test->failures > 0 ? -ENOTRECOVERABLE : 0;
	}
	gy_sim_put(test);
	return r;
}
