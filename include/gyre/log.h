/*
 * The log: lines of the library, and the hook that gets them. Without a hook, warnings and errors
 * are written to standard error, a line each.
 *
 * Nobody waits for the hook. A line is put into a buffer of its loop, and a thread of the log
 * passes it on; while the hook is slow, lines wait in log_buffer_bytes for each loop (see struct
 * gyre_system_options). A line that finds no room is lost. The log says how many were lost, in a
 * line of its own where the gap is, as do @log_lost of struct gyre_counters and of struct
 * gyre_loop_snapshot. A process that crashes takes the last lines with it that were not written
 * yet: GYRE_LOG_UNBUFFERED helps to find out why.
 *
 * A line has at most 1023 bytes; a longer one ends in "...". Bytes that are no text, such as
 * newlines, become spaces, so that bytes of a peer cannot make a line of their own.
 */
#ifndef GYRE_LOG_H
#define GYRE_LOG_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

/** GYRE_LOG_UNBUFFERED - in @log_buffer_bytes: whoever logs waits for the hook */
#define GYRE_LOG_UNBUFFERED INT64_C(-1)

/**
 * enum gyre_log_level - how grave a message is; nothing above warning is logged in normal life
 * @GYRE_LOG_DEFAULT: in options, stands for GYRE_LOG_WARNING; no message has this level
 * @GYRE_LOG_DEBUG: for people who work on gyre
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

GYRE_END_DECLS

#endif
