/*
 * Pipes: 64 KiB of bytes between two ends, each an open file of its own.
 *
 * Who waits for room hears of it when there is enough for a write that has to be whole. A write
 * where nobody can read any more is -EPIPE, without the signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/disk/disk.h"
#include "sim/wrapped.h"

enum { PIPE_BYTES = 65536 };

struct pipe {
	struct gy_sim_file reader;
	struct gy_sim_file writer;
	bool has_reader;
	bool has_writer;
	size_t first; /* of @bytes, where the next to be read is */
	size_t used;
	unsigned char bytes[PIPE_BYTES];
};

static size_t room_in(const struct pipe *pipe)
{
	return PIPE_BYTES - pipe->used;
}

/* ---- the end for reading ---- */

static struct pipe *pipe_of_reader(const struct gy_sim_file *file)
{
	return gy_container_of((struct gy_sim_file *)(uintptr_t)file, struct pipe, reader);
}

static uint32_t reader_events(const struct gy_sim_file *file)
{
	const struct pipe *pipe = pipe_of_reader(file);

	return (pipe->used > 0 ? EPOLLIN : 0U) | (pipe->has_writer ? 0U : EPOLLHUP);
}

static size_t look(const struct pipe *pipe, void *memory, size_t bytes)
{
	size_t count = bytes < pipe->used ? bytes : pipe->used;
	size_t to_end = PIPE_BYTES - pipe->first;
	size_t part = count < to_end ? count : to_end;

	memcpy(memory, pipe->bytes + pipe->first, part);
	memcpy((unsigned char *)memory + part, pipe->bytes, count - part);
	return count;
}

static void skip(struct pipe *pipe, size_t bytes)
{
	bool was_full = room_in(pipe) < PIPE_BUF;

	pipe->first = (pipe->first + bytes) % PIPE_BYTES;
	pipe->used -= bytes;
	if (was_full && room_in(pipe) >= PIPE_BUF) {
		gy_sim_file_changed(&pipe->writer, EPOLLOUT);
	}
}

static int64_t reader_read(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			   uint64_t offset)
{
	struct pipe *pipe = pipe_of_reader(file);
	size_t wanted = gy_sim_slices_bytes(slices, count);
	unsigned char *memory;
	size_t bytes;

	(void)offset;
	if (wanted == 0) {
		return 0;
	}
	if (pipe->used == 0) {
		return pipe->has_writer ? -EAGAIN : 0;
	}
	bytes = wanted < pipe->used ? wanted : pipe->used;
	memory = (unsigned char *)gy_sim_get(bytes);
	(void)look(pipe, memory, bytes);
	(void)gy_sim_scatter(slices, count, memory, bytes);
	gy_sim_put(memory);
	skip(pipe, bytes);
	return (int64_t)bytes;
}

/* ---- the end for writing ---- */

static struct pipe *pipe_of_writer(const struct gy_sim_file *file)
{
	return gy_container_of((struct gy_sim_file *)(uintptr_t)file, struct pipe, writer);
}

static uint32_t writer_events(const struct gy_sim_file *file)
{
	const struct pipe *pipe = pipe_of_writer(file);

	return (room_in(pipe) >= PIPE_BUF ? EPOLLOUT : 0U) | (pipe->has_reader ? 0U : EPOLLERR);
}

static void put(struct pipe *pipe, const unsigned char *bytes, size_t count)
{
	size_t end = (pipe->first + pipe->used) % PIPE_BYTES;
	size_t to_end = PIPE_BYTES - end;
	size_t part = count < to_end ? count : to_end;

	memcpy(pipe->bytes + end, bytes, part);
	memcpy(pipe->bytes, bytes + part, count - part);
	pipe->used += count;
}

static int64_t writer_write(struct gy_sim_file *file, const struct iovec *slices, uint32_t count,
			    uint64_t offset)
{
	struct pipe *pipe = pipe_of_writer(file);
	size_t wanted = gy_sim_slices_bytes(slices, count);
	size_t bytes = wanted < room_in(pipe) ? wanted : room_in(pipe);
	unsigned char *memory;

	(void)offset;
	if (!pipe->has_reader) {
		return -EPIPE;
	}
	if (wanted == 0) {
		return 0;
	}
	if (bytes == 0 || (wanted <= PIPE_BUF && bytes < wanted)) {
		return -EAGAIN;
	}
	memory = (unsigned char *)gy_sim_get(bytes);
	(void)gy_sim_gather(slices, count, 0, memory, bytes);
	put(pipe, memory, bytes);
	gy_sim_put(memory);
	gy_sim_file_changed(&pipe->reader, EPOLLIN);
	return (int64_t)bytes;
}

