/*
 * What the two ends of a connection write, and what sockets for datagrams do: each byte is known
 * from its place, and from whose it is.
 */
#include <errno.h>
#include <string.h>

#include "linking.h"

enum { WRITE_MAX = 30000, CHUNK = 512, HELLO_BYTES = 2 };

/* ---- streams ---- */

/* Each end says first which it is; then it counts. */
static uint8_t byte_at(uint32_t number, uint32_t at)
{
	return (uint8_t)(at == 0 ? number : at == 1 ? number >> 8 : at * 7 + number);
}

static void write_stream(struct link *link, struct gyre_handler_context *ctx)
{
	struct world *world = link->world;
	uint32_t count =
		HELLO_BYTES + draw(&link->random, one_in(&link->random, 8) ? WRITE_MAX : 99);
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	void *bytes = NULL;
	uint32_t at = link->written;
	int r = buffer == NULL ? -ENOMEM : gyre_buffer_reserve(buffer, count, &bytes);

	if (r == 0) {
		for (uint32_t i = 0; i < count; i++) {
			((uint8_t *)bytes)[i] = byte_at(link_number(link), at + i);
		}
		must(world, link->life, gyre_buffer_commit(buffer, count, count) == 0);
		gy_store_release(&link->written, at + count);
		r = gyre_context_write(ctx, buffer);
	} else {
		gyre_buffer_destroy(buffer);
	}
	trace(link->life, "writes", count, (uint64_t)r);
	must(world, link->life, r == 0 || r == -EPIPE || (r == -ENOMEM && world->plan.lean), "%d",
	     r);
	if (r == -ENOMEM) { /* what comes after it would come too early */
		gyre_channel_abort(gyre_context_channel(ctx), r);
	}
}

static void expect_peer(struct link *link)
{
	struct world *world = link->world;
	struct link *peer;
	uint32_t back;

	must(world, link->life, link->hello > 0 && link->hello < LINKS_MAX, "link %u", link->hello);
	peer = &world->links->links[link->hello];
	gy_store_release(&link->peer, link->hello);
	back = gy_load_acquire(&peer->peer);
	must(world, link->life, back == 0 || back == link_number(link), "link %u has peer %u",
	     link->hello, back);
	must(world, link->life, link->read <= gy_load_acquire(&peer->written),
	     "%u bytes came, link %u has not written as many", link->read, link->hello);
}

static void expect_bytes(struct link *link, const uint8_t *bytes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, link->read++) {
		if (link->read < HELLO_BYTES) {
			link->hello |= (uint32_t)bytes[i] << link->read * 8;
			continue;
		}
		must(link->world, link->life, bytes[i] == byte_at(link->hello, link->read),
		     "byte %u of link %u", link->read, link->hello);
	}
	if (link->read >= HELLO_BYTES) {
		expect_peer(link);
	}
}

static void read_stream(struct link *link, struct gyre_buffer *data)
{
	uint8_t bytes[CHUNK];
	size_t count;

	while ((count = gyre_buffer_read(data, bytes, sizeof(bytes))) > 0) {
		expect_bytes(link, bytes, (uint32_t)count);
	}
}

/* ---- datagrams ---- */

/* What each begins with; the rest is as at that place of a stream. */
struct datagram {
	uint32_t link;
	uint32_t number;
};

enum { DATAGRAM_MAX = 1400 };

static void write_datagram(struct link *link, struct gyre_handler_context *ctx)
{
	struct world *world = link->world;
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	uint32_t count = draw(&link->random, DATAGRAM_MAX);
	const struct datagram head = { link_number(link), link->written + 1 };
	uint8_t bytes[sizeof(head) + DATAGRAM_MAX];
	int r;

	memcpy(bytes, &head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		bytes[sizeof(head) + i] = byte_at(head.link, head.number + i);
	}
	gy_store_release(&link->written, head.number);
	r = buffer == NULL ? -ENOMEM : gyre_buffer_append(buffer, bytes, sizeof(head) + count);
	if (r == 0) {
		r = gyre_buffer_set_peer(buffer, &world->links->socket_address);
	}
	if (r < 0) {
		gyre_buffer_destroy(buffer);
		must(world, link->life, r == -ENOMEM && world->plan.lean, "%d", r);
		return;
	}
	r = gyre_context_write(ctx, buffer);
	trace(link->life, "sends a datagram", count, (uint64_t)r);
	must(world, link->life,
	     r == 0 || r == -EPIPE || r == -ENOBUFS || (r == -ENOMEM && world->plan.lean), "%d", r);
}

/* Some may be lost, or come twice; none comes that was not sent, or in part. */
static void read_datagram(struct link *link, struct gyre_buffer *data)
{
	struct world *world = link->world;
	const struct gyre_socket_address *peer = gyre_buffer_peer(data);
	struct datagram head = { 0 };
	uint8_t bytes[DATAGRAM_MAX];
	size_t count;

	must(world, link->life,
	     peer != NULL && gyre_socket_address_equal(peer, &world->links->socket_address),
	     "a datagram of another");
	must(world, link->life, gyre_buffer_read(data, &head, sizeof(head)) == sizeof(head));
	must(world, link->life,
	     head.link > 0 && head.link < LINKS_MAX && head.number > 0 &&
		     head.number <= gy_load_acquire(&world->links->links[head.link].written),
	     "datagram %u of link %u was not sent", head.number, head.link);
	count = gyre_buffer_read(data, bytes, sizeof(bytes));
	for (uint32_t i = 0; i < count; i++) {
		must(world, link->life, bytes[i] == byte_at(head.link, head.number + i),
		     "byte %u of datagram %u of link %u", i, head.number, head.link);
	}
}

/* ---- both ---- */

void link_write(struct link *link, struct gyre_handler_context *ctx)
{
	if (link->datagrams) {
		write_datagram(link, ctx);
	} else {
		write_stream(link, ctx);
	}
}

void link_read(struct link *link, struct gyre_buffer *data)
{
	if (link->datagrams) {
		read_datagram(link, data);
	} else {
		read_stream(link, data);
	}
	gyre_buffer_destroy(data);
}
