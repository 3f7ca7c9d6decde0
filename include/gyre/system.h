/*
 * Systems: a system is one running runtime of one or more loops. Create it, spawn actors in it,
 * listen, run it, destroy it. Several may live in one process.
 */
#ifndef GYRE_SYSTEM_H
#define GYRE_SYSTEM_H

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/log.h>
#include <gyre/loop_data.h>
#include <gyre/node.h>

GYRE_BEGIN_DECLS

struct gyre_offload_pool;

/** GYRE_SPIN_AUTO - poll before parking while recent waits were short */
#define GYRE_SPIN_AUTO INT64_C(-1)
/** GYRE_SPIN_NEVER - park at once */
#define GYRE_SPIN_NEVER INT64_C(-2)
/** GYRE_STALL_NEVER - a handler may run for ever: no thread looks for stalls */
#define GYRE_STALL_NEVER INT64_C(-1)
/** GYRE_MEMORY_LIMIT_NEVER - take in as much as ever, however short memory is */
#define GYRE_MEMORY_LIMIT_NEVER INT64_C(-1)
/** GYRE_MIN_WAIT_NEVER - a loop that sleeps wakes for the first that comes */
#define GYRE_MIN_WAIT_NEVER INT64_C(-1)
/** GYRE_ZERO_COPY_NEVER - copy all output into the kernel */
#define GYRE_ZERO_COPY_NEVER INT64_C(-1)
/** GYRE_OPTION_WHY_BYTES - room for what gyre_system_option_set() has to say */
#define GYRE_OPTION_WHY_BYTES 160
/** GYRE_CPUS_MAX - how many CPUs @cpus of the options can name */
#define GYRE_CPUS_MAX 8192

/**
 * enum gyre_receive_buffers - how the kernel fills receive buffers
 * @GYRE_RECEIVE_BUFFERS_DEFAULT: as the library was built, which is shared unless said otherwise
 * @GYRE_RECEIVE_BUFFERS_SHARED: large buffers, filled bit by bit by several receives (from Linux
 *   6.15 on; older kernels use whole ones)
 * @GYRE_RECEIVE_BUFFERS_WHOLE: each receive takes a buffer of its own
 */
enum gyre_receive_buffers {
	GYRE_RECEIVE_BUFFERS_DEFAULT = 0,
	GYRE_RECEIVE_BUFFERS_SHARED = 1,
	GYRE_RECEIVE_BUFFERS_WHOLE = 2,
};

/**
 * enum gyre_engine - what does the input and output of a system's loops
 * @GYRE_ENGINE_DEFAULT: as GYRE_ENGINE in the environment says, which is auto, io_uring or epoll;
 *   without it as the library was built, which is auto unless said otherwise
 * @GYRE_ENGINE_AUTO: io_uring; epoll where the kernel or a sandbox refuses io_uring
 * @GYRE_ENGINE_IO_URING: io_uring, or the system is refused
 * @GYRE_ENGINE_EPOLL: epoll: a system call for each send and receive, four threads of the process
 *   for files, and no sends without a copy
 *
 * What refuses io_uring is a seccomp filter as in the default profiles of containers, the sysctl
 * kernel.io_uring_disabled, or a kernel before 6.1. A lack of memory or descriptors is none of
 * these: it fails the creation on either engine.
 */
enum gyre_engine {
	GYRE_ENGINE_DEFAULT = 0,
	GYRE_ENGINE_AUTO = 1,
	GYRE_ENGINE_IO_URING = 2,
	GYRE_ENGINE_EPOLL = 3,
};

/**
 * gyre_dead_letter_fn - is told of each message that is lost
 * @type: the type of the message
 * @from: its sender, or GYRE_NOBODY
 * @to: its receiver
 * @reason: why it was lost
 * @arg: the argument that was registered
 *
 * Runs on the loop that lost the message, in phase 2 or 3, also inside a handler; for mail from
 * outside that came after the end, on the thread that sent it or waits for the end; for work off
 * the loops that was never begun, also on a thread of its pool. It is not re-entered on one thread
 * but runs on several at once, and must not call gyre except for the helpers of an address. There
 * is no last call before gyre_system_destroy() has returned.
 */
