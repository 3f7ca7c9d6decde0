/*
 * Timers of handlers, in a time that the tests themselves let go by.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/codec_rig.h"
#include "rig.h"

TestSuite(context_timer, .timeout = 60);

enum { FIRED_MAX = 16 };

static struct codec_rig rig;
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

static void begin(void)
{
	codec_rig_init(&rig);
	cr_assert_eq(codec_rig_add(&rig, &timed, NULL), 0);
}

static void end(void)
{
	codec_rig_fini(&rig);
}

static void wait_ms(uint64_t time_ms)
{
	codec_rig_wait(&rig, GYRE_MILLISECONDS(time_ms));
}

static void start_ms(uint64_t key, uint64_t delay_ms)
{
	cr_assert_eq(gyre_context_timer_start(place, key, GYRE_MILLISECONDS(delay_ms)), 0);
}

Test(context_timer, fires_once_and_not_early, .init = begin, .fini = end)
{
	start_ms(7, 50);
	wait_ms(49);
	cr_expect_eq(fired_count, 0);
	wait_ms(3);
	cr_assert_eq(fired_count, 1);
	cr_expect_eq(fired[0], 7);
	wait_ms(500);
	cr_expect_eq(fired_count, 1);
}

Test(context_timer, of_each_key_runs_by_itself, .init = begin, .fini = end)
{
	start_ms(1, 30);
	start_ms(2, 10);
	start_ms(UINT64_MAX, 20);
	wait_ms(40);
	cr_assert_eq(fired_count, 3);
	cr_expect_eq(fired[0], 2);
	cr_expect_eq(fired[1], UINT64_MAX);
	cr_expect_eq(fired[2], 1);
}

Test(context_timer, that_is_started_again_has_the_new_time, .init = begin, .fini = end)
{
	start_ms(1, 10);
	wait_ms(5);
	start_ms(1, 50);
	wait_ms(45);
	cr_expect_eq(fired_count, 0);
	wait_ms(10);
	cr_expect_eq(fired_count, 1);
}

Test(context_timer, that_is_stopped_does_not_fire, .init = begin, .fini = end)
{
	start_ms(1, 10);
	start_ms(2, 10);
	cr_expect_eq(gyre_context_timer_stop(place, 1), 0);
	cr_expect_eq(gyre_context_timer_stop(place, 1), -ENOENT);
	cr_expect_eq(gyre_context_timer_stop(place, 3), -ENOENT);
	wait_ms(20);
	cr_assert_eq(fired_count, 1);
	cr_expect_eq(fired[0], 2);
	cr_expect_eq(gyre_context_timer_stop(place, 2), -ENOENT, "it has fired");
}

static void stop_the_other(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_expect_eq(gyre_context_timer_stop(ctx, 3 - key), 0);
}

Test(context_timer, that_is_due_too_may_still_be_stopped, .init = begin, .fini = end)
{
	on_fired = stop_the_other;
	start_ms(1, 10);
	start_ms(2, 10);
	wait_ms(20);
	cr_expect_eq(fired_count, 1);
}

static void start_again(struct gyre_handler_context *ctx, uint64_t key)
{
	cr_assert_eq(gyre_context_timer_start(ctx, key, GYRE_MILLISECONDS(10)), 0);
}

Test(context_timer, may_be_started_by_the_handler_that_it_calls, .init = begin, .fini = end)
{
	on_fired = start_again;
	start_ms(1, 10);
	wait_ms(48);
	cr_expect_geq(fired_count, 3);
	cr_expect_leq(fired_count, 4);
}

static void leave(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	gyre_context_remove(ctx);
	cr_expect_eq(gyre_context_timer_start(ctx, 5, 1), -EPIPE);
}

Test(context_timer, goes_with_the_handler_that_leaves, .init = begin, .fini = end)
{
	start_ms(1, 10);
	start_ms(2, 20);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "timed"), 0);
	wait_ms(30);
	cr_expect_eq(fired_count, 0);
}

Test(context_timer, goes_with_the_handler_that_leaves_when_it_fires, .init = begin, .fini = end)
{
	on_fired = leave;
	start_ms(1, 10);
	start_ms(2, 10);
	start_ms(3, 20);
	wait_ms(30);
	cr_expect_eq(fired_count, 1);
}

Test(context_timer, is_the_handlers_own_whatever_its_key, .init = begin, .fini = end)
{
	struct gyre_handler_context *first = place;

	cr_assert_eq(codec_rig_add(&rig, &other, NULL), 0);
	cr_assert_neq(place, first);
	start_ms(1, 10);
	cr_assert_eq(gyre_context_timer_start(first, 1, GYRE_MILLISECONDS(20)), 0);
	cr_assert_eq(gyre_pipeline_remove(&rig.channel, "other"), 0);
	wait_ms(15);
	cr_expect_eq(fired_count, 0);
	wait_ms(10);
	cr_expect_eq(fired_count, 1);
}

Test(context_timer, does_not_fire_on_a_channel_that_closes, .init = begin, .fini = end)
{
	start_ms(1, 10);
	gyre_context_close(gyre_channel_tail(&rig.channel));
	wait_ms(20);
	cr_expect_eq(fired_count, 0);
}

Test(context_timer, answers_misuse_with_an_errno, .init = begin, .fini = end)
{
	cr_expect_eq(gyre_context_timer_start(NULL, 1, 1), -EINVAL);
	cr_expect_eq(gyre_context_timer_stop(NULL, 1), -EINVAL);
	cr_assert_eq(codec_rig_add(&rig, &plain, NULL), 0);
	cr_expect_eq(gyre_context_timer_start(place, 1, 1), -EINVAL, "it has no function for it");
	cr_expect_eq(gyre_context_timer_stop(place, 1), -ENOENT);
}

Test(context_timer, runs_for_ever_if_it_must, .init = begin, .fini = end)
{
	cr_assert_eq(gyre_context_timer_start(place, 1, UINT64_MAX), 0);
	wait_ms(20);
	cr_expect_eq(fired_count, 0);
}

/* ---- with a socket ---- */

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
static const struct gyre_handler *const impatient_only[] = { &impatient, NULL };

static bool is_gone(struct rig *live, void *arg)
{
	(void)arg;
	return rig_channels(live)->open == 0;
}

Test(context_timer, lets_a_handler_close_a_silent_channel)
{
	struct rig live;
	int far;

	rig_init(&live, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	far = rig_open(&live, impatient_only, NULL, NULL, NULL);
	cr_assert(rig_until_later(&live, is_gone, NULL));
	cr_expect_eq(fired_count, 1);
	cr_expect_eq(inactive, 1);
	(void)close(far);
	rig_fini(&live);
}

Test(context_timer, fires_while_the_channel_reads_nothing)
{
	const struct gyre_channel_options on_request = { .manual_read = true };
	struct rig live;
	int far;

	rig_init(&live, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	far = rig_open(&live, impatient_only, NULL, &on_request, NULL);
	cr_assert_eq(send(far, "x", 1, MSG_NOSIGNAL), 1);
	cr_assert(rig_until_later(&live, is_gone, NULL));
	cr_expect_eq(fired_count, 1);
	(void)close(far);
	rig_fini(&live);
}
