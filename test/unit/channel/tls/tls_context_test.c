/*
 * Contexts of TLS: the files they are made of, and made of anew.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor/home.h"
#include "tls_rig.h"

TestSuite(tls_context, .timeout = 60);

static struct tls_certs certs;
static char last_line[TLS_RIG_LINE];

static void note(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	cr_assert_eq(line->level, GYRE_LOG_ERROR);
	(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
}

static const struct gy_log log_here = { .write = note, .level = GYRE_LOG_WARNING };
static struct gy_homes homes = { .log = &log_here };

static int create(const struct gyre_tls_context_options *options,
		  struct gyre_tls_context **ret_context)
{
	last_line[0] = '\0';
	return gyre_tls_context_create((struct gyre_system *)(void *)&homes, options, ret_context);
}

static void refuse(const char *certificate, const char *key, const char *ca, int error,
		   const char *says)
{
	const struct gyre_tls_context_options options = { .certificate = certificate,
							  .key = key,
							  .ca = ca };
	struct gyre_tls_context *context = NULL;
	int r = create(&options, &context);

	cr_assert_eq(r, error, "%d instead of %d: %s", r, error, last_line);
	cr_assert_eq(context, NULL);
	cr_assert_neq(strstr(last_line, says), NULL, "it says: %s", last_line);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static void copy_file(const char *from, const char *to)
{
	char text[4096];
	FILE *file = fopen(from, "re");
	size_t count;

	cr_assert_not_null(file);
	count = fread(text, 1, sizeof(text) - 1, file);
	cr_assert_eq(fclose(file), 0);
	text[count] = '\0';
	write_file(to, text);
}

Test(tls_context, says_which_file_is_missing)
{
	tls_certs_open(&certs);
	refuse("nowhere.pem", certs.server.key, NULL, -ENOENT, "certificate nowhere.pem");
	refuse(certs.server.certificate, "nowhere.key", NULL, -ENOENT, "key nowhere.key");
	refuse(NULL, NULL, "nowhere.ca", -ENOENT, "CA nowhere.ca");
	tls_certs_close(&certs);
}

Test(tls_context, says_which_file_is_of_another_kind)
{
	tls_certs_open(&certs);
	refuse(certs.server.key, certs.server.key, NULL, -EBADMSG, "use the certificate");
	refuse(certs.server.certificate, certs.server.certificate, NULL, -EBADMSG, "use the key");
	refuse(NULL, NULL, certs.server.key, -EBADMSG, "use the CA");
	write_file(certs.client.certificate, "this is not a certificate\n");
	refuse(certs.client.certificate, certs.client.key, NULL, -EBADMSG, "PEM");
	write_file(certs.client.certificate, "");
	refuse(certs.client.certificate, certs.client.key, NULL, -EBADMSG, "PEM");
	tls_certs_close(&certs);
}

Test(tls_context, refuses_a_key_of_another_certificate)
{
	tls_certs_open(&certs);
	refuse(certs.server.certificate, certs.client.key, NULL, -EBADMSG,
	       "belong to the certificate");
	tls_certs_close(&certs);
}

/* It must not ask at the terminal. */
Test(tls_context, refuses_a_key_with_a_passphrase)
{
	static const char locked[] =
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
		"MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjn6tcZJ0kqdAICCAAw\n"
		"-----END ENCRYPTED PRIVATE KEY-----\n";

	tls_certs_open(&certs);
	write_file(certs.client.key, locked);
	refuse(certs.client.certificate, certs.client.key, NULL, -EBADMSG, "without a passphrase");
	tls_certs_close(&certs);
}

Test(tls_context, refuses_half_of_a_pair)
{
	refuse("some.pem", NULL, NULL, -EINVAL, "a certificate without a key");
	refuse(NULL, "some.key", NULL, -EINVAL, "a key without a certificate");
}

static void refuse_options(const struct gyre_tls_context_options *options, const char *says)
{
	struct gyre_tls_context *context = NULL;

	cr_assert_eq(create(options, &context), -EINVAL);
	cr_assert_eq(context, NULL);
	cr_assert_neq(strstr(last_line, says), NULL, "it says: %s", last_line);
}

