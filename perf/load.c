/*
 * Measures an echo server of streams from the outside: requests a second and their times, and with
 * --server-pid what processor time a request costs the server, all over exactly the same stretch of
 * time. apps/gyre-load is for people who have a server; it costs a tenth more a request than this
 * one, and half more where requests are long, since it cannot leave replies in the kernel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "common/sampler.h"
#include "load_client.h"

enum {
	SAMPLE_HZ = 5000,
	DRAIN_NS = 2000000000,
};

struct load_options {
	const char *host;
	int64_t port;
	int64_t connections;
	int64_t size_bytes;
	int64_t depth;
	int64_t rate;
	int64_t cpu;
	int64_t server_pid;
	uint64_t duration_ns;
	uint64_t warmup_ns;
	bool verify;
	bool block;
	bool json;
};

/* What the measured stretch of time gave. */
struct measurement {
	uint64_t elapsed_ns;
	uint64_t requests_before; /* of the warm-up */
	struct load_counts counts;
	struct perf_cpu_time server;
	double server_user_share;
	bool server_sampled;
};

static void run_for(struct load_client *client, uint64_t duration_ns)
{
	uint64_t end_ns = perf_now_ns() + duration_ns;

	do {
		load_client_turn(client);
	} while (client->now_ns < end_ns && client->open > 0);
}

static void measure_server(struct measurement *measurement, const struct perf_cpu_time *before,
			   struct perf_sampler *sampler, pid_t pid)
{
	struct perf_cpu_time after = *before;
	struct perf_cpu_time *server = &measurement->server;
	double user_share;

	perf_cpu_time(pid, &after);
	*server = perf_cpu_time_since(before, &after);
	measurement->server_sampled = perf_sampler_stop(sampler, &user_share) > 0;
	if (!measurement->server_sampled) {
		uint64_t seen_ns = server->user_ns + server->system_ns;

		user_share = seen_ns == 0 ? 0 : (double)server->user_ns / (double)seen_ns;
	}
	measurement->server_user_share = user_share;
}

static int measure(struct load_client *client, const struct load_options *options,
		   struct measurement *ret_measurement)
{
	pid_t pid = (pid_t)options->server_pid;
	struct perf_cpu_time before = { 0 };
	struct perf_sampler sampler = { 0 };
	uint64_t start_ns;

	load_client_start(client);
	run_for(client, options->warmup_ns);
	ret_measurement->requests_before = client->counts.requests;
	ret_measurement->counts.errors = client->counts.errors;
	if (pid != 0) {
		int r = perf_cpu_time(pid, &before);

		if (r < 0) {
			return r;
		}
		/* Without samples the kernel's own division has to do. */
		perf_sampler_start(&sampler, pid, SAMPLE_HZ);
	}
	load_client_reset(client);
	start_ns = perf_now_ns();
	run_for(client, options->duration_ns);
	ret_measurement->elapsed_ns = client->now_ns - start_ns;
	if (pid != 0) {
		measure_server(ret_measurement, &before, &sampler, pid);
	}
	client->counts.errors += ret_measurement->counts.errors;
	ret_measurement->counts = client->counts;
	return 0;
}

static void report_server(struct perf_report *report, const struct measurement *measurement,
			  int64_t size_bytes)
{
	double requests = (double)measurement->counts.requests;
	double cpu_ns = (double)measurement->server.total_ns;
	double user_ns = cpu_ns * measurement->server_user_share;
	double bytes = requests * (double)size_bytes;

	perf_report_number(report, "server_cpu_ns_per_request", cpu_ns / requests);
	perf_report_number(report, "server_user_ns_per_request", user_ns / requests);
	perf_report_number(report, "server_system_ns_per_request", (cpu_ns - user_ns) / requests);
	perf_report_number(report, "server_cpu_ns_per_byte", cpu_ns / bytes);
	perf_report_number(report, "server_busy_share", cpu_ns / (double)measurement->elapsed_ns);
	perf_report_string(report, "server_user_by",
			   measurement->server_sampled ? "samples" : "ticks");
}

