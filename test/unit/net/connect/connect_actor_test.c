/*
 * Actors of the program that own a client's channel: whose stack its handlers run on when it is
 * connected.
 */
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/channel.h>

#include "base/atomic.h"
#include "echo.h"
#include "net/client_rig.h"

TestSuite(connect_actor, .timeout = 60);

enum { FAIL = 1 };

struct owner {
	uint64_t active;
};

static uint32_t restarted; /* atomic, as all of these */
static uint32_t active;
static uint32_t cleaned;

/* ---- the actor, and a handler of its channel ---- */

static int fail(struct gyre_stack *stack)
{
	return gyre_message(stack, number)->value == FAIL ? gyre_throw(stack, -EIO)
							  : gyre_return(stack);
}

static int count_restart(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&restarted, 1);
	return gyre_return(stack);
}

static void look_at_state(void *state)
{
	expect(((struct owner *)state)->active == gy_load_acquire(&active));
	(void)gy_fetch_add(&cleaned, 1);
}

static const struct gyre_class owner_class = { .name = "owner",
					       .state_bytes = sizeof(struct owner),
					       .behaviour.notice = fail,
					       .restart = count_restart,
					       .restart_delay_ns = GYRE_MILLISECONDS(50),
					       .clean = look_at_state };

static void become_active(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = gyre_context_channel(ctx);
	struct gyre_stack *stack = gyre_context_stack(ctx);

	expect(gyre_state(stack) == gyre_channel_actor_state(channel));
	expect(gyre_address_equal(gyre_self(stack), gyre_channel_actor(channel)));
	((struct owner *)gyre_channel_actor_state(channel))->active++;
	(void)gy_fetch_add(&active, 1);
	gyre_context_fire_active(ctx);
}

static const struct gyre_handler active_handler = { .active = become_active };

static int init_active(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &active_handler, arg);

	return r < 0 ? r : init_echo(channel, arg);
}

/* ---- whose stack ---- */

static void connect_once(gyre_init_channel_fn init_channel)
{
	uint16_t port;
	int fd;
	struct gyre_connect_options options;

	client_begin();
	fd = client_listen(&port);
	options = client_options(port);
	options.init_channel = init_channel;
	options.actor_class = &owner_class;
	(void)client_connect(&options);
	(void)client_next(GYRE_CONNECTION_OPEN);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
	(void)close(fd);
	client_end();
	cr_expect_eq(active, 1);
	cr_expect_eq(cleaned, 1);
}

Test(connect_actor, has_its_channel_become_active_on_its_own_stack)
{
	connect_once(init_active);
}

static void wait_for_restart(struct gyre_handler_context *ctx)
{
	expect(gy_load_acquire(&restarted) == 1);
	gyre_context_fire_active(ctx);
}

/* The kernel connects no sooner than in the next turn. */
static int connect_and_fail(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	int r = gyre_context_connect(ctx, to, local);

	expect(gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, FAIL)) == 0);
	return r;
}

static const struct gyre_handler failing_handler = { .connect = connect_and_fail,
						     .active = wait_for_restart };

static int init_failing(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &failing_handler, arg);

	return r < 0 ? r : init_active(channel, arg);
}

Test(connect_actor, has_its_channel_wait_while_its_restart_is_delayed)
{
	connect_once(init_failing);
	cr_expect_eq(restarted, 1);
}
