/*
 * Errors of OpenSSL, as an errno and as a line that says what can be done.
 *
 * OpenSSL tells much of a failed handshake. A few cases are met in practice: certificates, a peer
 * that speaks another protocol, no version in common. The alert of a peer is its opinion of this
 * side. Lines are bounded, because anybody who can connect can cause them.
 */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include <gyre/socket_address.h>

#include "actor/address_text.h"
#include "buffer/socket_address.h"
#include "channel/tls/tls.h"

enum { TEXT_BYTES_MAX = 512 };

struct meaning {
	int reason; /* OpenSSL's; 0 ends the table */
	int error;
	const char *text;
};

static const struct meaning meanings[] = {
	{ SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, -EKEYREJECTED,
	  "it has shown no certificate; give it one that our CA has signed" },
	{ SSL_R_WRONG_VERSION_NUMBER, -EPROTO, "it does not speak TLS; is it the right port?" },
	{ SSL_R_HTTP_REQUEST, -EPROTO, "it speaks HTTP without TLS; it is to use https" },
	{ SSL_R_HTTPS_PROXY_REQUEST, -EPROTO, "it takes this for a proxy of HTTP" },
	{ SSL_R_BAD_PACKET_LENGTH, -EPROTO, "it does not speak TLS; is it the right port?" },
	{ SSL_R_UNSUPPORTED_PROTOCOL, -EPROTO,
	  "it speaks no version that is allowed here; TLS 1.2 is the least" },
	{ SSL_R_NO_SHARED_CIPHER, -EPROTO, "it has no cipher suite in common with us" },
	{ SSL_R_NO_APPLICATION_PROTOCOL, -EPROTO, "it offers none of our protocols by ALPN" },
	{ SSL_R_TLSV1_ALERT_UNKNOWN_CA, -ECONNREFUSED,
	  "it does not know the CA of our certificate; give it that CA, or us another" },
	{ SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, -ECONNREFUSED,
	  "it wants a certificate; give us one that its CA has signed" },
	{ SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, -ECONNREFUSED,
	  "it does not accept our certificate; check its name and its CA" },
	{ SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, -ECONNREFUSED,
	  "our certificate has expired; renew it" },
	{ SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, -ECONNREFUSED,
	  "it refuses; a certificate or a common cipher suite may be missing" },
	{ SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, -ECONNREFUSED, "it wants another version of TLS" },
	{ SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, -ECONNREFUSED,
	  "it speaks none of our protocols; see ALPN" },
	{ 0, 0, NULL },
};

/* Between those who are to have a key in common these mean something else. */
static const struct meaning meanings_of_keys[] = {
	{ SSL_R_WRONG_VERSION_NUMBER, -EPROTO,
	  "it does not speak TLS; give both the same secret, and the same build of gyre" },
	{ SSL_R_BAD_PACKET_LENGTH, -EPROTO,
	  "it does not speak TLS; give both the same secret, and the same build of gyre" },
	{ SSL_R_UNSUPPORTED_PROTOCOL, -EPROTO, "it does not speak TLS 1.3, which secrets need" },
	{ SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, -EKEYREJECTED,
	  "it has no secret; give both the same one, or certificates to both" },
	{ SSL_R_BINDER_DOES_NOT_VERIFY, -EKEYREJECTED,
	  "it does not know the secret that it names, or was changed on its way" },
	{ SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, -ECONNREFUSED,
	  "it refuses: the secrets or the names of the clusters differ; give both the same" },
	{ 0, 0, NULL },
};

/* ---- lines ---- */

static void name_peer(const struct gy_tls *tls, size_t bytes, char *ret_text)
{
	struct gyre_socket_address peer;

	if (gy_socket_address_of_peer(tls->channel->endpoint.fd, &peer) < 0 ||
	    gyre_socket_address_format(&peer, bytes, ret_text) <= 0) {
		(void)snprintf(ret_text, bytes, "a %s", tls->client ? "server" : "client");
	}
}