typedef void (*gyre_dead_letter_fn)(const struct gyre_type *type, struct gyre_address from,
				    struct gyre_address to, enum gyre_drop reason, void *arg);

/**
 * gyre_started_fn - is told that a system serves
 * @system: the system
 * @arg: the argument that was registered
 *
 * Runs in no phase, on the thread in gyre_system_start() or gyre_system_run(), when all loops run
 * and everything that was opened before is served; not if the start fails, or the system is to stop
 * by then. In gyre_system_run() SIGINT and SIGTERM drain the system from then on, so this is the
 * place for a program to say where it listens. It is not re-entered; the first call is the last
 * call. It may call everything that the thread may.
 */
typedef void (*gyre_started_fn)(struct gyre_system *system, void *arg);

/**
 * struct gyre_system_options - how a system runs; a field of 0 has the default of the build
 * @loops: how many loops, at most 1024; by default one for each CPU that the process may use, but
 *   not more than its cgroups (version 2) give it CPU time for
 * @loops_max: how many loops gyre_system_resize() may make, at most 1024, which sizes some tables;
 *   by default one for each CPU that the process may use, and no less than @loops
 * @cpus: a list of CPUs for the loops, such as "0-3,8"; NULL for those that the process may use.
 *   Loops are pinned to one CPU of each physical core first
 * @ring_entries: how many submissions a ring holds, a power of two, 64 to 32768
 * @buffer_count: how many receive buffers a loop has, a power of two, 16 to 32768
 * @buffer_bytes: the size of a receive buffer, 512 to 65536. From Linux 6.15 on, several receives
 *   share a buffer; then the same memory is made up of fewer and larger ones
 * @receive_buffers: whether several receives share a buffer, see enum gyre_receive_buffers
 * @datagram_buffer_count: how many receive buffers a loop with a datagram channel has for
 *   datagrams, a power of two, 16 to 32768
 * @datagram_buffer_bytes: the size of the longest datagram that is received, and the most that the
 *   kernel gathers of one sender, 512 to 65536
 * @io_ratio: the share of I/O in a loop's time in per cent, 1 to 100; 100 sets phase 3 no deadline
 * @min_budget_ns: the time of phase 3 in a turn without I/O events, 1000 to 1e9
 * @run_budget: how many messages an actor handles before the next actor's turn, 1 to 1e6
 * @starvation_limit: how many actors of high priority may pass one of normal priority, 1 to 1e6
 * @steal_floor: how many ready actors a loop keeps for itself, 1 to 1e6
 * @steal_aggression: the product of idle turns and ready actors from which an idle loop steals, 1
 *   to 1e6
 * @timer_tick_ns: the grain of timers, 1e5 to 1e9
 * @high_replies: the number of waiting replies above which an actor has high priority, 1 to 65535
 * @high_events: likewise for events
 * @ask_timeout_ns: the time-out of an ask that names none, 1000 to 3.6e12
 * @spin_ns: how long a loop polls before it parks, and a thread in gyre_system_ask() before it
 *   sleeps: GYRE_SPIN_AUTO, GYRE_SPIN_NEVER, 1 to 1e9
 * @stall_ns: the time after which a running handler is logged with its class, message and
 *   backtrace, at most 5 a minute: GYRE_STALL_NEVER, 1e6 to 6e10. Its thread is sent a signal for
 *   that, see below
 * @offload_threads: how many threads there are for gyre_offload(), each started when it is first
 *   needed, 1 to 256
 * @offload_queue_max: how many pieces of work may wait for one of them, 1 to 1e6
 * @memory_limit_bytes: resident memory of the process near which the system takes in less, 1 to
 *   2^50, besides the limit of a cgroup; 0 for the memory of the machine if no cgroup sets a limit,
 *   GYRE_MEMORY_LIMIT_NEVER for none of these; see gyre/overload.h
 * @write_low_bytes: queued output below which a channel is writable again, 1 to 2^30
 * @write_high_bytes: queued output above which the channel is not writable, 1024 to 2^30, at least
 *   @write_low_bytes
 * @write_max_bytes: queued output over which the channel is closed, at least @write_high_bytes, up
 *   to 2^30
 * @channel_bytes_max: how many bytes all channels may hold of output that the kernel has not taken,
 *   of input that handlers have not been given, and of incomplete frames, up to 2^50; 0 for no
 *   limit. Each loop has an equal share. Over three quarters of its share, the channels of a loop
 *   do not read by themselves and are not writable, until they hold less than half. A write that
 *   exceeds the share closes its channel with -ENOBUFS; a write that can wait
 *   (gyre_context_try_write()) may have at most half of the share. The idle handler ends peers that
 *   never take what they asked for. Links between nodes do not count, and do not stop: they have a
 *   bound of their own, link_bytes_max of struct gyre_node_options
 * @zero_copy_bytes: queued output from which a channel of TCP has the kernel send from the pages
 *   themselves: GYRE_ZERO_COPY_NEVER, 1 to 2^30. A channel whose bytes are copied after all, such
 *   as one to the same machine, goes back to plain sends. The memory counts as locked
 *   (RLIMIT_MEMLOCK)
 * @linger_ns: how long a closing channel waits for a peer that takes none of its output, or has it
 *   all and does not close, 1e6 to 3.6e12: see gyre_context_close(). Also how long datagrams wait
 *   behind those for a slow peer of a Unix socket: see gyre/datagram.h
 * @drain_timeout_ns: how long actors that hold up the shutdown and channels may take together when
 *   the system stops, 1e6 to 3.6e12; then channels are closed at once
 * @handover: "unix:PATH", see gyre/handover.h; NULL for none
 * @notify_supervisor: tell the supervisor at the Unix socket of NOTIFY_SOCKET, such as systemd,
 *   READY=1 when the loops run, with MAINPID= of this process if it succeeds another at @handover,
 *   and STOPPING=1 when the system stops for another reason than a successor
 * @log: gets the lines of the log; NULL for standard error
 * @log_level: the lowest level that is logged, GYRE_LOG_DEBUG to GYRE_LOG_ERROR; by default
 *   warnings
 * @log_arg: for @log
 * @dead_letter: is told of each message that is lost; NULL for nobody
 * @dead_letter_arg: for @dead_letter
 * @started: is told when the system serves; NULL for nobody
 * @started_arg: for @started
 * @loop_init: makes the program's data of each loop, see gyre/loop_data.h; NULL for none
 * @loop_fini: frees that; NULL where nothing is to be freed. Needs @loop_init
 * @loop_arg: for both
 * @user: a pointer of the program, for gyre_system_user(); may be NULL
 * @node: makes the system a node that exchanges messages with others, see node.h; NULL for none
 * @log_buffer_bytes: how many bytes of lines each loop keeps, and the system for all other threads,
 *   while @log is slow, 4096 to 2^30; further lines are lost and counted. GYRE_LOG_UNBUFFERED to
 *   have whoever logs wait for @log: see gyre/log.h
 * @log_lines_max: how many lines a class of actors, the handlers of a name, or the rest of the
 *   program may log in a second, 1 to 65535; further lines are dropped and counted
 * @embedded: the first loop has no thread, but is turned by the one that starts the system, from
 *   another loop of the program: see gyre/embed.h. Not with @handover
 * @loops_pinned: how many further loops there are for actors that are spawned with
 *   GYRE_PLACE_PINNED, each for one such actor at a time and the children that it places there; at
 *   most 1024 together with @loops_max. They neither steal nor are stolen from, get no listeners,
 *   no members of groups and no other actors, and sleep while nothing is to be done. Their mail for
 *   other nodes leaves by the first loop. They have the numbers from @loops_max on, and do not
 *   count in gyre_system_loops()
 * @offload_pools: named pools of threads for gyre_offload_to(), see gyre/offload.h; NULL
 *   for none
 * @offload_pools_count: how many, at most GYRE_OFFLOAD_POOLS_MAX
 * @engine: what does the input and output, see enum gyre_engine. All loops have the same; read back
 *   by gyre_system_resolved_options() it is GYRE_ENGINE_IO_URING or GYRE_ENGINE_EPOLL
 * @min_wait_ns: for how long a loop that goes to sleep stays asleep though something has come, so
 *   as to be woken once for several: GYRE_MIN_WAIT_NEVER, 1000 to 1e6, in whole microseconds. It
 *   wakes earlier when 16 completions are there, or for a timer; after that time it wakes for the
 *   first that comes. Input, mail of other threads and orders to stop may all be later by as much.
 *   Without effect on epoll, on kernels before 6.12, and on the first loop where @embedded
 *
 * A handler that has run for a quarter of @stall_ns or more is interrupted now and then by a
 * signal, which gyre takes for itself while such a system runs: the first from SIGRTMIN + 5 on that
 * the program has left at its default. In such a handler, calls that fail with EINTR even under
 * SA_RESTART, such as poll() and nanosleep(), may do so. A program that wants none of this sets
 * GYRE_STALL_NEVER. The thread of a loop has every other signal blocked.
 */
