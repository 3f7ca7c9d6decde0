/*
 * The logs of classes and handlers stand in a list of the system, which any loop may lengthen. The
 * list only grows while loops turn, so that readers need no lock. The first loop to drop a line
 * starts a timer, which logs how many were dropped.
 *
 * A thread that turns no loop has no timer. Lines that it drops are told of by the next line that
 * it may log, by the timer of a loop, or at the end.
 */
#include "actor/class_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actor/home.h"
#include "base/clock.h"
#include "base/log/log_limit.h"
#include "base/memory/memory.h"

enum { LINES_A_WINDOW = 10, WINDOW_MS = 1000, WHOSE_BYTES = GY_CLASS_NAME_BYTES + 16 };

enum kind { OF_ACTORS, OF_HANDLERS };

static const char *const kind_names[] = { "actor", "handler" };

struct gy_class_log {
	struct gy_class_log *next;
	uint32_t references; /* atomic; of records of classes, one on each loop */
	enum kind kind;
	struct gy_log_limit runtime_limit;
	struct gy_log_limit program_limit;
	char name[GY_CLASS_NAME_BYTES];
};

static struct gy_homes *homes_of(const struct gy_home *home)
{
	return gy_homes_of(home->options.system);
}

/* ---- the list ---- */

/* Whether @log is that of a kind and a name, of which the log has no more than its beginning. */
static bool is_of(const struct gy_class_log *log, enum kind kind, const char *name)
{
	return log->kind == kind && strncmp(log->name, name, sizeof(log->name) - 1) == 0;
}

/* Searches from @log on, before @end. */
static struct gy_class_log *find(struct gy_class_log *log, const struct gy_class_log *end,
				 enum kind kind, const char *name)
{
	while (log != end && !is_of(log, kind, name)) {
		log = log->next;
	}
	return log == end ? NULL : log;
}

static struct gy_class_log *make(const struct gy_homes *homes, enum kind kind, const char *name)
{
	struct gy_class_log *log = (struct gy_class_log *)gy_memory_get(sizeof(*log));

	if (log != NULL) {
		log->kind = kind;
		gy_log_limit_init(&log->runtime_limit, LINES_A_WINDOW, WINDOW_MS);
		gy_log_limit_init(&log->program_limit, homes->log_lines_max, WINDOW_MS);
		(void)strncpy(log->name, name, sizeof(log->name) - 1);
	}
	return log;
}

/* Puts @log in front, unless another loop was faster; returns the log that is in the list. */
static struct gy_class_log *add(struct gy_homes *homes, struct gy_class_log *first,
				struct gy_class_log *log)
{
	struct gy_class_log *looked_at = first;

	log->next = first;
	while (!gy_compare_exchange(&homes->class_logs, &log->next, log)) {
		struct gy_class_log *now = gy_load_acquire(&homes->class_logs);
		struct gy_class_log *found = find(now, looked_at, log->kind, log->name);

		if (found != NULL) {
			gy_memory_put(log);
			return found;
		}
		log->next = now;
		looked_at = now;
	}
	return log;
}

struct gy_class_log *gy_class_log_get(struct gy_home *home, const char *name)
{
	struct gy_homes *homes = homes_of(home);
	struct gy_class_log *first = gy_load_acquire(&homes->class_logs);
	struct gy_class_log *log = find(first, NULL, OF_ACTORS, name);

	if (log == NULL) {
		log = make(homes, OF_ACTORS, name);
		if (log == NULL) {
			return NULL;
		}
		log = add(homes, first, log);
	}
	(void)gy_add_relaxed(&log->references, 1);
	return log;
}

struct gy_class_log *gy_handler_log_get(struct gy_home *home, const char *name)
{
	struct gy_homes *homes = homes_of(home);
	struct gy_class_log *first = gy_load_acquire(&homes->class_logs);
	struct gy_class_log *found = find(first, NULL, OF_HANDLERS, name);
	struct gy_class_log *log;

	if (found != NULL) {
		return found;
	}
	/* Loops that come here at once may make a few more. */
	if (gy_load_relaxed(&homes->handler_logs) >= GY_HANDLER_LOGS_MAX) {
		return NULL;
	}
	log = make(homes, OF_HANDLERS, name);
	if (log == NULL) {
		return NULL;
	}
	found = add(homes, first, log);
	if (found == log) {
		(void)gy_add_relaxed(&homes->handler_logs, 1);
	}
	return found;
}

/* ---- counts ---- */

static void log_runtime_count(const struct gy_log *to, struct gy_class_log *log)
{
	uint64_t count = gy_log_limit_take(&log->runtime_limit);

	if (count > 0) {
		gy_log(to, GYRE_LOG_WARNING,
		       "actor %s: and %" PRIu64
		       " more lines, of which at most %d a second are logged",
		       log->name, count, LINES_A_WINDOW);
	}
}

/* At whatever level is written, for the lines may have been errors. */
GY_PRINTF(2, 3)
static bool log_at_any_level(const struct gy_log *to, const char *format, ...)
{
	bool logged;
	va_list args;

	va_start(args, format);
	logged = gy_log_between(to, to->level > GYRE_LOG_WARNING ? to->level : GYRE_LOG_WARNING, "",
				"", format, args);
	va_end(args);
	return logged;
}

/* Logs how many lines of a program were dropped; false when that line is lost itself: then the
 * count is kept for another time. */
