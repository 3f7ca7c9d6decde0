/*
 * Threads for the blocking operations of the epoll engine: a few for all rings of the process, made
 * when more work waits than threads, and ended with the last ring. Threads that are at an open,
 * which may wait for another open, do not count among the few.
 *
 * A worker puts its result on a stack of the ring and wakes the ring if the stack was empty. It
 * holds the lock of all workers for that: a ring that leaves takes the lock once more, so that
 * nobody still touches it then, though its last result was already seen.
 *
 * A work that no thread has begun can be cancelled. Of those that a thread is at, only an open can:
 * it is what may wait for ever, and needs nothing of the caller but a path, of which the work has a
 * copy. Its thread is abandoned then: it closes what it opens and ends. Others end as what they
 * become, since nothing interrupts a thread in a call.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/memory.h"
#include "base/thread.h"
#include "ring/epoll.h"
#include "ring/epoll_workers.h"

enum {
	WORKERS_MAX = 4,    /* that are at something else than an open */
	ALL_MAX = 64,	    /* with those */
	ABANDONED_MAX = 64, /* then opens wait to their end */
};

struct worker {
	struct gy_list of_all;
	pthread_t thread;
	bool abandoned;
};

struct gy_epoll_work {
	struct gy_list of_ring;
	struct gy_list of_queue; /* under the lock, as all that follows down to @result */
	struct worker *worker;	 /* that is at it, or was */
	bool is_done;
	struct gy_epoll_work *next_done;
	struct gy_ring *ring;
	int64_t result;
	struct io_uring_sqe sqe;
	char path[]; /* of an open */
};

/* As errno: what belongs to the process, under a name. */
#define workers (*gy_epoll_workers_here())

static void lock(void)
{
	(void)pthread_mutex_lock(&workers.lock);
}

static void unlock(void)
{
	(void)pthread_mutex_unlock(&workers.lock);
}

static bool is_open(const struct gy_epoll_work *work)
{
	return work->sqe.opcode == IORING_OP_OPENAT;
}

/* ---- worker threads ---- */

/* Under the lock. */
static void finish(struct gy_epoll_work *work)
{
	struct gy_ring *ring = work->ring;
	struct gy_epoll_work *top = gy_load_relaxed(&ring->epoll->done);

	work->is_done = true;
	do {
		work->next_done = top;
	} while (!gy_compare_exchange(&ring->epoll->done, &top, work));
	if (top == NULL) {
		gy_ring_wake(ring);
	}
}

static void *run_worker(void *arg);

/* Under the lock. */
static int start_worker(void)
{
	struct worker *worker = (struct worker *)gy_memory_get(sizeof(*worker));
	int r;

	if (worker == NULL) {
		return -ENOMEM;
	}
	r = gy_thread_start(NULL, run_worker, worker, &worker->thread);
	if (r < 0) {
		gy_memory_put(worker);
		return r;
	}
	gy_list_append(&workers.all, &worker->of_all);
	workers.count++;
	return 0;
}

static struct gy_epoll_work *unqueue(struct gy_epoll_work *work)
{
	gy_assert(workers.queued > 0);
	workers.queued--;
	gy_list_remove(&work->of_queue);
	return work;
}

/* Starts a thread if more works wait than threads. Without any thread all that wait fail. Under the
 * lock. */
static void staff(void)
{
	int r = 0;

	if (workers.queued > workers.idle && workers.count - workers.opening < WORKERS_MAX &&
	    workers.count < ALL_MAX) {
		r = start_worker();
	}
	while (workers.count == 0 && !gy_list_empty(&workers.queue)) {
		struct gy_epoll_work *work = unqueue(
			gy_container_of(workers.queue.next, struct gy_epoll_work, of_queue));

		work->result = r;
		finish(work);
	}
}

/* The next work, or NULL when the threads are to end. Under the lock. */
static struct gy_epoll_work *next_work(void)
{
	struct gy_epoll_work *work;

	while (gy_list_empty(&workers.queue) && !workers.ending) {
		workers.idle++;
		(void)pthread_cond_wait(&workers.come, &workers.lock);
		workers.idle--;
	}
	if (gy_list_empty(&workers.queue)) {
		return NULL;
	}
	work = unqueue(gy_container_of(workers.queue.next, struct gy_epoll_work, of_queue));
	if (is_open(work)) {
		workers.opening++;
		staff(); /* what waits behind it may be what it waits for */
	}
	return work;
}

/* Nobody waits for the open any more, nor for this thread. Under the lock. */
static void end_abandoned(struct worker *worker, struct gy_epoll_work *work)
{
	gy_assert(workers.abandoned > 0);
	workers.abandoned--;
	if (work->result >= 0) {
		(void)close((int)work->result);
	}
	gy_memory_put(work);
	gy_memory_put(worker);
}

