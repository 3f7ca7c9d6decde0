/*
 * What a snapshot shows of the pools for work off the loops; outside/offload.c shows it.
 */
#ifndef GY_SYSTEM_OFFLOAD_VIEW_H
#define GY_SYSTEM_OFFLOAD_VIEW_H

#include <gyre/inspect.h>

/* Shows each pool: one more than the options name. Any thread. */
void gy_offload_view(const struct gyre_system *system,
		     struct gyre_offload_pool_snapshot *ret_pools);

#endif
