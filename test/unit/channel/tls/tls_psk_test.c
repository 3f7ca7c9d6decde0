/*
 * TLS by a key that both sides have: who gets through, who does not, and what they are told.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "channel/tls/tls.h"
#include "tls_rig.h"

TestSuite(tls_psk, .timeout = 60);

enum { WHOLE = 1 << 20 };

static struct tls_certs certs;
static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;

/* A key of that letter, and what would be one if its name were all. */
static struct gy_tls_key key_named(char name, char secret)
{
	struct gy_tls_key key;

	memset(key.name, name, sizeof(key.name));
	memset(key.bytes, secret, sizeof(key.bytes));
	return key;
}

/* A context of one key for each letter, the first of which is offered. */
static struct gyre_tls_context *keyed(const char *letters)
{
	struct gy_tls_key keys[GY_TLS_KEYS_MAX];
	uint32_t count = (uint32_t)strlen(letters);
	struct gyre_tls_context *context;

	for (uint32_t i = 0; i < count; i++) {
		keys[i] = key_named(letters[i], letters[i]);
	}
	cr_assert_eq(gy_tls_context_create_keyed(NULL, keys, count, &context), 0);
	return context;
}

/* Takes the references. */
static void open_pair(struct gyre_tls_context *of_client, struct gyre_tls_context *of_server)
{
	tls_rig_init(&server);
	tls_rig_init(&client);
	client_options = (struct gyre_tls_options){ .context = of_client, .any_name = true };
	server_options = (struct gyre_tls_options){ .context = of_server, .mutual = true };
}

static void begin(void)
{
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &client_options), 0);
}

static void close_pair(void)
{
	tls_rig_fini(&server);
	tls_rig_fini(&client);
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
}

