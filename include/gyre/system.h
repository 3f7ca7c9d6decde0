/*
 * A system: one running runtime of one or more loops. Create it, spawn into it, listen in it, run
 * it, destroy it. Several may live in one process.
 */
#ifndef GYRE_SYSTEM_H
#define GYRE_SYSTEM_H

#include <gyre/actor.h>
#include <gyre/counters.h>
#include <gyre/log.h>
#include <gyre/node.h>

GYRE_BEGIN_DECLS

/** GYRE_SPIN_AUTO - poll before parking while recent waits were short */
#define GYRE_SPIN_AUTO INT64_C(-1)
/** GYRE_SPIN_NEVER - park at once */
#define GYRE_SPIN_NEVER INT64_C(-2)
/** GYRE_CPUS_MAX - how many CPUs @cpus of the options can name */
#define GYRE_CPUS_MAX 8192

/**
 * gyre_dead_letter_fn - hears of each message that is lost
 * @type: its type
 * @from: its sender, or GYRE_NOBODY
 * @to: its receiver
 * @reason: why
 * @arg: what was registered
 *
 * Runs on the loop that lost it, in phase 2 or 3, also inside a handler, and for mail from outside
 * that came after the end on the thread that sent it or waits for the end; for work off the loops
 * that was never begun, also on a thread of its pool. It is not re-entered on one thread but runs
 * on several at once, and must not call gyre except for the helpers of an address. There is no last
 * call before gyre_system_destroy() has returned.
 */
typedef void (*gyre_dead_letter_fn)(const struct gyre_type *type, struct gyre_address from,
				    struct gyre_address to, enum gyre_drop reason, void *arg);

/**
 * gyre_started_fn - hears that a system serves
 * @system: the system
 * @arg: what was registered
 *
 * Runs in no phase, on the thread in gyre_system_start() or gyre_system_run(), when all loops run
 * and what was opened before is served; not when the start fails, or the system is to stop by then.
 * In gyre_system_run() SIGINT and SIGTERM drain the system from then on: a program says here where
 * it listens. It is not re-entered; the first call is the last call. It may call whatever that
 * thread may.
 */
typedef void (*gyre_started_fn)(struct gyre_system *system, void *arg);

