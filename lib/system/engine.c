/*
 * The choice between the engines, made once for all loops of a system, before its first one is
 * made. It tries io_uring as loops will use it, up to the first call that enters the kernel, since
 * sandboxes refuse any of its three calls. Only what the kernel or a sandbox refuses is a reason
 * for the other engine: a lack of memory or descriptors would befall that as well.
 */
#include "system/engine.h"

#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "ring/ring.h"
#include "system/system.h"
#include "system/tunables.h"

static const char variable[] = "GYRE_ENGINE";

int gy_engine_from_environment(const struct gy_log *log, enum gyre_engine *engine)
{
	const struct gy_tunable *tunable = gy_tunable_find("engine", strlen("engine"));
	const char *name = gy_environment_value(variable);
	char takes[64];

	if (*engine != GYRE_ENGINE_DEFAULT || name == NULL || name[0] == '\0') {
		return 0;
	}
	*engine = (enum gyre_engine)gy_tunable_word(tunable, name);
	if (*engine == GYRE_ENGINE_DEFAULT) {
		gy_tunable_describe(tunable, takes, sizeof(takes));
		gy_log(log, GYRE_LOG_ERROR, "%s is \"%.32s\" in the environment: it must be %s",
		       variable, name, takes);
		return -EINVAL;
	}
	return 0;
}

static bool is_refusal(int r)
{
	return r == -ENOSYS || r == -EPERM || r == -EACCES || r == -EINVAL;
}

void gy_engine_choose(struct gyre_system *system)
{
	char cause[GY_RING_REFUSAL_BYTES];
	int r;

	if (system->options.engine != GYRE_ENGINE_AUTO) {
		return;
	}
	r = gy_ring_try_io_uring(cause);
	if (!is_refusal(r)) {
		system->options.engine = GYRE_ENGINE_IO_URING;
		return;
	}
	system->options.engine = GYRE_ENGINE_EPOLL;
	system->io_uring_refused = r;
	gy_log(&system->log, GYRE_LOG_WARNING,
	       "epoll serves in the place of io_uring, with a system call for each send and "
	       "receive, threads for files, and no sends without a copy: %s; or set %s=epoll to "
	       "accept that without this line",
	       cause, variable);
}
