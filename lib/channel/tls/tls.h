/*
 * The parts of TLS that its files share.
 *
 * OpenSSL reads from and writes to two buffers of the connection, and never sees its socket, so
 * none of its calls can block. A call of this library hands received bytes to OpenSSL, takes plain
 * bytes out until OpenSSL wants more, and gives the channel the records that OpenSSL has written
 * meanwhile.
 */
#ifndef GY_CHANNEL_TLS_TLS_H
#define GY_CHANNEL_TLS_TLS_H

#include <openssl/ssl.h>

#include <gyre/tls.h>

#include "base/log/log_limit.h"
#include "buffer/buffer.h"
#include "channel/channel.h"

enum {
	GY_TLS_PROTOCOL_BYTES_MAX = 255,
	GY_TLS_RECORD_BYTES_MAX = 16384,
	GY_TLS_KEY_BYTES = 32,
	GY_TLS_KEY_NAME_BYTES = 16,
	GY_TLS_KEYS_MAX = 2,
	GY_TLS_BINDING_BYTES = 32,
};

/* The context of sessions of this library, for OpenSSL; for mutual ones see tls_prepare.c. */
static const unsigned char gy_tls_session_id[] = "gyre";

/* A key that both sides of a connection have, and its name, which everybody may see. */
struct gy_tls_key {
	unsigned char name[GY_TLS_KEY_NAME_BYTES];
	unsigned char bytes[GY_TLS_KEY_BYTES];
};

/* One side of a connection; it is the argument of its handler's place. */
struct gy_tls {
	struct gyre_channel *channel;
	struct gyre_handler_context *place;
	struct gyre_tls_context *context; /* a reference */
	SSL *ssl;
	struct gyre_buffer *in;	 /* received, and not decrypted; NULL for none, as the next two */
	struct gyre_buffer *out; /* encrypted, and not with the channel */
	struct gyre_buffer *withheld; /* written before the handshake was done */
	struct gy_page *page;	      /* to decrypt into while much comes; NULL for pool pages */
	uint32_t withheld_bytes;      /* as its channel was told */
	uint8_t little;		      /* times in a row that little has waited to be decrypted */
	struct gy_deferred deferred;
	struct gy_timer timer; /* of the handshake */
	uint64_t handshake_ns;
	char *subject; /* of the peer; NULL for none */
	uint32_t busy; /* calls of which handlers may be called, and remove this one */
	bool client;
	bool half_close;  /* what the channel had when this handler came */
	bool started;	  /* the handshake is */
	bool established; /* and it is done */
	bool failed;
	bool closing;	  /* when what is held has gone; nothing more is taken or delivered */
	bool shutting;	  /* likewise; nothing more is taken */
	bool sent_close;  /* close_notify, to the peer */
	bool peer_closed; /* from it */
	bool requested;	  /* on a channel that reads on request: somebody waits for a read */
	bool no_memory;	  /* OpenSSL was told so */
	bool unknown_key; /* the client has offered one that this side does not have */
	bool removed;
	char alpn[GY_TLS_PROTOCOL_BYTES_MAX + 1];
	char server_name[GYRE_TLS_NAME_BYTES_MAX + 1]; /* of a client */
};

/* ---- tls.c ---- */

/* The handlers; each takes its options, which are not NULL, as the argument. */
extern const struct gyre_handler gy_tls_server_handler;
extern const struct gyre_handler gy_tls_client_handler;

/* The TLS state of a channel, of the handler nearest to the tail; NULL for none. */
struct gy_tls *gy_tls_of(struct gyre_channel *channel);

/* ---- tls_context.c ---- */

/*
 * A context without certificates, for connections of both roles between those who have a key: see
 * tls_psk.c. A client offers the first of them; 1 to GY_TLS_KEYS_MAX. @log may be NULL.
 */
int gy_tls_context_create_keyed(const struct gy_log *log, const struct gy_tls_key *keys,
				uint32_t count, struct gyre_tls_context **ret_context);
