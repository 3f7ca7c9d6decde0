/*
 * The queues of the epoll engine, and its turns.
 *
 * A turn first takes what was submitted; much of that ends at once, as a send that the socket has
 * room for. While there are completions nothing waits, and the look at epoll is left out every
 * second time: the program sees what its own submissions came to, and the look that follows finds
 * what all its peers have sent meanwhile. A loop that never rests, since its actors always have
 * mail, looks once in some microseconds.
 *
 * Before 5.11 epoll waits in milliseconds. A wait is rounded up then, for a timer may be late and
 * never early.
 */
#include "ring/epoll.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/memory.h"

enum {
	COMPLETIONS_PER_ENTRY = 4,
	EVENTS_MAX = 256,
	ROOM_MIN = 2, /* what a receive brings, and its end if it cannot wait for more */
};

static const uint64_t second_ns = 1000000000;
static const uint64_t millisecond_ns = 1000000;
static const uint64_t look_every_ns = 5000; /* of a loop that does not wait */

/* ---- life ---- */

/* Lets the code for io_uring find the queues where the kernel would have mapped them. */
static void lay_out(struct gy_ring *ring, uint32_t entries)
{
	struct gy_epoll *epoll = ring->epoll;
	struct io_uring_sq *sq = &ring->uring.sq;
	struct io_uring_cq *cq = &ring->uring.cq;

	/* Completions come in our own calls only. */
	ring->uring = (struct io_uring){ .ring_fd = -1,
					 .enter_ring_fd = -1,
					 .flags = IORING_SETUP_DEFER_TASKRUN };
	sq->khead = &epoll->sq_head;
	sq->ktail = &epoll->sq_tail;
	sq->kflags = &epoll->sq_flags;
	sq->sqes = epoll->sqes;
	sq->ring_entries = entries;
	sq->ring_mask = entries - 1;
	cq->khead = &epoll->cq_head;
	cq->ktail = &epoll->cq_tail;
	cq->cqes = epoll->cqes;
	cq->ring_entries = entries * COMPLETIONS_PER_ENTRY;
	cq->ring_mask = cq->ring_entries - 1;
}

static int init(struct gy_epoll *epoll, uint32_t entries)
{
	epoll->fd = -1;
	epoll->sqes = (struct io_uring_sqe *)gy_memory_get(entries * sizeof(*epoll->sqes));
	epoll->cqes = (struct io_uring_cqe *)gy_memory_get((size_t)entries * COMPLETIONS_PER_ENTRY *
							   sizeof(*epoll->cqes));
	if (epoll->sqes == NULL || epoll->cqes == NULL) {
		return -ENOMEM;
	}
	epoll->fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll->fd < 0 ? -errno : 0;
}

static void fini(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;

	if (epoll->fd >= 0) {
		(void)close(epoll->fd);
	}
	gy_memory_put(epoll->sqes);
	gy_memory_put(epoll->cqes);
	gy_memory_put(epoll);
	ring->epoll = NULL;
}

int gy_epoll_open(struct gy_ring *ring, uint32_t entries)
{
	struct gy_epoll *epoll = (struct gy_epoll *)gy_memory_get(sizeof(*epoll));
	int r;

	gy_assert((entries & (entries - 1)) == 0 && ring->epoll == NULL);
	if (epoll == NULL) {
		return -ENOMEM;
	}
	ring->epoll = epoll;
	r = init(epoll, entries);
	if (r < 0) {
		fini(ring);
		return r;
	}
	gy_sizes_init(&epoll->sizes, "epoll");
	gy_list_init(&epoll->ready);
	gy_list_init(&epoll->works);
	gy_list_init(&epoll->retries.waits);
	epoll->retries.fd = -1;
	epoll->no_nanoseconds = gy_sanitize_valgrind();
	lay_out(ring, entries);
	ring->features = (struct gy_ring_features){
		.multishot_receive = true,
		.incremental_buffers = true,
		.truncate = true,
	};
	gy_epoll_workers_enter();
	return 0;
}

void gy_epoll_close(struct gy_ring *ring)
{
	gy_assert(gy_list_empty(&ring->epoll->works));
	gy_epoll_workers_leave();
	gy_epoll_descriptors_fini(ring);
	(void)gy_sizes_fini(&ring->epoll->sizes);
	fini(ring);
}

/* ---- submitting ---- */

