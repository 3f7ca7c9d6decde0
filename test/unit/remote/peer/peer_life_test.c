/*
 * Lives of nodes: what was declared down stays so, on both sides. A stranger is the other node;
 * time passes only where it has to be silent.
 */
#include <errno.h>
#include <unistd.h>

#include <gyre/name.h>
#include <gyre/outside.h>
#include <gyre/resize.h>
#include <gyre/watch.h>

#include "actor/life/watch.h"
#include "base/atomic.h"
#include "remote/stranger.h"
#include "remote/types.h"

static const struct gyre_address afar = {
	.slot = 5, .cookie = 6, .node = STRANGER_ID, .life = STRANGER_LIFE
};

static uint32_t times_quarantined;
static struct gyre_node_event quarantined;
static uint32_t times_ended;
static int ask_error;
static uint32_t asks_ended;
static struct gyre_address sender;

static uint32_t life_of(uint64_t incarnation)
{
	return (uint32_t)incarnation;
}

/* ---- the actor ---- */

struct lives_frame {
	struct gyre_future future;
};

static int hear(struct gyre_stack *stack)
{
	const struct gyre_node_event *event = gyre_message(stack, gyre_node_event);

	if (gyre_message(stack, gyre_terminated) != NULL) {
		(void)gy_fetch_add(&times_ended, 1);
	} else if (event != NULL && event->state == GYRE_NODE_QUARANTINED) {
		quarantined = *event;
		(void)gy_fetch_add(&times_quarantined, 1);
	}
	return gyre_return(stack);
}

enum { WATCH = 1, ASK, TELL, NOTE_SENDER };

static int ask_afar(struct gyre_stack *stack)
{
	struct lives_frame *frame = (struct lives_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, afar, gyre_new(stack, number, 1), GYRE_FOREVER, &frame->future));
	ask_error = gyre_future_error(&frame->future);
	(void)gy_fetch_add(&asks_ended, 1);
	return gyre_return(stack);
	GYRE_END(stack);
}

static int obey(struct gyre_stack *stack)
{
	switch (gyre_message(stack, number)->value) {
	case WATCH:
		expect(gyre_watch(stack, afar) == 0);
		return gyre_return(stack);
	case TELL:
		(void)gyre_notify(stack, afar, gyre_new(stack, number, 1));
		return gyre_return(stack);
	case NOTE_SENDER:
		sender = gyre_sender(stack);
		return gyre_return(stack);
	default:
		return ask_afar(stack);
	}
}

static int take_place(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "actor") == 0);
	expect(gyre_node_watch(stack) == 0);
	return gyre_return(stack);
}

static int answer(struct gyre_stack *stack)
{
	return gyre_reply(stack, gyre_new(stack, place, gyre_self(stack)));
}

static const struct gyre_class lives_class = {
	.name = "lives",
	.frame_bytes = sizeof(struct lives_frame),
	.behaviour = { .notice = obey, .event = hear, .ask = answer },
	.mount = take_place,
};

static struct gyre_address ask_self(struct gyre_address local)
{
	struct gyre_mail *mail = NULL;
	struct gyre_address self;

	cr_assert_eq(gyre_system_ask(fixture.system, local,
				     gyre_system_new(fixture.system, number, 1), GYRE_FOREVER,
				     &mail),
		     0);
	self = ((const struct place *)gyre_payload(mail))->address;
	gyre_mail_destroy(NULL, mail);
	return self;
}

static void wait_for(const uint32_t *count, uint32_t value)
{
	while (gy_load_acquire(count) < value) {
		(void)sched_yield();
	}
}

static void wait_until_down(void)
{
	struct gyre_node_status status = { 0 };

	while (status.state != GYRE_NODE_DOWN) {
		(void)gyre_system_node_status(fixture.system, STRANGER_ID, &status);
		(void)sched_yield();
	}
}

/* ---- of another node ---- */