Test(tls_context, refuses_what_is_out_of_bounds)
{
	char long_name[257];
	const char *protocols[GYRE_TLS_PROTOCOLS_MAX + 2];
	struct gyre_tls_context *context = NULL;
	const char *const bad[] = { "good", long_name, NULL };
	const char *const empty[] = { "", NULL };

	memset(long_name, 'a', 256);
	long_name[256] = '\0';
	for (size_t i = 0; i <= GYRE_TLS_PROTOCOLS_MAX; i++) {
		protocols[i] = "p";
	}
	protocols[GYRE_TLS_PROTOCOLS_MAX + 1] = NULL;
	refuse_options(&(struct gyre_tls_context_options){ .alpn = bad }, "256 bytes");
	refuse_options(&(struct gyre_tls_context_options){ .alpn = empty }, "0 bytes");
	refuse_options(&(struct gyre_tls_context_options){ .alpn = protocols }, "more than 16");
	refuse_options(&(struct gyre_tls_context_options){ .record_bytes = 4095 }, "4095");
	refuse_options(&(struct gyre_tls_context_options){ .record_bytes = 16385 }, "16385");
	refuse_options(
		&(struct gyre_tls_context_options){ .version_min = (enum gyre_tls_version)1 },
		"version_min of TLS is 1: it must be GYRE_TLS_1_2");
	cr_assert_eq(gyre_tls_context_create(NULL, NULL, &context), -EINVAL);
	cr_assert_eq(gyre_tls_context_create(NULL, &(struct gyre_tls_context_options){ 0 }, NULL),
		     -EINVAL);
	cr_assert_eq(gyre_tls_context_reload(NULL), -EINVAL);
	long_name[255] = '\0';
	protocols[GYRE_TLS_PROTOCOLS_MAX] = NULL;
	protocols[0] = long_name;
	cr_assert_eq(create(&(struct gyre_tls_context_options){ .alpn = protocols,
								.record_bytes = 4096 },
			    &context),
		     0);
	gyre_tls_context_unref(context);
}

Test(tls_context, lives_until_its_last_reference)
{
	struct gyre_tls_context *context;

	gyre_tls_context_unref(NULL);
	cr_assert_eq(gyre_tls_context_ref(NULL), NULL);
	cr_assert_eq(create(&(struct gyre_tls_context_options){ 0 }, &context), 0);
	cr_assert_eq(gyre_tls_context_ref(context), context);
	gyre_tls_context_unref(context);
	cr_assert_eq(gyre_tls_context_reload(context), 0);
	gyre_tls_context_unref(context);
}

/* ---- reload ---- */

static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;

static void open_pair(void)
{
	struct gyre_tls_context_options options = { 0 };

	tls_certs_open(&certs);
	tls_rig_init(&server);
	tls_rig_init(&client);
	options.ca = certs.ca.certificate;
	cr_assert_eq(create(&options, &client_options.context), 0);
	client_options.server_name = "localhost";
	options.certificate = certs.server.certificate;
	options.key = certs.server.key;
	cr_assert_eq(create(&options, &server_options.context), 0);
}

static void close_pair(void)
{
	tls_rig_fini(&server);
	tls_rig_fini(&client);
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	tls_certs_close(&certs);
}

static void begin(void)
{
	cr_assert_eq(tls_rig_begin(&server, gyre_tls_server_add, &server_options), 0);
	cr_assert_eq(tls_rig_begin(&client, gyre_tls_client_add, &client_options), 0);
}

static void expect_subject(const char *subject)
{
	tls_rig_settle(&client, &server, 1 << 20);
	cr_assert_str_eq(client.subject, subject, "%s instead of %s: %s", client.subject, subject,
			 client.line);
	cr_assert_eq(tls_rig_write(&client, "x", 1), 0);
	tls_rig_settle(&client, &server, 1 << 20);
	cr_assert(tls_rig_has(&server, "x"));
	tls_rig_reset(&server);
	tls_rig_reset(&client);
}

Test(tls_context, gives_new_connections_the_renewed_certificate_and_leaves_others_theirs)
{
	open_pair();
	begin(); /* before, and it shakes hands after */
	copy_file(certs.renewed.certificate, certs.server.certificate);
	copy_file(certs.renewed.key, certs.server.key);
	cr_assert_eq(gyre_tls_context_reload(server_options.context), 0);
	expect_subject("CN=server");
	begin();
	expect_subject("CN=renewed");
	close_pair();
}

