/* Operations on files and pipes, as the ring does them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ring_support.h"

TestSuite(ring_file, .timeout = 60);

enum { BYTES = 5000 };

static struct gy_ring *ring;
static struct record record;
static char bytes[BYTES];
static char back[BYTES];
static int fd;

static void begin(void)
{
	char path[] = "/tmp/gyre-ring-XXXXXX";

	fd = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(fd, 0);
	(void)unlink(path);
	memset(bytes, 'x', sizeof(bytes));
	ring = ring_open(8, 4096);
	record_init(&record);
}

static void end(void)
{
	gy_ring_destroy(ring);
	(void)close(fd);
}

static int32_t result(int prepared)
{
	cr_assert_eq(prepared, 0);
	turn_until_final(ring, &record);
	record.finals = 0;
	return record_last(&record)->result;
}

Test(ring_file, writes_and_reads_at_an_offset, .init = begin, .fini = end)
{
	const struct iovec slices[2] = { { bytes, 1000 }, { bytes, BYTES - 1000 } };

	cr_assert_eq(result(gy_ring_write(ring, &record.op, fd, slices, 2, 100)), BYTES);
	cr_assert_eq(result(gy_ring_sync(ring, &record.op, fd, true)), 0);
	cr_assert_eq(result(gy_ring_sync(ring, &record.op, fd, false)), 0);
	cr_assert_eq(result(gy_ring_read(ring, &record.op, fd, back, BYTES, 200)), BYTES - 100);
	cr_assert_eq(memcmp(back, bytes, BYTES - 100), 0);
	cr_assert_eq(result(gy_ring_read(ring, &record.op, fd, back, BYTES, BYTES + 100)), 0);
}

Test(ring_file, writes_where_the_descriptor_stands, .init = begin, .fini = end)
{
	cr_assert_eq(result(gy_ring_write_bytes(ring, &record.op, fd, bytes, 10)), 10);
	cr_assert_eq(result(gy_ring_write_bytes(ring, &record.op, fd, bytes, 10)), 10);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 20);
}

Test(ring_file, opens_and_tells_the_length, .init = begin, .fini = end)
{
	struct statx status;
	int opened;

	cr_assert_eq(result(gy_ring_write_bytes(ring, &record.op, fd, bytes, BYTES)), BYTES);
	cr_assert_eq(result(gy_ring_stat(ring, &record.op, fd, &status)), 0);
	cr_assert_eq(status.stx_size, BYTES);
	opened = result(gy_ring_open(ring, &record.op, "/dev/null", O_RDONLY, 0));
	cr_assert_geq(opened, 0);
	cr_assert_neq(fcntl(opened, F_GETFD) & FD_CLOEXEC, 0);
	(void)close(opened);
	cr_assert_eq(result(gy_ring_open(ring, &record.op, "/dev/nothing", O_RDONLY, 0)), -ENOENT);
}

Test(ring_file, cuts_a_file_where_the_kernel_can, .init = begin, .fini = end)
{
	struct stat status;

	if (!gy_ring_features(ring).truncate) {
		cr_skip_test("this kernel's rings cannot");
	}
	cr_assert_eq(result(gy_ring_truncate(ring, &record.op, fd, 4321)), 0);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_eq(status.st_size, 4321);
}

Test(ring_file, splices_from_a_file_to_a_pipe, .init = begin, .fini = end)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_eq(result(gy_ring_write_bytes(ring, &record.op, fd, bytes, BYTES)), BYTES);
	cr_assert_eq(result(gy_ring_splice(ring, &record.op, fd, 1000, fds[1], BYTES)),
		     BYTES - 1000);
	cr_assert_eq(read(fds[0], back, BYTES), BYTES - 1000);
	cr_assert_eq(result(gy_ring_splice(ring, &record.op, fd, BYTES, fds[1], 10)), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

Test(ring_file, reads_a_pipe_again_and_again_where_the_kernel_can, .init = begin, .fini = end)
{
	int fds[2];
	const struct gy_completion *last;

	if (!gy_ring_features(ring).multishot_read) {
		cr_skip_test("this kernel's rings cannot");
	}
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_eq(gy_ring_read_buffers(ring, &record.op, fds[0]), 0);
	for (int round = 1; round <= 3; round++) {
		cr_assert_eq(write(fds[1], bytes, (size_t)(10 * round)), 10 * round);
		turn_until(ring, &record, (uint32_t)round);
		last = record_last(&record);
		cr_assert_eq(last->result, 10 * round);
		cr_assert(last->has_buffer);
		cr_assert(last->more);
		cr_assert_eq(memcmp(last->bytes, bytes, (size_t)(10 * round)), 0);
		gy_ring_buffer_return(ring, last->buffer);
	}
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	cr_assert_eq(result(0), -ECANCELED);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