static void *run_worker(void *arg)
{
	struct worker *self = (struct worker *)arg;
	struct gy_epoll_work *work;

	gy_thread_name("files");
	lock();
	while ((work = next_work()) != NULL) {
		work->worker = self;
		unlock();
		work->result = gy_epoll_do_blocking(&work->sqe);
		lock();
		if (self->abandoned) {
			end_abandoned(self, work);
			break;
		}
		workers.opening -= is_open(work);
		finish(work);
	}
	unlock();
	return NULL;
}

/* No ring is left, so no work comes meanwhile. */
static void end_threads(void)
{
	lock();
	gy_assert(gy_list_empty(&workers.queue));
	workers.ending = true;
	(void)pthread_cond_broadcast(&workers.come);
	unlock();
	while (!gy_list_empty(&workers.all)) {
		struct worker *worker = gy_container_of(workers.all.next, struct worker, of_all);

		(void)pthread_join(worker->thread, NULL);
		gy_list_remove(&worker->of_all);
		gy_memory_put(worker);
	}
	workers.count = 0;
	workers.ending = false;
}

void gy_epoll_workers_enter(void)
{
	(void)pthread_mutex_lock(&workers.life);
	workers.rings++;
	(void)pthread_mutex_unlock(&workers.life);
}

void gy_epoll_workers_leave(void)
{
	(void)pthread_mutex_lock(&workers.life);
	lock(); /* until a worker has let go of the ring */
	unlock();
	gy_assert(workers.rings > 0);
	if (--workers.rings == 0) {
		end_threads();
	}
	(void)pthread_mutex_unlock(&workers.life);
}

/* ---- rings ---- */

static void free_work(struct gy_epoll_work *work)
{
	gy_list_remove(&work->of_ring);
	gy_memory_put(work);
}

static struct gy_epoll_work *make_work(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	const char *path =
		sqe->opcode == IORING_OP_OPENAT ? (const char *)(uintptr_t)sqe->addr : "";
	size_t bytes = strlen(path) + 1;
	struct gy_epoll_work *work = (struct gy_epoll_work *)gy_memory_get(sizeof(*work) + bytes);

	if (work == NULL) {
		return NULL;
	}
	work->ring = ring;
	work->sqe = *sqe;
	if (sqe->opcode == IORING_OP_OPENAT) {
		memcpy(work->path, path, bytes);
		work->sqe.addr = (uint64_t)(uintptr_t)work->path;
	}
	gy_list_append(&ring->epoll->works, &work->of_ring);
	gy_list_init(&work->of_queue);
	return work;
}

void gy_epoll_work(struct gy_ring *ring, const struct io_uring_sqe *sqe)
{
	struct gy_epoll_work *work = make_work(ring, sqe);

	if (work == NULL) {
		(void)gy_epoll_end(ring, sqe, -ENOMEM);
		return;
	}
	lock();
	gy_list_append(&workers.queue, &work->of_queue);
	workers.queued++;
	staff();
	(void)pthread_cond_signal(&workers.come);
	unlock();
}

void gy_epoll_take_done(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;

	while (gy_load_relaxed(&epoll->done) != NULL && gy_epoll_has_room(ring)) {
		struct gy_epoll_work *work = gy_load_acquire(&epoll->done);

		/* Only this thread takes from the stack, so that the top is not taken and put back
		 * meanwhile. */
		if (gy_compare_exchange(&epoll->done, &work, work->next_done)) {
			(void)gy_epoll_end(ring, &work->sqe, work->result);
			free_work(work);
		}
	}
}

static struct gy_epoll_work *find_work(const struct gy_epoll *epoll, uint64_t user_data)
{
	for (struct gy_list *item = epoll->works.next; item != &epoll->works; item = item->next) {
		struct gy_epoll_work *work = gy_container_of(item, struct gy_epoll_work, of_ring);

		if (work->sqe.user_data == user_data) {
			return work;
		}
	}
	return NULL;
}

/* Leaves an open to its thread, if there are not too many of these. Under the lock. */
static bool abandon(struct gy_epoll_work *work)
{
	struct worker *worker = work->worker;

	if (!is_open(work) || workers.abandoned >= ABANDONED_MAX) {
		return false;
	}
	workers.abandoned++;
	workers.opening--;
	worker->abandoned = true;
	gy_list_remove(&worker->of_all);
	workers.count--;
	(void)pthread_detach(worker->thread);
	staff();
	return true;
}

void gy_epoll_cancel_work(struct gy_ring *ring, uint64_t user_data)
{
	struct gy_epoll_work *work = find_work(ring->epoll, user_data);
	bool waits;
	bool abandoned = false;

	if (work == NULL) {
		return;
	}
	lock();
	waits = work->worker == NULL && !work->is_done;
	if (waits) {
		(void)unqueue(work);
	} else if (!work->is_done) {
		abandoned = abandon(work);
	}
	if (abandoned) {
		gy_list_remove(&work->of_ring);
	}
	unlock();
	if (waits || abandoned) {
		gy_epoll_post(ring, user_data, -ECANCELED, 0);
	}
	if (waits) {
		free_work(work);
	}
}
