/*
 * TLS between two pipelines, byte by byte where that matters: what is agreed, what is refused and
 * how that is told, and the two ends of a stream.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "tls_pair.h"

TestSuite(tls, .timeout = 120);

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
}

/* Puts another context in the place of one. */
static void use(struct gyre_tls_options *options, const struct tls_cert *cert,
		const struct tls_cert *ca)
{
	gyre_tls_context_unref(options->context);
	options->context = tls_rig_context(cert, ca);
}

static void begin(void)
{
	tls_pair_begin(&pair);
}

static void again(void)
{
	tls_rig_reset(&server);
	tls_rig_reset(&client);
	cr_assert_eq(gyre_pipeline_get(&server.rig.channel, "tls"), NULL);
}

static void close_pair(void)
{
	tls_pair_close(&pair);
}

static void agree(void)
{
	begin();
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(server.sessions, 1, "the server: %s", server.line);
	cr_assert_eq(client.sessions, 1, "the client: %s", client.line);
}

/* ---- what is agreed ---- */

Test(tls, agrees_and_tells_both_sides_what_in)
{
	open_pair();
	agree();
	cr_assert_eq(server.session.version, GYRE_TLS_1_3);
	cr_assert_eq(client.session.version, GYRE_TLS_1_3);
	cr_assert_str_eq(client.subject, "CN=server");
	cr_assert_str_eq(server.subject, "");
	cr_assert_str_eq(server.session.server_name, "localhost");
	cr_assert_str_eq(client.session.server_name, "localhost");
	cr_assert_str_eq(server.session.alpn, "");
	cr_assert_gt(strlen(server.session.cipher), 0);
	cr_assert_not(server.session.resumed);
	cr_assert_eq(server.lines + client.lines, 0);
	close_pair();
}

Test(tls, carries_bytes_both_ways)
{
	open_pair();
	agree();
	cr_assert_eq(tls_rig_write(&client, "question", 8), 0);
	cr_assert_eq(tls_rig_write(&server, "answer", 6), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&server, "question"));
	cr_assert(tls_rig_has(&client, "answer"));
	close_pair();
}

Test(tls, asks_a_client_for_its_certificate_and_tells_its_subject)
{
	open_pair();
	use(&client_options, &certs.client, &certs.ca);
	server_options.mutual = true;
	agree();
	cr_assert_str_eq(server.subject, "CN=client,O=gyre");
	close_pair();
}

Test(tls, chooses_the_protocol_that_the_server_prefers)
{
	const char *const of_server[] = { "h2", "echo/1", NULL };
	const char *const of_client[] = { "other", "echo/1", "h2", NULL };
	struct gyre_tls_context_options options = { .alpn = of_client };

	open_pair();
	options.ca = certs.ca.certificate;
	gyre_tls_context_unref(client_options.context);
	cr_assert_eq(gyre_tls_context_create(NULL, &options, &client_options.context), 0);
	options.alpn = of_server;
	options.certificate = certs.server.certificate;
	options.key = certs.server.key;
	gyre_tls_context_unref(server_options.context);
	cr_assert_eq(gyre_tls_context_create(NULL, &options, &server_options.context), 0);
	agree();
	cr_assert_str_eq(server.session.alpn, "h2");
	cr_assert_str_eq(client.session.alpn, "h2");
	close_pair();
}

Test(tls, tells_of_its_session_later_too)
{
	struct gyre_tls_session session;

	open_pair();
	cr_assert_eq(gyre_tls_session_of(&client.rig.channel, &session), -ENOENT);
	cr_assert_eq(gyre_tls_session_of(NULL, &session), -EINVAL);
	cr_assert_eq(gyre_tls_session_of(&client.rig.channel, NULL), -EINVAL);
	begin();
	cr_assert_eq(gyre_tls_session_of(&client.rig.channel, &session), -EAGAIN);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(gyre_tls_session_of(&client.rig.channel, &session), 0);
	cr_assert_str_eq(session.peer_subject, "CN=server");
	close_pair();
}

static int add_renamed(struct gyre_channel *channel, struct gyre_position position,
		       const struct gyre_tls_options *options)
{
	position.name = "outer";
	return gyre_tls_client_add(channel, position, options);
}

