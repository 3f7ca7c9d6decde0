/*
 * TLS in TLS, as through a proxy that is spoken to by TLS: each of the handlers has its own
 * handshake, its own end and its own bytes that wait.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rig.h"
#include "channel/output/output.h"
#include "channel/tls/tls.h"
#include "tls_rig.h"

TestSuite(tls_nested, .timeout = 60);

enum { WHOLE = 1 << 20 };

static struct tls_certs certs;
static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;

static void open_options(void)
{
	tls_certs_open(&certs);
	server_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&certs.server, &certs.ca) };
	client_options = (struct gyre_tls_options){ .context = tls_rig_context(NULL, &certs.ca),
						    .server_name = "localhost" };
}

static void close_options(void)
{
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	tls_certs_close(&certs);
}

static void add_inner(struct gyre_channel *channel, tls_add_fn add,
		      const struct gyre_tls_options *options)
{
	struct gyre_position position = GYRE_AFTER("tls");

	position.name = "inner";
	cr_assert_eq(add(channel, position, options), 0);
}

static void open_as(bool half_close)
{
	open_options();
	tls_rig_init(&server);
	tls_rig_init(&client);
	server.rig.channel.half_close = half_close;
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	add_inner(&server.rig.channel, gyre_tls_server_add, &server_options);
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &client_options), 0);
	add_inner(&client.rig.channel, gyre_tls_client_add, &client_options);
}

static void open_pair(void)
{
	open_as(false);
}

static void close_pair(void)
{
	tls_rig_fini(&server);
	tls_rig_fini(&client);
	close_options();
}

static void agree(void)
{
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(server.sessions, 2, "the server: %s", server.line);
	cr_assert_eq(client.sessions, 2, "the client: %s", client.line);
}

/* ---- settings of the channel ---- */

Test(tls_nested, leaves_the_channel_what_the_other_handler_needs, .init = open_pair,
     .fini = close_pair)
{
	const struct gyre_channel *channel = &client.rig.channel;
	size_t twice = gy_output_expanded(channel, 1000);

	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "inner"), 0);
	cr_expect(channel->half_close);
	cr_expect_gt(gy_output_expanded(channel, 1000), 1000);
	cr_expect_lt(gy_output_expanded(channel, 1000), twice);
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "tls"), 0);
	cr_expect_not(channel->half_close);
	cr_expect_eq(gy_output_expanded(channel, 1000), 1000);
}

Test(tls_nested, puts_back_what_the_channel_had_in_whatever_order_they_leave, .init = open_pair,
     .fini = close_pair)
{
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "tls"), 0);
	cr_expect(client.rig.channel.half_close);
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "inner"), 0);
	cr_expect_not(client.rig.channel.half_close);
}

/* ---- the end of the input ---- */

static void tell_end(struct tls_rig *tls)
{
	static const struct gyre_input_closed event = { 0 };

	gyre_context_fire_read_end(&tls->rig.channel.pipeline.head.head);
	gyre_context_fire_event(&tls->rig.channel.pipeline.head.head, &gyre_type_gyre_input_closed,
				&event);
}

/* A proxy may cut what it passes on, and end its own connection in good order. */
Test(tls_nested, reports_an_end_that_only_the_outer_peer_has_announced, .init = open_pair,
     .fini = close_pair)
{
	agree();
	gyre_context_shutdown(gyre_pipeline_get(&client.rig.channel, "inner"));
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_neq(server.rig.channel.state & GY_INPUT_ENDED, 0);
	tell_end(&server);
	cr_expect_eq(tls_rig_error(&server), -ECONNABORTED);
	cr_expect_eq(server.rig.channel.reason, -ECONNABORTED);
	cr_expect_eq(server.rig.read_ends, 0, "bytes may have been cut off");
}

static void end_both(bool half_close)
{
	const struct gy_tls *inner;

	open_as(half_close);
	agree();
	gyre_context_shutdown(gyre_channel_tail(&client.rig.channel));
	tls_rig_settle(&client, &server, WHOLE);
	tell_end(&server);
	cr_expect_eq(tls_rig_error(&server), 0);
	cr_expect_eq(server.ends, half_close ? 1 : 0);
	cr_expect_eq(gy_channel_is_ending(&server.rig.channel), !half_close);
	tls_rig_settle(&client, &server, WHOLE);
	inner = gy_tls_of(&client.rig.channel);
	cr_expect_eq(inner->peer_closed, !half_close, "each has said its bye");
	close_pair();
}

