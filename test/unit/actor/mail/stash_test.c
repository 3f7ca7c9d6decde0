/*
 * The stash, nested behaviours and tables of routes: what state machines are made of.
 */
#include "fixture.h"

enum { STASH_MAX = 4 };

struct frame {
	struct gyre_future futures[4];
	struct gyre_address to;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int turn(struct gyre_stack *stack)
{
	return gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame_of(stack)->futures[0]);
}

static void tell_all(struct gyre_stack *stack, struct gyre_address to, const char *letters)
{
	for (; *letters != 0; letters++) {
		expect(gyre_notify(stack, to, gyre_new(stack, number, (uint64_t)*letters)) == 0);
	}
}

static int ask(struct gyre_stack *stack, char what, uint64_t timeout_ns, uint32_t place)
{
	return gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, number, (uint64_t)what),
			timeout_ns, &frame_of(stack)->futures[place]);
}

/* ---- an actor that stashes while it is closed ---- */

static int note(struct gyre_stack *stack);

static const struct gyre_behaviour open_behaviour = { .notice = note, .ask = note };
static uint32_t refused;

/*
 * o opens and takes all back, # only two, c closes; f fails, s stops; all else is stashed while
 * closed, and noted while open.
 */
static int note(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;

	trace(what);
	if (what == 'c') {
		gyre_unbecome(stack);
	}
	return gyre_reply(stack, gyre_new(stack, number, (uint64_t)what)) == -EINVAL ? 0 : 0;
}

static int note_or_stash(struct gyre_stack *stack)
{
	char what = (char)gyre_message(stack, number)->value;
	int r;

	switch (what) {
	case 'o':
		expect(gyre_become(stack, &open_behaviour) == 0);
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
		return gyre_return(stack);
	case '#':
		expect(gyre_become(stack, &open_behaviour) == 0);
		expect(gyre_unstash(stack, 2) == 2);
		return gyre_return(stack);
	case 'f':
		return gyre_throw(stack, -EIO);
	case 's':
		return gyre_stop(stack, gyre_self(stack));
	default:
		r = gyre_stash(stack);
		refused += r == -ENOBUFS;
		if (r == 0) {
			expect(gyre_message(stack, number) == NULL);
			expect(gyre_stash(stack) == -EINVAL);
		}
		return gyre_return(stack);
	}
}

static int open_again(struct gyre_stack *stack)
{
	return gyre_become(stack, &open_behaviour);
}

static const struct gyre_class door_class = {
	.name = "door",
	.stash_max = STASH_MAX,
	.behaviour = { .notice = note_or_stash, .ask = note_or_stash },
	.after_restart = open_again,
};

static const struct gyre_class narrow_class = {
	.name = "narrow door",
	.mailbox_limit = STASH_MAX,
	.behaviour = { .notice = note_or_stash, .ask = note_or_stash },
};

static const struct gyre_class *door = &door_class;
static const char *letters;

static int tell_door(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	tell_all(stack, spawn_here(stack, door), letters);
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

static void tell(const char *what)
{
	letters = what;
	play_steady(tell_door);
}

Test(stash, gives_back_in_the_order_of_coming_before_what_waits)
{
	tell("1234oabc");
	cr_assert_str_eq(traced, "1234abc");
}

Test(stash, gives_back_the_oldest_if_not_all)
{
	tell("134#xyc");
	cr_assert_str_eq(traced, "13xyc");
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED] + fixture.lost[GYRE_DROP_SHUTDOWN], 1);
}

Test(stash, is_bounded_and_leaves_what_it_refuses_to_the_handler)
{
	tell("123456o");
	cr_assert_str_eq(traced, "1234");
	cr_assert_eq(refused, 2);
}

Test(stash, can_be_used_again_and_again)
{
	tell("12o3c45o6");
	cr_assert_str_eq(traced, "123c456");
}

Test(stash, of_a_mailbox_with_a_limit_goes_back_whatever_the_limit)
{
	door = &narrow_class;
	tell("123o");
	cr_assert_str_eq(traced, "123");
}

