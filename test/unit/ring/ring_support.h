/*
 * What the tests of the ring floor share: an operation that keeps a record of its completions,
 * rings that are made in one line, and sockets over loopback.
 */
#ifndef GY_TEST_RING_SUPPORT_H
#define GY_TEST_RING_SUPPORT_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "ring/ring.h"
#include "ring_engine.h"

enum { RECORD_ROUNDS_MAX = 256 };

/* An operation and what came of it. It must not be moved while it is armed. */
struct record {
	struct gy_op op;
	uint32_t rounds;
	uint32_t finals;
	struct gy_completion completions[RECORD_ROUNDS_MAX];
};

static inline void record_complete(struct gy_op *op, const struct gy_completion *completion)
{
	struct record *record = gy_container_of(op, struct record, op);

	cr_assert_lt(record->rounds, RECORD_ROUNDS_MAX);
	cr_assert_eq(op->armed, completion->more);
	record->completions[record->rounds++] = *completion;
	record->finals += completion->more ? 0 : 1;
}

static inline void record_init(struct record *record)
{
	memset(record, 0, sizeof(*record));
	gy_op_init(&record->op, record_complete);
}

static inline const struct gy_completion *record_last(const struct record *record)
{
	cr_assert_gt(record->rounds, 0);
	return &record->completions[record->rounds - 1];
}

static inline struct gy_ring *ring_make_of(const struct gy_ring_options *options)
{
	struct gy_ring *ring = NULL;

	cr_assert_eq(gy_ring_create(options, &ring), 0);
	cr_assert_not_null(ring);
	return ring;
}

/* A ring made but not enabled, with 8 submissions; receives do not share buffers. */
static inline struct gy_ring *ring_make(uint32_t buffer_count, uint32_t buffer_bytes)
{
	return ring_make_of(&(struct gy_ring_options){
		.engine = engine_of_tests(),
		.entries = 8,
		.buffer_count = buffer_count,
		.buffer_bytes = buffer_bytes,
		.whole_buffers = true,
	});
}

static inline struct gy_ring *ring_open(uint32_t buffer_count, uint32_t buffer_bytes)
{
	struct gy_ring *ring = ring_make(buffer_count, buffer_bytes);

	cr_assert_eq(gy_ring_enable(ring), 0);
	return ring;
}

/* For what only io_uring has, as completion work that the kernel flags. */
static inline struct gy_ring *ring_open_uring(uint32_t buffer_count, uint32_t buffer_bytes)
{
	ONLY_OF_IO_URING("nothing in memory tells of what has come");
	return ring_open(buffer_count, buffer_bytes);
}

/* Enabled too, and receives share buffers; the test ends here where the kernel cannot. */
static inline struct gy_ring *ring_open_shared(uint32_t buffer_count, uint32_t buffer_bytes)
{
	struct gy_ring *ring = ring_make_of(&(struct gy_ring_options){
		.engine = engine_of_tests(),
		.entries = 8,
		.buffer_count = buffer_count,
		.buffer_bytes = buffer_bytes,
	});

	if (!gy_ring_features(ring).incremental_buffers) {
		gy_ring_destroy(ring);
		cr_skip_test("this kernel's buffers cannot be shared");
	}
	cr_assert_eq(gy_ring_enable(ring), 0);
	return ring;
}

/* Turns @ring until @record has seen @rounds completions, for ten seconds at most. */
static inline void turn_until(struct gy_ring *ring, const struct record *record, uint32_t rounds)
{
	uint64_t end_ns = gy_clock_machine_ns() + UINT64_C(10000000000);

	while (record->rounds < rounds) {
		cr_assert_lt(gy_clock_machine_ns(), end_ns);
		cr_assert_geq(gy_ring_submit_and_wait(ring, 100000000), 0);
		(void)gy_ring_reap(ring);
	}
}

static inline void turn_until_final(struct gy_ring *ring, const struct record *record)
{
	uint64_t end_ns = gy_clock_machine_ns() + UINT64_C(10000000000);

	while (record->finals == 0) {
		cr_assert_lt(gy_clock_machine_ns(), end_ns);
		cr_assert_geq(gy_ring_submit_and_wait(ring, 100000000), 0);
		(void)gy_ring_reap(ring);
	}
}

/* Turns @ring for @time_ns, whatever happens. */
static inline void turn_for(struct gy_ring *ring, uint64_t time_ns)
{
	uint64_t end_ns = gy_clock_machine_ns() + time_ns;

	while (gy_clock_machine_ns() < end_ns) {
		cr_assert_geq(gy_ring_submit_and_wait(ring, 1000000), 0);
		(void)gy_ring_reap(ring);
	}
}

static inline int descriptors_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	cr_assert_not_null(folder);
	while (readdir(folder) != NULL) {
		count++;
	}
	(void)closedir(folder);
	return count;
}

/* A listening socket of loopback, and where it listens. */
static inline int listener_open(struct sockaddr_in *ret_address, int backlog)
{
	socklen_t bytes = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	*ret_address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	cr_assert_eq(bind(fd, (struct sockaddr *)ret_address, sizeof(*ret_address)), 0);
	cr_assert_eq(listen(fd, backlog), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)ret_address, &bytes), 0);
	return fd;
}

static inline int client_open(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	return fd;
}

static inline void pair_open(int ret_fds[2])
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_fds), 0);
}

static inline void pair_close(const int fds[2])
{
	cr_assert_eq(close(fds[0]), 0);
	cr_assert_eq(close(fds[1]), 0);
}

#endif