struct gyre_system_options {
	uint32_t loops;
	uint32_t loops_max;
	const char *cpus;
	uint32_t ring_entries;
	uint32_t buffer_count;
	uint32_t buffer_bytes;
	enum gyre_receive_buffers receive_buffers;
	uint32_t datagram_buffer_count;
	uint32_t datagram_buffer_bytes;
	uint32_t io_ratio;
	uint64_t min_budget_ns;
	uint32_t run_budget;
	uint32_t starvation_limit;
	uint32_t steal_floor;
	uint32_t steal_aggression;
	uint64_t timer_tick_ns;
	uint32_t high_replies;
	uint32_t high_events;
	uint64_t ask_timeout_ns;
	int64_t spin_ns;
	int64_t stall_ns;
	uint32_t offload_threads;
	uint32_t offload_queue_max;
	int64_t memory_limit_bytes;
	uint32_t write_low_bytes;
	uint32_t write_high_bytes;
	uint32_t write_max_bytes;
	uint64_t channel_bytes_max;
	int64_t zero_copy_bytes;
	uint64_t linger_ns;
	uint64_t drain_timeout_ns;
	const char *handover;
	bool notify_supervisor;
	gyre_log_fn log;
	enum gyre_log_level log_level;
	void *log_arg;
	gyre_dead_letter_fn dead_letter;
	void *dead_letter_arg;
	gyre_started_fn started;
	void *started_arg;
	gyre_loop_init_fn loop_init;
	gyre_loop_fini_fn loop_fini;
	void *loop_arg;
	void *user;
	const struct gyre_node_options *node;
	int64_t log_buffer_bytes;
	uint32_t log_lines_max;
	bool embedded;
	const struct gyre_offload_pool *offload_pools;
	uint32_t offload_pools_count;
	uint32_t loops_pinned;
	enum gyre_engine engine;
	int64_t min_wait_ns;
};

