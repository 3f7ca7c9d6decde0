/*
 * The server side of TLS from any bytes: before the handshake, after it, and in the midst of one
 * whose bytes are changed here and there. Nothing may be delivered that the peer has not said, and
 * whatever fails ends the channel with a reason.
 */
#include <string.h>

#include <gyre/tls.h>

#include "../unit/channel/tls/tls_certs.h"
#include "fuzz.h"

enum { STREAM_BYTES = CODEC_RIG_BYTES };

static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static struct codec_rig client;
static bool is_ready;

static void hear_nothing(const struct gyre_log_line *line, void *arg)
{
	(void)line;
	(void)arg;
}

static const struct gy_log silence = { .write = hear_nothing, .level = GYRE_LOG_ERROR };

static struct gyre_tls_context *context_of(const struct tls_cert *cert, const struct tls_cert *ca)
{
	const struct gyre_tls_context_options options = { .certificate = cert->certificate,
							  .key = cert->key,
							  .ca = ca->certificate };
	struct gyre_tls_context *context = NULL;

	fuzz_require(gyre_tls_context_create(NULL, &options, &context) == 0, "no context");
	return context;
}

static void prepare(void)
{
	struct tls_certs certs;

	tls_certs_open(&certs);
	server_options.context = context_of(&certs.server, &certs.ca);
	client_options.context = context_of(&certs.client, &certs.ca);
	client_options.server_name = "localhost";
	tls_certs_close(&certs);
	codec_rig_init(&client);
	client.home.loop.options.log = &silence;
	is_ready = true;
}

static void must(int r)
{
	fuzz_require(r == 0, "no handler");
}

/* Carries what is there, with a byte changed where @fuzz says so. */
static bool carry(struct codec_rig *from, struct codec_rig *to, struct fuzz *fuzz, bool *changed)
{
	static unsigned char bytes[STREAM_BYTES];
	size_t count = codec_rig_output(from, bytes, sizeof(bytes));
	size_t first;

	if (count == 0) {
		return false;
	}
	if (fuzz != NULL && fuzz_byte(fuzz) % 4 == 0) {
		size_t at = fuzz_below(fuzz, count);
		unsigned char before = bytes[at];

		bytes[at] = fuzz_byte(fuzz);
		*changed = *changed || bytes[at] != before;
	}
	first = fuzz == NULL ? count : 1 + fuzz_below(fuzz, count);
	codec_rig_feed(to, bytes, first, first);
	if (first < count) {
		codec_rig_feed(to, bytes + first, count - first, count - first);
	}
	return true;
}

static void shake_hands(struct codec_rig *server, struct fuzz *fuzz, bool *changed)
{
	bool more = true;

	while (more) {
		more = carry(&client, server, fuzz, changed);
		more = carry(server, &client, NULL, changed) || more;
	}
}

static void feed_rest(struct codec_rig *server, struct fuzz *fuzz)
{
	size_t pieces = 1 + fuzz_below(fuzz, 600);

	for (size_t at = 0; at < fuzz->count;) {
		size_t count = 1 + fuzz_below(fuzz, pieces);

		count = count < fuzz->count - at ? count : fuzz->count - at;
		codec_rig_feed(server, fuzz->bytes + at, count, 1 + fuzz_below(fuzz, count));
		codec_rig_run(server);
		at += count;
	}
}

/* Only the client says "hello", and says it once. */
static void check(const struct codec_rig *server)
{
	const struct codec_log *log = &server->log;
	bool failed = log->events_count > 0 && log->events[log->events_count - 1].error != 0;

	fuzz_require(log->bytes_count == 0 ||
			     (log->bytes_count == 5 && memcmp(log->bytes, "hello", 5) == 0),
		     "what nobody has said was delivered");
	fuzz_require(!failed || gy_channel_is_ending(&server->channel), "it failed, and goes on");
	fuzz_require(!failed || server->channel.reason != 0, "it failed without a reason");
}

static void write_hello(void)
{
	(void)gyre_context_write(gyre_channel_tail(&client.channel),
				 codec_rig_buffer(&client, "hello", 5, 5));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = fuzz_begin(data, size);
	uint8_t kind = fuzz_byte(&fuzz);
	struct codec_rig *server = fuzz_rig();
	bool changed = false;

	if (!is_ready) {
		prepare();
	}
	codec_rig_reset(&client);
	server->home.loop.options.log = &silence;
	server->pass_errors = true;
	server_options.mutual = kind % 2 == 1;
	must(gyre_tls_server_add(&server->channel, GYRE_BEFORE("last"), &server_options));
	if (kind % 8 < 2) {
		must(gyre_tls_client_add(&client.channel, GYRE_BEFORE("last"), &client_options));
		write_hello();
		shake_hands(server, kind % 4 == 0 ? &fuzz : NULL, &changed);
		fuzz_require(changed || server->log.bytes_count == 5, "the handshake failed");
	}
	feed_rest(server, &fuzz);
	check(server);
	server->pass_errors = false;
	return 0;
}
