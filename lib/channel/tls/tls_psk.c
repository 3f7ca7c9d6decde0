/*
 * TLS by a key that both sides have, instead of certificates: the external PSK of TLS 1.3, always
 * with a fresh key exchange, so that a key that leaks later reveals nothing of the past.
 *
 * A client offers one key by its name; a server accepts any of its keys. If the server does not
 * choose the key OpenSSL falls back to certificates, and completes the handshake if none need be
 * verified; so both sides check whether the key was used. The key belongs to SHA-256, and so do the
 * suites. Tickets would be a second way to resume, and there are none.
 */
#include <errno.h>
#include <string.h>

#include "channel/tls/tls.h"

static const char suites[] = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
/* The first of these, by which OpenSSL knows the hash. */
static const unsigned char suite_of_key[] = { 0x13, 0x01 };

static SSL_SESSION *make_session(SSL *ssl, const struct gy_tls_key *key)
{
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite_of_key);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session == NULL || cipher == NULL ||
	    SSL_SESSION_set1_master_key(session, key->bytes, sizeof(key->bytes)) != 1 ||
	    SSL_SESSION_set_cipher(session, cipher) != 1 ||
	    SSL_SESSION_set1_id_context(session, gy_tls_session_id, sizeof(gy_tls_session_id)) !=
		    1 ||
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
		SSL_SESSION_free(session);
		return NULL;
	}
	return session;
}

static struct gy_tls *tls_of(const SSL *ssl)
{
	return (struct gy_tls *)BIO_get_data(SSL_get_rbio(ssl));
}

/* A server that wants a suite of another hash asks again with it. */
static int offer(SSL *ssl, const EVP_MD *hash, const unsigned char **ret_name,
		 size_t *ret_name_bytes, SSL_SESSION **ret_session)
{
	uint32_t count;
	const struct gy_tls_key *keys = gy_tls_context_keys(tls_of(ssl)->context, &count);

	if (hash != NULL && EVP_MD_get_type(hash) != NID_sha256) {
		return 0;
	}
	*ret_session = make_session(ssl, &keys[0]);
	*ret_name = keys[0].name;
	*ret_name_bytes = sizeof(keys[0].name);
	return *ret_session != NULL;
}

static int find(SSL *ssl, const unsigned char *name, size_t name_bytes, SSL_SESSION **ret_session)
{
	struct gy_tls *tls = tls_of(ssl);
	uint32_t count;
	const struct gy_tls_key *keys = gy_tls_context_keys(tls->context, &count);

	*ret_session = NULL;
	for (uint32_t i = 0; i < count; i++) {
		if (name_bytes == sizeof(keys[i].name) &&
		    memcmp(name, keys[i].name, name_bytes) == 0) {
			*ret_session = make_session(ssl, &keys[i]);
			return *ret_session != NULL;
		}
	}
	tls->unknown_key = true;
	return 1; /* a client may have others, and OpenSSL looks for a certificate else */
}

int gy_tls_psk_set(SSL_CTX *made)
{
	(void)SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
	/* Only authenticated records. */
	(void)SSL_CTX_clear_options(made, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
	SSL_CTX_set_psk_use_session_callback(made, offer);
	SSL_CTX_set_psk_find_session_callback(made, find);
	return SSL_CTX_set_ciphersuites(made, suites) == 1 &&
			       SSL_CTX_set_num_tickets(made, 0) == 1 &&
			       SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1
		       ? 0
		       : -ENOMEM;
}

bool gy_tls_psk_was_used(const struct gy_tls *tls)
{
	return SSL_session_reused(tls->ssl) == 1 && SSL_version(tls->ssl) == TLS1_3_VERSION &&
	       SSL_get0_peer_certificate(tls->ssl) == NULL;
}
