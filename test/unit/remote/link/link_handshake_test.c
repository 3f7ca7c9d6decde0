/*
 * Who may have a link to a node, and who is told why not.
 */
#include <stdio.h>
#include <string.h>

#include "remote/secret.h"
#include "remote/stranger.h"

static void expect_refused(const struct gy_hello *hello, enum gy_refusal refusal)
{
	struct stranger stranger;

	stranger_dial(&stranger);
	stranger_say_hello(&stranger, hello);
	stranger_expect_refusal(&stranger, refusal);
	stranger_close(&stranger);
}

/* Opens a node, and expects that it refuses that hello. */
static void play_refused(const struct gy_hello *hello, enum gy_refusal refusal)
{
	stranger_open(&(struct gyre_node_options){ 0 });
	expect_refused(hello, refusal);
	cr_assert_geq(fixture.warnings, 1, "it is logged");
	fixture_close();
}

Test(link_handshake, tells_who_dials_what_the_node_is)
{
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .link_bytes_max = 1 << 20,
						   .message_bytes_max = 1 << 16 });
	stranger_meet(&stranger);
	cr_assert_eq(stranger.theirs.node, STRANGER_NODE);
	cr_assert_eq(stranger.theirs.expected, STRANGER_ID);
	cr_assert_eq(stranger.theirs.port, gyre_system_node_port(fixture.system));
	cr_assert_eq(stranger.theirs.window_bytes, 1 << 20);
	cr_assert_eq(stranger.theirs.message_bytes_max, 1 << 16);
	cr_assert_str_eq(stranger.theirs.cluster, "gyre");
	cr_assert_not(stranger.theirs.proves);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, refuses_another_cluster)
{
	struct gy_hello hello = stranger_hello();

	(void)snprintf(hello.cluster, sizeof(hello.cluster), "other");
	play_refused(&hello, GY_REFUSED_CLUSTER);
}

/* Whoever can connect can cause these. */
Test(link_handshake, that_is_refused_again_and_again_does_not_fill_the_log)
{
	enum { TIMES = 100, LINES = 40 };
	static const unsigned char tls[] = { 0x16, 0x03, 0x01, 0x00, 0x00 };
	struct gy_hello hello = stranger_hello();
	const uint8_t code = GY_REFUSED_BUSY;
	struct stranger stranger;

	(void)snprintf(hello.cluster, sizeof(hello.cluster), "other");
	stranger_open(&(struct gyre_node_options){ 0 });
	for (int i = 0; i < TIMES; i++) {
		expect_refused(&hello, GY_REFUSED_CLUSTER);
		stranger_dial(&stranger);
		stranger_say(&stranger, GY_WIRE_REFUSE, &code, sizeof(code));
		stranger_expect_end(&stranger);
		stranger_close(&stranger);
		stranger_dial(&stranger);
		stranger_say_bytes(&stranger, tls, sizeof(tls));
		stranger_expect_end(&stranger);
		stranger_close(&stranger);
	}
	fixture_close();
	cr_expect_lt(fixture.warnings, LINES, "%u lines", fixture.warnings);
}

Test(link_handshake, refuses_an_older_protocol_and_one_that_has_forgotten_ours)
{
	struct gy_hello hello = stranger_hello();

	stranger_open(&(struct gyre_node_options){ 0 });
	for (uint16_t version = 0; version < GY_WIRE_VERSION_MIN; version++) {
		hello.version_min = 0;
		hello.version_max = version;
		expect_refused(&hello, GY_REFUSED_VERSION);
	}
	hello.version_min = GY_WIRE_VERSION + 1;
	hello.version_max = GY_WIRE_VERSION + 5;
	expect_refused(&hello, GY_REFUSED_VERSION);
	fixture_close();
}

Test(link_handshake, takes_a_later_protocol_that_still_speaks_ours)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	hello.version_max = GY_WIRE_VERSION + 5;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, refuses_the_own_id_no_id_and_who_looks_for_somebody_else)
{
	struct gy_hello hello = stranger_hello();

	stranger_open(&(struct gyre_node_options){ 0 });
	hello.node = STRANGER_NODE;
	expect_refused(&hello, GY_REFUSED_ID);
	hello.node = 0;
	expect_refused(&hello, GY_REFUSED_ID);
	hello.node = STRANGER_ID;
	hello.expected = STRANGER_NODE + 1;
	expect_refused(&hello, GY_REFUSED_ID);
	fixture_close();
}

