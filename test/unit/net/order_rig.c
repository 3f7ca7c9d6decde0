/*
 * The plan is of file scope, for each test has a process; it is made before the client is.
 */
#include "net/order_rig.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gyre/channel.h>

#include "buffer/socket_address.h"
#include "echo.h"

struct order_plan order_plan;
struct order_heard order_heard;

static int descriptors;
static bool ended;

/* ---- the handler nearer to the head ---- */

static void note(char *place, const char *text)
{
	(void)snprintf(place, ORDER_TEXT_BYTES, "%s", text == NULL ? "" : text);
}

static int near_added(struct gyre_handler_context *ctx)
{
	order_heard.pipelines++;
	order_heard.channel = gyre_channel_address(gyre_context_channel(ctx));
	return 0;
}

static void near_registered(struct gyre_handler_context *ctx)
{
	trace('r');
	gyre_context_fire_registered(ctx);
}

static int near_bind(struct gyre_handler_context *ctx, const char *local)
{
	trace('b');
	note(order_heard.bound, local);
	return gyre_context_bind(ctx, local);
}

static int near_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	trace('c');
	note(order_heard.to, to);
	note(order_heard.local, local);
	return gyre_context_connect(ctx, to, local);
}

static void near_active(struct gyre_handler_context *ctx)
{
	trace('a');
	gyre_context_fire_active(ctx);
}

static void near_inactive(struct gyre_handler_context *ctx)
{
	trace('i');
	gyre_context_fire_inactive(ctx);
}

static void near_unregistered(struct gyre_handler_context *ctx)
{
	trace('u');
	order_heard.reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_context_fire_unregistered(ctx);
}

static void near_exception(struct gyre_handler_context *ctx, int error)
{
	trace('e');
	gyre_context_fire_exception(ctx, error);
}

static void near_removed(struct gyre_handler_context *ctx)
{
	(void)ctx;
	trace('x');
}

static const struct gyre_handler near_head = {
	.name = "near",
	.added = near_added,
	.removed = near_removed,
	.registered = near_registered,
	.active = near_active,
	.exception = near_exception,
	.inactive = near_inactive,
	.unregistered = near_unregistered,
	.bind = near_bind,
	.connect = near_connect,
};

/* ---- the one that does what is planned ---- */

static void planned_registered(struct gyre_handler_context *ctx)
{
	if (order_plan.registered != NULL) {
		order_plan.registered(ctx);
	}
	gyre_context_fire_registered(ctx);
}

static int planned_bind(struct gyre_handler_context *ctx, const char *local)
{
	return order_plan.bind != NULL ? order_plan.bind(ctx, local)
				       : gyre_context_bind(ctx, local);
}

static int planned_connect(struct gyre_handler_context *ctx, const char *to, const char *local)
{
	return order_plan.connect != NULL ? order_plan.connect(ctx, to, local)
					  : gyre_context_connect(ctx, to, local);
}

static void planned_active(struct gyre_handler_context *ctx)
{
	if (order_plan.active != NULL) {
		order_plan.active(ctx);
	} else {
		gyre_context_fire_active(ctx);
	}
}

static void planned_timer(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	order_plan.timer(ctx);
}

static void planned_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
			  const void *event)
{
	if (type->id == GYRE_ID(number) && order_plan.event != NULL) {
		order_plan.event(ctx);
	} else {
		gyre_context_fire_event(ctx, type, event);
	}
}

static const struct gyre_handler planned = {
	.name = "planned",
	.registered = planned_registered,
	.active = planned_active,
	.event = planned_event,
	.timer = planned_timer,
	.bind = planned_bind,
	.connect = planned_connect,
};

int order_init_channel(struct gyre_channel *channel, void *arg)
{
	int r = gyre_pipeline_add(channel, GYRE_LAST, &near_head, arg);

	if (r == 0) {
		r = gyre_pipeline_add(channel, GYRE_LAST, &planned, arg);
	}
	if (r == 0) {
		r = init_echo(channel, arg);
	}
	return r == 0 ? order_plan.init : r;
}

/* ---- tests ---- */

void order_begin(void)
{
	descriptors = descriptors_open();
	fixture_open(2);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

void order_finish(void)
{
	ended = true;
	fixture_close();
}

void order_end(void)
{
	if (!ended) {
		fixture_close();
	}
	must_hold(descriptors_open() == descriptors, "none is left");
}

struct gyre_connect_options order_options(uint16_t port)
{
	struct gyre_connect_options options = client_options(port);

	options.init_channel = order_init_channel;
	return options;
}

void order_expect(const char *traced_then)
{
	order_finish();
	cr_expect_str_eq(traced, traced_then);
}

void order_connect_once(const struct gyre_connect_options *options, int fd)
{
	(void)client_connect(options);
	(void)client_until(GYRE_CONNECTION_OPEN);
	(void)close(client_accept(fd));
	(void)client_until(GYRE_CONNECTION_GIVEN_UP);
}

uint16_t order_closed_port(int *ret_fd)
{
	uint16_t port;

	*ret_fd = client_bind("tcp://127.0.0.1:0", &port);
	return port;
}

void order_expect_failure(const struct gyre_connect_options *options, int reason)
{
	(void)client_connect(options);
	cr_expect_eq(client_next(GYRE_CONNECTION_FAILED).reason, reason);
	cr_expect_eq(client_next(GYRE_CONNECTION_GIVEN_UP).reason, reason);
}

void order_expect_from(int fd, const char *address)
{
	struct gyre_socket_address from;
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	int connection;

	(void)client_next(GYRE_CONNECTION_OPEN);
	connection = client_accept(fd);
	cr_assert_eq(gy_socket_address_of_peer(connection, &from), 0);
	cr_assert_gt(gyre_socket_address_format(&from, sizeof(text), text), 0);
	cr_expect_eq(strncmp(text, address, strlen(address)), 0, "%s", text);
	(void)close(connection);
	(void)close(fd);
}

const char *order_address(const char *address, uint16_t port)
{
	static char texts[4][64];
	static uint32_t next;
	char *text = texts[next++ % 4];

	(void)snprintf(text, sizeof(texts[0]), "tcp://%s:%u", address, (unsigned)port);
	return text;
}