static void play_agreed(const char *of_client, const char *of_server)
{
	open_pair(keyed(of_client), keyed(of_server));
	begin();
	cr_assert_eq(tls_rig_write(&client, "question", 8), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_expect_eq(server.sessions, 1, "%s to %s: %s", of_client, of_server, server.line);
	cr_expect_eq(client.sessions, 1, "%s to %s: %s", of_client, of_server, client.line);
	cr_expect_eq(client.session.version, GYRE_TLS_1_3);
	cr_expect(tls_rig_has(&server, "question"));
	cr_expect_eq(server.lines + client.lines, 0);
	close_pair();
}

/* Nothing that is written passes, and each side is told why unless it hears nothing of it. */
static void play_refused(const char *client_says, int client_error, const char *server_says)
{
	cr_assert_eq(tls_rig_write(&client, "question", 8), 0);
	cr_assert_eq(tls_rig_write(&server, "answer", 6), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_expect_eq(client.sessions, 0, "%s", client_says);
	cr_expect_eq(server.rig.log.bytes_count, 0, "%s", client_says);
	cr_expect_eq(client.rig.log.bytes_count, 0, "%s", client_says);
	cr_expect_neq(strstr(client.line, client_says), NULL, "the client says: %s", client.line);
	cr_expect_eq(tls_rig_error(&client), client_error, "%d", tls_rig_error(&client));
	cr_expect_neq(strstr(server.line, server_says), NULL, "the server says: %s", server.line);
	close_pair();
}

/* ---- who has it ---- */

Test(tls_psk, lets_through_who_has_the_key)
{
	play_agreed("a", "a");
}

Test(tls_psk, lets_a_server_take_each_of_two_keys_and_a_client_offer_its_first)
{
	play_agreed("a", "ab");
	play_agreed("a", "ba");
	play_agreed("ab", "a");
	play_agreed("ab", "ba");
}

Test(tls_psk, makes_fresh_keys_and_gives_no_tickets)
{
	EVP_PKEY *fresh = NULL;

	open_pair(keyed("a"), keyed("a"));
	begin();
	cr_assert(tls_rig_carry(&client, &server, WHOLE));
	cr_assert(tls_rig_carry(&server, &client, WHOLE));
	cr_assert(tls_rig_carry(&client, &server, WHOLE));
	cr_assert_eq(server.sessions, 1);
	cr_assert_not(tls_rig_carry(&server, &client, WHOLE), "it says more than the handshake");
	cr_assert_eq(SSL_get_peer_tmp_key(gy_tls_of(&client.rig.channel)->ssl, &fresh), 1);
	EVP_PKEY_free(fresh);
	close_pair();
}

Test(tls_psk, binds_both_sides_of_one_connection_to_the_same_and_of_two_to_others)
{
	unsigned char bound[3][GY_TLS_BINDING_BYTES];

	open_pair(keyed("a"), keyed("a"));
	for (uint32_t i = 0; i < 2; i++) {
		begin();
		tls_rig_settle(&client, &server, WHOLE);
		cr_assert_eq(gy_tls_bind(&client.rig.channel, bound[i]), 0);
		cr_assert_eq(gy_tls_bind(&server.rig.channel, bound[2]), 0);
		cr_assert_arr_eq(bound[i], bound[2], sizeof(bound[i]));
		tls_rig_reset(&client);
		tls_rig_reset(&server);
	}
	cr_assert_neq(memcmp(bound[0], bound[1], sizeof(bound[0])), 0);
	cr_assert_eq(gy_tls_bind(&client.rig.channel, bound[0]), -ENOENT);
	close_pair();
}

/* ---- who has not ---- */

Test(tls_psk, refuses_another_key)
{
	open_pair(keyed("a"), keyed("b"));
	begin();
	play_refused("it refuses: the secrets or the names of the clusters differ", -ECONNREFUSED,
		     "the secrets or the names of the clusters differ");
}

Test(tls_psk, refuses_another_key_of_the_same_name)
{
	const struct gy_tls_key key = key_named('a', 'x');
	struct gyre_tls_context *impostor;

	cr_assert_eq(gy_tls_context_create_keyed(NULL, &key, 1, &impostor), 0);
	open_pair(impostor, keyed("a"));
	begin();
	play_refused("it refuses", -ECONNREFUSED, "it does not know the secret that it names");
}

/* With verification off a server of any certificate would get through. */
Test(tls_psk, refuses_a_server_with_a_certificate_instead)
{
	tls_certs_open(&certs);
	open_pair(keyed("a"), tls_rig_context(&certs.server, &certs.ca));
	server_options.mutual = false;
	begin();
	play_refused("it has shown a certificate, and does not know the secret", -EKEYREJECTED,
		     "it does not know the CA of our certificate");
	tls_certs_close(&certs);
}

Test(tls_psk, refuses_a_handshake_without_the_key_even_if_no_certificate_is_looked_at)
{
	tls_certs_open(&certs);
	open_pair(keyed("a"), tls_rig_context(&certs.server, &certs.ca));
	server_options.mutual = false;
	begin();
	SSL_set_verify(gy_tls_of(&client.rig.channel)->ssl, SSL_VERIFY_NONE, NULL);
	cr_assert_eq(tls_rig_write(&client, "question", 8), 0);
	cr_assert_eq(tls_rig_write(&server, "answer", 6), 0);
	tls_rig_settle(&client, &server, WHOLE);
	cr_expect_eq(client.sessions, 0);
	cr_expect_eq(tls_rig_error(&client), -EKEYREJECTED);
	cr_expect_neq(strstr(client.line, "it has not used the secret"), NULL, "%s", client.line);
	cr_expect_eq(client.rig.log.bytes_count, 0);
	cr_expect_eq(server.rig.log.bytes_count, 0);
	close_pair();
	tls_certs_close(&certs);
}

Test(tls_psk, refuses_a_client_without_a_key)
{
	tls_certs_open(&certs);
	open_pair(tls_rig_context(&certs.client, &certs.ca), keyed("a"));
	begin();
	play_refused("it refuses", -ECONNREFUSED, "it has no secret");
	tls_certs_close(&certs);
}

Test(tls_psk, refuses_older_versions_of_tls)
{
	struct tls_raw raw;

	open_pair(keyed("a"), keyed("a"));
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	tls_raw_open(&raw, TLS1_2_VERSION, NULL);
	cr_assert_not(tls_raw_settle(&raw, &server));
	cr_expect_neq(strstr(server.line, "it does not speak TLS 1.3"), NULL, "%s", server.line);
	cr_expect_eq(server.sessions, 0);
	tls_raw_close(&raw);
	close_pair();
}

/* The key belongs to SHA-256. */
Test(tls_psk, refuses_suites_of_another_hash)
{
	struct tls_raw raw;

	open_pair(keyed("a"), keyed("a"));
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	tls_raw_open(&raw, TLS1_3_VERSION, NULL);
	cr_assert_eq(SSL_set_ciphersuites(raw.ssl, "TLS_AES_256_GCM_SHA384"), 1);
	cr_assert_not(tls_raw_settle(&raw, &server));
	cr_expect_eq(server.sessions, 0);
	cr_expect_neq(strstr(server.line, "no cipher suite in common"), NULL, "%s", server.line);
	tls_raw_close(&raw);
	close_pair();
}
