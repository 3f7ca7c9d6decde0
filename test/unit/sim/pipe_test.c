/*
 * Pipes of hosts, and bytes that move from one descriptor to another without a copy in the program.
 */
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>

#include "disk_rig.h"

enum { PIPE_BYTES = 65536 };

static void expect_error(ssize_t r, int error)
{
	cr_assert_eq(r, -1);
	cr_assert_eq(errno, error, "%s in the place of %s", strerror(errno), strerror(error));
}

static void open_pipe(int fds[2], int flags)
{
	cr_assert_eq(pipe2(fds, flags), 0);
}

static short poll_now(int fd, short events)
{
	struct pollfd one = { .fd = fd, .events = events };

	cr_assert(poll(&one, 1, 0) >= 0);
	return one.revents;
}

/* ---- between threads ---- */

static void *write_late(void *arg)
{
	const int *fds = (const int *)arg;

	for (char i = 0; i < 10; i++) {
		char bytes[20000];

		disk_pause(GYRE_MILLISECONDS(i < 5 ? 10 : 0));
		memset(bytes, i, sizeof(bytes));
		cr_assert_eq(write(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
	}
	cr_assert_eq(close(fds[1]), 0);
	return NULL;
}

static int read_all(void *arg)
{
	char bytes[30000];
	pthread_t writer;
	size_t done = 0;
	ssize_t count;
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(pthread_create(&writer, NULL, write_late, fds), 0);
	while ((count = read(fds[0], bytes, sizeof(bytes))) > 0) {
		for (size_t i = 0; i < (size_t)count; i++) {
			cr_assert_eq(bytes[i], (char)((done + i) / 20000));
		}
		done += (size_t)count;
	}
	cr_assert_eq(count, 0);
	cr_assert_eq(done, 200000);
	(void)pthread_join(writer, NULL);
	return disk_done(arg);
}

Test(sim_pipe, has_its_reader_wait_until_the_last_writer_closes)
{
	disk_let(1, read_all);
}

static void *read_slowly(void *arg)
{
	static char bytes[1000];
	const int *fds = (const int *)arg;
	size_t done = 0;

	while (done < 2 * PIPE_BYTES) {
		ssize_t count = read(fds[0], bytes, sizeof(bytes));

		cr_assert(count > 0);
		done += (size_t)count;
		disk_pause(GYRE_MICROSECONDS(100));
	}
	return NULL;
}

static int write_much(void *arg)
{
	static char bytes[2 * PIPE_BYTES];
	pthread_t reader;
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(pthread_create(&reader, NULL, read_slowly, fds), 0);
	cr_assert_eq(write(fds[1], bytes, sizeof(bytes)), sizeof(bytes));
	(void)pthread_join(reader, NULL);
	return disk_done(arg);
}

Test(sim_pipe, has_its_writer_wait_until_all_is_written)
{
	disk_let(6, write_much);
}

/* ---- at once ---- */

static int fill_and_drain(void *arg)
{
	char bytes[PIPE_BYTES];
	int fds[2];

	open_pipe(fds, O_NONBLOCK);
	expect_error(read(fds[0], bytes, 1), EAGAIN);
	cr_assert_eq(write(fds[1], disk_fill('a', PIPE_BYTES), PIPE_BYTES), PIPE_BYTES);
	expect_error(write(fds[1], "b", 1), EAGAIN);
	cr_assert_eq(poll_now(fds[1], POLLOUT), 0);
	cr_assert_eq(poll_now(fds[0], POLLIN), POLLIN);
	cr_assert_eq(read(fds[0], bytes, 1000), 1000);
	expect_error(write(fds[1], disk_fill('b', PIPE_BUF), PIPE_BUF), EAGAIN);
	cr_assert_eq(write(fds[1], disk_fill('b', PIPE_BUF + 1), PIPE_BUF + 1), 1000);
	cr_assert_eq(read(fds[0], bytes, sizeof(bytes)), PIPE_BYTES);
	cr_assert_eq(disk_run(bytes, sizeof(bytes), 'a'), PIPE_BYTES - 1000);
	cr_assert_eq(poll_now(fds[1], POLLOUT), POLLOUT);
	return disk_done(arg);
}

Test(sim_pipe, takes_small_writes_whole_and_no_more_than_it_has_room_for)
{
	disk_let(2, fill_and_drain);
}

static int close_ends(void *arg)
{
	char byte;
	int fds[2];

	open_pipe(fds, O_CLOEXEC);
	cr_assert_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	cr_assert_eq(write(fds[1], "a", 1), 1);
	cr_assert_eq(close(fds[1]), 0);
	cr_assert_eq(poll_now(fds[0], POLLIN), POLLIN | POLLHUP);
	cr_assert_eq(read(fds[0], &byte, 1), 1);
	cr_assert_eq(read(fds[0], &byte, 1), 0);
	cr_assert_eq(poll_now(fds[0], POLLIN), POLLHUP);
	cr_assert_eq(close(fds[0]), 0);
	open_pipe(fds, 0);
	expect_error(read(fds[1], &byte, 1), EBADF);
	expect_error(write(fds[0], "a", 1), EBADF);
	expect_error(pread(fds[0], &byte, 1, 0), ESPIPE);
	expect_error(lseek(fds[0], 0, SEEK_SET), ESPIPE);
	cr_assert_eq(close(fds[0]), 0);
	expect_error(write(fds[1], "a", 1), EPIPE);
	cr_assert_eq(poll_now(fds[1], 0), POLLERR);
	return disk_done(arg);
}

Test(sim_pipe, tells_each_end_that_the_other_is_closed)
{
	disk_let(3, close_ends);
}

static int expect_events(int epoll, uint32_t events)
{
	struct epoll_event event;
	int count = epoll_wait(epoll, &event, 1, 0);

	cr_assert_eq(count, events != 0);
	cr_assert(count == 0 || event.events == events);
	return count;
}

static int wait_for_edges(void *arg)
{
	struct epoll_event reading = { .events = EPOLLIN | EPOLLET };
	struct epoll_event writing = { .events = EPOLLOUT | EPOLLET };
	char bytes[PIPE_BYTES];
	int readers = epoll_create1(0);
	int writers = epoll_create1(0);
	int fds[2];

	open_pipe(fds, O_NONBLOCK);
	cr_assert_eq(epoll_ctl(readers, EPOLL_CTL_ADD, fds[0], &reading), 0);
	cr_assert_eq(epoll_ctl(writers, EPOLL_CTL_ADD, fds[1], &writing), 0);
	(void)expect_events(readers, 0);
	(void)expect_events(writers, EPOLLOUT);
	(void)expect_events(writers, 0);
	cr_assert_eq(write(fds[1], bytes, PIPE_BYTES), PIPE_BYTES);
	(void)expect_events(readers, EPOLLIN);
	(void)expect_events(readers, 0);
	cr_assert_eq(read(fds[0], bytes, PIPE_BYTES), PIPE_BYTES);
	(void)expect_events(writers, EPOLLOUT);
	(void)expect_events(writers, 0);
	cr_assert_eq(close(fds[1]), 0);
	(void)expect_events(readers, EPOLLHUP);
	return disk_done(arg);
}

Test(sim_pipe, tells_of_each_change_once_by_edges)
{
	disk_let(4, wait_for_edges);
}

/* ---- from one descriptor to another ---- */

static int move_bytes(void *arg)
{
	char bytes[300];
	off_t offset = 100;
	int fds[2];
	int to = disk_open("/to", O_RDWR | O_CREAT);
	int from = disk_write("/from", 'a', 200);

	cr_assert_eq(write(from, disk_fill('b', 100), 100), 100);
	open_pipe(fds, 0);
	cr_assert_eq(sendfile(fds[1], from, &offset, 1000), 200);
	cr_assert_eq(offset, 300);
	cr_assert_eq(lseek(from, 0, SEEK_CUR), 300);
	offset = 0;
	cr_assert_eq(splice(from, &offset, fds[1], NULL, 50, 0), 50);
	cr_assert_eq(splice(fds[0], NULL, to, NULL, 250, 0), 250);
	expect_error(splice(fds[0], NULL, to, NULL, 1, SPLICE_F_NONBLOCK), EAGAIN);
	expect_error(splice(from, NULL, to, NULL, 1, 0), EINVAL);
	expect_error(sendfile(to, fds[0], NULL, 1), EINVAL);
	cr_assert_eq(pread(to, bytes, sizeof(bytes), 0), 250);
	cr_assert_eq(disk_run(bytes, 250, 'a'), 100);
	cr_assert_eq(disk_run(bytes + 100, 150, 'b'), 100);
	cr_assert_eq(disk_run(bytes + 200, 50, 'a'), 50);
	return disk_done(arg);
}

Test(sim_pipe, is_filled_from_files_and_emptied_into_them)
{
	disk_let(5, move_bytes);
}
