/*
 * An echo server of gyre, and clients on two other hosts that check each byte which comes back. A
 * connection may end at any time, but what comes back before is what was sent, in its order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum {
	SERVER,
	CLIENT_HOSTS = 2,
	CLIENTS = 4, /* of each host */
	PORT = 7000,
	BYTES_MAX = 20000,
	WAIT_MS = 3000,
};

struct client {
	struct gyre_sim *sim;
	uint64_t rounds;
	uint64_t sent; /* of the connection */
	uint64_t heard;
	const char *violation;
};

struct echo {
	struct gyre_sim *sim;
	struct client clients[CLIENT_HOSTS][CLIENTS];
};

/* ---- the server ---- */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static int init_echo(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

	(void)arg;
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, NULL);
}

static int serve(void *arg)
{
	const struct gyre_acceptor_options listening = { .bind = "tcp://[::]:7000",
							 .init_channel = init_echo };
	const struct gyre_system_options options = { .loops = 2, .log = world_no_log };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	(void)arg;
	if (r == 0) {
		r = gyre_system_listen(system, &listening, NULL);
	}
	if (r == 0) {
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r;
}

/* ---- clients ---- */

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* The byte of a stream at a place. */
static unsigned char byte_at(uint64_t place)
{
	return (unsigned char)(place * 167 + (place >> 8));
}

static int call_server(void)
{
	const struct sockaddr_in server = { .sin_family = AF_INET,
					    .sin_port = htons(PORT),
					    .sin_addr.s_addr = htonl(UINT32_C(0x0a000001)) };
	const struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
			setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
			connect(fd, (const struct sockaddr *)&server, sizeof(server)) < 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
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
				client->violation = "a byte came back that was not sent there";
				return false;
			}
		}
		client->heard += (uint64_t)r;
		if (client->heard > client->sent) {
			client->violation = "more came back than was sent";
			return false;
		}
	}
	return true;
}

/* The end of what the client says reaches the server, which ends then as well: nothing more comes.
 */
static void end_politely(struct client *client, int fd)
{
	unsigned char byte;

	if (shutdown(fd, SHUT_WR) == 0 && recv(fd, &byte, 1, 0) > 0) {
		client->violation = "something came after all that was sent";
	}
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (;;) {
		int fd = call_server();
		uint32_t rounds = 1 + (uint32_t)(gyre_sim_random(client->sim) % 8);

		client->sent = 0;
		client->heard = 0;
		while (fd >= 0 && rounds > 0 &&
		       send_all(client, fd, 1 + gyre_sim_random(client->sim) % BYTES_MAX) &&
		       hear_all(client, fd)) {
			client->rounds++;
			rounds--;
			pause_ms((long)(gyre_sim_random(client->sim) % 200));
		}
		if (fd >= 0 && rounds == 0) {
			end_politely(client, fd);
		}
		if (fd >= 0) {
			(void)close(fd);
		}
		pause_ms(100);
	}
	return arg;
}

static int be_clients(void *arg)
{
	struct client *clients = (struct client *)arg;
	pthread_t threads[CLIENTS];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < CLIENTS; i++) {
		r = pthread_create(&threads[i], NULL, be_client, &clients[i]);
	}
	if (r == 0) {
		r = pthread_join(threads[0], NULL);
	}
	return -r;
}

/* ---- the world ---- */

static const char *find_violation(void *arg)
{
	const struct echo *echo = (const struct echo *)arg;

	for (uint32_t i = 0; i < CLIENT_HOSTS * CLIENTS; i++) {
		const struct client *client = &echo->clients[i / CLIENTS][i % CLIENTS];

		if (client->violation != NULL) {
			return client->violation;
		}
	}
	return NULL;
}

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
	return r < 0 ? r : gyre_sim_check(sim, "echo", find_violation, echo);
}

static uint32_t parts(const void *state)
{
	(void)state;
	return CLIENT_HOSTS * CLIENTS;
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
	.parts = parts,
	.progress = progress,
};
