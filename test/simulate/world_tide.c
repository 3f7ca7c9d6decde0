/*
 * A tide: clients that send as much as the connection takes before they read anything of what the
 * server echoes, then end their side, and read on to the end. In some runs all buffers are small,
 * so the server's output is full again and again, also when the end of its input comes. In the
 * others those of sockets are large and receives are small, so more comes at once than a loop takes
 * from one socket before others have their turn.
 *
 * Nothing is broken here: packets take their time, and calls do less than they were asked for. So
 * every byte has to come back, and the end behind the last.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

enum {
	CLIENTS = 4,
	PORT = 7000,
	BYTES_MAX = 200000, /* that are sent over a connection */
	PIECE_BYTES = 16384,
	SMALL_BYTES = 8192, /* of sockets, and of the server's output */
	LARGE_BYTES = 131072,
	RECEIVE_BYTES = 512,
	WAIT_S = 10,
	DELAY_MS_MAX = 20,
};

struct client {
	struct gyre_sim *sim;
	int buffer_bytes;
	uint64_t rounds;
	uint64_t wanted; /* bytes of the connection */
	uint64_t sent;
	uint64_t heard;
};

struct tide {
	uint32_t buffer_bytes;
	struct client clients[CLIENTS];
};

/* ---- the server ---- */

static int serve(void *arg)
{
	const struct tide *tide = (const struct tide *)arg;
	const struct gyre_system_options options = {
		.loops = 2,
		.buffer_bytes = tide->buffer_bytes == LARGE_BYTES ? RECEIVE_BYTES : 0,
		.receive_buffers = GYRE_RECEIVE_BUFFERS_WHOLE,
		.log = world_no_log,
	};
	const struct gyre_acceptor_options listening = {
		.bind = "tcp://[::]:7000",
		.init_channel = world_init_echo,
		.channel = { .write_high_bytes = tide->buffer_bytes,
			     .write_low_bytes = tide->buffer_bytes / 2,
			     .receive_buffer_bytes = tide->buffer_bytes,
			     .send_buffer_bytes = tide->buffer_bytes },
	};

	return world_serve(&options, &listening);
}

/* ---- clients ---- */

static void violate(const struct client *client, const char *what)
{
	world_violate("%s: %" PRIu64 " of %" PRIu64 " bytes were sent, and %" PRIu64
		      " came back (errno %d)",
		      what, client->sent, client->wanted, client->heard, errno);
}

static unsigned char byte_at(uint64_t place)
{
	return (unsigned char)(place * 167 + (place >> 8));
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
		world_pause(gyre_sim_random(client->sim) % 100 * GYRE_MILLISECONDS(1));
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
		int fd = world_call(PORT, WAIT_S, client->buffer_bytes);

		client->wanted = 1 + gyre_sim_random(client->sim) % BYTES_MAX;
		client->sent = 0;
		client->heard = 0;
		if (fd >= 0) {
			play_round(client, fd);
			(void)close(fd);
		}
		world_pause(GYRE_MILLISECONDS(10));
	}
	return arg;
}

static int be_clients(void *arg)
{
	return world_run_threads(be_client, ((struct tide *)arg)->clients, sizeof(struct client),
				 CLIENTS);
}

/* ---- the world ---- */

static int build(struct gyre_sim *sim, void *state)
{
	const struct gyre_sim_link link = {
		.delay_ns = gyre_sim_choose(sim, DELAY_MS_MAX) * GYRE_MILLISECONDS(1),
		.jitter_ns = gyre_sim_choose(sim, DELAY_MS_MAX) * GYRE_MILLISECONDS(1),
	};
	struct tide *tide = (struct tide *)state;
	int r = gyre_sim_host(sim, "alpha", serve, tide, NULL);

	tide->buffer_bytes = gyre_sim_choose(sim, 2) == 0 ? LARGE_BYTES : SMALL_BYTES;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		tide->clients[i].sim = sim;
		tide->clients[i].buffer_bytes = (int)tide->buffer_bytes;
	}
	r = r < 0 ? r : gyre_sim_host(sim, "beta", be_clients, tide, NULL);
	r = r < 0 ? r : gyre_sim_link_set(sim, 0, 1, &link);
	r = r < 0 ? r : gyre_sim_link_set(sim, 1, 0, &link);
	return r;
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
	.steps = 4,
	.calm_seconds = 1,
	.go_on_seconds = 60,
	.build = build,
	.parts = CLIENTS,
	.progress = progress,
};