/* ---- life ---- */

static void free_if_unused(struct pipe *pipe)
{
	if (!pipe->has_reader && !pipe->has_writer) {
		gy_sim_put(pipe);
	}
}

static void reader_close(struct gy_sim_file *file)
{
	struct pipe *pipe = pipe_of_reader(file);

	pipe->has_reader = false;
	if (pipe->has_writer) {
		gy_sim_file_changed(&pipe->writer, EPOLLOUT | EPOLLERR);
	}
	free_if_unused(pipe);
}

static void writer_close(struct gy_sim_file *file)
{
	struct pipe *pipe = pipe_of_writer(file);

	pipe->has_writer = false;
	if (pipe->has_reader) {
		gy_sim_file_changed(&pipe->reader, EPOLLHUP);
	}
	free_if_unused(pipe);
}

static const struct gy_sim_file_ops reader_ops = {
	.name = "pipe (read)",
	.type = S_IFIFO,
	.events = reader_events,
	.read = reader_read,
	.close = reader_close,
};

static const struct gy_sim_file_ops writer_ops = {
	.name = "pipe (write)",
	.type = S_IFIFO,
	.events = writer_events,
	.write = writer_write,
	.close = writer_close,
};

/* ---- for splice() ---- */

bool gy_sim_file_is_pipe(const struct gy_sim_file *file)
{
	return file->ops == &reader_ops || file->ops == &writer_ops;
}

int64_t gy_sim_pipe_look(const struct gy_sim_file *file, void *memory, size_t bytes)
{
	const struct pipe *pipe = pipe_of_reader(file);

	if (pipe->used == 0) {
		return pipe->has_writer ? -EAGAIN : 0;
	}
	return (int64_t)look(pipe, memory, bytes);
}

void gy_sim_pipe_skip(struct gy_sim_file *file, size_t bytes)
{
	skip(pipe_of_reader(file), bytes);
}

size_t gy_sim_pipe_room(const struct gy_sim_file *file)
{
	return room_in(pipe_of_writer(file));
}

/* ---- calls ---- */

static int open_pipe(int ret_fds[2], int flags)
{
	struct pipe *pipe;
	int reader;
	int writer;

	if ((flags & ~(O_CLOEXEC | O_NONBLOCK)) != 0) {
		return -EINVAL;
	}
	pipe = (struct pipe *)gy_sim_get(sizeof(*pipe));
	gy_sim_file_init(&pipe->reader, &reader_ops, gy_sim_host_here(),
			 O_RDONLY | (flags & O_NONBLOCK));
	gy_sim_file_init(&pipe->writer, &writer_ops, gy_sim_host_here(),
			 O_WRONLY | (flags & O_NONBLOCK));
	pipe->has_reader = true;
	pipe->has_writer = true;
	reader = gy_sim_file_install_new(&pipe->reader);
	writer = gy_sim_file_install_new(&pipe->writer);
	if (reader < 0 || writer < 0) {
		if (reader >= 0) {
			(void)gy_sim_descriptor_close(reader);
		}
		return -EMFILE;
	}
	gy_sim_slot_at(reader)->close_on_exec = (flags & O_CLOEXEC) != 0;
	gy_sim_slot_at(writer)->close_on_exec = (flags & O_CLOEXEC) != 0;
	ret_fds[0] = reader;
	ret_fds[1] = writer;
	return 0;
}

int __wrap_pipe(int ret_fds[2])
{
	if (gy_sim_here == NULL) {
		return __real_pipe(ret_fds);
	}
	return gy_sim_result(open_pipe(ret_fds, 0));
}

int __wrap_pipe2(int ret_fds[2], int flags)
{
	if (gy_sim_here == NULL) {
		return __real_pipe2(ret_fds, flags);
	}
	return gy_sim_result(open_pipe(ret_fds, flags));
}
