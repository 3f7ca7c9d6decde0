/*
 * Sessions that a client resumes: with less work, but never with more rights than it would get by a
 * whole handshake.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tls_rig.h"

TestSuite(tls_resume, .timeout = 60);

static struct tls_certs certs;
static struct tls_rig server;
static struct gyre_tls_options options;

static void open_server(void)
{
	tls_certs_open(&certs);
	tls_rig_init(&server);
	options = (struct gyre_tls_options){ .context = tls_rig_context(&certs.server, &certs.ca) };
}

static void close_server(void)
{
	tls_rig_fini(&server);
	gyre_tls_context_unref(options.context);
	tls_certs_close(&certs);
}

/* A client shakes hands with a new connection of the server; whether it thinks that it has. What
 * the server grants to it for the next time is put into @ret_next; the caller's. */
static bool shake_hands(int version, const struct tls_cert *cert, SSL_SESSION *before,
			SSL_SESSION **ret_next)
{
	struct tls_raw raw;
	unsigned char bytes[16];
	bool done;

	tls_rig_reset(&server);
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &options), 0);
	tls_raw_open(&raw, version, cert);
	cr_assert(before == NULL || SSL_set_session(raw.ssl, before) == 1);
	done = tls_raw_settle(&raw, &server);
	/* In TLS 1.3 tickets are bytes like others, which come behind the handshake. */
	cr_assert_leq(SSL_read(raw.ssl, bytes, sizeof(bytes)), 0);
	*ret_next = SSL_get1_session(raw.ssl);
	/* OpenSSL would spoil the session of a connection that has not ended in good order. */
	SSL_set_shutdown(raw.ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	tls_raw_close(&raw);
	return done;
}

static void resume_without_certificate(int version)
{
	SSL_SESSION *first;
	SSL_SESSION *second;

	open_server();
	cr_assert(shake_hands(version, NULL, NULL, &first));
	cr_assert_eq(server.sessions, 1);
	options.mutual = true;
	(void)shake_hands(version, NULL, first, &second);
	cr_expect_eq(server.sessions, 0, "it was let in as %s",
		     server.session.resumed ? "resumed" : "new");
	cr_expect_eq(tls_rig_error(&server), -EKEYREJECTED);
	SSL_SESSION_free(first);
	SSL_SESSION_free(second);
	close_server();
}

Test(tls_resume, does_not_let_a_client_without_a_certificate_in_where_one_is_demanded)
{
	resume_without_certificate(TLS1_2_VERSION);
	resume_without_certificate(TLS1_3_VERSION);
}

static void resume_as_before(int version, bool mutual)
{
	SSL_SESSION *first;
	SSL_SESSION *second;

	open_server();
	options.mutual = mutual;
	cr_assert(shake_hands(version, mutual ? &certs.client : NULL, NULL, &first));
	cr_assert_not(server.session.resumed);
	cr_assert(shake_hands(version, mutual ? &certs.client : NULL, first, &second));
	cr_assert_eq(server.sessions, 1, "%s", server.line);
	cr_expect(server.session.resumed);
	cr_expect_str_eq(server.subject, mutual ? "CN=client,O=gyre" : "");
	SSL_SESSION_free(first);
	SSL_SESSION_free(second);
	close_server();
}

Test(tls_resume, goes_on_where_the_same_is_demanded)
{
	resume_as_before(TLS1_2_VERSION, false);
	resume_as_before(TLS1_3_VERSION, false);
	resume_as_before(TLS1_2_VERSION, true);
	resume_as_before(TLS1_3_VERSION, true);
}
