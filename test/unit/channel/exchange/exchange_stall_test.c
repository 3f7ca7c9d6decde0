/* Peers that leave an answer out for good: when the channel ends for it, and when it does not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange_rig.h"

TestSuite(exchange_stall, .timeout = 60);

enum { STALL_S = 10 };

#define STALL_NS GYRE_SECONDS(STALL_S)
#define LONG_NS	 GYRE_SECONDS(1000)

static void begin(bool ids, uint64_t stall_ns)
{
	static struct gyre_exchange_options options;

	options = (struct gyre_exchange_options){ .asks_max = 4,
						  .ids = ids,
						  .ask_stall_ns = stall_ns };
	x_ask(&options);
}

static struct asked *ask(int64_t value, uint64_t timeout_ns)
{
	struct asked *asked = x_ask_for(value, timeout_ns);

	cr_expect_eq(x_expect().value, value);
	return asked;
}

static void answer(struct asked *asked, uint64_t id, int64_t value)
{
	x_send(id, value);
	rig_settle(&x.rig);
	cr_expect_eq(asked->error, 0);
	cr_expect_eq(asked->value, value);
}

static void expect_open(void)
{
	rig_settle(&x.rig);
	cr_expect_eq(x.inactive, 0);
}

static void expect_stalled(void)
{
	cr_expect(rig_until(&x.rig, x_is_inactive, NULL));
	cr_expect_eq(x.reason, -ETIMEDOUT);
}

Test(exchange_stall, closes_the_channel_and_fails_all_that_wait)
{
	struct asked *asked[6];

	begin(false, STALL_NS);
	for (int i = 0; i < 6; i++) {
		asked[i] = x_ask_for(i, LONG_NS);
	}
	rig_pass(&x.rig, STALL_NS - GYRE_MILLISECONDS(1));
	expect_open();
	rig_pass(&x.rig, GYRE_MILLISECONDS(2));
	expect_stalled();
	rig_settle(&x.rig);
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(asked[i]->error, -ETIMEDOUT);
	}
	x_end();
}

Test(exchange_stall, comes_after_half_a_minute_by_default_though_the_asker_has_gone_before)
{
	struct asked *asked;

	begin(false, 0);
	asked = ask(1, 0);
	rig_pass(&x.rig, GYRE_SECONDS(29));
	cr_expect_eq(asked->error, -ETIMEDOUT);
	expect_open();
	rig_pass(&x.rig, GYRE_SECONDS(2));
	expect_stalled();
	x_end();
}

Test(exchange_stall, never_comes_where_it_is_told_so)
{
	begin(false, GYRE_ASK_STALL_NEVER);
	(void)ask(1, 0);
	rig_pass(&x.rig, GYRE_SECONDS(100000));
	expect_open();
	x_end();
}

Test(exchange_stall, does_not_come_while_there_is_one_answer_after_the_other)
{
	struct asked *asked[4];

	begin(false, STALL_NS);
	for (int i = 0; i < 4; i++) {
		asked[i] = ask(i, LONG_NS);
	}
	for (int i = 0; i < 3; i++) {
		rig_pass(&x.rig, STALL_NS - GYRE_SECONDS(1));
		answer(asked[i], 0, 100 + i);
	}
	rig_pass(&x.rig, STALL_NS - GYRE_SECONDS(1));
	expect_open();
	rig_pass(&x.rig, GYRE_SECONDS(2));
	expect_stalled();
	x_end();
}

Test(exchange_stall, does_not_come_while_nothing_is_asked)
{
	begin(false, STALL_NS);
	for (int i = 0; i < 3; i++) {
		answer(ask(i, 0), 0, 100 + i);
		rig_pass(&x.rig, 10 * STALL_NS);
		expect_open();
	}
	x_end();
}

Test(exchange_stall, waits_for_ever_for_one_that_may_take_that_long)
{
	struct asked *patient;
	struct asked *behind;

	begin(false, STALL_NS);
	patient = ask(1, GYRE_FOREVER);
	behind = ask(2, LONG_NS);
	rig_pass(&x.rig, 10 * STALL_NS);
	expect_open();
	answer(patient, 0, 11);
	rig_pass(&x.rig, STALL_NS - GYRE_SECONDS(1));
	expect_open();
	rig_pass(&x.rig, GYRE_SECONDS(2));
	expect_stalled();
	cr_expect_eq(behind->error, -ETIMEDOUT);
	x_end();
}

Test(exchange_stall, is_not_seen_in_an_answer_that_has_come_and_is_not_read)
{
	struct asked *asked;

	begin(false, STALL_NS);
	asked = ask(1, LONG_NS);
	x_send(0, 11);
	x.rig.now_ns += 10 * STALL_NS; /* as for a process that was stopped */
	rig_settle(&x.rig);
	cr_expect_eq(asked->error, 0);
	expect_open();
	x_end();
}

