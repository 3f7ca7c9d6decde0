/*
 * TLS over sockets: much of it, both ways, under the rules that reads and writes have; and the ends
 * of a connection as the kernel tells of them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "tls_rig.h"

#include <gyre/tls.h>

TestSuite(tls_flow, .timeout = 120);

enum { MUCH = 1 << 20, PIECE = 50000 };

/* One end: a channel of the rig. */
struct end {
	struct gyre_channel *channel;
	struct gyre_handler_context *ctx;
	uint64_t received;
	uint64_t written;
	uint64_t total;
	uint64_t reads;
	uint32_t sessions;
	uint32_t ends; /* of input */
	uint32_t inactive;
	uint32_t unwritable;
	int exception;
	int reason;
	bool echo;
	bool keep;	 /* on a channel that reads on request: ask for the next read */
	bool shuts_down; /* at once, for it only receives */
	bool insists;	 /* writes though the channel is not writable */
	bool wrong;
};

/* Two that write at a time without reading would wait for each other. */
static const struct gyre_channel_options full_duplex = { .keep_reading = true };

static struct rig rig;
static struct tls_certs certs;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static struct end server;
static struct end client;
static int wires[2]; /* the far ends, between which the test carries */

static void write_more(struct end *end)
{
	static unsigned char bytes[PIECE];

	while (end->written < end->total &&
	       (end->insists || gyre_channel_is_writable(end->channel))) {
		uint64_t left = end->total - end->written;
		size_t count = left < PIECE ? (size_t)left : PIECE;
		struct gyre_buffer *buffer = gyre_context_buffer(end->ctx);

		rig_fill(bytes, count, end->written);
		cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
		cr_assert_eq(gyre_context_write(end->ctx, buffer), 0);
		end->written += count;
	}
}

static void on_active(struct gyre_handler_context *ctx)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);

	end->channel = gyre_context_channel(ctx);
	end->ctx = ctx;
	write_more(end);
	if (end->keep) {
		gyre_context_read(ctx);
	}
	if (end->shuts_down) {
		gyre_context_shutdown(ctx);
	}
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);
	unsigned char bytes[4096];
	size_t offset = 0;
	size_t count;

	end->reads++;
	while ((count = gyre_buffer_copy(data, offset, bytes, sizeof(bytes))) > 0) {
		end->wrong = end->wrong || !rig_check(bytes, count, end->received);
		end->received += count;
		offset += count;
	}
	if (end->echo) {
		(void)gyre_context_write(ctx, data);
	} else {
		gyre_buffer_destroy(data);
	}
	if (end->keep) {
		gyre_context_read(ctx);
	}
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);

	(void)event;
	end->sessions += type->id == GYRE_ID(gyre_tls_session);
	end->ends += type->id == GYRE_ID(gyre_input_closed);
}

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);

	end->unwritable += !writable;
	if (writable) {
		write_more(end);
	}
}

static void on_exception(struct gyre_handler_context *ctx, int error)
{
	((struct end *)gyre_context_arg(ctx))->exception = error;
	gyre_context_fire_exception(ctx, error);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);

	end->inactive++;
	end->reason = gyre_channel_reason(gyre_context_channel(ctx));
	end->channel = NULL;
}

static const struct gyre_handler end_handler = {
	.name = "end",
	.active = on_active,
	.read = on_read,
	.event = on_event,
	.writability = on_writability,
	.exception = on_exception,
	.inactive = on_inactive,
};
static const struct gyre_handler *const end_handlers[] = { &end_handler, NULL };

static void open_rig(const struct rig_options *options)
{
	rig_init(&rig, options);
	tls_certs_open(&certs);
	server = (struct end){ 0 };
	client = (struct end){ 0 };
	server_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&certs.server, &certs.ca) };
	client_options = (struct gyre_tls_options){ .context = tls_rig_context(NULL, &certs.ca),
						    .server_name = "localhost" };
}