/** gyre_system_option_set_sized() - gyre_system_option_set() with the size in the program */
GYRE_API int gyre_system_option_set_sized(struct gyre_system_options *options, uint32_t bytes,
					  const char *assignment, char *ret_why);

/**
 * gyre_system_option_set() - sets an option by its name, as a command line or a file has it
 * @options: what is changed, if the value is taken
 * @assignment: OPTION=VALUE, as "run_budget=64": the name of a field that is a number, which all
 *   options of meson_options.txt are, and a decimal number. @engine and @receive_buffers take
 *   words, as "engine=epoll". 0 is the default of the build
 * @ret_why: GYRE_OPTION_WHY_BYTES for a line to the user that says what would be taken, written
 *   when the value is not; NULL for none
 *
 * Whether several options fit together gyre_system_create() checks.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  the value is none that the option takes, or @assignment is not of that form
 *   -ENOENT  there is no option of that name
 * Ownership: all stays the caller's.
 * Context: any thread.
 * Since: 0.1
 */
static inline int gyre_system_option_set(struct gyre_system_options *options,
					 const char *assignment, char *ret_why)
{
	return gyre_system_option_set_sized(options, (uint32_t)sizeof(*options), assignment,
					    ret_why);
}

/** gyre_system_create_sized() - gyre_system_create() with the sizes in the program */
GYRE_API int gyre_system_create_sized(const struct gyre_system_options *options,
				      struct gyre_sizes sizes, struct gyre_system **ret_system);

