/*
 * The run of a server that is measured.
 */
#include "server.h"

#include <stdlib.h>

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
