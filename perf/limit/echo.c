/*
 * The frame round a limit echo server. Nothing here runs while requests are served.
 */
#include "limit/echo.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/cpu.h"
#include "common/endpoint.h"
#include "common/options.h"
#include "common/report.h"

void echo_options_parse(struct echo_options *options, int argc, char **argv, const char *purpose,
			const char *modes)
{
	const struct perf_option table[] = {
		{ "port", PERF_OPTION_NUMBER, "TCP port", &options->port, 1, 65535, NULL },
		{ "cpu", PERF_OPTION_NUMBER, "CPU to run on, -1 for any", &options->cpu, -1, 1023,
		  NULL },
		{ "host", PERF_OPTION_STRING, "IPv4 address to listen on, or unix:PATH",
		  &options->host, 0, 0, NULL },
		{ "mode", PERF_OPTION_CHOICE, "how to receive", &options->mode, 0, 0, modes },
	};
	size_t count = options->host == NULL ? 2 : modes == NULL ? 3 : 4;
	int r;

	perf_options_parse(argc, argv, purpose, table, count);
	r = perf_pin((int)options->cpu);
	if (r < 0) {
		exit(perf_fail("cannot run on that CPU", r));
	}
}

int echo_listen(const struct echo_options *options, int flags)
{
	struct perf_endpoint endpoint;
	int r = perf_endpoint_parse(options->host, (uint16_t)options->port, &endpoint);

	return r < 0 ? r : perf_endpoint_listen(&endpoint, flags);
}

int echo_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
		return -errno;
	}
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void echo_print(const char *program, const struct echo_options *options,
		const struct echo_counts *counts)
{
	struct perf_cpu_time time = { 0 };
	struct perf_report report;

	perf_cpu_time(0, &time);
	perf_report_init(&report, program);
	if (options->mode != NULL) {
		perf_report_string(&report, "mode", options->mode);
	}
	perf_report_number(&report, "requests", (double)counts->requests);
	perf_report_number(&report, "bytes", (double)counts->bytes);
	perf_report_number(&report, "connections", (double)counts->connections);
	perf_report_number(&report, "system_calls", (double)counts->system_calls);
	perf_report_number(&report, "io_uring_enters", (double)counts->enters);
	perf_report_number(&report, "user_ns", (double)time.user_ns);
	perf_report_number(&report, "system_ns", (double)time.system_ns);
	perf_report_print(&report, true);
}