static bool log_program_count(const struct gy_log *to, struct gy_log_limit *limit,
			      const char *whose)
{
	uint64_t count = gy_log_limit_take(limit);

	if (count > 0 &&
	    !log_at_any_level(to,
			      "%s: %" PRIu64 " lines were dropped: at most %u a second are "
			      "logged; log less, or raise log_lines_max",
			      whose, count, (unsigned)limit->lines_max)) {
		(void)gy_add_relaxed(&limit->unlogged, count);
		return false;
	}
	return true;
}

static const char *whose(const struct gy_class_log *log, char text[WHOSE_BYTES])
{
	(void)snprintf(text, WHOSE_BYTES, "%s %s", kind_names[log->kind], log->name);
	return text;
}

static const char others[] = "the program, outside of actors and handlers";

static bool log_counts(const struct gy_log *to, struct gy_class_log *log)
{
	char text[WHOSE_BYTES];

	log_runtime_count(to, log);
	return log_program_count(to, &log->program_limit, whose(log, text));
}

/* Has the counts be logged when the window is over. */
static void start_window(struct gy_home *home)
{
	if (!gy_timer_is_started(&home->unlogged_timer)) {
		gy_timer_start(&home->loop.wheel, &home->unlogged_timer,
			       GYRE_MILLISECONDS(WINDOW_MS));
	}
}

static void window_over(struct gy_timer *timer)
{
	struct gy_home *home = gy_container_of(timer, struct gy_home, unlogged_timer);
	const struct gy_log *to = home->loop.options.log;
	struct gy_homes *homes = homes_of(home);
	struct gy_class_log *log = gy_load_acquire(&homes->class_logs);
	bool all = log_program_count(to, &homes->other_lines, others);

	for (; log != NULL; log = log->next) {
		all = log_counts(to, log) && all;
	}
	if (!all) {
		start_window(home);
	}
}

void gy_class_logs_begin(struct gy_homes *homes, uint32_t lines_max)
{
	homes->log_lines_max = lines_max;
	gy_log_limit_init(&homes->other_lines, lines_max, WINDOW_MS);
}

void gy_class_logs_init(struct gy_home *home)
{
	gy_timer_init(&home->unlogged_timer, window_over);
}

static void free_log(struct gy_homes *homes, struct gy_class_log *log)
{
	struct gy_class_log **link = &homes->class_logs;

	while (*link != log) {
		link = &(*link)->next;
	}
	*link = log->next;
	gy_memory_put(log);
}

void gy_class_log_put(struct gy_home *home, struct gy_class_log *log)
{
	gy_assert(log->references > 0 && log->kind == OF_ACTORS);
	if (--log->references > 0) {
		return;
	}
	(void)log_counts(home->loop.options.log, log);
	free_log(homes_of(home), log);
}

void gy_class_logs_fini(struct gy_homes *homes)
{
	while (homes->class_logs != NULL) {
		struct gy_class_log *log = homes->class_logs;

		gy_assert(log->kind == OF_HANDLERS);
		(void)log_counts(homes->log, log);
		free_log(homes, log);
	}
	homes->handler_logs = 0;
	(void)log_program_count(homes->log, &homes->other_lines, others);
}

/* ---- lines of the program ---- */

static bool admit(struct gy_home *home, const struct gy_log *log, struct gy_log_limit *limit,
		  const char *name)
{
	uint64_t now_ns = home == NULL ? gy_clock_machine_ns() : gy_clock_ns(&home->loop.clock);
	bool admitted = gy_log_limit_admit(limit, now_ns);

	if (admitted) {
		(void)log_program_count(log, limit, name);
	} else if (home != NULL) {
		start_window(home);
	}
	return admitted;
}

bool gy_class_log_admit(struct gy_home *home, struct gy_class_log *log)
{
	char text[WHOSE_BYTES];

	return admit(home, home->loop.options.log, &log->program_limit, whose(log, text));
}

bool gy_class_logs_admit_other(struct gy_homes *homes, struct gy_home *home)
{
	return admit(home, home == NULL ? homes->log : home->loop.options.log, &homes->other_lines,
		     others);
}

/* ---- lines of the runtime ---- */

bool gy_class_warn_admit(struct gy_home *home, const struct gy_class_info *info)
{
	if (!gy_log_is_written(home->loop.options.log, GYRE_LOG_WARNING)) {
		return false;
	}
	if (!gy_log_limit_admit(&info->log->runtime_limit, home->loop.now_ns)) {
		start_window(home);
		return false;
	}
	return true;
}

void gy_class_warn_admitted(struct gy_home *home, const struct gy_class_info *info,
			    const char *before, const char *format, va_list args)
{
	char note[GY_LOG_NOTE_BYTES];

	(void)gy_log_between(home->loop.options.log, GYRE_LOG_WARNING, before,
			     gy_log_limit_note(&info->log->runtime_limit, note), format, args);
}

void gy_class_warn(struct gy_home *home, const struct gy_class_info *info, const char *format, ...)
{
	char before[WHOSE_BYTES];
	va_list args;

	if (!gy_class_warn_admit(home, info)) {
		return;
	}
	(void)snprintf(before, sizeof(before), "actor %s: ", info->name);
	va_start(args, format);
	gy_class_warn_admitted(home, info, before, format, args);
	va_end(args);
}
