/*
 * Making mail without memory, from each allocation on: what a message owns is given back, and the
 * call that is given no mail says so.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include <gyre/move.h>
#include <gyre/tail.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "fixture.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_mail, .timeout = 120);

struct slots {
	uint32_t count;
	uint64_t values[];
};

static uint32_t destroyed;

static void slots_destroy(struct slots *slots)
{
	for (uint32_t i = 0; i < slots->count; i++) {
		expect(slots->values[i] == 0);
	}
	destroyed++;
}

GYRE_MESSAGE_TAIL_OWNING(slots, 0x1530, values, count, slots_destroy);

/* Of two pools and of none. */
static const uint32_t counts[] = { 1, 500, 100000 };

static uint32_t runs;
static uint32_t failures;
static uint32_t failures_of_all; /* rounds */

static int make_slots(struct gyre_stack *stack)
{
	runs++;
	for (size_t i = 0; i < gy_countof(counts); i++) {
		struct gyre_mail *mail = gyre_new_tail(stack, slots, counts[i]);
		const bool made = mail != NULL;
		int r = gyre_notify(stack, GYRE_NOBODY, mail);

		expect(r == (made ? -ESRCH : -ENOMEM));
		failures += !made;
	}
	return gyre_return(stack);
}

static const struct gyre_class maker_class = { .name = "maker", .behaviour.notice = make_slots };

/* To take is to need no memory, but to keep is. */
static int keep_slots(struct gyre_stack *stack)
{
	struct gyre_mail *taken = gyre_take(stack);

	runs++;
	expect(taken != NULL && gyre_message_id(stack) == 0);
	gyre_mail_destroy(stack, taken);
	for (size_t i = 0; i < gy_countof(counts); i++) {
		struct gyre_mail *mail = gyre_new_tail(stack, slots, counts[i]);
		const bool made = mail != NULL;

		mail = gyre_mail_keep(stack, mail);
		expect(made || mail == NULL);
		failures += mail == NULL;
		gyre_mail_destroy(NULL, mail);
	}
	return gyre_return(stack);
}

static const struct gyre_class keeper_class = { .name = "keeper", .behaviour.notice = keep_slots };

static const struct gyre_class *class_to_play;

static bool make_without_memory(const struct lean_round *round)
{
	const struct gy_spawn_order order = { .class = class_to_play };
	struct gyre_mail *mail = gy_mail_get_outside(&gyre_type_number);
	struct gyre_address maker;
	bool lacked;

	cr_assert_eq(gy_spawn(&lean_rig.home, &order, 0, &maker), 0);
	rig_turn(&lean_rig);
	lean_houses++;
	cr_assert_not_null(mail);
	runs = destroyed = failures = 0;
	mail->node.kind = GY_MAIL_NOTICE;
	mail->from = (struct gy_origin){ 0 };
	lean_begin(round);
	(void)gy_send(&lean_rig.home, maker, mail, GY_LANE_NOTICE);
	rig_turn(&lean_rig);
	cr_expect_eq(destroyed, runs * gy_countof(counts), "round %u: %u of %u", round->number,
		     destroyed, runs * (uint32_t)gy_countof(counts));
	lacked = lean_recover();
	cr_expect(lacked || failures == 0);
	failures_of_all += failures;
	rig_turn(&lean_rig);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
	return lacked;
}

Test(no_memory_mail, gives_back_what_a_message_with_a_tail_owns)
{
	class_to_play = &maker_class;
	lean_play(make_without_memory);
	cr_assert_geq(failures_of_all, gy_countof(counts), "each has failed once");
}

Test(no_memory_mail, gives_back_what_could_not_be_kept)
{
	class_to_play = &keeper_class;
	lean_play(make_without_memory);
	cr_assert_geq(failures_of_all, gy_countof(counts), "each has failed once");
}
