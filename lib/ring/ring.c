/*
 * The life of a ring, and its turning.
 *
 * A ring is made disabled, so that one thread can make the rings of all loops and report what fails
 * before any loop runs; the thread that enables it is its only submitter. Completion work is
 * deferred to that thread's own calls (DEFER_TASKRUN): it is never interrupted, and the kernel says
 * by a flag in shared memory that there is work, which is what lets an iteration do without a
 * system call.
 *
 * The system call is made from here rather than by liburing, whose calls do not tell how often they
 * enter the kernel nor let one call submit, wait with a time-out and flush what overflowed.
 * Completions are read up to the tail that was there at first, and the head is moved once behind
 * them: whatever their functions set off waits for the next turn.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/happens.h"
#include "base/memory/memory.h"
#include "ring/epoll.h"
#include "ring/ring_private.h"

enum {
	COMPLETIONS_PER_ENTRY = 4,
	FETCH_AHEAD = 3, /* completions; a line takes as long as a few of them */
};

_Static_assert(sizeof(struct gy_kernel_wait) == sizeof(struct io_uring_getevents_arg),
	       "one struct by two names");

static const uint64_t timeout_ns_max = INT64_MAX / 2; /* the kernel adds the time of day to it */

/* ---- life ---- */

static int setup(struct gy_ring *ring, uint32_t entries)
{
	const uint32_t base = IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE |
			      IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP;
	const uint32_t best_first[] = {
		base | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			IORING_SETUP_TASKRUN_FLAG,
		base | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN |
			IORING_SETUP_TASKRUN_FLAG,
		base,
	};
	int r = -EINVAL;

	for (size_t i = 0; i < gy_countof(best_first) && r == -EINVAL; i++) {
		struct io_uring_params params = {
			.flags = best_first[i],
			.cq_entries = entries * COMPLETIONS_PER_ENTRY,
		};

		ring->call = GY_RING_CALL_SETUP;
		r = io_uring_queue_init_params(entries, &ring->uring, &params);
	}
	if ((ring->uring.features & GY_KERNEL_FEAT_NO_IOWAIT) != 0) {
		ring->features.no_iowait = true;
		ring->wait_flags = GY_KERNEL_ENTER_NO_IOWAIT;
	}
	ring->features.min_wait = (ring->uring.features & GY_KERNEL_FEAT_MIN_TIMEOUT) != 0;
	return r;
}

/* Submissions are taken in order, so the indirection through the array is set up once and for all.
 */
static void order_submissions(struct gy_ring *ring)
{
	struct io_uring_sq *sq = &ring->uring.sq;

	for (uint32_t i = 0; sq->array != NULL && i < sq->ring_entries; i++) {
		sq->array[i] = i;
	}
}

/* The kernel maps a ring where that of another system may have been before, which was unmapped by
 * another thread. */
static const char mappings;

static void unmap(struct gy_ring *ring)
{
	gy_happens_before(&mappings);
	io_uring_queue_exit(&ring->uring);
}

static int open_uring(struct gy_ring *ring, const struct gy_ring_options *options)
{
	int r = setup(ring, options->entries);

	if (r < 0) {
		return r;
	}
	gy_happens_after(&mappings);
	ring->min_wait_us = ring->features.min_wait ? options->min_wait_ns / 1000 : 0;
	ring->enter_fd = ring->uring.ring_fd;
	order_submissions(ring);
	r = gy_ring_probe(ring);
	if (r < 0) {
		unmap(ring);
	}
	return r;
}

static void close_engine(struct gy_ring *ring)
{
	if (ring->epoll != NULL) {
		gy_epoll_close(ring);
	} else {
		unmap(ring);
	}
}

/* All but the waker. */
static int open_ring(struct gy_ring *ring, const struct gy_ring_options *options)
{
	struct gy_ring_buffers_shape shape;
	int r = options->engine == GY_RING_EPOLL ? gy_epoll_open(ring, options->entries)
						 : open_uring(ring, options);

	if (r < 0) {
		return r;
	}
	shape = gy_ring_stream_shape(ring, options);
	r = gy_ring_buffers_init(ring, GY_RING_STREAM_GROUP, &shape);
	if (r < 0) {
		close_engine(ring);
	}
	return r;
}

