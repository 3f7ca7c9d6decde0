/*
 * The events of listening: what subscribers hear of the sockets of acceptors and of datagrams.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>
#include <gyre/event.h>
#include <gyre/listen.h>

#include "echo.h"
#include "system/resize_rig.h"

TestSuite(listening_event, .timeout = 60);

enum { HEARD_MAX = 16 };

static struct gyre_listening heard[HEARD_MAX];
static uint32_t heard_count; /* atomic */
static uint32_t subscribed;
static struct gyre_address hearer;

static int subscribe(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_listening, gyre_event_key_of(NULL), NULL) ==
	       0);
	gy_store_release(&subscribed, 1);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	uint32_t count = heard_count;

	expect(gyre_message(stack, gyre_listening) != NULL && count < HEARD_MAX);
	heard[count] = *gyre_message(stack, gyre_listening);
	gy_store_release(&heard_count, count + 1);
	return gyre_return(stack);
}

static int stop_another(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_message(stack, place)->address);
}

static const struct gyre_class hearer_class = {
	.name = "hearer", .mount = subscribe, .behaviour = { .notice = stop_another, .event = hear }
};

static void begin_listening(uint32_t loops)
{
	open_with(loops);
	hearer = spawn_outside(&hearer_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	wait_for(&subscribed, 1);
}

static void end_listening(void)
{
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

static struct gyre_address listen_there(uint16_t *ret_port)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_port = ret_port };
	struct gyre_address acceptor;

	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), 0);
	return acceptor;
}

/* Of those from @from on, the one of that step and loop; fails if there is none. */
static const struct gyre_listening *find(uint32_t from, enum gyre_listening_step step,
					 uint32_t loop)
{
	for (uint32_t i = from; i < gy_load_acquire(&heard_count); i++) {
		if (heard[i].step == step && heard[i].loop == loop) {
			return &heard[i];
		}
	}
	cr_assert_fail("step %d of loop %u was not told of", (int)step, (unsigned)loop);
	return NULL;
}

static void expect_at(const struct gyre_listening *event, const char *scheme, uint16_t port)
{
	struct gyre_socket_address address;

	cr_assert_eq(strncmp(event->address, scheme, strlen(scheme)), 0, "%s", event->address);
	cr_assert_eq(gyre_socket_address_parse(event->address, &address), 0);
	cr_assert_eq(gyre_socket_address_port(&address), port);
	cr_assert_eq(event->reason, 0);
}

static void stop_it(struct gyre_address address)
{
	cr_assert_eq(gyre_system_notify(fixture.system, hearer,
					gyre_system_new(fixture.system, place, address)),
		     0);
}

Test(listening_event, tells_of_each_loop_where_it_listens_and_of_the_end)
{
	struct gyre_address acceptor;
	uint16_t port;

	begin_listening(2);
	acceptor = listen_there(&port);
	wait_for(&heard_count, 2);
	expect_at(find(0, GYRE_LISTENING_BEGUN, 0), "tcp://127.0.0.1:", port);
	expect_at(find(0, GYRE_LISTENING_BEGUN, 1), "tcp://127.0.0.1:", port);
	stop_it(acceptor);
	wait_for(&heard_count, 4);
	expect_at(find(2, GYRE_LISTENING_ENDED, 0), "tcp://127.0.0.1:", port);
	expect_at(find(2, GYRE_LISTENING_ENDED, 1), "tcp://127.0.0.1:", port);
	end_listening();
	cr_assert_eq(heard_count, 4);
}

Test(listening_event, tells_that_a_socket_goes_to_another_loop)
{
	uint16_t port;

	begin_listening(2);
	(void)listen_there(&port);
	wait_for(&heard_count, 2);
	cr_assert_eq(resize(1), 0);
	wait_for(&heard_count, 4);
	expect_at(find(2, GYRE_LISTENING_ENDED, 1), "tcp://127.0.0.1:", port);
	expect_at(find(2, GYRE_LISTENING_BEGUN, 0), "tcp://127.0.0.1:", port);
	end_listening();
}

Test(listening_event, tells_why_a_call_could_not_listen)
{
	struct gyre_acceptor_options options = { .init_channel = init_echo, .backlog = 1 };
	struct sockaddr_in taken = { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(taken);
	struct gyre_address acceptor;
	char text[64];
	int fd;

	begin_listening(1);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&taken, sizeof(taken)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&taken, &bytes), 0);
	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", (unsigned)ntohs(taken.sin_port));
	options.bind = text;
	cr_assert_eq(gyre_system_listen(fixture.system, &options, &acceptor), -EADDRINUSE);
	wait_for(&heard_count, 1);
	cr_assert_eq(heard[0].step, GYRE_LISTENING_FAILED);
	cr_assert_eq(heard[0].reason, -EADDRINUSE);
	cr_assert_eq(heard[0].loop, GYRE_LISTENING_NO_LOOP);
	cr_assert_str_eq(heard[0].address, text);
	(void)close(fd);
	fixture.errors = 0; /* the log says so too */
	end_listening();
}

/* ---- datagrams ---- */

static int init_nothing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return 0;
}

static struct gyre_address open_datagrams(const char *bind, const char *connect, uint16_t *ret_port)
{
	const struct gyre_datagram_options options = { .bind = bind,
						       .connect = connect,
						       .init_channel = init_nothing,
						       .one_loop = true,
						       .ret_port = ret_port };
	struct gyre_address actor;

	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	return actor;
}

Test(listening_event, tells_of_a_socket_for_datagrams_unless_it_has_a_peer)
{
	struct gyre_address actor;
	uint16_t port;

	begin_listening(1);
	stop_it(open_datagrams(NULL, "udp://127.0.0.1:9", NULL));
	actor = open_datagrams("udp://127.0.0.1:0", NULL, &port);
	wait_for(&heard_count, 1);
	expect_at(find(0, GYRE_LISTENING_BEGUN, 0), "udp://127.0.0.1:", port);
	stop_it(actor);
	wait_for(&heard_count, 2);
	expect_at(find(1, GYRE_LISTENING_ENDED, 0), "udp://127.0.0.1:", port);
	end_listening();
	cr_assert_eq(heard_count, 2);
}

Test(listening_event, tells_why_a_socket_for_datagrams_could_not_be_had)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:none",
						       .init_channel = init_nothing };
	struct gyre_address actor;

	begin_listening(1);
	cr_assert_lt(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	wait_for(&heard_count, 1);
	cr_assert_eq(heard[0].step, GYRE_LISTENING_FAILED);
	cr_assert_lt(heard[0].reason, 0);
	cr_assert_str_eq(heard[0].address, options.bind);
	fixture.errors = 0;
	end_listening();
}
