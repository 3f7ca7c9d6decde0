/*
 * A tide: clients that send as much as the connection takes before they read anything of what the
 * server echoes, then end their side, and read on to the end. All buffers are small, so the
 * server's output is full again and again, also when the end of its input comes.
 *
 * Nothing is broken here: packets take their time, and calls do less than they were asked for. So
 * every byte has to come back, and the end behind the last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum {
	CLIENTS = 4,
	PORT = 7000,
	BYTES_MAX = 200000, /* that are sent over a connection */
	PIECE_BYTES = 16384,
	BUFFER_BYTES = 8192, /* of sockets, and of the server's output */
	WAIT_S = 10,
	DELAY_MS_MAX = 20,
};

struct client {
	struct gyre_sim *sim;
	uint64_t rounds;
	uint64_t wanted; /* bytes of the connection */
	uint64_t sent;
	uint64_t heard;
	char violation[160];
};

struct tide {
	struct client clients[CLIENTS];
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
	const struct gyre_acceptor_options listening = {
		.bind = "tcp://[::]:7000",
		.init_channel = init_echo,
		.channel = { .write_high_bytes = BUFFER_BYTES,
			     .write_low_bytes = BUFFER_BYTES / 2,
			     .receive_buffer_bytes = BUFFER_BYTES,
			     .send_buffer_bytes = BUFFER_BYTES },
	};
	const struct gyre_system_options options = { .loops = 2, .log = world_no_log };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	(void)arg;
	r = r < 0 ? r : gyre_system_listen(system, &listening, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- clients ---- */

static void violate(struct client *client, const char *what)
{
	int error = errno;

	(void)snprintf(client->violation, sizeof(client->violation),
		       "%s: %" PRIu64 " of %" PRIu64 " bytes were sent, and %" PRIu64
		       " came back (errno %d)",
		       what, client->sent, client->wanted, client->heard, error);
}

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static unsigned char byte_at(uint64_t place)
{
	return (unsigned char)(place * 167 + (place >> 8));
}

static int set(int fd, int name, const void *value, socklen_t bytes)
{
	return setsockopt(fd, SOL_SOCKET, name, value, bytes);
}

/* -1 until the server listens. */
static int call_server(void)
{
	const struct sockaddr_in server = { .sin_family = AF_INET,
					    .sin_port = htons(PORT),
					    .sin_addr.s_addr = htonl(UINT32_C(0x0a000001)) };
	const struct timeval patience = { .tv_sec = WAIT_S };
	const int bytes = BUFFER_BYTES;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (set(fd, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
			set(fd, SO_SNDBUF, &bytes, sizeof(bytes)) < 0 ||
			set(fd, SO_RCVBUF, &bytes, sizeof(bytes)) < 0 ||
			connect(fd, (const struct sockaddr *)&server, sizeof(server)) < 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* Sends as much as goes without waiting. False if the connection is broken. */
static bool send_some(struct client *client, int fd)
{
	unsigned char bytes[PIECE_BYTES];

	while (client->sent < client->wanted) {
		uint64_t left = client->wanted - client->sent;
		size_t count = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		ssize_t r;

		for (size_t i = 0; i < count; i++) {
			bytes[i] = byte_at(client->sent + i);
		}
		r = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r < 0 && errno != EINTR) {
			return errno == EAGAIN;
		}
		client->sent += r < 0 ? 0 : (uint64_t)r;
	}
	return true;
}

/* Reads once; how many bytes, 0 at the end, and -1 if they are wrong or none come. */
static ssize_t hear_some(struct client *client, int fd)
{
	unsigned char bytes[PIECE_BYTES];
	ssize_t r;

	do {
		r = recv(fd, bytes, sizeof(bytes), 0);
	} while (r < 0 && errno == EINTR);
	if (r < 0) {
		violate(client, "nothing comes");
	}
	for (ssize_t i = 0; i < r; i++) {
		if (bytes[i] != byte_at(client->heard + (uint64_t)i)) {
			violate(client, "a byte is wrong");
			return -1;
		}
	}
	client->heard += r < 0 ? 0 : (uint64_t)r;
	return r;
}

/* Sends all, ends its side, and reads to the end. */
static void play_round(struct client *client, int fd)
{
	ssize_t r = 1;

	while (r > 0 && client->sent < client->wanted) {
		if (!send_some(client, fd)) {
			violate(client, "nothing can be sent");
			return;
		}
		pause_ms((long)(gyre_sim_random(client->sim) % 100));
		if (client->sent < client->wanted) {
			r = hear_some(client, fd);
		}
	}
	if (r > 0 && shutdown(fd, SHUT_WR) < 0) {
		violate(client, "its side cannot be ended");
		return;
	}
	while (r > 0) {
		r = hear_some(client, fd);
	}
	if (r == 0 && client->heard != client->sent) {
		violate(client, "the end came too soon");
	}
	client->rounds += r == 0;
}

static void *be_client(void *arg)
{
	struct client *client = (struct client *)arg;

	for (;;) {
		int fd = call_server();

		client->wanted = 1 + gyre_sim_random(client->sim) % BYTES_MAX;
		client->sent = 0;
		client->heard = 0;
		if (fd >= 0) {
			play_round(client, fd);
			(void)close(fd);
		}
		pause_ms(10);
	}
	return arg;
}

static int be_clients(void *arg)
{
	struct tide *tide = (struct tide *)arg;
	pthread_t threads[CLIENTS];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < CLIENTS; i++) {
		r = pthread_create(&threads[i], NULL, be_client, &tide->clients[i]);
	}
	if (r == 0) {
		r = pthread_join(threads[0], NULL);
	}
	return -r;
}

/* ---- the world ---- */

static const char *find_violation(void *arg)
{
	const struct tide *tide = (const struct tide *)arg;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (tide->clients[i].violation[0] != '\0') {
			return tide->clients[i].violation;
		}
	}
	return NULL;
}

static int build(struct gyre_sim *sim, void *state)
{
	const struct gyre_sim_link link = {
		.delay_ns = gyre_sim_choose(sim, DELAY_MS_MAX) * GYRE_MILLISECONDS(1),
		.jitter_ns = gyre_sim_choose(sim, DELAY_MS_MAX) * GYRE_MILLISECONDS(1),
	};
	struct tide *tide = (struct tide *)state;
	int r = gyre_sim_host(sim, "alpha", serve, NULL, NULL);

	for (uint32_t i = 0; i < CLIENTS; i++) {
		tide->clients[i].sim = sim;
	}
	r = r < 0 ? r : gyre_sim_host(sim, "beta", be_clients, tide, NULL);
	r = r < 0 ? r : gyre_sim_link_set(sim, 0, 1, &link);
	r = r < 0 ? r : gyre_sim_link_set(sim, 1, 0, &link);
	return r < 0 ? r : gyre_sim_check(sim, "tide", find_violation, tide);
}

static uint32_t parts(const void *state)
{
	(void)state;
	return CLIENTS;
}

static uint64_t progress(const void *state, uint32_t part)
{
	return ((const struct tide *)state)->clients[part].rounds;
}

const struct world world_tide = {
	.name = "tide",
	.state_bytes = sizeof(struct tide),
	.hosts = 2,
	.trouble = TROUBLE_FAULTS,
	.steps = 8,
	.calm_seconds = 1,
	.go_on_seconds = 60,
	.build = build,
	.parts = parts,
	.progress = progress,
};
