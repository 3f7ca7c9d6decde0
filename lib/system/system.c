/*
 * The life of a system: its homes are made by the thread that creates it, so that whatever the
 * kernel refuses is an error of the creation; their threads come with the start.
 */
#include "system/system.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <gyre/name.h>

#include "actor/class_log.h"
#include "base/log/log_writer.h"
#include "base/memory/memory.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/thread.h"
#include "channel/channels.h"
#include "loop/foreign_nodes.h"
#include "remote/node.h"
#include "ring/descriptor.h"
#include "ring/signal.h"
#include "system/directory/directory.h"
#include "system/engine.h"
#include "system/handover/handover.h"
#include "system/machine/cpus.h"
#include "system/machine/topology.h"
#include "system/main.h"
#include "system/options.h"
#include "system/outside/foreign_ask.h"
#include "system/outside/offload.h"
#include "system/outside_loss.h"
#include "system/process.h"
#include "system/rcu.h"
#include "system/resize.h"
#include "system/service_notify.h"
#include "system/threads.h"

static uint16_t next_loop(struct gyre_system *system, bool channels_actor)
{
	return (uint16_t)(gy_add_relaxed(&system->next_loop[channels_actor], 1) %
			  gy_loops_count(system->homes.loops));
}

/* Nobody waits for one: an actor that finds none free is refused. */
static int take_pinned(struct gyre_system *system)
{
	uint32_t from = system->options.loops_max;

	for (uint32_t i = from; i < from + system->options.loops_pinned; i++) {
		uint32_t none = 0;

		if (gy_compare_exchange(&system->homes.homes[i].pinned.taken, &none, 1U)) {
			return (int)i;
		}
	}
	return -ENOBUFS;
}

static void dead_letter(struct gy_home *home, const struct gyre_mail *mail, struct gyre_address to,
			enum gyre_drop reason)
{
	gy_letter_lost(home->options.system, home, mail, to, reason);
}

static struct gy_ring_options ring_options(const struct gyre_system *system, uint32_t index)
{
	const struct gyre_system_options *options = &system->options;
	bool gathers = options->min_wait_ns != GYRE_MIN_WAIT_NEVER;

	return (struct gy_ring_options){
		.engine = options->engine == GYRE_ENGINE_EPOLL ? GY_RING_EPOLL : GY_RING_IO_URING,
		.entries = options->ring_entries,
		.buffer_count = options->buffer_count,
		.buffer_bytes = options->buffer_bytes,
		.min_wait_ns = gathers ? (uint32_t)options->min_wait_ns : 0,
		.whole_buffers = options->receive_buffers == GYRE_RECEIVE_BUFFERS_WHOLE,
		.descriptor = options->embedded && index == 0,
		.log = gy_log_writer_loop(system->log_writer, index),
	};
}

