/*
 * The counters of a system: every message that was sent, and its fate. At the end of a system sent
 * = handled + the sum of dropped + to_nodes. Messages from other nodes are counted as sent here.
 */
#ifndef GYRE_COUNTERS_H
#define GYRE_COUNTERS_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

struct gyre_system;

/**
 * enum gyre_drop - why a message was not handled
 * @GYRE_DROP_NO_ACTOR: its receiver had stopped, or never was
 * @GYRE_DROP_MAILBOX_FULL: its receiver had as many waiting as its class allows
 * @GYRE_DROP_STOPPED: it was waiting for an actor that stopped
 * @GYRE_DROP_SHUTDOWN: the system was stopping
 * @GYRE_DROP_UNHANDLED: the behaviour has no handler for its kind
 * @GYRE_DROP_EXPIRED: an ask that was past its deadline when its turn came
 * @GYRE_DROP_LATE: an answer that nobody waited for any more
 * @GYRE_DROP_SECOND: a second answer to one ask
 * @GYRE_DROP_CANCELLED: the event of a timer that was stopped or restarted
 * @GYRE_DROP_NO_MEMORY: it could not be handled for lack of memory; notices of gyre's own, and all
 *   to an actor that has asked a stream for elements, wait for memory instead
 * @GYRE_DROP_NODE_DOWN: the node of its receiver is down, unknown or out of reach
 * @GYRE_DROP_LINK_FULL: too much waits for the node of its receiver already
 * @GYRE_DROP_FORMER_LIFE: its receiver was of a life of its node that is over, see node.h
 * @GYRE_DROP_NOT_UNDERSTOOD: its type cannot travel, or is not known in the same form on both nodes
 * @GYRE_DROP_COUNT: how many reasons there are
 */
enum gyre_drop {
	GYRE_DROP_NO_ACTOR,
	GYRE_DROP_MAILBOX_FULL,
	GYRE_DROP_STOPPED,
	GYRE_DROP_SHUTDOWN,
	GYRE_DROP_UNHANDLED,
	GYRE_DROP_EXPIRED,
	GYRE_DROP_LATE,
	GYRE_DROP_SECOND,
	GYRE_DROP_CANCELLED,
	GYRE_DROP_NO_MEMORY,
	GYRE_DROP_NODE_DOWN,
	GYRE_DROP_LINK_FULL,
	GYRE_DROP_FORMER_LIFE,
	GYRE_DROP_NOT_UNDERSTOOD,
	GYRE_DROP_COUNT,
};

/** GYRE_DROPS_MAX - how many reasons there is room for in counters: later ones take it */
#define GYRE_DROPS_MAX 32

/**
 * struct gyre_counters - the sums over all loops of a system, each since its creation
 * @sent: messages of every kind: notices, asks, answers, events
 * @handled: of these, given to a handler or to a promise
 * @dropped: of these, lost, by reason
 * @to_nodes: of these, sent on to other nodes
 * @failed: handlers that returned an error
 * @restarted: actors restarted after a failure
 * @spawned: actors made
 * @stopped: actors gone
 * @turns: iterations of loops
 * @parks: waits of loops that could block
 * @wakes: parked loops woken by others
 * @chains: batches of mail handed from one loop to another
 * @published: ready actors that a loop offered to other loops; most often it takes them back
 * @stolen: of these, run by another loop
 * @enters: calls of io_uring_enter
 * @accepted: connections accepted, and pipes opened
 * @connected: connections made to others
 * @closed: of both, those closed again, including those that found no owner; never more than there
 *   were
 * @bytes_received: by channels
 * @bytes_sent: by channels
 * @reads: receive completions with data, and datagrams
 * @buffer_stalls: times a channel waited for receive buffers
 * @accept_stalls: times an acceptor paused because the kernel refused to accept, for lack of
 *   descriptors or memory
 * @handshake_timeouts: channels closed because their handshake was not done after handshake_ns
 * @idle_closed: channels closed by the idle handler, idle or too slow
 * @write_max_closed: channels closed because their queued output went over write_max_bytes
 * @linger_timeouts: channels closed because their peers took none of their output for linger_ns
 * @zero_copy_sends: sends whose bytes the kernel was asked to take without a copy
 * @zero_copies_copied: of these, those that the kernel copied all the same
 * @accepts_held: times an acceptor found a connection that had to wait for a limit
 * @refused_full: connections closed because there were as many as there may be
 * @refused_rate: connections closed because they came too fast
 * @refused_report: connections closed because the report about them said so
 * @links_refused: connections from nodes, real or alleged, that ended before they became links:
 *   refused, too slow, or too many; see gyre/node.h
 * @busy_periods: times the system was short of memory; see gyre/overload.h
 * @accepts_paused: times an acceptor paused because the system was busy: see gyre/overload.h
 * @reads_paused: times a channel stopped reading for that reason
 * @held_periods: times that the channels of a loop held too much; see channel_bytes_max of struct
 *   gyre_system_options
 * @held_reads_paused: times a channel stopped reading because its loop held too much
 * @held_refused: writes of gyre_context_try_write(), of sends and of datagrams that were refused
 *   because the loop held too much
 * @held_closed: channels closed because they wrote all the same
 * @notices_delayed: notices from outside that waited while the system was short of memory
 * @datagrams_sent: datagrams that the kernel took
 * @datagrams_failed: datagrams written and not sent: refused by the channel or by the kernel
 * @datagrams_truncated: datagrams thrown away because they were longer than datagram_buffer_bytes
 * @datagrams_dropped: datagrams received, and thrown away for lack of memory
 * @datagram_receives: receive completions of datagrams, each with one or several of one sender
 * @datagram_sends: send completions of datagrams, each with one or several to one peer
 * @allocations: calls to the heap, of the whole process
 * @log_lines: lines of the log, those that were lost left out
 * @log_lost: lines of the log that were lost, see gyre/log.h
 */
