/*
 * The blocking operations of gyre's epoll engine, in the place of its worker threads, which belong
 * to the process and so would be those of all hosts. Here each operation has a task of its own,
 * which waits as long as the disk takes, and ends with its host. So operations of one descriptor
 * may be done in another order than they were begun, as with threads.
 *
 * An operation that waits for the disk may count as begun already, and then nobody can cancel it,
 * or it may not; an open can always be left to itself.
 */
#include <errno.h>
#include <string.h>

#include "base/memory/memory.h"
#include "ring/epoll.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct work {
	struct gy_list of_ring;
	struct work *next_done;
	struct gy_ring *ring;
	struct gy_sim_task *task; /* NULL: it is past the wait for the disk */
	int64_t result;
	struct io_uring_sqe sqe;
	char path[]; /* of an open */
};

/* The engine's stack of works that have ended. */
static struct work *top_of(const struct gy_epoll *epoll)
{
	return (struct work *)(void *)epoll->done;
}

static void set_top(struct gy_epoll *epoll, struct work *work)
{
	epoll->done = (struct gy_epoll_work *)(void *)work;
}

static void finish(struct work *work)
{
	struct gy_epoll *epoll = work->ring->epoll;
	bool was_empty = top_of(epoll) == NULL;

	work->next_done = top_of(epoll);
	set_top(epoll, work);
	if (was_empty) {
		gy_ring_wake(work->ring);
	}
}

static void *run_work(void *arg)
{
	struct work *work = (struct work *)arg;

	if (work->sqe.opcode != IORING_OP_FSYNC) {
		gy_sim_disk_wait(gy_sim_host_here()->disk); /* fsync() waits itself */
	}
	work->task = NULL;
	work->result = gy_epoll_do_blocking(&work->sqe);
	finish(work);
	return NULL;
}

static struct work *make_work(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	const char *path =
		sqe->opcode == IORING_OP_OPENAT ? (const char *)(uintptr_t)sqe->addr : "";
	size_t bytes = strlen(path) + 1;
	struct work *work = (struct work *)gy_memory_get(sizeof(*work) + bytes);

	if (work == NULL) {
		return NULL;
	}
	work->ring = ring;
	work->sqe = *sqe;
	memcpy(work->path, path, bytes);
	if (sqe->opcode == IORING_OP_OPENAT) {
		work->sqe.addr = (uint64_t)(uintptr_t)work->path;
	}
	gy_list_append(&ring->epoll->works, &work->of_ring);
	return work;
}

static void free_work(struct work *work)
{
	gy_list_remove(&work->of_ring);
	gy_memory_put(work);
}

void __wrap_gy_epoll_work(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	struct work *work;

	if (gy_sim_here == NULL) {
		__real_gy_epoll_work(ring, sqe);
		return;
	}
	work = make_work(ring, sqe);
	if (work != NULL) {
		work->task = gy_sim_task_create(gy_sim_host_here(), run_work, work);
	}
	if (work == NULL || work->task == NULL) {
		(void)gy_epoll_end(ring, sqe, -ENOMEM);
		if (work != NULL) {
			free_work(work);
		}
		return;
	}
	work->task->detached = true;
}

void __wrap_gy_epoll_take_done(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;

	if (gy_sim_here == NULL) {
		__real_gy_epoll_take_done(ring);
		return;
	}
	while (top_of(epoll) != NULL && gy_epoll_has_room(ring)) {
		struct work *work = top_of(epoll);

		set_top(epoll, work->next_done);
		(void)gy_epoll_end(ring, &work->sqe, work->result);
		free_work(work);
	}
}

static struct work *find_work(const struct gy_epoll *epoll, uint64_t user_data)
{
	for (struct gy_list *item = epoll->works.next; item != &epoll->works; item = item->next) {
		struct work *work = gy_container_of(item, struct work, of_ring);

		if (work->sqe.user_data == user_data) {
			return work;
		}
	}
	return NULL;
}

void __wrap_gy_epoll_cancel_work(struct gy_ring *ring, uint64_t user_data)
{
	struct work *work;

	if (gy_sim_here == NULL) {
		__real_gy_epoll_cancel_work(ring, user_data);
		return;
	}
	work = find_work(ring->epoll, user_data);
	if (work == NULL || work->task == NULL ||
	    (work->sqe.opcode != IORING_OP_OPENAT && gy_sim_choose(gy_sim_here->sim, 2) != 0)) {
		return;
	}
	gy_sim_task_destroy(work->task);
	gy_epoll_post(ring, user_data, -ECANCELED, 0);
	free_work(work);
}

void __wrap_gy_epoll_workers_enter(void)
{
	if (gy_sim_here == NULL) {
		__real_gy_epoll_workers_enter();
	}
}

void __wrap_gy_epoll_workers_leave(void)
{
	if (gy_sim_here == NULL) {
		__real_gy_epoll_workers_leave();
	}
}