/**
 * struct gyre_system_options - how a system runs; what is 0 has the default chosen at the build
 * @loops: how many loops; by default one for each CPU the process may use, but not more than what
 *   its cgroups (version 2) give it CPU time for; at most 1024
 * @loops_max: how many gyre_system_resize() may make of them, which sizes some tables; by default
 *   one for each CPU the process may use, and no less than @loops; at most 1024
 * @cpus: a list of CPUs for the loops, as "0-3,8"; NULL for those that the process may use. Loops
 *   are pinned to one of each physical core first
 * @ring_entries: submissions a ring holds, a power of two, 64 to 32768
 * @buffer_count: receive buffers a loop, a power of two, 16 to 32768
 * @buffer_bytes: of each receive buffer, 512 to 65536. From Linux 6.15 on several receives share a
 *   buffer; then the same memory is made up of fewer and larger ones
 * @whole_buffers: 1 for buffers that are never shared, as on older kernels
 * @datagram_buffer_count: receive buffers for datagrams of a loop that has a datagram channel, a
 *   power of two, 16 to 32768
 * @datagram_buffer_bytes: of the longest datagram that is received, 512 to 65536; also of what the
 *   kernel gathers of one sender
 * @io_ratio: share of I/O in a loop's time in percent, 1 to 100; 100 sets phase 3 no deadline
 * @min_budget_ns: of phase 3 in a turn without I/O events, 1000 to 1e9
 * @run_budget: messages an actor handles before the next actor's turn, 1 to 1e6
 * @starvation_limit: actors of high priority that may pass one of normal priority, 1 to 1e6
 * @steal_floor: ready actors that a loop keeps for itself, 1 to 1e6
 * @steal_aggression: idle turns times ready actors before a theft, 1 to 1e6
 * @timer_tick_ns: the grain of timers, 1e5 to 1e9
 * @high_replies: waiting replies above which an actor has high priority, 1 to 65535
 * @high_events: the same for events
 * @ask_timeout_ns: of an ask that names none, 1000 to 3.6e12
 * @spin_ns: how long a loop polls before it parks: GYRE_SPIN_AUTO, GYRE_SPIN_NEVER, 1 to 1e9
 * @stall_ms: a handler that runs for longer is logged, with its class, message and backtrace, at
 *   most 5 a minute; -1 for never, 1 to 60000. Its thread is sent a signal for that, see below
 * @offload_threads: threads for gyre_offload(), each started when it is first needed, 1 to 256
 * @offload_queue_max: pieces of its work that may wait for one of them, 1 to 1e6
 * @memory_limit_bytes: resident memory of the process near which the system takes in less, besides
 *   what a cgroup allows; 0 for the machine's if no cgroup sets a limit, -1 for never, 1 to 2^50;
 *   see gyre/overload.h
 * @write_low_bytes: queued output below which a channel is writable again, 1 to 2^30
 * @write_high_bytes: queued output above which it is not, at least @write_low_bytes, up to 2^30
 * @write_max_bytes: queued output at which it is closed, at least @write_high_bytes, up to 2^30
 * @channel_bytes_max: what all channels may hold of output that the kernel has not taken, of input
 *   that handlers have not been given, and of frames that are not complete, in bytes; each loop has
 *   an equal share. Over three quarters of that its channels do not read by themselves, and are not
 *   writable; what is written over all of it closes the channel with -ENOBUFS, and a write that can
 *   wait (gyre_context_try_write()) may be of half at most. It goes on below half; peers that never
 *   take what they asked for are the idle handler's matter. 0 for no limit, up to 2^50
 * @zero_copy_bytes: queued output from which a channel of TCP has the kernel send from the pages
 *   themselves, 1 to 2^30; -1 for never. A channel whose bytes are copied after all, as those for
 *   the same machine, goes back to plain sends; the memory counts as locked (RLIMIT_MEMLOCK)
 * @linger_ns: how long a closing channel waits for a peer that takes none of its output, or has
 *   it all and does not close, 1e6 to 3.6e12; see gyre_context_close(). Also how long others wait
 *   for the peer of a Unix socket for datagrams, see gyre/datagram.h
 * @drain_timeout_ns: how long channels may take to end when the system stops, 1e6 to 3.6e12; then
 *   they are closed at once
 * @handover: "unix:PATH", see gyre/handover.h; NULL for none
 * @notify_supervisor: tell the supervisor, if there is one at the Unix socket of NOTIFY_SOCKET as
 *   systemd's, READY=1 when the loops run, with MAINPID= of this process if it succeeds another at
 *   @handover, and STOPPING=1 when the system stops other than for a successor
 * @log: where messages go; NULL for standard error
 * @log_level: the least that is logged, GYRE_LOG_DEBUG to GYRE_LOG_ERROR; by default warnings
 * @log_arg: for @log
 * @dead_letter: hears of each message that is lost; NULL for nobody
 * @dead_letter_arg: for @dead_letter
 * @started: told when the system serves, see there; NULL for nobody
 * @started_arg: for @started
 * @user: the program's own, for gyre_system_user(); may be NULL
 * @node: makes the system a node that exchanges messages with others, see node.h; NULL for none
 *
 * A handler that has run for a quarter of @stall_ms or more is interrupted now and then by a
 * signal, which gyre takes for itself while such a system runs: the first from SIGRTMIN + 5 on that
 * the program has left at its default. Calls that a signal makes fail with EINTR although handlers
 * of signals are installed with SA_RESTART, such as poll() and nanosleep(), may do so in such a
 * handler. A program that wants none of this says -1. A loop's thread has every other signal
 * blocked.
 */
struct gyre_system_options {
	uint32_t loops;
	uint32_t loops_max;
	const char *cpus;
	uint32_t ring_entries;
	uint32_t buffer_count;
	uint32_t buffer_bytes;
	uint32_t whole_buffers;
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
	int64_t stall_ms;
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
	void *user;
	const struct gyre_node_options *node;
};