static void open_ends_as(const struct gyre_channel_options *server_channel,
			 const struct gyre_channel_options *client_channel)
{
	struct gyre_channel *channel;

	wires[0] = rig_open(&rig, end_handlers, &server, server_channel, &channel);
	cr_assert_eq(gyre_tls_server_add(channel, GYRE_FIRST, &server_options), 0);
	wires[1] = rig_open(&rig, end_handlers, &client, client_channel, &channel);
	cr_assert_eq(gyre_tls_client_add(channel, GYRE_FIRST, &client_options), 0);
}

static void open_ends(const struct gyre_channel_options *options)
{
	open_ends_as(options, options);
}

static void cut_wire(int which)
{
	if (wires[which] >= 0) {
		(void)close(wires[which]);
		wires[which] = -1;
	}
}

static void close_rig(void)
{
	cut_wire(0);
	cut_wire(1);
	rig_fini(&rig);
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	tls_certs_close(&certs);
}

/* Carries what is there, and an end; no more than the other wire takes. */
static void carry(int from, int to)
{
	static unsigned char bytes[4096];
	ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);
	ssize_t sent;

	if (got == 0) {
		(void)shutdown(to, SHUT_WR);
	}
	if (got <= 0) {
		return;
	}
	sent = send(to, bytes, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0) {
		cr_assert_eq(recv(from, bytes, (size_t)sent, MSG_DONTWAIT), sent);
	}
}

static void carry_both(void)
{
	for (int i = 0; i < 16; i++) {
		carry(wires[0], wires[1]);
		carry(wires[1], wires[0]);
	}
}

static bool are_agreed(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	carry_both();
	return server.sessions + client.sessions == 2;
}

static bool are_done(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	carry_both();
	return server.received >= client.total && client.received >= server.total;
}

static bool are_inactive(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	carry_both();
	return server.inactive + client.inactive == 2;
}

static void expect_all(void)
{
	cr_assert(rig_until(&rig, are_done, NULL), "%lu and %lu came", server.received,
		  client.received);
	cr_assert_eq(server.received, client.total);
	cr_assert_eq(client.received, server.total);
	cr_assert_not(server.wrong);
	cr_assert_not(client.wrong);
}

/* ---- much ---- */

Test(tls_flow, carries_a_mebibyte_each_way)
{
	open_rig(NULL);
	server.total = MUCH;
	client.total = MUCH;
	open_ends(&full_duplex);
	expect_all();
	close_rig();
}

Test(tls_flow, sends_back_what_comes_and_keeps_to_the_marks)
{
	const struct rig_options small = {
		.buffer_count = 16, .buffer_bytes = 1024, .low_bytes = 4096, .high_bytes = 16384
	};

	open_rig(&small);
	server.echo = true;
	client.total = MUCH;
	server.total = MUCH; /* for what the client expects */
	server.written = MUCH;
	open_ends_as(NULL, &full_duplex);
	expect_all();
	cr_assert_gt(client.unwritable, 0);
	close_rig();
}

Test(tls_flow, keeps_to_the_marks_before_the_handshake_is_done)
{
	open_rig(&(struct rig_options){ .low_bytes = 1024, .high_bytes = 65536 });
	client.total = MUCH;
	open_ends(NULL);
	rig_settle(&rig); /* nothing is carried */
	cr_assert_geq(client.written, 65536);
	cr_assert_leq(client.written, 65536 + PIECE);
	cr_assert_geq(gyre_channel_queued_bytes(client.channel), client.written);
	cr_assert_eq(client.unwritable, 1);
	expect_all();
	close_rig();
}

Test(tls_flow, takes_a_write_of_all_the_room_there_is)
{
	struct gyre_buffer *buffer;
	static unsigned char bytes[MUCH];

	open_rig(NULL);
	open_ends(NULL);
	cr_assert(rig_until(&rig, are_agreed, NULL));
	rig_fill(bytes, sizeof(bytes), 0);
	buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, MUCH), 0);
	/* With what encryption adds it is over the cap, and that is known before. */
	cr_assert_eq(gyre_context_try_write(client.ctx, buffer), -EMSGSIZE);
	gyre_buffer_destroy(buffer);
	buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, MUCH - MUCH / 100), 0);
	cr_assert_eq(gyre_context_try_write(client.ctx, buffer), 0);
	client.total = MUCH - MUCH / 100;
	expect_all();
	close_rig();
}

