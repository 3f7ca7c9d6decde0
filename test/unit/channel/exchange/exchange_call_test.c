/*
 * A channel is closed, aborted, shut down, or loses its protocol, from inside every function of an
 * exchange that has it in hand: it ends once, every question that actors have asked is answered or
 * fails, and no function is called behind that. Some functions fail then, too.
 */
#include "exchange_kit.h"

enum call { IN_REQUEST, IN_REPLY, IN_FAIL, IN_ASK, CALLS };

static const char *const names[CALLS + 1] = { "request", "reply", "fail", "ask", "no call" };

enum deed { CLOSE, ABORT, SHUT_DOWN, REMOVE, DEEDS };
enum { QUESTIONS = 6 };

static enum call where;
static enum deed what;
static uint32_t called[CALLS];
static bool fails; /* the call that does it */
static bool done;
static struct gyre_exchange_options inner; /* the functions of the kit */

/* Returns the error that the call is to end with, or 0. */
static int act(struct gyre_handler_context *ctx, enum call here)
{
	called[here]++;
	cr_expect(!done || what == SHUT_DOWN, "%s is called after %d in %s", names[here], (int)what,
		  names[where]);
	if (here != where || done) {
		return 0;
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
	return fails ? -EMSGSIZE : 0;
}

static int on_request(struct gyre_stack *stack)
{
	struct gyre_handler_context *ctx = gyre_exchange_context(stack);
	int r = ctx == NULL ? 0 : act(ctx, IN_REQUEST);

	return r < 0 ? gyre_throw(stack, r) : inner.request(stack);
}

static int on_reply(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		    const void *message)
{
	int r = act(ctx, IN_REPLY);

	return r < 0 ? r : inner.reply(ctx, id, type, message);
}

static void on_fail(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	(void)act(ctx, IN_FAIL);
	inner.fail(ctx, id, error);
}

static int on_ask(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		  const void *message)
{
	int r = act(ctx, IN_ASK);

	return r < 0 ? r : inner.ask(ctx, id, type, message);
}

/* ---- a life ---- */

static int close_channel(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_context_close(gyre_channel_tail(gyre_context_channel(ctx)));
	return 0;
}

/* Counts the ends of the channel that the tap has seen within a time. */
static uint32_t ends_within(uint64_t ns)
{
	const struct gyre_tapped *it;
	uint32_t count = 0;

	while ((it = gyre_tap_take(x.tap, ns)) != NULL) {
		count += it->kind == GYRE_TAPPED_INACTIVE;
	}
	return count;
}

/* Whatever has happened, it is closed in the end, also by its peer. */
static void end(void)
{
	uint32_t ends;

	x_settle();
	ends = ends_within(0);
	if (ends == 0 && (!done || what == SHUT_DOWN || what == REMOVE)) {
		(void)gyre_tap_do(x.tap, close_channel, NULL);
	}
	gyre_test_channel_close(x.peer);
	ends += ends_within(GYRE_SECONDS(60));
	cr_expect_eq(done, what != DEEDS, "%s, %d was not called", names[where], (int)what);
	cr_expect_eq(ends, 1, "%s, %d: %u ends", names[where], (int)what, ends);
	cr_expect_eq(x.ended, x.asked_count, "%s, %d: %u of %u", names[where], (int)what, x.ended,
		     x.asked_count);
}

static void be_asked(struct gyre_test *test, void *arg)
{
	struct gyre_exchange_options options = { .requests_max = 2,
						 .any_order = *(const bool *)arg };
	struct frame frames[QUESTIONS];

	done = false;
	x_complete_serving(&options);
	inner = options;
	options.request = on_request;
	options.reply = on_reply;
	options.fail = on_fail;
	x_serve(test, &options);
	for (uint64_t id = 0; id < QUESTIONS; id += 3) {
		frames[id] = (struct frame){ id, AT_ONCE + 1 };
		frames[id + 1] = (struct frame){ id + 1, -EBADMSG };
		frames[id + 2] = (struct frame){ id + 2, ALONE };
	}
	x_send_all(frames, QUESTIONS);
	end();
}

static void be_answered(struct gyre_test *test, void *arg)
{
	struct gyre_exchange_options options = { .asks_max = 2, .ids = *(const bool *)arg };
	struct frame frame;

	done = false;
	x_complete_asking(&options);
	inner = options;
	options.ask = on_ask;
	x_ask(test, &options);
	x_ask_for_many(0, QUESTIONS, GYRE_FOREVER);
	for (int i = 0; i < QUESTIONS; i++) {
		x_settle();
		if (x_receive(&frame)) {
			x_send(frame.id, frame.value + 1);
		}
	}
	end();
}

/* What is under way when a channel ends is lost, more or less of it. */
static void play(gyre_test_fn life, bool way)
{
	kit_run(life, &way,
		&(struct gyre_test_options){ .system = &exchange_kit_system,
					     .allow_dead_letters = true });
}

static void expect_all(enum deed deed)
{
	what = deed;
	for (int call = 0; call < CALLS; call++) {
		where = (enum call)call;
		for (int variant = 0; variant < 4; variant++) {
			fails = variant >= 2;
			play(call < IN_ASK ? be_asked : be_answered, variant % 2 == 0);
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
	play(be_asked, false);
	play(be_answered, false);
	for (int call = 0; call < CALLS; call++) {
		cr_expect_gt(called[call], 0, "%s", names[call]);
	}
}
