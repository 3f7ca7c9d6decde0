/* Limits of accepting, and the report about it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/listen.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/macros.h"
#include "channel/channel.h"
#include "echo.h"
#include "fixture.h"
#include "net/listen/admission.h"
#include "system/outside_count.h"
#include "system/system.h"

TestSuite(limits, .timeout = 60);

static struct gyre_socket_address address;

static struct gyre_address open_listening(uint32_t loops, struct gyre_acceptor_options *options)
{
	struct gyre_address acceptor;

	if (options->bind == NULL) {
		options->bind = "tcp://127.0.0.1:0";
	}
	if (options->init_channel == NULL) {
		options->init_channel = init_echo;
	}
	options->ret_address = &address;
	fixture_open(loops);
	cr_assert_eq(gyre_system_listen(fixture.system, options, &acceptor), 0);
	return acceptor;
}

static void begin(uint32_t loops, struct gyre_acceptor_options *options)
{
	(void)open_listening(loops, options);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static int connect_there(void)
{
	int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address.storage, address.bytes), 0);
	return fd;
}

static struct gyre_counters counters(void)
{
	struct gyre_counters now;

	cr_assert_eq(gyre_system_counters(fixture.system, &now), 0);
	return now;
}

/* Connects; @served are, and the rest wait until those have gone. */
static void expect_waiting(uint32_t served, uint32_t all)
{
	int fds[32];

	for (uint32_t i = 0; i < all; i++) {
		fds[i] = connect_there();
		if (i < served) {
			cr_expect(echoes(fds[i]));
		}
	}
	while (counters().accepts_held == 0) {
		sched_yield();
	}
	for (uint32_t i = served; i < all; i++) {
		char byte = 'x';

		cr_assert_eq(send(fds[i], &byte, 1, MSG_NOSIGNAL), 1);
		cr_expect_eq(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1, "it has to wait");
	}
	for (uint32_t i = 0; i < all; i++) {
		char byte;

		if (i + served < all) {
			(void)close(fds[i]);
			cr_expect_eq(recv(fds[i + served], &byte, 1, 0), 1, "its turn has come");
		} else {
			(void)close(fds[i]);
		}
	}
}

Test(limits, let_connections_wait_until_others_have_gone)
{
	struct gyre_acceptor_options options = { .connections_max = 2 };

	begin(1, &options);
	expect_waiting(2, 6);
	fixture_close();
	cr_expect_eq(fixture.counters.refused_full, 0);
	cr_expect_eq(fixture.counters.accepted, 6);
}

Test(limits, may_be_those_of_each_loop)
{
	struct gyre_acceptor_options options = { .loop_connections_max = 2, .listeners = 1 };

	begin(3, &options);
	expect_waiting(6, 12);
	fixture_close();
}

Test(limits, are_those_of_all_loops_together)
{
	enum { MAX = 4, ALL = 24 };
	struct gyre_acceptor_options options = { .connections_max = MAX };
	int fds[ALL];
	char byte = 'x';

	begin(3, &options);
	for (uint32_t i = 0; i < ALL; i++) {
		fds[i] = connect_there();
		cr_assert_eq(send(fds[i], &byte, 1, MSG_NOSIGNAL), 1);
	}
	/* Who is served closes, and all are served in the end, never more than the limit at a time.
	 */
	for (uint32_t left = ALL; left > 0;) {
		uint32_t served = 0;

		for (uint32_t i = 0; i < ALL; i++) {
			served +=
				fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
		}
		cr_assert_leq(served, MAX);
		for (uint32_t i = 0; i < ALL && served > 0; i++) {
			if (fds[i] >= 0 && recv(fds[i], &byte, 1, MSG_DONTWAIT) == 1) {
				(void)close(fds[i]);
				fds[i] = -1;
				left--;
				break;
			}
		}
	}
	fixture_close();
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) <= 0;
}

Test(limits, close_what_is_too_much_if_that_is_wanted)
{
	struct gyre_acceptor_options options = { .connections_max = 2, .refuse = true };
	int fds[5];

	begin(1, &options);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_there();
		cr_expect(i < 2 ? echoes(fds[i]) : is_closed(fds[i]));
	}
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	fixture_close();
	cr_expect_eq(fixture.counters.refused_full, 3);
	cr_expect_eq(fixture.counters.refused_rate, 0);
}

Test(limits, of_the_rate_let_connections_wait)
{
	struct gyre_acceptor_options options = { .accept_rate = 50 };
	uint64_t began_ns = gy_clock_machine_ns();
	int fds[12];

	(void)open_listening(1, &options);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_there(); /* all are there before the first is accepted */
	}
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		cr_expect(echoes(fds[i]));
	}
	/* Six may come at once: 100 ms ahead, at 20 ms each; and then one each 20 ms. */
	cr_expect_geq(gy_clock_machine_ns() - began_ns, GYRE_MILLISECONDS(6 * 20 - 1));
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	fixture_close();
	cr_expect_gt(fixture.counters.accepts_held, 0);
}

static uint64_t read_still(void *arg)
{
	return *(const uint64_t *)arg;
}

Test(limits, of_the_rate_close_what_is_too_much_if_that_is_wanted)
{
	struct gyre_acceptor_options options = { .accept_rate = 1, .refuse = true };
	uint64_t now_ns = gy_clock_machine_ns();
	int fds[5];

	(void)open_listening(1, &options);
	/* However long it takes, it is all in the same second. */
	fixture.system->homes.homes[0].loop.clock =
		(struct gy_clock){ .read_ns = read_still, .arg = &now_ns };
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_there();
		cr_expect(i == 0 ? echoes(fds[i]) : is_closed(fds[i]));
	}
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	fixture_close();
	cr_expect_eq(fixture.counters.refused_rate, 4);
	cr_expect_eq(fixture.counters.refused_full, 0);
}

