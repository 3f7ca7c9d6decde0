/*
 * The peer of a channel: a socket of the test's task, connected to a listener of the system over
 * the simulated network of the host. So a pipeline meets what it meets in life: bytes in pieces,
 * full buffers, half-closed and reset connections.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/macros.h"
#include "sim/kit/kit.h"

struct gyre_test_channel {
	struct gy_list of_test;
	struct gyre_test *test;
	int fd; /* -1: closed */
};

/* ---- life ---- */

static struct gyre_test_channel *refuse(struct gyre_test *test, const char *place, const char *what,
					int r)
{
	gy_test_fail(test, place, "the test cannot %s: %s", what, strerrordesc_np(-r));
	return NULL;
}

static int connect_to(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		return -errno;
	}
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	return fd;
}

struct gyre_test_channel *gyre_test_channel_connect_at(struct gyre_test *test, uint16_t port,
						       const char *place)
{
	struct gyre_test_channel *channel;
	int fd = connect_to(port);

	if (fd < 0) {
		return refuse(test, place, "connect", fd);
	}
	channel = (struct gyre_test_channel *)gy_sim_get(sizeof(*channel));
	channel->test = test;
	channel->fd = fd;
	gy_list_append(&test->channels, &channel->of_test);
	return channel;
}

struct gyre_test_channel *gyre_test_channel_open_at(struct gyre_test *test,
						    const struct gyre_acceptor_options *options,
						    const char *place)
{
	struct gyre_acceptor_options here;
	uint16_t port = 0;
	int r;

	if (options == NULL) {
		return refuse(test, place, "listen", -EINVAL);
	}
	here = *options;
	here.bind = "tcp://127.0.0.1:0";
	here.ret_port = &port;
	r = gyre_system_listen(test->system, &here, NULL);
	if (r < 0) {
		return refuse(test, place, "listen", r);
	}
	if (options->ret_port != NULL) {
		*options->ret_port = port;
	}
	return gyre_test_channel_connect_at(test, port, place);
}

void gyre_test_channel_close(struct gyre_test_channel *channel)
{
	if (channel->fd >= 0) {
		(void)close(channel->fd);
		channel->fd = -1;
	}
}

void gyre_test_channel_reset(struct gyre_test_channel *channel)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(channel->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	gyre_test_channel_close(channel);
}

int gyre_test_channel_half_close(struct gyre_test_channel *channel)
{
	return shutdown(channel->fd, SHUT_WR) < 0 ? -errno : 0;
}

void gy_test_free_channels(struct gyre_test *test)
{
	while (!gy_list_empty(&test->channels)) {
		struct gyre_test_channel *channel =
			gy_container_of(test->channels.next, struct gyre_test_channel, of_test);

		if (gy_sim_here != NULL) { /* else the host has closed it */
			gyre_test_channel_close(channel);
		}
		gy_list_remove(&channel->of_test);
		gy_sim_put(channel);
	}
}

/* ---- bytes ---- */

/* Waits until the socket is ready for @events; false when @until_ns has come. */
static bool wait_for(const struct gyre_test_channel *channel, uint32_t events, uint64_t until_ns)
{
	struct gy_sim_file *file = gy_sim_file_at(channel->fd);

	gy_assert(file != NULL);
	(void)gy_sim_file_wait(file, events, 0, until_ns);
	return channel->test->sim->now_ns < until_ns;
}

size_t gy_test_count_of(const void *bytes, size_t count)
{
	return count == GYRE_TEST_TEXT ? strlen((const char *)bytes) : count;
}

/* Sends @count bytes, or what there is room for until @until_ns. Returns 0 or a negative errno, and
 * in @ret_sent how many were sent, in any case. */
static int send_until(const struct gyre_test_channel *channel, const void *bytes, size_t count,
		      uint64_t until_ns, size_t *ret_sent)
{
	size_t done = 0;
	int r = 0;

	while (r == 0 && done < count) {
		ssize_t sent = send(channel->fd, (const char *)bytes + done, count - done,
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			done += (size_t)sent;
		} else if (errno != EAGAIN) {
			r = -errno;
		} else if (!wait_for(channel, EPOLLOUT, until_ns)) {
			r = -ETIMEDOUT;
		}
	}
	*ret_sent = done;
	return r;
}

int gyre_test_channel_write_at(struct gyre_test_channel *channel, const void *bytes, size_t count,
			       uint64_t within_ns, const char *place)
{
	size_t sent;
	int r;

	count = gy_test_count_of(bytes, count);
	r = send_until(channel, bytes, count, gy_test_until(channel->test, within_ns), &sent);
	if (r < 0) {
		gy_test_fail(channel->test, place, "%zu of %zu bytes cannot be written: %s",
			     count - sent, count, strerrordesc_np(-r));
	}
	return r;
}

int64_t gyre_test_channel_try_write(struct gyre_test_channel *channel, const void *bytes,
				    size_t count, uint64_t within_ns)
{
	size_t sent;
	int r = send_until(channel, bytes, gy_test_count_of(bytes, count),
			   gy_test_until(channel->test, within_ns), &sent);

	if (sent > 0) {
		return (int64_t)sent;
	}
	return r == -ETIMEDOUT ? -EAGAIN : r;
}