Test(tls, tells_its_results_by_whatever_name_it_was_added)
{
	struct gyre_tls_session session;

	open_pair();
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	cr_assert_eq(tls_rig_begin(&client, add_renamed, &client_options), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_null(gyre_pipeline_get(&client.rig.channel, "tls"));
	cr_assert_eq(gyre_tls_session_of(&client.rig.channel, &session), 0);
	cr_assert_str_eq(session.peer_subject, "CN=server");
	close_pair();
}

Test(tls, speaks_1_2_with_a_client_that_wants_it)
{
	struct tls_raw raw;

	open_pair();
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	tls_raw_open(&raw, TLS1_2_VERSION, NULL);
	cr_assert(tls_raw_settle(&raw, &server));
	cr_assert_eq(server.session.version, GYRE_TLS_1_2);
	cr_assert_neq(strstr(server.session.cipher, "ECDHE"), NULL);
	tls_raw_close(&raw);
	close_pair();
}

/* ---- byte boundaries ---- */

static void agree_in_pieces(size_t piece)
{
	begin();
	cr_assert_eq(tls_rig_write(&client, "early", 5), 0);
	tls_rig_settle(&client, &server, piece);
	cr_assert_eq(server.sessions, 1, "pieces of %zu: %s", piece, server.line);
	cr_assert_eq(client.sessions, 1, "pieces of %zu: %s", piece, client.line);
	cr_assert(tls_rig_has(&server, "early"));
	again();
}

Test(tls, shakes_hands_in_pieces_of_any_size)
{
	open_pair();
	use(&client_options, &certs.client, &certs.ca);
	server_options.mutual = true;
	for (size_t piece = 1; piece < 40; piece++) {
		agree_in_pieces(piece);
	}
	close_pair();
}

/* Carries the bytes of @from, and stops before the byte @cut of its stream to carry what comes
 * back. */
static bool carry_cut(struct tls_rig *from, struct tls_rig *to, uint64_t cut)
{
	static unsigned char bytes[CODEC_RIG_BYTES];
	uint64_t before = from->out_bytes;
	size_t count = codec_rig_output(&from->rig, bytes, sizeof(bytes));
	size_t first = cut > before && cut < before + count ? (size_t)(cut - before) : count;

	from->out_bytes += count;
	if (count == 0) {
		return false;
	}
	codec_rig_feed(&to->rig, bytes, first, first);
	codec_rig_run(&to->rig);
	if (first < count) {
		(void)tls_rig_carry(to, from, WHOLE);
		codec_rig_feed(&to->rig, bytes + first, count - first, count - first);
		codec_rig_run(&to->rig);
	}
	return true;
}

static void agree_cut(uint64_t client_cut, uint64_t server_cut)
{
	bool more = true;

	begin();
	while (more) {
		more = carry_cut(&client, &server, client_cut);
		more = carry_cut(&server, &client, server_cut) || more;
	}
	cr_assert_eq(server.sessions, 1, "cut at %lu and %lu: %s", client_cut, server_cut,
		     server.line);
	cr_assert_eq(client.sessions, 1, "cut at %lu and %lu: %s", client_cut, server_cut,
		     client.line);
	again();
}

Test(tls, shakes_hands_with_a_pause_at_any_byte_of_either_side)
{
	uint64_t client_bytes;
	uint64_t server_bytes;

	open_pair();
	agree();
	client_bytes = client.out_bytes;
	server_bytes = server.out_bytes;
	again();
	cr_assert_gt(client_bytes, 100);
	cr_assert_gt(server_bytes, 500);
	for (uint64_t cut = 1; cut < client_bytes; cut++) {
		agree_cut(cut, 0);
	}
	for (uint64_t cut = 1; cut < server_bytes; cut++) {
		agree_cut(0, cut);
	}
	close_pair();
}

/* ---- what is refused ---- */

static void fail_to_agree(int server_error, int client_error)
{
	begin();
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(tls_rig_error(&server), server_error, "the server: %d, %s",
		     tls_rig_error(&server), server.line);
	cr_assert_eq(tls_rig_error(&client), client_error, "the client: %d, %s",
		     tls_rig_error(&client), client.line);
	cr_assert(gy_channel_is_ending(&client.rig.channel));
	cr_assert(gy_channel_is_ending(&server.rig.channel));
	cr_assert_eq(client.rig.channel.reason, client_error);
	cr_assert_eq(server.rig.channel.reason, server_error);
	cr_assert_eq(client.lines, 1);
	cr_assert_eq(server.lines, 1);
}

#define says(tls, text) cr_assert_neq(strstr((tls).line, (text)), NULL, "it says: %s", (tls).line)

Test(tls, refuses_a_server_of_another_ca)
{
	open_pair();
	use(&server_options, &certs.stranger, NULL);
	fail_to_agree(-ECONNREFUSED, -EKEYREJECTED);
	says(client, "its certificate is refused");
	says(server, "it does not know the CA of our certificate");
	close_pair();
}

Test(tls, refuses_a_server_whose_certificate_has_expired)
{
	open_pair();
	use(&server_options, &certs.expired, NULL);
	fail_to_agree(-ECONNREFUSED, -EKEYREJECTED);
	says(client, "expired");
	says(server, "our certificate has expired");
	close_pair();
}

Test(tls, refuses_a_server_of_another_name)
{
	open_pair();
	client_options.server_name = "elsewhere.example";
	fail_to_agree(-ECONNREFUSED, -EKEYREJECTED);
	says(client, "connect to the name that it is for");
	close_pair();
}

Test(tls, refuses_a_server_at_another_address_and_takes_one_at_its_own)
{
	open_pair();
	client_options.server_name = "127.0.0.2";
	fail_to_agree(-ECONNREFUSED, -EKEYREJECTED);
	again();
	client_options.server_name = "127.0.0.1";
	agree();
	cr_assert_str_eq(server.session.server_name, "");
	cr_assert_str_eq(client.session.server_name, "127.0.0.1");
	close_pair();
}

Test(tls, takes_any_name_or_any_certificate_if_it_is_told_to)
{
	open_pair();
	client_options.server_name = "elsewhere.example";
	client_options.any_name = true;
	agree();
	again();
	use(&server_options, &certs.stranger, NULL);
	client_options.no_verify = true;
	agree();
	close_pair();
}

/* In TLS 1.3 the client believes that all is well until it hears otherwise. */
Test(tls, refuses_a_client_without_a_certificate)
{
	open_pair();
	server_options.mutual = true;
	fail_to_agree(-EKEYREJECTED, -ECONNREFUSED);
	says(server, "it has shown no certificate");
	says(client, "it wants a certificate");
	close_pair();
}

Test(tls, refuses_a_client_with_a_certificate_of_another_ca)
{
	open_pair();
	use(&client_options, &certs.stranger, &certs.ca);
	server_options.mutual = true;
	fail_to_agree(-EKEYREJECTED, -ECONNREFUSED);
	close_pair();
}

Test(tls, refuses_a_client_that_offers_no_protocol_of_its_own)
{
	const char *const of_server[] = { "echo/1", NULL };
	const char *const of_client[] = { "other", NULL };
	struct gyre_tls_context_options options = { .alpn = of_client };

	open_pair();
	options.ca = certs.ca.certificate;
	gyre_tls_context_unref(client_options.context);
	cr_assert_eq(gyre_tls_context_create(NULL, &options, &client_options.context), 0);
	options.alpn = of_server;
	options.certificate = certs.server.certificate;
	options.key = certs.server.key;
	gyre_tls_context_unref(server_options.context);
	cr_assert_eq(gyre_tls_context_create(NULL, &options, &server_options.context), 0);
	fail_to_agree(-EPROTO, -ECONNREFUSED);
	close_pair();
}

static void refuse_version(int version, const struct gyre_tls_context_options *options)
{
	struct tls_raw raw;

	if (options != NULL) {
		gyre_tls_context_unref(server_options.context);
		cr_assert_eq(gyre_tls_context_create(NULL, options, &server_options.context), 0);
	}
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	tls_raw_open(&raw, version, NULL);
	cr_assert_not(tls_raw_settle(&raw, &server));
	cr_assert_eq(tls_rig_error(&server), -EPROTO);
	says(server, "no version that is allowed");
	cr_assert_eq(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
	tls_raw_close(&raw);
}

Test(tls, refuses_a_client_of_1_1)
{
	open_pair();
	refuse_version(TLS1_1_VERSION, NULL);
	close_pair();
}

Test(tls, refuses_a_client_of_1_2_where_1_3_is_the_least)
{
	struct gyre_tls_context_options options = { .version_min = GYRE_TLS_1_3 };

	open_pair();
	options.certificate = certs.server.certificate;
	options.key = certs.server.key;
	refuse_version(TLS1_2_VERSION, &options);
	close_pair();
}

Test(tls, refuses_renegotiation)
{
	struct tls_raw raw;

	open_pair();
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	tls_raw_open(&raw, TLS1_2_VERSION, NULL);
	cr_assert(tls_raw_settle(&raw, &server));
	ERR_clear_error();
	cr_assert_eq(SSL_renegotiate(raw.ssl), 1);
	cr_assert_not(tls_raw_settle(&raw, &server));
	cr_assert_eq(server.sessions, 1);
	tls_raw_close(&raw);
	close_pair();
}

static void say_plainly(const char *text, const char *answer)
{
	open_pair();
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	codec_rig_feed(&server.rig, text, strlen(text), strlen(text));
	cr_assert_eq(tls_rig_error(&server), -EPROTO);
	cr_assert_eq(server.rig.channel.reason, -EPROTO);
	cr_assert_eq(server.rig.log.bytes_count, 0);
	says(server, answer);
	close_pair();
}

Test(tls, refuses_what_is_not_tls)
{
	say_plainly("hello, is anybody there? it is me\n", "it does not speak TLS");
}

Test(tls, refuses_http_and_says_what_to_use)
{
	say_plainly("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "https");
}

Test(tls, refuses_a_record_that_was_changed_on_its_way)
{
	unsigned char bytes[256];
	size_t count;

	open_pair();
	agree();
	cr_assert_eq(tls_rig_write(&client, "question", 8), 0);
	count = codec_rig_output(&client.rig, bytes, sizeof(bytes));
	bytes[count - 1] ^= 1;
	codec_rig_feed(&server.rig, bytes, count, count);
	cr_assert_eq(tls_rig_error(&server), -EPROTO);
	cr_assert_eq(server.rig.log.bytes_count, 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(tls_rig_error(&client), -ECONNREFUSED);
	close_pair();
}

Test(tls, logs_no_more_than_twenty_failures_a_minute)
{
	open_pair();
	for (int i = 0; i < 30; i++) {
		cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
		codec_rig_feed(&server.rig, "nonsense!", 9, 9);
		cr_assert_eq(tls_rig_error(&server), -EPROTO);
		tls_rig_reset(&server);
		cr_assert_eq(server.lines, i < 20 ? (uint32_t)i + 1 : 20);
	}
	server.rig.home.loop.now_ns += GYRE_SECONDS(60);
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	codec_rig_feed(&server.rig, "nonsense!", 9, 9);
	cr_assert_eq(server.lines, 21);
	says(server, "and 10 more before it");
	close_pair();
}

Test(tls, gives_up_a_handshake_that_takes_too_long)
{
	open_pair();
	server_options.handshake_ns = GYRE_MILLISECONDS(50);
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	codec_rig_wait(&server.rig, GYRE_MILLISECONDS(49));
	cr_assert_not(gy_channel_is_aborted(&server.rig.channel));
	codec_rig_wait(&server.rig, GYRE_MILLISECONDS(3));
	cr_assert(gy_channel_is_aborted(&server.rig.channel));
	cr_assert_eq(server.rig.channel.reason, -ETIMEDOUT);
	says(server, "takes too long");
	close_pair();
}

/* ---- both ends ---- */

Test(tls, ends_a_stream_and_hears_its_end)
{
	open_pair();
	client.rig.channel.half_close = true;
	server.rig.channel.half_close = true;
	agree();
	cr_assert_eq(tls_rig_write(&client, "all", 3), 0);
	gyre_context_shutdown(gyre_channel_tail(&client.rig.channel));
	cr_assert_neq(client.rig.channel.state & GY_OUTPUT_SHUTDOWN, 0);
	cr_assert_eq(tls_rig_write(&client, "more", 4), -EPIPE);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&server, "all"));
	cr_assert_neq(server.rig.channel.state & GY_INPUT_ENDED, 0);
	cr_assert_eq(tls_rig_error(&server), 0);
	/* And the other way it goes on. */
	cr_assert_eq(tls_rig_write(&server, "answer", 6), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&client, "answer"));
	close_pair();
}

static void tell_end(struct tls_rig *tls, uint32_t draining)
{
	const struct gyre_input_closed event = { .draining = draining };

	if (draining == 0) {
		gyre_context_fire_read_end(&tls->rig.channel.pipeline.head.head);
	}
	gyre_context_fire_event(&tls->rig.channel.pipeline.head.head, &gyre_type_gyre_input_closed,
				&event);
}

Test(tls, reports_an_end_that_the_peer_has_not_announced)
{
	open_pair();
	agree();
	tell_end(&server, 0);
	cr_assert_eq(server.rig.read_ends, 0, "bytes may have been cut off");
	cr_assert_eq(tls_rig_error(&server), -ECONNABORTED);
	cr_assert_eq(server.rig.channel.reason, -ECONNABORTED);
	cr_assert_eq(server.ends, 0);
	cr_assert_eq(server.lines, 0);
	close_pair();
}

Test(tls, reports_an_end_in_the_midst_of_the_handshake)
{
	open_pair();
	begin();
	tell_end(&server, 0);
	cr_assert_eq(tls_rig_error(&server), -ECONNABORTED);
	cr_assert_eq(server.lines, 0);
	close_pair();
}

static void hear_end(bool half_close)
{
	open_pair();
	server.rig.channel.half_close = half_close;
	agree();
	gyre_context_close(gyre_channel_tail(&client.rig.channel));
	cr_assert(gy_channel_is_ending(&client.rig.channel));
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_neq(server.rig.channel.state & GY_INPUT_ENDED, 0);
	tell_end(&server, 0);
	cr_assert_eq(server.rig.read_ends, 1);
	cr_assert_eq(server.ends, half_close ? 1 : 0);
	cr_assert_eq(gy_channel_is_ending(&server.rig.channel), !half_close);
	cr_assert_eq(server.rig.channel.reason, 0);
	cr_assert_eq(server.rig.channel.output.first != NULL, !half_close); /* its own bye */
	close_pair();
}

Test(tls, closes_when_the_peer_has_ended)
{
	hear_end(false);
}

Test(tls, tells_of_the_peers_end_where_half_closing_is_allowed)
{
	hear_end(true);
}

static void drain(bool half_close)
{
	open_pair();
	server.rig.channel.half_close = half_close;
	agree();
	tell_end(&server, 1);
	cr_assert_eq(server.ends, half_close ? 1 : 0);
	cr_assert_eq(tls_rig_error(&server), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_neq(client.rig.channel.state & GY_INPUT_ENDED, 0);
	close_pair();
}

Test(tls, says_that_it_ends_when_it_is_drained)
{
	drain(false);
	drain(true);
}

Test(tls, throws_away_what_comes_after_the_peers_end)
{
	open_pair();
	agree();
	gyre_context_shutdown(gyre_channel_tail(&client.rig.channel));
	tls_rig_settle(&client, &server, WHOLE);
	codec_rig_feed(&server.rig, "rubbish", 7, 7);
	cr_assert_eq(tls_rig_error(&server), 0);
	cr_assert_eq(server.rig.log.events_count, 0);
	close_pair();
}

/* ---- what waits for the handshake ---- */

Test(tls, keeps_what_is_written_before_the_handshake_is_done)
{
	open_pair();
	begin();
	cr_assert_eq(tls_rig_write(&client, "one,", 4), 0);
	cr_assert_eq(tls_rig_write(&client, "two", 3), 0);
	cr_assert_eq(tls_rig_write(&server, "three", 5), 0);
	cr_assert_geq(gyre_channel_queued_bytes(&client.rig.channel), 7);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&server, "one,two"));
	cr_assert(tls_rig_has(&client, "three"));
	cr_assert_eq(gyre_channel_queued_bytes(&client.rig.channel), 0);
	close_pair();
}

