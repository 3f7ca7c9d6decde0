/*
 * The calls that all descriptors have: reading and writing, closing, duplicating, flags, and
 * poll().
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

/* ---- reading and writing ---- */

static bool may(const struct gy_sim_file *file, int mode)
{
	int is = file->flags & O_ACCMODE;

	return is == O_RDWR || is == mode;
}

static int check(const struct gy_sim_file *file, int mode, int count)
{
	if (file == NULL || !may(file, mode)) {
		return -EBADF;
	}
	if ((mode == O_RDONLY ? file->ops->read : file->ops->write) == NULL || count < 0 ||
	    count > IOV_MAX) {
		return -EINVAL;
	}
	return 0;
}

/*
 * Reads or writes once, as @mode says: waits until something can be. Another task may close the
 * descriptor meanwhile, so it is looked up each time.
 */
static int64_t transfer(int fd, const struct iovec *slices, int count, int mode)
{
	uint32_t events = mode == O_RDONLY ? EPOLLIN : EPOLLOUT;
	struct gy_sim_file *file;
	int64_t r;

	gy_sim_yield(false);
	do {
		file = gy_sim_file_at(fd);
		r = check(file, mode, count);
		if (r == 0) {
			r = (mode == O_RDONLY ? file->ops->read : file->ops->write)(
				file, slices, (uint32_t)count, GY_SIM_AT_POSITION);
		}
	} while (r == -EAGAIN && gy_sim_file_wait(file, events, 0, UINT64_MAX) == 0);
	return r;
}

static int64_t do_read(int fd, const struct iovec *slices, int count)
{
	return transfer(fd, slices, count, O_RDONLY);
}

/* Whether a write waits until all is written. */
static bool takes_all(const struct gy_sim_file *file)
{
	return file != NULL && (file->flags & O_NONBLOCK) == 0 &&
	       (file->ops->type == S_IFIFO || file->ops->type == S_IFSOCK);
}

static int64_t do_write(int fd, const struct iovec *slices, int count)
{
	int64_t done = transfer(fd, slices, count, O_WRONLY);
	size_t all = done < 0 ? 0 : gy_sim_slices_bytes(slices, (uint32_t)count);
	unsigned char *bytes;
	int64_t r = 1;

	if (done <= 0 || (size_t)done == all || !takes_all(gy_sim_file_at(fd))) {
		return done;
	}
	bytes = (unsigned char *)gy_sim_get(all);
	gy_sim_here->scratch = bytes;
	(void)gy_sim_gather(slices, (uint32_t)count, 0, bytes, all);
	while ((size_t)done < all && r > 0) {
		const struct iovec rest = { .iov_base = bytes + done,
					    .iov_len = all - (size_t)done };

		r = transfer(fd, &rest, 1, O_WRONLY);
		done += r > 0 ? r : 0;
	}
	gy_sim_socket_put_error(fd, r);
	gy_sim_here->scratch = NULL;
	gy_sim_put(bytes);
	return done;
}

ssize_t __wrap_read(int fd, void *memory, size_t bytes)
{
	const struct iovec slice = { .iov_base = memory, .iov_len = bytes };

	if (gy_sim_here == NULL) {
		return __real_read(fd, memory, bytes);
	}
	return gy_sim_count(do_read(fd, &slice, 1));
}

ssize_t __wrap_readv(int fd, const struct iovec *slices, int count)
{
	if (gy_sim_here == NULL) {
		return __real_readv(fd, slices, count);
	}
	return gy_sim_count(do_read(fd, slices, count));
}

ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
	const struct iovec slice = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = count };

	if (gy_sim_here == NULL) {
		return __real_write(fd, bytes, count);
	}
	return gy_sim_count(do_write(fd, &slice, 1));
}

ssize_t __wrap_writev(int fd, const struct iovec *slices, int count)
{
	if (gy_sim_here == NULL) {
		return __real_writev(fd, slices, count);
	}
	return gy_sim_count(do_write(fd, slices, count));
}

