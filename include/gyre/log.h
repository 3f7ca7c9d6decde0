/*
 * The log: lines of the library and of the program, and the hook that gets them. Without a hook,
 * they are written to standard error, a line each. Lines below @log_level of struct
 * gyre_system_options are left out, which is by default all below warnings.
 *
 * Nobody waits for the hook. A line is put into a buffer of its loop, and a thread of the log
 * passes it on; while the hook is slow, lines wait in log_buffer_bytes for each loop (see struct
 * gyre_system_options). A line that finds no room is lost. The log says how many were lost, in a
 * line of its own where the gap is, as do @log_lost of struct gyre_counters and of struct
 * gyre_loop_snapshot. A process that crashes takes the last lines with it that were not written
 * yet: GYRE_LOG_UNBUFFERED helps to find out why.
 *
 * A program logs with gyre_log() in a handler of an actor, gyre_context_log() in one of a pipeline,
 * gyre_channel_log() where it has a channel, and gyre_system_log() elsewhere. The line begins with
 * who logs it and where:
 *
 *	actor shop [0:12:3f]: ...
 *	actor shop [0:12:3f] on loop 1: ...		(the actor was stolen by that loop)
 *	handler echo of channel [0:16777216:7] with tcp://192.0.2.1:4711: ...
 *	loop 1: ...
 *	thread feeder: ...
 *
 * with addresses as gyre_address_format() writes them, and in a system that is a node "node 3, "
 * before "loop" and "thread". While the system runs a call waits for nobody and takes no lock. It
 * formats nothing if its level is left out, and leaves errno alone.
 *
 * Each class of actors may log log_lines_max lines a second (see struct gyre_system_options), on
 * all loops together; so may all handlers of one name, and so may the rest of the program. Further
 * lines are dropped before they are formatted, so that nobody makes others lose theirs. The log
 * says how many, in a line of its own, within about a second if a loop dropped them.
 *
 * A line has at most 1023 bytes; a longer one ends in "...". It is valid UTF-8: all other bytes are
 * escaped as in C, and so are control characters and separators of lines, a newline by a backslash
 * and an n. So bytes of a peer cannot make a line of their own. Newlines at the end are dropped.
 */
#ifndef GYRE_LOG_H
#define GYRE_LOG_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

struct gyre_channel;
struct gyre_handler_context;
struct gyre_stack;
struct gyre_system;

/** GYRE_LOG_UNBUFFERED - in @log_buffer_bytes: whoever logs waits for the hook */
#define GYRE_LOG_UNBUFFERED INT64_C(-1)

/**
 * enum gyre_log_level - how grave a message is; nothing above warning is logged in normal life
 * @GYRE_LOG_DEFAULT: in options, stands for GYRE_LOG_WARNING; no message has this level
 * @GYRE_LOG_DEBUG: for people who work on gyre, or on the program
 * @GYRE_LOG_INFO: events of normal life
 * @GYRE_LOG_WARNING: an event that should not happen, and after which gyre goes on
 * @GYRE_LOG_ERROR: a failure
 */
enum gyre_log_level {
	GYRE_LOG_DEFAULT,
	GYRE_LOG_DEBUG,
	GYRE_LOG_INFO,
	GYRE_LOG_WARNING,
	GYRE_LOG_ERROR,
};

/**
 * struct gyre_log_line - a line of the log
 * @level: how grave it is
 * @time_ns: when it was logged, by the monotonic clock
 * @date_ns: the same by the calendar clock, in nanoseconds of the Unix epoch
 * @text: the line, without a newline
 */
struct gyre_log_line {
	enum gyre_log_level level;
	uint64_t time_ns;
	uint64_t date_ns;
	const char *text;
};

/**
 * gyre_log_fn - gets the lines of a log
 * @line: the line; valid during the call only
 * @arg: the argument that was registered with the hook
 *
 * Runs in no phase, on a thread of the log, or on one that waits for the end of the system; before
 * the start on the thread that logs. It is not re-entered, and one thread at a time runs it for a
 * system. It may block, and must not call gyre. With GYRE_LOG_UNBUFFERED it runs in any phase, on
 * the thread that logs, and holds up the loop.
 *
 * Lines come in the order of their times; those of one actor, or of one thread, always do. When
 * gyre_system_wait() returns, all that was logged before has been passed on. The last call is over
 * when gyre_system_destroy() returns.
 */
