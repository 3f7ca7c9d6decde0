/*
 * Which loop the calling thread turns. This is the one thread-local object in gyre: who may not
 * wait on a loop's thread asks it, and so does the watchdog's signal handler, which finds itself on
 * some thread and must know what that does.
 */
#include "system/system.h"

static _Thread_local const struct gy_worker *here;

void gy_current_worker_set(const struct gy_worker *worker)
{
	here = worker;
}

const struct gy_worker *gy_current_worker(void)
{
	return here;
}

bool gyre_address_is_here(struct gyre_address address)
{
	return here != NULL && gy_is_of_node(here->system->homes.node, address);
}