int gy_epoll_submit(struct gy_ring *ring)
{
	struct gy_epoll *epoll = ring->epoll;
	struct io_uring_sq *sq = &ring->uring.sq;
	uint32_t first = epoll->sq_head;

	gy_count(&ring->counters.enters, 1);
	gy_ring_buffers_publish(ring);
	sq->sqe_head = sq->sqe_tail;
	epoll->sq_tail = sq->sqe_tail;
	while (epoll->sq_head != epoll->sq_tail && gy_epoll_room(ring) >= ROOM_MIN) {
		/* A copy: what the operation sets off may take the entry's place. */
		struct io_uring_sqe sqe = epoll->sqes[epoll->sq_head & sq->ring_mask];

		epoll->sq_head++;
		gy_epoll_begin(ring, &sqe);
	}
	if (epoll->sq_head == first && epoll->sq_head != epoll->sq_tail) {
		return -EBUSY;
	}
	gy_count(&ring->counters.submitted, epoll->sq_head - first);
	return (int)(epoll->sq_head - first);
}

/* ---- looking and waiting ---- */

static int wait_milliseconds(const struct gy_epoll *epoll, struct epoll_event *events,
			     uint64_t timeout_ns)
{
	uint64_t timeout_ms = timeout_ns / millisecond_ns + (timeout_ns % millisecond_ns != 0);
	int r;

	if (timeout_ns == UINT64_MAX) {
		r = epoll_wait(epoll->fd, events, EVENTS_MAX, -1);
	} else {
		r = epoll_wait(epoll->fd, events, EVENTS_MAX,
			       timeout_ms < INT32_MAX ? (int)timeout_ms : INT32_MAX);
	}
	return r < 0 ? -errno : r;
}

/* A count of events, or a negative errno. */
static int wait_for_events(struct gy_epoll *epoll, struct epoll_event *events, uint64_t timeout_ns)
{
	struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / second_ns),
				    .tv_nsec = (long)(timeout_ns % second_ns) };
	int r;

	if (timeout_ns == 0 || timeout_ns == UINT64_MAX || epoll->no_nanoseconds) {
		return wait_milliseconds(epoll, events, timeout_ns);
	}
	r = epoll_pwait2(epoll->fd, events, EVENTS_MAX, &timeout, NULL);
	if (r < 0 && errno != EINTR) {
		/* Sandboxes refuse it with what they like. */
		epoll->no_nanoseconds = true;
		return wait_milliseconds(epoll, events, timeout_ns);
	}
	return r < 0 ? -errno : r;
}

static void look(struct gy_ring *ring, uint64_t timeout_ns)
{
	struct gy_epoll *epoll = ring->epoll;
	struct epoll_event events[EVENTS_MAX];
	bool retries = gy_epoll_has_retries(epoll);
	int count;

	if (retries && timeout_ns > GY_RING_RETRY_NS) {
		timeout_ns = GY_RING_RETRY_NS;
	}
	if (timeout_ns > 0) {
		gy_count(&ring->counters.blocked, 1);
	}
	count = wait_for_events(epoll, events, timeout_ns);
	for (int i = 0; i < count; i++) {
		gy_epoll_come(ring, events[i].data.fd, events[i].events);
	}
	if (retries) {
		gy_epoll_come(ring, epoll->retries.fd, EPOLLOUT);
	}
	gy_epoll_take_done(ring);
}

/* Whether a look without a wait is due. */
static bool is_due(struct gy_epoll *epoll)
{
	uint64_t now_ns = gy_clock_machine_ns();

	if (now_ns - epoll->looked_ns < look_every_ns) {
		return false;
	}
	epoll->looked_ns = now_ns;
	return true;
}

static bool has_completions(const struct gy_epoll *epoll)
{
	return epoll->cq_tail != epoll->cq_head;
}

int gy_epoll_turn(struct gy_ring *ring, uint64_t timeout_ns)
{
	struct gy_epoll *epoll = ring->epoll;
	int submitted;

#if GY_ASSERT_LEVEL >= 2
	if (!has_completions(epoll)) {
		gy_ring_buffers_check_all(ring);
	}
#endif
	submitted = gy_epoll_submit(ring);
	gy_epoll_go_on(ring);
	gy_epoll_take_done(ring);
	if (has_completions(epoll) && !epoll->rested) {
		epoll->rested = true;
		return submitted;
	}
	epoll->rested = false;
	if (has_completions(epoll) || !gy_list_empty(&epoll->ready)) {
		timeout_ns = 0;
	}
	if (timeout_ns > 0 || is_due(epoll)) {
		look(ring, timeout_ns);
	}
	return submitted;
}
