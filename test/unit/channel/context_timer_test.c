/*
 * Timers of handlers, in virtual time.
 */
#include <errno.h>

#include <gyre/tap.h>

#include "kit_test.h"

enum { FIRED_MAX = 16 };

static struct gyre_test_channel *peer;
static struct gyre_tap *tap;
static struct gyre_handler_context *place;
static uint64_t fired[FIRED_MAX]; /* keys */
static uint32_t fired_count;
static void (*on_fired)(struct gyre_handler_context *ctx, uint64_t key);

static int added(struct gyre_handler_context *ctx)
{
	place = ctx;
	return 0;
}

static void timer(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_assert_lt(fired_count, FIRED_MAX);
	fired[fired_count++] = key;
	if (on_fired != NULL) {
		on_fired(ctx, key);
	}
}

static const struct gyre_handler timed = { .name = "timed", .added = added, .timer = timer };
static const struct gyre_handler other = { .name = "other", .added = added, .timer = timer };
static const struct gyre_handler plain = { .name = "plain", .added = added };

static int init_pipeline(struct gyre_channel *channel, void *handler)
{
	return gyre_pipeline_add(channel, GYRE_LAST, (const struct gyre_handler *)handler, NULL);
}

static void open_with(struct gyre_test *test, const struct gyre_handler *handler)
{
	const struct gyre_acceptor_options options = { .init_channel = init_pipeline,
						       .init_arg = (void *)(uintptr_t)handler };

	tap = gyre_tap_open(test, &options, &peer);
}

static void wait_ms(struct gyre_test *test, uint64_t time_ms)
{
	gyre_test_advance(test, GYRE_MILLISECONDS(time_ms));
}

/* What a handler's place is to do, on its loop. */
struct order {
	struct gyre_handler_context *place;
	uint64_t key;
	uint64_t delay_ns;
};

static int start(struct gyre_handler_context *ctx, void *arg)
{
	const struct order *order = (const struct order *)arg;

	(void)ctx;
	return gyre_context_timer_start(order->place, order->key, order->delay_ns);
}

static int stop(struct gyre_handler_context *ctx, void *arg)
{
	const struct order *order = (const struct order *)arg;

	(void)ctx;
	return gyre_context_timer_stop(order->place, order->key);
}

static void start_ms(uint64_t key, uint64_t delay_ms)
{
	struct order order = { place, key, GYRE_MILLISECONDS(delay_ms) };

	cr_assert_eq(gyre_tap_do(tap, start, &order), 0);
}

static int stop_key(uint64_t key)
{
	struct order order = { place, key, 0 };

	return gyre_tap_do(tap, stop, &order);
}

static int add_handler(struct gyre_handler_context *ctx, void *handler)
{
	return gyre_pipeline_add(gyre_context_channel(ctx), GYRE_BEFORE("tap"),
				 (const struct gyre_handler *)handler, NULL);
}

static void add(const struct gyre_handler *handler)
{
	cr_assert_eq(gyre_tap_do(tap, add_handler, (void *)(uintptr_t)handler), 0);
}

static int remove_handler(struct gyre_handler_context *ctx, void *name)
{
	return gyre_pipeline_remove(gyre_context_channel(ctx), (const char *)name);
}

static void remove_named(const char *name)
{
	cr_assert_eq(gyre_tap_do(tap, remove_handler, (void *)(uintptr_t)name), 0);
}

KIT_TEST(context_timer, fires_once_and_not_early)
{
	open_with(test, &timed);
	start_ms(7, 50);
	wait_ms(test, 49);
	cr_expect_eq(fired_count, 0);
	wait_ms(test, 3);
	cr_assert_eq(fired_count, 1);
	cr_expect_eq(fired[0], 7);
	wait_ms(test, 500);
	cr_expect_eq(fired_count, 1);
}

KIT_TEST(context_timer, of_each_key_runs_by_itself)
{
	open_with(test, &timed);
	start_ms(1, 30);
	start_ms(2, 10);
	start_ms(UINT64_MAX, 20);
	wait_ms(test, 40);
	cr_assert_eq(fired_count, 3);
	cr_expect_eq(fired[0], 2);
	cr_expect_eq(fired[1], UINT64_MAX);
	cr_expect_eq(fired[2], 1);
}

KIT_TEST(context_timer, that_is_started_again_has_the_new_time)
{
	open_with(test, &timed);
	start_ms(1, 10);
	wait_ms(test, 5);
	start_ms(1, 50);
	wait_ms(test, 45);
	cr_expect_eq(fired_count, 0);
	wait_ms(test, 10);
	cr_expect_eq(fired_count, 1);
}

KIT_TEST(context_timer, that_is_stopped_does_not_fire)
{
	open_with(test, &timed);
	start_ms(1, 10);
	start_ms(2, 10);
	cr_expect_eq(stop_key(1), 0);
	cr_expect_eq(stop_key(1), -ENOENT);
	cr_expect_eq(stop_key(3), -ENOENT);
	wait_ms(test, 20);
	cr_assert_eq(fired_count, 1);
	cr_expect_eq(fired[0], 2);
	cr_expect_eq(stop_key(2), -ENOENT, "it has fired");
}

static void stop_the_other(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_expect_eq(gyre_context_timer_stop(ctx, 3 - key), 0);
}