static int refuse_init(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EPERM;
}

Test(limits, do_not_count_what_was_refused_by_its_initialiser)
{
	struct gyre_acceptor_options options = { .connections_max = 1,
						 .init_channel = refuse_init };

	begin(1, &options);
	for (int i = 0; i < 10; i++) {
		int fd = connect_there();

		cr_expect(is_closed(fd));
		(void)close(fd);
	}
	fixture_close();
}

Test(limits, end_with_connections_that_wait)
{
	struct gyre_acceptor_options options = { .connections_max = 1 };
	int fds[4];

	begin(2, &options);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = connect_there();
	}
	while (counters().accepts_held == 0) {
		sched_yield();
	}
	gyre_system_stop(fixture.system);
	for (size_t i = 0; i < gy_countof(fds); i++) {
		cr_expect(is_closed(fds[i]));
		(void)close(fds[i]);
	}
	fixture_close();
}

/* As a loop says that does not drain yet. */
static void tell_of_room(struct gyre_address acceptor)
{
	struct gyre_mail *mail = gy_mail_get_outside(&gy_type_room);

	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_EVENT;
	mail->to_slot = acceptor.slot;
	mail->to_cookie = acceptor.cookie;
	gy_mail_from_nobody(mail);
	(void)gy_outside_count(fixture.system);
	gy_loop_post(&gy_homes_of(fixture.system)->homes[0].loop, &mail->node);
}

static void await_closed_listener(void)
{
	int fd;
	int r;

	do {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		cr_assert_geq(fd, 0);
		r = connect(fd, (struct sockaddr *)&address.storage, address.bytes);
		(void)close(fd);
	} while (r == 0);
}

Test(limits, are_nothing_to_an_acceptor_that_has_closed)
{
	struct gyre_acceptor_options options = { .connections_max = 1 };
	struct gyre_address acceptor = open_listening(1, &options);
	int fd;

	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fd = connect_there();
	cr_expect(echoes(fd));
	gyre_system_stop(fixture.system);
	await_closed_listener();
	tell_of_room(acceptor);
	cr_expect(is_closed(fd)); /* its half: it waits for ours */
	(void)close(fd);
	fixture_close();
}

Test(limits, have_bounds)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .accept_rate = 1000000001 };

	fixture_open(1);
	cr_expect_eq(gyre_system_listen(fixture.system, &options, NULL), -EINVAL);
	cr_expect_eq(fixture.errors, 1, "explained");
	fixture.errors = 0;
	fixture_close();
}

/* ---- the report ---- */

static const char letters[] = "barRcx";
static struct gyre_address reported; /* the channel of the connection that is let in */

static int report(struct gyre_stack *stack, const struct gyre_listen_event *event,
		  struct gyre_channel *channel, void *arg)
{
	bool has_address = event->step <= GYRE_LISTEN_REFUSED;

	expect(stack != NULL && gyre_system_of(stack) == fixture.system);
	expect(arg == &fixture);
	expect((channel != NULL) == (event->step >= GYRE_LISTEN_REGISTERED));
	expect((event->address.bytes != 0) == has_address);
	expect(gyre_address_is_nobody(event->channel) == has_address);
	if (channel != NULL) {
		expect(gyre_address_equal(event->channel, gyre_channel_address(channel)));
		expect(event->step == GYRE_LISTEN_REGISTERED ||
		       gyre_address_equal(event->channel, reported));
		reported = event->channel;
	}
	trace(letters[event->step]);
	return 0;
}

Test(limits, are_reported_with_each_step_of_a_connection)
{
	struct gyre_acceptor_options options = {
		.report = report, .report_arg = &fixture, .connections_max = 1, .refuse = true
	};
	int fds[2];

	begin(1, &options);
	fds[0] = connect_there();
	cr_expect(echoes(fds[0]));
	fds[1] = connect_there();
	cr_expect(is_closed(fds[1]));
	(void)close(fds[0]);
	(void)close(fds[1]);
	fixture_close();
	cr_expect_str_eq(traced, "baRcrx");
}

static void look_for_address(struct gyre_handler_context *ctx)
{
	expect(gyre_context_channel(ctx)->mailbox == NULL);
	trace('n');
	gyre_context_fire_active(ctx);
}

static int init_looking(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler looking = { .active = look_for_address };
	int r = gyre_pipeline_add(channel, GYRE_LAST, &looking, arg);

	return r < 0 ? r : init_echo(channel, arg);
}

Test(limits, without_a_report_give_no_channel_an_address)
{
	struct gyre_acceptor_options options = { .init_channel = init_looking,
						 .connections_max = 1 };
	int fd;

	begin(1, &options);
	fd = connect_there();
	cr_expect(echoes(fd));
	(void)close(fd);
	fixture_close();
	cr_expect_str_eq(traced, "n");
}

static int report_refusal(struct gyre_stack *stack, const struct gyre_listen_event *event,
			  struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)channel;
	(void)arg;
	return event->step == GYRE_LISTEN_ACCEPTED ? -EACCES : 0;
}

Test(limits, may_be_set_by_the_report)
{
	struct gyre_acceptor_options options = { .report = report_refusal, .connections_max = 1 };

	begin(1, &options);
	for (int i = 0; i < 3; i++) {
		int fd = connect_there();

		cr_expect(is_closed(fd));
		(void)close(fd);
	}
	fixture_close();
	cr_expect_eq(fixture.counters.refused_report, 3);
}