Test(peer_life, that_were_declared_down_are_told_so_and_refused_and_the_next_one_is_taken)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	(void)stranger_open_with(&stranger_brief, &lives_class);
	stranger_meet(&stranger);
	cr_assert_eq(stranger.theirs.over, 0);
	wait_until_down();
	stranger_close(&stranger);
	stranger_meet(&stranger);
	cr_assert_eq(stranger.theirs.over, STRANGER_LIFE);
	stranger_expect_refusal(&stranger, GY_REFUSED_OVER);
	stranger_close(&stranger);
	hello.incarnation++;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	cr_assert_eq(stranger.theirs.over, STRANGER_LIFE, "it has learnt of it, which is harmless");
	stranger_close(&stranger);
	fixture_close();
}

static void meet_as(struct stranger *stranger, uint64_t incarnation, uint32_t over)
{
	struct gy_hello hello = stranger_hello();

	hello.incarnation = incarnation;
	hello.over = over;
	stranger_dial(stranger);
	stranger_say_hello(stranger, &hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
}

static void command(struct gyre_address local, uint64_t what)
{
	cr_assert_eq(notify_outside(local, what), 0);
}

Test(peer_life, that_are_over_get_no_mail_also_when_the_node_has_another_one)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct stranger former;
	struct stranger later;
	struct stranger out;

	meet_as(&former, STRANGER_LIFE, 0);
	meet_as(&later, STRANGER_LIFE + 1, 0);
	stranger_expect_end(&former);
	stranger_listen(&out);
	command(local, TELL);
	command(local, ASK);
	wait_for(&asks_ended, 1);
	cr_assert_eq(ask_error, -EHOSTDOWN);
	command(local, WATCH);
	wait_for(&times_ended, 1);
	stranger_close(&former);
	stranger_close(&later);
	stranger_close(&out);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_FORMER_LIFE], 2);
	cr_assert_eq(times_ended, 1);
}

static const struct gyre_class late_class = {
	.name = "late",
	.behaviour = { .notice = obey, .event = hear },
};

Test(peer_life, that_are_over_are_known_to_loops_that_are_added_later)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct stranger former;
	struct stranger later;

	meet_as(&former, STRANGER_LIFE, 0);
	meet_as(&later, STRANGER_LIFE + 1, 0);
	command(local, WATCH);
	wait_for(&times_ended, 1);
	cr_assert_eq(gyre_system_resize(fixture.system, 2), 0);
	command(spawn_outside(&late_class, 1), WATCH);
	wait_for(&times_ended, 2);
	stranger_close(&former);
	stranger_close(&later);
	fixture_close();
	cr_assert_eq(times_ended, 2);
}

Test(peer_life, that_come_first_after_mail_for_another_one_do_not_get_it)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct gy_hello hello = stranger_hello();
	struct stranger out;

	stranger_listen(&out);
	command(local, TELL);
	command(local, WATCH);
	command(local, ASK);
	stranger_accept(&out);
	stranger_expect(&out, GY_WIRE_HELLO);
	hello.incarnation++;
	stranger_say_hello(&out, &hello);
	wait_for(&asks_ended, 1);
	wait_for(&times_ended, 1);
	cr_assert_eq(ask_error, -EHOSTDOWN);
	stranger_close(&out);
	fixture_close();
	cr_assert_eq(fixture.lost[GYRE_DROP_FORMER_LIFE], 2);
	cr_assert_eq(fixture.counters.to_nodes, 0);
}

Test(peer_life, end_with_their_watches_and_asks_when_the_next_one_comes)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct stranger out;
	struct stranger next;

	stranger_listen(&out);
	command(local, WATCH);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_EVENT);
	command(local, ASK);
	stranger_expect(&out, GY_WIRE_ASK);
	meet_as(&next, STRANGER_LIFE + 1, 0);
	stranger_expect_end(&out);
	wait_for(&asks_ended, 1);
	wait_for(&times_ended, 1);
	cr_assert_eq(ask_error, -EHOSTDOWN);
	stranger_close(&out);
	stranger_close(&next);
	fixture_close();
	cr_assert_eq(times_ended, 1);
}

