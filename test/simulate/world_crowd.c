/*
 * A crowd: a server that may have only a few more descriptors than it needs for itself, and more
 * clients than that. Those for whom it has none wait in the backlog. As clients go others must be
 * let in: nobody waits for ever, and what was let in is served.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum {
	CLIENTS = 8,
	ROOM = 3, /* descriptors that the server has for them */
	PORT = 7000,
	STAY_MS_MAX = 50,
	PATIENCE_S = 20, /* an acceptor looks again after a second at the latest */
};

struct client {
	struct gyre_sim *sim;
	uint64_t served;
};

struct crowd {
	struct client clients[CLIENTS];
};

/* ---- the server ---- */

/* From now on there are only so many more descriptors. */
static int limit_descriptors(rlim_t more)
{
	int next = eventfd(0, EFD_CLOEXEC);
	struct rlimit limit = { .rlim_cur = (rlim_t)next + more, .rlim_max = (rlim_t)next + more };

	if (next < 0 || close(next) < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0) {
		return -errno;
	}
	return 0;
}

static int serve(void *arg)
{
	const struct gyre_system_options options = { .loops = 2, .log = world_no_log };
	const struct gyre_acceptor_options listening = { .bind = "tcp://[::]:7000",
							 .init_channel = world_init_echo };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	(void)arg;
	r = r < 0 ? r : gyre_system_listen(system, &listening, NULL);
	r = r < 0 ? r : gyre_system_start(system);
	r = r < 0 ? r : limit_descriptors(ROOM);
	r = r < 0 ? r : gyre_system_wait(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- clients ---- */

static void visit(struct client *client, int fd)
{
	char byte = 'x';

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) {
		world_violate("nothing can be sent: errno %d", errno);
	} else if (recv(fd, &byte, 1, 0) != 1) {
		world_violate("no answer in %d seconds: errno %d", PATIENCE_S, errno);
	} else {
		client->served++;
		world_pause(gyre_sim_random(client->sim) % STAY_MS_MAX * GYRE_MILLISECONDS(1));
	}
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (;;) {
		int fd = world_call(PORT, PATIENCE_S, 0);

		if (fd >= 0) {
			visit(client, fd);
			(void)close(fd);
		} else if (errno != ECONNREFUSED) { /* the server has not begun yet */
			world_violate("no connection: errno %d", errno);
		}
		world_pause(GYRE_MILLISECONDS(10));
	}
	return arg;
}

static int be_clients(void *arg)
{
	return world_run_threads(be_client, ((struct crowd *)arg)->clients, sizeof(struct client),
				 CLIENTS);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct crowd *crowd = (struct crowd *)state;
	int r = gyre_sim_host(sim, "alpha", serve, NULL, NULL);

	for (uint32_t i = 0; i < CLIENTS; i++) {
		crowd->clients[i].sim = sim;
	}
	return r < 0 ? r : gyre_sim_host(sim, "beta", be_clients, crowd, NULL);
}

static uint64_t progress(const void *state, uint32_t part)
{
	return ((const struct crowd *)state)->clients[part].served;
}

const struct world world_crowd = {
	.name = "crowd",
	.state_bytes = sizeof(struct crowd),
	.hosts = 2,
	.trouble = TROUBLE_FAULTS,
	.calm_seconds = 2,
	.go_on_seconds = 60,
	.build = build,
	.parts = CLIENTS,
	.progress = progress,
};
