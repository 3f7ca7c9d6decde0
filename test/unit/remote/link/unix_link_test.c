/*
 * Links over Unix sockets: that all goes over them as over TCP, how two nodes learn of each other
 * there, and what becomes of the files.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/outside.h>
#include <gyre/tls.h>

#include "base/atomic.h"
#include "channel/tls/tls_certs.h"
#include "remote/pair.h"
#include "remote/unix_rig.h"

/* ---- what goes over them ---- */

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
	expect(gyre_system_node_port(pair_other) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Gives both an address in the folder, as far as they have none. */
static void play_there(const struct pair *pair)
{
	const struct unix_place first = unix_place("first");
	const struct unix_place second = unix_place("second");
	struct pair both = *pair;

	both.first.listen = both.first.listen == NULL ? first.text : both.first.listen;
	both.second.listen = both.second.listen == NULL ? second.text : both.second.listen;
	pair_play(&both);
}

/* The second is told of nobody: it answers where the first has said that it listens. */
Test(unix_link, is_asked_over_and_tells_the_other_node_where_to_answer, .init = unix_open,
     .fini = unix_close)
{
	play_there(&(struct pair){ .script = asks_the_other });
}

Test(unix_link, goes_to_all_loops_of_a_node, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){ .script = asks_the_other, .loops = 3 });
}

Test(unix_link, may_have_an_abstract_name, .init = unix_open, .fini = unix_close)
{
	char first[UNIX_TEXT_BYTES];
	char second[UNIX_TEXT_BYTES];

	(void)snprintf(first, sizeof(first), "unix:@gyre-first-%d", (int)getpid());
	(void)snprintf(second, sizeof(second), "unix:@gyre-second-%d", (int)getpid());
	play_there(&(struct pair){
		.script = asks_the_other, .first.listen = first, .second.listen = second });
}

static int asks_what_cannot_answer(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	return fixture_end(stack);
	GYRE_END(stack);
}

/* Nobody's user would be checked there. */
Test(unix_link, is_not_answered_over_tcp, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){ .script = asks_what_cannot_answer,
				   .first.listen = "tcp://127.0.0.1:0" });
}

Test(unix_link, does_not_answer_what_was_asked_over_tcp, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){ .script = asks_what_cannot_answer,
				   .second.listen = "tcp://127.0.0.1:0" });
}

static int asks_over_both(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_system_node_port(pair_other) != 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(unix_link, stands_beside_links_over_tcp_of_a_node_that_listens_on_both, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place first = unix_place("first");
	const struct unix_place second = unix_place("second");
	struct pair pair = { .script = asks_over_both,
			     .first.listen_local = first.text,
			     .first.listen = "tcp://127.0.0.1:0",
			     .second.listen_local = second.text,
			     .second.listen = "tcp://127.0.0.1:0" };

	play_there(&pair);
	pair.locally = true;
	play_there(&pair);
}

Test(unix_link, carries_large_messages_both_ways, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){ .script = pair_orders_much, .class = &pair_shop_class });
}

/* ---- secrets and certificates ---- */

static const char secret[] = "known to both, and long enough";

Test(unix_link, is_encrypted_with_a_secret, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){
		.script = asks_the_other, .first.secret = secret, .second.secret = secret });
}

/* The address that is told is part of what is proved. */
Test(unix_link, proves_a_secret_without_encryption, .init = unix_open, .fini = unix_close)
{
	play_there(&(struct pair){ .script = asks_the_other,
				   .first.secret = secret,
				   .first.no_encryption = true,
				   .second.secret = secret,
				   .second.no_encryption = true });
}

Test(unix_link, takes_certificates, .init = unix_open, .fini = unix_close)
{
	struct tls_certs certs;
	struct pair pair = { .script = asks_the_other };
	struct gyre_tls_context *shared;

	tls_certs_open(&certs);
	const struct gyre_tls_context_options options = { .certificate = certs.server.certificate,
							  .key = certs.server.key,
							  .ca = certs.ca.certificate };
	cr_assert_eq(gyre_tls_context_create(NULL, &options, &shared), 0);
	pair.first.tls = shared;
	pair.second.tls = shared;
	play_there(&pair);
	gyre_tls_context_unref(shared);
	tls_certs_close(&certs);
}

/* ---- addresses that are told ---- */

static void open_there(const struct unix_place *place)
{
	struct gyre_node_options options = stranger_quick;

	options.listen = place->text;
	stranger_open(&options);
}

static int tell_number(uint64_t value)
{
	const struct gyre_address afar = { .slot = 5, .cookie = 6, .node = STRANGER_ID };

	return gyre_system_notify(fixture.system, afar,
				  gyre_system_new(fixture.system, number, value));
}

static void meet(struct stranger *stranger, const struct unix_place *node, const char *address)
{
	struct gy_hello hello = stranger_hello();

	(void)snprintf(hello.address, sizeof(hello.address), "%s", address);
	unix_dial(stranger, node);
	stranger_say_hello(stranger, &hello);
	stranger_expect(stranger, GY_WIRE_HELLO);
	cr_expect_eq(stranger->theirs.port, 0);
	cr_expect_str_eq(stranger->theirs.address, node->text, "it tells where it listens");
}

Test(unix_link, is_dialled_back_where_the_peer_has_said, .init = unix_open, .fini = unix_close)
{
	const struct unix_place node = unix_place("node");
	const struct unix_place peer = unix_place("peer");
	struct stranger dialler;
	struct stranger listener;

	open_there(&node);
	unix_listen_as(&listener, &peer);
	meet(&dialler, &node, peer.text);
	stranger_await_known();
	cr_assert_eq(tell_number(1), 0);
	stranger_welcome(&listener);
	stranger_expect(&listener, GY_WIRE_NOTICE);
	stranger_close(&dialler);
	stranger_close(&listener);
	fixture_close();
	cr_expect_eq(unlink(peer.path), 0);
}

