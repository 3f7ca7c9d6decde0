/*
 * What the last call of a pipeline may do when the actor that owns the channel has begun to stop.
 * It may spawn no children: one could not be ended before its parent any more. What it sends comes
 * from the address that the actor has always had, though mail to that is refused by now.
 */
#include "rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include <gyre/timer.h>
#include <gyre/watch.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"

static const struct gyre_class child_class = { .name = "child" };

static int spawned = 1;
static int spawned_detached = 1;
static struct gyre_address child;
static struct gyre_address detached;

static void spawn_at_the_end(struct gyre_handler_context *ctx)
{
	const struct gyre_spawn_options options = { .detached = true };
	struct gyre_stack *stack = gyre_context_stack(ctx);

	spawned = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, NULL, &child);
	spawned_detached = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &options, &detached);
	gyre_context_fire_unregistered(ctx);
}

static const struct gyre_handler spawning = { .name = "spawning",
					      .unregistered = spawn_at_the_end };
static const struct gyre_handler *const spawning_only[] = { &spawning, NULL };

static bool has_ended(struct rig *rig, void *arg)
{
	(void)rig;
	return ((const struct gy_house *)arg)->status == GY_HOUSE_FREE;
}

Test(channel_end, of_an_actor_that_stops_spawns_no_children)
{
	struct rig rig;
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, spawning_only, NULL, NULL, NULL);
	rig_settle(&rig);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until_later(&rig, has_ended, rig.house));
	cr_assert_eq(spawned, -ESHUTDOWN, "%d", spawned);
	cr_assert_eq(spawned_detached, 0, "%d", spawned_detached);
	cr_assert_not_null(gy_house_find(&rig.home, detached.slot, detached.cookie));
	(void)close(fd);
	rig_fini(&rig);
}

static int timer_left;
static int receive_timeout_left;

static void start_timers(struct gyre_handler_context *ctx)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_SECONDS(60) };
	struct gyre_stack *stack = gyre_context_stack(ctx);

	cr_assert_eq(gyre_timer_start(stack, 1, &options), 0);
	cr_assert_eq(gyre_receive_timeout_start(stack, GYRE_SECONDS(60)), 0);
	gyre_context_fire_active(ctx);
}

static void look_for_timers(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	timer_left = gyre_timer_stop(stack, 1);
	receive_timeout_left = gyre_receive_timeout_stop(stack);
	gyre_context_fire_inactive(ctx);
}

static const struct gyre_handler timing = { .name = "timing",
					    .active = start_timers,
					    .inactive = look_for_timers };
static const struct gyre_handler *const timing_only[] = { &timing, NULL };

Test(channel_end, of_an_actor_that_stops_comes_after_its_timers)
{
	struct rig rig;
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, timing_only, NULL, NULL, NULL);
	rig_settle(&rig);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until_later(&rig, has_ended, rig.house));
	cr_expect_eq(timer_left, -ENOENT);
	cr_expect_eq(receive_timeout_left, -ENOENT);
	(void)close(fd);
	rig_fini(&rig);
}

struct word {
	uint64_t value;
};
GYRE_MESSAGE(word, 0x1021);

static bool used;

static void use_all_at_the_end(struct gyre_handler_context *ctx)
{
	const struct gyre_timer_options options = { .period_ns = 1 };
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	(void)gyre_timer_start(stack, 1, &options);
	(void)gyre_receive_timeout_start(stack, 1);
	(void)gyre_watch(stack, child);
	(void)gyre_stop(stack, gyre_self(stack));
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, word, 1));
	(void)gyre_notify_self_first(stack, gyre_new(stack, word, 1));
	(void)gyre_ask(stack, child, gyre_new(stack, word, 1), 0, future);
	(void)gyre_sleep(stack, 1, future);
	used = true;
	gyre_context_fire_unregistered(ctx);
}

static const struct gyre_handler using_all = { .name = "using",
					       .unregistered = use_all_at_the_end };
static const struct gyre_handler *const using_only[] = { &using_all, NULL };

Test(channel_end, of_an_actor_that_stops_may_call_everything_else)
{
	const struct gy_spawn_order order = { .class = &child_class };
	struct rig rig;
	int fd;

	rig_init(&rig, NULL);
	rig.warnings_expected = 1; /* the child has no handler for the ask */
	cr_assert_eq(gy_spawn(&rig.home, &order, 0, &child), 0);
	fd = rig_open(&rig, using_only, NULL, NULL, NULL);
	rig_settle(&rig);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until_later(&rig, has_ended, rig.house));
	cr_assert(used);
	rig_settle(&rig);
	(void)close(fd);
	rig_fini(&rig);
}

/* ---- the address ---- */

static struct gyre_address room;
static struct gyre_address self_at_the_end;
static struct gyre_address sender;
static const struct gy_house *leaver;
static enum gy_house_status status_then;
static int notified_itself;
static int notified_itself_first;
static int notified;
static int asked;

static void leave_room(struct gyre_handler_context *ctx)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	self_at_the_end = gyre_self(stack);
	notified_itself = gyre_notify(stack, gyre_self(stack), gyre_new(stack, word, 1));
	notified_itself_first = gyre_notify_self_first(stack, gyre_new(stack, word, 1));
	(void)gyre_ask(stack, gyre_self(stack), gyre_new(stack, word, 1), 0, future);
	(void)gyre_notify(stack, room, gyre_new(stack, word, 1));
	gyre_context_fire_inactive(ctx);
}

static const struct gyre_handler leaving = { .name = "leaving", .inactive = leave_room };
static const struct gyre_handler *const leaving_only[] = { &leaving, NULL };

static int see_off(struct gyre_stack *stack)
{
	struct gyre_future *future = (struct gyre_future *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	sender = gyre_sender(stack);
	status_then = (enum gy_house_status)leaver->status;
	notified = gyre_notify(stack, sender, gyre_new(stack, word, 1));
	GYRE_AWAIT(stack, gyre_ask(stack, sender, gyre_new(stack, word, 1), 0, future));
	asked = gyre_future_error(future);
	GYRE_END(stack);
}

static const struct gyre_class room_class = { .name = "room",
					      .frame_bytes = sizeof(struct gyre_future),
					      .behaviour.notice = see_off };

Test(channel_end, of_an_actor_that_stops_has_its_address_and_takes_no_mail)
{
	const struct gy_spawn_order order = { .class = &room_class };
	struct gyre_address member;
	struct rig rig;
	int fd;

	rig_init(&rig, NULL);
	cr_assert_eq(gy_spawn(&rig.home, &order, 0, &room), 0);
	fd = rig_open(&rig, leaving_only, NULL, NULL, NULL);
	rig_settle(&rig);
	leaver = rig.house;
	member = gy_house_address(leaver);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until_later(&rig, has_ended, rig.house));
	rig_settle(&rig);
	cr_assert_eq(status_then, GY_HOUSE_STOPPING);
	cr_expect(gy_address_same(self_at_the_end, member));
	cr_expect(gy_address_same(sender, member));
	cr_expect_eq(notified_itself, -ESRCH);
	cr_expect_eq(notified_itself_first, -ESRCH);
	cr_expect_eq(notified, -ESRCH);
	cr_expect_eq(asked, -ESRCH);
	cr_expect_eq(rig.home.counters.dropped[GYRE_DROP_NO_ACTOR], 6);
	cr_expect_null(gy_house_find(&rig.home, member.slot, member.cookie));
	(void)close(fd);
	rig_fini(&rig);
}
