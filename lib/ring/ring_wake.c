/*
 * Waking a ring's owner from other threads.
 *
 * Each ring has an eventfd which it watches with a multishot poll and never reads: every write
 * makes the poll complete once more, so that a wake costs its receiver no system call. The counter
 * is never used up (2^64 writes), and since it stays above zero once written, a poll that is armed
 * later completes at once: a wake that comes before the wait, or before the ring is enabled, is not
 * lost.
 *
 * A thread that has a ring itself sends the wake by that ring (MSG_RING) and so makes no call of
 * its own for it; the message carries nothing. If the kernel cannot deliver it, a completion says
 * so and the eventfd is written after all.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ring/ring_private.h"

static const uint64_t one = 1;

int gy_ring_waker_init(struct gy_ring *ring)
{
	/* Without EFD_NONBLOCK the kernel would hand a prepared write to a worker thread. */
	ring->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ring->wake_fd < 0 ? -errno : 0;
}

void gy_ring_waker_fini(struct gy_ring *ring)
{
	(void)close(ring->wake_fd);
	ring->wake_fd = -1;
}

void gy_ring_waker_arm(struct gy_ring *ring)
{
	struct io_uring_sqe *sqe;

	if (ring->poll_fd >= 0) {
		ring->waker_armed = true; /* it is polled with the descriptor */
		return;
	}
	sqe = gy_ring_sqe(ring);
	if (sqe == NULL) {
		return; /* the next wait tries again */
	}
	io_uring_prep_poll_multishot(sqe, ring->wake_fd, POLLIN);
	sqe->user_data = GY_USER_WAKER;
	ring->waker_armed = true;
}

void gy_ring_wake(struct gy_ring *ring)
{
	int saved = errno;

	/* The write can only fail when the counter is full, and then a wake is in it. */
	if (write(ring->wake_fd, &one, sizeof(one)) < 0) {
		gy_assert(errno == EAGAIN);
	}
	errno = saved;
}

void gy_ring_wake_from(struct gy_ring *from, struct gy_ring *target)
{
	struct io_uring_sqe *sqe = gy_likely(from->enabled) ? gy_ring_sqe(from) : NULL;

	if (gy_unlikely(sqe == NULL)) {
		gy_ring_wake(target);
		return;
	}
	/* The thread of a ring that others poll is not to be interrupted in their calls, as some
	 * kernels do for a message. */
	if (gy_likely(from->features.ring_messages && target->poll_fd < 0)) {
		io_uring_prep_msg_ring(sqe, target->uring.ring_fd, 0, GY_USER_IGNORED, 0);
		sqe->user_data = (uintptr_t)target | GY_USER_MESSAGE;
	} else {
		io_uring_prep_write(sqe, target->wake_fd, &one, sizeof(one), 0);
		sqe->user_data = GY_USER_IGNORED;
	}
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
}

static void message_failed(struct gy_ring *ring, const struct io_uring_cqe *cqe)
{
	uint64_t address = cqe->user_data & ~(uint64_t)GY_USER_OWN;

	if (cqe->res == -EINVAL || cqe->res == -EOPNOTSUPP) {
		ring->features.ring_messages = false;
	}
	gy_ring_wake((struct gy_ring *)(uintptr_t)address);
}

void gy_ring_reap_own(struct gy_ring *ring, const struct io_uring_cqe *cqe)
{
	gy_count(&ring->counters.own, 1);
	switch (cqe->user_data & GY_USER_OWN) {
	case GY_USER_WAKER:
		if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
			ring->waker_armed = false;
			gy_ring_waker_arm(ring);
		}
		break;
	case GY_USER_MESSAGE:
		message_failed(ring, cqe);
		break;
	default:
		break;
	}
}
