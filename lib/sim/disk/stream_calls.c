/*
 * Streams of the C library over files of the simulated disk: the library keeps their buffers, and
 * calls the functions below where it would make calls of the kernel. Each stands for a descriptor.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct stream {
	struct gy_list of_host;
	FILE *file;
	int fd; /* -1: its host is down, though the library has the stream yet */
};

static struct stream *stream_of(void *cookie)
{
	return (struct stream *)cookie;
}

static ssize_t stream_read(void *cookie, char *memory, size_t bytes)
{
	int fd = stream_of(cookie)->fd;

	return fd < 0 ? 0 : __wrap_read(fd, memory, bytes);
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t count)
{
	int fd = stream_of(cookie)->fd;
	ssize_t written = fd < 0 ? (ssize_t)count : __wrap_write(fd, bytes, count);

	return written < 0 ? 0 : written; /* 0 is how an error is told here */
}

static int stream_seek(void *cookie, off64_t *offset, int from)
{
	int fd = stream_of(cookie)->fd;
	off_t at = fd < 0 ? -1 : __wrap_lseek(fd, *offset, from);

	*offset = at;
	return at < 0 ? -1 : 0;
}

static void forget(struct stream *stream)
{
	gy_list_remove(&stream->of_host);
	gy_sim_put(stream);
}

static int stream_close(void *cookie)
{
	int fd = stream_of(cookie)->fd;

	forget(stream_of(cookie));
	return fd < 0 ? 0 : __wrap_close(fd);
}

static const cookie_io_functions_t stream_functions = {
	.read = stream_read,
	.write = stream_write,
	.seek = stream_seek,
	.close = stream_close,
};

/* As at the end of a process. */
void gy_sim_streams_flush(struct gy_sim_host *host)
{
	struct gy_list *next;

	for (struct gy_list *item = host->streams.next; item != &host->streams; item = next) {
		next = item->next;
		(void)fflush(gy_container_of(item, struct stream, of_host)->file);
	}
}

/* What the library has of a stream stays until the process ends, which then does nothing with it,
 * as does who closes it on a later boot. */
void gy_sim_streams_fini(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->streams)) {
		struct stream *stream = gy_container_of(host->streams.next, struct stream, of_host);

		gy_list_remove(&stream->of_host);
		gy_list_init(&stream->of_host);
		stream->fd = -1;
	}
}

/* ---- calls ---- */

/* The flags of open() for a mode of fopen(); -EINVAL. */
static int flags_of(const char *mode)
{
	bool both = strchr(mode, '+') != NULL;
	int flags = both ? O_RDWR : O_WRONLY;

	if (mode[0] == 'r') {
		flags = both ? O_RDWR : O_RDONLY;
	} else if (mode[0] == 'w') {
		flags |= O_CREAT | O_TRUNC;
	} else if (mode[0] == 'a') {
		flags |= O_CREAT | O_APPEND;
	} else {
		return -EINVAL;
	}
	return flags | (strchr(mode, 'e') != NULL ? O_CLOEXEC : 0) |
	       (strchr(mode, 'x') != NULL ? O_EXCL : 0);
}

/* Takes the descriptor. NULL, and errno says why. */
static FILE *make_stream(int fd, const char *mode)
{
	struct stream *stream = (struct stream *)gy_sim_get(sizeof(*stream));

	stream->fd = fd;
	gy_list_append(&gy_sim_host_here()->streams, &stream->of_host);
	stream->file = fopencookie(stream, mode, stream_functions);
	if (stream->file == NULL) {
		forget(stream);
		(void)__wrap_close(fd);
		errno = ENOMEM;
		return NULL;
	}
	return stream->file;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	const mode_t ordinary = 0666;
	int flags;
	int fd;

	if (gy_sim_here == NULL) {
		return __real_fopen(path, mode);
	}
	flags = flags_of(mode);
	fd = flags < 0 ? gy_sim_result(flags) : __wrap_open(path, flags, ordinary);
	return fd < 0 ? NULL : make_stream(fd, mode);
}

GY_SIM_WRAPPED_SAME(fopen64, fopen);

FILE *__wrap_tmpfile(void)
{
	char path[] = "/tmp/tmpfXXXXXX";
	int fd;

	if (gy_sim_here == NULL) {
		return __real_tmpfile();
	}
	fd = __wrap_mkstemp(path);
	if (fd < 0) {
		return NULL;
	}
	(void)__wrap_unlink(path);
	return make_stream(fd, "w+");
}

GY_SIM_WRAPPED_SAME(tmpfile64, tmpfile);

int __wrap_fileno(FILE *file)
{
	const struct gy_sim_host *host = gy_sim_host_here();

	if (host == NULL) {
		return __real_fileno(file);
	}
	for (struct gy_list *item = host->streams.next; item != &host->streams; item = item->next) {
		const struct stream *stream = gy_container_of(item, struct stream, of_host);

		if (stream->file == file) {
			return stream->fd;
		}
	}
	return __real_fileno(file); /* the console: its numbers are the same */
}
