/*
 * Messages with sockets from any sender. The input says of each message how long it is, which of
 * its bytes are wrong, and what descriptors go with it: listeners, sockets of packets, of
 * datagrams, ends of a pipe, and how many there is room for. What is received is what was said;
 * what is refused leaves the output alone; and never is a descriptor left. The other side hears the
 * same bytes as if a successor had said them.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/fd_passing.h"

enum { KINDS = 7, BYTES_MAX = 1024, FDS_MAX = 253 };

static int ends[2];
static int things[KINDS];

/* A descriptor of each kind, the same for all inputs. */
static void make_things(void)
{
	const struct sockaddr unnamed = { .sa_family = AF_UNIX };
	const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM, SOCK_STREAM };
	int numbers[2];

	for (int i = 0; i < 4; i++) {
		things[i] = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);
		fuzz_require(bind(things[i], &unnamed, sizeof(unnamed.sa_family)) == 0, "bind");
	}
	fuzz_require(listen(things[0], 1) == 0 && listen(things[1], 1) == 0, "listen");
	fuzz_require(pipe(numbers) == 0, "pipe");
	things[4] = numbers[0];
	things[5] = numbers[1];
	things[6] = dup(things[0]);
	fuzz_require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "pair");
}

/* The lowest that is free: the same as before when none is left. */
static int lowest_free(void)
{
	int fd = dup(things[0]);

	fuzz_require(fd >= 0, "no descriptor");
	(void)close(fd);
	return fd;
}

struct message {
	unsigned char bytes[BYTES_MAX];
	size_t bytes_count;
	int fds[FDS_MAX];
	uint32_t fds_count;
};

/* A right one, as gy_fd_message_send() makes it. */
static void make_right(struct message *message, uint32_t kind, uint32_t count, const char *text)
{
	struct gy_fd_message passing = { .kind = kind, .serial = count, .count = count };
	ssize_t got;

	(void)strncpy(passing.text, text, GY_FD_MESSAGE_TEXT_MAX);
	for (uint32_t i = 0; i < count; i++) {
		passing.fds[i] = message->fds[i];
	}
	fuzz_require(gy_fd_message_send(ends[0], &passing) == 0, "a right message is not sent");
	got = recv(ends[1], message->bytes, sizeof(message->bytes), MSG_DONTWAIT);
	fuzz_require(got > 0, "nor received");
	message->bytes_count = (size_t)got;
}

/* What the input wants: now and then all is right. */
static void make_message(struct fuzz *fuzz, struct message *message)
{
	static const uint32_t counts[] = { 1, 0, 2, 3, FDS_MAX };
	uint8_t what = fuzz_byte(fuzz);
	uint32_t kind = fuzz_byte(fuzz) % 7;
	uint32_t last_sent = counts[what % 5];
	uint8_t wrong = fuzz_byte(fuzz) % 8;

	message->fds_count = (what & 0x40) == 0 ? last_sent : fuzz_byte(fuzz) % 5U;
	for (uint32_t i = 0; i < FDS_MAX; i++) {
		message->fds[i] = things[(what & 0x20) != 0 ? fuzz_below(fuzz, KINDS) : kind % 4];
	}
	make_right(message, kind, last_sent, "tcp://[::]:7000");
	for (; wrong > 0 && fuzz->count > 0; wrong--) {
		size_t place = (size_t)fuzz_byte(fuzz) << 8;

		place |= fuzz_byte(fuzz);
		message->bytes[place % message->bytes_count] = fuzz_byte(fuzz);
	}
	if ((what & 0x80) != 0) {
		message->bytes_count = 1 + fuzz_below(fuzz, BYTES_MAX);
	}
}

static void send_message(const struct message *message)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { (void *)(uintptr_t)message->bytes, message->bytes_count };
	struct msghdr header = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (message->fds_count > 0) {
		size_t count = message->fds_count * sizeof(int);

		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(count);
		memcpy(CMSG_DATA(&control.align), message->fds, count);
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count);
	}
	fuzz_require(sendmsg(ends[0], &header, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0, "not sent");
}

/* As many descriptors as @room can be made; what was before. */
static struct rlimit limit(rlim_t room)
{
	struct rlimit before;
	struct rlimit tight;

	fuzz_require(getrlimit(RLIMIT_NOFILE, &before) == 0, "no limit");
	tight = before;
	tight.rlim_cur = (rlim_t)lowest_free() + room;
	fuzz_require(setrlimit(RLIMIT_NOFILE, &tight) == 0, "no other limit");
	return before;
}

static int type_of(int fd)
{
	int type = -1;
	socklen_t bytes = sizeof(type);

	(void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes);
	return type;
}

static void check_received(const struct message *message, const struct gy_fd_message *passing)
{
	static const int types[] = { -1, SOCK_SEQPACKET, SOCK_STREAM, -1, SOCK_DGRAM, -1, -1 };

	fuzz_require(passing->kind >= GY_FD_MESSAGE_SELF && passing->kind <= GY_FD_MESSAGE_ENDS,
		     "a kind that there is not");
	fuzz_require(passing->count == message->fds_count, "more or fewer than were sent");
	fuzz_require((types[passing->kind] == -1) == (passing->count == 0), "a wrong count");
	fuzz_require(memchr(passing->text, '\0', sizeof(passing->text)) != NULL, "no end");
	for (uint32_t i = 0; i < passing->count; i++) {
		fuzz_require(type_of(passing->fds[i]) == types[passing->kind], "another type");
		fuzz_require(close(passing->fds[i]) == 0, "not open");
	}
}

static void receive(const struct message *message, bool tight, rlim_t room)
{
	static struct gy_fd_message passing;
	struct rlimit before;
	int lowest = lowest_free();
	int r;

	passing.count = UINT32_MAX;
	if (tight) {
		before = limit(room);
	}
	r = gy_fd_message_receive(ends[1], &passing);
	if (tight) {
		fuzz_require(setrlimit(RLIMIT_NOFILE, &before) == 0, "the limit stays");
	}
	if (r == 0) {
		check_received(message, &passing);
	} else {
		fuzz_require(r == -EPROTO || (tight && r == -EMFILE), "another error");
		fuzz_require(passing.count == UINT32_MAX, "the output is touched");
	}
	fuzz_require(lowest_free() == lowest, "a descriptor is left");
}

static void hear(const struct message *message)
{
	int lowest = lowest_free();
	int r = gy_fd_message_read_successor(ends[1]);
	unsigned char first = message->bytes[0];
	bool is_said = message->bytes_count == 1 &&
		       (first == GY_SUCCESSOR_ASKS || first == GY_SUCCESSOR_RUNS);

	fuzz_require(r == (is_said ? (int)first : -EPROTO), "another thing is heard");
	fuzz_require(lowest_free() == lowest, "a descriptor is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	static struct message message;

	if (things[0] == 0) {
		make_things();
	}
	for (int i = 0; i < 8 && fuzz.count > 0; i++) {
		uint8_t how = fuzz_byte(&fuzz);

		make_message(&fuzz, &message);
		send_message(&message);
		if (how % 4 == 0) {
			hear(&message);
		} else {
			receive(&message, how % 8 == 1, how / 8);
		}
	}
	return 0;
}
