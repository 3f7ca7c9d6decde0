/* What is reported of sockets for datagrams: where each is bound, and why its channel is gone. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "fixture.h"
#include "net/datagram_rig.h"

TestSuite(datagram_report, .timeout = 60);

enum { EVENTS_MAX = 8, LOOPS = 2 };

static struct {
	uint32_t count; /* atomic where there are several loops */
	struct gyre_datagram_event events[EVENTS_MAX];
	struct gyre_channel *channels[EVENTS_MAX];
	struct gyre_address addresses[EVENTS_MAX];
	bool has_handlers[EVENTS_MAX];
	bool has_closed[EVENTS_MAX];
	void *arg;
} told;

static const struct gyre_handler silent = { .name = "silent" };

static void note(struct gyre_stack *stack, const struct gyre_datagram_event *event,
		 struct gyre_channel *channel, void *arg)
{
	uint32_t at = gy_fetch_add(&told.count, 1);

	expect(at < EVENTS_MAX && !gyre_address_is_nobody(gyre_self(stack)));
	told.events[at] = *event;
	told.channels[at] = channel;
	told.addresses[at] = gyre_channel_address(channel);
	told.has_handlers[at] = gyre_pipeline_get(channel, "noting") != NULL;
	told.has_closed[at] = datagrams.closed > 0;
	told.arg = arg;
}

static void expect_event(uint32_t at, enum gyre_datagram_step step, int reason,
			 const struct gyre_socket_address *address)
{
	cr_assert_lt(at, told.count);
	cr_expect_eq(told.events[at].step, step);
	cr_expect_eq(told.events[at].reason, reason);
	cr_expect(gyre_socket_address_equal(&told.events[at].address, address));
}

Test(datagram_report, tells_where_it_is_bound_and_why_it_was_closed, .init = datagram_begin,
     .fini = datagram_end)
{
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						 .report = note,
						 .report_arg = &told };
	struct gyre_socket_address at = datagram_open_with(&options, NULL);

	cr_assert_eq(told.count, 1);
	expect_event(0, GYRE_DATAGRAM_BOUND, 0, &at);
	cr_expect_eq(told.channels[0], datagrams.channel);
	cr_expect(told.has_handlers[0]);
	cr_expect_eq(told.arg, &told);
	gyre_channel_abort(datagrams.channel, -ENETDOWN);
	datagram_until_closed();
	cr_assert_eq(told.count, 2);
	expect_event(1, GYRE_DATAGRAM_CLOSED, -ENETDOWN, &at);
	cr_expect_eq(told.channels[1], told.channels[0]);
	cr_expect(told.has_closed[1], "after its handlers");
	cr_expect_not(gyre_address_is_nobody(told.events[0].channel));
	cr_expect(gyre_address_equal(told.events[0].channel, told.addresses[0]));
	cr_expect(gyre_address_equal(told.events[1].channel, told.addresses[0]), "to the last");
}

static int init_refusing(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EPERM;
}

static bool are_told(struct rig *rig, void *arg)
{
	(void)rig;
	return told.count >= *(const uint32_t *)arg;
}

Test(datagram_report, tells_of_a_channel_that_gets_no_handlers, .init = datagram_begin,
     .fini = datagram_end)
{
	struct gyre_socket_address at;
	const struct gyre_datagram_options options = { .bind = datagram_name("refused"),
						       .init_channel = init_refusing,
						       .report = note,
						       .ret_address = &at };
	uint32_t one = 1;

	cr_assert_eq(gyre_system_datagram_open((struct gyre_system *)(void *)&datagram_rig.homes,
					       &options, NULL),
		     0);
	cr_assert(rig_until(&datagram_rig, are_told, &one));
	expect_event(0, GYRE_DATAGRAM_CLOSED, -EPERM, &at);
	datagram_rig.warnings_expected = datagram_rig.logged;
}

static int bind_elsewhere(struct gyre_handler_context *ctx, const char *local)
{
	(void)local;
	return gyre_context_bind(ctx, "udp://127.0.0.2:0");
}

static int init_elsewhere(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler elsewhere = { .bind = bind_elsewhere };

	return gyre_pipeline_add(channel, GYRE_LAST, &elsewhere, arg);
}

Test(datagram_report, tells_the_address_that_its_handlers_chose, .init = datagram_begin,
     .fini = datagram_end)
{
	struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						 .init_channel = init_elsewhere,
						 .report = note };
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	(void)datagram_open_with(&options, NULL);
	cr_assert_eq(told.count, 1);
	cr_assert_geq(gyre_socket_address_format(&told.events[0].address, sizeof(text), text), 0);
	cr_expect_not_null(strstr(text, "127.0.0.2:"), "%s", text);
}

static int init_silent(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &silent, arg);
}

Test(datagram_report, tells_of_the_sockets_of_all_loops)
{
	struct gyre_socket_address at;
	struct gyre_address actor;
	const struct gyre_datagram_options options = { .bind = "udp://127.0.0.1:0",
						       .init_channel = init_silent,
						       .report = note,
						       .ret_address = &at };
	uint32_t steps[2] = { 0 };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_datagram_open(fixture.system, &options, &actor), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	fixture_close();
	cr_assert_eq(told.count, 2 * LOOPS);
	for (uint32_t i = 0; i < told.count; i++) {
		steps[told.events[i].step]++;
		cr_expect_eq(told.events[i].reason, 0);
		cr_expect(gyre_socket_address_equal(&told.events[i].address, &at));
	}
	cr_expect_eq(steps[GYRE_DATAGRAM_BOUND], LOOPS);
	cr_expect_eq(steps[GYRE_DATAGRAM_CLOSED], LOOPS);
}
