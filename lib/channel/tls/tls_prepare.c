/*
 * What OpenSSL is told of a connection before its handshake: the side it is on, whom it wants to
 * talk to, and what the peer has to show.
 */
#include <errno.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "channel/tls/tls.h"

static int wire(struct gy_tls *tls)
{
	BIO *bio = BIO_new(gy_tls_context_method(tls->context));

	tls->ssl = gy_tls_context_connection(tls->context);
	if (bio == NULL || tls->ssl == NULL) {
		(void)BIO_free(bio);
		return -ENOMEM;
	}
	BIO_set_data(bio, tls);
	SSL_set_bio(tls->ssl, bio, bio);
	return 0;
}

/* Whom a client wants to talk to. An address is no name to be told, and stands elsewhere in a
 * certificate. */
static bool set_name(struct gy_tls *tls, bool check)
{
	ASN1_OCTET_STRING *address = a2i_IPADDRESS(tls->server_name);

	if (address != NULL) {
		ASN1_OCTET_STRING_free(address);
		return !check || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl),
							       tls->server_name) == 1;
	}
	SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set_tlsext_host_name(tls->ssl, tls->server_name) == 1 &&
	       (!check || SSL_set1_host(tls->ssl, tls->server_name) == 1);
}

static int prepare_client(struct gy_tls *tls, const struct gyre_tls_options *options)
{
	SSL_set_connect_state(tls->ssl);
	SSL_set_verify(tls->ssl, options->no_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (!options->no_verify) {
		int r = gy_tls_context_trust(tls->context, tls->ssl);

		if (r < 0) {
			return r;
		}
	}
	if (options->server_name == NULL) {
		return 0;
	}
	memcpy(tls->server_name, options->server_name, strlen(options->server_name) + 1);
	return set_name(tls, !options->any_name && !options->no_verify) ? 0 : -ENOMEM;
}

/* A client that resumes a session is not asked for a certificate again. So sessions for which one
 * was demanded are told apart from others of the same context. Keys have sessions of their own. */
static int demand_certificate(struct gy_tls *tls)
{
	static const unsigned char session_id[] = "gyre mutual";

	SSL_set_verify(tls->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return gy_tls_context_is_keyed(tls->context) ||
			       SSL_set_session_id_context(tls->ssl, session_id,
							  sizeof(session_id)) == 1
		       ? 0
		       : -ENOMEM;
}

static int prepare_server(struct gy_tls *tls, const struct gyre_tls_options *options)
{
	SSL_set_accept_state(tls->ssl);
	if (options->mutual) {
		return demand_certificate(tls);
	}
	SSL_set_verify(tls->ssl, SSL_VERIFY_NONE, NULL);
	return 0;
}

int gy_tls_prepare(struct gy_tls *tls, const struct gyre_tls_options *options)
{
	int r = wire(tls);

	if (r < 0) {
		return r;
	}
	return tls->client ? prepare_client(tls, options) : prepare_server(tls, options);
}