Test(tls, ends_after_what_was_written_before_the_handshake_is_done)
{
	open_pair();
	begin();
	cr_assert_eq(tls_rig_write(&client, "all", 3), 0);
	gyre_context_close(gyre_channel_tail(&client.rig.channel));
	cr_assert_not(gy_channel_is_ending(&client.rig.channel));
	cr_assert_eq(tls_rig_write(&client, "more", 4), -EPIPE);
	cr_assert_eq(tls_rig_write(&server, "all", 3), 0);
	gyre_context_shutdown(gyre_channel_tail(&server.rig.channel));
	cr_assert_eq(server.rig.channel.state & GY_OUTPUT_SHUTDOWN, 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(gy_channel_is_ending(&client.rig.channel));
	cr_assert_neq(server.rig.channel.state & GY_OUTPUT_SHUTDOWN, 0);
	cr_assert_eq(client.sessions, 0);
	cr_assert(tls_rig_has(&server, "all"));
	cr_assert_neq(server.rig.channel.state & GY_INPUT_ENDED, 0);
	close_pair();
}

Test(tls, closes_at_once_in_a_handshake_in_which_nothing_waits)
{
	open_pair();
	begin();
	gyre_context_close(gyre_channel_tail(&client.rig.channel));
	cr_assert(gy_channel_is_ending(&client.rig.channel));
	close_pair();
}

Test(tls, bounds_what_waits_for_the_handshake)
{
	static const unsigned char zeros[65536];
	struct gyre_channel *channel = &client.rig.channel;

	open_pair();
	channel->write_low_bytes = 1000;
	channel->write_high_bytes = 10000;
	begin();
	cr_assert(gyre_channel_is_writable(&client.rig.channel));
	cr_assert_eq(tls_rig_write(&client, zeros, 20000), 0);
	cr_assert_not(gyre_channel_is_writable(&client.rig.channel));
	cr_assert_eq(client.rig.channel.state & GY_NO_READ_PAUSED, 0, "and so no handshake");
	cr_assert_eq(tls_rig_write(&client, zeros, 65536), 0);
	cr_assert_eq(tls_rig_write(&client, zeros, 65536), -ENOBUFS);
	cr_assert(gy_channel_is_aborted(&client.rig.channel));
	cr_assert_eq(client.rig.channel.reason, -ENOBUFS);
	cr_assert_eq(client.rig.channels.counters.write_max_closed, 1);
	cr_assert_eq(client.lines, 1);
	close_pair();
}

Test(tls, drops_what_waits_when_the_handshake_fails)
{
	open_pair();
	client_options.server_name = "elsewhere.example";
	begin();
	cr_assert_eq(tls_rig_write(&client, "secret", 6), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(tls_rig_error(&client), -EKEYREJECTED);
	cr_assert_eq(server.rig.log.bytes_count, 0);
	cr_assert_eq(gyre_channel_queued_bytes(&client.rig.channel), 0);
	cr_assert_eq(tls_rig_write(&client, "more", 4), -EPIPE);
	close_pair();
}

/* ---- removed in the midst ---- */

static void remove_it(struct tls_rig *tls, struct gyre_handler_context *ctx)
{
	(void)ctx;
	cr_assert_eq(gyre_pipeline_remove(&tls->rig.channel, "tls"), 0);
}

Test(tls, may_be_removed_from_its_own_event)
{
	open_pair();
	client.rig.channel.half_close = false;
	client.on_session = remove_it;
	begin();
	cr_assert_eq(tls_rig_write(&client, "early", 5), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&server, "early"));
	cr_assert_eq(gyre_pipeline_get(&client.rig.channel, "tls"), NULL);
	cr_assert_not(client.rig.channel.half_close);
	close_pair();
}

static void remove_at_frame(struct codec_rig *rig, struct gyre_handler_context *ctx)
{
	(void)ctx;
	cr_assert_eq(gyre_pipeline_remove(&rig->channel, "tls"), 0);
}

Test(tls, may_be_removed_while_it_delivers)
{
	open_pair();
	agree();
	server.rig.on_frame = remove_at_frame;
	cr_assert_eq(tls_rig_write(&client, "last", 4), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert(tls_rig_has(&server, "last"));
	close_pair();
}

Test(tls, may_be_removed_in_the_handshake)
{
	open_pair();
	begin();
	cr_assert_eq(tls_rig_write(&client, "lost", 4), 0);
	cr_assert_eq(gyre_pipeline_remove(&client.rig.channel, "tls"), 0);
	cr_assert_eq(gyre_pipeline_remove(&server.rig.channel, "tls"), 0);
	codec_rig_run(&client.rig);
	codec_rig_run(&server.rig);
	(void)tls_rig_carry(&client, &server, WHOLE);
	cr_assert_gt(server.rig.log.bytes_count, 0); /* plain again */
	close_pair();
}

/* ---- options ---- */

Test(tls, refuses_options_that_make_no_sense)
{
	struct gyre_tls_options options;

	open_pair();
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, NULL), -EINVAL);
	options = (struct gyre_tls_options){ 0 };
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), -EINVAL);
	options = client_options; /* no certificate */
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), -EINVAL);
	options = server_options;
	options.handshake_ns = 10;
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), -EINVAL);
	options.handshake_ns = GYRE_SECONDS(3601);
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), -EINVAL);
	options = client_options;
	options.server_name = NULL;
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &options), -EINVAL);
	options.server_name = "";
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &options), -EINVAL);
	options.server_name = NULL;
	options.context = tls_rig_context(&certs.server, NULL);
	options.mutual = true;
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), -EINVAL);
	gyre_tls_context_unref(options.context);
	close_pair();
}

Test(tls, refuses_a_name_that_is_too_long)
{
	char name[GYRE_TLS_NAME_BYTES_MAX + 2];

	open_pair();
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	client_options.server_name = name;
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &client_options), -EINVAL);
	close_pair();
}