static void report(const struct load_options *options, const struct load_client *client,
		   const struct measurement *measurement)
{
	const struct load_counts *counts = &measurement->counts;
	double elapsed_s = (double)measurement->elapsed_ns / 1e9;
	struct perf_report report;

	perf_report_init(&report, "load");
	perf_report_number(&report, "requests_per_s", (double)counts->requests / elapsed_s);
	perf_report_number(&report, "bytes_per_s",
			   (double)counts->requests * (double)options->size_bytes / elapsed_s);
	perf_report_number(&report, "p50_ns", (double)histogram_percentile(&client->latency, 50));
	perf_report_number(&report, "p99_ns", (double)histogram_percentile(&client->latency, 99));
	perf_report_number(&report, "p999_ns",
			   (double)histogram_percentile(&client->latency, 99.9));
	perf_report_number(&report, "max_ns", (double)client->latency.max_ns);
	perf_report_number(&report, "errors", (double)client->counts.errors);
	if (options->server_pid != 0) {
		report_server(&report, measurement, options->size_bytes);
	}
	perf_report_number(&report, "connections", (double)options->connections);
	perf_report_number(&report, "size_bytes", (double)options->size_bytes);
	perf_report_number(&report, "depth", (double)options->depth);
	perf_report_number(&report, "rate", (double)options->rate);
	perf_report_number(&report, "requests", (double)counts->requests);
	perf_report_number(&report, "requests_total",
			   (double)(client->counts.requests + measurement->requests_before));
	perf_report_number(&report, "elapsed_ns", (double)measurement->elapsed_ns);
	perf_report_number(&report, "load_idle_share",
			   (double)counts->idle_ns / (double)measurement->elapsed_ns);
	perf_report_number(&report, "load_system_calls_per_request",
			   (double)counts->system_calls / (double)counts->requests);
	perf_report_print(&report, options->json);
}

static void parse(struct load_options *options, int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "host", PERF_OPTION_STRING, "IPv4 address of the server, or unix:PATH",
		  &options->host, 0, 0, NULL },
		{ "port", PERF_OPTION_NUMBER, "its TCP port", &options->port, 1, 65535, NULL },
		{ "connections", PERF_OPTION_NUMBER, "how many", &options->connections, 1, 60000,
		  NULL },
		{ "size", PERF_OPTION_NUMBER, "bytes a request", &options->size_bytes, 1, 1 << 20,
		  NULL },
		{ "depth", PERF_OPTION_NUMBER, "requests under way on each connection",
		  &options->depth, 1, 1024, NULL },
		{ "rate", PERF_OPTION_NUMBER,
		  "requests a second, whose times count from when they are due; 0: each reply "
		  "makes room for the next",
		  &options->rate, 0, 10000000, NULL },
		{ "duration", PERF_OPTION_SECONDS, "seconds to measure", &options->duration_ns, 0,
		  0, NULL },
		{ "warmup", PERF_OPTION_SECONDS, "seconds before that", &options->warmup_ns, 0, 0,
		  NULL },
		{ "cpu", PERF_OPTION_NUMBER, "CPU to run on, -1 for any", &options->cpu, -1, 1023,
		  NULL },
		{ "server-pid", PERF_OPTION_NUMBER, "also measure this process's CPU time",
		  &options->server_pid, 0, INT32_MAX, NULL },
		{ "verify", PERF_OPTION_FLAG, "compare every byte", &options->verify, 0, 0, NULL },
		{ "block", PERF_OPTION_FLAG, "sleep rather than spin", &options->block, 0, 0,
		  NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options->json, 0, 0, NULL },
	};

	perf_options_parse(argc, argv, "A load generator for echo servers.", table,
			   sizeof(table) / sizeof(table[0]));
}

int main(int argc, char **argv)
{
	struct load_options options = {
		.host = "127.0.0.1",
		.port = 7000,
		.connections = 50,
		.size_bytes = 64,
		.depth = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(5000000000),
		.warmup_ns = UINT64_C(1000000000),
	};
	struct measurement measurement = { 0 };
	struct load_client *client;
	uint64_t errors;
	int r;

	parse(&options, argc, argv);
	if (options.rate > 0 && (options.depth != 1 || options.block)) {
		(void)fprintf(stderr,
			      "load: --rate is for --depth 1, and polls: without --block\n");
		return 2;
	}
	r = perf_pin((int)options.cpu);
	if (r < 0) {
		return perf_fail("cannot run on that CPU", r);
	}
	r = load_client_create(
		&(struct load_settings){ .host = options.host,
					 .port = (uint16_t)options.port,
					 .connections = (uint32_t)options.connections,
					 .size_bytes = (uint32_t)options.size_bytes,
					 .depth = (uint32_t)options.depth,
					 .rate = (uint32_t)options.rate,
					 .verify = options.verify,
					 .block = options.block },
		&client);
	if (r < 0) {
		return perf_fail("cannot connect", r);
	}
	r = measure(client, &options, &measurement);
	if (r < 0) {
		return perf_fail("cannot measure the server", r);
	}
	load_client_drain(client, DRAIN_NS);
	report(&options, client, &measurement);
	errors = client->counts.errors;
	load_client_destroy(client);
	return errors == 0 ? 0 : 1;
}
