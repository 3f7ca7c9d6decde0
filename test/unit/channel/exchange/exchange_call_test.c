/*
 * A channel is closed, aborted, shut down, or loses its protocol, from inside every function of an
 * exchange that has it in hand: it ends once, and every question that actors have asked is answered
 * or fails.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include "exchange_rig.h"

TestSuite(exchange_call, .timeout = 110);

enum call { IN_REQUEST, IN_REPLY, IN_FAIL, IN_ASK, CALLS };

static const char *const names[CALLS + 1] = { "request", "reply", "fail", "ask", "no call" };

enum deed { CLOSE, ABORT, SHUT_DOWN, REMOVE, DEEDS };
enum { QUESTIONS = 6 };

static enum call where;
static enum deed what;
static uint32_t called[CALLS];
static bool done;
static struct gyre_exchange_options inner; /* the functions of the rig */

static void act(struct gyre_handler_context *ctx, enum call here)
{
	called[here]++;
	if (here != where || done) {
		return;
	}
	done = true;
	switch (what) {
	case CLOSE:
		gyre_context_close(ctx);
		break;
	case ABORT:
		gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
		break;
	case SHUT_DOWN:
		gyre_context_shutdown(ctx);
		break;
	default:
		gyre_context_remove(ctx);
		break;
	}
}

static int on_request(struct gyre_stack *stack)
{
	struct gyre_handler_context *ctx = gyre_exchange_context(stack);

	if (ctx != NULL) {
		act(ctx, IN_REQUEST);
	}
	return inner.request(stack);
}

static int on_reply(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		    const void *message)
{
	act(ctx, IN_REPLY);
	return inner.reply(ctx, id, type, message);
}

static void on_fail(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	act(ctx, IN_FAIL);
	inner.fail(ctx, id, error);
}

static int on_ask(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		  const void *message)
{
	act(ctx, IN_ASK);
	return inner.ask(ctx, id, type, message);
}

/* ---- a life ---- */

/* Whatever has happened, it is closed in the end, also by its peer. */
static void end(void)
{
	rig_settle(&x.rig);
	(void)close(x.fd);
	if (x.inactive == 0) {
		gyre_context_close(gyre_channel_tail(x.channel));
	}
	cr_assert(rig_until_later(&x.rig, x_is_inactive, NULL), "%s, %d", names[where], (int)what);
	rig_settle(&x.rig);
	cr_expect_eq(x.inactive, 1, "%s, %d", names[where], (int)what);
	cr_expect_eq(x.ended, x.asked_count, "%s, %d: %u of %u", names[where], (int)what, x.ended,
		     x.asked_count);
	rig_fini(&x.rig);
}

static void be_asked(bool any_order)
{
	struct gyre_exchange_options options = { .requests_max = 2, .any_order = any_order };

	done = false;
	x_serve(&options);
	inner = options;
	x_options()->request = on_request;
	x_options()->reply = on_reply;
	x_options()->fail = on_fail;
	for (uint64_t id = 0; id < 2; id++) {
		x_send(3 * id, AT_ONCE + 1);
		x_send(3 * id + 1, -EBADMSG);
		x_send(3 * id + 2, ALONE);
	}
	end();
}

static void be_answered(bool ids)
{
	struct gyre_exchange_options options = { .asks_max = 2, .ids = ids };
	struct frame frame;

	done = false;
	x_ask(&options);
	inner = options;
	x_options()->ask = on_ask;
	for (int i = 0; i < QUESTIONS; i++) {
		(void)x_ask_for(i, GYRE_FOREVER);
	}
	for (int i = 0; i < QUESTIONS; i++) {
		rig_settle(&x.rig);
		if (x_receive(&frame)) {
			x_send(frame.id, frame.value + 1);
		}
	}
	end();
}

static void expect_all(enum deed deed)
{
	what = deed;
	for (int call = 0; call < CALLS; call++) {
		where = (enum call)call;
		for (int way = 0; way < 2; way++) {
			if (call < IN_ASK) {
				be_asked(way == 0);
			} else {
				be_answered(way == 0);
			}
		}
	}
}

Test(exchange_call, every_function_a_channel_may_be_closed)
{
	expect_all(CLOSE);
}

Test(exchange_call, every_function_a_channel_may_be_aborted)
{
	expect_all(ABORT);
}

Test(exchange_call, every_function_a_channel_may_be_shut_down)
{
	expect_all(SHUT_DOWN);
}

Test(exchange_call, every_function_the_protocol_may_leave)
{
	expect_all(REMOVE);
}

Test(exchange_call, an_ordinary_life_each_function_is_called)
{
	what = DEEDS;
	where = CALLS;
	be_asked(false);
	be_answered(false);
	for (int call = 0; call < CALLS; call++) {
		cr_expect_gt(called[call], 0, "%s", names[call]);
	}
}
