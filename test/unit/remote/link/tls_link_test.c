/*
 * Links that are encrypted: who may have one, who is told why not, and that all goes over it as it
 * does over a plain one.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <gyre/tls.h>

#include "base/atomic.h"
#include "channel/tls/tls_certs.h"
#include "fixture.h"
#include "remote/pair.h"
#include "remote/stranger.h"

static struct tls_certs certs;

static struct gyre_tls_context *context_of(const struct tls_cert *cert, const struct tls_cert *ca)
{
	const struct gyre_tls_context_options options = {
		.certificate = cert == NULL ? NULL : cert->certificate,
		.key = cert == NULL ? NULL : cert->key,
		.ca = ca == NULL ? NULL : ca->certificate,
	};
	struct gyre_tls_context *context;

	cr_assert_eq(gyre_tls_context_create(NULL, &options, &context), 0);
	return context;
}

/* ---- what goes over it ---- */

static int asks_the_other(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->other, gyre_new(stack, number, 41), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, number)->value == 42);
	return fixture_end(stack);
	GYRE_END(stack);
}

static void play_both(struct pair *pair, const struct tls_cert *first,
		      const struct tls_cert *second)
{
	pair->first.tls = context_of(first, &certs.ca);
	pair->second.tls = context_of(second, &certs.ca);
	pair_play(pair);
	gyre_tls_context_unref(pair->first.tls);
	gyre_tls_context_unref(pair->second.tls);
}

Test(tls_link, is_asked_over_as_over_a_plain_one)
{
	tls_certs_open(&certs);
	play_both(&(struct pair){ .script = asks_the_other }, &certs.client, &certs.server);
	cr_assert_eq(fixture.warnings, 0, "%s", fixture.line);
	tls_certs_close(&certs);
}

Test(tls_link, may_want_a_secret_besides)
{
	tls_certs_open(&certs);
	play_both(&(struct pair){ .script = asks_the_other,
				  .first.secret = "known to both, and long enough",
				  .second.secret = "known to both, and long enough" },
		  &certs.client, &certs.server);
	tls_certs_close(&certs);
}

Test(tls_link, has_one_certificate_in_both_roles)
{
	struct gyre_tls_context *shared;
	struct pair pair = { .script = asks_the_other, .loops = 2 };

	tls_certs_open(&certs);
	shared = context_of(&certs.server, &certs.ca);
	pair.first.tls = shared;
	pair.second.tls = shared;
	pair_play(&pair);
	gyre_tls_context_unref(shared);
	tls_certs_close(&certs);
}

Test(tls_link, carries_large_messages_both_ways)
{
	tls_certs_open(&certs);
	play_both(&(struct pair){ .script = pair_orders_much, .class = &pair_shop_class },
		  &certs.client, &certs.server);
	tls_certs_close(&certs);
}

/* ---- who may not ---- */

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

static void play_refused(struct gyre_tls_context *first, struct gyre_tls_context *second)
{
	struct pair pair = { .script = is_refused,
			     .first = { .tls = first, .away_ns = GYRE_MILLISECONDS(300) },
			     .second = { .tls = second } };

	pair_play(&pair);
	cr_assert_geq(fixture.warnings, 1, "it is logged");
	gyre_tls_context_unref(first);
	gyre_tls_context_unref(second);
}

Test(tls_link, is_refused_to_a_node_of_another_ca)
{
	tls_certs_open(&certs);
	play_refused(context_of(&certs.stranger, &certs.ca), context_of(&certs.server, &certs.ca));
	tls_certs_close(&certs);
}

Test(tls_link, is_refused_by_who_dials_to_a_node_of_another_ca)
{
	tls_certs_open(&certs);
	play_refused(context_of(&certs.client, &certs.ca), context_of(&certs.stranger, &certs.ca));
	tls_certs_close(&certs);
}

Test(tls_link, is_refused_to_a_node_whose_certificate_has_expired)
{
	tls_certs_open(&certs);
	play_refused(context_of(&certs.expired, &certs.ca), context_of(&certs.server, &certs.ca));
	tls_certs_close(&certs);
}

Test(tls_link, is_not_made_by_a_node_with_one_without)
{
	tls_certs_open(&certs);
	play_refused(context_of(&certs.client, &certs.ca), NULL);
	tls_certs_close(&certs);
}

Test(tls_link, is_not_made_by_a_node_without_with_one_with)
{
	tls_certs_open(&certs);
	play_refused(NULL, context_of(&certs.server, &certs.ca));
	tls_certs_close(&certs);
}

/* ---- strangers ---- */

static void open_node(uint64_t greeting_ns)
{
	struct gyre_node_options options = { .greeting_ns = greeting_ns };

	tls_certs_open(&certs);
	options.tls = context_of(&certs.server, &certs.ca);
	stranger_open(&options);
	gyre_tls_context_unref(options.tls); /* the node has its own reference */
}

Test(tls_link, ends_one_that_says_hello_in_plain)
{
	const struct gy_hello hello = stranger_hello();
	struct stranger stranger;
	char byte;
	ssize_t got;

	open_node(0);
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	while ((got = recv(stranger.fd, &byte, 1, 0)) > 0) {
	}
	cr_assert(got == 0 || errno == ECONNRESET);
	stranger_close(&stranger);
	fixture_close();
	cr_assert_eq(fixture.warnings, 1);
	cr_assert_neq(strstr(fixture.line, "it does not speak TLS"), NULL, "%s", fixture.line);
	tls_certs_close(&certs);
}

/* As a plain link. */
Test(tls_link, ends_one_that_says_nothing)
{
	struct stranger stranger;
	char byte;

	open_node(GYRE_MILLISECONDS(100));
	stranger_dial(&stranger);
	cr_assert_leq(recv(stranger.fd, &byte, 1, 0), 0);
	stranger_close(&stranger);
	fixture_close();
	tls_certs_close(&certs);
}

/* ---- options ---- */

static int create(const char *listen, struct gyre_tls_context *tls)
{
	const struct gyre_node_options node = { .id = 1, .listen = listen, .tls = tls };
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&(struct gyre_system_options){ .loops = 1, .node = &node },
				   &system);

	gyre_system_destroy(system);
	gyre_tls_context_unref(tls);
	return r;
}

Test(tls_link, lets_a_node_listen_on_a_public_address)
{
	tls_certs_open(&certs);
	cr_assert_eq(create("tcp://0.0.0.0:0", context_of(&certs.server, &certs.ca)), 0);
	cr_assert_eq(create("tcp://0.0.0.0:0", NULL), -EPERM);
	tls_certs_close(&certs);
}

Test(tls_link, needs_a_certificate_and_a_ca)
{
	tls_certs_open(&certs);
	cr_assert_eq(create("tcp://127.0.0.1:0", context_of(&certs.server, NULL)), -EINVAL);
	cr_assert_eq(create("tcp://127.0.0.1:0", context_of(NULL, &certs.ca)), -EINVAL);
	tls_certs_close(&certs);
}
