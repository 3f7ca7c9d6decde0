/*
 * What is promised exactly once, without memory from each allocation on: the end of an actor that
 * is watched, a timer that fires, the hooks of a restart. What a call has accepted comes once there
 * is memory again, and nobody is told of what has not happened.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/batch.h>
#include <gyre/resolve.h>
#include <gyre/timer.h>
#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/life/node_loss.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "fixture.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_actor, .timeout = 120);

enum { FRAME_BYTES = 3000 }; /* of a size that nobody else has */

static struct gyre_address watched;
static int watch_result;
static int timer_result;
static uint32_t ends_told;
static uint32_t timers_told;
static int end_reason;

/* Keeps its stack, so that the events need another one. */
static int begin(struct gyre_stack *stack)
{
	const struct gyre_timer_options soon = { .delay_ns = GYRE_MILLISECONDS(1) };
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	watch_result = gyre_watch(stack, watched);
	timer_result = gyre_timer_start(stack, 1, &soon);
	return gyre_sleep(stack, GYRE_SECONDS(1000), future) < 0 ? gyre_return(stack)
								 : gyre_suspend(stack, 1);
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	if (terminated != NULL) {
		ends_told++;
		end_reason = terminated->reason;
	}
	timers_told += gyre_message(stack, gyre_timeout) != NULL;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = {
	.name = "watcher",
	.frame_bytes = FRAME_BYTES,
	.behaviour = { .notice = begin, .event = hear },
};

static const struct gyre_class watched_class = { .name = "watched" };

static struct gyre_address spawn(const struct gyre_class *class)
{
	const struct gy_spawn_order order = { .class = class };
	struct gyre_address address;

	cr_assert_eq(gy_spawn(&lean_rig.home, &order, 0, &address), 0);
	rig_turn(&lean_rig);
	lean_houses++;
	return address;
}

static void notify(struct gyre_address to, struct gyre_mail *mail)
{
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send(&lean_rig.home, to, mail, GY_LANE_NOTICE);
}

static struct gyre_mail *make_notice(void)
{
	struct gyre_mail *mail = gy_mail_get(&lean_rig.home, &gyre_type_number);

	cr_assert_not_null(mail);
	return mail;
}

static bool is_told(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return ends_told >= (watch_result == 0) && timers_told >= (timer_result == 0);
}

static bool watch_and_wait(const struct lean_round *round)
{
	struct gyre_address watcher;
	struct gyre_mail *mail;
	bool lacked;

	watch_result = timer_result = -ECANCELED; /* until it is called */
	ends_told = timers_told = 0;
	end_reason = 0;
	watched = spawn(&watched_class);
	watcher = spawn(&watcher_class);
	mail = make_notice();
	lean_begin(round);
	notify(watcher, mail);
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	cr_expect_eq(ends_told, 0, "round %u: it has not ended", round->number);
	gy_house_request_stop(gy_house_find(&lean_rig.home, watched.slot, watched.cookie), 0);
	rig_turn(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect(rig_until(&lean_rig, is_told, NULL), "round %u: nobody is told", round->number);
	for (int i = 0; i < 5; i++) {
		rig_turn(&lean_rig);
	}
	cr_expect_eq(ends_told, watch_result == 0, "round %u", round->number);
	cr_expect_eq(timers_told, timer_result == 0, "round %u", round->number);
	cr_expect(end_reason == 0, "round %u: %d", round->number, end_reason);
	return lacked;
}

Test(no_memory_actor, loses_no_end_that_is_watched_and_no_timer)
{
	lean_play(watch_and_wait);
}

/* ---- marks ---- */

static uint32_t highs_told;
static uint32_t lows_told;

static int take_note(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static int hear_of_mark(struct gyre_stack *stack)
{
	bool high = gyre_message(stack, gyre_mailbox_mark)->high;

	highs_told += high;
	lows_told += !high;
	return gyre_return(stack);
}

static const struct gyre_class marked_class = {
	.name = "marked",
	.behaviour = { .notice = take_note, .event = hear_of_mark },
	.mailbox_limit = 4,
	.mailbox_high = 3,
	.mailbox_low = 1,
};

/* Its notices come from other threads, so that what they take does not serve for the marks. */
static bool cross_the_marks(const struct lean_round *round)
{
	struct gyre_address marked = spawn(&marked_class);
	struct gyre_mail *mails[3];
	bool lacked;

	highs_told = lows_told = 0;
	for (size_t i = 0; i < gy_countof(mails); i++) {
		mails[i] = gy_mail_get_outside(&gyre_type_number);
		cr_assert_not_null(mails[i]);
	}
	lean_begin(round);
	for (size_t i = 0; i < gy_countof(mails); i++) {
		notify(marked, mails[i]);
	}
	rig_turn(&lean_rig);
	lacked = lean_recover();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	rig_turn(&lean_rig);
	cr_expect_eq(lows_told, highs_told, "round %u: who was told to pause goes on",
		     round->number);
	return lacked;
}

Test(no_memory_actor, tells_of_the_low_mark_who_was_told_of_the_high_one)
{
	lean_play(cross_the_marks);
}

static bool end_and_wait(const struct lean_round *round)
{
	struct gy_house *house;
	struct gyre_address watcher;

	ends_told = 0;
	watched = spawn(&watched_class);
	watcher = spawn(&watcher_class);
	notify(watcher, make_notice());
	rig_turn(&lean_rig);
	house = gy_house_find(&lean_rig.home, watcher.slot, watcher.cookie);
	lean_take_stacks();
	heap_end_after(0);
	gy_house_request_stop(gy_house_find(&lean_rig.home, watched.slot, watched.cookie), 0);
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	cr_expect_eq(house->events, 1);
	cr_expect_eq(house->status, GY_HOUSE_WAITING, "it spins");
	(void)heap_recover();
	lean_give_stacks_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	rig_turn(&lean_rig);
	cr_expect_eq(ends_told, 1);
	return round->number == 0; /* one is enough */
}

Test(no_memory_actor, lets_a_loop_wait_that_has_no_memory_for_an_event)
{
	lean_play(end_and_wait);
}

/* What does not suspend, so that it needs no stack that waits. */
static int hear_nothing(struct gyre_stack *stack)
{
	return gyre_return(stack);
}

static const struct gyre_behaviour listening = { .notice = hear_nothing, .event = hear };

static int begin_to_listen(struct gyre_stack *stack)
{
	watch_result = gyre_watch(stack, watched);
	(void)gyre_become(stack, &listening);
	return gyre_return(stack);
}

static const struct gyre_class listener_class = {
	.name = "listener",
	.frame_bytes = FRAME_BYTES,
	.behaviour = { .notice = begin_to_listen, .event = hear },
};

/* The timer of those that lack memory fires while this one is ready for other mail. */
static bool end_and_be_busy(const struct lean_round *round)
{
	struct gy_house *house;
	struct gyre_address listener;
	struct gyre_mail *notice;

	ends_told = 0;
	watched = spawn(&watched_class);
	listener = spawn(&listener_class);
	notify(listener, make_notice());
	rig_turn(&lean_rig);
	notice = make_notice();
	house = gy_house_find(&lean_rig.home, listener.slot, listener.cookie);
	lean_take_stacks();
	heap_end_after(0);
	gy_house_request_stop(gy_house_find(&lean_rig.home, watched.slot, watched.cookie), 0);
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	cr_expect_eq(house->events, 1);
	(void)heap_recover();
	lean_give_stacks_back();
	notify(listener, notice);
	cr_expect_eq(house->status, GY_HOUSE_READY);
	rig_skip(&lean_rig, GYRE_MILLISECONDS(2));
	rig_turn(&lean_rig);
	for (int i = 0; i < 3; i++) {
		rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
		rig_turn(&lean_rig);
	}
	cr_expect_eq(ends_told, 1, "the lane stays closed");
	return round->number == 0;
}

Test(no_memory_actor, opens_a_house_that_was_about_to_run_when_memory_came_back)
{
	lean_play(end_and_be_busy);
}

/* ---- an end that waits behind other mail ---- */

enum { BACKLOG = 600 }; /* more than two runs may handle */

static uint32_t noticed;

/* The last one keeps its stack, and leaves no memory for another. */
static int listen_until_last(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);
	struct gy_home *home = &lean_rig.home;

	if (gyre_stack_state(stack) != 0) {
		return gyre_return(stack);
	}
	if (++noticed < BACKLOG) {
		watch_result = gyre_watch(stack, watched);
		return gyre_return(stack);
	}
	cr_expect_eq(ends_told, 0);
	expect(gyre_sleep(stack, GYRE_SECONDS(1000), future) == 0);
	home->scratch[gy_stack_of(stack)->size_class] = NULL;
	lean_take_stacks();
	home->scratch[gy_stack_of(stack)->size_class] = gy_stack_of(stack);
	heap_end_after(0);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class lasting_class = {
	.name = "lasting",
	.frame_bytes = FRAME_BYTES,
	.behaviour = { .notice = listen_until_last, .event = hear },
};

static bool end_behind_a_backlog(const struct lean_round *round)
{
	struct gyre_address lasting;
	struct gy_house *house;

	ends_told = noticed = 0;
	watched = spawn(&watched_class);
	lasting = spawn(&lasting_class);
	notify(lasting, make_notice());
	rig_turn(&lean_rig);
	for (uint32_t i = 1; i < BACKLOG; i++) {
		notify(lasting, make_notice());
	}
	gy_house_request_stop(gy_house_find(&lean_rig.home, watched.slot, watched.cookie), 0);
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	house = gy_house_find(&lean_rig.home, lasting.slot, lasting.cookie);
	cr_expect_eq(noticed, BACKLOG);
	cr_expect_eq(ends_told, 0);
	cr_expect_eq(house->events, 1);
	cr_expect_eq(house->status, GY_HOUSE_WAITING, "it spins");
	cr_expect(heap_recover());
	lean_give_stacks_back();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	rig_turn(&lean_rig);
	cr_expect_eq(ends_told, 1);
	return round->number == 0;
}

Test(no_memory_actor, keeps_an_end_that_lacks_memory_when_its_turn_comes)
{
	lean_play(end_behind_a_backlog);
}

/* ---- stops ---- */

static int stop_both(struct gyre_stack *stack)
{
	lean_take_all(&lean_rig.home);
	expect(gyre_stop(stack, watched) == 0);
	expect(gyre_stop(stack, gyre_self(stack)) == 0);
	lean_give_all_back();
	return gyre_return(stack);
}

static bool stop_on_the_same_loop(const struct lean_round *round)
{
	static const struct gyre_class class = { .name = "stopping",
						 .behaviour.notice = stop_both };

	watched = spawn(&watched_class);
	notify(spawn(&class), make_notice());
	rig_turn(&lean_rig);
	rig_turn(&lean_rig);
	cr_assert_null(fixture.failure, "%s", fixture.failure);
	cr_expect_eq(lean_rig.home.houses, 1, "that of the rig");
	return round->number == 0;
}

Test(no_memory_actor, needs_none_to_stop_actors_of_its_loop)
{
	lean_play(stop_on_the_same_loop);
}

/* ---- restarts ---- */

static uint32_t hooks_run;

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

/* Keeps the stack that the hooks of the other would have. */
static int keep_stack(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	return gyre_stack_state(stack) != 0 || gyre_sleep(stack, GYRE_SECONDS(1000), future) < 0
		       ? gyre_return(stack)
		       : gyre_suspend(stack, 1);
}

static const struct gyre_class keeping_class = {
	.name = "keeping",
	.frame_bytes = FRAME_BYTES,
	.behaviour.notice = keep_stack,
};

static int count_hook(struct gyre_stack *stack)
{
	hooks_run++;
	return gyre_return(stack);
}

static const struct gyre_class failing_class = {
	.name = "failing",
	.frame_bytes = FRAME_BYTES,
	.strategy = GYRE_STRATEGY_RESTART,
	.behaviour.notice = fail,
	.before_restart = count_hook,
	.restart = count_hook,
	.after_restart = count_hook,
	.restart_delay_ns = GYRE_MILLISECONDS(1),
};

static bool has_restarted(struct rig *rig, void *arg)
{
	(void)arg;
	return hooks_run == 3 || rig->home.counters.failed == 0 || rig->home.houses < lean_houses;
}

static bool fail_and_restart(const struct lean_round *round)
{
	struct gyre_address failing = spawn(&failing_class);
	struct gyre_address keeping = spawn(&keeping_class);
	struct gyre_mail *first = make_notice();
	struct gyre_mail *second = make_notice();
	bool lacked;

	hooks_run = 0;
	lean_begin(round);
	notify(failing, first);
	rig_turn(&lean_rig);
	notify(keeping, second);
	rig_turn(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect(rig_until(&lean_rig, has_restarted, NULL), "round %u: %u hooks", round->number,
		  hooks_run);
	cr_expect_eq(hooks_run, 3 * lean_rig.home.counters.restarted, "round %u", round->number);
	cr_expect(lacked || hooks_run == 3);
	return lacked;
}

Test(no_memory_actor, ends_no_restart_that_has_begun)
{
	lean_play(fail_and_restart);
}

/* ---- asks to a node that is lost ---- */

enum { ASKS = 200, NODE = 9 };

static uint32_t failed_asks;

static int ask_for_ever(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		failed_asks += gyre_future_error(future) == -EHOSTDOWN;
		return gyre_return(stack);
	}
	if (gy_promise_open(gy_stack_of(stack), GYRE_FOREVER, future) == 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	gy_promise_of_node(future, NODE);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour.notice = ask_for_ever,
};

static bool have_failed(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return failed_asks == ASKS;
}

static bool ask_and_lose_node(const struct lean_round *round)
{
	struct gyre_address asking = spawn(&asking_class);
	bool lacked;

	failed_asks = 0;
	for (uint32_t i = 0; i < ASKS; i++) {
		notify(asking, make_notice());
	}
	rig_turn(&lean_rig);
	lean_begin(round);
	gy_home_node_lost(&lean_rig.home, &(struct gy_node_loss){ .node = NODE,
								  .deeds = GY_NODE_LOSS_FAIL_ASKS,
								  .error = -EHOSTDOWN });
	rig_turn(&lean_rig);
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	lacked = lean_recover();
	rig_pass(&lean_rig, GYRE_MILLISECONDS(2));
	cr_expect(rig_until(&lean_rig, have_failed, NULL), "round %u: %u of them", round->number,
		  failed_asks);
	return lacked;
}

Test(no_memory_actor, ends_each_ask_to_a_node_that_is_lost)
{
	lean_play(ask_and_lose_node);
}

/* ---- answers that could not be made ---- */

enum { MAILS_MAX = 256 };

static struct gyre_address refusing;
static const struct lean_round *the_round;
static int ask_error;

/* Leaves no free mail of the size of an exception. */
static uint32_t take_mails(struct gyre_stack *stack, struct gyre_mail *mails[MAILS_MAX])
{
	const struct gy_pool *pool = &gy_stack_of(stack)->home->loop.nodes.pools[0];
	uint32_t count = 0;

	while (pool->free_count > 0) {
		expect(count < MAILS_MAX);
		mails[count++] = gyre_new(stack, number, 1);
	}
	return count;
}

/* Does not look at the result. */
static int reply_nothing(struct gyre_stack *stack)
{
	struct gyre_mail *mails[MAILS_MAX];
	uint32_t count = take_mails(stack, mails);

	lean_begin(the_round);
	(void)gyre_reply(stack, NULL);
	while (count > 0) {
		gyre_mail_destroy(stack, mails[--count]);
	}
	return gyre_return(stack);
}

static const struct gyre_class refusing_class = { .name = "refusing",
						  .behaviour.ask = reply_nothing };

static int ask_refusing(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_ask(stack, refusing, gyre_new(stack, number, 1), 0, future));
	ask_error = gyre_future_error(future);
	GYRE_END(stack);
}

static const struct gyre_class curious_class = {
	.name = "curious",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour.notice = ask_refusing,
};

static bool is_answered(struct rig *rig, void *arg)
{
	(void)rig;
	(void)arg;
	return ask_error != 0;
}

/* And no line says that nobody has answered. */
static bool ask_in_vain(const struct lean_round *round, const struct gyre_class *of)
{
	struct gyre_address curious = spawn(&curious_class);
	uint32_t logged = lean_rig.logged;
	bool lacked;

	refusing = spawn(of);
	the_round = round;
	ask_error = 0;
	notify(curious, make_notice());
	cr_expect(rig_until(&lean_rig, is_answered, NULL), "round %u", round->number);
	lacked = lean_recover();
	cr_expect_eq(ask_error, -ENOMEM, "round %u: %d", round->number, ask_error);
	cr_expect_eq(lean_rig.logged, logged, "%s", lean_rig.last_log);
	return lacked;
}

static bool ask_for_nothing(const struct lean_round *round)
{
	return ask_in_vain(round, &refusing_class);
}

Test(no_memory_actor, that_replies_nothing_fails_the_ask_for_want_of_memory)
{
	lean_play(ask_for_nothing);
}

static int reply_nothing_to_all(struct gyre_stack *stack)
{
	struct gyre_mail *mails[MAILS_MAX];
	uint32_t count = take_mails(stack, mails);

	lean_begin(the_round);
	(void)gyre_batch_reply(stack, 0, NULL);
	while (count > 0) {
		gyre_mail_destroy(stack, mails[--count]);
	}
	return gyre_return(stack);
}

static bool any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static const struct gyre_class refusing_all_class = { .name = "refusing all",
						      .batch_asks = any,
						      .behaviour.ask_batch = reply_nothing_to_all };

static bool ask_for_nothing_in_batch(const struct lean_round *round)
{
	return ask_in_vain(round, &refusing_all_class);
}

Test(no_memory_actor, that_replies_nothing_to_a_batch_fails_the_ask_for_want_of_memory)
{
	lean_play(ask_for_nothing_in_batch);
}

/* ---- what is sent on a channel ---- */

enum { SENT = 70000 };

static struct gyre_address channel_address;
static uint64_t sent_bytes;

static int send_bytes(struct gyre_stack *stack)
{
	static const unsigned char bytes[SENT];
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_send_bytes(stack, channel_address, bytes, SENT, GYRE_FOREVER, future));
	ask_error = gyre_future_error(future);
	sent_bytes = ask_error == 0 ? gyre_future_get(future, gyre_sent)->bytes : 0;
	ask_error = ask_error == 0 ? 1 : ask_error;
	GYRE_END(stack);
}

static const struct gyre_class sender_class = {
	.name = "sender",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour.notice = send_bytes,
};

static bool is_answered_and_read(struct rig *rig, void *arg)
{
	static unsigned char bytes[SENT];

	(void)rig;
	while (recv(*(const int *)arg, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
	return ask_error != 0;
}

/* The kernel takes little at a time, so that the answer is due when the peer has read. */
static bool send_and_answer(const struct lean_round *round)
{
	static const struct gyre_handler *const none[] = { NULL };
	struct gyre_mail *mails[MAILS_MAX];
	struct gyre_channel *channel;
	int one = 1;
	int fd = rig_open(&lean_rig, none, NULL, NULL, &channel);
	uint32_t count;

	cr_assert_eq(setsockopt(channel->endpoint.fd, SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), 0);
	channel_address = gyre_channel_address(channel);
	ask_error = 0;
	notify(spawn(&sender_class), make_notice());
	rig_settle(&lean_rig);
	cr_assert_eq(ask_error, 0);
	count = take_mails(&rig_stack(&lean_rig)->head, mails);
	heap_end_after(0);
	cr_expect(rig_until(&lean_rig, is_answered_and_read, &fd));
	(void)heap_recover();
	cr_expect_eq(ask_error, 1, "%d", ask_error);
	cr_expect_eq(sent_bytes, SENT);
	while (count > 0) {
		gyre_mail_destroy(&rig_stack(&lean_rig)->head, mails[--count]);
	}
	(void)close(fd);
	rig_settle(&lean_rig);
	return round->number == 0; /* one is enough */
}

Test(no_memory_actor, whose_bytes_have_gone_is_told_so)
{
	lean_play(send_and_answer);
}

/* ---- lookups ---- */

static int look_up(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	lean_begin(the_round);
	GYRE_AWAIT(stack, gyre_resolve(stack, "tcp://127.0.0.1:80", NULL, 0, future));
	ask_error = gyre_future_error(future);
	ask_error = ask_error == 0 ? 1 : ask_error;
	GYRE_END(stack);
}

static const struct gyre_class looking_class = {
	.name = "looking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour.notice = look_up,
};

static bool look_up_once(const struct lean_round *round)
{
	bool lacked;
	bool unmade;

	the_round = round;
	ask_error = 0;
	notify(spawn(&looking_class), make_notice());
	rig_settle(&lean_rig);
	lacked = lean_recover();
	unmade = strstr(lean_rig.last_log, "its mount") != NULL ||
		 strstr(lean_rig.last_log, "to make it") != NULL ||
		 strstr(lean_rig.last_log, "looking: ") != NULL;
	cr_expect(rig_until(&lean_rig, is_answered, NULL) || unmade, "round %u", round->number);
	cr_expect(ask_error == 1 || ask_error == -ENOMEM || unmade, "round %u: %d %s",
		  round->number, ask_error, lean_rig.last_log);
	return lacked;
}

Test(no_memory_actor, that_looks_up_is_told_of_the_want_of_memory)
{
	lean_play(look_up_once);
}
