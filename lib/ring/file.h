/*
 * Files by their paths, where no operation of a ring is needed: those of the kernel, of Unix
 * sockets and of their locks. A part of the seam to the kernel: see ring/socket.h.
 *
 * Each call returns 0, a count or a descriptor, or a negative errno; outputs are untouched on
 * failure. Any thread that may wait for a file system.
 */
#ifndef GY_RING_FILE_H
#define GY_RING_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* @flags as of open(); without O_CLOEXEC the programs that the process starts have it too. */
int gy_file_open(const char *path, int flags, mode_t mode);
/* Reads from @offset on, whatever the position. */
int64_t gy_file_read_at(int fd, void *memory, size_t bytes, uint64_t offset);
/* Of the path itself: a symbolic link is not followed. */
int gy_file_status(const char *path, struct stat *ret_status);
int gy_file_set_mode(const char *path, mode_t mode);
int gy_file_remove(const char *path);
/* Waits until nobody else has the file locked. The lock ends with the descriptor. */
int gy_file_lock(int fd);

#endif