Test(tls_nested, ends_in_good_order_or_tells_of_the_end_as_the_channel_says)
{
	end_both(false);
	end_both(true);
}

/* The tunnel stays, and nobody has ended it. */
Test(tls_nested, takes_the_end_of_the_inner_stream_for_no_failure_of_the_outer_one,
     .init = open_pair, .fini = close_pair)
{
	struct gy_tls *inner = gy_tls_of(&client.rig.channel);

	agree();
	ERR_clear_error();
	cr_assert_eq(SSL_shutdown(inner->ssl), 0);
	cr_assert_eq(gy_tls_flush(inner), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_neq(server.rig.channel.state & GY_INPUT_ENDED, 0);
	tell_end(&server);
	cr_expect_eq(tls_rig_error(&server), 0);
	cr_expect_eq(server.rig.read_ends, 1, "for a codec that has a last frame");
	cr_expect(gy_channel_is_ending(&server.rig.channel));
	cr_expect_eq(server.rig.channel.reason, 0);
}

/* ---- what waits for the handshakes ---- */

static struct rig rig;
static struct gyre_channel *channels[2];
static int wires[2];

static struct {
	bool told;
	int error;
	int session; /* gyre_tls_session_of() then */
} promise;

static void on_written(struct gyre_channel *channel, int error, void *arg)
{
	struct gyre_tls_session session;

	(void)arg;
	promise.told = true;
	promise.error = error;
	promise.session = gyre_tls_session_of(channel, &session);
}

static void carry(int from, int to)
{
	static unsigned char bytes[4096];
	ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);

	cr_assert(got <= 0 || send(to, bytes, (size_t)got, MSG_NOSIGNAL) == got);
}

static bool is_told(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	carry(wires[0], wires[1]);
	carry(wires[1], wires[0]);
	return promise.told;
}

/* The client has written, and each of its handlers waits for its handshake. */
static void write_early(void)
{
	static const struct gyre_handler *const nobody[] = { NULL };
	struct gyre_buffer *buffer;

	open_options();
	rig_init(&rig, NULL);
	for (int i = 0; i < 2; i++) {
		const struct gyre_tls_options *options = i == 0 ? &server_options : &client_options;
		tls_add_fn add = i == 0 ? gyre_tls_server_add : gyre_tls_client_add;

		wires[i] = rig_open(&rig, nobody, NULL, NULL, &channels[i]);
		cr_assert_eq(add(channels[i], GYRE_FIRST, options), 0);
		add_inner(channels[i], add, options);
	}
	buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	cr_assert_eq(gyre_buffer_append(buffer, "early", 5), 0);
	cr_assert_eq(
		gyre_context_write_then(gyre_channel_tail(channels[1]), buffer, on_written, NULL),
		0);
}

static void hang_up(void)
{
	cr_assert_eq(close(wires[0]), 0);
	cr_assert_eq(close(wires[1]), 0);
	rig_fini(&rig);
	close_options();
}

Test(tls_nested, tells_of_a_write_when_no_handshake_keeps_it_any_more)
{
	write_early();
	cr_assert(rig_until(&rig, is_told, NULL));
	cr_expect_eq(promise.error, 0);
	cr_expect_eq(promise.session, 0, "the inner handshake is done");
	cr_expect_eq(channels[1]->withheld_bytes, 0);
	hang_up();
}

Test(tls_nested, tells_that_a_write_was_dropped_also_while_another_handshake_goes_on)
{
	uint32_t early;

	write_early();
	rig_settle(&rig);
	early = channels[1]->withheld_bytes;
	cr_assert_eq(gyre_pipeline_remove(channels[1], "inner"), 0);
	cr_assert_gt(channels[1]->withheld_bytes, 0, "the outer handler has bytes too");
	cr_assert_lt(channels[1]->withheld_bytes, early);
	cr_assert(rig_until(&rig, is_told, NULL));
	cr_expect_eq(promise.error, -ECANCELED);
	cr_expect_eq(channels[1]->withheld_bytes, 0);
	hang_up();
}
