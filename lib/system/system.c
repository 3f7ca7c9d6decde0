/*
 * The life of a system: its homes are made by the thread that creates it, so that whatever the
 * kernel refuses is an error of the creation; their threads come with the start.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"
#include "channel/channels.h"
#include "system/system.h"

static uint16_t next_loop(struct gyre_system *system)
{
	return (uint16_t)(gy_add_relaxed(&system->next_loop, 1) % system->homes.count);
}

static void dead_letter(struct gy_home *home, const struct gyre_mail *mail, struct gyre_address to,
			enum gyre_drop reason)
{
	const struct gyre_system_options *options = &home->options.system->options;

	options->dead_letter(mail->type,
			     mail->from.cookie == 0 ? GYRE_NOBODY : gy_mail_sender(mail), to,
			     reason, options->dead_letter_arg);
}

static int make_home(struct gyre_system *system, uint32_t index, uint32_t cookie_seed)
{
	const struct gyre_system_options *options = &system->options;
	struct gy_loop_options loop = {
		.index = (uint16_t)index,
		.cpu = system->cpus[index],
		.io_ratio = options->io_ratio,
		.starvation_limit = options->starvation_limit,
		.min_budget_ns = options->min_budget_ns,
		.timer_tick_ns = options->timer_tick_ns,
		.spin_ns = options->spin_ns,
		.ring = { .entries = options->ring_entries,
			  .buffer_count = options->buffer_count,
			  .buffer_bytes = options->buffer_bytes,
			  .log = &system->log },
		.log = &system->log,
	};
	struct gy_home_options home = {
		.run_budget = options->run_budget,
		.high_replies = options->high_replies,
		.high_events = options->high_events,
		.ask_timeout_ns = options->ask_timeout_ns,
		.cookie_seed = cookie_seed,
		.system = system,
		.dead_letter = options->dead_letter == NULL ? NULL : dead_letter,
		.next_loop = next_loop,
		.shut_down = gyre_system_stop,
	};
	struct gy_channels_options channels = {
		.write_low_bytes = options->write_low_bytes,
		.write_high_bytes = options->write_high_bytes,
		.write_max_bytes = options->write_max_bytes,
	};
	int r = gy_home_init(&system->homes.homes[index], &loop, &home);

	system->loops->loop[index] = &system->homes.homes[index].loop;
	return r < 0 ? r : gy_channels_init(&system->homes.homes[index], &channels);
}

static int make_homes(struct gyre_system *system)
{
	uint32_t seed = 0;
	int r = 0;

	/* A seed that differs from run to run makes addresses of an earlier run stale. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0) {
		seed = (uint32_t)gy_clock_machine_ns();
	}
	for (uint32_t i = 0; i < system->options.loops && r == 0; i++) {
		system->homes.count = i + 1;
		r = make_home(system, i, seed);
	}
	for (uint32_t i = 0; i < system->homes.count && r == 0; i++) {
		r = gy_loop_join(&system->homes.homes[i].loop, system->loops);
	}
	return r;
}

/* Decides how many loops there are and where each of them runs. */
static int place_loops(struct gyre_system *system)
{
	struct gyre_system_options *options = &system->options;
	int found[GYRE_CPUS_MAX];
	int count = gy_cpus_find(options->cpus, &system->log, found, GYRE_CPUS_MAX);

	if (count < 0) {
		return count;
	}
	if (options->loops == 0) {
		options->loops = (uint32_t)count;
	}
	if (options->loops > (uint32_t)count && options->spin_ns == GYRE_SPIN_AUTO) {
		options->spin_ns = GYRE_SPIN_NEVER;
	}
	system->cpus = (int *)gy_memory_get(options->loops * sizeof(*system->cpus));
	if (system->cpus == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < options->loops; i++) {
		system->cpus[i] = found[i % (uint32_t)count];
	}
	return 0;
}

static int make_parts(struct gyre_system *system)
{
	uint32_t loops = system->options.loops;

	system->homes.homes = (struct gy_home *)gy_memory_get(loops * sizeof(struct gy_home));
	system->workers = (struct gy_worker *)gy_memory_get(loops * sizeof(struct gy_worker));
	system->loops = (struct gy_loops *)gy_memory_get(sizeof(struct gy_loops) +
							 loops * sizeof(struct gy_loop *));
	if (system->homes.homes == NULL || system->workers == NULL || system->loops == NULL) {
		return -ENOMEM;
	}
	system->loops->count = loops;
	system->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (system->ended_fd < 0) {
		int r = -errno;

		gy_log(&system->log, GYRE_LOG_ERROR,
		       "no descriptor can be had for a system: %s; raise the limit of open files "
		       "(ulimit -n)",
		       strerror(-r));
		return r;
	}
	return make_homes(system);
}

static void log_failure(struct gyre_system *system, int r)
{
	if (r == -ENOMEM) {
		gy_log(&system->log, GYRE_LOG_ERROR, "no memory for a system of %u loops",
		       system->options.loops);
	}
}

int gyre_system_create(const struct gyre_system_options *options, struct gyre_system **ret_system)
{
	struct gyre_system_options resolved;
	struct gyre_system *system;
	int r;

	if (ret_system == NULL) {
		return -EINVAL;
	}
	r = gy_options_resolve(options, &resolved);
	if (r < 0) {
		return r;
	}
	system = (struct gyre_system *)gy_memory_get(sizeof(*system));
	if (system == NULL) {
		return -ENOMEM;
	}
	system->options = resolved;
	system->log = (struct gy_log){ resolved.log, resolved.log_arg, resolved.log_level };
	system->homes.log = &system->log;
	system->ended_fd = -1;
	(void)pthread_mutex_init(&system->mutex, NULL);
	(void)pthread_cond_init(&system->entered_condition, NULL);
	(void)pthread_cond_init(&system->gate_condition, NULL);
	r = place_loops(system);
	if (r == 0) {
		r = make_parts(system);
	}
	if (r < 0) {
		log_failure(system, r);
		gyre_system_destroy(system);
		return r;
	}
	system->complete = true;
	*ret_system = system;
	return 0;
}

void gyre_system_destroy(struct gyre_system *system)
{
	if (system == NULL) {
		return;
	}
	if (system->complete && !system->running) {
		/* What was spawned and sent without a start is taken down in good order too. */
		gyre_system_stop(system);
		if (gyre_system_start(system) < 0) {
			gy_log(&system->log, GYRE_LOG_ERROR, "a system could not be taken down");
		}
	}
	gyre_system_stop(system);
	gy_system_join(system);
	if (system->joined) {
		/* What still came in while the caller waited for the end, or after it. */
		gy_system_drop_late(system);
	}
	for (uint32_t i = 0; i < system->homes.count; i++) {
		gy_channels_fini(&system->homes.homes[i]);
		gy_home_fini(&system->homes.homes[i]);
	}
	if (system->ended_fd >= 0) {
		(void)close(system->ended_fd);
	}
	gy_memory_put(system->homes.homes);
	gy_memory_put(system->workers);
	gy_memory_put(system->loops);
	gy_memory_put(system->cpus);
	(void)pthread_cond_destroy(&system->gate_condition);
	(void)pthread_cond_destroy(&system->entered_condition);
	(void)pthread_mutex_destroy(&system->mutex);
	gy_memory_put(system);
}

uint32_t gyre_system_loops(const struct gyre_system *system)
{
	return system == NULL ? 0 : system->homes.count;
}
