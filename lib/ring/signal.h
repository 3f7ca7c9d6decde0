/*
 * Signals that are read from descriptors, and what a process does with them. A part of the seam to
 * the kernel: see ring/socket.h. Masks of threads are in base/thread.h.
 *
 * Each call returns 0, a count or a descriptor, or a negative errno; outputs are untouched on
 * failure. Any thread. None waits.
 */
#ifndef GY_RING_SIGNAL_H
#define GY_RING_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signalfd_siginfo;

/* A descriptor that those of @signals are read from which the reading thread blocks: nonblocking,
 * and closed by exec(). */
int gy_signal_open(const sigset_t *signals);
/* Has such a descriptor be for @signals. */
int gy_signal_change(int fd, const sigset_t *signals);
/* Reads up to @count signals that have come. How many; -EAGAIN when there are none. */
int gy_signal_read(int fd, struct signalfd_siginfo *ret_signals, size_t count);
/* Takes one of @signals, which the calling thread blocks and which has come. Whether there was one;
 * nobody hears of it. */
bool gy_signal_take(const sigset_t *signals);
/* What the process does when the signal comes. -EINVAL for a number that is none. */
int gy_signal_action(int signo, struct sigaction *ret_action);

#endif