/* As if the peer had said nothing: mail for it is a dead letter at once, and waits for no dial. */
Test(unix_link, takes_no_address_that_cannot_be_one, .init = unix_open, .fini = unix_close)
{
	static const char *const addresses[] = { "unix:relative", "udp://127.0.0.1:9",
						 "tcp://a.name:9", "tcp://127.0.0.1:9",
						 "nonsense" };
	const struct unix_place node = unix_place("node");
	struct stranger stranger;

	for (size_t i = 0; i < gy_countof(addresses); i++) {
		open_there(&node);
		meet(&stranger, &node, addresses[i]);
		stranger_await_known();
		cr_assert_eq(tell_number(1), 0);
		while (gy_load_relaxed(&fixture.lost[GYRE_DROP_NODE_DOWN]) == 0) {
			(void)sched_yield();
		}
		stranger_close(&stranger);
		fixture_close();
	}
}

/* The file goes and comes: that is a partition. */
Test(unix_link, is_dialled_again_when_the_file_is_there_again, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place node = unix_place("node");
	const struct unix_place peer = unix_place("peer");
	const struct gyre_node_peer known = { STRANGER_ID, peer.text };
	struct stranger stranger;

	open_there(&node);
	unix_listen_as(&stranger, &peer);
	cr_assert_eq(gyre_system_node_add_peer(fixture.system, &known), 0);
	cr_assert_eq(tell_number(1), 0);
	for (int i = 0; i < 3; i++) {
		stranger_welcome(&stranger);
		if (i > 0) { /* not before: it could leave by the link that is about to break */
			cr_assert_eq(tell_number(1), 0);
		}
		stranger_expect(&stranger, GY_WIRE_NOTICE);
		cr_assert_eq(unlink(peer.path), 0);
		stranger_close(&stranger);
		unix_listen_as(&stranger, &peer);
	}
	stranger_close(&stranger);
	fixture_close();
	cr_expect_eq(unlink(peer.path), 0);
}

/* ---- files ---- */

static int create(const struct unix_place *place, uint64_t wait_ns, struct gyre_system **ret_system)
{
	const struct gyre_node_options node = { .id = 1,
						.listen = place->text,
						.listen_wait_ns = wait_ns };
	const struct gyre_system_options options = { .loops = 1, .node = &node };

	return gyre_system_create(&options, ret_system);
}

Test(unix_link, has_a_file_for_the_own_user_alone_that_goes_with_the_node, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place place = unix_place("node");
	struct gyre_system *system;
	struct stat status;

	cr_assert_eq(create(&place, 0, &system), 0);
	cr_assert_eq(stat(place.path, &status), 0);
	cr_expect(S_ISSOCK(status.st_mode));
	cr_expect_eq(status.st_mode & 0777, 0600, "%o", status.st_mode);
	gyre_system_destroy(system);
	cr_expect_not(unix_exists(&place));
}

Test(unix_link, replaces_a_file_that_nobody_listens_on_any_more, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place place = unix_place("node");
	struct gyre_system *system;
	int fd = unix_listen(&place);

	cr_assert_geq(fd, 0);
	cr_assert_eq(close(fd), 0);
	cr_assert(unix_exists(&place), "as a process leaves it that is killed");
	cr_assert_eq(create(&place, GYRE_MILLISECONDS(1), &system), 0);
	fd = unix_connect(&place);
	cr_expect_geq(fd, 0);
	(void)close(fd);
	gyre_system_destroy(system);
}

Test(unix_link, is_refused_a_path_where_another_process_listens, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place place = unix_place("node");
	struct gyre_system *system;
	struct gyre_system *other = NULL;

	cr_assert_eq(create(&place, 0, &system), 0);
	cr_expect_eq(create(&place, GYRE_MILLISECONDS(1), &other), -EADDRINUSE);
	cr_expect_null(other);
	cr_expect(unix_exists(&place), "it is the first one's");
	gyre_system_destroy(system);
}

/* Ends when somebody asks whether it listens. */
static void *listen_until_asked(void *arg)
{
	int listener = *(const int *)arg;
	int fd = accept(listener, NULL, NULL);

	(void)close(fd);
	(void)close(listener);
	return NULL;
}

Test(unix_link, waits_for_a_path_until_who_listens_there_has_ended, .init = unix_open,
     .fini = unix_close)
{
	const struct unix_place place = unix_place("node");
	int listener = unix_listen(&place);
	struct gyre_system *system;
	pthread_t thread;

	cr_assert_geq(listener, 0);
	cr_assert_eq(pthread_create(&thread, NULL, listen_until_asked, &listener), 0);
	cr_expect_eq(create(&place, GYRE_SECONDS(60), &system), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	gyre_system_destroy(system);
}

Test(unix_link, leaves_the_file_that_a_successor_has_made, .init = unix_open, .fini = unix_close)
{
	const struct unix_place place = unix_place("node");
	struct gyre_system *system;
	struct gyre_system *successor;

	cr_assert_eq(create(&place, 0, &system), 0);
	cr_assert_eq(unlink(place.path), 0);
	cr_assert_eq(create(&place, 0, &successor), 0);
	gyre_system_destroy(system);
	cr_expect(unix_exists(&place));
	gyre_system_destroy(successor);
	cr_expect_not(unix_exists(&place));
}