/* ---- before the handshake is done ---- */

/* A write of the client's that asks whether it is taken. */
static int try_to_write(size_t count)
{
	static unsigned char bytes[MUCH];
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	int r;

	rig_fill(bytes, count, client.written);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, count), 0);
	r = gyre_context_try_write(client.ctx, buffer);
	if (r < 0) {
		gyre_buffer_destroy(buffer);
		return r;
	}
	client.written += count;
	return 0;
}

Test(tls_flow, takes_all_that_was_let_in_before_the_handshake_is_done)
{
	open_rig(NULL);
	open_ends(NULL);
	rig_settle(&rig); /* nothing is carried */
	cr_assert_eq(try_to_write(MUCH - MUCH / 100), 0);
	client.total = client.written;
	expect_all();
	close_rig();
}

Test(tls_flow, goes_on_with_the_handshake_when_a_write_is_refused)
{
	open_rig(&(struct rig_options){ .low_bytes = 1, .high_bytes = 4096, .max_bytes = 4096 });
	client.total = 6000;
	client.written = client.total; /* not at once */
	open_ends(NULL);
	rig_settle(&rig);
	client.written = 0;
	cr_assert_eq(try_to_write(3000), 0);
	cr_assert_eq(try_to_write(3000), -EAGAIN);
	expect_all();
	cr_assert_eq(client.unwritable, 1);
	close_rig();
}

/* Its certificate is larger than that. */
Test(tls_flow, shakes_hands_over_marks_and_a_cap_that_are_smaller_than_its_part)
{
	open_rig(&(struct rig_options){ .low_bytes = 1, .high_bytes = 256, .max_bytes = 256 });
	server.total = 100;
	open_ends(NULL);
	expect_all();
	close_rig();
}

Test(tls_flow, shakes_hands_while_its_part_and_what_waits_for_it_stand_over_the_mark)
{
	open_rig(&(struct rig_options){ .low_bytes = 1, .high_bytes = 256 });
	server.total = 100;
	open_ends(NULL);
	expect_all();
	close_rig();
}

/* The client's first words alone stand over the mark. */
Test(tls_flow, shakes_hands_when_bytes_wait_for_it_that_came_over_the_mark)
{
	open_rig(&(struct rig_options){ .low_bytes = 1, .high_bytes = 128 });
	client.total = 100;
	client.insists = true;
	open_ends(NULL);
	expect_all();
	close_rig();
}

/* ---- reading on request ---- */

Test(tls_flow, shakes_hands_on_a_channel_that_reads_on_request)
{
	open_rig(NULL);
	client.total = PIECE;
	open_ends(&(struct gyre_channel_options){ .manual_read = true });
	cr_assert(rig_until(&rig, are_agreed, NULL));
	carry_both();
	rig_settle(&rig);
	cr_assert_eq(server.reads, 0, "nobody has asked");
	gyre_context_read(server.ctx);
	rig_settle(&rig);
	cr_assert_eq(server.reads, 1);
	server.keep = true;
	gyre_context_read(server.ctx);
	expect_all();
	close_rig();
}

Test(tls_flow, delivers_what_waited_when_reading_goes_on)
{
	open_rig(NULL);
	open_ends(NULL);
	cr_assert(rig_until(&rig, are_agreed, NULL));
	gyre_channel_set_auto_read(server.channel, false);
	client.total = MUCH / 4;
	write_more(&client);
	carry_both();
	rig_settle(&rig);
	cr_assert_eq(server.reads, 0);
	gyre_channel_set_auto_read(server.channel, true);
	expect_all();
	close_rig();
}

/* ---- the end ---- */

Test(tls_flow, closes_both_sides_in_good_order)
{
	open_rig(&(struct rig_options){ .linger_ns = GYRE_SECONDS(3600) });
	client.total = MUCH;
	open_ends(NULL);
	expect_all();
	gyre_context_close(client.ctx);
	cr_assert(rig_until(&rig, are_inactive, NULL));
	cr_assert_eq(server.reason, 0);
	cr_assert_eq(client.reason, 0);
	cr_assert_eq(server.exception, 0);
	cr_assert_eq(server.ends, 0);
	close_rig();
}