static int make_home(struct gyre_system *system, uint32_t index, uint32_t cookie_seed)
{
	const struct gyre_system_options *options = &system->options;
	const bool embedded = options->embedded && index == 0;
	struct gy_loop_options loop = {
		.index = (uint16_t)index,
		.cpu = embedded ? -1 : system->cpu_places[index].cpu,
		.embedded = embedded,
		.io_ratio = options->io_ratio,
		.starvation_limit = options->starvation_limit,
		.steal_floor = options->steal_floor,
		.steal_aggression = options->steal_aggression,
		.min_budget_ns = options->min_budget_ns,
		.timer_tick_ns = options->timer_tick_ns,
		.spin_ns = options->spin_ns,
		.ring = ring_options(system, index),
		.clock = gy_clock_machine(),
		.log = gy_log_writer_loop(system->log_writer, index),
	};
	struct gy_home_options home = {
		.run_budget = options->run_budget,
		.high_replies = options->high_replies,
		.high_events = options->high_events,
		.ask_timeout_ns = options->ask_timeout_ns,
		.cookie_seed = cookie_seed,
		.node = system->homes.node,
		.system = system,
		.dead_letter = dead_letter,
		.next_loop = next_loop,
		.take_pinned = take_pinned,
		.shut_down = gy_system_fail,
		.take_late = gy_system_take_late,
		.directory = &gy_directory_ops,
		.remote = system->homes.nodes == NULL ? NULL : &system->homes.nodes->ops,
	};
	struct gy_channels_options channels = {
		.write_low_bytes = options->write_low_bytes,
		.write_high_bytes = options->write_high_bytes,
		.write_max_bytes = options->write_max_bytes,
		.zero_copy_bytes = options->zero_copy_bytes == GYRE_ZERO_COPY_NEVER
					   ? 0
					   : (uint64_t)options->zero_copy_bytes,
		.linger_ns = options->linger_ns,
		.channel_bytes_max = options->channel_bytes_max,
		.datagram_buffer_count = options->datagram_buffer_count,
		.datagram_buffer_bytes = options->datagram_buffer_bytes,
	};
	struct gy_home *it = &system->homes.homes[index];
	struct gy_numa_policy policy;
	int r;

	gy_numa_move(system->cpu_places[index].node, it, sizeof(*it));
	gy_numa_enter(system->cpu_places[index].node, &policy);
	r = gy_home_init(it, &loop, &home);
	system->homes.loops->loop[index] = &it->loop;
	if (r == 0) {
		r = gy_channels_init(it, &channels);
	}
	gy_numa_leave(&policy);
	return r;
}

static void unmake_home(struct gy_home *home)
{
	struct gy_leaks leaks = { 0 };

	gy_channels_fini(home);
	gy_home_fini(home, &leaks);
	*home = (struct gy_home){ 0 };
}

int gy_system_make_home(struct gyre_system *system, uint32_t index)
{
	struct gy_home *home = &system->homes.homes[index];
	int r = gy_log_writer_add(system->log_writer, index);

	if (r < 0) {
		return r;
	}
	r = make_home(system, index, system->cookie_seed);
	if (r == 0) {
		r = gy_loop_join(&home->loop, system->homes.loops);
	}
	if (r < 0) {
		unmake_home(home);
		return r;
	}
	if (system->homes.nodes != NULL) {
		gy_nodes_add_home(system->homes.nodes, home);
	}
	gy_store_release(&system->homes.loops->made, index + 1);
	gy_store_release(&system->homes.count, index + 1);
	return 0;
}

static int make_homes(struct gyre_system *system)
{
	int r = 0;

	/* A seed that differs from run to run makes addresses of an earlier run stale, on other
	 * nodes too. */
	gy_random_seed(&system->cookie_seed, sizeof(system->cookie_seed));
	for (uint32_t i = 0; i < system->options.loops && r == 0; i++) {
		r = gy_system_make_home(system, i);
	}
	system->resizing.living = system->homes.count;
	gy_store_release(&system->homes.loops->count, system->homes.count);
	if (r == 0 && system->options.loops_pinned > 0) {
		r = gy_resize_make_pinned(system);
	}
	return r;
}

static void log_topology(const struct gyre_system *system, const struct gy_topology *topology)
{
	bool limited = topology->quota_milli != UINT64_MAX;
	uint64_t milli = limited ? topology->quota_milli : topology->cpus * UINT64_C(1000);

	gy_log(&system->log, GYRE_LOG_DEBUG,
	       "%u loops on %u CPUs of %u cores and %u memory nodes; CPU time is %s %" PRIu64
	       ".%03u CPUs",
	       system->options.loops, topology->cpus, topology->cores, topology->nodes,
	       limited ? "limited to" : "that of", milli / 1000, (unsigned)(milli % 1000));
}

/* How many there are, and may be. With more of them than can run at once, none polls. */
static void count_loops(struct gyre_system *system, const struct gy_topology *topology)
{
	struct gyre_system_options *options = &system->options;
	uint32_t threads = gy_topology_threads(topology);

	if (options->loops == 0) {
		options->loops = threads;
		if (options->loops_max != 0 && threads > options->loops_max) {
			options->loops = options->loops_max;
		}
	}
	if (options->loops_max == 0) {
		options->loops_max =
			options->loops > topology->cpus ? options->loops : topology->cpus;
	}
	system->resizing.threads_max = threads;
	system->resizing.spin_auto = options->spin_ns == GYRE_SPIN_AUTO && gy_thread_may_poll();
	if ((options->loops > threads && system->resizing.spin_auto) || !gy_thread_may_poll()) {
		options->spin_ns = GYRE_SPIN_NEVER;
	}
}