/* As when somebody sends back to a node what it says. */
Test(link_handshake, refuses_its_own_hello)
{
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_meet(&stranger);
	hello.node = STRANGER_NODE;
	hello.expected = STRANGER_ID;
	hello.incarnation = stranger.theirs.incarnation;
	expect_refused(&hello, GY_REFUSED_SELF);
	stranger_close(&stranger);
	fixture_close();
}

/* ---- secrets that are proved ---- */

static const char secret[] = "known to few, and long enough";
static const char guess[] = "guessed, and as long as it is";

Test(link_handshake, refuses_a_side_without_a_secret_where_there_is_one)
{
	const struct gy_hello hello = stranger_hello();

	stranger_open(&(struct gyre_node_options){ .secret = secret, .no_encryption = true });
	expect_refused(&hello, GY_REFUSED_SECRET);
	fixture_close();
}

Test(link_handshake, refuses_a_side_with_a_secret_where_there_is_none)
{
	struct gy_hello hello = stranger_hello();

	hello.proves = true;
	play_refused(&hello, GY_REFUSED_SECRET);
}

static void begin_proof(struct stranger *stranger)
{
	struct gy_hello hello = stranger_hello();

	hello.proves = true;
	stranger_dial(stranger);
	stranger_say_hello(stranger, &hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
}

static void prove(const char *text, const struct gy_hello *mine, const struct gy_hello *theirs,
		  bool dialled, unsigned char proof[GY_PROOF_BYTES])
{
	static const unsigned char unbound[GY_TLS_BINDING_BYTES];
	struct gy_secret derived = { .tls = NULL };

	cr_assert_eq(gy_secret_derive(text, "gyre", &derived), 0);
	cr_assert_eq(gy_secret_prove(&derived, unbound, mine, theirs, dialled, proof), 0);
}

static void say_proof(struct stranger *stranger, const char *text, bool dialled)
{
	unsigned char proof[GY_PROOF_BYTES];

	prove(text, &stranger->mine, &stranger->theirs, dialled, proof);
	stranger_say(stranger, GY_WIRE_PROOF, proof, sizeof(proof));
}

Test(link_handshake, proves_the_secret_to_who_has_proved_it)
{
	struct stranger stranger;
	unsigned char proof[GY_PROOF_BYTES];

	stranger_open(&(struct gyre_node_options){ .secret = secret, .no_encryption = true });
	begin_proof(&stranger);
	say_proof(&stranger, secret, true);
	stranger_expect(&stranger, GY_WIRE_PROOF);
	prove(secret, &stranger.theirs, &stranger.mine, false, proof);
	cr_assert_eq(stranger.frame.bytes, GY_PROOF_BYTES);
	cr_assert_arr_eq(stranger.frame.body, proof, sizeof(proof));
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, refuses_the_proof_of_another_secret_of_another_side_and_of_another_length)
{
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .secret = secret, .no_encryption = true });
	begin_proof(&stranger);
	say_proof(&stranger, guess, true);
	stranger_expect_refusal(&stranger, GY_REFUSED_SECRET);
	stranger_close(&stranger);
	begin_proof(&stranger);
	say_proof(&stranger, secret, false);
	stranger_expect_refusal(&stranger, GY_REFUSED_SECRET);
	stranger_close(&stranger);
	begin_proof(&stranger);
	stranger_say(&stranger, GY_WIRE_PROOF, "short", 5);
	stranger_expect_refusal(&stranger, GY_REFUSED_SECRET);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, makes_a_proof_of_one_connection_worthless_on_the_next)
{
	struct stranger stranger;
	unsigned char proof[GY_PROOF_BYTES];

	stranger_open(&(struct gyre_node_options){ .secret = secret, .no_encryption = true });
	begin_proof(&stranger);
	prove(secret, &stranger.mine, &stranger.theirs, true, proof);
	stranger_close(&stranger);
	begin_proof(&stranger);
	stranger_say(&stranger, GY_WIRE_PROOF, proof, sizeof(proof));
	stranger_expect_refusal(&stranger, GY_REFUSED_SECRET);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, takes_the_proof_of_each_of_two_secrets_and_answers_with_that)
{
	const char *const secrets[] = { secret, guess };

	stranger_open(&(struct gyre_node_options){
		.secret = secret, .secret_before = guess, .no_encryption = true });
	for (size_t i = 0; i < gy_countof(secrets); i++) {
		struct stranger stranger;
		unsigned char proof[GY_PROOF_BYTES];

		begin_proof(&stranger);
		say_proof(&stranger, secrets[i], true);
		stranger_expect(&stranger, GY_WIRE_PROOF);
		prove(secrets[i], &stranger.theirs, &stranger.mine, false, proof);
		cr_assert_arr_eq(stranger.frame.body, proof, sizeof(proof));
		stranger_close(&stranger);
	}
	fixture_close();
}