static int init(struct gy_ring *ring, const struct gy_ring_options *options)
{
	int r;

	ring->call = GY_RING_CALL_OTHER;
	r = gy_ring_waker_init(ring);
	if (r < 0) {
		return r;
	}
	r = options->descriptor ? gy_ring_descriptor_init(ring) : 0;
	if (r == 0) {
		r = open_ring(ring, options);
	}
	if (r < 0) {
		gy_ring_descriptor_fini(ring);
		gy_ring_waker_fini(ring);
	}
	return r;
}

int gy_ring_create(const struct gy_ring_options *options, struct gy_ring **ret_ring)
{
	struct gy_ring *ring;
	int r;

	gy_assert(options->entries > 0 && (options->entries & (options->entries - 1)) == 0);
	ring = gy_memory_get(sizeof(*ring));
	if (ring == NULL) {
		return gy_ring_refused(options->log, GY_RING_CALL_MEMORY, -ENOMEM);
	}
	ring->log = options->log;
	ring->flag_fd = -1;
	ring->poll_fd = -1;
	ring->timer_fd = -1;
	r = init(ring, options);
	if (r < 0) {
		enum gy_ring_call call = ring->call;

		gy_memory_put(ring);
		return gy_ring_refused(options->log, call, r);
	}
	*ret_ring = ring;
	return 0;
}

/* The thread's table of registered rings holds this one open until the thread ends or this is done.
 */
static void unregister(struct gy_ring *ring)
{
	struct io_uring_rsrc_update update = { .offset = (uint32_t)ring->enter_fd };

	if (ring->registered && ring->owner == gettid()) {
		(void)io_uring_register((unsigned)ring->uring.ring_fd, IORING_UNREGISTER_RING_FDS,
					&update, 1);
	}
}

void gy_ring_disown(struct gy_ring *ring)
{
	unregister(ring);
	ring->registered = false;
	ring->enabled = false;
}

void gy_ring_shut(struct gy_ring *ring)
{
	gy_assert(ring->armed == 0 && !ring->shut);
	if (ring->enabled) {
		gy_ring_disown(ring); /* else others may be looking at it */
	}
	close_engine(ring);
	for (uint32_t i = 0; i < GY_RING_GROUPS; i++) {
		gy_ring_buffers_fini(&ring->buffers[i]);
	}
	if (ring->flag_fd >= 0) {
		(void)close(ring->flag_fd);
		ring->flag_fd = -1;
	}
	gy_ring_descriptor_fini(ring);
	ring->shut = true;
	ring->waker_armed = false;
	ring->enter_flags = 0;
}

int gy_ring_reopen(struct gy_ring *ring, const struct gy_ring_options *options)
{
	int r;

	gy_assert(ring->shut);
	r = open_ring(ring, options);
	if (r < 0) {
		return gy_ring_refused(options->log, ring->call, r);
	}
	ring->shut = false;
	return 0;
}

void gy_ring_destroy(struct gy_ring *ring)
{
	if (ring == NULL) {
		return;
	}
	if (!ring->shut) {
		gy_ring_shut(ring);
	}
	gy_ring_waker_fini(ring);
	gy_memory_put(ring);
}

/* Saves the kernel the counting of references in each enter; where it is refused nothing is lost.
 */
static void register_ring(struct gy_ring *ring)
{
	struct io_uring_rsrc_update update = {
		.offset = UINT32_MAX,
		.data = (uint32_t)ring->uring.ring_fd,
	};

	if (io_uring_register((unsigned)ring->uring.ring_fd, IORING_REGISTER_RING_FDS, &update,
			      1) == 1) {
		ring->enter_fd = (int)update.offset;
		ring->enter_flags = IORING_ENTER_REGISTERED_RING;
		ring->registered = true;
	}
}

/* The kernel writes there when completions come or are flagged. */
static int flag_by_descriptor(struct gy_ring *ring)
{
	ring->flag_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->flag_fd < 0 ||
	    (ring->poll_fd >= 0 && gy_ring_descriptor_watch(ring, ring->flag_fd) < 0)) {
		return -errno;
	}
	return io_uring_register_eventfd(&ring->uring, ring->flag_fd);
}