struct gyre_counters {
	uint64_t sent;
	uint64_t handled;
	uint64_t dropped[GYRE_DROPS_MAX];
	uint64_t to_nodes;
	uint64_t failed;
	uint64_t restarted;
	uint64_t spawned;
	uint64_t stopped;
	uint64_t turns;
	uint64_t parks;
	uint64_t wakes;
	uint64_t chains;
	uint64_t published;
	uint64_t stolen;
	uint64_t enters;
	uint64_t accepted;
	uint64_t connected;
	uint64_t closed;
	uint64_t bytes_received;
	uint64_t bytes_sent;
	uint64_t reads;
	uint64_t buffer_stalls;
	uint64_t accept_stalls;
	uint64_t handshake_timeouts;
	uint64_t idle_closed;
	uint64_t write_max_closed;
	uint64_t linger_timeouts;
	uint64_t zero_copy_sends;
	uint64_t zero_copies_copied;
	uint64_t accepts_held;
	uint64_t refused_full;
	uint64_t refused_rate;
	uint64_t refused_report;
	uint64_t links_refused;
	uint64_t busy_periods;
	uint64_t accepts_paused;
	uint64_t reads_paused;
	uint64_t held_periods;
	uint64_t held_reads_paused;
	uint64_t held_refused;
	uint64_t held_closed;
	uint64_t notices_delayed;
	uint64_t datagrams_sent;
	uint64_t datagrams_failed;
	uint64_t datagrams_truncated;
	uint64_t datagrams_dropped;
	uint64_t datagram_receives;
	uint64_t datagram_sends;
	uint64_t allocations;
	uint64_t log_lines;
	uint64_t log_lost;
};

/** gyre_system_counters_sized() - gyre_system_counters() with the size of @ret_counters */
GYRE_API int gyre_system_counters_sized(struct gyre_system *system,
					struct gyre_counters *ret_counters,
					size_t ret_counters_bytes);

/**
 * gyre_system_counters() - reads the counters of a running system
 * @system: the system
 * @ret_counters: the counters
 *
 * The loops are not stopped: each number was true at some moment during the call, and only after
 * gyre_system_wait() are they all of one moment.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 * Ownership: nothing changes hands.
 * Context: any thread, in any phase.
 * Since: 0.1
 */
static inline int gyre_system_counters(struct gyre_system *system,
				       struct gyre_counters *ret_counters)
{
	return gyre_system_counters_sized(system, ret_counters, sizeof(*ret_counters));
}

/**
 * gyre_drop_name() - the name of a reason, for logs
 * @reason: the reason
 *
 * Return: a word in small letters; "unknown" for a number that is no reason.
 * Ownership: static.
 * Context: any thread, in any phase; signal handler.
 * Since: 0.1
 */
GYRE_API const char *gyre_drop_name(enum gyre_drop reason);

GYRE_END_DECLS

#endif
