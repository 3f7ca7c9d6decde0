/*
 * Actors of the program that own a client's channel: whose stack its handlers run on when it is
 * connected, and what becomes of it when the actor that connects stops meanwhile.
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

/* ---- stops of the actor that connects ---- */

static struct gyre_connect_options stopping;
static struct gyre_address connecting;
static int listener;

static void report_nothing(struct gyre_stack *stack, const struct gyre_connection *connection,
			   struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)connection;
	(void)channel;
	(void)arg;
	expect(false); /* something is reported */
}

static void begin_stopping(gyre_init_channel_fn init_channel)
{
	uint16_t port;

	client_begin();
	listener = client_listen(&port);
	stopping = client_options(port);
	stopping.init_channel = init_channel;
	stopping.report = report_nothing;
}

static void await_count(const uint32_t *count, uint32_t value)
{
	while (gy_load_acquire(count) < value) {
		sched_yield();
	}
}

static void end_stopping(void)
{
	(void)close(listener);
	client_end();
}

static int find_connecting(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	connecting = stopping.actor_class == NULL ? gyre_self(stack) : gyre_parent(stack);
	return gyre_context_connect(ctx, to, local);
}

/* A handler that takes the connection over, as that of a proxy. */
static void keep_and_stop(struct gyre_handler_context *ctx)
{
	expect(gyre_stop(gyre_context_stack(ctx), connecting) == 0);
}

static void pass_on_at_the_end(struct gyre_handler_context *ctx, const struct gyre_type *type,
			       const void *event)
{
	if (type->id == GYRE_ID(gyre_input_closed)) {
		gyre_context_fire_active(ctx);
		(void)gy_fetch_add(&active, 1);
	}
	gyre_context_fire_event(ctx, type, event);
}

static const struct gyre_handler proxy_handler = { .connect = find_connecting,
						   .active = keep_and_stop,
						   .event = pass_on_at_the_end };

static int init_proxy(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_FIRST, &proxy_handler, arg);

	return r < 0 ? r : init_echo(channel, arg);
}

static void become_active_too_late(const struct gyre_class *class)
{
	begin_stopping(init_proxy);
	stopping.channel.allow_half_close = true;
	stopping.actor_class = class;
	(void)client_connect(&stopping);
	await_count(&active, 1);
	end_stopping();
}

Test(connect_actor, whose_channel_is_active_too_late_opens_nothing)
{
	static const struct gyre_class class = { .name = "owner" };

	become_active_too_late(&class);
}

Test(connect_actor, is_not_needed_for_a_channel_that_is_active_too_late)
{
	become_active_too_late(NULL);
}

/*
 * Of two connections the first fails at once, and the second by its time-out. That and the pause of
 * the first are over in the same tick: so the next round of the first begins in the run in which
 * the second fails. A pause that is so short has no jitter.
 */
enum { NOT_LONG_NS = 1 };

static uint32_t rounds;

static int keep_order(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	(void)ctx;
	(void)to;
	(void)local;
	return 0;
}

static const struct gyre_handler keeping_handler = { .connect = keep_order };

static int init_in_turn(struct gyre_channel *channel, void *arg)
{
	switch (rounds++) {
	case 0:
		return -EPERM;
	case 1:
		return gyre_pipeline_add(channel, GYRE_FIRST, &keeping_handler, arg);
	default:
		expect(false); /* a channel is opened for an actor that has stopped */
		return -EPERM;
	}
}

static void stop_in_time(struct gyre_stack *stack, const struct gyre_connection *connection,
			 struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	if (connection->reason == -ETIMEDOUT) {
		expect(gyre_stop(stack, gyre_self(stack)) == 0);
	}
}

Test(connect_actor, that_is_mounted_too_late_has_no_channel)
{
	begin_stopping(init_in_turn);
	stopping.actor_class = &owner_class;
	stopping.report = stop_in_time;
	stopping.connections = 2;
	stopping.connect_timeout_ns = NOT_LONG_NS;
	stopping.retry_min_ns = NOT_LONG_NS;
	stopping.retry_max_ns = NOT_LONG_NS;
	stopping.retries_max = GYRE_RETRIES_UNLIMITED;
	(void)client_connect(&stopping);
	await_count(&cleaned, 3);
	end_stopping();
}
