/*
 * Hand-over: on one host a server succeeds another every few seconds, with the sockets that the one
 * before listens on; on a second host are clients. Each server has a thread of its own in the place
 * of a process, as a host is one. While the host does not crash, no connection is refused and none
 * breaks: one that was open when its server was succeeded is served to its end.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum { CLIENTS = 6, ROUNDS_MAX = 5, BYTES = 2000, PORT = 7000, WAIT_S = 4 };

struct handover;

struct client {
	struct handover *handover;
	uint64_t served; /* connections */
};

struct handover {
	struct gyre_sim *sim;
	uint32_t boots;
	uint32_t serving; /* the boot since which a server has been there */
	uint64_t succeeded;
	struct client clients[CLIENTS];
};

/* ---- servers ---- */

/* From the call of its former server until its own successor has started. One that cannot succeed
 * the server that is there leaves it as it is. */
static void *be_server(void *arg)
{
	const struct gyre_system_options options = { .loops = 2,
						     .handover = "unix:@handover",
						     .drain_timeout_ns = GYRE_SECONDS(60),
						     .log = world_no_log };
	const struct gyre_acceptor_options listening = { .bind = "tcp://[::]:7000",
							 .init_channel = world_init_echo };
	struct handover *handover = (struct handover *)arg;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r : gyre_system_listen(system, &listening, NULL);
	r = r < 0 ? r : gyre_system_start(system);
	if (r == 0) {
		handover->serving = handover->boots;
		r = gyre_system_wait(system);
		handover->succeeded += r == 0;
	}
	gyre_system_destroy(system);
	return NULL;
}

static int be_host(void *arg)
{
	struct handover *handover = (struct handover *)arg;
	int r = 0;

	handover->boots++;
	while (r == 0) {
		pthread_t thread;

		r = pthread_create(&thread, NULL, be_server, handover);
		if (r == 0) {
			r = pthread_detach(thread);
		}
		world_pause(gyre_sim_random(handover->sim) % GYRE_SECONDS(5));
	}
	return -r;
}

/* ---- clients ---- */

static unsigned char byte_at(size_t place)
{
	return (unsigned char)(place * 167 + (place >> 8));
}

/* One that waits in vain is not a violation: the host may have crashed. */
static bool is_served(const struct client *client, int fd)
{
	unsigned char bytes[BYTES];
	unsigned char back[BYTES];
	size_t count = 1 + (size_t)(gyre_sim_random(client->handover->sim) % BYTES);
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		bytes[i] = byte_at(i);
	}
	while (done < count) {
		ssize_t r = send(fd, bytes + done, count - done, MSG_NOSIGNAL);

		if (r <= 0) {
			return false;
		}
		done += (size_t)r;
	}
	for (done = 0; done < count;) {
		ssize_t r = recv(fd, back + done, count - done, 0);

		if (r <= 0) {
			errno = r == 0 ? ENODATA : errno;
			return false;
		}
		done += (size_t)r;
	}
	errno = EBADMSG;
	return memcmp(bytes, back, count) == 0;
}

/* What has been there since a client called ends neither by an error nor too early. */
static void judge(const struct client *client, uint32_t boots, const char *what)
{
	struct handover *handover = client->handover;

	if (handover->serving == boots && handover->boots == boots && errno != EAGAIN &&
	    errno != ETIMEDOUT) {
		world_violate("%s: %s", what, strerrorname_np(errno));
	}
}

static void call(struct client *client)
{
	uint64_t rounds = 1 + gyre_sim_random(client->handover->sim) % ROUNDS_MAX;
	uint32_t boots = client->handover->serving;
	int fd = world_call(PORT, WAIT_S, 0);
	bool goes_on = fd >= 0;

	if (!goes_on && errno != EINPROGRESS) {
		judge(client, boots, "no connection");
	}
	for (; goes_on && rounds > 0; rounds--) {
		goes_on = is_served(client, fd);
		if (!goes_on) {
			judge(client, boots, "a connection breaks");
		}
		world_pause(gyre_sim_random(client->handover->sim) % GYRE_SECONDS(1));
	}
	client->served += goes_on;
	if (fd >= 0) {
		(void)close(fd);
	}
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (;;) {
		call(client);
		world_pause(gyre_sim_random(client->handover->sim) % GYRE_MILLISECONDS(200));
	}
	return arg;
}

static int be_clients(void *arg)
{
	return world_run_threads(be_client, arg, sizeof(struct client), CLIENTS);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	struct handover *handover = (struct handover *)state;
	int r;

	handover->sim = sim;
	handover->serving = UINT32_MAX;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		handover->clients[i].handover = handover;
	}
	r = gyre_sim_host(sim, "alpha", be_host, handover, NULL);
	return r < 0 ? r : gyre_sim_host(sim, "beta", be_clients, handover->clients, NULL);
}

/* The clients, and that servers are succeeded. */
static uint64_t progress(const void *state, uint32_t part)
{
	const struct handover *handover = (const struct handover *)state;

	return part < CLIENTS ? handover->clients[part].served : handover->succeeded;
}

const struct world world_handover = {
	.name = "handover",
	.state_bytes = sizeof(struct handover),
	.hosts = 1, /* a link that is cut breaks connections */
	.trouble = TROUBLE_CRASHES | TROUBLE_FAULTS,
	.steps = 20,
	.calm_seconds = 60,
	.go_on_seconds = 60,
	.build = build,
	.parts = CLIENTS + 1,
	.progress = progress,
};