Test(exchange_stall, does_not_come_while_the_channel_does_not_read)
{
	begin(false, STALL_NS);
	(void)ask(1, LONG_NS);
	gyre_channel_set_auto_read(x.channel, false);
	rig_pass(&x.rig, 5 * STALL_NS);
	expect_open();
	gyre_channel_set_auto_read(x.channel, true);
	rig_pass(&x.rig, 2 * STALL_NS);
	rig_pass(&x.rig, GYRE_SECONDS(1));
	expect_stalled();
	x_end();
}

Test(exchange_stall, is_forgotten_with_an_ask_that_cannot_be_written)
{
	begin(false, STALL_NS);
	(void)x_ask_for(-EMSGSIZE, 0);
	rig_pass(&x.rig, 5 * STALL_NS);
	expect_open();
	x_end();
}

Test(exchange_stall, is_forgotten_when_the_protocol_leaves_the_pipeline)
{
	begin(false, STALL_NS);
	(void)ask(1, LONG_NS);
	gyre_context_remove(x.ctx);
	gyre_buffer_destroy(x.partial);
	x.partial = NULL;
	rig_pass(&x.rig, 5 * STALL_NS);
	expect_open();
	x_end();
}

/* ---- with ids ---- */

Test(exchange_stall, closes_a_channel_with_ids_on_which_nothing_comes)
{
	begin(true, STALL_NS);
	for (int i = 0; i < 20; i++) {
		(void)x_ask_for(i, GYRE_SECONDS(2));
	}
	rig_pass(&x.rig, STALL_NS - GYRE_SECONDS(1));
	expect_open();
	rig_pass(&x.rig, GYRE_SECONDS(2));
	expect_stalled();
	x_end();
}

Test(exchange_stall, is_none_where_one_answer_with_an_id_is_lost_and_others_come)
{
	begin(true, STALL_NS);
	(void)ask(0, GYRE_SECONDS(1));
	for (int i = 1; i < 10; i++) {
		struct asked *asked = x_ask_for(i, LONG_NS);
		uint64_t id = x_expect().id;

		rig_pass(&x.rig, GYRE_SECONDS(STALL_S / 2));
		answer(asked, id, 100 + i);
	}
	rig_pass(&x.rig, 10 * STALL_NS);
	expect_open();
	x_end();
}

Test(exchange_stall, is_seen_behind_asks_with_ids_that_may_take_for_ever)
{
	begin(true, STALL_NS);
	(void)ask(1, GYRE_FOREVER);
	rig_pass(&x.rig, 5 * STALL_NS);
	expect_open();
	(void)ask(2, LONG_NS);
	rig_pass(&x.rig, STALL_NS - GYRE_SECONDS(1));
	expect_open();
	rig_pass(&x.rig, GYRE_SECONDS(2));
	expect_stalled();
	x_end();
}

/* ---- misuse ---- */

Test(exchange_stall, has_bounds)
{
	const struct gyre_exchange_options brief = { .request = NULL,
						     .ask_stall_ns = GYRE_MILLISECONDS(1) - 1 };
	struct gyre_exchange_options options;

	begin(false, GYRE_SECONDS(86400));
	options = brief;
	options.ask = ((const struct gyre_exchange_options *)gyre_context_arg(x.ctx))->ask;
	cr_expect_eq(gyre_exchange_open(x.ctx, &options), -EINVAL);
	options.ask_stall_ns = GYRE_SECONDS(86400) + 1;
	cr_expect_eq(gyre_exchange_open(x.ctx, &options), -EINVAL);
	options.ask_stall_ns = GYRE_MILLISECONDS(1);
	cr_expect_eq(gyre_exchange_open(x.ctx, &options), -EEXIST);
	x_end();
}