/* Decides how many loops there are and where each of them runs. */
static int place_loops(struct gyre_system *system, const char *root)
{
	struct gyre_system_options *options = &system->options;
	int cpus[GY_CPU_PLACES_MAX];
	int nodes[GY_CPU_PLACES_MAX];
	int count = gy_cpus_find(options->cpus, &system->log, cpus, GY_CPU_PLACES_MAX);
	struct gy_topology topology;
	uint32_t places;

	if (count < 0) {
		return count;
	}
	if (gy_options_keep_texts(system, cpus, count) < 0) {
		return -ENOMEM;
	}
	gy_topology_find(root, cpus, nodes, (uint32_t)count, &topology);
	count_loops(system, &topology);
	places = gy_system_places(system);
	if (places > GY_CPU_PLACES_MAX) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "loops_max is %u and loops_pinned is %u: together they must be at most %d",
		       options->loops_max, options->loops_pinned, GY_CPU_PLACES_MAX);
		return -EINVAL;
	}
	system->cpu_places =
		(struct gy_cpu_place *)gy_memory_get(places * sizeof(*system->cpu_places));
	if (system->cpu_places == NULL) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < places; i++) {
		uint32_t place = i % (uint32_t)count;

		system->cpu_places[i].cpu = cpus[place];
		system->cpu_places[i].node = topology.nodes > 1 ? nodes[place] : -1;
	}
	log_topology(system, &topology);
	return 0;
}

static int open_descriptors(struct gyre_system *system)
{
	sigset_t signals;
	int r;

	gy_system_signals(&signals);
	system->ended_fd = gy_descriptor_open_event(false);
	system->signal_fd = gy_signal_open(&signals);
	system->watch_fd = gy_descriptor_open_event(true);
	r = system->ended_fd < 0    ? system->ended_fd
	    : system->signal_fd < 0 ? system->signal_fd
				    : system->watch_fd;
	if (r >= 0) {
		return 0;
	}
	gy_log(&system->log, GYRE_LOG_ERROR,
	       "no descriptor can be had for a system: %s; raise the limit of open files "
	       "(ulimit -n)",
	       strerror(-r));
	return r;
}

/* Before the homes, whose addresses have its id. */
static int make_node(struct gyre_system *system)
{
	const struct gyre_node_options *options = system->options.node;
	const struct gy_nodes_life life = { .loops_max = gy_system_places(system),
					    .homes = &system->homes,
					    .log = &system->log,
					    .look_up = gyre_system_name_lookup,
					    .declared_down = gy_system_was_declared_down,
					    .peer_lost = gy_services_lost };
	int r = options == NULL ? 0 : gy_nodes_create(options, &life, &system->homes.nodes);

	if (r == 0 && options != NULL) {
		system->homes.node = options->id;
		system->options.node = NULL; /* the caller's */
	}
	return r;
}

static int make_parts(struct gyre_system *system)
{
	int r;

	uint32_t loops = gy_system_places(system);

	system->homes.homes = (struct gy_home *)gy_memory_get(loops * sizeof(struct gy_home));
	system->workers = (struct gy_worker *)gy_memory_get(loops * sizeof(struct gy_worker));
	system->homes.loops = (struct gy_loops *)gy_memory_get(sizeof(struct gy_loops) +
							       loops * sizeof(struct gy_loop *));
	system->directory = gy_directory_create(&system->homes);
	if (system->homes.homes == NULL || system->workers == NULL || system->homes.loops == NULL ||
	    system->directory == NULL) {
		return -ENOMEM;
	}
	system->homes.loops->max = loops;
	r = gy_log_writer_reserve(system->log_writer, loops);
	if (r == 0) {
		r = gy_foreign_asks_init(system);
	}
	if (r == 0) {
		r = gy_offload_init(system);
	}
	if (r == 0) {
		r = open_descriptors(system);
	}
	if (r == 0) {
		r = make_node(system);
	}
	if (r == 0) {
		r = make_homes(system);
	}
	if (r == 0) {
		r = gy_service_notify_find(system);
	}
	return r == 0 ? gy_succession_begin(system) : r;
}

