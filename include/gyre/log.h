/*
 * The hook for all messages of the library. Without a hook, warnings and errors are written to
 * standard error, a line each.
 */
#ifndef GYRE_LOG_H
#define GYRE_LOG_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

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
 * gyre_log_fn - receives each message of the library
 * @line: the message; valid during the call only
 * @arg: the argument that was registered with the hook
 *
 * Runs in any phase and on any thread, also on several at once; it may be re-entered only from
 * another thread, and must not call gyre. There is no last call: it may come until
 * gyre_system_destroy() has returned.
 */
typedef void (*gyre_log_fn)(const struct gyre_log_line *line, void *arg);

GYRE_END_DECLS

#endif
