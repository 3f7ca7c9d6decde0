/*
 * Measures a UDP echo server from the outside: datagrams a second that came back, and with
 * --server-pid what processor time each costs the server.
 *
 * Each of the senders is a connected socket with a fixed number of datagrams under way. All that
 * came back to one is answered by as many by one call, or with --batch by one message that the
 * kernel cuts. What is lost is missed after a while, counted, and sent anew.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { DEPTH_MAX = 64, SIZE_MAX_BYTES = 1400, EVENTS_MAX = 256, GATHERED_BYTES = 65536 };

static const uint64_t lost_after_ns = 20000000;

struct sender {
	int fd;
	uint32_t under_way;
	uint64_t heard_ns;
};

struct load {
	int64_t port;
	int64_t senders_count;
	int64_t size_bytes;
	int64_t depth;
	int64_t cpu;
	int64_t server_pid;
	uint64_t duration_ns;
	uint64_t warmup_ns;
	bool batch;
	bool json;

	int epoll;
	struct sender *senders;
	uint64_t now_ns;
	uint64_t checked_ns;
	uint64_t datagrams; /* that came back */
	uint64_t lost;
	struct mmsghdr messages[DEPTH_MAX];
	struct iovec slots[DEPTH_MAX];
	char bytes[DEPTH_MAX * SIZE_MAX_BYTES];
	char gathered[GATHERED_BYTES];
};

static void send_some(struct load *load, struct sender *sender, uint32_t count)
{
	sender->under_way += count;
	sender->heard_ns = load->now_ns;
	if (load->batch) {
		(void)send(sender->fd, load->bytes, count * (size_t)load->size_bytes, MSG_DONTWAIT);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		load->slots[i].iov_len = (size_t)load->size_bytes;
	}
	(void)sendmmsg(sender->fd, load->messages, count, MSG_DONTWAIT);
}

/* How many datagrams have come back. */
static uint32_t receive_some(struct load *load, struct sender *sender)
{
	uint32_t came = 0;
	ssize_t bytes;
	int count;

	if (!load->batch) {
		count = recvmmsg(sender->fd, load->messages, DEPTH_MAX, MSG_DONTWAIT, NULL);
		return count > 0 ? (uint32_t)count : 0;
	}
	while ((bytes = recv(sender->fd, load->gathered, GATHERED_BYTES, MSG_DONTWAIT)) > 0) {
		came += (uint32_t)((bytes + load->size_bytes - 1) / load->size_bytes);
	}
	return came;
}

static void find_lost(struct load *load)
{
	if (load->now_ns - load->checked_ns < lost_after_ns) {
		return;
	}
	load->checked_ns = load->now_ns;
	for (int64_t i = 0; i < load->senders_count; i++) {
		struct sender *sender = &load->senders[i];

		if (load->now_ns - sender->heard_ns > lost_after_ns) {
			uint32_t lost = sender->under_way;

			load->lost += lost;
			sender->under_way = 0;
			send_some(load, sender, (uint32_t)load->depth);
		}
	}
}

static void turn(struct load *load)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(load->epoll, events, EVENTS_MAX, 0);

	load->now_ns = perf_now_ns();
	for (int i = 0; i < count; i++) {
		struct sender *sender = (struct sender *)events[i].data.ptr;
		uint32_t came = receive_some(load, sender);
		uint32_t known = came < sender->under_way ? came : sender->under_way;

		load->datagrams += known;
		sender->under_way -= known;
		if (known > 0) {
			send_some(load, sender, known);
		}
	}
	find_lost(load);
}

static void run_for(struct load *load, uint64_t duration_ns)
{
	uint64_t end_ns = perf_now_ns() + duration_ns;

	do {
		turn(load);
	} while (load->now_ns < end_ns);
}

/* ---- sockets ---- */

static int open_one(struct load *load, struct sender *sender)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)load->port),
					     .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = sender } };
	const int on = 1;
	int each = (int)load->size_bytes;

	sender->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sender->fd < 0 ||
	    (load->batch &&
	     (setsockopt(sender->fd, SOL_UDP, UDP_SEGMENT, &each, sizeof(each)) < 0 ||
	      setsockopt(sender->fd, SOL_UDP, UDP_GRO, &on, sizeof(on)) < 0)) ||
	    connect(sender->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    epoll_ctl(load->epoll, EPOLL_CTL_ADD, sender->fd, &event) < 0) {
		return -errno;
	}
	return 0;
}

