/*
 * What the epoll engine must do by itself, since no kernel does it: whose descriptor is whose, what
 * wakes it, and what is left to its worker threads. These tests have epoll whatever the environment
 * says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ring/ring_support.h"

TestSuite(ring_epoll, .timeout = 60);

enum { ENTRIES = 8, BUFFERS = 16, BUFFER_BYTES = 512, MANY = 100 };

static struct gy_ring *open_epoll(void)
{
	struct gy_ring *ring = ring_make_of(&(struct gy_ring_options){
		.engine = GY_RING_EPOLL,
		.entries = ENTRIES,
		.buffer_count = BUFFERS,
		.buffer_bytes = BUFFER_BYTES,
		.whole_buffers = true,
	});

	cr_assert_eq(gy_ring_enable(ring), 0);
	return ring;
}

static void put_back(struct gy_ring *ring, const struct record *record)
{
	const struct gy_completion *last = record_last(record);

	if (last->has_buffer) {
		gy_ring_buffer_return(ring, last->buffer);
	}
}

static void cancel(struct gy_ring *ring, struct record *record)
{
	cr_assert_eq(gy_ring_cancel(ring, &record->op), 0);
	turn_until_final(ring, record);
	cr_expect_eq(record_last(record)->result, -ECANCELED);
}

/* How many waits of up to 20 ms end early in a row, once all that has come was seen. */
static uint32_t early_ends(struct gy_ring *ring)
{
	uint32_t count = 0;

	for (int i = 0; i < 4; i++) {
		(void)gy_ring_submit_and_wait(ring, 0);
		(void)gy_ring_reap(ring);
	}
	for (int i = 0; i < 4; i++) {
		uint64_t before_ns = gy_clock_machine_ns();

		cr_assert_geq(gy_ring_submit_and_wait(ring, 20000000), 0);
		cr_assert_eq(gy_ring_reap(ring), 0);
		count += gy_clock_machine_ns() - before_ns < 20000000;
	}
	return count;
}

Test(ring_epoll, is_not_woken_again_by_what_nobody_waits_for)
{
	struct gy_ring *ring = open_epoll();
	struct record record;
	int fds[2];

	pair_open(fds);
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	turn_for(ring, 1000000);
	cancel(ring, &record);
	cr_assert_eq(write(fds[1], "a", 1), 1);
	cr_expect_eq(early_ends(ring), 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(write(fds[1], "b", 1), 1);
		cr_expect_eq(early_ends(ring), 0, "round %d", i);
	}
	record_init(&record);
	cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
	turn_until(ring, &record, 1);
	cr_expect_eq(record_last(&record)->result, 5, "and nothing is lost");
	put_back(ring, &record);
	cr_assert_eq(gy_ring_cancel(ring, &record.op), 0);
	turn_until_final(ring, &record);
	pair_close(fds);
	gy_ring_destroy(ring);
}

/* As closes by others do: the engine is not told. */
Test(ring_epoll, hears_of_a_descriptor_that_was_closed_elsewhere_and_opened_anew)
{
	struct gy_ring *ring = open_epoll();
	struct record record;

	for (int i = 0; i < 10; i++) {
		int fds[2], kept;

		pair_open(fds);
		kept = i % 2 == 0 ? dup(fds[0]) : -1; /* the old file lives on, or not */
		record_init(&record);
		cr_assert_eq(gy_ring_receive(ring, &record.op, fds[0]), 0);
		cr_assert_eq(write(fds[1], "x", 1), 1);
		turn_until(ring, &record, 1);
		cr_expect_eq(record_last(&record)->result, 1);
		put_back(ring, &record);
		cancel(ring, &record);
		cr_assert_eq(write(fds[1], "for nobody", 10), 10);
		pair_close(fds);
		if (kept >= 0) {
			cr_assert_eq(close(kept), 0);
		}
	}
	gy_ring_destroy(ring);
}