typedef void (*gyre_log_fn)(const struct gyre_log_line *line, void *arg);

/**
 * gyre_log() - logs a line of the running actor
 * @stack: the stack of the running handler, hook or timer event
 * @level: how grave it is; GYRE_LOG_DEFAULT is left out
 * @format: as for printf(3); nothing happens when it is NULL
 * @...: what it formats
 *
 * Hooks that get no stack, such as gyre_clean_fn, use gyre_system_log().
 *
 * Ownership: nothing changes hands; all arguments are read during the call.
 * Context: loop thread, phases 2 and 3, inside a handler. Never waits, but with
 *   GYRE_LOG_UNBUFFERED for the hook.
 * Since: 0.1
 */
GYRE_PRINTF(3, 4)
GYRE_API void gyre_log(const struct gyre_stack *stack, enum gyre_log_level level,
		       const char *format, ...);

/**
 * gyre_context_log() - logs a line of a handler of a pipeline
 * @ctx: the handler's place
 * @level: how grave it is; GYRE_LOG_DEFAULT is left out
 * @format: as for printf(3); nothing happens when it is NULL
 * @...: what it formats
 *
 * The line names the handler, the address of the channel, and its peer while the kernel knows it,
 * which takes a system call for each line that is logged. A handler without a name, and the tail,
 * log as gyre_channel_log() does. Of handlers with more than 256 different names, the last share
 * the limits of the actors that own their channels.
 *
 * Ownership: nothing changes hands; all arguments are read during the call.
 * Context: loop thread, phase 2, on the channel's loop; until @removed of the handler has returned.
 *   Waits as gyre_log() does.
 * Since: 0.1
 */
GYRE_PRINTF(3, 4)
GYRE_API void gyre_context_log(const struct gyre_handler_context *ctx, enum gyre_log_level level,
			       const char *format, ...);

/**
 * gyre_channel_log() - logs a line about a channel
 * @channel: the channel
 * @level: how grave it is; GYRE_LOG_DEFAULT is left out
 * @format: as for printf(3); nothing happens when it is NULL
 * @...: what it formats
 *
 * For initialisers, reports and callbacks, which get a channel. The line names the class of the
 * actor that owns the channel, and otherwise the same as that of gyre_context_log().
 *
 * Ownership: nothing changes hands; all arguments are read during the call.
 * Context: loop thread, phase 2, on the channel's loop; from the initialiser until @removed of its
 *   handlers has returned, and in reports that get it. Waits as gyre_log() does.
 * Since: 0.1
 */
GYRE_PRINTF(3, 4)
GYRE_API void gyre_channel_log(struct gyre_channel *channel, enum gyre_log_level level,
			       const char *format, ...);

/**
 * gyre_system_log() - logs a line from outside of handlers
 * @system: the system; NULL for that of the loop that the calling thread turns
 * @level: how grave it is; GYRE_LOG_DEFAULT is left out
 * @format: as for printf(3); nothing happens when it is NULL
 * @...: what it formats
 *
 * A thread of the program is named in the line as pthread_setname_np(3) has named it. On a thread
 * that turns a loop of @system, the line names the actor that runs there, if there is one: so
 * gyre_clean_fn, filters, and destructors of messages, which get no stack, log by this with NULL. A
 * thread that turns no loop, such as one that offloads work, has no system to find for NULL: its
 * line goes to standard error, not to a hook, if it is a warning or an error, and has no limit.
 *
 * Lines may be logged before the system starts, while it stops, and when it has stopped, until it
 * is destroyed. Lines of other threads than those of loops are put into one buffer of the system.
 *
 * Ownership: nothing changes hands; all arguments are read during the call.
 * Context: any thread, in any phase, also in gyre_loop_init_fn and gyre_loop_fini_fn, between
 *   create and destroy of @system; not inside gyre_log_fn, and not a signal handler. Before the
 *   start, and after gyre_system_wait() has returned, it waits for the hook; else it waits as
 *   gyre_log() does.
 * Since: 0.1
 */
GYRE_PRINTF(3, 4)
GYRE_API void gyre_system_log(struct gyre_system *system, enum gyre_log_level level,
			      const char *format, ...);

GYRE_END_DECLS

#endif
