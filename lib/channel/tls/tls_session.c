/*
 * The result of a handshake, kept when the handshake is done, so that reading it later costs
 * nothing.
 */
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/memory/memory.h"
#include "channel/tls/tls.h"

/* The text that was written to @bio, from the heap. */
static char *text_of(BIO *bio)
{
	char *from = NULL;
	long count = BIO_get_mem_data(bio, &from);
	char *text = count < 0 ? NULL : (char *)gy_memory_get_raw((size_t)count + 1);

	if (text != NULL) {
		memcpy(text, from, (size_t)count);
		text[count] = '\0';
	}
	return text;
}

static int keep_subject(struct gy_tls *tls)
{
	const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
	BIO *bio;

	if (certificate == NULL) {
		return 0;
	}
	bio = BIO_new(BIO_s_mem());
	if (bio != NULL &&
	    X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253) >= 0) {
		tls->subject = text_of(bio);
	}
	(void)BIO_free(bio);
	return tls->subject == NULL ? -ENOMEM : 0;
}

int gy_tls_session_keep(struct gy_tls *tls)
{
	const unsigned char *alpn = NULL;
	unsigned int count = 0;

	SSL_get0_alpn_selected(tls->ssl, &alpn, &count);
	if (count > 0) {
		memcpy(tls->alpn, alpn, count); /* its length is a byte */
	}
	return keep_subject(tls);
}

/* A client reports the name it wanted, which may be an address that is not sent to the server. */
static const char *server_name_of(const struct gy_tls *tls)
{
	const char *name = tls->client ? tls->server_name
				       : SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name);

	return name == NULL ? "" : name;
}

void gy_tls_session_get(const struct gy_tls *tls, struct gyre_tls_session *ret_session)
{
	*ret_session = (struct gyre_tls_session){
		.version = SSL_version(tls->ssl) == TLS1_2_VERSION ? GYRE_TLS_1_2 : GYRE_TLS_1_3,
		.resumed = SSL_session_reused(tls->ssl) == 1,
		.cipher = SSL_get_cipher_name(tls->ssl),
		.alpn = tls->alpn,
		.server_name = server_name_of(tls),
		.peer_subject = tls->subject == NULL ? "" : tls->subject,
	};
}

int gy_tls_bind(struct gyre_channel *channel, unsigned char ret_binding[GY_TLS_BINDING_BYTES])
{
	static const char label[] = "EXPORTER-gyre-binding";
	struct gy_tls *tls = gy_tls_of(channel);

	if (tls == NULL) {
		return -ENOENT;
	}
	return SSL_version(tls->ssl) == TLS1_3_VERSION &&
			       SSL_export_keying_material(tls->ssl, ret_binding,
							  GY_TLS_BINDING_BYTES, label,
							  sizeof(label) - 1, NULL, 0, 0) == 1
		       ? 0
		       : -EPROTO;
}
