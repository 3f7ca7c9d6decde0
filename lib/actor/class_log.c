/*
 * The logs of classes stand in a list of the system, which any loop may lengthen. The list only
 * grows while loops turn, so that readers need no lock. The first loop to leave out a line starts a
 * timer, which logs the count.
 */
#include "actor/class_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actor/home.h"
#include "base/log_limit.h"
#include "base/memory.h"

enum { LINES_A_WINDOW = 10, WINDOW_MS = 1000, TEXT_BYTES = 900 };

struct gy_class_log {
	struct gy_class_log *next;
	uint32_t kinds; /* atomic; that refer to it */
	struct gy_log_limit limit;
	char name[GY_CLASS_NAME_BYTES];
};

static struct gy_homes *homes_of(const struct gy_home *home)
{
	return gy_homes_of(home->options.system);
}

/* ---- the list ---- */

/* Searches from @log on, before @end. */
static struct gy_class_log *find(struct gy_class_log *log, const struct gy_class_log *end,
				 const char *name)
{
	while (log != end && strcmp(log->name, name) != 0) {
		log = log->next;
	}
	return log == end ? NULL : log;
}

static struct gy_class_log *make(const char *name)
{
	struct gy_class_log *log = (struct gy_class_log *)gy_memory_get(sizeof(*log));

	if (log != NULL) {
		gy_log_limit_init(&log->limit, LINES_A_WINDOW, WINDOW_MS);
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
		struct gy_class_log *found = find(now, looked_at, log->name);

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
	struct gy_class_log *log = find(first, NULL, name);

	if (log == NULL) {
		log = make(name);
		if (log == NULL) {
			return NULL;
		}
		log = add(homes, first, log);
	}
	(void)gy_add_relaxed(&log->kinds, 1);
	return log;
}

/* ---- counts ---- */

static void log_count(const struct gy_log *to, struct gy_class_log *log)
{
	uint64_t count = gy_log_limit_take(&log->limit);

	if (count > 0) {
		gy_log(to, GYRE_LOG_WARNING,
		       "actor %s: and %" PRIu64
		       " more lines, of which at most %d a second are logged",
		       log->name, count, LINES_A_WINDOW);
	}
}

static void window_over(struct gy_timer *timer)
{
	const struct gy_home *home = gy_container_of(timer, struct gy_home, unlogged_timer);
	struct gy_class_log *log = gy_load_acquire(&homes_of(home)->class_logs);

	for (; log != NULL; log = log->next) {
		log_count(home->loop.options.log, log);
	}
}

void gy_class_logs_init(struct gy_home *home)
{
	gy_timer_init(&home->unlogged_timer, window_over);
}

void gy_class_log_put(struct gy_home *home, struct gy_class_log *log)
{
	struct gy_class_log **link = &homes_of(home)->class_logs;

	gy_assert(log->kinds > 0);
	if (--log->kinds > 0) {
		return;
	}
	log_count(home->loop.options.log, log);
	while (*link != log) {
		link = &(*link)->next;
	}
	*link = log->next;
	gy_memory_put(log);
}

/* ---- lines ---- */

void gy_class_warn(struct gy_home *home, const struct gy_class_info *info, const char *format, ...)
{
	struct gy_log_limit *limit = &info->log->limit;
	const struct gy_log *log = home->loop.options.log;
	char note[GY_LOG_NOTE_BYTES];
	char text[TEXT_BYTES];
	va_list args;

	if (!gy_log_is_written(log, GYRE_LOG_WARNING)) {
		return;
	}
	if (!gy_log_limit_admit(limit, home->loop.now_ns)) {
		if (!gy_timer_is_started(&home->unlogged_timer)) {
			gy_timer_start(&home->loop.wheel, &home->unlogged_timer,
				       GYRE_MILLISECONDS(WINDOW_MS));
		}
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gy_log(log, GYRE_LOG_WARNING, "actor %s: %s%s", info->name, text,
	       gy_log_limit_note(limit, note));
}