/* A node may listen by now, and have actors for that, when it turns out that it must not: from here
 * on the system is taken down in good order. */
static int start_node(struct gyre_system *system)
{
	system->complete = true;
	return system->homes.nodes == NULL ? 0 : gy_nodes_start(system->homes.nodes, system);
}

/* Logs that a part lacked heap. A ring, which may lack other memory, has logged that itself. */
static void log_failure(struct gyre_system *system, int r)
{
	if (r == -ENOMEM && gy_load_relaxed(&system->log_writer->errors) == 0) {
		gy_log(&system->log, GYRE_LOG_ERROR,
		       "no memory for a system of %u loops: see `ulimit -v` and the limits of its "
		       "cgroups, or take fewer loops",
		       system->options.loops);
	}
}

/* Makes what all other parts need: memory, threads, and the log. */
static int make_means(const struct gyre_system_options *options, struct gyre_system **ret_system)
{
	const struct gy_log own = { .write = options->log,
				    .arg = options->log_arg,
				    .level = options->log_level };
	const struct gy_log *log = &own;
	struct gyre_system *system;
	int r = gy_rcu_check();

	if (r < 0) {
		gy_log(log, GYRE_LOG_ERROR,
		       "no thread can be started for a system: %s; raise the limit of processes "
		       "(ulimit -u) or of memory (ulimit -v, and those of its cgroups)",
		       strerror(-r));
		return r;
	}
	system = (struct gyre_system *)gy_memory_get(sizeof(*system));
	if (system != NULL) {
		system->log_writer = gy_log_writer_create(log, options->log_buffer_bytes);
	}
	if (system == NULL || system->log_writer == NULL) {
		gy_memory_put(system);
		gy_log(log, GYRE_LOG_ERROR,
		       "no memory for a system: see `ulimit -v` and the limits of its cgroups");
		return -ENOMEM;
	}
	system->log = *gy_log_writer_outside(system->log_writer);
	*ret_system = system;
	return 0;
}

static int create(const struct gyre_system_options *options, struct gyre_system **ret_system)
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
	r = make_means(&resolved, &system);
	if (r < 0) {
		return r;
	}
	system->options = resolved;
	system->homes.log = &system->log;
	gy_class_logs_begin(&system->homes, resolved.log_lines_max);
	gy_net_init(&system->net);
	system->net.opened = gy_system_opened;
	system->net.await_start = gy_system_await_start;
	system->homes.net = &system->net;
	(void)pthread_mutex_init(&system->homes.placing, NULL);
	gy_resizing_init(system);
	system->ended_fd = -1;
	system->signal_fd = -1;
	system->watch_fd = -1;
	system->supervisor_fd = -1;
	(void)pthread_mutex_init(&system->mutex, NULL);
	(void)pthread_mutex_init(&system->late_mutex, NULL);
	gy_foreign_timers_init(&system->foreign_timers);
	(void)pthread_cond_init(&system->entered_condition, NULL);
	(void)pthread_cond_init(&system->started_condition, NULL);
	(void)pthread_cond_init(&system->gate_condition, NULL);
	r = gy_process_open_standard(&system->log);
	gy_process_reserve_descriptors(&system->log);
	system->options.memory_limit_bytes =
		gy_memory_guard_init(&system->memory_guard, "", resolved.memory_limit_bytes);
	if (r == 0) {
		r = place_loops(system, "");
	}
	if (r == 0) {
		gy_engine_choose(system);
		r = make_parts(system);
	}
	if (r == 0) {
		r = start_node(system);
	}
	if (r < 0) {
		log_failure(system, r);
		gyre_system_destroy(system);
		return r;
	}
	*ret_system = system;
	return 0;
}