static void say_number(struct stranger *stranger, struct gyre_address to, uint64_t value)
{
	const struct gy_frame frame = { .kind = GY_WIRE_NOTICE,
					.to_loop = to.loop,
					.to_slot = to.slot,
					.to_cookie = to.cookie,
					.from_slot = afar.slot,
					.from_cookie = afar.cookie,
					.type = gyre_type_number.id,
					.layout = gy_type_layout(&gyre_type_number),
					.bytes = sizeof(value),
					.body = (const unsigned char *)&value };

	stranger_say_frame(stranger, &frame);
}

Test(peer_life, stand_in_the_addresses_of_senders)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct stranger stranger;

	for (uint32_t i = 0; i < 3; i++) {
		meet_as(&stranger, STRANGER_LIFE + i, 0);
		say_number(&stranger, local, NOTE_SENDER);
		while (gy_load_acquire(&sender.life) != STRANGER_LIFE + i) {
			(void)sched_yield();
		}
		cr_assert_eq(sender.slot, afar.slot);
		cr_assert_eq(sender.cookie, afar.cookie);
		cr_assert_eq(gyre_address_equal(sender, afar), i == 0);
		stranger_close(&stranger);
	}
	fixture_close();
}

/* ---- met by others first ---- */

static uint32_t mails;
static uint32_t ends_before_mail;

static int watch_next(struct gyre_stack *stack)
{
	struct gyre_address next = afar;

	next.life = STRANGER_LIFE + 1;
	if (gyre_message(stack, number)->value == WATCH) {
		expect(gyre_watch(stack, next) == 0);
	} else {
		expect(gyre_address_equal(gyre_sender(stack), next));
		ends_before_mail = gy_load_relaxed(&times_ended);
		(void)gy_fetch_add(&mails, 1);
	}
	return gyre_return(stack);
}

static const struct gyre_class next_class = {
	.name = "next",
	.behaviour = { .notice = watch_next, .event = hear },
};

/* A third node has told of an actor in the next life, which is still to come here. */
Test(peer_life, that_others_have_met_first_have_not_ended_with_the_former_one)
{
	struct gyre_address local = stranger_open_with(&stranger_brief, &next_class);
	struct stranger former;
	struct stranger next;
	struct stranger out;

	stranger_listen(&out);
	stranger_meet(&former);
	wait_until_down();
	command(local, WATCH);
	meet_as(&next, STRANGER_LIFE + 1, 0);
	say_number(&next, local, TELL);
	wait_for(&mails, 1);
	cr_expect_eq(ends_before_mail, 0, "it has mail of an actor after its end");
	stranger_close(&former);
	stranger_close(&next);
	stranger_close(&out);
	fixture_close();
}

/* ---- of this node ---- */

Test(peer_life, are_taken_anew_by_a_node_that_was_declared_down_and_its_actors_run_on)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct gyre_address before = ask_self(local);
	struct gyre_address after;
	struct gyre_address found;
	struct stranger first;
	struct stranger second;
	struct stranger third;

	meet_as(&first, STRANGER_LIFE, 0);
	cr_assert_eq(before.life, life_of(first.theirs.incarnation));
	meet_as(&second, STRANGER_LIFE, before.life);
	cr_assert_neq(life_of(second.theirs.incarnation), before.life);
	cr_assert_eq(second.theirs.incarnation >> 32, first.theirs.incarnation >> 32);
	stranger_expect_end(&first);
	wait_for(&times_quarantined, 1);
	cr_assert_eq(quarantined.node, STRANGER_NODE);
	cr_assert_eq(quarantined.incarnation, first.theirs.incarnation);
	after = ask_self(before); /* its own address of the former life serves */
	cr_assert_eq(after.life, life_of(second.theirs.incarnation));
	cr_assert_eq(after.cookie, before.cookie);
	cr_assert_eq(gyre_system_name_lookup(fixture.system, "actor", &found), 0);
	cr_assert_eq(found.life, after.life);
	/* It knows that already. */
	meet_as(&third, STRANGER_LIFE, before.life);
	cr_assert_eq(third.theirs.incarnation, second.theirs.incarnation);
	stranger_close(&first);
	stranger_close(&second);
	stranger_close(&third);
	fixture_close();
	cr_assert_eq(times_quarantined, 1);
}