/**
 * gyre_system_create() - makes a system whose loops do not run yet
 * @options: how it runs; NULL for the defaults. Copied with its texts: nothing of it is needed
 *   after the call but what its pointers to functions, tables and contexts point to
 * @ret_system: the system
 *
 * A failure is explained by one line in the log, with its cause and remedy. If standard input,
 * output or error is closed, the null device takes its place, and stays.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EAGAIN  no more threads can be had
 *   -EINVAL  a field is out of its bounds, or NOTIFY_SOCKET is no address that can be notified
 *   -ENOMEM  there is no memory, or too little of it may be locked
 *   -ENOSYS  the kernel has no io_uring
 *   -EPROTO, -ETIMEDOUT, -EACCES  the process at @handover could not be succeeded
 *   -EPERM   io_uring is forbidden
 *   others   why the kernel refused a ring or a thread
 * Ownership: @ret_system is the caller's, for gyre_system_destroy().
 * Context: any thread, setup.
 * Since: 0.1
 */
static inline int gyre_system_create(const struct gyre_system_options *options,
				     struct gyre_system **ret_system)
{
	const struct gyre_sizes sizes = { (uint32_t)sizeof(*options), 0,
					  (uint32_t)sizeof(struct gyre_node_options),
					  (uint32_t)sizeof(struct gyre_membership) };

	return gyre_system_create_sized(options, sizes, ret_system);
}

/**
 * gyre_system_destroy() - stops a system if it runs, and frees it
 * @system: the system, or NULL
 *
 * Waits for the end as gyre_system_wait() does. The kernel takes a ring down some time later, and
 * then interrupts the threads that have used it: a call of theirs that is not begun again by
 * itself, such as recv() on a socket with a time-out, may fail once with EINTR.
 *
 * Ownership: @system is taken; no other thread may use it any more, but the one that turns it if it
 *   is embedded, until gyre_system_turn() has returned -ESHUTDOWN.
 * Context: any thread but a loop's, setup.
 * Since: 0.1
 */
GYRE_API void gyre_system_destroy(struct gyre_system *system);

/**
 * gyre_system_start() - starts the loops, each on a thread of its own
 * @system: a system that was never started; if it is embedded, the calling thread is from here on
 *   the one that turns its first loop
 *
 * Returns when all loops run, and everything that gyre_system_listen(), gyre_system_datagram_open()
 * and gyre_system_connect() opened before has the actors that serve it. Without memory for one of
 * these the start fails: everything that was opened is closed, and the log says what was lacking.
 *
 * Return: 0, or a negative errno, and then no loop runs.
 * Errors:
 *   -EINVAL  @system is NULL
 *   -EALREADY  it was started before
 *   -EAGAIN  no more threads can be had
 *   -ENOMEM  there is no memory for the actor that serves a socket
 *   others   why the kernel refused
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, setup.
 * Since: 0.1
 */
GYRE_API int gyre_system_start(struct gyre_system *system);

