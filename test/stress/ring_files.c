/*
 * Rings of the epoll engine that come and go on several threads, each with operations on files that
 * worker threads do, of which some are cancelled: while they wait, while a thread is at them, or
 * when they have just ended. Each operation must end once, as itself or cancelled, before its ring
 * goes; a worker that touches a ring that has gone is a race.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "ring/ring.h"
#include "stress.h"

enum { THREADS = 3, RINGS = 60, OPERATIONS = 40 };

struct operation {
	struct gy_op op;
	bool is_open;
	uint32_t ends;
	char bytes[64];
};

static char path[] = "/tmp/gyre-stress-files-XXXXXX";

static void complete(struct gy_op *op, const struct gy_completion *completion)
{
	struct operation *operation = gy_container_of(op, struct operation, op);

	operation->ends++;
	check(completion->result >= 0 || completion->result == -ECANCELED);
	if (operation->is_open && completion->result >= 0) {
		(void)close(completion->result);
	}
}

static int prepare(struct gy_ring *ring, struct operation *operation, int fd, uint64_t random)
{
	operation->is_open = random % 3 == 0;
	switch (random % 3) {
	case 0:
		return gy_ring_open(ring, &operation->op, path, O_RDONLY, 0);
	case 1:
		return gy_ring_sync(ring, &operation->op, fd, true);
	default:
		return gy_ring_write_bytes(ring, &operation->op, fd, operation->bytes,
					   sizeof(operation->bytes));
	}
}

static void turn(struct gy_ring *ring, uint64_t timeout_ns)
{
	(void)gy_ring_submit_and_wait(ring, timeout_ns);
	(void)gy_ring_reap(ring);
}

static void use(struct gy_ring *ring, int fd, uint64_t *random)
{
	static _Thread_local struct operation operations[OPERATIONS];

	memset(operations, 0, sizeof(operations));
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint64_t next = gy_random_next(random);

		gy_op_init(&operations[i].op, complete);
		while (prepare(ring, &operations[i], fd, next) == -EAGAIN) {
			turn(ring, 0);
		}
		if (next >> 8 & 1) {
			turn(ring, next >> 16 & 0xffff);
		}
		while ((next >> 9 & 1) != 0 && gy_ring_cancel(ring, &operations[i / 2].op) != 0) {
			turn(ring, 0);
		}
	}
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		while (operations[i].ends == 0) {
			turn(ring, 1000000);
		}
		check(operations[i].ends == 1 && !operations[i].op.armed);
	}
}

static void *run(void *arg)
{
	const struct gy_ring_options options = { .engine = GY_RING_EPOLL, .entries = 8 };
	uint64_t random = (uintptr_t)arg;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	for (uint32_t i = 0; i < RINGS; i++) {
		struct gy_ring *ring;

		check(gy_ring_create(&options, &ring) == 0 && gy_ring_enable(ring) == 0);
		use(ring, fd, &random);
		gy_ring_destroy(ring);
	}
	(void)close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	pthread_t threads[THREADS];
	int fd = mkostemp(path, O_CLOEXEC);

	check(fd >= 0);
	(void)close(fd);
	for (uintptr_t i = 0; i < THREADS; i++) {
		check(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(seed + i)) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	(void)unlink(path);
	return EXIT_SUCCESS;
}