/* ---- numbers ---- */

int __wrap_close(int fd)
{
	if (gy_sim_here == NULL) {
		return __real_close(fd);
	}
	return gy_sim_result(gy_sim_descriptor_close(fd));
}

static int duplicate_to(int fd, int to, bool close_on_exec)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);
	int r = file == NULL ? -EBADF : gy_sim_file_install_at(file, to);

	if (r >= 0) {
		gy_sim_slot_at(r)->close_on_exec = close_on_exec;
	}
	return r;
}

static int duplicate_from(int fd, int least, bool close_on_exec)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);
	int r;

	if (file == NULL) {
		return -EBADF;
	}
	if (least < 0) {
		return -EINVAL;
	}
	r = gy_sim_file_install(file, least);
	if (r >= 0) {
		gy_sim_slot_at(r)->close_on_exec = close_on_exec;
	}
	return r;
}

int __wrap_dup(int fd)
{
	if (gy_sim_here == NULL) {
		return __real_dup(fd);
	}
	return gy_sim_result(duplicate_from(fd, 0, false));
}

int __wrap_dup2(int fd, int to)
{
	if (gy_sim_here == NULL) {
		return __real_dup2(fd, to);
	}
	if (fd == to && gy_sim_file_at(fd) != NULL) {
		return to;
	}
	return gy_sim_result(duplicate_to(fd, to, false));
}

int __wrap_dup3(int fd, int to, int flags)
{
	if (gy_sim_here == NULL) {
		return __real_dup3(fd, to, flags);
	}
	return gy_sim_result(fd == to ? -EINVAL : duplicate_to(fd, to, (flags & O_CLOEXEC) != 0));
}

static int set_flags(struct gy_sim_file *file, int flags)
{
	const int changeable = O_NONBLOCK | O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME;

	file->flags = (file->flags & ~changeable) | (flags & changeable);
	return 0;
}

static int control(int fd, int command, long value)
{
	struct gy_sim_slot *slot = gy_sim_slot_at(fd);

	if (slot == NULL) {
		return -EBADF;
	}
	switch (command) {
	case F_GETFD:
		return slot->close_on_exec ? FD_CLOEXEC : 0;
	case F_SETFD:
		slot->close_on_exec = (value & FD_CLOEXEC) != 0;
		return 0;
	case F_GETFL:
		return slot->file->flags;
	case F_SETFL:
		return set_flags(slot->file, (int)value);
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return duplicate_from(fd, (int)value, command == F_DUPFD_CLOEXEC);
	default:
		return -EINVAL;
	}
}

int __wrap_fcntl(int fd, int command, ...)
{
	va_list arguments;
	long value;

	va_start(arguments, command);
	value = va_arg(arguments, long);
	va_end(arguments);
	if (gy_sim_here == NULL) {
		return __real_fcntl(fd, command, value);
	}
	return gy_sim_result(control(fd, command, value));
}

int __wrap_fcntl64(int fd, int command, ...)
{
	va_list arguments;
	long value;

	va_start(arguments, command);
	value = va_arg(arguments, long);
	va_end(arguments);
	if (gy_sim_here == NULL) {
		return __real_fcntl64(fd, command, value);
	}
	return gy_sim_result(control(fd, command, value));
}

static int status(int fd, struct stat *ret_status)
{
	struct gy_sim_file *file = gy_sim_file_at(fd);

	if (file == NULL) {
		return -EBADF;
	}
	*ret_status = (struct stat){ .st_mode = file->ops->type | 0600, .st_nlink = 1 };
	if (file->ops->status != NULL) {
		file->ops->status(file, ret_status);
	}
	return 0;
}

int __wrap_fstat(int fd, struct stat *ret_status)
{
	if (gy_sim_here == NULL) {
		return __real_fstat(fd, ret_status);
	}
	return gy_sim_result(status(fd, ret_status));
}