Test(tls_context, stays_as_it_was_when_the_new_files_are_bad)
{
	open_pair();
	write_file(certs.server.certificate, "half written");
	cr_assert_eq(gyre_tls_context_reload(server_options.context), -EBADMSG);
	cr_assert_neq(strstr(last_line, certs.server.certificate), NULL);
	cr_assert_eq(unlink(certs.server.certificate), 0);
	cr_assert_eq(gyre_tls_context_reload(server_options.context), -ENOENT);
	begin();
	expect_subject("CN=server");
	close_pair();
}

Test(tls_context, may_be_given_up_while_connections_have_it)
{
	open_pair();
	begin();
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	server_options.context = NULL;
	client_options.context = NULL;
	expect_subject("CN=server");
	close_pair();
}

/* ---- the CAs of the machine ---- */

static int watch; /* of the file with those CAs, for each time that it is opened */

/* The CA that signs the server is one of the machine's. */
static void open_machine(void)
{
	tls_certs_open(&certs);
	tls_rig_init(&server);
	tls_rig_init(&client);
	cr_assert_eq(setenv("SSL_CERT_FILE", certs.ca.certificate, 1), 0);
	cr_assert_eq(setenv("SSL_CERT_DIR", "/nowhere", 1), 0);
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	cr_assert_geq(watch, 0);
	cr_assert_geq(inotify_add_watch(watch, certs.ca.certificate, IN_OPEN), 0);
	client_options.server_name = "localhost";
}

static void close_machine(void)
{
	cr_assert_eq(close(watch), 0);
	close_pair();
}

static bool was_read(void)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

static void create_with(const struct tls_cert *cert, struct gyre_tls_context **ret_context)
{
	const struct gyre_tls_context_options options = {
		.certificate = cert == NULL ? NULL : cert->certificate,
		.key = cert == NULL ? NULL : cert->key,
	};

	cr_assert_eq(create(&options, ret_context), 0);
}

Test(tls_context, of_a_server_never_reads_the_cas_of_the_machine)
{
	open_machine();
	create_with(&certs.server, &server_options.context);
	cr_expect_not(was_read(), "it is created");
	cr_assert_eq(gyre_tls_context_reload(server_options.context), 0);
	cr_expect_not(was_read(), "it is reloaded");
	create_with(NULL, &client_options.context);
	cr_expect(was_read(), "a client is created");
	begin();
	expect_subject("CN=server");
	cr_expect_not(was_read(), "they have shaken hands");
	close_machine();
}

Test(tls_context, with_a_certificate_reads_the_cas_of_the_machine_for_its_first_client)
{
	open_machine();
	create_with(&certs.server, &server_options.context);
	create_with(&certs.client, &client_options.context);
	cr_expect_not(was_read(), "no client has begun");
	begin();
	cr_expect(was_read(), "one has");
	expect_subject("CN=server");
	begin();
	expect_subject("CN=server");
	cr_expect_not(was_read(), "it was not the first");
	close_machine();
}

Test(tls_context, that_has_read_the_cas_of_the_machine_reads_them_again_with_its_files)
{
	open_machine();
	create_with(&certs.server, &server_options.context);
	create_with(NULL, &client_options.context);
	copy_file(certs.other_ca.certificate, certs.ca.certificate);
	begin(); /* by those that were read before */
	expect_subject("CN=server");
	cr_assert_eq(gyre_tls_context_reload(client_options.context), 0);
	begin();
	tls_rig_settle(&client, &server, 1 << 20);
	cr_expect_eq(tls_rig_error(&client), -EKEYREJECTED, "that CA is trusted no more");
	close_machine();
}

Test(tls_context, of_a_client_that_does_not_verify_needs_no_cas)
{
	open_machine();
	create_with(&certs.server, &server_options.context);
	create_with(&certs.client, &client_options.context);
	client_options.no_verify = true;
	begin();
	expect_subject("CN=server");
	cr_expect_not(was_read());
	close_machine();
}