int gyre_system_create_sized(const struct gyre_system_options *options, struct gyre_sizes sizes,
			     struct gyre_system **ret_system)
{
	struct gyre_system_options whole;
	struct gyre_node_options node;
	struct gy_table_copies tables = { 0 };
	struct gy_log log = { .level = GYRE_LOG_ERROR };
	int r;

	if (options != NULL && sizes.options > offsetof(struct gyre_system_options, log_arg)) {
		log.write = options->log;
		log.arg = options->log_arg;
	}
	r = GY_SIZED_READ(gyre_system_options, &whole, options, sizes.options, &log);
	if (r == 0 && whole.node != NULL) {
		r = GY_SIZED_READ(gyre_node_options, &node, whole.node, sizes.node, &log);
		if (r == 0) {
			r = GY_SIZED_TABLE(gyre_membership, &tables, &node.membership,
					   sizes.membership, &log);
		}
		whole.node = &node;
	}
	if (r == 0) {
		r = create(&whole, ret_system);
	}
	if (r < 0) {
		gy_table_copies_fini(&tables);
		return r;
	}
	gy_assert((*ret_system)->homes.tables.newest == NULL);
	(*ret_system)->homes.tables = tables;
	return 0;
}

void gyre_system_destroy(struct gyre_system *system)
{
	struct gy_leaks leaks = { 0 };

	if (system == NULL) {
		return;
	}
	gy_succession_give_up(system);
	if (system->complete && !system->running) {
		int r;

		/* Actors and mail of a system that was never started end in good order too. */
		gyre_system_stop(system);
		r = gyre_system_start(system);
		if (r < 0) {
			gy_log(&system->log, GYRE_LOG_ERROR,
			       "a system that was not started cannot end its actors in good order: "
			       "%s; raise the limit of processes (ulimit -u) or of memory (ulimit "
			       "-v)",
			       strerrordesc_np(-r));
		}
	}
	gyre_system_stop(system);
	gy_system_join(system);
	gy_system_run_late(system);
	for (uint32_t i = 0; i < system->homes.count; i++) {
		gy_channels_fini(&system->homes.homes[i]);
		gy_home_fini(&system->homes.homes[i], &leaks);
	}
	gy_succession_end(system);
	gy_service_notify_forget(system);
	gy_foreign_nodes_trim(true);
	gy_leaks_log(&leaks, &system->log);
	gy_nodes_destroy(system->homes.nodes);
	gy_directory_destroy(system->directory);
	if (system->ended_fd >= 0) {
		(void)gy_descriptor_close(system->ended_fd);
	}
	if (system->signal_fd >= 0) {
		(void)gy_descriptor_close(system->signal_fd);
	}
	if (system->watch_fd >= 0) {
		(void)gy_descriptor_close(system->watch_fd);
	}
	gy_offload_fini(system);
	gy_foreign_asks_fini(system);
	gy_memory_put(system->homes.homes);
	gy_memory_put(system->workers);
	gy_memory_put(system->homes.loops);
	gy_memory_put(system->cpu_places);
	gy_memory_put(system->texts);
	gy_memory_guard_fini(&system->memory_guard);
	gy_table_copies_fini(&system->homes.tables);
	(void)pthread_cond_destroy(&system->gate_condition);
	(void)pthread_cond_destroy(&system->entered_condition);
	(void)pthread_cond_destroy(&system->started_condition);
	gy_foreign_timers_fini(&system->foreign_timers);
	(void)pthread_mutex_destroy(&system->late_mutex);
	(void)pthread_mutex_destroy(&system->mutex);
	(void)pthread_mutex_destroy(&system->homes.placing);
	gy_resizing_fini(system);
	gy_class_logs_fini(&system->homes);
	gy_log_writer_destroy(system->log_writer);
	gy_memory_put(system);
}

uint32_t gyre_system_loops(const struct gyre_system *system)
{
	return system == NULL ? 0 : gy_loops_count(system->homes.loops);
}

void *gyre_system_user(const struct gyre_system *system)
{
	return system == NULL ? NULL : system->options.user;
}
