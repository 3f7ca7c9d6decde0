/*
 * The handler of TLS and the others of its pipeline: what they ask of it at any time, and what they
 * do in the midst of its work.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tls_pair.h"

TestSuite(tls_handler, .timeout = 60);

enum { WHOLE = 1 << 20 };

static struct tls_certs certs;
static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static const struct tls_pair pair = { &certs, &server, &client, &server_options, &client_options };

static void open_pair(void)
{
	tls_pair_open(&pair);
	tls_pair_begin(&pair);
}

static void close_pair(void)
{
	tls_pair_close(&pair);
}

/* ---- removed in the handshake ---- */

Test(tls_handler, that_leaves_in_the_handshake_passes_on_a_shutdown_that_waited, .init = open_pair,
     .fini = close_pair)
{
	gyre_context_shutdown(gyre_channel_tail(&client.rig.channel));
	cr_expect_eq(client.rig.channel.state & GY_OUTPUT_SHUTDOWN, 0);
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "tls"), 0);
	cr_expect_neq(client.rig.channel.state & GY_OUTPUT_SHUTDOWN, 0);
}

Test(tls_handler, that_leaves_in_the_handshake_passes_on_a_close_that_waited, .init = open_pair,
     .fini = close_pair)
{
	cr_assert_eq(tls_rig_write(&client, "lost", 4), 0);
	gyre_context_close(gyre_channel_tail(&client.rig.channel));
	cr_expect_not(gy_channel_is_ending(&client.rig.channel));
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "tls"), 0);
	cr_expect(gy_channel_is_ending(&client.rig.channel));
}

/* ---- a failure behind bytes ---- */

/* On a connection that does not go on, and on another one, which OpenSSL knows as little. */
static void write_on_both(struct codec_rig *rig, struct gyre_handler_context *ctx)
{
	cr_expect_eq(gyre_context_write(ctx, codec_rig_buffer(rig, "thanks", 6, 6)), -EPIPE);
	cr_expect_eq(tls_rig_write(&client, "thanks", 6), 0);
}

/* A record that can be read, and one that was changed on its way. */
static void send_good_and_bad(void)
{
	unsigned char bytes[512];
	size_t count;

	cr_assert_eq(tls_rig_write(&client, "good", 4), 0);
	cr_assert_eq(tls_rig_write(&client, "bad", 3), 0);
	count = codec_rig_output(&client.rig, bytes, sizeof(bytes));
	bytes[count - 1] ^= 1;
	codec_rig_feed(&server.rig, bytes, count, count);
}

Test(tls_handler, says_why_it_failed_though_a_handler_wrote_meanwhile, .init = open_pair,
     .fini = close_pair)
{
	tls_rig_settle(&client, &server, WHOLE);
	server.rig.on_frame = write_on_both;
	send_good_and_bad();
	cr_expect(server.rig.log.bytes_count == 4 && memcmp(server.rig.log.bytes, "good", 4) == 0);
	cr_expect_eq(tls_rig_error(&server), -EPROTO);
	cr_expect_eq(server.lines, 1);
	cr_expect_not_null(strstr(server.line, "bad record mac"), "it says: %s", server.line);
}