KIT_TEST(context_timer, that_is_due_too_may_still_be_stopped)
{
	open_with(test, &timed);
	on_fired = stop_the_other;
	start_ms(1, 10);
	start_ms(2, 10);
	wait_ms(test, 20);
	cr_expect_eq(fired_count, 1);
}

static void start_again(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_assert_eq(gyre_context_timer_start(ctx, key, GYRE_MILLISECONDS(10)), 0);
}

KIT_TEST(context_timer, may_be_started_by_the_handler_that_it_calls)
{
	open_with(test, &timed);
	on_fired = start_again;
	start_ms(1, 10);
	wait_ms(test, 48);
	cr_expect_geq(fired_count, 3);
	cr_expect_leq(fired_count, 4);
}

static void leave(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	gyre_context_remove(ctx);
	cr_expect_eq(gyre_context_timer_start(ctx, 5, 1), -EPIPE);
}

KIT_TEST(context_timer, goes_with_the_handler_that_leaves)
{
	open_with(test, &timed);
	start_ms(1, 10);
	start_ms(2, 20);
	remove_named("timed");
	wait_ms(test, 30);
	cr_expect_eq(fired_count, 0);
}

KIT_TEST(context_timer, goes_with_the_handler_that_leaves_when_it_fires)
{
	open_with(test, &timed);
	on_fired = leave;
	start_ms(1, 10);
	start_ms(2, 10);
	start_ms(3, 20);
	wait_ms(test, 30);
	cr_expect_eq(fired_count, 1);
}

KIT_TEST(context_timer, is_the_handlers_own_whatever_its_key)
{
	struct gyre_handler_context *first;

	open_with(test, &timed);
	first = place;
	add(&other);
	cr_assert_neq(place, first);
	start_ms(1, 10);
	place = first;
	start_ms(1, 20);
	remove_named("other");
	wait_ms(test, 15);
	cr_expect_eq(fired_count, 0);
	wait_ms(test, 10);
	cr_expect_eq(fired_count, 1);
}

static int close_channel(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_context_close(ctx);
	return 0;
}

KIT_TEST(context_timer, does_not_fire_on_a_channel_that_closes)
{
	open_with(test, &timed);
	start_ms(1, 10);
	cr_assert_eq(gyre_tap_do(tap, close_channel, NULL), 0);
	wait_ms(test, 20);
	cr_expect_eq(fired_count, 0);
}

static int misuse(struct gyre_handler_context *ctx, void *arg)
{
	(void)ctx;
	(void)arg;
	cr_expect_eq(gyre_context_timer_start(NULL, 1, 1), -EINVAL);
	cr_expect_eq(gyre_context_timer_stop(NULL, 1), -EINVAL);
	cr_expect_eq(gyre_context_timer_start(place, 1, 1), -EINVAL, "it has no function for it");
	return gyre_context_timer_stop(place, 1);
}

KIT_TEST(context_timer, answers_misuse_with_an_errno)
{
	open_with(test, &timed);
	add(&plain);
	cr_expect_eq(gyre_tap_do(tap, misuse, NULL), -ENOENT);
}

KIT_TEST(context_timer, runs_for_ever_if_it_must)
{
	struct order order = { NULL, 1, UINT64_MAX };

	open_with(test, &timed);
	order.place = place;
	cr_assert_eq(gyre_tap_do(tap, start, &order), 0);
	wait_ms(test, 20);
	cr_expect_eq(fired_count, 0);
}

/* ---- on a channel that is silent ---- */

static uint32_t inactive;

static void start_two(struct gyre_handler_context *ctx)
{
	cr_assert_eq(gyre_context_timer_start(ctx, 1, GYRE_MILLISECONDS(1)), 0);
	cr_assert_eq(gyre_context_timer_start(ctx, 2, GYRE_SECONDS(3600)), 0);
}

static void close_it(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_assert_eq(key, 1);
	fired_count++;
	gyre_context_close(ctx);
	cr_expect_eq(gyre_context_timer_start(ctx, 3, 1), -EPIPE, "it would not fire");
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	inactive++;
	cr_expect_eq(gyre_context_timer_start(ctx, 3, 1), -EPIPE);
}

static const struct gyre_handler impatient = {
	.name = "impatient", .active = start_two, .timer = close_it, .inactive = on_inactive
};

KIT_TEST(context_timer, lets_a_handler_close_a_silent_channel)
{
	open_with(test, &impatient);
	(void)gyre_test_channel_expect_end(peer, GYRE_SECONDS(1));
	gyre_test_channel_close(peer);
	gyre_test_advance(test, GYRE_SECONDS(1));
	cr_expect_eq(fired_count, 1);
	cr_expect_eq(inactive, 1);
}

KIT_TEST(context_timer, fires_while_the_channel_reads_nothing)
{
	const struct gyre_acceptor_options options = {
		.channel = { .manual_read = true },
		.init_channel = init_pipeline,
		.init_arg = (void *)(uintptr_t)&impatient,
	};

	tap = gyre_tap_open(test, &options, &peer);
	(void)gyre_test_channel_write_text(peer, "x");
	(void)gyre_test_channel_expect_end(peer, GYRE_SECONDS(1));
	gyre_test_channel_close(peer);
	gyre_test_advance(test, GYRE_SECONDS(1));
	cr_expect_eq(fired_count, 1);
	cr_expect_eq(inactive, 1);
}
