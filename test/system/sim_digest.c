/*
 * A program as users build it: it links with libgyre-sim, and has an echo server of gyre and some
 * clients meet over bad links. It prints how many were served, and the digest.
 *
 *	system-sim-digest SEED
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gyre/gyre.h>
#include <gyre/sim.h>

enum { CLIENTS = 20, ROUNDS = 20, BYTES = 1000, PORT = 7000 };

static uint32_t served;

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
	const struct gyre_system_options options = { .loops = 2 };
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

static bool echo_once(int fd)
{
	char bytes[BYTES] = "echo";
	size_t back = 0;
	ssize_t count = 1;

	if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes)) {
		return false;
	}
	while (back < sizeof(bytes) && count > 0) {
		count = recv(fd, bytes, sizeof(bytes) - back, 0);
		back += count > 0 ? (size_t)count : 0;
	}
	return back == sizeof(bytes);
}

static void *call_server(void *arg)
{
	const struct sockaddr_in server = { .sin_family = AF_INET,
					    .sin_port = htons(PORT),
					    .sin_addr.s_addr = htonl(UINT32_C(0x0a000001)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint32_t rounds = 0;

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&server, sizeof(server)) == 0) {
		while (rounds < ROUNDS && echo_once(fd)) {
			rounds++;
		}
	}
	(void)close(fd);
	served += rounds == ROUNDS;
	return arg;
}

static int call_all(void *arg)
{
	const struct timespec begin = { .tv_sec = 1 };
	pthread_t threads[CLIENTS];

	(void)arg;
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &begin, NULL); /* the server listens by then */
	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (pthread_create(&threads[i], NULL, call_server, NULL) != 0) {
			return EXIT_FAILURE;
		}
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	return EXIT_SUCCESS;
}

static int play(struct gyre_sim *sim)
{
	const struct gyre_sim_link link = { .jitter_ns = GYRE_MILLISECONDS(3), .loss = 20000 };
	uint32_t server;
	uint32_t clients;
	int r = gyre_sim_host(sim, "server", serve, NULL, &server);

	r = r < 0 ? r : gyre_sim_host(sim, "clients", call_all, NULL, &clients);
	r = r < 0 ? r : gyre_sim_link_set(sim, server, clients, &link);
	r = r < 0 ? r : gyre_sim_link_set(sim, clients, server, &link);
	r = r < 0 ? r : gyre_sim_run(sim, GYRE_SECONDS(3600));
	r = r < 0 ? r : gyre_sim_signal(sim, server, SIGTERM);
	return r < 0 ? r : gyre_sim_run(sim, GYRE_SECONDS(60));
}

int main(int argc, char **argv)
{
	struct gyre_sim_options options = { 0 };
	struct gyre_sim *sim;
	int r;

	if (argc != 2) {
		(void)fputs("usage: system-sim-digest SEED\n", stderr);
		return EXIT_FAILURE;
	}
	options.seed = strtoull(argv[1], NULL, 0);
	r = gyre_sim_create(&options, &sim);
	if (r < 0) {
		(void)fprintf(stderr, "no simulation can be made: %d\n", r);
		return EXIT_FAILURE;
	}
	r = play(sim);
	printf("%d: %" PRIu32 " served, digest %016" PRIx64 "\n", r, served, gyre_sim_digest(sim));
	gyre_sim_destroy(sim);
	return r == 0 && served == CLIENTS ? EXIT_SUCCESS : EXIT_FAILURE;
}
