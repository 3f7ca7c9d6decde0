/*
 * Successors of processes whose channels have actors of the program: a connection and its actor
 * stay with the process that has them, and what the successor takes over has actors there.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>
#include <gyre/datagram.h>
#include <gyre/handover.h>
#include <gyre/listen.h>

#include "base/atomic.h"
#include "fixture.h"

static char at[64];

static void begin(void)
{
	(void)snprintf(at, sizeof(at), "unix:@gyre-handover-actor-%d", (int)getpid());
}

TestSuite(handover_actor, .init = begin, .timeout = 60);

struct owner {
	char process;
	char reads;
};

static uint32_t cleaned; /* atomic */

static int mount(struct gyre_stack *stack)
{
	struct owner *owner = (struct owner *)gyre_state(stack);

	owner->process = *(const char *)gyre_message(stack, gyre_channel_attached)->arg;
	owner->reads = '0';
	return gyre_return(stack);
}

static void clean(void *state)
{
	(void)state;
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class owner_class = {
	.name = "owner", .state_bytes = sizeof(struct owner), .mount = mount, .clean = clean
};

/* Answers with the process, and with the number of reads of this channel's actor. */
static void count_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct owner *owner = (struct owner *)gyre_channel_actor_state(channel);
	const struct gyre_socket_address *peer = gyre_buffer_peer(data);
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	owner->reads++;
	expect(gyre_buffer_append(buffer, owner, sizeof(*owner)) == 0);
	if (peer != NULL) {
		expect(gyre_buffer_set_peer(buffer, peer) == 0);
	}
	(void)gyre_context_write(ctx, buffer);
	gyre_buffer_destroy(data);
}

static const struct gyre_handler counting = { .name = "counting", .read = count_read };

static int init(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &counting, arg);
}

static struct gyre_system_options options_of(void)
{
	return (struct gyre_system_options){ .loops = 2,
					     .handover = at,
					     .drain_timeout_ns = GYRE_SECONDS(1000) };
}

static struct gyre_socket_address address;

static int connect_there(int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static void expect_answer(int fd, char process, char reads)
{
	char bytes[2] = { 0 };

	cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	cr_expect_eq(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), 2);
	cr_expect_eq(bytes[0], process, "%c", bytes[0]);
	cr_expect_eq(bytes[1], reads, "%c", bytes[1]);
}

/* The first goes on accepting for a while; how many it has still got. */
static int connect_to_successor(uint32_t *others)
{
	char bytes[2] = { 0 };
	int fd;

	for (;;) {
		fd = connect_there(SOCK_STREAM);
		cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
		cr_assert_eq(recv(fd, bytes, sizeof(bytes), MSG_WAITALL), 2);
		cr_expect_eq(bytes[1], '1');
		if (bytes[0] == 'b') {
			return fd;
		}
		++*others;
		(void)close(fd);
	}
}

static void open_first(void)
{
	const struct gyre_system_options options = options_of();

	fixture_open_with(&options);
}

/* Which has opened the same, and takes over. */
static struct gyre_system *start_successor(void (*open_there)(struct gyre_system *system,
							      const char *process))
{
	const struct gyre_system_options options = options_of();
	struct gyre_system *successor;

	cr_assert_eq(gyre_system_create(&options, &successor), 0);
	open_there(successor, "b");
	cr_assert_eq(gyre_system_start(successor), 0);
	return successor;
}

/* ---- connections ---- */

static void listen_in(struct gyre_system *system, const char *process)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init,
						       .init_arg = (void *)(uintptr_t)process,
						       .actor_class = &owner_class,
						       .ret_address = &address };

	cr_assert_eq(gyre_system_listen(system, &options, NULL), 0);
}

Test(handover_actor, leaves_a_connection_and_its_actor_together_and_makes_the_next_ones_there)
{
	struct gyre_system *successor;
	uint32_t others = 0;
	int old;
	int new;

	open_first();
	listen_in(fixture.system, "a");
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	old = connect_there(SOCK_STREAM);
	expect_answer(old, 'a', '1');
	successor = start_successor(listen_in);
	new = connect_to_successor(&others);
	expect_answer(old, 'a', '2');
	expect_answer(new, 'b', '2');
	(void)close(old);
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	cr_expect_eq(gy_load_acquire(&cleaned), 1 + others);
	expect_answer(new, 'b', '3');
	(void)close(new);
	gyre_system_destroy(successor);
	fixture_close();
	cr_expect_eq(cleaned, 2 + others);
}

/* ---- datagrams ---- */

static void open_in(struct gyre_system *system, const char *process)
{
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init,
						       .init_arg = (void *)(uintptr_t)process,
						       .actor_class = &owner_class,
						       .one_loop = true,
						       .ret_address = &address };

	cr_assert_eq(gyre_system_datagram_open(system, &options, NULL), 0);
}

Test(handover_actor, ends_the_actor_of_a_socket_for_datagrams_and_makes_another_there)
{
	struct gyre_system *successor;
	int fd;

	open_first();
	open_in(fixture.system, "a");
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_there(SOCK_DGRAM);
	expect_answer(fd, 'a', '1');
	successor = start_successor(open_in);
	cr_expect_eq(gyre_system_wait(fixture.system), 0, "it ends by itself");
	cr_expect_eq(gy_load_acquire(&cleaned), 1);
	expect_answer(fd, 'b', '1');
	(void)close(fd);
	gyre_system_destroy(successor);
	fixture_close();
	cr_expect_eq(cleaned, 2);
}
