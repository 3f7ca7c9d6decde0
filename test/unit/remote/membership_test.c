/*
 * Engines that tell a node of others: what they are called for, in which order, and what comes of
 * what they tell.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gyre/outside.h>

#include "base/atomic.h"
#include "fixture.h"
#include "remote/stranger.h"

/* An engine that does what a test says, and writes down what it is called for: a letter each. */
struct engine {
	int start_result;
	int publish_result;
	int watch_result;
	const struct gyre_node_peer *known; /* told at once; NULL for nobody */
	char calls[16];
	struct gyre_node_peer published;
	char published_address[64];
	gyre_node_told_fn tell;
	struct gyre_system *system;
};

static struct engine engine;

static void note(char call)
{
	size_t count = strlen(engine.calls);

	cr_assert_lt(count + 1, sizeof(engine.calls));
	engine.calls[count] = call;
}

static int start(const void *arg, void **ret_engine)
{
	note('s');
	cr_expect_eq(arg, &engine);
	*ret_engine = &engine;
	return engine.start_result;
}

static int publish(void *it, const struct gyre_node_peer *self)
{
	note('p');
	cr_expect_eq(it, &engine);
	engine.published = *self;
	(void)snprintf(engine.published_address, sizeof(engine.published_address), "%s",
		       self->address);
	return engine.publish_result;
}

static int watch(void *it, gyre_node_told_fn tell, struct gyre_system *system)
{
	note('w');
	cr_expect_eq(it, &engine);
	engine.tell = tell;
	engine.system = system;
	if (engine.known != NULL) {
		cr_expect_eq(tell(system, engine.known), 0);
	}
	return engine.watch_result;
}

static void stop(void *it)
{
	note('x');
	cr_expect_eq(it, &engine);
}

static const struct gyre_membership membership = {
	.start = start, .publish = publish, .watch = watch, .stop = stop
};

static int create(const char *listen, struct gyre_system **ret_system)
{
	const struct gyre_node_options node = {
		.id = 1, .listen = listen, .membership = &membership, .membership_arg = &engine
	};
	const struct gyre_system_options options = { .loops = 1, .node = &node };

	return gyre_system_create(&options, ret_system);
}

/* ---- what it is called for ---- */

Test(membership, is_started_published_watched_and_at_last_stopped)
{
	char text[STRANGER_TEXT_BYTES];
	struct gyre_system *system;

	cr_assert_eq(create("tcp://127.0.0.1:0", &system), 0);
	cr_expect_str_eq(engine.calls, "spw");
	cr_expect_eq(engine.published.id, 1);
	cr_expect_eq(engine.system, system);
	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", gyre_system_node_port(system));
	cr_expect_str_eq(engine.published_address, text, "the port that it found");
	gyre_system_destroy(system);
	cr_expect_str_eq(engine.calls, "spwx");
}

Test(membership, publishes_no_node_that_does_not_listen)
{
	struct gyre_system *system;

	cr_assert_eq(create(NULL, &system), 0);
	gyre_system_destroy(system);
	cr_expect_str_eq(engine.calls, "swx");
}

static void expect_failure(int error, const char *calls)
{
	struct gyre_system *system = NULL;

	cr_expect_eq(create("tcp://127.0.0.1:0", &system), error);
	cr_expect_null(system);
	cr_expect_str_eq(engine.calls, calls);
	memset(&engine, 0, sizeof(engine));
}

Test(membership, fails_the_node_by_each_of_its_calls_and_is_stopped_if_it_was_started)
{
	int before = descriptors_open();

	engine.start_result = -EIO;
	expect_failure(-EIO, "s");
	engine.publish_result = -EACCES;
	expect_failure(-EACCES, "spx");
	engine.watch_result = -ENOENT;
	expect_failure(-ENOENT, "spwx");
	cr_expect_eq(descriptors_open(), before);
}

Test(membership, of_an_older_program_leaves_no_copy_when_the_system_cannot_be_made)
{
	const struct gyre_node_options node = { .id = 1,
						.membership = &membership,
						.membership_arg = &engine };
	const struct gyre_system_options options = { .loops = 1, .node = &node };
	struct gyre_system *system = NULL;

	engine.start_result = -EIO;
	cr_expect_eq(gyre_system_create_sized(
			     &options,
			     (struct gyre_sizes){ sizeof(options), 0, sizeof(node),
						  offsetof(struct gyre_membership, stop) },
			     &system),
		     -EIO);
	cr_expect_str_eq(engine.calls, "s", "called by the copy");
}

/* ---- what it tells ---- */

Test(membership, refuses_to_be_told_of_what_is_no_other_node)
{
	static const struct gyre_node_peer bad[] = { { 0, "tcp://127.0.0.1:9" },
						     { 1, "tcp://127.0.0.1:9" },
						     { 2, "udp://127.0.0.1:9" } };
	struct gyre_system *system;

	cr_assert_eq(create(NULL, &system), 0);
	for (size_t i = 0; i < gy_countof(bad); i++) {
		cr_expect_eq(engine.tell(system, &bad[i]), -EINVAL, "%zu", i);
	}
	gyre_system_destroy(system);
}

static const struct gyre_address afar = { .slot = 5, .cookie = 6, .node = STRANGER_ID };

static void open_with_engine(void)
{
	struct gyre_node_options options = stranger_quick;

	options.membership = &membership;
	options.membership_arg = &engine;
	stranger_open(&options);
}

static int tell_number(uint64_t value)
{
	return gyre_system_notify(fixture.system, afar,
				  gyre_system_new(fixture.system, number, value));
}

static void *tell_from_a_thread(void *arg)
{
	const struct gyre_node_peer *peer = (const struct gyre_node_peer *)arg;

	return (void *)(intptr_t)engine.tell(fixture.system, peer);
}

Test(membership, makes_a_node_reachable_that_it_tells_of_on_a_thread_of_its_own)
{
	struct stranger stranger;
	char text[STRANGER_TEXT_BYTES];
	struct gyre_node_peer peer = { STRANGER_ID, text };
	pthread_t thread;
	void *result;

	open_with_engine();
	stranger_listen_unheard(&stranger, text);
	cr_assert_eq(pthread_create(&thread, NULL, tell_from_a_thread, &peer), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_null(result);
	memset(text, 'x', sizeof(text)); /* it was copied */
	cr_assert_eq(tell_number(1), 0);
	stranger_welcome(&stranger);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	stranger_close(&stranger);
	fixture_close();
}

static int ask_afar(void)
{
	struct gyre_mail *answer = NULL;
	int r = gyre_system_ask(fixture.system, afar, gyre_system_new(fixture.system, number, 1),
				GYRE_FOREVER, &answer);

	gyre_mail_destroy(NULL, answer);
	return r;
}

Test(membership, makes_a_node_unreachable_that_has_left_until_it_comes_again)
{
	const struct gyre_node_peer left = { STRANGER_ID, NULL };
	char text[STRANGER_TEXT_BYTES];
	const struct gyre_node_peer peer = { STRANGER_ID, text };
	struct stranger stranger;

	open_with_engine();
	stranger_listen_unheard(&stranger, text);
	cr_assert_eq(engine.tell(fixture.system, &peer), 0);
	cr_assert_eq(engine.tell(fixture.system, &left), 0);
	cr_expect_eq(ask_afar(), -EHOSTUNREACH);
	cr_assert_eq(engine.tell(fixture.system, &peer), 0);
	cr_assert_eq(tell_number(1), 0);
	stranger_welcome(&stranger);
	stranger_expect(&stranger, GY_WIRE_NOTICE);
	stranger_close(&stranger);
	fixture_close();
}
