/*
 * Datagram channels whose loop is chosen, and those that an actor opens for itself.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/datagram.h>

#include "base/atomic.h"
#include "fixture.h"

TestSuite(datagram_spawn, .timeout = 60);

static struct gyre_socket_address address; /* of the channel */
static uint32_t loop = UINT32_MAX;	   /* that its handler ran on */
static uint32_t ready;
static uint32_t closed;
static struct gyre_datagram_options options;
static struct gyre_address actor;

static void on_active(struct gyre_handler_context *ctx)
{
	gy_store_release(&loop, gyre_self(gyre_context_stack(ctx)).loop);
	gyre_context_fire_active(ctx);
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	(void)ctx;
	(void)gy_fetch_add(&closed, 1);
}

static const struct gyre_handler echo = {
	.name = "echo", .active = on_active, .read = on_read, .inactive = on_inactive
};

static int init_echo(struct gyre_channel *channel, void *arg)
{
	(void)arg;
	return gyre_pipeline_add(channel, GYRE_LAST, &echo, NULL);
}

/* Spawns what the options say. */
static int mount(struct gyre_stack *stack)
{
	expect(gyre_datagram_open(stack, &options, &actor) == 0);
	gy_store_release(&ready, 1);
	return gyre_return(stack);
}

static int stop(struct gyre_stack *stack)
{
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_class opener = { .name = "opener",
					  .mount = mount,
					  .behaviour.notice = stop };

static struct gyre_address open_by_actor(uint32_t loops)
{
	struct gyre_address parent;

	options.init_channel = init_echo;
	options.ret_address = &address;
	fixture_open(loops);
	parent = spawn_outside(&opener, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	while (gy_load_acquire(&ready) == 0) {
		sched_yield();
	}
	return parent;
}

static int client(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static void expect_echo(int fd)
{
	char byte = 'x';

	cr_assert_eq(send(fd, &byte, 1, 0), 1);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1);
}

/* ---- by an actor ---- */

Test(datagram_spawn, opens_a_channel_on_the_actors_loop)
{
	int fd;

	options.bind = "udp://127.0.0.1:0";
	(void)open_by_actor(2);
	fd = client();
	expect_echo(fd);
	cr_expect_eq(gy_load_acquire(&loop), 0);
	cr_expect_eq(actor.loop, 0);
	(void)close(fd);
	fixture_close();
	cr_expect_eq(closed, 1);
}

Test(datagram_spawn, opens_a_channel_on_another_loop)
{
	int fd;

	options.bind = "udp://127.0.0.1:0";
	options.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 2 };
	(void)open_by_actor(3);
	fd = client();
	expect_echo(fd);
	cr_expect_eq(gy_load_acquire(&loop), 2);
	cr_expect_eq(actor.loop, 2);
	(void)close(fd);
	fixture_close();
}

Test(datagram_spawn, ends_the_channel_with_its_parent)
{
	options.bind = "udp://127.0.0.1:0";
	cr_assert_eq(notify_outside(open_by_actor(2), 0), 0);
	while (gy_load_acquire(&closed) == 0) {
		sched_yield();
	}
	fixture_close();
}

Test(datagram_spawn, may_be_one_with_a_certain_peer)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(name);
	char text[64];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&name, bytes), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&name, &bytes), 0);
	(void)snprintf(text, sizeof(text), "udp://127.0.0.1:%u", ntohs(name.sin_port));
	options.connect = text;
	(void)open_by_actor(1);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	expect_echo(fd);
	fixture_close();
	(void)close(fd);
}

static int expect_refusals(struct gyre_stack *stack)
{
	struct gyre_datagram_options wrong = { .init_channel = init_echo };

	expect(gyre_datagram_open(stack, &wrong, NULL) == -EINVAL);
	expect(gyre_datagram_open(stack, NULL, &actor) == -EINVAL);
	wrong.bind = "udp://localhost:0";
	expect(gyre_datagram_open(stack, &wrong, &actor) == -ENOENT);
	wrong.bind = "tcp://127.0.0.1:0";
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EINVAL);
	wrong.bind = "udp://192.0.2.1:0"; /* nobody has that one */
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EADDRNOTAVAIL);
	wrong.bind = "udp://127.0.0.1:0";
	wrong.place = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EINVAL);
	wrong.place = (struct gyre_spawn_options){ .place = (enum gyre_place)77 };
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EINVAL);
	wrong.place = (struct gyre_spawn_options){ 0 };
	wrong.channel.write_high_bytes = 1023;
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EINVAL);
	wrong.channel.write_high_bytes = 0;
	wrong.init_channel = NULL;
	expect(gyre_datagram_open(stack, &wrong, &actor) == -EINVAL);
	return fixture_end(stack);
}

Test(datagram_spawn, refuses_what_cannot_be_and_logs_nothing)
{
	play(1, expect_refusals);
	cr_expect_eq(fixture.line[0], 0, "%s", fixture.line);
}

/* ---- by the program ---- */

static void open_outside(enum gyre_place place, uint32_t number, int wanted)
{
	const struct gyre_datagram_options one = {
		.bind = "udp://127.0.0.1:0",
		.init_channel = init_echo,
		.one_loop = true,
		.place = { .place = place, .loop = number },
	};

	cr_assert_eq(gyre_system_datagram_open(fixture.system, &one, &actor), wanted);
}

Test(datagram_spawn, has_the_loop_that_the_program_names)
{
	uint32_t first;

	fixture_open(2);
	open_outside(GYRE_PLACE_HERE, 0, 0);
	cr_expect_eq(actor.loop, 0);
	open_outside(GYRE_PLACE_LOOP, 1, 0);
	cr_expect_eq(actor.loop, 1);
	open_outside(GYRE_PLACE_LOOP, 2, -EINVAL);
	open_outside((enum gyre_place)77, 0, -EINVAL);
	cr_expect_eq(fixture.errors, 2, "explained");
	fixture.errors = 0;
	open_outside(GYRE_PLACE_ROUND_ROBIN, 0, 0);
	first = actor.loop;
	open_outside(GYRE_PLACE_ROUND_ROBIN, 0, 0);
	cr_expect_neq(actor.loop, first);
	fixture_close();
	cr_expect_eq(closed, 4);
}