/* Its keys; none for one of certificates. */
const struct gy_tls_key *gy_tls_context_keys(const struct gyre_tls_context *context,
					     uint32_t *ret_count);
bool gy_tls_context_is_keyed(const struct gyre_tls_context *context);
/*
 * A connection of the present certificates, with nothing to read from and to write to yet; NULL
 * without memory.
 */
SSL *gy_tls_context_connection(struct gyre_tls_context *context);
/*
 * Called before a client verifies: trusts the CAs of the machine where the context has none of its
 * own. 0 or -ENOMEM.
 */
int gy_tls_context_trust(struct gyre_tls_context *context, SSL *ssl);
/* Whether it can be a server, or one that wants certificates of its clients. */
bool gy_tls_context_serves(const struct gyre_tls_context *context, bool mutual);
uint32_t gy_tls_context_record_bytes(const struct gyre_tls_context *context);
/* The BIO method over the two buffers of a connection. */
const BIO_METHOD *gy_tls_context_method(const struct gyre_tls_context *context);
/* For the lines about failures of its connections, on any thread. */
struct gy_log_limit *gy_tls_context_limit(struct gyre_tls_context *context);

/* ---- tls_bytes.c ---- */

/* How connections read and write; NULL without memory. */
BIO_METHOD *gy_tls_method_create(void);
/* Gives the channel what is encrypted; as gyre_context_write(). */
int gy_tls_flush(struct gy_tls *tls);
/* Encrypts @data, which is taken, and gives it to the channel; as gyre_context_write(). */
int gy_tls_encrypt(struct gy_tls *tls, struct gyre_buffer *data);
/* Gives back the page that it decrypts into. */
void gy_tls_drop_page(struct gy_tls *tls);
/*
 * Takes plain bytes out of what has come, some records at most, into a buffer; NULL for none.
 * SSL_ERROR_NONE when there may be more, SSL_ERROR_WANT_READ when there are none, or what ended it.
 */
int gy_tls_decrypt(struct gy_tls *tls, struct gyre_buffer **ret_plain);

/* ---- tls_prepare.c ---- */

/* Makes the connection of OpenSSL; -ENOMEM, and then it may be half made. */
int gy_tls_prepare(struct gy_tls *tls, const struct gyre_tls_options *options);

/* ---- tls_psk.c ---- */

/* Has the connections of that context use its keys; -ENOMEM. */
int gy_tls_psk_set(SSL_CTX *made);
/* Whether the handshake that is done was one by a key. */
bool gy_tls_psk_was_used(const struct gy_tls *tls);

/* ---- tls_session.c ---- */

/*
 * A value that both ends of one connection know, and nobody between two connections can make the
 * same for both. -ENOENT without TLS, -EPROTO below TLS 1.3.
 */
int gy_tls_bind(struct gyre_channel *channel, unsigned char ret_binding[GY_TLS_BINDING_BYTES]);

/* Notes what was agreed, when the handshake is done; -ENOMEM. */
int gy_tls_session_keep(struct gy_tls *tls);
void gy_tls_session_get(const struct gy_tls *tls, struct gyre_tls_session *ret_session);

/* ---- tls_error.c ---- */

/* Whether an error of OpenSSL for a connection, of that code, is a lack of memory. */
bool gy_tls_lacks_memory(const struct gy_tls *tls, unsigned long code);
/* Logs the error of OpenSSL for a connection, and returns the errno for it. */
int gy_tls_explain(struct gy_tls *tls);
/* A line in the log, if the peer has not had too many: "TLS of channel ADDRESS with PEER: @what".
 */
void gy_tls_complain(struct gy_tls *tls, const char *what);
/* Logs the error of OpenSSL for a file, and returns the errno for it. */
int gy_tls_explain_file(const struct gy_log *log, const char *what, const char *path);

#endif
