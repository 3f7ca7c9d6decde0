#include "fault_rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fault fault;

static uint64_t sent; /* by the far end */

static void on_registered(struct gyre_handler_context *ctx)
{
	fault.registered++;
	gyre_context_fire_registered(ctx);
}

static void on_active(struct gyre_handler_context *ctx)
{
	fault.active++;
	gyre_context_fire_active(ctx);
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char bytes[4096];
	size_t offset = 0;
	size_t count;

	while ((count = gyre_buffer_copy(data, offset, bytes, sizeof(bytes))) > 0) {
		fault.wrong = fault.wrong || !rig_check(bytes, count, fault.bytes);
		fault.bytes += count;
		offset += count;
	}
	fault.reads++;
	if (fault.echo) {
		(void)gyre_context_write(ctx, data);
	} else {
		gyre_context_fire_read(ctx, data);
	}
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	fault.input_closed += type->id == GYRE_ID(gyre_input_closed);
	gyre_context_fire_event(ctx, type, event);
}

static void on_read_end(struct gyre_handler_context *ctx)
{
	cr_expect_eq(fault.input_closed, 0, "it comes first");
	cr_expect_eq(fault.inactive, 0);
	fault.read_ends++;
	gyre_context_fire_read_end(ctx);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	fault.inactive++;
	fault.reason = gyre_channel_reason(gyre_context_channel(ctx));
	gyre_context_fire_inactive(ctx);
}

static void on_unregistered(struct gyre_handler_context *ctx)
{
	fault.unregistered++;
	gyre_context_fire_unregistered(ctx);
}

static void on_removed(struct gyre_handler_context *ctx)
{
	(void)ctx;
	fault.removed++;
	fault.channel = NULL;
}

const struct gyre_handler fault_handler = {
	.name = "fault",
	.removed = on_removed,
	.registered = on_registered,
	.active = on_active,
	.read = on_read,
	.event = on_event,
	.read_end = on_read_end,
	.inactive = on_inactive,
	.unregistered = on_unregistered,
};
const struct gyre_handler *const fault_handlers[] = { &fault_handler, NULL };

void fault_begin(const struct rig_options *options)
{
	memset(&fault, 0, sizeof(fault));
	sent = 0;
	rig_init(&fault.rig, options);
	fault.fd = -1;
}

void fault_open(const struct gyre_channel_options *options)
{
	fault.fd = rig_open_tcp(&fault.rig, fault_handlers, NULL, options, &fault.channel);
}

void fault_begin_open(const struct gyre_channel_options *options)
{
	fault_begin(NULL);
	fault_open(options);
	rig_settle(&fault.rig);
}

void fault_begin_patient(const struct gyre_channel_options *options)
{
	static const struct rig_options patient = { .linger_ns = GYRE_SECONDS(3600) };

	fault_begin(&patient);
	fault_open(options);
	rig_settle(&fault.rig);
}

void fault_begin_closing(void)
{
	fault_begin_patient(NULL);
}

void fault_begin_half_closing(void)
{
	static const struct gyre_channel_options allowed = { .allow_half_close = true };

	fault_begin_patient(&allowed);
}

struct gyre_handler_context *fault_tail(void)
{
	return gyre_channel_tail(fault.channel);
}

bool fault_is_closed(struct rig *rig, void *arg)
{
	(void)arg;
	return rig->home.channel_ops->open_count(&rig->home) == 0;
}

void fault_end(int reason)
{
	cr_assert(rig_until_later(&fault.rig, fault_is_closed, NULL), "it stays open");
	cr_expect_eq(fault.registered, 1);
	cr_expect_eq(fault.active, 1);
	cr_expect_eq(fault.inactive, 1);
	cr_expect_eq(fault.unregistered, 1);
	cr_expect_eq(fault.removed, 1);
	cr_expect_eq(fault.reason, reason, "%s", strerror(-fault.reason));
	cr_expect(!fault.wrong);
	cr_expect_eq(gy_channels_counters(&fault.rig.home)->closed, 1);
	if (fault.fd >= 0) {
		(void)close(fault.fd);
	}
	rig_fini(&fault.rig);
}

void fault_reset(void)
{
	const struct linger none = { .l_onoff = 1 };

	cr_assert_eq(setsockopt(fault.fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	cr_assert_eq(close(fault.fd), 0);
	fault.fd = -1;
}

struct gyre_buffer *fault_buffer(size_t count)
{
	static unsigned char bytes[FAULT_BYTES_MAX];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&fault.rig)->pools);

	rig_fill(bytes, count, 0);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	return buffer;
}

int fault_write(size_t count)
{
	return gyre_context_write(gyre_channel_tail(fault.channel), fault_buffer(count));
}

void fault_send(size_t count)
{
	unsigned char bytes[4096];

	cr_assert_leq(count, sizeof(bytes));
	rig_fill(bytes, count, sent);
	cr_assert_eq(send(fault.fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
	sent += count;
}
