/*
 * Reports go into a list under a mutex. A test waits for them on a condition; the alarm of the
 * fixture ends one that waits in vain.
 */
#include "net/client_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "buffer/socket_address.h"
#include "echo.h"

static int descriptors; /* of the test: sockets that it closes before the fixture counts */

void client_begin(void)
{
	descriptors = descriptors_open();
	fixture_open(2);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

void client_end(void)
{
	fixture_close();
	must_hold(descriptors_open() == descriptors, "none is left");
}

enum { REPORTS_MAX = 1 << 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static struct gyre_connection reports[REPORTS_MAX];
static uint32_t reported;
static uint32_t read_count;

void client_report(struct gyre_stack *stack, const struct gyre_connection *connection,
		   struct gyre_channel *channel, void *arg)
{
	bool has_channel = connection->step == GYRE_CONNECTION_OPEN ||
			   connection->step == GYRE_CONNECTION_CLOSED;

	(void)arg;
	expect(stack != NULL && gyre_system_of(stack) == fixture.system);
	expect((channel != NULL) == has_channel);
	expect(gyre_address_is_nobody(connection->channel) == !has_channel);
	expect(channel == NULL ||
	       gyre_address_equal(connection->channel, gyre_channel_address(channel)));
	(void)pthread_mutex_lock(&mutex);
	expect(reported < REPORTS_MAX);
	reports[reported++ % REPORTS_MAX] = *connection;
	(void)pthread_cond_signal(&condition);
	(void)pthread_mutex_unlock(&mutex);
}

static struct gyre_connection next(void)
{
	struct gyre_connection report;

	(void)pthread_mutex_lock(&mutex);
	while (read_count == reported) {
		(void)pthread_cond_wait(&condition, &mutex);
	}
	report = reports[read_count++];
	(void)pthread_mutex_unlock(&mutex);
	return report;
}

struct gyre_connection client_next(enum gyre_connection_step step)
{
	struct gyre_connection report = next();

	cr_assert_eq(report.step, step, "step %d, reason %d, instead of step %d", (int)report.step,
		     report.reason, (int)step);
	return report;
}

struct gyre_connection client_until(enum gyre_connection_step step)
{
	struct gyre_connection report;

	do {
		report = next();
	} while (report.step != step);
	return report;
}

struct gyre_connect_options client_options(uint16_t port)
{
	static char text[64];

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", (unsigned)port);
	return (struct gyre_connect_options){ .to = text,
					      .init_channel = init_echo,
					      .report = client_report };
}

struct gyre_address client_connect(const struct gyre_connect_options *options)
{
	struct gyre_address actor = { 0 };

	cr_assert_eq(gyre_system_connect(fixture.system, options, &actor), 0);
	return actor;
}

static int stop_it(struct gyre_stack *stack)
{
	int r = gyre_stop(stack, gyre_message(stack, place)->address);

	expect(r == 0 || r == -ESRCH); /* it may have ended by itself */
	return gyre_stop(stack, gyre_self(stack));
}

void client_stop(struct gyre_address actor)
{
	static const struct gyre_class stopper = { .name = "stopper", .mount = stop_it };
	struct gyre_address stops;

	cr_assert_eq(gyre_system_spawn(fixture.system, &stopper,
				       gyre_system_new(fixture.system, place, actor), NULL, &stops),
		     0);
}

/* ---- the other side ---- */

int client_bind(const char *address, uint16_t *ret_port)
{
	struct gyre_socket_address to;
	const int one = 1;
	int fd;

	cr_assert_eq(gyre_socket_address_parse(address, &to), 0);
	fd = socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&to.storage, to.bytes), 0, "%s", address);
	cr_assert_eq(gy_socket_address_of(fd, &to), 0);
	*ret_port = gyre_socket_address_port(&to);
	return fd;
}

int client_listen(uint16_t *ret_port)
{
	int fd = client_bind("tcp://127.0.0.1:0", ret_port);

	cr_assert_eq(listen(fd, 100), 0);
	return fd;
}

int client_accept(int fd)
{
	int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	cr_assert_geq(connection, 0);
	cr_assert(echoes(connection));
	return connection;
}

void client_hole_open(struct client_hole *hole, int fd)
{
	struct gyre_socket_address to;

	hole->fd = fd;
	cr_assert_eq(listen(fd, 0), 0);
	cr_assert_eq(gy_socket_address_of(fd, &to), 0);
	for (size_t i = 0; i < gy_countof(hole->clients); i++) {
		hole->clients[i] =
			socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(hole->clients[i], (struct sockaddr *)&to.storage, to.bytes);
	}
}

void client_hole_close(struct client_hole *hole)
{
	for (size_t i = 0; i < gy_countof(hole->clients); i++) {
		(void)close(hole->clients[i]);
	}
	(void)close(hole->fd);
}
