/*
 * Lines that a program logs where it has no handler: on its own threads, and inside calls that get
 * no stack. On the thread of a loop the runtime knows which actor it is running.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "actor/actor_log.h"
#include "actor/class_log.h"
#include "actor/home.h"
#include "actor/log_of.h"
#include "system/process.h"
#include "system/system.h"
#include "system/threads.h"

enum { THREAD_NAME_BYTES = 16, NODE_BYTES = 16 };

_Static_assert(GY_ACTOR_NAME_BYTES >= THREAD_NAME_BYTES + NODE_BYTES + 16, "for any prefix");

/* The home whose thread calls, if it is of @system; NULL on other threads. */
static struct gy_home *home_here(const struct gyre_system *system)
{
	const struct gy_worker *worker = gy_current_worker();

	return worker != NULL && worker->system == system ? worker->home : NULL;
}

/* Names a thread that runs no actor. */
static void name_thread(const struct gyre_system *system, const struct gy_home *home,
			char text[GY_ACTOR_NAME_BYTES])
{
	char thread[THREAD_NAME_BYTES] = "";
	char node[NODE_BYTES] = "";

	if (system != NULL && system->homes.node != 0) {
		(void)snprintf(node, sizeof(node), "node %u, ", (unsigned)system->homes.node);
	}
	if (home != NULL) {
		(void)snprintf(text, GY_ACTOR_NAME_BYTES, "%sloop %u: ", node,
			       (unsigned)home->loop.index);
		return;
	}
	(void)pthread_getname_np(pthread_self(), thread, sizeof(thread));
	(void)snprintf(text, GY_ACTOR_NAME_BYTES, "%sthread %s: ", node, thread);
}

/* Whether the line may be logged; then writes who logs it. */
static bool admit(struct gyre_system *system, struct gy_home *home, char text[GY_ACTOR_NAME_BYTES])
{
	const struct gy_house *house = home == NULL ? NULL : gy_home_running_house(home);

	if (house != NULL) {
		(void)gy_actor_name(home, house, text);
		return gy_class_log_admit(home, house->class_info->log);
	}
	if (system != NULL && !gy_class_logs_admit_other(&system->homes, home)) {
		return false;
	}
	name_thread(system, home, text);
	return true;
}

void gyre_system_log(struct gyre_system *system, enum gyre_log_level level, const char *format, ...)
{
	const struct gy_log *log;
	struct gy_home *home;
	char before[GY_ACTOR_NAME_BYTES];
	int error = errno;
	va_list args;

	if (system == NULL && gy_current_worker() != NULL) {
		system = gy_current_worker()->system;
	}
	home = home_here(system);
	log = home != NULL ? home->loop.options.log : gy_log_of_system(system);
	if (format == NULL || !gy_log_takes(log, level)) {
		return;
	}
	if (admit(system, home, before)) {
		errno = error; /* for %m */
		va_start(args, format);
		(void)gy_log_between(log, level, before, "", format, args);
		va_end(args);
	}
	errno = error;
}
