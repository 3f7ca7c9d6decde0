/*
 * Operations on files and sockets that are done at once or not at all: system calls that do not
 * wait for a disk or a peer. Bytes of the page cache need neither a completion nor a worker thread
 * of the kernel, so a call is cheaper for them than an operation of the ring.
 *
 * Each call says -EAGAIN where it would have to wait; the ring then has the operation that waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/kernel.h"
#include "ring/ring_private.h"

/* As the kernel's struct cachestat_range and struct cachestat. */
struct range {
	uint64_t offset;
	uint64_t bytes;
};

struct cached {
	uint64_t pages;
	uint64_t dirty;
	uint64_t in_writeback;
	uint64_t evicted;
	uint64_t recently_evicted;
};

static int64_t result_of(int64_t result)
{
	if (result >= 0) {
		return result;
	}
	return errno == EINTR ? -EAGAIN : -errno;
}

/* Whether all pages of a part of a file are in memory, or are just being read. */
static bool is_in_memory(int fd, uint64_t offset, uint64_t bytes)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct range range = { .offset = offset, .bytes = bytes };
	struct cached cached = { 0 };

	/* Valgrind does not know the call, and says so on its standard error. */
	if (gy_sanitize_valgrind() || syscall(GY_KERNEL_CACHESTAT, fd, &range, &cached, 0U) < 0) {
		return false;
	}
	return cached.pages >= (offset + bytes - 1) / page_bytes - offset / page_bytes + 1;
}

int64_t gy_ring_read_now(int fd, void *memory, size_t bytes, uint64_t offset)
{
	const struct iovec part = { .iov_base = memory, .iov_len = bytes };
	int64_t r = result_of(preadv2(fd, &part, 1, (off_t)offset, RWF_NOWAIT));

	/* File systems in memory do not know the flag. */
	if (r == -EOPNOTSUPP && is_in_memory(fd, offset, bytes)) {
		r = result_of(preadv2(fd, &part, 1, (off_t)offset, 0));
	}
	return r;
}

bool gy_ring_can_send_file_now(int fd, uint64_t offset, uint64_t bytes)
{
	char last;

	/* A page that is being read counts as in memory. Pages are read in their order. */
	return is_in_memory(fd, offset, bytes) &&
	       gy_ring_read_now(fd, &last, 1, offset + bytes - 1) == 1;
}

int64_t gy_ring_send_file_now(int to, int from, uint64_t offset, size_t bytes)
{
	off_t at = (off_t)offset;

	return result_of(sendfile(to, from, &at, bytes));
}

int64_t gy_ring_send_now(int fd, struct iovec *slices, size_t count, bool more)
{
	const struct msghdr message = { .msg_iov = slices, .msg_iovlen = count };

	return result_of(
		sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0)));
}

int gy_ring_open_now(const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint32_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_CACHED,
	};

	if (gy_sanitize_valgrind()) {
		return -EAGAIN;
	}
	return (int)result_of(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int gy_ring_stat_now(int fd, struct statx *ret_status)
{
	return (int)result_of(
		statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, ret_status));
}
