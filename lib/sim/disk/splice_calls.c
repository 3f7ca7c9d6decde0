/*
 * Bytes from one descriptor to another: sendfile() and splice(). They are copied through memory,
 * and only what the one has taken is taken from the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "sim/disk/disk.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

enum { CHUNK_BYTES = 65536 };

/* What bytes come from and go to. */
struct way {
	int from_fd;
	int to_fd;
	struct gy_sim_file *from;
	struct gy_sim_file *to;
	off_t *from_offset; /* NULL: the position */
	off_t *to_offset;
	size_t bytes;
	bool wait; /* if nothing has moved yet */
	bool all;  /* also after that: sendfile() */
};

/* Both ends and the offsets are right for a call. */
static int check(const struct way *way)
{
	const struct gy_sim_file *from = way->from;
	const struct gy_sim_file *to = way->to;

	if (from == NULL || to == NULL || (from->flags & O_ACCMODE) == O_WRONLY ||
	    (to->flags & O_ACCMODE) == O_RDONLY) {
		return -EBADF;
	}
	if (from->ops->read == NULL || to->ops->write == NULL ||
	    (way->all ? gy_sim_file_inode(from) == NULL
		      : !gy_sim_file_is_pipe(from) && !gy_sim_file_is_pipe(to))) {
		return -EINVAL;
	}
	if ((way->from_offset != NULL && gy_sim_file_inode(from) == NULL) ||
	    (way->to_offset != NULL && gy_sim_file_inode(to) == NULL)) {
		return -ESPIPE;
	}
	if ((way->from_offset != NULL && *way->from_offset < 0) ||
	    (way->to_offset != NULL && *way->to_offset < 0)) {
		return -EINVAL;
	}
	return 0;
}

/* ---- the one end ---- */

/* Reads without taking from a file or a pipe. */
static int64_t look(const struct way *way, void *memory)
{
	struct iovec slice = { .iov_base = memory, .iov_len = way->bytes };
	uint64_t at;

	slice.iov_len = slice.iov_len < CHUNK_BYTES ? slice.iov_len : CHUNK_BYTES;
	if (gy_sim_file_is_pipe(way->from)) {
		return gy_sim_pipe_look(way->from, memory, slice.iov_len);
	}
	if (gy_sim_file_inode(way->from) == NULL) {
		return -EINVAL; /* from a socket, which nobody needs */
	}
	at = way->from_offset == NULL ? *gy_sim_file_position(way->from)
				      : (uint64_t)*way->from_offset;
	return way->from->ops->read(way->from, &slice, 1, at);
}

static void take(const struct way *way, size_t bytes)
{
	if (way->from_offset != NULL) {
		*way->from_offset += (off_t)bytes;
	} else if (gy_sim_file_is_pipe(way->from)) {
		gy_sim_pipe_skip(way->from, bytes);
	} else if (gy_sim_file_inode(way->from) != NULL) {
		*gy_sim_file_position(way->from) += bytes;
	}
}

/* ---- the other ---- */

/* A pipe takes what it has room for. */
static int64_t put(const struct way *way, void *bytes, size_t count)
{
	struct iovec slice = { .iov_base = bytes, .iov_len = count };
	uint64_t at = way->to_offset == NULL ? GY_SIM_AT_POSITION : (uint64_t)*way->to_offset;
	int64_t r;

	if (gy_sim_file_is_pipe(way->to)) {
		size_t room = gy_sim_pipe_room(way->to);

		slice.iov_len = count < room || room == 0 ? count : room;
	}
	r = way->to->ops->write(way->to, &slice, 1, at);
	if (r > 0 && way->to_offset != NULL) {
		*way->to_offset += (off_t)r;
	}
	return r;
}

/* ---- both ---- */

/* How many bytes have moved, 0 at the end, or why none; and what to wait for after -EAGAIN. */
static int64_t move_once(const struct way *way, void *memory, struct gy_sim_file **ret_file,
			 uint32_t *ret_events)
{
	int64_t r = look(way, memory);

	*ret_file = way->from;
	*ret_events = EPOLLIN;
	if (r > 0) {
		*ret_file = way->to;
		*ret_events = EPOLLOUT;
		r = put(way, memory, (size_t)r);
	}
	if (r > 0) {
		take(way, (size_t)r);
	}
	return r;
}

/* Another task may close a descriptor meanwhile, so they are looked up each time. */
static int64_t move_all(struct way *way, void *memory)
{
	int64_t done = 0;
	int64_t r = 0;

	while (way->bytes > 0) {
		struct gy_sim_file *file;
		uint32_t events;

		way->from = gy_sim_file_at(way->from_fd);
		way->to = gy_sim_file_at(way->to_fd);
		r = check(way);
		r = r < 0 ? r : move_once(way, memory, &file, &events);
		if (r > 0) {
			done += r;
			way->bytes -= (size_t)r;
		} else if (r != -EAGAIN || !way->wait || (done > 0 && !way->all) ||
			   gy_sim_file_wait(file, events, 0, UINT64_MAX) < 0) {
			break;
		}
	}
	return done > 0 ? done : r;
}

static int64_t move(struct way *way)
{
	void *memory = gy_sim_get(CHUNK_BYTES);
	int64_t r;

	gy_sim_yield(false);
	gy_sim_here->scratch = memory;
	r = move_all(way, memory);
	gy_sim_here->scratch = NULL;
	gy_sim_put(memory);
	return r;
}

/* ---- calls ---- */

ssize_t __wrap_sendfile(int to, int from, off_t *offset, size_t bytes)
{
	struct way way = { .from_fd = from,
			   .to_fd = to,
			   .from_offset = offset,
			   .bytes = bytes,
			   .wait = true,
			   .all = true };

	if (gy_sim_here == NULL) {
		return __real_sendfile(to, from, offset, bytes);
	}
	return gy_sim_count(move(&way));
}

GY_SIM_WRAPPED_SAME(sendfile64, sendfile);

ssize_t __wrap_splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t bytes,
		      unsigned int flags)
{
	struct way way = { .from_fd = from,
			   .to_fd = to,
			   .from_offset = from_offset,
			   .to_offset = to_offset,
			   .bytes = bytes,
			   .wait = (flags & SPLICE_F_NONBLOCK) == 0 };

	if (gy_sim_here == NULL) {
		return __real_splice(from, from_offset, to, to_offset, bytes, flags);
	}
	return gy_sim_count(move(&way));
}
