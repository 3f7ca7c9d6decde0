/*
 * What is logged of a stall: a line that says who, with what and for how long, and a line that says
 * where. A system that stalls all the time must not drown in that, so five a minute are logged and
 * the rest are counted.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/event.h>

#include "system/observe/watchdog.h"

/* Whether one more may be logged; it is counted either way. */
static bool admit(struct gy_watchdog *dog)
{
	gy_count(&dog->system->stalls, 1);
	return gy_log_limit_admit(&dog->limit, gy_clock_machine_ns());
}

/* The first frames are the signal handler's own. */
static int first_frame(const struct gy_stall *stall)
{
	for (int i = 0; i < stall->frames_count; i++) {
		if (stall->frames[i] == stall->interrupted) {
			return i;
		}
	}
	return 0;
}

/*
 * As "function+16", or where the name is not known "program+0x1234", which addr2line understands.
 * dladdr() needs no memory.
 */
static size_t write_frame(const void *frame, char *text, size_t bytes)
{
	uintptr_t address = (uintptr_t)frame;
	const char *file;
	Dl_info info;
	int length;

	if (dladdr(frame, &info) == 0 || info.dli_fname == NULL) {
		length = snprintf(text, bytes, "%p", frame);
	} else if (info.dli_sname != NULL) {
		length = snprintf(text, bytes, "%s+%" PRIuPTR, info.dli_sname,
				  address - (uintptr_t)info.dli_saddr);
	} else {
		file = strrchr(info.dli_fname, '/');
		length = snprintf(text, bytes, "%s+0x%" PRIxPTR,
				  file == NULL ? info.dli_fname : file + 1,
				  address - (uintptr_t)info.dli_fbase);
	}
	return length < 0 || (size_t)length >= bytes ? 0 : (size_t)length;
}

void gy_stall_write_where(const struct gy_stall *stall, char text[GY_STALL_WHERE_BYTES])
{
	static const char separator[] = " < ";
	size_t length = 0;
	size_t wrote = 1;

	for (int i = first_frame(stall); i < stall->frames_count && wrote > 0; i++) {
		if (length > 0) {
			memcpy(text + length, separator, sizeof(separator));
			length += strlen(separator);
		}
		/* Room for the next separator is kept, and was by the frame before. */
		wrote = length + sizeof(separator) >= GY_STALL_WHERE_BYTES
				? 0
				: write_frame(stall->frames[i], text + length,
					      GY_STALL_WHERE_BYTES - length - sizeof(separator));
		length += wrote;
	}
	text[length] = '\0';
}

static void log_stall(struct gy_watchdog *dog, uint32_t loop, const struct gy_stall *stall)
{
	const char *type = stall->type_name;
	char where[GY_STALL_WHERE_BYTES];
	char note[GY_LOG_NOTE_BYTES];

	gy_log(&dog->system->log, GYRE_LOG_WARNING,
	       "loop %u: stall: actor %s has been in one handler for %" PRIu64 " ms, with %s%s%s",
	       (unsigned)loop, stall->class_name, stall->lasted_ns / GYRE_MILLISECONDS(1),
	       type[0] == '\0' ? "no message" : "message ", type,
	       gy_log_limit_note(&dog->limit, note));
	gy_stall_write_where(stall, where);
	gy_log(&dog->system->log, GYRE_LOG_WARNING, "loop %u: backtrace: %s", (unsigned)loop,
	       where);
}

static void publish(struct gy_watchdog *dog, const struct gyre_stalled *event)
{
	dog->system->homes.homes[0].options.directory->publish(dog->system, NULL,
							       &gyre_type_gyre_stalled, event);
}

static void publish_stall(struct gy_watchdog *dog, uint32_t loop, const struct gy_stall *stall)
{
	struct gyre_stalled event = { .lasted_ns = stall->lasted_ns, .loop = loop };

	_Static_assert(sizeof(event.class_name) >= sizeof(stall->class_name) &&
			       sizeof(event.message) >= sizeof(stall->type_name),
		       "the names fit");
	memcpy(event.class_name, stall->class_name, sizeof(stall->class_name));
	memcpy(event.message, stall->type_name, sizeof(stall->type_name));
	publish(dog, &event);
}

void gy_stalls_log(struct gy_watchdog *dog)
{
	uint32_t made = gy_homes_made(&dog->system->homes);

	for (uint32_t i = 0; i < made; i++) {
		struct gy_watched *watched = &dog->watched[i];

		if (gy_load_acquire(&watched->full) == 0) {
			continue;
		}
		watched->reported = true;
		if (admit(dog)) {
			log_stall(dog, i, &watched->stall);
		}
		publish_stall(dog, i, &watched->stall);
		gy_store_release(&watched->full, 0);
	}
}

void gy_stall_log_blind(struct gy_watchdog *dog, const struct gy_watched *watched, uint64_t ns)
{
	const struct gyre_stalled event = { .lasted_ns = ns, .loop = watched->home->loop.index };
	char note[GY_LOG_NOTE_BYTES];

	publish(dog, &event);
	if (admit(dog)) {
		gy_log(&dog->system->log, GYRE_LOG_WARNING,
		       "loop %u: stall: an actor has been running for %" PRIu64 " ms%s",
		       (unsigned)watched->home->loop.index, ns / GYRE_MILLISECONDS(1),
		       gy_log_limit_note(&dog->limit, note));
	}
}

void gy_stalls_log_rest(struct gy_watchdog *dog)
{
	uint64_t unlogged;

	gy_stalls_log(dog);
	unlogged = gy_log_limit_take(&dog->limit);
	if (unlogged > 0) {
		gy_log(&dog->system->log, GYRE_LOG_WARNING, "%" PRIu64 " stalls were not logged",
		       unlogged);
	}
}