Test(stash, goes_back_to_the_mailbox_at_a_restart)
{
	tell("123fab");
	cr_assert_str_eq(traced, "123ab");
}

Test(stash, of_an_actor_that_stops_is_lost_and_counted)
{
	tell("123s");
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.lost[GYRE_DROP_STOPPED], 3);
}

/* ---- asks ---- */

static int stash_asks(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_on(stack, &door_class, 1);
	expect(ask(stack, 'x', 0, 0) == 0);
	expect(ask(stack, 'y', 0, 1) == 0);
	expect(ask(stack, 'o', 0, 2) == 0);
	GYRE_AWAIT(stack, ask(stack, 'z', 0, 3));
	expect(gyre_future_get(&frame_of(stack)->futures[0], number)->value == 'x');
	expect(gyre_future_get(&frame_of(stack)->futures[1], number)->value == 'y');
	expect(gyre_future_error(&frame_of(stack)->futures[2]) == -ENOMSG);
	expect(gyre_future_get(&frame_of(stack)->futures[3], number)->value == 'z');
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stash, keeps_asks_to_be_answered_later)
{
	play(2, stash_asks);
	cr_assert_str_eq(traced, "xyz");
}

static int let_a_stashed_ask_expire(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_here(stack, &door_class);
	GYRE_AWAIT(stack, ask(stack, 'x', GYRE_MILLISECONDS(1), 0));
	expect(gyre_future_error(&frame_of(stack)->futures[0]) == -ETIMEDOUT);
	/* The deadline in the mail is a hint of coarse grain. */
	GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(40), &frame_of(stack)->futures[0]));
	tell_all(stack, frame_of(stack)->to, "o");
	GYRE_AWAIT(stack, turn(stack));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stash, does_not_have_an_ask_handled_that_nobody_waits_for)
{
	play_steady(let_a_stashed_ask_expire);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.lost[GYRE_DROP_EXPIRED], 1);
}