/**
 * gyre_system_stop() - asks a system to drain and stop
 * @system: the system, or NULL
 *
 * Listening ends. Channels deliver the bytes that they have received, send those that are queued,
 * and close, as by gyre_context_close(); a channel whose peer has everything and sends nothing does
 * not wait for the peer to close too. Actors may hold up each of these steps: see gyre/shutdown.h.
 * Channels that are still open after drain_timeout_ns are closed at once. Then actors stop,
 * children before their parents, and messages that wait for them become dead letters. A handler
 * that does not return holds this up: it cannot be taken off its loop. Threads that wait in
 * gyre_system_ask() return, and work of gyre_offload() that was not begun fails, both with
 * -ESHUTDOWN. A second call is harmless; so is a call before the start, which then stops at once.
 *
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase; does not wait. Signal handler.
 * Since: 0.1
 */
GYRE_API void gyre_system_stop(struct gyre_system *system);

/**
 * gyre_system_wait() - waits until a system has stopped
 * @system: a started system
 *
 * Work of gyre_offload() that has begun is waited for too: it cannot be killed. An embedded system
 * is turned meanwhile, by the thread that does so; another one waits until that has been done.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL or was never started
 *   -ESTALE  another node had declared this one down, and the options of the node have it end then
 *   -ETIMEDOUT  channels that had not ended by the end of drain_timeout_ns were closed, or actors
 *     held a phase of the shutdown until then
 *   others the error of the first loop that failed, or that of an actor whose failure no parent has
 *          settled: see GYRE_STRATEGY_ESCALATE
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, one at a time, setup; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_system_wait(struct gyre_system *system);

/**
 * gyre_system_run() - starts a system, and drains it on SIGINT, SIGTERM or gyre_system_stop()
 * @system: a system that was never started
 *
 * The two signals are blocked in the calling thread while it runs. A second one does not wait for
 * the drain to end: channels are closed at once. What comes within 100 ms of the first is no second
 * one: programs such as timeout(1) send the same signal twice.
 *
 * Return: 0 after a drain, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL, or embedded
 *   others   as gyre_system_start() and gyre_system_wait()
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, setup; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_system_run(struct gyre_system *system);

/**
 * gyre_system_loops() - how many loops a system has
 * @system: the system
 *
 * Loops that retire do not count any more.
 *
 * Return: the number, at least 1; 0 when @system is NULL.
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_system_loops(const struct gyre_system *system);

/** gyre_system_resolved_options_sized() - the resolved options, with the size of @ret_options */
GYRE_API int gyre_system_resolved_options_sized(const struct gyre_system *system,
						struct gyre_system_options *ret_options,
						size_t ret_options_bytes);

/**
 * gyre_system_resolved_options() - the options that a system runs with
 * @system: the system
 * @ret_options: the options that it was created with. A field that was 0 has the value that 0
 *   stood for:
 *   - @loops is the number at the creation; gyre_system_loops() tells the present one
 *   - @cpus is the list of all CPUs that loops are pinned to, in rising order
 *   - @spin_ns is GYRE_SPIN_NEVER if the system had more loops than can run at once
 *   - @memory_limit_bytes is the limit that was found, 0 if there is none
 *   - @channel_bytes_max is 0 for no limit
 *   - @node is NULL: gyre_system_node_resolved_options() tells those of the node
 *   - @offload_pools is NULL: a snapshot shows the pools
 *   - functions, their arguments, @handover and @user stay NULL
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 * Ownership: texts in @ret_options are the system's, until gyre_system_destroy().
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
static inline int gyre_system_resolved_options(const struct gyre_system *system,
					       struct gyre_system_options *ret_options)
{
	return gyre_system_resolved_options_sized(system, ret_options, sizeof(*ret_options));
}

/**
 * gyre_system_user() - the pointer that the program gave the system for its actors
 * @system: the system; of the running actor gyre_system_of()
 *
 * So the main actor of gyre_main(), or any other, reaches what main() has prepared.
 *
 * Return: @user of the options, or NULL.
 * Errors:
 *   NULL  @system is NULL, or the options had no @user
 * Ownership: stays the program's.
 * Context: any thread, in any phase, between create and destroy of the system.
 * Since: 0.1
 */
GYRE_API void *gyre_system_user(const struct gyre_system *system);

GYRE_END_DECLS

#endif
