/*
 * A descriptor by which somebody else waits for a ring: an epoll instance of three others. One is
 * an eventfd that the kernel writes to when completions come, or are deferred to the owner's next
 * call, since the descriptor of the ring itself does not tell of the latter on all kernels. The
 * second is the waker's, which the ring does not poll then. The third is a timer.
 *
 * All three are watched for edges and never read: what clears them is one call that takes the edges
 * from the instance, which is readable as long as it has any. The epoll engine has an instance of
 * its own in the place of the first, which is not watched for edges, since it is readable until the
 * engine has taken its events.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "ring/ring_private.h"

enum { FLAG, WAKER, TIMER, SIGNS };

static const uint64_t second_ns = 1000000000;

static int watch(const struct gy_ring *ring, int fd, uint32_t sign, uint32_t edge)
{
	struct epoll_event event = { .events = EPOLLIN | edge, .data.u32 = sign };

	return epoll_ctl(ring->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int gy_ring_descriptor_init(struct gy_ring *ring)
{
	int r;

	gy_assert(ring->poll_fd < 0 && ring->timer_fd < 0 && ring->wake_fd >= 0);
	ring->timer_ns = UINT64_MAX;
	ring->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ring->poll_fd < 0) {
		return -errno;
	}
	ring->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ring->timer_fd < 0) {
		return -errno;
	}
	r = watch(ring, ring->timer_fd, TIMER, EPOLLET);
	return r < 0 ? r : watch(ring, ring->wake_fd, WAKER, EPOLLET);
}

void gy_ring_descriptor_fini(struct gy_ring *ring)
{
	if (ring->timer_fd >= 0) {
		(void)close(ring->timer_fd);
		ring->timer_fd = -1;
	}
	if (ring->poll_fd >= 0) {
		(void)close(ring->poll_fd);
		ring->poll_fd = -1;
	}
}

int gy_ring_descriptor_watch(struct gy_ring *ring, int fd)
{
	gy_assert(ring->poll_fd >= 0 && fd >= 0);
	return watch(ring, fd, FLAG, ring->epoll == NULL ? EPOLLET : 0);
}

int gy_ring_descriptor(const struct gy_ring *ring)
{
	return ring->poll_fd;
}

bool gy_ring_descriptor_clear(struct gy_ring *ring)
{
	struct epoll_event events[SIGNS];
	int count = epoll_wait(ring->poll_fd, events, SIGNS, 0);
	bool woken = false;

	gy_assert(ring->poll_fd >= 0);
	for (int i = 0; i < count; i++) {
		woken = woken || events[i].data.u32 == WAKER;
		if (events[i].data.u32 == TIMER) {
			ring->timer_ns = UINT64_MAX;
		}
	}
	return woken;
}

void gy_ring_descriptor_arm(struct gy_ring *ring, uint64_t time_ns)
{
	struct itimerspec at = { 0 };

	if (time_ns == ring->timer_ns) {
		return;
	}
	if (time_ns != UINT64_MAX) {
		at.it_value.tv_sec = (time_t)(time_ns / second_ns);
		at.it_value.tv_nsec = (long)(time_ns % second_ns);
	}
	if (timerfd_settime(ring->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0) {
		gy_ring_wake(ring); /* better too often than never */
		return;
	}
	ring->timer_ns = time_ns;
}

void gy_ring_descriptor_wait(const struct gy_ring *ring, uint64_t timeout_ns)
{
	struct pollfd poll_fd = { .fd = ring->poll_fd, .events = POLLIN };
	struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / second_ns),
				    .tv_nsec = (long)(timeout_ns % second_ns) };

	gy_assert(ring->poll_fd >= 0);
	(void)ppoll(&poll_fd, 1, timeout_ns == UINT64_MAX ? NULL : &timeout, NULL);
}
