/*
 * Deadlines: an ask may be dropped late, never early, however far a clock lies behind.
 */
#include "actor/mail/mail.h"
#include "fixture.h"
#include "lagging.h"

/* ---- by a clock of its own ---- */

static uint64_t virtual_ns;

static uint64_t read_virtual(void *arg)
{
	(void)arg;
	return virtual_ns;
}

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % bound;
}

enum { ASKS = 64, STEPS = 200000 };

struct pending {
	uint64_t asked_ns; /* 0 for none */
	uint64_t timeout_ns;
	struct gyre_mail *mail;
};

static struct pending pending[ASKS];
static struct gyre_mail mails[ASKS];
static uint32_t passed_count;

static void ask_now(struct pending *ask, const struct gy_loop *loop)
{
	ask->asked_ns = virtual_ns;
	ask->timeout_ns = 1 + random_below(GYRE_MILLISECONDS(1) << random_below(12));
	ask->mail->deadline = gy_patience(ask->timeout_ns);
	gy_mail_set_deadline(ask->mail, loop->now_ns);
}

/* What is past must have waited for its time-out; the next ask then takes its place. */
static void look_at(struct pending *ask, const struct gy_loop *loop)
{
	if (ask->asked_ns != 0 && gy_deadline_passed(ask->mail->deadline, loop->sure_ns)) {
		cr_assert_geq(virtual_ns - ask->asked_ns, ask->timeout_ns);
		ask->asked_ns = 0;
		passed_count++;
	}
}

Test(deadline, is_never_early_whatever_passes_between_the_readings_of_the_clock)
{
	static struct gy_loop loop;

	virtual_ns = GYRE_SECONDS(1000);
	loop.clock = (struct gy_clock){ .read_ns = read_virtual };
	gy_loop_set_clock(&loop, virtual_ns, 0);
	for (uint32_t i = 0; i < ASKS; i++) {
		pending[i].mail = &mails[i];
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		struct pending *ask = &pending[random_below(ASKS)];

		virtual_ns += random_below(GYRE_MICROSECONDS(1) << random_below(18));
		if (ask->asked_ns == 0) {
			ask_now(ask, &loop);
		}
		virtual_ns += random_below(GYRE_MICROSECONDS(1) << random_below(18));
		gy_loop_read_clock(&loop);
		if (random_below(4) == 0) {
			virtual_ns += random_below(GYRE_MILLISECONDS(1) << random_below(10));
			gy_loop_read_clock_waited(&loop);
		}
		for (uint32_t k = 0; k < ASKS; k++) {
			look_at(&pending[k], &loop);
		}
	}
	cr_assert_gt(passed_count, STEPS / 100);
}

Test(deadline, is_late_by_no_more_than_the_lag_and_a_part_of_the_time_out)
{
	static struct gy_loop loop;
	static struct gyre_mail ask;

	virtual_ns = GYRE_SECONDS(1000);
	loop.clock = (struct gy_clock){ .read_ns = read_virtual };
	gy_loop_set_clock(&loop, virtual_ns, GYRE_MILLISECONDS(30));
	ask.deadline = gy_patience(GYRE_MILLISECONDS(1600));
	gy_mail_set_deadline(&ask, loop.now_ns);
	while (!gy_deadline_passed(ask.deadline, loop.sure_ns)) {
		virtual_ns += GYRE_MILLISECONDS(1);
		gy_loop_read_clock(&loop);
	}
	cr_assert_leq(virtual_ns - GYRE_SECONDS(1000), GYRE_MILLISECONDS(1600 + 100 + 30 + 5));
}

Test(deadline, that_is_years_away_is_not_carried)
{
	cr_assert_eq(gy_patience(GYRE_FOREVER), 0);
	cr_assert_eq(gy_patience(GY_DEADLINE_SPAN_NS + 1), 0);
	cr_assert_neq(gy_patience(GY_DEADLINE_SPAN_NS), 0);
}

/* ---- by the machine's clocks ---- */

static uint32_t target_loop;

static int ask_adder(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) == 0) {
		lagging_frame(stack)->to = spawn_on(stack, &adder_class, target_loop);
	}
	return lagging_asks(stack);
}

Test(deadline, is_not_early_on_one_loop_when_the_coarse_clock_lags)
{
	play(1, ask_adder);
	cr_assert_eq(lagging_early, 0);
}

Test(deadline, is_not_early_between_two_loops_when_the_coarse_clock_lags)
{
	target_loop = 1;
	play(2, ask_adder);
	cr_assert_eq(lagging_early, 0);
}
