/*
 * What the epoll engine has once in a process. It stands apart from those who use it, so that the
 * simulator can put a function of its own in the place of this one.
 */
#include "ring/epoll_workers.h"

struct gy_epoll_workers *gy_epoll_workers_here(void)
{
	static struct gy_epoll_workers all = GY_EPOLL_WORKERS_INIT(&all);

	return &all;
}
