/*
 * Requests as datagrams: each may be lost, and answers may come in any order. So each begins with
 * its slot and with the round in which it uses that slot, by which its answer is known. What has no
 * answer in time is lost, and its slot is free for another request; what comes later is nothing.
 */
#include <errno.h>
#include <string.h>

#include "load.h"

/* Before the pattern. It comes back to the machine that sent it: the order of bytes is its own. */
struct header {
	uint32_t slot;
	uint32_t round;
};

static uint64_t place_of(const struct header *header, const struct load_settings *settings)
{
	return ((uint64_t)header->round * settings->depth + header->slot) * settings->size_bytes;
}

static int fill(struct gyre_buffer *buffer, const struct load_connection *connection,
		const struct header *header)
{
	const struct load_settings *settings = connection->loop->settings;
	int r = gyre_buffer_append(buffer, header, sizeof(*header));

	return r < 0 ? r
		     : gyre_buffer_append(buffer,
					  load_pattern_at(connection, place_of(header, settings)),
					  settings->size_bytes - sizeof(*header));
}

static void begin_request(struct gyre_handler_context *ctx, struct load_connection *connection,
			  uint64_t now_ns)
{
	uint64_t depth = connection->loop->settings->depth;
	uint32_t index = connection->free[depth - connection->under_way - 1];
	struct load_slot *slot = &connection->slots[index];
	struct header header = { .slot = index,
				 .round = (uint32_t)(connection->begun % UINT32_MAX) + 1 };
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	if (fill(buffer, connection, &header) < 0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	slot->round = header.round;
	slot->sent_ns = now_ns;
	slot->started_ns = load_intended_ns(connection, now_ns);
	connection->begun++;
	connection->under_way++;
	connection->loop->counts.under_way++;
	(void)gyre_context_write(ctx, buffer);
}

static void begin_requests(struct gyre_handler_context *ctx, struct load_connection *connection,
			   uint64_t now_ns)
{
	for (uint32_t room = load_room(connection); room > 0; room--) {
		begin_request(ctx, connection, now_ns);
	}
}

static void free_slot(struct load_connection *connection, uint32_t index)
{
	connection->slots[index].round = 0;
	connection->under_way--;
	connection->free[connection->loop->settings->depth - connection->under_way - 1] = index;
}

static void read_reply(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	struct load_loop *loop = connection->loop;
	const struct load_settings *settings = loop->settings;
	struct header header = { 0 };
	uint64_t now_ns = gyre_now(gyre_context_stack(ctx));
	bool right = gyre_buffer_copy(data, 0, &header, sizeof(header)) == sizeof(header) &&
		     gyre_buffer_bytes(data) == settings->size_bytes &&
		     header.slot < settings->depth && header.round != 0;

	if (right && settings->verify) {
		right = load_pattern_is(connection, place_of(&header, settings), data,
					sizeof(header));
	}
	gyre_buffer_destroy(data);
	if (!right) {
		load_count_error(loop, -EBADMSG);
	} else if (connection->slots[header.slot].round == header.round) {
		load_answered(loop, connection->slots[header.slot].started_ns, now_ns);
		free_slot(connection, header.slot);
	}
	begin_requests(ctx, connection, now_ns);
}

static void find_lost(struct load_connection *connection, uint64_t now_ns)
{
	struct load_loop *loop = connection->loop;

	for (uint32_t i = 0; i < loop->settings->depth && connection->under_way > 0; i++) {
		const struct load_slot *slot = &connection->slots[i];

		if (slot->round != 0 && now_ns - slot->sent_ns > loop->settings->timeout_ns) {
			loop->counts.lost++;
			loop->counts.under_way--;
			free_slot(connection, i);
		}
	}
}

static void look(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);
	uint64_t now_ns = gyre_now(gyre_context_stack(ctx));

	if (type->id != GYRE_ID(load_look)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	find_lost(connection, now_ns);
	begin_requests(ctx, connection, now_ns);
}

/* What the net says of a datagram, as that nobody is there. The socket goes on. */
static void count_exception(struct gyre_handler_context *ctx, int error)
{
	load_count_error(((struct load_connection *)gyre_context_arg(ctx))->loop, error);
}

static void become_active(struct gyre_handler_context *ctx)
{
	struct load_connection *connection = (struct load_connection *)gyre_context_arg(ctx);

	load_connection_active(ctx);
	connection->loop->counts.settled++;
}

static const struct gyre_handler requester = {
	.name = "requester",
	.removed = load_connection_removed,
	.active = become_active,
	.read = read_reply,
	.event = look,
	.exception = count_exception,
	.inactive = load_connection_inactive,
};

int load_init_datagram(struct gyre_channel *channel, void *loop)
{
	return load_connection_add(channel, (struct load_loop *)loop, &requester);
}
