/*
 * What peers do to a listener's connections before, and just when, they become channels: nothing
 * of it is lost, leaked, or stands in the way of others.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <gyre/listen.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/rig.h"
#include "echo.h"
#include "system/system.h"

TestSuite(server_fault, .timeout = 110);

enum { STAGES = 12, CROWD = 50, ROUNDS = 1000 };

static struct rig rig;
static uint16_t port;

static void begin(void)
{
	struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						 .init_channel = init_echo,
						 .ret_port = &port };

	rig_init(&rig, NULL);
	cr_assert_eq(gyre_system_listen((struct gyre_system *)(void *)&rig.homes, &options, NULL),
		     0);
	rig_settle(&rig);
}

static void end(void)
{
	rig_fini(&rig); /* it sees that as many are closed as were accepted */
}

static int connect_to_it(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void reset(int fd)
{
	const struct linger none = { .l_onoff = 1 };

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	cr_assert_eq(close(fd), 0);
}

static void expect_echo(int fd, uint64_t base)
{
	struct rig_stream stream = {
		.fd = fd, .sent = base, .received = base, .total = base + 10000
	};

	cr_expect(rig_until(&rig, rig_streamed, &stream));
	cr_expect(!stream.wrong && !stream.ended);
}

static void expect_still_serves(void)
{
	int fd = connect_to_it();

	expect_echo(fd, 0);
	(void)close(fd);
}

static void turn(int times)
{
	for (int i = 0; i < times; i++) {
		rig_turn(&rig);
	}
}

Test(server_fault, reset_before_its_connection_is_accepted_hurts_nobody, .init = begin, .fini = end)
{
	int fds[CROWD];

	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_to_it();
	}
	for (size_t i = 0; i < gy_countof(fds); i++) {
		reset(fds[i]);
	}
	expect_still_serves();
}

Test(server_fault, reset_at_any_stage_of_being_accepted_hurts_nobody, .init = begin, .fini = end)
{
	for (int stage = 0; stage < STAGES; stage++) {
		for (int said = 0; said < 2; said++) {
			int fd = connect_to_it();

			cr_assert_eq(send(fd, "hello", (size_t)said * 5, MSG_NOSIGNAL), said * 5);
			turn(stage);
			reset(fd);
		}
	}
	expect_still_serves();
}

Test(server_fault, end_of_a_peer_before_it_is_accepted_lets_it_have_its_answer, .init = begin,
     .fini = end)
{
	for (int stage = 0; stage < STAGES; stage++) {
		struct rig_stream stream = { .total = 1000 };

		stream.fd = connect_to_it();
		rig_stream_send(&stream);
		turn(stage);
		cr_assert_eq(shutdown(stream.fd, SHUT_WR), 0);
		cr_assert(rig_until(&rig, rig_stream_ended, &stream));
		cr_expect_eq(stream.received, 1000);
		cr_expect_eq(stream.error, 0);
		cr_expect(!stream.wrong);
		(void)close(stream.fd);
	}
}

static bool is_closed(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.channel_ops->open_count(&r->home) == 0;
}

static void end_at_stage(bool abort, int stage)
{
	int fds[10];

	begin();
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_to_it();
	}
	turn(stage);
	if (abort) {
		rig.home.channel_ops->abort(&rig.home);
	} else {
		rig.home.channel_ops->drain(&rig.home);
	}
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	end();
}

Test(server_fault, end_of_the_system_at_any_stage_of_being_accepted_leaves_nothing)
{
	for (int stage = 0; stage < STAGES; stage++) {
		end_at_stage(true, stage);
		end_at_stage(false, stage);
	}
}

Test(server_fault, reuse_of_descriptors_of_reset_connections_mixes_up_no_bytes, .init = begin,
     .fini = end)
{
	unsigned char bytes[4096];

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		int old = connect_to_it();
		int new;

		rig_fill(bytes, sizeof(bytes), round << 32);
		cr_assert_eq(send(old, bytes, sizeof(bytes), MSG_NOSIGNAL), (ssize_t)sizeof(bytes));
		turn((int)(round % STAGES));
		reset(old);
		new = connect_to_it();
		expect_echo(new, round << 40);
		reset(new);
	}
	cr_expect_eq(gy_channels_counters(&rig.home)->accepted, 2 * ROUNDS);
}
