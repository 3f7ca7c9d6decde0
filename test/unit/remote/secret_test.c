/*
 * Nodes that share a secret: who has a link, who has not and is told why, and how one secret takes
 * the place of another.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/tls.h>

#include "base/atomic.h"
#include "base/macros.h"
#include "channel/tls/tls_certs.h"
#include "fixture.h"
#include "pair.h"

static const char older[] = "the secret of last year";
static const char newer[] = "the secret of this year";
static const char other[] = "the secret of others is another";

static struct tls_certs certs;

/* ---- who has a link ---- */

static int asks_the_other(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	do {
		GYRE_AWAIT(stack,
			   gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
	} while (gyre_future_error(&frame->future) == -EHOSTUNREACH ||
		 gyre_future_error(&frame->future) == -ECONNRESET);
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	GYRE_AWAIT(stack, gyre_ask(stack, frame->other, gyre_new(stack, number, 41), GYRE_FOREVER,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

static struct gyre_node_options of(const char *secret, const char *before)
{
	return (struct gyre_node_options){ .secret = secret,
					   .secret_before = before,
					   .redial_min_ns = GYRE_MILLISECONDS(1),
					   .redial_max_ns = GYRE_MILLISECONDS(10) };
}

static void play_nodes(const struct gyre_node_options *first,
		       const struct gyre_node_options *second)
{
	pair_play(&(struct pair){ .script = asks_the_other, .first = *first, .second = *second });
}

Test(secret, that_both_nodes_have_makes_their_links)
{
	const struct gyre_node_options node = of(newer, NULL);

	play_nodes(&node, &node);
	cr_assert_eq(fixture.warnings, 0, "%s", fixture.line);
}

Test(secret, that_takes_the_place_of_another_is_given_to_one_node_after_the_other)
{
	const struct gyre_node_options steps[] = { of(older, NULL), of(newer, older),
						   of(newer, NULL) };

	for (size_t i = 0; i < gy_countof(steps); i++) {
		for (size_t k = 0; k < gy_countof(steps); k++) {
			if (i + k != 2 || i == k) { /* these have none in common */
				play_nodes(&steps[i], &steps[k]);
			}
		}
	}
}

Test(secret, and_the_one_before_it_may_stand_in_either_order)
{
	const struct gyre_node_options steps[] = { of(older, newer), of(newer, older) };
	const struct gyre_node_options alone[] = { of(older, NULL), of(newer, NULL) };

	for (size_t i = 0; i < gy_countof(steps); i++) {
		for (size_t k = 0; k < gy_countof(alone); k++) {
			play_nodes(&steps[i], &alone[k]);
			play_nodes(&alone[k], &steps[i]);
		}
		play_nodes(&steps[i], &steps[1 - i]);
	}
}

Test(secret, may_be_proved_where_links_are_not_encrypted)
{
	struct gyre_node_options first = of(newer, older);
	struct gyre_node_options second = of(older, NULL);

	first.no_encryption = true;
	second.no_encryption = true;
	play_nodes(&first, &second);
	play_nodes(&second, &first);
}

/* ---- besides certificates ---- */

static struct gyre_tls_context *context_of(const struct tls_cert *cert,
					   enum gyre_tls_version version_min)
{
	const struct gyre_tls_context_options options = { .certificate = cert->certificate,
							  .key = cert->key,
							  .ca = certs.ca.certificate,
							  .version_min = version_min };
	struct gyre_tls_context *context;

	cr_assert_eq(gyre_tls_context_create(NULL, &options, &context), 0);
	return context;
}

static void play_certified(const char *secret, enum gyre_tls_version version_min)
{
	struct gyre_node_options first = of(secret, NULL);
	struct gyre_node_options second = of(secret, older);

	first.tls = context_of(&certs.client, version_min);
	second.tls = context_of(&certs.server, version_min);
	play_nodes(&first, &second);
	gyre_tls_context_unref(first.tls);
	gyre_tls_context_unref(second.tls);
}

Test(secret, may_be_proved_besides_certificates_whatever_versions_they_allow)
{
	static const enum gyre_tls_version versions[] = { GYRE_TLS_ANY, GYRE_TLS_1_2,
							  GYRE_TLS_1_3 };

	tls_certs_open(&certs);
	for (size_t i = 0; i < gy_countof(versions); i++) {
		play_certified(newer, versions[i]);
		play_certified(older, versions[i]);
	}
	tls_certs_close(&certs);
}

/* ---- who has none ---- */

/* What waits may have been given up before the refusal has come. */
static int is_refused(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	do {
		GYRE_AWAIT(stack,
			   gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
		expect(gyre_future_error(&frame->future) == -EHOSTUNREACH);
	} while (gy_load_relaxed(&fixture.warnings) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* The first, which dials, says so. */
static void play_refused(struct gyre_node_options first, struct gyre_node_options second,
			 const char *says)
{
	fixture = (struct fixture){ .system = NULL }; /* there was one before */
	first.away_ns = GYRE_MILLISECONDS(300);
	pair_play(&(struct pair){ .script = is_refused, .first = first, .second = second });
	cr_assert_neq(strstr(fixture.line, says), NULL, "it says: %s", fixture.line);
}

Test(secret, that_is_another_makes_no_link)
{
	play_refused(of(newer, older), of(other, NULL),
		     "the secrets or the names of the clusters differ");
	play_refused(of(newer, NULL), of(older, NULL),
		     "the secrets or the names of the clusters differ");
}

Test(secret, of_another_cluster_makes_no_link)
{
	struct gyre_node_options first = of(newer, NULL);

	first.cluster = "another";
	play_refused(first, of(newer, NULL), "the secrets or the names of the clusters differ");
}

Test(secret, is_missed_where_one_side_has_none)
{
	play_refused(of(newer, NULL), of(NULL, NULL), "does it speak TLS");
	play_refused(of(NULL, NULL), of(newer, NULL),
		     "do both have a secret or certificates, or neither");
}

Test(secret, encrypts_on_both_sides_or_neither)
{
	struct gyre_node_options clear = of(newer, NULL);

	clear.no_encryption = true;
	play_refused(of(newer, NULL), clear, "does it speak TLS");
	play_refused(clear, of(newer, NULL), "do both have a secret or certificates, or neither");
	play_refused(clear, of(NULL, NULL), "one encrypts links and the other does not");
	play_refused(of(NULL, NULL), clear, "one encrypts links and the other does not");
}

static void play_mixed(const char *of_first, const char *of_second, const char *says)
{
	struct gyre_node_options first = of(of_first, NULL);
	struct gyre_node_options second = of(of_second, NULL);

	first.tls = context_of(&certs.client, GYRE_TLS_ANY);
	second.tls = context_of(&certs.server, GYRE_TLS_ANY);
	play_refused(first, second, says);
	gyre_tls_context_unref(first.tls);
	gyre_tls_context_unref(second.tls);
}

Test(secret, must_be_the_same_besides_certificates)
{
	tls_certs_open(&certs);
	play_mixed(newer, older, "the secrets differ");
	play_mixed(newer, NULL, "the secrets differ");
	play_mixed(NULL, newer, "the secrets differ");
	tls_certs_close(&certs);
}

/* Each with a context of its own, which logs no more than some lines a minute. */
static void play_certificate(bool dials, const char *says)
{
	struct gyre_node_options certified = of(NULL, NULL);

	tls_certs_open(&certs);
	certified.tls = context_of(&certs.server, GYRE_TLS_ANY);
	play_refused(dials ? certified : of(newer, NULL), dials ? of(newer, NULL) : certified,
		     says);
	gyre_tls_context_unref(certified.tls);
	tls_certs_close(&certs);
}

Test(secret, is_not_replaced_by_a_certificate)
{
	play_certificate(false, "does not know the secret");
	play_certificate(true, "it refuses");
}

/* ---- reflected ---- */

/* Whatever it says to the other comes back to itself. */
static int is_reflected(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);
	char here[64];

	GYRE_BEGIN(stack);
	(void)snprintf(here, sizeof(here), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(fixture.system));
	expect(gyre_system_node_add_peer(fixture.system, &(struct gyre_node_peer){ 2, here }) == 0);
	do {
		GYRE_AWAIT(stack,
			   gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
		expect(gyre_future_error(&frame->future) == -EHOSTUNREACH);
	} while (gy_load_relaxed(&fixture.warnings) < 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_reflected(struct gyre_node_options first)
{
	fixture = (struct fixture){ .system = NULL }; /* there was one before */
	first.away_ns = GYRE_MILLISECONDS(300);
	pair_play(&(struct pair){ .script = is_reflected, .first = first, .second = first });
	cr_assert_neq(strstr(fixture.line, "it leads back to the same node"), NULL, "it says: %s",
		      fixture.line);
}

Test(secret, is_shown_to_nobody_who_sends_back_what_it_gets)
{
	struct gyre_node_options node = of(newer, NULL);

	play_reflected(node);
	node.no_encryption = true;
	play_reflected(node);
}