static int enable_uring(struct gy_ring *ring)
{
	int r;

	ring->call = GY_RING_CALL_REGISTER;
	/* Debian's liburing 2.3 declares io_uring_enable_rings() and does not export it. */
	r = io_uring_register((unsigned)ring->uring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	if (r < 0) {
		return r;
	}
	register_ring(ring);
	return ring->poll_fd >= 0 || gy_sanitize_valgrind() ? flag_by_descriptor(ring) : 0;
}

static int enable_epoll(struct gy_ring *ring)
{
	ring->call = GY_RING_CALL_OTHER;
	return ring->poll_fd >= 0 ? gy_ring_descriptor_watch(ring, ring->epoll->fd) : 0;
}

static int enable(struct gy_ring *ring)
{
	int r = ring->epoll != NULL ? enable_epoll(ring) : enable_uring(ring);

	if (r < 0) {
		return r;
	}
	ring->enabled = true;
	ring->owner = gettid();
	gy_ring_waker_arm(ring);
	ring->call = GY_RING_CALL_ENTER;
	r = gy_ring_submit(ring);
	return r < 0 ? r : 0;
}

int gy_ring_enable(struct gy_ring *ring)
{
	int r;

	gy_assert(!ring->enabled);
	r = enable(ring);
	return r < 0 ? gy_ring_refused(ring->log, ring->call, r) : 0;
}

void gy_ring_on_stale(struct gy_ring *ring, gy_ring_stale_fn stale, void *arg)
{
	ring->stale = stale;
	ring->stale_arg = arg;
}

struct gy_ring_features gy_ring_features(const struct gy_ring *ring)
{
	return ring->features;
}

const struct gy_ring_counters *gy_ring_counters(const struct gy_ring *ring)
{
	return &ring->counters;
}

/* ---- submitting and waiting ---- */

static bool completions_flagged(const struct gy_ring *ring)
{
	return (gy_load_relaxed(ring->uring.sq.kflags) &
		(IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

static bool completions_there(const struct gy_ring *ring)
{
	return gy_load_relaxed(ring->uring.cq.ktail) != *ring->uring.cq.khead;
}

static int enter(struct gy_ring *ring, uint32_t wait_for, uint32_t flags,
		 struct gy_kernel_wait *arg)
{
	struct io_uring_sq *sq = &ring->uring.sq;
	int r;

	gy_assert(ring->enabled && ring->epoll == NULL);
#if GY_ASSERT_LEVEL >= 2
	if (!completions_there(ring) &&
	    (gy_load_relaxed(sq->kflags) & IORING_SQ_CQ_OVERFLOW) == 0) {
		gy_ring_buffers_check_all(ring);
	}
#endif
	gy_ring_buffers_publish(ring);
	sq->sqe_head = sq->sqe_tail;
	gy_store_release(sq->ktail, sq->sqe_tail);
	gy_count(&ring->counters.enters, 1);
	r = io_uring_enter2((unsigned)ring->enter_fd, gy_ring_prepared(ring), wait_for,
			    flags | ring->enter_flags, (sigset_t *)(void *)arg,
			    arg != NULL ? sizeof(*arg) : 0);
	if (r > 0) {
		gy_count(&ring->counters.submitted, (uint32_t)r);
	}
	return r;
}

bool gy_ring_has_prepared(const struct gy_ring *ring)
{
	return gy_ring_prepared(ring) > 0;
}

int gy_ring_submit(struct gy_ring *ring)
{
	if (gy_ring_prepared(ring) == 0) {
		return 0;
	}
	if (gy_unlikely(ring->epoll != NULL)) {
		return gy_epoll_submit(ring);
	}
	return enter(ring, 0, 0, NULL);
}

bool gy_ring_make_room(struct gy_ring *ring)
{
	return ring->enabled && gy_ring_submit(ring) > 0 && gy_ring_has_room(ring);
}

bool gy_ring_is_full(const struct gy_ring *ring)
{
	return !gy_ring_has_room(ring);
}

bool gy_ring_ready(const struct gy_ring *ring)
{
	return completions_there(ring) || completions_flagged(ring);
}

bool gy_ring_is_blind(const struct gy_ring *ring)
{
	return ring->epoll != NULL;
}

bool gy_ring_has_retries(const struct gy_ring *ring)
{
	return ring->epoll != NULL && gy_epoll_has_retries(ring->epoll);
}

bool gy_ring_has_descriptors(const struct gy_ring *ring)
{
	return ring->epoll != NULL && gy_epoll_watches_others(ring->epoll);
}

static int submit_and_look(struct gy_ring *ring)
{
	if (gy_ring_prepared(ring) == 0 && !completions_flagged(ring)) {
		gy_ring_buffers_publish(ring);
		return 0;
	}
	return enter(ring, 0, IORING_ENTER_GETEVENTS, NULL);
}

/* Returns whether the ring has been woken; no completion may tell of that then. */
static bool take_wake(struct gy_ring *ring)
{
	eventfd_t count;
	bool woken = eventfd_read(ring->wake_fd, &count) == 0;

	if (woken) {
		gy_count(&ring->counters.own, 1);
	}
	return woken;
}

/*
 * Waits in a call that valgrind knows, see sanitize.h. The waker is looked at by itself, since a
 * kernel that is just writing to one eventfd may leave out the write to another; taking its count
 * ends a wait.
 */
static GY_COLD int submit_and_poll(struct gy_ring *ring, uint64_t timeout_ns)
{
	struct pollfd signs[] = {
		{ .fd = ring->flag_fd, .events = POLLIN },
		{ .fd = ring->wake_fd, .events = POLLIN },
	};
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / UINT64_C(1000000000)),
		.tv_nsec = (long)(timeout_ns % UINT64_C(1000000000)),
	};
	eventfd_t count;
	bool woken = take_wake(ring);
	int submitted;
	int r;

	(void)eventfd_read(ring->flag_fd, &count);
	submitted = submit_and_look(ring);
	if (submitted < 0 || woken || completions_there(ring)) {
		return submitted;
	}
	(void)ppoll(signs, gy_countof(signs), timeout_ns > timeout_ns_max ? NULL : &timeout, NULL);
	r = submit_and_look(ring);
	(void)take_wake(ring);
	return r < 0 ? r : submitted;
}

/* A timer that is due before the least time to wait would be late. */
static bool may_gather(const struct gy_ring *ring, uint64_t timeout_ns)
{
	return gy_unlikely(ring->min_wait_us > 0) &&
	       timeout_ns > (uint64_t)ring->min_wait_us * 1000;
}

static int submit_and_block(struct gy_ring *ring, uint64_t timeout_ns)
{
	struct __kernel_timespec timeout;
	struct gy_kernel_wait arg = { 0 };
	uint32_t flags = IORING_ENTER_GETEVENTS | ring->wait_flags;
	uint32_t wait_for = 1;

	gy_count(&ring->counters.blocked, 1);
	if (gy_unlikely(ring->flag_fd >= 0)) {
		return submit_and_poll(ring, timeout_ns);
	}
	if (may_gather(ring, timeout_ns)) {
		/* Without a time-out the least time to wait would end the wait for nothing. */
		timeout_ns = timeout_ns < timeout_ns_max ? timeout_ns : timeout_ns_max;
		arg.min_wait_us = ring->min_wait_us;
		wait_for = GY_RING_GATHERED;
	}
	if (timeout_ns <= timeout_ns_max) {
		timeout.tv_sec = (int64_t)(timeout_ns / UINT64_C(1000000000));
		timeout.tv_nsec = (long long)(timeout_ns % UINT64_C(1000000000));
		arg.timeout = (uint64_t)(uintptr_t)&timeout;
		flags |= IORING_ENTER_EXT_ARG;
	}
	return enter(ring, wait_for, flags, (flags & IORING_ENTER_EXT_ARG) != 0 ? &arg : NULL);
}

int gy_ring_submit_and_wait(struct gy_ring *ring, uint64_t timeout_ns)
{
	int r;

	if (gy_unlikely(!ring->waker_armed)) {
		gy_ring_waker_arm(ring);
	}
	if (gy_unlikely(ring->epoll != NULL)) {
		r = gy_epoll_turn(ring, timeout_ns);
	} else if (timeout_ns == 0 || completions_there(ring)) {
		r = submit_and_look(ring);
	} else {
		r = submit_and_block(ring, timeout_ns);
	}
	return gy_unlikely(r == -ETIME || r == -EINTR) ? 0 : r;
}

/* ---- reaping ---- */

static struct gy_op *op_of(uint64_t user_data)
{
	return (struct gy_op *)(uintptr_t)(user_data & ((UINT64_C(1) << GY_USER_ADDRESS_BITS) - 1));
}

/* The operation is in use for something else: only the buffer must not be lost. */
static GY_COLD void drop_stale(struct gy_ring *ring, const struct gy_completion *completion)
{
	gy_count(&ring->counters.stale, 1);
	if (!completion->more) {
		ring->armed--;
	}
	if (!completion->has_buffer || completion->filling) {
		return;
	}
	if (gy_ring_group_of(completion->buffer) == GY_RING_STREAM_GROUP && ring->stale != NULL) {
		ring->stale(ring->stale_arg, completion->buffer);
	} else {
		gy_ring_buffer_return(ring, completion->buffer);
	}
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline void translate(struct gy_completion *completion, int32_t result, uint32_t flags)
{
	completion->result = result;
	completion->flags = flags; /* bit by bit the same */
}
#else
static inline void translate(struct gy_completion *completion, int32_t result, uint32_t flags)
{
	completion->result = result;
	completion->has_buffer = (flags & IORING_CQE_F_BUFFER) != 0;
	completion->more = (flags & IORING_CQE_F_MORE) != 0;
	completion->nonempty = (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
	completion->filling = (flags & IORING_CQE_F_BUF_MORE) != 0;
	completion->buffer = (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT);
}
#endif

static inline void dispatch(struct gy_ring *ring, struct gy_op *op, const struct io_uring_cqe *cqe)
{
	struct gy_completion completion;
	uint32_t flags = cqe->flags;

	translate(&completion, cqe->res, flags);
	if ((flags & IORING_CQE_F_BUFFER) != 0) {
		completion.bytes =
			gy_ring_buffers_taken(ring, (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT),
					      cqe->res, (flags & IORING_CQE_F_BUF_MORE) != 0);
	} else if (gy_unlikely(cqe->res == -ENOBUFS)) {
		gy_count(&ring->counters.no_buffers, 1);
		gy_ring_buffers_ran_out(ring);
	}
	if (gy_unlikely(op->generation != (uint16_t)(cqe->user_data >> GY_USER_ADDRESS_BITS))) {
		drop_stale(ring, &completion);
		return;
	}
	gy_assert(op->armed);
	if ((flags & IORING_CQE_F_MORE) == 0) {
		op->armed = false;
		ring->armed--;
	}
	op->complete(op, &completion);
}

/* An operation is used with the object that it stands in: fetches its line and the next one. Beyond
 * the last completion this fetches lines of no use, which does no harm. */
static inline void fetch(const struct io_uring_cqe *cqe)
{
	uintptr_t op = (uintptr_t)op_of(cqe->user_data);

	gy_prefetch_write((void *)op);
	gy_prefetch_write((void *)(op + GY_CACHE_LINE));
}

/* Returns how many completions from @head to @tail were those of operations. */
static inline uint32_t dispatch_all(struct gy_ring *ring, uint32_t head, uint32_t tail)
{
	const struct io_uring_cqe *cqes = ring->uring.cq.cqes;
	const uint32_t mask = ring->uring.cq.ring_mask;
	uint32_t count = tail - head;

	for (; head != tail; head++) {
		const struct io_uring_cqe *cqe = &cqes[head & mask];

		if (gy_unlikely((cqe->user_data & GY_USER_OWN) != 0)) {
			gy_ring_reap_own(ring, cqe);
			count--;
			continue;
		}
		fetch(&cqes[(head + FETCH_AHEAD) & mask]);
		dispatch(ring, op_of(cqe->user_data), cqe);
	}
	return count;
}

uint32_t gy_ring_reap(struct gy_ring *ring)
{
	struct io_uring_cq *cq = &ring->uring.cq;
	uint32_t head = *cq->khead;
	uint32_t tail = gy_load_acquire(cq->ktail);
	uint32_t count;

	if (head == tail) {
		return 0;
	}
	gy_assert(!ring->reaping);
	ring->reaping = true;
	count = dispatch_all(ring, head, tail);
	gy_store_release(cq->khead, tail);
	ring->reaping = false;
	gy_count(&ring->counters.completions, count);
	return count;
}
