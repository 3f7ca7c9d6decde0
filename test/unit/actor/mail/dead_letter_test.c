/*
 * What the hook for dead letters hears: what was lost, whose it was, whom it was for, and why.
 */
#include "fixture.h"

#include <string.h>

struct frame {
	struct gyre_future future;
};

static struct gyre_address self;
static struct gyre_address deaf;

static int lose_some(struct gyre_stack *stack)
{
	static const struct gyre_class deaf_class = { .name = "deaf" };
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	self = gyre_self(stack);
	deaf = spawn_on(stack, &deaf_class, 1);
	expect(gyre_notify(stack, deaf, gyre_new(stack, place, self)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, deaf, gyre_new(stack, number, 1), 0, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

static const struct letter *find_letter(uint32_t type)
{
	for (uint32_t i = 0; i < fixture.letters_count; i++) {
		if (fixture.letters[i].type == type) {
			return &fixture.letters[i];
		}
	}
	return NULL;
}

Test(dead_letter, shows_type_sender_receiver_and_reason_of_what_was_lost_on_another_loop)
{
	const struct letter *notice;
	const struct letter *ask;

	play(2, lose_some);
	notice = find_letter(GYRE_ID(place));
	ask = find_letter(GYRE_ID(number));
	cr_assert_not_null(notice);
	cr_assert_not_null(ask);
	cr_assert(gyre_address_equal(notice->from, self));
	cr_assert(gyre_address_equal(notice->to, deaf));
	cr_assert_eq(notice->reason, GYRE_DROP_UNHANDLED);
	cr_assert(gyre_address_equal(ask->from, self));
	cr_assert(gyre_address_equal(ask->to, deaf));
	cr_assert_eq(ask->reason, GYRE_DROP_UNHANDLED);
}

static int stop_with_mail(struct gyre_stack *stack)
{
	self = gyre_self(stack);
	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_notify(stack, self, gyre_new(stack, number, i)) == 0);
	}
	return gyre_stop(stack, self);
}

Test(dead_letter, is_what_an_actor_had_not_read_when_it_stopped)
{
	const struct gyre_class class = { .name = "stopping", .mount = stop_with_mail };

	fixture_open(1);
	(void)spawn_outside(&class, 0);
	fixture_close();
	cr_assert_eq(fixture.letters_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert(gyre_address_equal(fixture.letters[i].to, self));
		cr_assert(fixture.letters[i].reason == GYRE_DROP_STOPPED ||
			  fixture.letters[i].reason == GYRE_DROP_SHUTDOWN);
	}
}

static int fill_oneself(struct gyre_stack *stack)
{
	for (uint64_t i = 0; i < 3; i++) {
		expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, i)) == 0);
	}
	return fixture_end(stack);
}

static int fill_forever(struct gyre_stack *stack)
{
	(void)fill_oneself(stack);
	return gyre_return(stack);
}

static const struct gyre_class filling_class = {
	.name = "filling",
	.mount = fill_oneself,
	.behaviour.notice = fill_forever,
};

Test(dead_letter, is_what_waits_when_the_system_stops)
{
	const struct gyre_system_options options = { .loops = 1, .run_budget = 10 };

	fixture_open_with(&options);
	(void)spawn_outside(&filling_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_gt(fixture.counters.dropped[GYRE_DROP_SHUTDOWN], 0);
}

Test(dead_letter, has_a_name_for_every_reason)
{
	for (int i = 0; i < GYRE_DROP_COUNT; i++) {
		cr_assert_str_neq(gyre_drop_name((enum gyre_drop)i), "unknown");
		for (int k = 0; k < i; k++) {
			cr_assert_str_neq(gyre_drop_name((enum gyre_drop)i),
					  gyre_drop_name((enum gyre_drop)k));
		}
	}
	cr_assert_str_eq(gyre_drop_name(GYRE_DROP_COUNT), "unknown");
	cr_assert_str_eq(gyre_drop_name((enum gyre_drop) - 1), "unknown");
}
