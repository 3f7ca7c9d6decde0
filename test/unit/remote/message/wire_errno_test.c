/*
 * Errnos that another node says, of the end of an actor and of an ask that is not answered: one
 * that is none is taken for -EPROTO.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "remote/bare.h"
#include "remote/types.h"

enum { FRAME_BYTES_MAX = 64, ERRNO_MAX = 4095, UNTOLD = 1 };

static const struct gyre_node_options patient = {
	.heartbeat_ns = GYRE_SECONDS(60),
	.suspect_ns = GYRE_SECONDS(600),
	.down_ns = GYRE_SECONDS(3600),
};

struct said {
	int error;
	int taken;
};

static struct bare bare;
static struct gyre_address actor;
static uint64_t asked;
static int told;

/* The actor has begun. Its watch waits for a link that is not dialled soon. */
static void begin(const struct gyre_class *class)
{
	const struct gy_spawn_order order = { .class = class };
	const struct gyre_node_peer peer = { BARE_PEER, "tcp://127.0.0.1:1" };
	struct gy_links *links;
	struct gyre_mail *mail;

	told = UNTOLD;
	bare_init(&bare, &patient);
	links = gy_links_of(&bare.rig.home);
	bare_accept(&bare);
	bare_greet(&bare);
	cr_assert_eq(gy_peer_add(bare.homes.nodes, &peer), 0);
	gy_timer_start(&bare.rig.home.loop.wheel,
		       &gy_link_get_dialled(links, bare.link->peer)->redial, GYRE_SECONDS(50));
	cr_assert_eq(gy_spawn(&bare.rig.home, &order, 0, &actor), 0);
	bare_wait(&bare, 1);
	mail = gy_mail_get(&bare.rig.home, &gyre_type_bare_number);
	cr_assert_not_null(mail);
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send(&bare.rig.home, actor, mail, GY_LANE_NOTICE);
	bare_wait(&bare, 1);
}

static void end(void)
{
	bare_hang_up(&bare);
	bare_forget(&bare);
	bare_fini(&bare);
}

static void say(uint32_t type, uint64_t ask_id, const void *body, uint32_t body_bytes)
{
	const struct gy_frame frame = { .kind = GY_WIRE_EVENT,
					.type = type,
					.to_slot = actor.slot,
					.to_cookie = actor.cookie,
					.to_loop = actor.loop,
					.ask_id = ask_id,
					.bytes = body_bytes };
	unsigned char bytes[FRAME_BYTES_MAX];
	uint32_t head_bytes = gy_wire_put(&frame, bytes);

	memcpy(bytes + head_bytes, body, body_bytes);
	bare_feed(&bare, bytes, head_bytes + body_bytes, sizeof(bytes));
	bare_wait(&bare, GYRE_MILLISECONDS(10));
}

/* ---- ends ---- */

static const struct gyre_address there = {
	.slot = 1, .cookie = 6, .node = BARE_PEER, .life = 1000
};

static void say_end(int reason)
{
	const uint32_t body[] = { htole32(there.slot), htole32(there.cookie), 0,
				  htole32((uint32_t)reason) };

	say(GYRE_ID(gyre_terminated), bare.rig.home.number, body, sizeof(body));
}

static int watch(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_watch(stack, there), 0);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	told = gyre_message(stack, gyre_terminated)->reason;
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .behaviour = { .notice = watch, .event = hear } };

Test(wire_errno, of_an_end_is_an_errno_or_none)
{
	static const struct said reasons[] = {
		{ 0, 0 },
		{ -1, -1 },
		{ -ERRNO_MAX, -ERRNO_MAX },
		{ -ERRNO_MAX - 1, -EPROTO },
		{ INT_MIN, -EPROTO },
		{ 1, -EPROTO },
		{ INT_MAX, -EPROTO },
	};

	for (size_t i = 0; i < gy_countof(reasons); i++) {
		begin(&watcher_class);
		say_end(reasons[i].error);
		cr_expect_eq(told, reasons[i].taken, "%d: %d", reasons[i].error, told);
		end();
	}
}

static int watch_by_pact(struct gyre_stack *stack)
{
	cr_assert_eq(gyre_watch_pact(stack, there), 0);
	return gyre_return(stack);
}

static const struct gyre_class partner_class = { .name = "partner",
						 .behaviour.notice = watch_by_pact };

Test(wire_errno, that_is_none_ends_a_partner_as_others_do)
{
	begin(&partner_class);
	say_end(EIO);
	cr_expect_null(gy_house_find(&bare.rig.home, actor.slot, actor.cookie));
	end();
}

/* ---- asks that are not answered ---- */

static int ask_for_ever(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	if (gyre_stack_state(stack) != 0) {
		told = gyre_future_error(future);
		return gyre_return(stack);
	}
	asked = gy_promise_open(gy_stack_of(stack), GYRE_FOREVER, future);
	gy_promise_of_node(future, BARE_PEER);
	return gyre_suspend(stack, 1);
}

static const struct gyre_class asking_class = {
	.name = "asking",
	.frame_bytes = sizeof(struct gyre_future),
	.behaviour.notice = ask_for_ever,
};

Test(wire_errno, of_an_ask_that_is_not_answered_is_an_errno)
{
	static const struct said errors[] = {
		{ -1, -1 },
		{ -ERRNO_MAX, -ERRNO_MAX },
		{ -ERRNO_MAX - 1, -EPROTO },
		{ -(1 << 16), -EPROTO }, /* would be 0 in 16 bits */
		{ INT_MIN, -EPROTO },
		{ 0, -EPROTO },
		{ 1, -EPROTO },
	};

	for (size_t i = 0; i < gy_countof(errors); i++) {
		uint32_t body = htole32((uint32_t)errors[i].error);

		begin(&asking_class);
		say(gy_type_unanswered.id, asked, &body, sizeof(body));
		cr_expect_eq(told, errors[i].taken, "%d: %d", errors[i].error, told);
		end();
	}
}
