/*
 * Damage to a house, and to its home.
 */
#include "actor/house.h"

#include "actor/home.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "walkers.h"

static const struct gyre_type type = { .name = "message", .id = 0x1000 };
static struct gy_home home;
static struct gy_house house;
static struct gyre_mail mails[4];
static struct gy_stack stack;
static struct gy_promise promise;

static void put(struct gyre_mail *mail, enum gy_lane lane)
{
	mail->type = &type;
	mail->node.kind = (uint8_t)(GY_MAIL_REPLY + lane);
	gy_house_put(&home, &house, mail, lane);
}

/* A house that a restart keeps closed, with a suspended stack, two notices, a reply and an event.
 */
static void fill(void)
{
	house.home = &home;
	house.status = GY_HOUSE_WAITING;
	gy_house_add_reason(&house, GY_CLOSED_BY_RESTART);
	put(&mails[0], GY_LANE_NOTICE);
	put(&mails[1], GY_LANE_NOTICE);
	put(&mails[2], GY_LANE_REPLY);
	put(&mails[3], GY_LANE_EVENT);
	gy_list_init(&house.suspended);
	stack.home = &home;
	stack.house = &house;
	stack.suspended = true;
	gy_list_append(&house.suspended, &stack.item);
	promise.stack = &stack;
	promise.house = &house;
	stack.outstanding = &promise;
	house.outstanding = 1;
}

static void lacks_a_pending_bit(bool damaged)
{
	fill();
	house.pending &= damaged ? (uint8_t) ~(1U << GY_LANE_NOTICE) : 0xff;
	gy_house_check(&house);
}

static void has_an_ask_among_its_notices(bool damaged)
{
	fill();
	mails[1].node.kind = damaged ? GY_MAIL_ASK : GY_MAIL_NOTICE;
	gy_house_check(&house);
}

static void counts_a_reply_too_many(bool damaged)
{
	fill();
	house.replies += damaged;
	gy_house_check(&house);
}

static void counts_no_event(bool damaged)
{
	fill();
	house.events -= damaged;
	gy_house_check(&house);
}

static void counts_its_mail_wrongly(bool damaged)
{
	fill();
	house.limit = 10;
	house.waiting = damaged ? 3 : 2;
	gy_house_check(&house);
}

static void is_closed_without_a_reason(bool damaged)
{
	fill();
	house.closed = damaged ? 0 : house.closed;
	gy_house_check(&house);
}

static void is_closed_by_a_barrier_without_a_stack(bool damaged)
{
	fill();
	if (damaged) {
		gy_house_add_reason(&house, GY_CLOSED_BY_BARRIER);
	}
	gy_house_check(&house);
}

static void has_a_promise_that_no_stack_has(bool damaged)
{
	fill();
	house.outstanding += damaged;
	gy_house_check(&house);
}

static void has_a_stack_of_another_house(bool damaged)
{
	static struct gy_house other;

	fill();
	stack.house = damaged ? &other : &house;
	gy_house_check(&house);
}

static void has_mail_put_first_between_two_turns(bool damaged)
{
	gy_sizes_init(&home.stacks, "stack");
	gy_sizes_init(&home.parts, "part");
	home.front_waits = damaged;
	gy_home_check(&home);
}

static void takes_a_step_that_is_not_allowed(bool damaged)
{
	house.status = damaged ? GY_HOUSE_FREE : GY_HOUSE_WAITING;
	gy_house_set_status(&house, GY_HOUSE_READY);
}

const struct walker_case house_cases[] = {
	{ "house: a pending bit is missing", lacks_a_pending_bit },
	{ "house: an ask stands among the notices", has_an_ask_among_its_notices },
	{ "house: a reply is counted twice", counts_a_reply_too_many },
	{ "house: an event is not counted", counts_no_event },
	{ "house: the count of its mail is wrong", counts_its_mail_wrongly },
	{ "house: lanes are open against its reasons", is_closed_without_a_reason },
	{ "house: a barrier has no stack", is_closed_by_a_barrier_without_a_stack },
	{ "house: no stack has a promise", has_a_promise_that_no_stack_has },
	{ "house: a stack is of another house", has_a_stack_of_another_house },
	{ "home: mail is still put first", has_mail_put_first_between_two_turns },
	{ "house: it takes a step that is not allowed", takes_a_step_that_is_not_allowed },
	{ 0 },
};
