/*
 * A rig for TLS without sockets: pipelines of codec_rig.h whose output is carried to each other by
 * the test, in whatever pieces it likes; and a peer that is OpenSSL alone, for what this library
 * would not do.
 */
#ifndef TEST_UNIT_CHANNEL_TLS_RIG_H
#define TEST_UNIT_CHANNEL_TLS_RIG_H

#include <openssl/ssl.h>

#include <gyre/tls.h>

#include "../codec/codec_rig.h"
#include "tls_certs.h"

enum { TLS_RIG_LINE = 512 };

struct tls_rig {
	struct codec_rig rig;
	struct gy_log log;
	char line[TLS_RIG_LINE]; /* the last that was logged */
	uint32_t lines;
	uint32_t sessions; /* events */
	uint32_t ends;	   /* of input */
	char subject[TLS_RIG_LINE];
	struct gyre_tls_session session;
	/* Called at the event of the session, if it is not NULL. */
	void (*on_session)(struct tls_rig *tls, struct gyre_handler_context *ctx);
	uint64_t out_bytes; /* that it has sent */
};

void tls_rig_init(struct tls_rig *tls);
void tls_rig_fini(struct tls_rig *tls);
/* As new, but for what was logged. */
void tls_rig_reset(struct tls_rig *tls);
/* gyre_tls_server_add() or gyre_tls_client_add(). */
typedef int (*tls_add_fn)(struct gyre_channel *channel, struct gyre_position position,
			  const struct gyre_tls_options *options);
/* Adds the handler, which begins. */
int tls_rig_begin(struct tls_rig *tls, tls_add_fn add, const struct gyre_tls_options *options);
/* Writes from behind all handlers. */
int tls_rig_write(struct tls_rig *tls, const void *bytes, size_t count);
/* What has been received as plain bytes is that text. */
bool tls_rig_has(const struct tls_rig *tls, const char *text);
/* The last exception; 0 for none. */
int tls_rig_error(const struct tls_rig *tls);

/* Carries what @from has sent to @to, in pieces of @piece bytes; whether there was anything. */
bool tls_rig_carry(struct tls_rig *from, struct tls_rig *to, size_t piece);
/* Carries both ways until nothing is left. */
void tls_rig_settle(struct tls_rig *a, struct tls_rig *b, size_t piece);

/* ---- OpenSSL alone ---- */

struct tls_raw {
	SSL_CTX *context;
	SSL *ssl;
	BIO *in;
	BIO *out;
};

/* A client that takes any certificate, and has @cert unless it is NULL. */
void tls_raw_open(struct tls_raw *raw, int version, const struct tls_cert *cert);
void tls_raw_close(struct tls_raw *raw);
/* Carries both ways until nothing is left, with the client shaking hands; whether it has. */
bool tls_raw_settle(struct tls_raw *raw, struct tls_rig *tls);

/* A context with a certificate, that trusts a CA; NULL for neither. The caller's. */
struct gyre_tls_context *tls_rig_context(const struct tls_cert *cert, const struct tls_cert *ca);

#endif