/* The same structure, where offsets have 64 bits. */
int __wrap_fstat64(int fd, struct stat *ret_status)
{
	if (gy_sim_here == NULL) {
		return __real_fstat64(fd, ret_status);
	}
	return gy_sim_result(status(fd, ret_status));
}

/* ---- poll() ---- */

struct poller {
	struct gy_sim_watch watch;
	struct gy_sim_queue *queue;
};

static void poller_changed(struct gy_sim_watch *watch, uint32_t events)
{
	(void)events; /* the task looks itself */
	gy_sim_wake_all(gy_container_of(watch, struct poller, watch)->queue);
}

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
		       EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP && EPOLLPRI == POLLPRI,
	       "the events of poll() and of epoll have the same bits");

static short events_of(const struct pollfd *one)
{
	const struct gy_sim_file *file = one->fd < 0 ? NULL : gy_sim_file_at(one->fd);
	uint32_t wanted = (uint32_t)(unsigned short)one->events | EPOLLERR | EPOLLHUP;

	if (one->fd < 0) {
		return 0;
	}
	if (file == NULL) {
		return POLLNVAL;
	}
	return (short)((file->ops->events == NULL ? EPOLLIN | EPOLLOUT : file->ops->events(file)) &
		       wanted);
}

static int look(struct pollfd *polled, nfds_t count)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		polled[i].revents = events_of(&polled[i]);
		ready += polled[i].revents != 0;
	}
	return ready;
}

static void watch_all(struct poller *pollers, const struct pollfd *polled, nfds_t count,
		      struct gy_sim_queue *queue)
{
	for (nfds_t i = 0; i < count; i++) {
		struct gy_sim_file *file = polled[i].fd < 0 ? NULL : gy_sim_file_at(polled[i].fd);

		pollers[i] = (struct poller){ .watch.changed = poller_changed, .queue = queue };
		gy_list_init(&pollers[i].watch.of_file);
		if (file != NULL) {
			gy_list_append(&file->watches, &pollers[i].watch.of_file);
		}
	}
}

static int do_poll(struct pollfd *polled, nfds_t count, uint64_t until_ns)
{
	enum { POLLED_MAX = 1024 };
	struct gy_sim_queue queue;
	struct poller *pollers;
	int ready = look(polled, count);
	bool woken = true;

	if (ready > 0 || count > POLLED_MAX) {
		gy_sim_yield(false);
		return count > POLLED_MAX ? -EINVAL : ready;
	}
	gy_sim_queue_init(&queue);
	pollers = (struct poller *)gy_sim_get((count + 1) * sizeof(*pollers));
	gy_sim_here->scratch = pollers;
	watch_all(pollers, polled, count, &queue);
	while (ready == 0 && woken) {
		woken = gy_sim_wait(&queue, until_ns, "events of poll()");
		ready = look(polled, count);
	}
	for (nfds_t i = 0; i < count; i++) {
		gy_list_remove(&pollers[i].watch.of_file);
	}
	gy_sim_here->scratch = NULL;
	gy_sim_put(pollers);
	return ready;
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	if (gy_sim_here == NULL) {
		return __real_poll(polled, count, timeout_ms);
	}
	return gy_sim_result(do_poll(
		polled, count,
		timeout_ms < 0
			? UINT64_MAX
			: gy_sim_host_after(gy_sim_host_here(), (uint64_t)timeout_ms * 1000000)));
}

int __wrap_ppoll(struct pollfd *polled, nfds_t count, const struct timespec *timeout,
		 const sigset_t *signals)
{
	uint64_t until_ns = UINT64_MAX;

	if (gy_sim_here == NULL) {
		return __real_ppoll(polled, count, timeout, signals);
	}
	if (timeout != NULL) {
		until_ns = gy_sim_host_after(gy_sim_host_here(),
					     (uint64_t)timeout->tv_sec * 1000000000 +
						     (uint64_t)timeout->tv_nsec);
	}
	return gy_sim_result(do_poll(polled, count, until_ns));
}
