/*
 * What all descriptors have, and those that are neither sockets nor files: pipes and events. A part
 * of the seam to the kernel: see ring/socket.h.
 *
 * Each call returns 0, a count or a descriptor, or a negative errno; outputs are untouched on
 * failure. -EINTR is the caller's to repeat. Any thread. A call waits only where that is said.
 */
#ifndef GY_RING_DESCRIPTOR_H
#define GY_RING_DESCRIPTOR_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The descriptor is gone, whatever is returned. May wait for a file system or SO_LINGER. */
int gy_descriptor_close(int fd);
bool gy_descriptor_is_open(int fd);
/* Another number for what @fd is, the lowest that is free from @least on, closed by exec(). */
int gy_descriptor_duplicate(int fd, int least);
/* Has the number @fd stand for what @by is, and closes what it was before; closed by exec(). */
int gy_descriptor_replace(int fd, int by);
/* Has exec() close it. */
int gy_descriptor_close_on_exec(int fd);
/* Makes system calls on it return at once. Operations of a ring are as before. */
int gy_descriptor_set_nonblocking(int fd);
/* Sets the flags of fcntl(F_SETFL), as O_NONBLOCK: exactly those of @flags. */
int gy_descriptor_set_flags(int fd, int flags);

int gy_descriptor_status(int fd, struct stat *ret_status);
/* The permissions; of a socket, those of the file that binding it makes. */
int gy_descriptor_set_mode(int fd, mode_t mode);

/* Both wait where the descriptor is not nonblocking. */
int64_t gy_descriptor_read(int fd, void *memory, size_t bytes);
int64_t gy_descriptor_write(int fd, const void *bytes, size_t count);
/* Waits until one of @count is ready, for @timeout_ms; -1 for no limit. How many are; 0 when time
 * is up. */
int gy_descriptor_poll(struct pollfd *descriptors, size_t count, int timeout_ms);

/* A pipe, closed by exec(); the first end is for reading. */
int gy_descriptor_open_pipe(int ret_fds[2]);
/* A counter that is readable when it is not 0, closed by exec(). */
int gy_descriptor_open_event(bool nonblocking);
/* Adds one to such a counter. */
int gy_descriptor_post_event(int fd);
/* Sets such a counter to 0; it waits until it is not, or is -EAGAIN if nonblocking. */
int gy_descriptor_take_event(int fd);

#endif