void gy_tls_complain(struct gy_tls *tls, const char *what)
{
	const struct gy_loop *loop = &tls->channel->channels->home->loop;
	struct gy_log_limit *limit = gy_tls_context_limit(tls->context);
	char address[GYRE_ADDRESS_TEXT_MAX];
	char peer[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	char note[GY_LOG_NOTE_BYTES];

	if (gy_log_limit_admit(limit, loop->now_ns)) {
		name_peer(tls, sizeof(peer), peer);
		gy_log(loop->options.log, GYRE_LOG_WARNING, "TLS of channel %s with %s: %s%s",
		       gy_address_text(gyre_channel_address(tls->channel), address), peer, what,
		       gy_log_limit_note(limit, note));
	}
}

/* ---- connections ---- */

static const struct meaning *find_in(const struct meaning *meaning, int reason)
{
	while (meaning->reason != 0 && meaning->reason != reason) {
		meaning++;
	}
	return meaning;
}

static const struct meaning *find_meaning(const struct gy_tls *tls, int reason)
{
	const struct meaning *meaning = find_in(meanings_of_keys, reason);

	return gy_tls_context_is_keyed(tls->context) && meaning->reason != 0
		       ? meaning
		       : find_in(meanings, reason);
}

static const char *remedy_for(long verdict)
{
	switch (verdict) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "renew it, or set the clock";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "connect to the name that it is for";
	default:
		return "give us the CA that has signed it, or the peer another certificate";
	}
}

static const char *reason_of(unsigned long code)
{
	const char *reason = ERR_reason_error_string(code);

	return reason == NULL ? "for an unknown reason" : reason;
}

static void complain_of_certificate(struct gy_tls *tls)
{
	long verdict = SSL_get_verify_result(tls->ssl);
	char text[TEXT_BYTES_MAX];

	if (gy_tls_context_is_keyed(tls->context)) {
		gy_tls_complain(tls, "it has shown a certificate, and does not know the secret; "
				     "give both the same one, or certificates to both");
		return;
	}
	(void)snprintf(text, sizeof(text), "its certificate is refused: %s; %s",
		       X509_verify_cert_error_string(verdict), remedy_for(verdict));
	gy_tls_complain(tls, text);
}

static int explain_code(struct gy_tls *tls, unsigned long code)
{
	const struct meaning *meaning = find_meaning(tls, ERR_GET_REASON(code));
	bool is_alert = ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET;
	char text[TEXT_BYTES_MAX];

	if (meaning->reason != 0) {
		(void)snprintf(text, sizeof(text), "%s (%s)", meaning->text, reason_of(code));
		gy_tls_complain(tls, text);
		return meaning->error;
	}
	(void)snprintf(text, sizeof(text), "%s: %s", is_alert ? "it refuses" : "it is refused",
		       reason_of(code));
	gy_tls_complain(tls, text);
	return is_alert ? -ECONNREFUSED : -EPROTO;
}

bool gy_tls_lacks_memory(const struct gy_tls *tls, unsigned long code)
{
	return tls->no_memory || ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE;
}

int gy_tls_explain(struct gy_tls *tls)
{
	unsigned long code = ERR_get_error();

	if (gy_tls_lacks_memory(tls, code)) {
		return -ENOMEM;
	}
	if (tls->unknown_key && !tls->established) {
		gy_tls_complain(tls, "the secrets or the names of the clusters differ; give both "
				     "the same");
		return -EKEYREJECTED;
	}
	if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
	    ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
		complain_of_certificate(tls);
		return -EKEYREJECTED;
	}
	return explain_code(tls, code);
}

/* ---- files ---- */

int gy_tls_explain_file(const struct gy_log *log, const char *what, const char *path)
{
	unsigned long code = ERR_get_error();

	if (ERR_SYSTEM_ERROR(code)) {
		int error = ERR_GET_REASON(code);

		gy_log(log, GYRE_LOG_ERROR,
		       "cannot read the %s %s for TLS: %s; check the path and its permissions",
		       what, path, strerror(error));
		return -error;
	}
	gy_log(log, GYRE_LOG_ERROR,
	       "cannot use the %s %s for TLS: %s; it has to be in PEM format%s", what, path,
	       reason_of(code),
	       strcmp(what, "key") == 0 ? ", without a passphrase, and belong to the certificate"
					: "");
	return -EBADMSG;
}