static int open_all(struct load *load)
{
	int r = 0;

	load->epoll = epoll_create1(EPOLL_CLOEXEC);
	load->senders = calloc((size_t)load->senders_count, sizeof(*load->senders));
	if (load->epoll < 0 || load->senders == NULL) {
		return load->epoll < 0 ? -errno : -ENOMEM;
	}
	for (int i = 0; i < DEPTH_MAX; i++) {
		load->slots[i].iov_base = load->bytes + (size_t)i * SIZE_MAX_BYTES;
		load->messages[i].msg_hdr.msg_iov = &load->slots[i];
		load->messages[i].msg_hdr.msg_iovlen = 1;
	}
	load->now_ns = perf_now_ns();
	for (int64_t i = 0; i < load->senders_count && r == 0; i++) {
		r = open_one(load, &load->senders[i]);
		if (r == 0) {
			send_some(load, &load->senders[i], (uint32_t)load->depth);
		}
	}
	return r;
}

/* ---- the program ---- */

static void report(const struct load *load, uint64_t elapsed_ns, const struct perf_cpu_time *server)
{
	struct perf_report report;
	double datagrams = (double)load->datagrams;

	perf_report_init(&report, "load_udp");
	perf_report_number(&report, "datagrams_per_s", datagrams * 1e9 / (double)elapsed_ns);
	perf_report_number(&report, "lost", (double)load->lost);
	if (load->server_pid != 0) {
		perf_report_number(&report, "server_cpu_ns_per_datagram",
				   (double)server->total_ns / datagrams);
		perf_report_number(&report, "server_busy_share",
				   (double)server->total_ns / (double)elapsed_ns);
	}
	perf_report_number(&report, "senders", (double)load->senders_count);
	perf_report_number(&report, "size_bytes", (double)load->size_bytes);
	perf_report_number(&report, "depth", (double)load->depth);
	perf_report_print(&report, load->json);
}

static int measure(struct load *load)
{
	struct perf_cpu_time before = { 0 };
	struct perf_cpu_time after = { 0 };
	struct perf_cpu_time server;
	pid_t pid = (pid_t)load->server_pid;
	uint64_t start_ns;
	int r = 0;

	run_for(load, load->warmup_ns);
	if (pid != 0) {
		r = perf_cpu_time(pid, &before);
	}
	load->datagrams = 0;
	load->lost = 0;
	start_ns = perf_now_ns();
	run_for(load, load->duration_ns);
	if (r == 0 && pid != 0) {
		r = perf_cpu_time(pid, &after);
	}
	if (r == 0) {
		server = perf_cpu_time_since(&before, &after);
		report(load, load->now_ns - start_ns, &server);
	}
	return r;
}

static void parse(struct load *load, int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "port", PERF_OPTION_NUMBER, "UDP port on 127.0.0.1", &load->port, 1, 65535,
		  NULL },
		{ "senders", PERF_OPTION_NUMBER, "how many", &load->senders_count, 1, 10000, NULL },
		{ "size", PERF_OPTION_NUMBER, "bytes a datagram", &load->size_bytes, 1,
		  SIZE_MAX_BYTES, NULL },
		{ "depth", PERF_OPTION_NUMBER, "datagrams under way of each sender", &load->depth,
		  1, DEPTH_MAX, NULL },
		{ "duration", PERF_OPTION_SECONDS, "seconds to measure", &load->duration_ns, 0, 0,
		  NULL },
		{ "warmup", PERF_OPTION_SECONDS, "seconds before that", &load->warmup_ns, 0, 0,
		  NULL },
		{ "cpu", PERF_OPTION_NUMBER, "CPU to run on, -1 for any", &load->cpu, -1, 1023,
		  NULL },
		{ "server-pid", PERF_OPTION_NUMBER, "also measure this process's CPU time",
		  &load->server_pid, 0, INT32_MAX, NULL },
		{ "batch", PERF_OPTION_FLAG, "send and receive several as one (GSO, GRO)",
		  &load->batch, 0, 0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &load->json, 0, 0, NULL },
	};

	perf_options_parse(argc, argv, "A closed-loop load generator for UDP echo servers.", table,
			   sizeof(table) / sizeof(table[0]));
}

int main(int argc, char **argv)
{
	static struct load load = {
		.port = 7000,
		.senders_count = 50,
		.size_bytes = 64,
		.depth = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(5000000000),
		.warmup_ns = UINT64_C(1000000000),
	};
	int r;

	parse(&load, argc, argv);
	r = perf_pin((int)load.cpu);
	if (r == 0) {
		r = open_all(&load);
	}
	if (r == 0) {
		r = measure(&load);
	}
	return r < 0 ? perf_fail("cannot measure", r) : 0;
}