Test(peer_life, that_were_declared_down_are_followed_on_the_links_that_this_node_dials)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct gy_hello hello = stranger_hello();
	struct stranger out;
	uint64_t former;

	stranger_listen(&out);
	command(local, WATCH);
	stranger_accept(&out);
	stranger_expect(&out, GY_WIRE_HELLO);
	former = out.theirs.incarnation;
	hello.over = life_of(former);
	stranger_say_hello(&out, &hello);
	stranger_expect_end(&out);
	cr_assert_eq(close(out.fd), 0);
	stranger_accept(&out); /* at once */
	stranger_expect(&out, GY_WIRE_HELLO);
	cr_assert_neq(out.theirs.incarnation, former);
	stranger_say_hello(&out, &hello);
	stranger_expect(&out, GY_WIRE_EVENT);
	cr_assert_eq(out.frame.type, gy_type_watch.id, "it watches in its new life");
	/* What it watches ends for it when its system stops. */
	cr_assert_eq(gy_load_relaxed(&times_ended), 0);
	stranger_close(&out);
	fixture_close();
}

Test(peer_life, that_both_sides_have_declared_down_are_both_followed)
{
	struct gyre_address local = stranger_open_with(&stranger_brief, &lives_class);
	struct stranger stranger;
	uint32_t life = ask_self(local).life;

	stranger_meet(&stranger);
	wait_until_down();
	stranger_close(&stranger);
	meet_as(&stranger, STRANGER_LIFE, life);
	cr_assert_eq(stranger.theirs.over, STRANGER_LIFE);
	cr_assert_neq(life_of(stranger.theirs.incarnation), life);
	stranger_expect_refusal(&stranger, GY_REFUSED_OVER);
	stranger_close(&stranger);
	meet_as(&stranger, STRANGER_LIFE + 1, life);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(times_quarantined, 1);
}

Test(peer_life, fail_the_asks_that_were_made_in_them)
{
	struct gyre_address local = stranger_open_with(&stranger_quick, &lives_class);
	struct stranger out;
	struct stranger third;

	stranger_listen(&out);
	command(local, ASK);
	stranger_welcome(&out);
	stranger_expect(&out, GY_WIRE_ASK);
	stranger_credit(&out, GY_WIRE_HEAD_BYTES_MAX + 8, 1); /* it would be waited for */
	meet_as(&third, STRANGER_LIFE, life_of(out.theirs.incarnation));
	wait_for(&asks_ended, 1);
	cr_assert_eq(ask_error, -ECONNRESET);
	stranger_close(&out);
	stranger_close(&third);
	fixture_close();
}

Test(peer_life, end_the_node_where_its_options_say_so)
{
	struct gyre_node_options options = stranger_quick;
	struct gyre_address local;
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	options.end_when_declared_down = true;
	local = stranger_open_with(&options, &lives_class);
	hello.over = ask_self(local).life;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect_end(&stranger);
	cr_assert_eq(gyre_system_wait(fixture.system), -ESTALE);
	gyre_system_destroy(fixture.system);
	(void)alarm(0);
	stranger_close(&stranger);
	cr_assert_eq(fixture.errors, 1, "it has a line in the log");
	cr_assert_eq(times_quarantined, 1);
}
