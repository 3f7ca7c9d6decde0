/*
 * A system that becomes busy and is so no longer, all the time, while foreign threads send to it
 * and its actors send to each other. What it believes to be its memory is a planted cgroup, whose
 * use one thread writes up and down. A notice that is lost, or a thread that is never let go, ends
 * or hangs the program.
 */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include <gyre/overload.h>

#include "stress.h"
#include "system/system.h"

enum { LOOPS = 3, SENDERS = 3, NOTICES = 20000, SWITCHES = 10, PATH_BYTES_MAX = 512 };

static struct gyre_system *stressed;
static struct gyre_address sinks[LOOPS];
static char root[256];
static uint32_t left = SENDERS * NOTICES * 2;

/* ---- the planted cgroup ---- */

static void plant(const char *path, const char *text)
{
	char whole[PATH_BYTES_MAX];
	int fd;

	(void)snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	check(fd >= 0);
	check(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
	(void)close(fd);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

static void plant_all(void)
{
	const char *folder = getenv("TMPDIR");

	(void)snprintf(root, sizeof(root), "%s/gyre-busy-XXXXXX",
		       folder == NULL ? P_tmpdir : folder);
	check(mkdtemp(root) != NULL);
	plant("/proc/self/cgroup", "0::/\n");
	plant("/sys/fs/cgroup/cgroup.controllers", "memory\n");
	plant("/sys/fs/cgroup/memory.max", "1000000\n");
	plant("/sys/fs/cgroup/memory.current", "100000\n");
}

/* ---- the system ---- */

/* Each notice from outside goes on once, to the next loop. */
static int take(struct gyre_stack *stack)
{
	uint64_t value = load_check(gyre_message(stack, load));

	if (gy_fetch_add(&left, -1U) == 1) {
		gyre_system_stop(stressed);
	}
	if (value < LOOPS) {
		return gyre_notify(stack, sinks[(value + 1) % LOOPS], load_new(stack, LOOPS));
	}
	return gyre_return(stack);
}

static const struct gyre_class sink_class = { .name = "sink", .behaviour.notice = take };

static void *send_all(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	for (uint32_t i = 0; i < NOTICES; i++) {
		uint32_t to = stress_random(&random, LOOPS);

		check(gyre_system_notify(stressed, sinks[to], load_new_outside(stressed, to)) == 0);
		stress_dawdle(&random, 2000);
	}
	return NULL;
}

/* The system is parked while it waits for this, but for the timer that sees the end. */
static void switch_often(void)
{
	for (uint32_t i = 0; i < SWITCHES && gy_load_acquire(&left) > 0; i++) {
		plant("/sys/fs/cgroup/memory.current", "950000\n");
		while (!gyre_system_busy(stressed) && gy_load_acquire(&left) > 0) {
			gy_pause();
		}
		plant("/sys/fs/cgroup/memory.current", "100000\n");
		while (gyre_system_busy(stressed) && gy_load_acquire(&left) > 0) {
			gy_pause();
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	uint64_t seeds[SENDERS];
	pthread_t senders[SENDERS];
	struct gyre_counters counters;

	plant_all();
	stressed = stress_create(LOOPS);
	gy_memory_guard_fini(&stressed->memory_guard);
	(void)gy_memory_guard_init(&stressed->memory_guard, root, 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		sinks[i] = stress_spawn(stressed, &sink_class, i, GYRE_NO_ARGUMENT);
	}
	/* Busy from the first look on, so that all senders wait at least once. */
	plant("/sys/fs/cgroup/memory.current", "950000\n");
	check(gyre_system_start(stressed) == 0);
	for (uint32_t i = 0; i < SENDERS; i++) {
		seeds[i] = seed + i;
		check(pthread_create(&senders[i], NULL, send_all, &seeds[i]) == 0);
	}
	switch_often();
	for (uint32_t i = 0; i < SENDERS; i++) {
		check(pthread_join(senders[i], NULL) == 0);
	}
	counters = stress_end(stressed);
	check(counters.handled == SENDERS * NOTICES * 2);
	check(counters.busy_periods > 0 && counters.notices_delayed > 0);
	check(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
	return 0;
}
