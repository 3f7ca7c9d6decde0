/*
 * The worker threads of gyre's epoll engine, which do its blocking operations. They are gyre's own,
 * as tasks of a host. But a process has them once, so here each host that is up has a set, which
 * goes with it.
 *
 * A thread that is at an operation waits as long as the disk takes. So operations of one descriptor
 * may be done in another order than they were begun.
 */
#include "ring/epoll.h"
#include "ring/epoll_workers.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct gy_epoll_workers *__wrap_gy_epoll_workers_here(void)
{
	struct gy_sim_host *host;

	if (gy_sim_here == NULL) {
		return __real_gy_epoll_workers_here();
	}
	host = gy_sim_host_here();
	if (host->workers == NULL) {
		host->workers = (struct gy_epoll_workers *)gy_sim_get(sizeof(*host->workers));
		*host->workers = (struct gy_epoll_workers)GY_EPOLL_WORKERS_INIT(host->workers);
	}
	return host->workers;
}

void gy_sim_workers_fini(struct gy_sim_host *host)
{
	gy_sim_put(host->workers);
	host->workers = NULL;
}

int64_t __wrap_gy_epoll_do_blocking(const struct io_uring_sqe *sqe)
{
	if (gy_sim_here != NULL && sqe->opcode != IORING_OP_FSYNC) {
		gy_sim_disk_wait(gy_sim_host_here()->disk); /* fsync() waits itself */
	}
	return __real_gy_epoll_do_blocking(sqe);
}
