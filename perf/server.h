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

enum { PERF_SERVER_OPTIONS = 3 };

/* Fills the first PERF_SERVER_OPTIONS of a command line's options. */
void perf_server_options(struct perf_server *server, struct perf_option *ret_options);

/* Serves until a signal comes; loops sleep rather than poll. The counters are those of the end.
 * Returns the exit status. */
int perf_serve(const struct perf_server *server, const struct gyre_acceptor_options *acceptor,
	       struct gyre_counters *ret_counters);

#endif
