/*
 * What stress programs share. They have their own random numbers, end with 1 and one line when
 * something does not hold, and are killed when they hang.
 */
#ifndef GY_TEST_STRESS_H
#define GY_TEST_STRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/stack.h>
#include <gyre/system.h>
#include <gyre/timer.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/random.h"

enum { STRESS_HANG_SECONDS = 90 };

#define check(condition) ((condition) ? (void)0 : stress_failed(__FILE__, __LINE__, #condition))

static inline void stress_failed(const char *file, int line, const char *what)
{
	(void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	_exit(1);
}

/* A seed from the command line repeats the choices of a run and its planted delays, though not its
 * timing. */
static inline uint64_t stress_begin(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : gy_clock_machine_ns();

	(void)alarm(STRESS_HANG_SECONDS);
	(void)printf("seed %llu\n", (unsigned long long)seed);
	(void)fflush(stdout);
#if GY_PLANTED_DELAYS
	gy_delay_seed(seed);
#endif
	return seed;
}

/* From 0 to below @limit. */
static inline uint32_t stress_random(uint64_t *state, uint32_t limit)
{
	return (uint32_t)(gy_random_next(state) >> 33) % limit;
}

/* Spends up to @iterations doing nothing, so that threads meet in ever new places. */
static inline void stress_dawdle(uint64_t *state, uint32_t iterations)
{
	for (uint32_t i = stress_random(state, iterations); i > 0; i--) {
		gy_pause();
	}
}

/* Mail that its maker wrote byte by byte, so that a missing order of memory shows. */
struct load {
	uint64_t value;
	uint64_t words[12];
};
GYRE_MESSAGE(load, 0x2001);

static inline struct gyre_mail *load_fill(struct gyre_mail *mail, uint64_t value)
{
	struct load *load;

	if (mail == NULL) {
		return NULL;
	}
	load = (struct load *)gyre_payload(mail);
	load->value = value;
	for (uint64_t i = 0; i < 12; i++) {
		load->words[i] = value * (i + 3);
	}
	return mail;
}

static inline uint64_t load_check(const struct load *load)
{
	check(load != NULL);
	for (uint64_t i = 0; i < 12; i++) {
		check(load->words[i] == load->value * (i + 3));
	}
	return load->value;
}

static inline struct gyre_mail *load_new(struct gyre_stack *stack, uint64_t value)
{
	return load_fill(gyre_mail_create(stack, &gyre_type_load), value);
}

static inline struct gyre_mail *load_new_outside(struct gyre_system *system, uint64_t value)
{
	return load_fill(gyre_system_mail_create(system, &gyre_type_load), value);
}

/* The mount of an actor that sends, whose state begins with its random numbers: takes their seed
 * from the load that is its argument, and sends it the first load. */
static inline int stress_start(struct gyre_stack *stack)
{
	*(uint64_t *)gyre_state(stack) = load_check(gyre_message(stack, load));
	return gyre_notify(stack, gyre_self(stack), load_new(stack, 0));
}

static inline void stress_log(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		(void)fprintf(stderr, "logged: %s\n", line->text);
		_exit(1);
	}
}

static inline struct gyre_system *stress_create(uint32_t loops)
{
	const struct gyre_system_options options = {
		.loops = loops,
		.spin_ns = GYRE_SPIN_NEVER,
		.buffer_count = 16,
		.log = stress_log,
	};
	struct gyre_system *system = NULL;

	check(gyre_system_create(&options, &system) == 0);
	return system;
}

/* One of @unfinished is done; the last ends the system. */
static inline void stress_finish(struct gyre_stack *stack, uint32_t *unfinished)
{
	if (gy_fetch_add(unfinished, -1U) == 1) {
		gyre_system_stop(gyre_system_of(stack));
	}
}

static inline struct gyre_address stress_spawn(struct gyre_system *system,
					       const struct gyre_class *class, uint32_t loop,
					       struct gyre_mail *argument)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address address = { 0 };

	check(gyre_system_spawn(system, class, argument, &options, &address) == 0);
	return address;
}

/* Of a system that has ended: checks that everything that was sent was handled or counted as lost.
 */
static inline struct gyre_counters stress_close(struct gyre_system *system)
{
	struct gyre_counters counters;
	uint64_t ends;

	check(gyre_system_counters(system, &counters) == 0);
	ends = counters.handled + counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += counters.dropped[i];
	}
	if (counters.sent != ends) {
		(void)fprintf(stderr, "%llu were sent, %llu were handled or lost\n",
			      (unsigned long long)counters.sent, (unsigned long long)ends);
	}
	check(counters.sent == ends);
	check(counters.spawned == counters.stopped);
	gyre_system_destroy(system);
	return counters;
}

/* Waits for the end, and looks at it. */
static inline struct gyre_counters stress_end(struct gyre_system *system)
{
	check(gyre_system_wait(system) == 0);
	return stress_close(system);
}

#endif
