/*
 * A UDP echo server on recvmmsg() and sendmmsg(): one thread, one socket, as many datagrams in one
 * call as there are, sent back from where they were received.
 *
 * With --gro the kernel may deliver several datagrams of one sender as one message, and with --gso
 * they go back as one, which it cuts as they came; without --gso they are then sent one by one.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cpu.h"
#include "common/options.h"
#include "limit/echo.h"

enum {
	BATCH_MAX = 1024,
	SLOT_BYTES = 65536,
	SENDS_MAX = 4096, /* of one call, when messages are taken apart */
};

struct server {
	int fd;
	unsigned batch;
	bool gso;
	struct echo_counts counts;
	struct mmsghdr received[BATCH_MAX];
	struct iovec slots[BATCH_MAX];
	struct sockaddr_in senders[BATCH_MAX];
	_Alignas(struct cmsghdr) char control[BATCH_MAX][CMSG_SPACE(sizeof(int))];
	struct mmsghdr sent[SENDS_MAX];
	struct iovec pieces[SENDS_MAX];
	unsigned sends;
};

static int open_socket(uint16_t port, bool gro)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	const int on = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || (gro && setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)) < 0) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return -errno;
	}
	return fd;
}

/* Everything that a call to receive may have changed. */
static void prepare(struct server *server, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		server->received[i].msg_hdr = (struct msghdr){
			.msg_name = &server->senders[i],
			.msg_namelen = sizeof(server->senders[i]),
			.msg_iov = &server->slots[i],
			.msg_iovlen = 1,
			.msg_control = server->control[i],
			.msg_controllen = sizeof(server->control[i]),
		};
		server->slots[i].iov_len = SLOT_BYTES;
	}
}

/* What was received as one, in datagrams of this length; 0 for one alone. */
static unsigned segment_bytes(struct msghdr *message)
{
	const struct cmsghdr *control = CMSG_FIRSTHDR(message);
	int bytes = 0;

	if (control != NULL && control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
		memcpy(&bytes, CMSG_DATA(control), sizeof(bytes));
	}
	return (unsigned)bytes;
}

static void flush(struct server *server)
{
	unsigned done = 0;

	while (done < server->sends) {
		int r = sendmmsg(server->fd, server->sent + done, server->sends - done, 0);

		server->counts.system_calls++;
		done += r > 0 ? (unsigned)r : 1; /* what is refused is lost */
	}
	server->sends = 0;
}

static void add_send(struct server *server, const struct msghdr *from, char *bytes, size_t count)
{
	if (server->sends == SENDS_MAX) {
		flush(server);
	}
	server->pieces[server->sends] = (struct iovec){ bytes, count };
	server->sent[server->sends].msg_hdr = (struct msghdr){
		.msg_name = from->msg_name,
		.msg_namelen = from->msg_namelen,
		.msg_iov = &server->pieces[server->sends],
		.msg_iovlen = 1,
	};
	server->sends++;
}

/* Has the kernel cut the next send as the message was. */
static void cut_last(struct server *server, struct msghdr *from, unsigned each)
{
	struct msghdr *message = &server->sent[server->sends - 1].msg_hdr;
	struct cmsghdr *control;
	uint16_t bytes = (uint16_t)each;

	message->msg_control = from->msg_control;
	message->msg_controllen = CMSG_SPACE(sizeof(bytes));
	control = CMSG_FIRSTHDR(message);
	control->cmsg_level = SOL_UDP;
	control->cmsg_type = UDP_SEGMENT;
	control->cmsg_len = CMSG_LEN(sizeof(bytes));
	memcpy(CMSG_DATA(control), &bytes, sizeof(bytes));
}

static void answer(struct server *server, struct mmsghdr *received)
{
	struct msghdr *message = &received->msg_hdr;
	char *bytes = (char *)message->msg_iov->iov_base;
	unsigned each = segment_bytes(message);
	unsigned count = received->msg_len;
	unsigned done = 0;

	server->counts.bytes += count;
	if (each == 0 || each >= count) {
		server->counts.requests++;
		add_send(server, message, bytes, count);
		return;
	}
	server->counts.requests += (count + each - 1) / each;
	if (server->gso) {
		add_send(server, message, bytes, count);
		cut_last(server, message, each);
		return;
	}
	for (; done < count; done += each) {
		add_send(server, message, bytes + done, count - done < each ? count - done : each);
	}
}

static void serve(struct server *server)
{
	int count;

	do {
		count = recvmmsg(server->fd, server->received, server->batch, MSG_DONTWAIT, NULL);
		server->counts.system_calls++;
		for (int i = 0; i < count; i++) {
			answer(server, &server->received[i]);
		}
		flush(server);
		prepare(server, count > 0 ? (unsigned)count : 0);
	} while (count == (int)server->batch);
}

static void run(struct server *server, int signals)
{
	struct pollfd waits[] = { { .fd = server->fd, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };

	prepare(server, server->batch);
	while (waits[1].revents == 0) {
		server->counts.system_calls++;
		if (poll(waits, 2, -1) > 0 && waits[0].revents != 0) {
			serve(server);
		}
	}
}

int main(int argc, char **argv)
{
	static struct server server;
	struct echo_options options = { .port = 7000, .cpu = -1 };
	int64_t batch = 64;
	bool gro = false;
	const struct perf_option table[] = {
		{ "port", PERF_OPTION_NUMBER, "UDP port on 127.0.0.1", &options.port, 1, 65535,
		  NULL },
		{ "cpu", PERF_OPTION_NUMBER, "CPU to run on, -1 for any", &options.cpu, -1, 1023,
		  NULL },
		{ "batch", PERF_OPTION_NUMBER, "messages of one call", &batch, 1, BATCH_MAX, NULL },
		{ "gro", PERF_OPTION_FLAG, "let the kernel gather what it receives", &gro, 0, 0,
		  NULL },
		{ "gso", PERF_OPTION_FLAG, "let it cut what is sent", &server.gso, 0, 0, NULL },
	};
	int signals;
	int r;

	perf_options_parse(argc, argv, "A UDP echo server on recvmmsg and sendmmsg.", table,
			   sizeof(table) / sizeof(table[0]));
	r = perf_pin((int)options.cpu);
	if (r < 0) {
		return perf_fail("cannot run on that CPU", r);
	}
	server.batch = (unsigned)batch;
	signals = echo_signals();
	server.fd = open_socket((uint16_t)options.port, gro);
	if (signals < 0 || server.fd < 0) {
		return perf_fail("cannot serve", signals < 0 ? signals : server.fd);
	}
	for (unsigned i = 0; i < server.batch; i++) {
		server.slots[i].iov_base = malloc(SLOT_BYTES + 64); /* not all in the same sets */
		if (server.slots[i].iov_base == NULL) {
			return perf_fail("buffers", -ENOMEM);
		}
	}
	run(&server, signals);
	echo_print("limit/echo_udp", &options, &server.counts);
	return 0;
}
