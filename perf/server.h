/*
 * What servers that are measured share: where they listen, on which loops, and their run.
 */
#ifndef PERF_SERVER_H
#define PERF_SERVER_H

#include <gyre/gyre.h>

#include "common/options.h"

struct perf_server {
	const char *bind;
	const char *cpus;
	int64_t loops;
};

/* Of the command line. */
#define PERF_SERVER_OPTIONS(SERVER)                                                                \
	{ .name = "bind",                                                                          \
	  .kind = PERF_OPTION_STRING,                                                              \
	  .help = "where to listen",                                                               \
	  .value = &(SERVER)->bind },                                                              \
		{ .name = "cpus",                                                                  \
		  .kind = PERF_OPTION_STRING,                                                      \
		  .help = "CPUs of the loops, as 0-3",                                             \
		  .value = &(SERVER)->cpus },                                                      \
	{                                                                                          \
		.name = "loops", .kind = PERF_OPTION_NUMBER, .help = "loops",                      \
		.value = &(SERVER)->loops, .min = 1, .max = 1024                                   \
	}

/* Serves until a signal comes; loops sleep rather than poll. The counters are those of the end.
 * Returns the exit status. */
int perf_serve(const struct perf_server *server, const struct gyre_acceptor_options *acceptor,
	       struct gyre_counters *ret_counters);

#endif
