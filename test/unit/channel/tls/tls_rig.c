#include "tls_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "tls rig: %s\n", what);
		abort();
	}
}

static void logged(const struct gyre_log_line *line, void *arg)
{
	struct tls_rig *tls = (struct tls_rig *)arg;

	tls->lines++;
	(void)snprintf(tls->line, sizeof(tls->line), "%s", line->text);
}

static void hear(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	struct tls_rig *tls = (struct tls_rig *)gyre_context_arg(ctx);

	if (type->id == GYRE_ID(gyre_input_closed)) {
		tls->ends++;
	}
	if (type->id != GYRE_ID(gyre_tls_session)) {
		return;
	}
	tls->sessions++;
	tls->session = *(const struct gyre_tls_session *)event;
	(void)snprintf(tls->subject, sizeof(tls->subject), "%s", tls->session.peer_subject);
	if (tls->on_session != NULL) {
		tls->on_session(tls, ctx);
	}
}

static const struct gyre_handler listener = { .name = "listener", .event = hear };

static void add_listener(struct tls_rig *tls)
{
	require(codec_rig_add(&tls->rig, &listener, tls) == 0, "no listener");
}

void tls_rig_init(struct tls_rig *tls)
{
	memset(tls, 0, sizeof(*tls));
	codec_rig_init(&tls->rig);
	tls->log = (struct gy_log){ .write = logged, .arg = tls, .level = GYRE_LOG_WARNING };
	tls->rig.home.loop.options.log = &tls->log;
	add_listener(tls);
}

void tls_rig_reset(struct tls_rig *tls)
{
	codec_rig_reset(&tls->rig);
	tls->sessions = 0;
	tls->ends = 0;
	tls->out_bytes = 0;
	tls->subject[0] = '\0';
	add_listener(tls);
}

void tls_rig_fini(struct tls_rig *tls)
{
	codec_rig_fini(&tls->rig);
}

int tls_rig_begin(struct tls_rig *tls, tls_add_fn add, const struct gyre_tls_options *options)
{
	return add(&tls->rig.channel, GYRE_FIRST, options);
}

int tls_rig_write(struct tls_rig *tls, const void *bytes, size_t count)
{
	return gyre_context_write(gyre_channel_tail(&tls->rig.channel),
				  codec_rig_buffer(&tls->rig, bytes, count, 1000));
}

bool tls_rig_has(const struct tls_rig *tls, const char *text)
{
	return tls->rig.log.bytes_count == strlen(text) &&
	       memcmp(tls->rig.log.bytes, text, strlen(text)) == 0;
}

int tls_rig_error(const struct tls_rig *tls)
{
	int error = 0;

	for (size_t i = 0; i < tls->rig.log.events_count; i++) {
		if (tls->rig.log.events[i].error != 0) {
			error = tls->rig.log.events[i].error;
		}
	}
	return error;
}

static void feed(struct tls_rig *tls, const unsigned char *bytes, size_t count)
{
	codec_rig_feed(&tls->rig, bytes, count, count);
	codec_rig_run(&tls->rig);
}

bool tls_rig_carry(struct tls_rig *from, struct tls_rig *to, size_t piece)
{
	static unsigned char bytes[4 * CODEC_RIG_BYTES];
	size_t count = codec_rig_output(&from->rig, bytes, sizeof(bytes));

	from->out_bytes += count;
	for (size_t at = 0; at < count; at += piece) {
		feed(to, bytes + at, piece < count - at ? piece : count - at);
	}
	return count > 0;
}

void tls_rig_settle(struct tls_rig *a, struct tls_rig *b, size_t piece)
{
	bool more = true;

	while (more) {
		more = tls_rig_carry(a, b, piece);
		more = tls_rig_carry(b, a, piece) || more;
	}
}

/* ---- OpenSSL alone ---- */

void tls_raw_open(struct tls_raw *raw, int version, const struct tls_cert *cert)
{
	raw->context = SSL_CTX_new(TLS_client_method());
	require(raw->context != NULL, "no context");
	SSL_CTX_set_security_level(raw->context, 0);
	require(SSL_CTX_set_min_proto_version(raw->context, version) == 1 &&
			SSL_CTX_set_max_proto_version(raw->context, version) == 1,
		"no such version");
	require(cert == NULL ||
			(SSL_CTX_use_certificate_chain_file(raw->context, cert->certificate) == 1 &&
			 SSL_CTX_use_PrivateKey_file(raw->context, cert->key, SSL_FILETYPE_PEM) ==
				 1),
		"no certificate");
	raw->ssl = SSL_new(raw->context);
	raw->in = BIO_new(BIO_s_mem());
	raw->out = BIO_new(BIO_s_mem());
	require(raw->ssl != NULL && raw->in != NULL && raw->out != NULL, "no connection");
	SSL_set_bio(raw->ssl, raw->in, raw->out);
	SSL_set_connect_state(raw->ssl);
}

void tls_raw_close(struct tls_raw *raw)
{
	SSL_free(raw->ssl);
	SSL_CTX_free(raw->context);
}

static bool carry_raw(struct tls_raw *raw, struct tls_rig *tls)
{
	static unsigned char bytes[CODEC_RIG_BYTES];
	int got = BIO_read(raw->out, bytes, sizeof(bytes));
	size_t count;

	if (got > 0) {
		feed(tls, bytes, (size_t)got);
	}
	count = codec_rig_output(&tls->rig, bytes, sizeof(bytes));
	if (count > 0) {
		require(BIO_write(raw->in, bytes, (int)count) == (int)count, "no memory");
	}
	return got > 0 || count > 0;
}

bool tls_raw_settle(struct tls_raw *raw, struct tls_rig *tls)
{
	int r;

	do {
		r = SSL_do_handshake(raw->ssl);
	} while (carry_raw(raw, tls));
	return r == 1;
}

struct gyre_tls_context *tls_rig_context(const struct tls_cert *cert, const struct tls_cert *ca)
{
	const struct gyre_tls_context_options options = {
		.certificate = cert == NULL ? NULL : cert->certificate,
		.key = cert == NULL ? NULL : cert->key,
		.ca = ca == NULL ? NULL : ca->certificate,
	};
	struct gyre_tls_context *context;

	require(gyre_tls_context_create(NULL, &options, &context) == 0, "no context");
	return context;
}
