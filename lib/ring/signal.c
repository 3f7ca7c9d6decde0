/*
 * Signals by system calls. The descriptors are nonblocking and closed by exec(), and stay so when
 * their signals change.
 */
#include "ring/signal.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

static int set_up(int fd, const sigset_t *signals)
{
	int r = signalfd(fd, signals, SFD_CLOEXEC | SFD_NONBLOCK);

	return r < 0 ? -errno : r;
}

int gy_signal_open(const sigset_t *signals)
{
	return set_up(-1, signals);
}

int gy_signal_change(int fd, const sigset_t *signals)
{
	int r;

	gy_assert(fd >= 0);
	r = set_up(fd, signals);
	return r < 0 ? r : 0;
}

int gy_signal_read(int fd, struct signalfd_siginfo *ret_signals, size_t count)
{
	ssize_t r = read(fd, ret_signals, count * sizeof(*ret_signals));

	if (r < 0) {
		return -errno;
	}
	gy_assert((size_t)r % sizeof(*ret_signals) == 0);
	return (int)((size_t)r / sizeof(*ret_signals));
}

bool gy_signal_take(const sigset_t *signals)
{
	const struct timespec no_time = { 0 };

	return sigtimedwait(signals, NULL, &no_time) > 0;
}

int gy_signal_action(int signo, struct sigaction *ret_action)
{
	return sigaction(signo, NULL, ret_action) < 0 ? -errno : 0;
}
