/*
 * What worlds share: what they have found wrong, nodes of a cluster, an echo server, and clients
 * that wait for it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "world.h"

enum { NODES_MAX = 8, THREADS_MAX = 64, NODE_PORT = 9000 };

static char violation[512]; /* of the run, which is a process */

void world_no_log(const struct gyre_log_line *line, void *arg)
{
	(void)line;
	(void)arg;
}

/* ---- what is wrong ---- */

void world_violate(const char *format, ...)
{
	va_list arguments;

	if (violation[0] != '\0') {
		return; /* what comes after it may come of it */
	}
	va_start(arguments, format);
	(void)vsnprintf(violation, sizeof(violation), format, arguments);
	va_end(arguments);
}

const char *world_violation(void *arg)
{
	(void)arg;
	return violation[0] == '\0' ? NULL : violation;
}

/* ---- draws ---- */

uint64_t world_draw(uint64_t *state)
{
	return gy_random_next(state);
}

/* ---- nodes ---- */

int world_add_nodes(struct gyre_sim *sim, uint32_t count, gyre_sim_boot_fn boot, void *first,
		    size_t bytes)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "node-%u", i + 1);
		r = gyre_sim_host(sim, name, boot, (char *)first + i * bytes, NULL);
	}
	return r;
}

static int create_node(const struct world_node *as, struct gyre_system **ret_system)
{
	struct gyre_node_peer peers[NODES_MAX] = { { 0 } };
	char texts[NODES_MAX][32];
	const struct gyre_node_options node = { .id = as->id,
						.listen = "tcp://[::]:9000",
						.peers = peers,
						.types = as->types,
						.secret = "of a test, and long enough for it",
						.no_encryption = !as->encrypted,
						.heartbeat_ns = GYRE_MILLISECONDS(500),
						.suspect_ns = GYRE_MILLISECONDS(1500),
						.down_ns = GYRE_SECONDS(5),
						.redial_min_ns = as->redial_min_ns };
	const struct gyre_system_options options = { .loops = 2,
						     .node = &node,
						     .log = world_no_log };
	uint32_t count = 0;

	if (as->nodes > NODES_MAX) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < as->nodes; i++) {
		if (i + 1 != as->id) {
			(void)snprintf(texts[i], sizeof(texts[i]), "tcp://node-%u:%d", i + 1,
				       NODE_PORT);
			peers[count++] = (struct gyre_node_peer){ (uint16_t)(i + 1), texts[i] };
		}
	}
	return gyre_system_create(&options, ret_system);
}

int world_run_node(const struct world_node *as, int (*spawn)(struct gyre_system *system, void *arg),
		   void *arg)
{
	struct gyre_system *system = NULL;
	int r = create_node(as, &system);

	r = r < 0 ? r : spawn(system, arg);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- a guard ---- */

struct guard {
	const char *const *names;
};
GYRE_MESSAGE(guard, 0x5f01);

static int on_guard_look(struct gyre_stack *stack)
{
	const char *const *name = ((const struct guard *)gyre_state(stack))->names;
	struct gyre_address found;

	while (*name != NULL && gyre_name_lookup(stack, *name, &found) == 0) {
		name++;
	}
	if (*name != NULL) {
		gyre_exit(stack, EXIT_FAILURE);
	}
	return gyre_return(stack);
}

static int on_guard_mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .delay_ns = GYRE_SECONDS(1),
						  .period_ns = GYRE_SECONDS(1) };
	int r = gyre_timer_start(stack, 0, &often);

	*(struct guard *)gyre_state(stack) = *gyre_message(stack, guard);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

int world_guard(struct gyre_system *system, const char *const *names)
{
	static const struct gyre_class class = { .name = "guard",
						 .state_bytes = sizeof(struct guard),
						 .behaviour.event = on_guard_look,
						 .mount = on_guard_mount };
	struct gyre_address address;

	return gyre_system_spawn(system, &class, gyre_system_new(system, guard, names), NULL,
				 &address);
}

/* ---- an echo server ---- */

static void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

int world_init_echo(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler echo = { .name = "echo", .read = echo_read };

	(void)arg;
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, NULL);
}

int world_serve(const struct gyre_system_options *options,
		const struct gyre_acceptor_options *listening)
{
	const struct gyre_system_options usual = { .loops = 2, .log = world_no_log };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(options == NULL ? &usual : options, &system);

	r = r < 0 ? r : gyre_system_listen(system, listening, NULL);
	r = r < 0 ? r : gyre_system_run(system);
	gyre_system_destroy(system);
	return r;
}

/* ---- clients ---- */

void world_pause(uint64_t ns)
{
	const struct timespec pause = { .tv_sec = (time_t)(ns / GYRE_SECONDS(1)),
					.tv_nsec = (long)(ns % GYRE_SECONDS(1)) };

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

int world_call(uint16_t port, uint32_t patience_s, int buffer_bytes)
{
	const struct sockaddr_in server = { .sin_family = AF_INET,
					    .sin_port = htons(port),
					    .sin_addr.s_addr = htonl(UINT32_C(0x0a000001)) };
	const struct timeval patience = { .tv_sec = patience_s };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));

	r = r < 0 ? r : setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (r == 0 && buffer_bytes > 0) {
		r = setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
		r = r < 0 ? r
			  : setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes,
				       sizeof(buffer_bytes));
	}
	r = r < 0 ? r : connect(fd, (const struct sockaddr *)&server, sizeof(server));
	if (r < 0 && fd >= 0) {
		int error = errno;

		(void)close(fd);
		errno = error;
	}
	return r < 0 ? -1 : fd;
}

int world_run_threads(void *(*run)(void *), void *first, size_t bytes, uint32_t count)
{
	pthread_t threads[THREADS_MAX];
	int r = count == 0 || count > THREADS_MAX ? EINVAL : 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = pthread_create(&threads[i], NULL, run, (char *)first + i * bytes);
	}
	if (r == 0) {
		r = pthread_join(threads[0], NULL);
	}
	return -r;
}