static int64_t receive(const struct gyre_test_channel *channel, void *memory, size_t bytes,
		       int flags, uint64_t until_ns)
{
	bool in_time = true;

	for (;;) {
		ssize_t count = recv(channel->fd, memory, bytes, MSG_DONTWAIT | flags);

		if (count >= 0 || errno != EAGAIN) {
			return count < 0 ? -errno : count;
		}
		if (!in_time) {
			return -EAGAIN;
		}
		in_time = wait_for(channel, EPOLLIN, until_ns);
	}
}

int64_t gyre_test_channel_read(struct gyre_test_channel *channel, void *memory, size_t bytes,
			       uint64_t within_ns)
{
	return receive(channel, memory, bytes, 0, gy_test_until(channel->test, within_ns));
}

/* ---- expectations ---- */

struct gy_test_shown gy_test_show(const void *memory, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = (const unsigned char *)memory;
	struct gy_test_shown shown;
	size_t at = 0;

	shown.text[at++] = '"';
	for (size_t i = 0; i < count && at < sizeof(shown.text) - 8; i++) {
		if (bytes[i] >= ' ' && bytes[i] < 0x7f) {
			shown.text[at++] = (char)bytes[i];
		} else {
			shown.text[at++] = '\\';
			shown.text[at++] = bytes[i] == '\n' ? 'n' : 'x';
			if (bytes[i] != '\n') {
				shown.text[at++] = digits[bytes[i] >> 4];
				shown.text[at++] = digits[bytes[i] & 15];
			}
		}
	}
	shown.text[at++] = '"';
	shown.text[at] = '\0';
	return shown;
}

static int tell_end(const struct gyre_test_channel *channel, const char *place, int64_t r)
{
	gy_test_fail(channel->test, place, "the channel has ended%s%s", r < 0 ? ": " : "",
		     r < 0 ? strerrordesc_np((int)-r) : "");
	return r == 0 ? -ENODATA : (int)r;
}

static int tell_bytes(const struct gyre_test_channel *channel, const char *place, const char *text,
		      int r)
{
	gy_test_fail(channel->test, place, "%s", text);
	return r;
}

/* Bytes that are not @expected from @done on, or none. */
static int tell_difference(const struct gyre_test_channel *channel, const char *place,
			   const struct gy_test_shown *expected, const struct gy_test_shown *got,
			   int r)
{
	gy_test_fail(channel->test, place, "expected %s, and got %s%s", expected->text, got->text,
		     r == -ETIMEDOUT ? " in time" : "");
	return r;
}

static size_t same_bytes(const unsigned char *a, const unsigned char *b, size_t count)
{
	size_t same = 0;

	while (same < count && a[same] == b[same]) {
		same++;
	}
	return same;
}

int gyre_test_channel_expect_at(struct gyre_test_channel *channel, const void *bytes, size_t count,
				uint64_t within_ns, const char *place)
{
	uint64_t until_ns = gy_test_until(channel->test, within_ns);
	const unsigned char *expected = (const unsigned char *)bytes;
	unsigned char part[4096];
	size_t done = 0;

	count = gy_test_count_of(bytes, count);
	while (done < count) {
		size_t room = count - done < sizeof(part) ? count - done : sizeof(part);
		int64_t got = receive(channel, part, room, 0, until_ns);

		if (got == 0 || (got < 0 && got != -EAGAIN)) {
			return tell_end(channel, place, got);
		}
		if (got < 0 || same_bytes(part, expected + done, (size_t)got) < (size_t)got) {
			const struct gy_test_shown wanted =
				gy_test_show(expected + done, count - done);
			const struct gy_test_shown seen =
				gy_test_show(part, got < 0 ? 0 : (size_t)got);

			return tell_difference(channel, place, &wanted, &seen,
					       got < 0 ? -ETIMEDOUT : -EBADMSG);
		}
		done += (size_t)got;
	}
	return 0;
}

int gyre_test_channel_expect_none_at(struct gyre_test_channel *channel, uint64_t for_ns,
				     const char *place)
{
	char byte;
	int64_t got = receive(channel, &byte, 1, MSG_PEEK, gy_test_until(channel->test, for_ns));

	if (got == -EAGAIN) {
		return 0;
	}
	return got > 0 ? tell_bytes(channel, place, "expected no bytes, and there are some",
				    -EBADMSG)
		       : tell_end(channel, place, got);
}

int gyre_test_channel_expect_end_at(struct gyre_test_channel *channel, uint64_t within_ns,
				    const char *place)
{
	char byte;
	int64_t got = receive(channel, &byte, 1, MSG_PEEK, gy_test_until(channel->test, within_ns));

	if (got == 0) {
		return 0;
	}
	if (got > 0) {
		return tell_bytes(channel, place, "expected the end, and there are bytes",
				  -EBADMSG);
	}
	return got == -EAGAIN ? tell_bytes(channel, place, "the channel has not ended", -ETIMEDOUT)
			      : tell_end(channel, place, got);
}
