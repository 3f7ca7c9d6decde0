/*
 * Systems of one process that succeed each other while clients connect and send datagrams, and a
 * thread adds loops and retires them. Each request is answered, by whichever of them.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <gyre/channel.h>
#include <gyre/datagram.h>
#include <gyre/handover.h>
#include <gyre/listen.h>
#include <gyre/resize.h>

#include "stress.h"

enum { ROUNDS = 12, CLIENTS = 4, LOOPS_MAX = 3, REQUESTS = 5 };

static uint64_t seed;
static char at[64];
static struct gyre_socket_address streams;
static struct gyre_socket_address datagrams;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gyre_system *current; /* under the mutex, for who resizes it */
static uint32_t done[CLIENTS];	    /* atomic */
static uint32_t over;		    /* atomic */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, arg);
}

/* A loop that retires may keep a successor waiting for longer than that waits. */
static void log_most(const struct gyre_log_line *line, void *arg)
{
	if (strstr(line->text, "Connection timed out") == NULL) {
		stress_log(line, arg);
	}
}

static struct gyre_system *start(uint32_t loops)
{
	const struct gyre_system_options options = { .loops = loops,
						     .loops_max = LOOPS_MAX,
						     .spin_ns = GYRE_SPIN_NEVER,
						     .buffer_count = 16,
						     .datagram_buffer_count = 16,
						     .drain_timeout_ns = GYRE_SECONDS(60),
						     .handover = at,
						     .log = log_most };
	const struct gyre_acceptor_options listening = { .bind = "tcp://127.0.0.1:0",
							 .init_channel = init_channel,
							 .ret_address = &streams };
	const struct gyre_datagram_options opening = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_channel,
						       .ret_address = &datagrams };
	struct gyre_socket_address before[2] = { streams, datagrams };
	struct gyre_system *system = NULL;
	int r;

	do {
		r = gyre_system_create(&options, &system);
	} while (r == -ETIMEDOUT);
	check(r == 0);
	check(gyre_system_listen(system, &listening, NULL) == 0);
	check(gyre_system_datagram_open(system, &opening, NULL) == 0);
	check(before[0].bytes == 0 || (memcmp(&before[0], &streams, sizeof(streams)) == 0 &&
				       memcmp(&before[1], &datagrams, sizeof(datagrams)) == 0));
	check(gyre_system_start(system) == 0);
	return system;
}

static void exchange(int fd)
{
	for (char i = 0; i < REQUESTS; i++) {
		char byte = i;

		check(send(fd, &byte, 1, MSG_NOSIGNAL) == 1);
		check(recv(fd, &byte, 1, 0) == 1 && byte == i);
	}
}

static void *ask(void *arg)
{
	uint32_t *mine = (uint32_t *)arg;
	bool is_stream = (mine - done) % 2 == 0;
	struct gyre_socket_address to = is_stream ? streams : datagrams;

	while (gy_load_acquire(&over) == 0) {
		int fd = socket(AF_INET, to.type | SOCK_CLOEXEC, 0);

		check(fd >= 0);
		check(connect(fd, (struct sockaddr *)&to.storage, to.bytes) == 0);
		exchange(fd);
		(void)close(fd);
		(void)gy_fetch_add(mine, 1);
	}
	return NULL;
}

static void *resize(void *arg)
{
	uint64_t random = seed;

	(void)arg;
	while (gy_load_acquire(&over) == 0) {
		int r;

		(void)pthread_mutex_lock(&mutex);
		r = gyre_system_resize(current, 1 + stress_random(&random, LOOPS_MAX));
		(void)pthread_mutex_unlock(&mutex);
		check(r == 0 || r == -EBUSY || r == -ESHUTDOWN);
		(void)sched_yield();
	}
	return NULL;
}

/* Until each client has been served by the one that runs now. */
static void let_some_through(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		uint32_t before = gy_load_acquire(&done[i]);

		while (gy_load_acquire(&done[i]) < before + 2) {
			(void)sched_yield();
		}
	}
}

static void replace(uint32_t loops)
{
	struct gyre_system *before = current;
	struct gyre_system *next = start(loops);

	(void)pthread_mutex_lock(&mutex);
	current = next;
	(void)pthread_mutex_unlock(&mutex);
	(void)stress_end(before);
	let_some_through();
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS + 1];
	uint64_t random;

	seed = stress_begin(argc, argv);
	random = seed;
	(void)snprintf(at, sizeof(at), "unix:@gyre-stress-handover-%d", (int)getpid());
	current = start(2);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		check(pthread_create(&threads[i], NULL, ask, &done[i]) == 0);
	}
	check(pthread_create(&threads[CLIENTS], NULL, resize, NULL) == 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		let_some_through();
		replace(1 + stress_random(&random, LOOPS_MAX));
	}
	gy_store_release(&over, 1);
	for (uint32_t i = 0; i < CLIENTS + 1; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	gyre_system_stop(current);
	(void)stress_end(current);
	return 0;
}