static bool has_heard_end(struct rig *r, void *arg)
{
	(void)r;
	carry_both();
	return ((struct end *)arg)->ends == 1;
}

Test(tls_flow, half_closes_and_goes_on_the_other_way)
{
	open_rig(&(struct rig_options){ .linger_ns = GYRE_SECONDS(3600) });
	client.total = PIECE;
	open_ends(&(struct gyre_channel_options){ .allow_half_close = true });
	cr_assert(rig_until(&rig, are_agreed, NULL));
	gyre_context_shutdown(client.ctx);
	cr_assert(rig_until(&rig, has_heard_end, &server));
	cr_assert_eq(server.received, PIECE);
	server.total = MUCH;
	write_more(&server);
	expect_all();
	gyre_context_shutdown(server.ctx);
	cr_assert(rig_until(&rig, are_inactive, NULL));
	cr_assert_eq(server.reason, 0);
	cr_assert_eq(client.reason, 0);
	cr_assert_eq(client.ends, 1);
	close_rig();
}

static void receive_only(struct end *receiver, struct end *sender)
{
	open_rig(&(struct rig_options){ .linger_ns = GYRE_SECONDS(3600) });
	receiver->shuts_down = true;
	sender->total = MUCH;
	open_ends(&(struct gyre_channel_options){ .allow_half_close = true });
	expect_all();
	cr_assert(rig_until(&rig, has_heard_end, sender));
	gyre_context_shutdown(sender->ctx);
	cr_assert(rig_until(&rig, are_inactive, NULL));
	cr_assert_eq(server.exception, 0);
	cr_assert_eq(client.exception, 0);
	cr_assert_eq(server.reason, 0);
	cr_assert_eq(client.reason, 0);
	close_rig();
}

Test(tls_flow, shakes_hands_where_a_side_that_only_receives_shuts_down_at_once)
{
	receive_only(&server, &client);
	receive_only(&client, &server);
}

static bool is_server_gone(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return server.inactive == 1;
}

static void truncate_stream(bool half_close)
{
	open_rig(NULL);
	client.total = PIECE;
	open_ends(&(struct gyre_channel_options){ .allow_half_close = half_close });
	expect_all();
	cr_assert_eq(shutdown(wires[0], SHUT_WR), 0);
	cr_assert(rig_until(&rig, is_server_gone, NULL));
	cr_assert_eq(server.exception, -ECONNABORTED);
	cr_assert_eq(server.reason, -ECONNABORTED);
	cr_assert_eq(server.ends, 0);
	close_rig();
}

Test(tls_flow, takes_an_end_without_a_word_for_a_failure)
{
	truncate_stream(false);
	truncate_stream(true);
}

Test(tls_flow, says_that_it_ends_when_the_system_does)
{
	open_rig(NULL);
	open_ends(NULL);
	cr_assert(rig_until(&rig, are_agreed, NULL));
	rig.home.channel_ops->drain(&rig.home);
	cr_assert(rig_until(&rig, are_inactive, NULL));
	cr_assert_eq(server.exception, 0);
	cr_assert_eq(client.exception, 0);
	cr_assert_eq(server.reason, 0);
	cr_assert_eq(client.reason, 0);
	close_rig();
}

Test(tls_flow, begins_on_a_connection_that_spoke_plainly_before)
{
	struct gyre_channel *channels[2];

	open_rig(NULL);
	wires[0] = rig_open(&rig, end_handlers, &server, NULL, &channels[0]);
	wires[1] = rig_open(&rig, end_handlers, &client, NULL, &channels[1]);
	client.total = 100;
	expect_all();
	cr_assert_eq(gyre_tls_server_add(channels[0], GYRE_FIRST, &server_options), 0);
	cr_assert_eq(gyre_tls_client_add(channels[1], GYRE_FIRST, &client_options), 0);
	cr_assert(rig_until(&rig, are_agreed, NULL));
	client.total = MUCH;
	write_more(&client);
	expect_all();
	close_rig();
}
