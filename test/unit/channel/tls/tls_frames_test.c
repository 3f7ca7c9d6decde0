/*
 * Frames that come through TLS: records cut them anywhere, and only an end that the peer has
 * announced is the end of a frame.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <gyre/frame_decoder.h>

#include "channel/tls/tls.h"
#include "tls_rig.h"

TestSuite(tls_frames, .timeout = 60);

enum { WHOLE = 1 << 20 };

static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_context *context;

/* A byte that is the length, and so many more. */
static int64_t decode(struct gyre_handler_context *ctx, const struct gyre_buffer *bytes,
		      struct gyre_decoded_frame *frame)
{
	char length = 0;

	(void)ctx;
	(void)gyre_buffer_copy(bytes, 0, &length, 1);
	frame->front = 1;
	frame->needed = 1 + (size_t)(length - '0');
	return gyre_buffer_bytes(bytes) < frame->needed ? -EAGAIN : (int64_t)frame->needed;
}

static const struct gyre_frame_decoder decoder = { .decode = decode };

static void begin_with(const struct gyre_frame_decoder *of_server_decoder)
{
	struct gy_tls_key key;
	struct gyre_tls_options of_client = { .any_name = true };
	struct gyre_tls_options of_server = { .mutual = true };

	memset(&key, 'k', sizeof(key));
	cr_assert_eq(gy_tls_context_create_keyed(NULL, &key, 1, &context), 0);
	tls_rig_init(&server);
	tls_rig_init(&client);
	if (of_server_decoder != NULL) {
		cr_assert_eq(gyre_frame_decoder_add(&server.rig.channel, GYRE_BEFORE("last"),
						    of_server_decoder, NULL),
			     0);
	}
	of_client.context = context;
	of_server.context = context;
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &of_server), 0);
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &of_client), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(server.sessions, 1);
}

static void begin(void)
{
	begin_with(&decoder);
}

static void begin_plainly(void)
{
	begin_with(NULL);
}

static void end(void)
{
	tls_rig_fini(&server);
	tls_rig_fini(&client);
	gyre_tls_context_unref(context);
}

static void send_text(const char *text, size_t piece)
{
	cr_assert_eq(tls_rig_write(&client, text, strlen(text)), 0);
	tls_rig_settle(&client, &server, piece);
}

static void expect(const char *frames, uint32_t read_ends)
{
	cr_expect_str_eq(codec_log_text(&server.rig.log), frames, "%s, and not %s",
			 codec_log_text(&server.rig.log), frames);
	cr_expect_eq(server.rig.read_ends, read_ends);
}

Test(tls_frames, are_cut_from_records_of_any_length, .init = begin, .fini = end)
{
	send_text("3abc2", 1);
	send_text("d", 1);
	send_text("e01f1", WHOLE);
	expect("[abc][de][][f]", 0);
	send_text("g", 3);
	expect("[abc][de][][f][g]", 0);
}

Test(tls_frames, that_an_announced_end_cuts_off_are_errors, .init = begin, .fini = end)
{
	send_text("1a3bc", WHOLE);
	gyre_context_close(gyre_channel_tail(&client.rig.channel));
	tls_rig_settle(&client, &server, WHOLE);
	codec_rig_end(&server.rig);
	expect("[a]!proto", 1);
}

Test(tls_frames, are_not_judged_at_an_end_that_was_not_announced, .init = begin, .fini = end)
{
	send_text("1a3bc", WHOLE);
	codec_rig_end(&server.rig);
	expect("[a]", 0);
}

/* ---- where they are decrypted to ---- */

enum { RECORD_BYTES = 15000, LITTLE_TIMES = 8 };

static void send_record(void)
{
	static char record[RECORD_BYTES];

	cr_assert_eq(tls_rig_write(&client, record, sizeof(record)), 0);
	tls_rig_settle(&client, &server, WHOLE);
}

Test(tls_page, takes_whole_records_while_much_comes, .init = begin_plainly, .fini = end)
{
	const struct gy_tls *tls = gy_tls_of(&server.rig.channel);
	size_t little = 0;

	send_text("little", WHOLE);
	cr_assert_null(tls->page);
	for (size_t i = 1; i <= 4; i++) {
		send_record();
		cr_assert_not_null(tls->page);
		cr_assert_eq(tls->page->references, 1, "nobody has any of it");
		cr_assert_eq(server.rig.log.bytes_count, strlen("little") + i * RECORD_BYTES);
	}
	while (tls->page != NULL) {
		send_text("l", WHOLE);
		little++;
	}
	cr_assert_leq(little, LITTLE_TIMES);
	cr_assert_gt(little, 1, "little that comes between does not end it");
	cr_assert_eq(server.rig.log.bytes_count, strlen("little") + 4 * RECORD_BYTES + little);
}