/* ---- what is out of turn ---- */

Test(link_handshake, refuses_a_message_before_the_hello)
{
	const struct gy_frame notice = { .kind = GY_WIRE_NOTICE, .to_cookie = 1 };
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_dial(&stranger);
	stranger_say_frame(&stranger, &notice);
	stranger_expect_refusal(&stranger, GY_REFUSED_MALFORMED);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.letters_count, 0, "it has not become mail");
}

Test(link_handshake, refuses_a_message_before_the_proof)
{
	const struct gy_frame notice = { .kind = GY_WIRE_NOTICE, .to_cookie = 1 };
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ .secret = secret, .no_encryption = true });
	begin_proof(&stranger);
	stranger_say_frame(&stranger, &notice);
	stranger_expect_refusal(&stranger, GY_REFUSED_MALFORMED);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.letters_count, 0, "it has not become mail");
}

Test(link_handshake, ends_a_link_on_which_hello_is_said_twice)
{
	const struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_meet(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, ends_a_connection_that_speaks_another_protocol)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_dial(&stranger);
	stranger_say_bytes(&stranger, request, sizeof(request) - 1);
	stranger_expect_end(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, takes_a_hello_in_single_bytes)
{
	const struct gy_hello hello = stranger_hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t count = gy_hello_put(&hello, bytes);
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_dial(&stranger);
	for (uint32_t i = 0; i < count; i++) {
		stranger_say_bytes(&stranger, bytes + i, 1);
	}
	stranger_expect(&stranger, GY_WIRE_HELLO);
	stranger_close(&stranger);
	fixture_close();
}

Test(link_handshake, survives_every_truncation_of_a_hello)
{
	const struct gy_hello hello = stranger_hello();
	unsigned char bytes[GY_HELLO_BYTES_MAX];
	uint32_t count = gy_hello_put(&hello, bytes);
	struct stranger stranger;

	stranger_open(&(struct gyre_node_options){ 0 });
	for (uint32_t i = 0; i < count; i++) {
		stranger_dial(&stranger);
		stranger_say_bytes(&stranger, bytes, i);
		stranger_close(&stranger);
	}
	stranger_meet(&stranger);
	stranger_close(&stranger);
	fixture_close();
}

/* ---- lives ---- */

/* The process is the upper half of an incarnation. */
Test(link_handshake, refuses_a_process_that_another_one_with_its_id_has_followed)
{
	struct gy_hello hello = stranger_hello();
	struct stranger former;
	struct stranger later;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_meet(&former);
	hello.incarnation = UINT64_C(1) << 32 | 7;
	stranger_dial(&later);
	stranger_say_hello(&later, &hello);
	stranger_expect(&later, GY_WIRE_HELLO);
	stranger_expect_end(&former);
	hello.incarnation = STRANGER_LIFE + 1;
	/* Before it could take the link for open. */
	expect_refused(&hello, GY_REFUSED_REPLACED);
	stranger_close(&former);
	stranger_close(&later);
	fixture_close();
}

Test(link_handshake, ends_the_links_of_an_earlier_life_when_a_later_one_comes)
{
	struct gy_hello hello = stranger_hello();
	struct stranger earlier;
	struct stranger later;

	stranger_open(&(struct gyre_node_options){ 0 });
	stranger_meet(&earlier);
	hello.incarnation++;
	stranger_dial(&later);
	stranger_say_hello(&later, &hello);
	stranger_expect(&later, GY_WIRE_HELLO);
	stranger_expect_end(&earlier);
	stranger_close(&earlier);
	stranger_close(&later);
	fixture_close();
}