Test(ring_epoll, lets_an_end_be_heard_that_came_with_the_last_bytes)
{
	struct gy_ring *ring = open_epoll();
	struct record record;
	struct sockaddr_in address;
	int listener = listener_open(&address, 8);

	for (int i = 0; i < MANY; i++) {
		int client = client_open(&address);
		int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		record_init(&record);
		cr_assert_eq(gy_ring_receive(ring, &record.op, server), 0);
		if (i % 2 == 0) {
			turn_for(ring, 100000);
		}
		cr_assert_eq(write(client, "last", 4), 4);
		cr_assert_eq(shutdown(client, SHUT_WR), 0);
		turn_until_final(ring, &record);
		cr_expect_eq(record.rounds, 2);
		cr_expect_eq(record.completions[0].result, 4);
		cr_expect_eq(record.completions[1].result, 0);
		gy_ring_buffer_return(ring, record.completions[0].buffer);
		cr_assert_eq(close(client), 0);
		cr_assert_eq(close(server), 0);
	}
	cr_assert_eq(close(listener), 0);
	gy_ring_destroy(ring);
}

static void send_descriptor(int to, int fd)
{
	char byte = 'd';
	struct iovec slice = { &byte, 1 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &slice,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	cr_assert_eq(sendmsg(to, &message, 0), 1);
}

/* Such a receive ends before the bytes do. */
Test(ring_epoll, receives_what_stands_behind_a_descriptor_or_an_urgent_byte)
{
	struct gy_ring *ring = open_epoll();
	struct sockaddr_in address;
	int listener = listener_open(&address, 8);
	int fds[2][2];

	pair_open(fds[0]);
	fds[1][1] = client_open(&address);
	fds[1][0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	for (int kind = 0; kind < 2; kind++) {
		for (int early = 0; early < 2; early++) {
			struct record record;
			int bytes = 0;

			record_init(&record);
			if (early == 0) {
				cr_assert_eq(gy_ring_receive(ring, &record.op, fds[kind][0]), 0);
				turn_for(ring, 1000000);
			}
			cr_assert_eq(send(fds[kind][1], "abc", 3, 0), 3);
			if (kind == 0) {
				send_descriptor(fds[kind][1], listener);
			} else {
				cr_assert_eq(send(fds[kind][1], "!", 1, MSG_OOB), 1);
			}
			cr_assert_eq(send(fds[kind][1], "efg", 3, 0), 3);
			if (early == 1) {
				cr_assert_eq(gy_ring_receive(ring, &record.op, fds[kind][0]), 0);
			}
			for (uint32_t seen = 0; bytes < (kind == 0 ? 7 : 6); seen++) {
				turn_until(ring, &record, seen + 1);
				cr_assert_gt(record.completions[seen].result, 0);
				bytes += record.completions[seen].result;
				gy_ring_buffer_return(ring, record.completions[seen].buffer);
			}
			cancel(ring, &record);
		}
		pair_close(fds[kind]);
	}
	cr_assert_eq(close(listener), 0);
	gy_ring_destroy(ring);
}

/* No event tells of room in the queue of a Unix socket. */
Test(ring_epoll, connects_to_a_unix_socket_whose_queue_is_full_when_there_is_room_again)
{
	struct gy_ring *ring = open_epoll();
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(name);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct record records[4];
	int fds[gy_countof(records)];

	cr_assert_eq(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)), 0);
	cr_assert_eq(listen(listener, 0), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&name, &bytes), 0);
	for (size_t i = 0; i < gy_countof(records); i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		record_init(&records[i]);
		cr_assert_eq(gy_ring_connect(ring, &records[i].op, fds[i], (struct sockaddr *)&name,
					     bytes),
			     0);
	}
	turn_until_final(ring, &records[0]);
	turn_for(ring, 10000000);
	cr_expect_eq(records[3].finals, 0);
	cancel(ring, &records[3]);
	for (size_t i = 1; i < 3; i++) {
		while (records[i].finals == 0) {
			int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

			cr_assert(accepted >= 0 || errno == EAGAIN);
			(void)close(accepted);
			turn_for(ring, 1000000);
		}
		cr_expect_eq(record_last(&records[i])->result, 0);
	}
	cr_expect_eq(early_ends(ring), 0, "nothing is tried any more");
	for (size_t i = 0; i < gy_countof(records); i++) {
		cr_assert_eq(close(fds[i]), 0);
	}
	cr_assert_eq(close(listener), 0);
	gy_ring_destroy(ring);
}

