/*
 * Requests on a stream: bytes go out, and as many come back, in order. So a reply is complete when
 * the bytes of its request and of all before it have come.
 */
#include <errno.h>

#include "load.h"

static void begin_requests(struct gyre_handler_context *ctx, struct load_connection *connection,
			   uint64_t now_ns)
{
	const struct load_settings *settings = connection->loop->settings;
	uint32_t count = load_room(connection);
	size_t bytes = count * settings->size_bytes;
	struct gyre_buffer *buffer;

	if (count == 0) {
		return;
	}
	buffer = gyre_context_buffer(ctx);
	if (gyre_buffer_append(buffer, load_pattern_at(connection, connection->sent_bytes), bytes) <
	    0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	connection->heard_ns = connection->under_way == 0 ? now_ns : connection->heard_ns;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = connection->oldest + connection->under_way;

		slot -= slot < settings->depth ? 0 : (uint32_t)settings->depth;
		connection->slots[slot].started_ns = load_intended_ns(connection, now_ns);
		connection->under_way++;
		connection->begun++;
	}
	connection->loop->counts.under_way += count;
	connection->sent_bytes += bytes;
	(void)gyre_context_write(ctx, buffer);
}

static void end_oldest(struct load_connection *connection, uint64_t now_ns)
{
	load_answered(connection->loop, connection->slots[connection->oldest].started_ns, now_ns);
	connection->under_way--;
	connection->oldest++;
	if (connection->oldest == connection->loop->settings->depth) {
		connection->oldest = 0;
	}
}

static void read_replies(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	const struct load_settings *settings = connection->loop->settings;
	size_t bytes = gyre_buffer_bytes(data);
	uint64_t whole = connection->received_bytes % settings->size_bytes + bytes;
	bool right = connection->received_bytes + bytes <= connection->sent_bytes;
	uint64_t now_ns = gyre_now(gyre_context_stack(ctx));

	if (right && settings->verify) {
		right = load_pattern_is(connection, connection->received_bytes, data, 0);
	}
	gyre_buffer_destroy(data);
	if (!right) {
		gyre_channel_abort(gyre_context_channel(ctx), -EBADMSG);
		return;
	}
	connection->heard_ns = now_ns;
	connection->received_bytes += bytes;
	for (; whole >= settings->size_bytes; whole -= settings->size_bytes) {
		end_oldest(connection, now_ns);
	}
	begin_requests(ctx, connection, now_ns);
}

static void look(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	uint64_t now_ns = gyre_now(gyre_context_stack(ctx));

	if (type->id != GYRE_ID(load_look)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	if (connection->under_way > 0 &&
	    now_ns - connection->heard_ns > connection->loop->settings->timeout_ns) {
		gyre_channel_abort(gyre_context_channel(ctx), -ETIMEDOUT);
		return;
	}
	begin_requests(ctx, connection, now_ns);
}

static void become_active(struct gyre_handler_context *ctx)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);

	load_connection_active(ctx);
	begin_requests(ctx, connection, gyre_now(gyre_context_stack(ctx)));
}

static const struct gyre_handler requester = {
	.name = "requester",
	.removed = load_connection_removed,
	.active = become_active,
	.read = read_replies,
	.event = look,
	.inactive = load_connection_inactive,
};

int load_init_stream(struct gyre_channel *channel, void *loop)
{
	return load_connection_add(channel, (struct load_loop *)loop, &requester);
}
