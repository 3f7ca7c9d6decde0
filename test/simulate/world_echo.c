/*
 * An echo server of gyre, and clients on two other hosts that check each byte which comes back. A
 * connection may end at any time, but what comes back before is what was sent, in its order.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum {
	SERVER,
	CLIENT_HOSTS = 2,
	CLIENTS = 4, /* of each host */
	PORT = 7000,
	BYTES_MAX = 20000,
	WAIT_S = 3,
};

struct client {
	struct gyre_sim *sim;
	uint64_t rounds;
	uint64_t sent; /* of the connection */
	uint64_t heard;
};

struct echo {
	struct gyre_sim *sim;
	struct client clients[CLIENT_HOSTS][CLIENTS];
};

/* ---- the server ---- */

static int serve(void *arg)
{
	(void)arg;
	return world_serve(NULL,
			   &(struct gyre_acceptor_options){ .bind = "tcp://[::]:7000",
							    .init_channel = world_init_echo });
}

/* ---- clients ---- */

/* The byte of a stream at a place. */
static unsigned char byte_at(uint64_t place)
{
	return (unsigned char)(place * 167 + (place >> 8));
}

static bool send_all(struct client *client, int fd, size_t count)
{
	unsigned char bytes[BYTES_MAX];
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		bytes[i] = byte_at(client->sent + i);
	}
	while (done < count) {
		ssize_t r = send(fd, bytes + done, count - done, MSG_NOSIGNAL);

		if (r <= 0) {
			return false;
		}
		done += (size_t)r;
	}
	client->sent += count;
	return true;
}

static bool hear_all(struct client *client, int fd)
{
	unsigned char bytes[BYTES_MAX];

	while (client->heard < client->sent) {
		ssize_t r = recv(fd, bytes, sizeof(bytes), 0);

		if (r <= 0) {
			return false;
		}
		for (ssize_t i = 0; i < r; i++) {
			if (bytes[i] != byte_at(client->heard + (uint64_t)i)) {
				world_violate("a byte came back that was not sent there");
				return false;
			}
		}
		client->heard += (uint64_t)r;
		if (client->heard > client->sent) {
			world_violate("more came back than was sent");
			return false;
		}
	}
	return true;
}

/* The end of what the client says reaches the server, which ends then as well: nothing more comes.
 */
static void end_politely(int fd)
{
	unsigned char byte;

	if (shutdown(fd, SHUT_WR) == 0 && recv(fd, &byte, 1, 0) > 0) {
		world_violate("something came after all that was sent");
	}
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (;;) {
		int fd = world_call(PORT, WAIT_S, 0);
		uint32_t rounds = 1 + (uint32_t)(gyre_sim_random(client->sim) % 8);

		client->sent = 0;
		client->heard = 0;
		while (fd >= 0 && rounds > 0 &&
		       send_all(client, fd, 1 + gyre_sim_random(client->sim) % BYTES_MAX) &&
		       hear_all(client, fd)) {
			client->rounds++;
			rounds--;
			world_pause(gyre_sim_random(client->sim) % 200 * GYRE_MILLISECONDS(1));
		}
		if (fd >= 0 && rounds == 0) {
			end_politely(fd);
		}
		if (fd >= 0) {
			(void)close(fd);
		}
		world_pause(GYRE_MILLISECONDS(100));
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
	static const char *const names[CLIENT_HOSTS] = { "beta", "gamma" };
	struct echo *echo = (struct echo *)state;
	int r = gyre_sim_host(sim, "alpha", serve, NULL, NULL);

	for (uint32_t host = 0; r == 0 && host < CLIENT_HOSTS; host++) {
		for (uint32_t i = 0; i < CLIENTS; i++) {
			echo->clients[host][i].sim = sim;
		}
		r = gyre_sim_host(sim, names[host], be_clients, echo->clients[host], NULL);
	}
	return r;
}

static uint64_t progress(const void *state, uint32_t part)
{
	return ((const struct echo *)state)->clients[part / CLIENTS][part % CLIENTS].rounds;
}

const struct world world_echo = {
	.name = "echo",
	.state_bytes = sizeof(struct echo),
	.hosts = 1 + CLIENT_HOSTS,
	.trouble = TROUBLE_LINKS | TROUBLE_CRASHES | TROUBLE_FAULTS | TROUBLE_SIGNALS |
		   TROUBLE_REFUSALS,
	.steps = 20,
	.calm_seconds = 30,
	.go_on_seconds = 30,
	.build = build,
	.parts = CLIENT_HOSTS * CLIENTS,
	.progress = progress,
};
