/*
 * The options and the run of a server that is measured.
 */
#include "server.h"

#include <stdlib.h>

void perf_server_options(struct perf_server *server, struct perf_option *ret_options)
{
	ret_options[0] = (struct perf_option){ .name = "bind",
					       .kind = PERF_OPTION_STRING,
					       .help = "where to listen",
					       .value = &server->bind };
	ret_options[1] = (struct perf_option){ .name = "cpus",
					       .kind = PERF_OPTION_STRING,
					       .help = "CPUs of the loops, as 0-3",
					       .value = &server->cpus };
	ret_options[2] = (struct perf_option){ .name = "loops",
					       .kind = PERF_OPTION_NUMBER,
					       .help = "loops",
					       .value = &server->loops,
					       .min = 1,
					       .max = 1024 };
}

int perf_serve(const struct perf_server *server, const struct gyre_acceptor_options *acceptor,
	       struct gyre_counters *ret_counters)
{
	const struct gyre_system_options options = { .spin_ns = GYRE_SPIN_NEVER,
						     .loops = (uint32_t)server->loops,
						     .cpus = server->cpus };
	struct gyre_acceptor_options listening = *acceptor;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	listening.bind = server->bind;
	r = r < 0 ? r : gyre_system_listen(system, &listening, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	if (r == 0) {
		(void)gyre_system_counters(system, ret_counters);
	}
	gyre_system_destroy(system);
	return r < 0 ? perf_fail("cannot serve", r) : EXIT_SUCCESS;
}
