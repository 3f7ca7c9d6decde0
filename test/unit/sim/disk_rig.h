/*
 * What the tests of simulated disks share. The functions with a descriptor are for the tasks of
 * hosts.
 */
#ifndef TEST_SIM_DISK_RIG_H
#define TEST_SIM_DISK_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim_rig.h"

enum { DISK_BYTES_MAX = 1 << 16 };

/* @count times the same byte. */
static inline const char *disk_fill(char byte, size_t count)
{
	static char bytes[DISK_BYTES_MAX];

	cr_assert(count <= sizeof(bytes));
	memset(bytes, byte, count);
	return bytes;
}

static inline int disk_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

/* Makes a file of @count times the same byte, or writes it anew; the descriptor is open. */
static inline int disk_write(const char *path, char byte, size_t count)
{
	int fd = disk_open(path, O_RDWR | O_CREAT | O_TRUNC);

	cr_assert_eq(write(fd, disk_fill(byte, count), count), (ssize_t)count);
	return fd;
}

static inline void disk_sync(const char *path)
{
	int fd = disk_open(path, O_RDONLY);

	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(close(fd), 0);
}

/* For as long as the host is up. */
static inline void disk_stay(void)
{
	const struct timespec day = { .tv_sec = 86400 };

	for (;;) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL);
	}
}

static inline void disk_pause(uint64_t ns)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / GYRE_SECONDS(1)),
				       .tv_nsec = (long)(ns % GYRE_SECONDS(1)) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* How many bytes the file has at its begin that are @byte. */
static inline size_t disk_run(const char *bytes, size_t count, char byte)
{
	size_t i = 0;

	while (i < count && bytes[i] == byte) {
		i++;
	}
	return i;
}

/* The host 0 of a new simulation boots, and crashes after a second. */
static inline struct gyre_sim *disk_crash_after(uint64_t seed, gyre_sim_boot_fn boot)
{
	struct gyre_sim *sim = sim_make(seed);

	(void)sim_add(sim, "alpha", boot, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	return sim;
}

/* Lets a host do what ends within a minute. */
static inline void disk_let(uint64_t seed, gyre_sim_boot_fn boot)
{
	struct gyre_sim *sim = sim_make(seed);
	bool done = false;

	(void)sim_add(sim, "alpha", boot, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static inline int disk_done(void *arg)
{
	*(bool *)arg = true;
	return 0;
}

#endif
