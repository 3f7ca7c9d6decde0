/*
 * Measures what a connection costs an echo server from the outside: a batch of connections is
 * opened, each sends one request and waits for its reply, and all are closed, with a reset so that
 * no port stays behind in TIME_WAIT. How long the server's process works is read over exactly the
 * same stretch of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cpu.h"
#include "common/endpoint.h"
#include "common/options.h"
#include "common/report.h"

enum { BATCH_MAX = 1024, REQUEST_BYTES = 16 };

struct connect_options {
	const char *host;
	int64_t port;
	int64_t batch;
	int64_t cpu;
	int64_t server_pid;
	uint64_t duration_ns;
	uint64_t warmup_ns;
	bool json;
};

static int open_all(const struct perf_endpoint *endpoint, int *fds, int64_t count)
{
	static const char request[REQUEST_BYTES] = "gyre";

	for (int64_t i = 0; i < count; i++) {
		fds[i] = perf_endpoint_connect(endpoint);
		if (fds[i] < 0) {
			return fds[i];
		}
		if (send(fds[i], request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) {
			return -EPIPE;
		}
	}
	return 0;
}

static int close_all(const int *fds, int64_t count)
{
	const struct linger at_once = { .l_onoff = 1 };

	for (int64_t i = 0; i < count; i++) {
		char reply[REQUEST_BYTES];
		ssize_t got = recv(fds[i], reply, sizeof(reply), MSG_WAITALL);

		if (got != sizeof(reply)) {
			return got < 0 ? -errno : -ECONNRESET;
		}
		(void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(fds[i]);
	}
	return 0;
}

static int run_for(const struct perf_endpoint *endpoint, const struct connect_options *options,
		   uint64_t duration_ns, uint64_t *ret_connections)
{
	uint64_t end_ns = perf_now_ns() + duration_ns;
	int fds[BATCH_MAX];
	uint64_t count = 0;
	int r = 0;

	while (r == 0 && perf_now_ns() < end_ns) {
		r = open_all(endpoint, fds, options->batch);
		if (r == 0) {
			r = close_all(fds, options->batch);
		}
		count += (uint64_t)options->batch;
	}
	*ret_connections = count;
	return r;
}

static void report(const struct connect_options *options, uint64_t connections, uint64_t elapsed_ns,
		   const struct perf_cpu_time *server)
{
	double count = (double)connections;
	struct perf_report report;

	perf_report_init(&report, "connect");
	perf_report_number(&report, "connections_per_s", count * 1e9 / (double)elapsed_ns);
	if (options->server_pid != 0) {
		double cpu_ns = (double)server->total_ns;

		perf_report_number(&report, "server_cpu_ns_per_connection", cpu_ns / count);
		perf_report_number(&report, "server_busy_share", cpu_ns / (double)elapsed_ns);
	}
	perf_report_number(&report, "batch", (double)options->batch);
	perf_report_number(&report, "connections", count);
	perf_report_print(&report, options->json);
}

static int measure(const struct perf_endpoint *endpoint, const struct connect_options *options)
{
	pid_t pid = (pid_t)options->server_pid;
	struct perf_cpu_time before = { 0 };
	struct perf_cpu_time after = { 0 };
	uint64_t connections;
	uint64_t start_ns;
	int r = run_for(endpoint, options, options->warmup_ns, &connections);

	if (r == 0 && pid != 0) {
		r = perf_cpu_time(pid, &before);
	}
	start_ns = perf_now_ns();
	if (r == 0) {
		r = run_for(endpoint, options, options->duration_ns, &connections);
	}
	if (r == 0) {
		uint64_t elapsed_ns = perf_now_ns() - start_ns;
		struct perf_cpu_time server;

		r = pid != 0 ? perf_cpu_time(pid, &after) : 0;
		server = perf_cpu_time_since(&before, &after);
		report(options, connections, elapsed_ns, &server);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct connect_options options = {
		.host = "127.0.0.1",
		.port = 7000,
		.batch = 64,
		.cpu = -1,
		.duration_ns = UINT64_C(5000000000),
		.warmup_ns = UINT64_C(1000000000),
	};
	const struct perf_option table[] = {
		{ "host", PERF_OPTION_STRING, "IPv4 address of the server, or unix:PATH",
		  &options.host, 0, 0, NULL },
		{ "port", PERF_OPTION_NUMBER, "its TCP port", &options.port, 1, 65535, NULL },
		{ "batch", PERF_OPTION_NUMBER, "connections open at once", &options.batch, 1,
		  BATCH_MAX, NULL },
		{ "duration", PERF_OPTION_SECONDS, "seconds to measure", &options.duration_ns, 0, 0,
		  NULL },
		{ "warmup", PERF_OPTION_SECONDS, "seconds before that", &options.warmup_ns, 0, 0,
		  NULL },
		{ "cpu", PERF_OPTION_NUMBER, "CPU to run on, -1 for any", &options.cpu, -1, 1023,
		  NULL },
		{ "server-pid", PERF_OPTION_NUMBER, "also measure this process's CPU time",
		  &options.server_pid, 0, INT32_MAX, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	struct perf_endpoint endpoint;
	int r;

	perf_options_parse(argc, argv, "Connects to an echo server and closes, again and again.",
			   table, sizeof(table) / sizeof(table[0]));
	r = perf_pin((int)options.cpu);
	if (r == 0) {
		r = perf_endpoint_parse(options.host, (uint16_t)options.port, &endpoint);
	}
	if (r == 0) {
		r = measure(&endpoint, &options);
	}
	return r == 0 ? EXIT_SUCCESS : perf_fail("connect", r);
}