/**
 * gyre_system_create() - makes a system whose loops do not run yet
 * @options: how it runs; NULL for the defaults; not needed after the call
 * @ret_system: the system
 *
 * A failure is explained by one line in the log, with its cause and remedy. Where standard input,
 * output or error is closed the null device takes its place, and stays.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EAGAIN  no more threads can be had
 *   -EINVAL  a field is out of its bounds, or NOTIFY_SOCKET is nothing that can be notified
 *   -ENOMEM  there is no memory, or too little of it may be locked
 *   -ENOSYS  the kernel has no io_uring
 *   -EPROTO, -ETIMEDOUT, -EACCES  nobody could be succeeded at @handover, though somebody is there
 *   -EPERM   io_uring is forbidden
 *   others   what the kernel refused a ring or a thread with
 * Ownership: @ret_system is the caller's, for gyre_system_destroy().
 * Context: any thread, setup.
 * Since: 0.1
 */
GYRE_API int gyre_system_create(const struct gyre_system_options *options,
				struct gyre_system **ret_system);

/**
 * gyre_system_destroy() - stops a system if it runs, and frees it
 * @system: the system, or NULL
 *
 * Ownership: @system is taken; no other thread may use it any more.
 * Context: any thread but a loop's, setup.
 * Since: 0.1
 */
GYRE_API void gyre_system_destroy(struct gyre_system *system);

/**
 * gyre_system_start() - starts the loops, each on a thread of its own
 * @system: a system that was never started
 *
 * Returns when all loops run, and what gyre_system_listen(), gyre_system_datagram_open() and
 * gyre_system_connect() opened before has the actors that serve it. Without memory for one of
 * those the start fails: all that was opened is closed, and the log says what was lacking.
 *
 * Return: 0, or a negative errno, and then no loop runs.
 * Errors:
 *   -EINVAL  @system is NULL
 *   -EALREADY  it was started before
 *   -EAGAIN  no more threads can be had
 *   -ENOMEM  there is no memory for what serves a socket
 *   others   what the kernel refused with
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, setup.
 * Since: 0.1
 */
GYRE_API int gyre_system_start(struct gyre_system *system);

/**
 * gyre_system_stop() - asks a system to drain and stop
 * @system: the system, or NULL
 *
 * Listening ends. Channels deliver what they have received, send what is queued and close, as by
 * gyre_context_close(); but one whose peer has everything and sends nothing does not wait for it to
 * close too. What is not closed after drain_timeout_ns is closed at once. Then actors stop,
 * children before their parents, and what waits for them becomes dead letters. A handler that does
 * not return holds this up: it cannot be taken off its loop. Threads that wait in gyre_system_ask()
 * come back, and work of gyre_offload() that was not begun fails; both with -ESHUTDOWN. Asking
 * twice is harmless; so is asking before the start, which then stops at once.
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
 * What gyre_offload() has begun is waited for too: it cannot be killed.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @system is NULL or was never started
 *   -ESTALE  another node had declared this one down, and its options have it end then
 *   -ETIMEDOUT  channels had output left at the end of the drain's time, and were closed with it
 *   others   what the first loop that failed did so with
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
 * the drain to end: channels are closed at once.
 *
 * Return: 0 after a drain, or a negative errno.
 * Errors:
 *   as gyre_system_start() and gyre_system_wait()
 * Ownership: nothing changes hands.
 * Context: any thread but a loop's, setup; blocks.
 * Since: 0.1
 */
GYRE_API int gyre_system_run(struct gyre_system *system);

/**
 * gyre_system_loops() - how many loops a system has
 * @system: the system
 *
 * Those that retire do not count any more.
 *
 * Return: the number, at least 1; 0 when @system is NULL.
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_system_loops(const struct gyre_system *system);

/**
 * gyre_system_user() - what the program gave the system for its actors
 * @system: the system; of the running actor gyre_system_of()
 *
 * So the main actor of gyre_main(), and any other, gets at what main() has prepared.
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