/* One takes what the other was told of too: neither may wait in accept(). */
Test(ring_epoll, shares_a_blocking_listener_with_another_ring)
{
	struct gy_ring *rings[2] = { open_epoll(), open_epoll() };
	static struct record records[2];
	struct sockaddr_in address;
	int listener = listener_open(&address, MANY);
	int clients[MANY];

	for (int i = 0; i < 2; i++) {
		record_init(&records[i]);
		cr_assert_eq(gy_ring_accept(rings[i], &records[i].op, listener), 0);
		turn_for(rings[i], 100000);
	}
	for (int i = 0; i < MANY; i++) {
		clients[i] = client_open(&address);
		turn_for(rings[i % 2], i % 7 == 0 ? 100000 : 0);
	}
	while (records[0].rounds + records[1].rounds < MANY) {
		turn_for(rings[0], 100000);
		turn_for(rings[1], 100000);
	}
	for (int i = 0; i < 2; i++) {
		uint32_t rounds = records[i].rounds;

		for (uint32_t k = 0; k < rounds; k++) {
			cr_assert_geq(records[i].completions[k].result, 0);
			cr_assert_eq(close(records[i].completions[k].result), 0);
		}
		cancel(rings[i], &records[i]);
		gy_ring_destroy(rings[i]);
	}
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(close(clients[i]), 0);
	}
	cr_assert_eq(close(listener), 0);
}

Test(ring_epoll, loses_nothing_when_more_is_ready_than_its_queue_holds)
{
	struct gy_ring *ring = open_epoll();
	static struct record records[MANY];
	int fds[MANY][2];

	for (int i = 0; i < MANY; i++) {
		pair_open(fds[i]);
		record_init(&records[i]);
		cr_assert_eq(gy_ring_poll(ring, &records[i].op, fds[i][0], POLLIN), 0);
	}
	turn_for(ring, 100000);
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(write(fds[i][1], "x", 1), 1);
	}
	for (int i = 0; i < MANY; i++) {
		turn_until_final(ring, &records[i]);
		cr_expect_eq(record_last(&records[i])->result, POLLIN);
		pair_close(fds[i]);
	}
	gy_ring_destroy(ring);
}

/* ---- worker threads ---- */