static int stop_with_a_stashed_ask(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	frame_of(stack)->to = spawn_on(stack, &door_class, 1);
	expect(ask(stack, 'x', 0, 0) == 0);
	GYRE_AWAIT(stack, ask(stack, 's', 0, 1));
	expect(gyre_future_error(&frame_of(stack)->futures[0]) == -ESHUTDOWN);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(stash, tells_the_asker_when_its_actor_stops)
{
	play(2, stop_with_a_stashed_ask);
}

static int stash_nothing(struct gyre_stack *stack)
{
	expect(gyre_stash(stack) == -EINVAL);
	expect(gyre_unstash(stack, GYRE_UNSTASH_ALL) == 0);
	expect(gyre_stashed(stack) == 0);
	return fixture_end(stack);
}

Test(stash, takes_neither_mounts_nor_what_is_not_there)
{
	play(1, stash_nothing);
}

/* ---- nested behaviours ---- */

static int go_deeper(struct gyre_stack *stack);
static const struct gyre_behaviour deeper = { .notice = go_deeper };
static const struct gyre_behaviour other = { .notice = note };

/* d goes down, u up, e ends, all else is told. */
static int act(struct gyre_stack *stack, const struct gyre_behaviour *below)
{
	switch ((char)gyre_message(stack, number)->value) {
	case 'd':
		refused += gyre_become_nested(stack, below) == -ENOBUFS;
		break;
	case 'u':
		gyre_unbecome(stack);
		break;
	case 'r':
		return gyre_throw(stack, -EIO);
	default:
		break;
	}
	return gyre_return(stack);
}

static int go_deeper(struct gyre_stack *stack)
{
	trace('1');
	return act(stack, &deeper);
}

static int start(struct gyre_stack *stack)
{
	trace('0');
	return act(stack, &deeper);
}

static const struct gyre_class nested_class = { .name = "nested", .behaviour.notice = start };

Test(nested, behaviours_are_left_in_the_order_they_were_entered)
{
	door = &nested_class;
	tell("xdxdxuxuxux");
	cr_assert_str_eq(traced, "00111111000");
}

Test(nested, behaviours_are_forgotten_by_a_restart)
{
	door = &nested_class;
	tell("dddrxux");
	cr_assert_str_eq(traced, "0111000");
}

Test(nested, behaviours_are_bounded)
{
	door = &nested_class;
	tell("dddddddddddddddddd");
	cr_assert_eq(refused, 2);
}

static int become_nothing(struct gyre_stack *stack)
{
	expect(gyre_become(stack, NULL) == -EINVAL);
	expect(gyre_become_nested(stack, NULL) == -EINVAL);
	expect(gyre_become_nested(stack, &other) == 0);
	return fixture_end(stack);
}

Test(nested, behaviours_are_not_nothing)
{
	play(1, become_nothing);
}

/* ---- routes ---- */

static int at_number(struct gyre_stack *stack)
{
	expect(gyre_message(stack, number) != NULL);
	trace('n');
	return gyre_reply(stack, gyre_new(stack, number, 1)) == 0 ? 0 : 0;
}

static int at_place(struct gyre_stack *stack)
{
	expect(gyre_message(stack, place) != NULL);
	trace('p');
	return gyre_return(stack);
}

static int at_others(struct gyre_stack *stack)
{
	trace('*');
	return gyre_return(stack);
}

static int at_timeout(struct gyre_stack *stack)
{
	trace('t');
	return fixture_end(stack);
}

static int wait_and_note(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	trace('w');
	GYRE_AWAIT(stack, turn(stack));
	trace('W');
	GYRE_END(stack);
}

struct odd {
	char c;
};
GYRE_MESSAGE(odd, 0x1102);

static const struct gyre_route notice_routes[] = {
	GYRE_ROUTE(number, at_number),
	GYRE_ROUTE(place, at_place),
	GYRE_ROUTE(large, wait_and_note),
	GYRE_ROUTE_OTHERS(at_others),
};
static const struct gyre_route ask_routes[] = { GYRE_ROUTE(number, at_number), GYRE_ROUTE_END };
static const struct gyre_route event_routes[] = { GYRE_ROUTE(gyre_timeout, at_timeout),
						  GYRE_ROUTE_END };

static int start_timer(struct gyre_stack *stack)
{
	return gyre_timer_start(stack, 1,
				&(struct gyre_timer_options){ .delay_ns = GYRE_MILLISECONDS(5) });
}

static const struct gyre_class routed_class = {
	.name = "routed",
	.frame_bytes = sizeof(struct frame),
	.mount = start_timer,
	.behaviour = { .notice_routes = notice_routes,
		       .ask_routes = ask_routes,
		       .event_routes = event_routes },
};

static int send_each(struct gyre_stack *stack)
{
	struct gyre_address to;

	GYRE_BEGIN(stack);
	to = spawn_here(stack, &routed_class);
	frame_of(stack)->to = to;
	expect(gyre_notify(stack, to, gyre_new(stack, large, { 0 })) == 0);
	expect(gyre_notify(stack, to, gyre_new(stack, place, to)) == 0);
	expect(gyre_notify(stack, to, gyre_new(stack, number, 0)) == 0);
	expect(gyre_notify(stack, to, gyre_new(stack, odd, 0)) == 0);
	GYRE_AWAIT(stack, turn(stack));
	expect(gyre_ask(stack, frame_of(stack)->to, gyre_new(stack, odd, 0), 0,
			&frame_of(stack)->futures[1]) == 0);
	GYRE_AWAIT(stack, ask(stack, 'x', 0, 0));
	expect(gyre_future_get(&frame_of(stack)->futures[0], number)->value == 1);
	expect(gyre_future_error(&frame_of(stack)->futures[1]) == -ENOSYS);
	GYRE_END(stack);
}

Test(routes, lead_each_type_to_its_handler_and_others_to_the_last)
{
	play_steady(send_each);
	cr_assert_str_eq(traced, "wpn*Wnt");
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 1);
}
