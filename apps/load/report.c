/*
 * What is printed: a line of progress a second on standard error, and the report on standard
 * output, for people or as one JSON object on one line. A key carries its unit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "load.h"

static const char *const error_names[LOAD_ERRORS] = {
	"refused", "reset", "closed", "timed_out", "corrupt", "other",
};

static uint64_t errors_of(const struct load_counts *counts)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOAD_ERRORS; i++) {
		sum += counts->errors[i];
	}
	return sum;
}

void load_print_progress(const struct load_counts *before, const struct load_counts *now,
			 enum load_step step, double seconds)
{
	static const char *const steps[] = { "connecting", "warm-up", "measuring", "waiting", "" };

	(void)fprintf(stderr, "%s: %" PRIu64 " connections", steps[step], now->open);
	if (step == LOAD_MEASURE) {
		(void)fprintf(stderr, ", %.0f requests/s",
			      (double)(now->requests - before->requests) / seconds);
	}
	(void)fprintf(stderr, ", %" PRIu64 " errors, %" PRIu64 " lost\n", errors_of(now),
		      now->lost);
}

/* ---- for people ---- */

static void print_time(const char *name, uint64_t ns)
{
	double us = (double)ns / 1e3;

	if (us < 1e4) {
		(void)printf("  %s %.1f µs", name, us);
	} else {
		(void)printf("  %s %.1f ms", name, us / 1e3);
	}
}

static void print_latencies(const struct histogram *latency)
{
	(void)printf("latency ");
	print_time("p50", histogram_percentile(latency, 50));
	print_time("p90", histogram_percentile(latency, 90));
	print_time("p99", histogram_percentile(latency, 99));
	print_time("p99.9", histogram_percentile(latency, 99.9));
	print_time("max", latency->max_ns);
	(void)printf("\n");
}

static void print_errors(const struct load_counts *counts)
{
	for (int i = 0; i < LOAD_ERRORS; i++) {
		if (counts->errors[i] > 0) {
			(void)printf("%-9s %" PRIu64 "%s%s\n", error_names[i], counts->errors[i],
				     i == LOAD_OTHER ? " as: " : "",
				     i == LOAD_OTHER ? strerror(-counts->other) : "");
		}
	}
	if (counts->lost > 0) {
		(void)printf("lost      %" PRIu64 " datagrams\n", counts->lost);
	}
	if (counts->unsent > 0) {
		(void)printf("unsent    %" PRIu64 " requests that were due\n", counts->unsent);
	}
}

static void print_text(const struct load *load, double seconds, double cpu_ns)
{
	const struct load_settings *settings = &load->settings;
	const struct load_counts *total = &load->total;
	double requests = (double)total->requests;

	(void)printf("%s: %" PRIu64 " of %" PRIu64 " connections, %" PRIu64 " bytes, depth %" PRIu64
		     ", %.2f s\n",
		     settings->to, total->open, settings->connections, settings->size_bytes,
		     settings->depth, seconds);
	if (total->requests > 0) {
		(void)printf(
			"requests  %" PRIu64 ", %.0f/s, %.2f MB/s each way, %.0f ns of our CPU "
			"time each\n",
			total->requests, requests / seconds,
			requests * (double)settings->size_bytes / seconds / 1e6, cpu_ns / requests);
		print_latencies(&load->latency);
	}
	print_errors(total);
}

/* ---- for programs ---- */

static void print_number(const char *key, double number)
{
	(void)printf(", \"%s\": %.*f", key, number == (double)(int64_t)number ? 0 : 3, number);
}

/* The address as a JSON string: what JSON does not take as it is becomes '?'. */
static void print_address(const char *to)
{
	(void)printf("{\"to\": \"");
	for (; *to != '\0'; to++) {
		bool plain = (unsigned char)*to >= ' ' && *to != '"' && *to != '\\';

		(void)putchar(plain ? *to : '?');
	}
	(void)printf("\"");
}

static void print_json(const struct load *load, double seconds, double cpu_ns)
{
	const struct load_settings *settings = &load->settings;
	const struct load_counts *total = &load->total;
	double requests = (double)total->requests;
	double per_s = seconds > 0 ? requests / seconds : 0;

	print_address(settings->to);
	print_number("requests_per_s", per_s);
	print_number("bytes_per_s", per_s * (double)settings->size_bytes);
	print_number("p50_ns", (double)histogram_percentile(&load->latency, 50));
	print_number("p90_ns", (double)histogram_percentile(&load->latency, 90));
	print_number("p99_ns", (double)histogram_percentile(&load->latency, 99));
	print_number("p999_ns", (double)histogram_percentile(&load->latency, 99.9));
	print_number("max_ns", (double)load->latency.max_ns);
	print_number("requests", requests);
	print_number("errors", (double)errors_of(total));
	for (int i = 0; i < LOAD_ERRORS; i++) {
		print_number(error_names[i], (double)total->errors[i]);
	}
	print_number("lost", (double)total->lost);
	print_number("unsent", (double)total->unsent);
	print_number("connections", (double)settings->connections);
	print_number("open", (double)total->open);
	print_number("size_bytes", (double)settings->size_bytes);
	print_number("depth", (double)settings->depth);
	print_number("rate", (double)settings->rate);
	print_number("loops", (double)settings->loops);
	print_number("elapsed_ns", (double)total->elapsed_ns);
	print_number("load_cpu_ns_per_request", requests > 0 ? cpu_ns / requests : 0);
	(void)printf("}\n");
}

void load_print_report(const struct load *load)
{
	double seconds = (double)load->total.elapsed_ns / 1e9;

	if (load->settings.json) {
		print_json(load, seconds, (double)load->cpu_ns);
	} else {
		print_text(load, seconds, (double)load->cpu_ns);
	}
}