Test(ring_epoll, cancels_an_open_that_waits_for_ever)
{
	enum { OPENS = 10 }; /* more than there are threads */
	struct gy_ring *ring = open_epoll();
	char folder[] = "/tmp/gyre-epoll-XXXXXX";
	char path[sizeof(folder) + 8];
	struct record records[OPENS], other;
	int writer;

	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/fifo", folder);
	cr_assert_eq(mkfifo(path, 0600), 0);
	for (int i = 0; i < OPENS; i++) {
		record_init(&records[i]);
		cr_assert_eq(gy_ring_open(ring, &records[i].op, path, O_RDONLY, 0), 0);
	}
	turn_for(ring, 10000000);
	for (int i = 0; i < OPENS; i++) {
		cr_expect_eq(records[i].finals, 0);
		cancel(ring, &records[i]);
	}
	/* Others are not held up by them. */
	record_init(&other);
	cr_assert_eq(gy_ring_open(ring, &other.op, "/dev/null", O_RDONLY, 0), 0);
	turn_until_final(ring, &other);
	cr_assert_geq(record_last(&other)->result, 0);
	cr_assert_eq(close(record_last(&other)->result), 0);
	gy_ring_destroy(ring);
	/* The threads go on, close what they have opened, and end. */
	writer = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(writer, 0);
	cr_assert_eq(fcntl(writer, F_SETFL, O_NONBLOCK), 0);
	cr_assert_neq(signal(SIGPIPE, SIG_IGN), SIG_ERR);
	while (write(writer, "x", 1) >= 0 || errno == EAGAIN) {
	}
	cr_expect_eq(errno, EPIPE);
	cr_assert_eq(close(writer), 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(rmdir(folder), 0);
}

/* Each end waits for the other, and for a thread. */
Test(ring_epoll, opens_both_ends_of_many_fifos)
{
	enum { FIFOS = 10 };
	struct gy_ring *ring = open_epoll();
	char folder[] = "/tmp/gyre-epoll-XXXXXX";
	char path[FIFOS][sizeof(folder) + 8];
	static struct record records[FIFOS][2];

	cr_assert_not_null(mkdtemp(folder));
	for (int end = 0; end < 2; end++) {
		for (int i = 0; i < FIFOS; i++) {
			(void)snprintf(path[i], sizeof(path[i]), "%s/%d", folder, i);
			cr_assert(end == 1 || mkfifo(path[i], 0600) == 0);
			record_init(&records[i][end]);
			cr_assert_eq(gy_ring_open(ring, &records[i][end].op, path[i],
						  end == 0 ? O_RDONLY : O_WRONLY, 0),
				     0);
			if (i % 3 == 0) {
				turn_for(ring, 100000);
			}
		}
	}
	for (int i = 0; i < FIFOS; i++) {
		for (int end = 0; end < 2; end++) {
			turn_until_final(ring, &records[i][end]);
			cr_assert_geq(record_last(&records[i][end])->result, 0);
			cr_assert_eq(close(record_last(&records[i][end])->result), 0);
		}
		cr_assert_eq(unlink(path[i]), 0);
	}
	cr_assert_eq(rmdir(folder), 0);
	gy_ring_destroy(ring);
}

Test(ring_epoll, does_more_on_files_at_once_than_it_has_threads)
{
	struct gy_ring *ring = open_epoll();
	static struct record records[MANY];
	static char bytes[MANY][16];
	char path[] = "/tmp/gyre-epoll-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	cr_assert_geq(fd, 0);
	(void)unlink(path);
	for (int i = 0; i < MANY; i++) {
		const struct iovec slice = { bytes[i], sizeof(bytes[i]) };

		memset(bytes[i], 'a' + i % 26, sizeof(bytes[i]));
		record_init(&records[i]);
		while (gy_ring_write(ring, &records[i].op, fd, &slice, 1,
				     (uint64_t)i * sizeof(bytes[i])) == -EAGAIN) {
			turn_for(ring, 100000);
		}
		turn_until_final(ring, &records[i]); /* which needs the slice until then */
		cr_expect_eq(record_last(&records[i])->result, (int)sizeof(bytes[i]));
	}
	for (int i = 0; i < MANY; i++) {
		record_init(&records[i]);
		while (gy_ring_sync(ring, &records[i].op, fd, true) == -EAGAIN) {
			turn_for(ring, 100000);
		}
	}
	for (int i = 0; i < MANY; i++) {
		turn_until_final(ring, &records[i]);
		cr_expect_eq(record_last(&records[i])->result, 0);
	}
	cr_assert_eq(close(fd), 0);
	gy_ring_destroy(ring);
}

Test(ring_epoll, reads_from_and_writes_to_a_terminal)
{
	struct gy_ring *ring = open_epoll();
	struct record reading, writing;
	char line[16] = "", answer[16] = "";
	int ends[2];

	cr_assert_eq(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
	record_init(&reading);
	record_init(&writing);
	cr_assert_eq(
		gy_ring_read(ring, &reading.op, ends[1], line, sizeof(line), GY_RING_AT_POSITION),
		0);
	turn_for(ring, 1000000);
	cr_expect_eq(reading.finals, 0);
	cr_assert_eq(write(ends[0], "typed\n", 6), 6);
	turn_until_final(ring, &reading);
	cr_expect_eq(record_last(&reading)->result, 6);
	cr_expect_str_eq(line, "typed\n");
	cr_assert_eq(gy_ring_write_bytes(ring, &writing.op, ends[1], "shown", 5), 0);
	turn_until_final(ring, &writing);
	cr_expect_eq(record_last(&writing)->result, 5);
	cr_assert_eq(read(ends[0], answer, 7), 7, "the echo of what was typed");
	cr_assert_eq(read(ends[0], answer, sizeof(answer)), 5);
	cr_expect_eq(memcmp(answer, "shown", 5), 0);
	pair_close(ends);
	gy_ring_destroy(ring);
}
