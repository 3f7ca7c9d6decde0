/*
 * What a node may be told: each bound of its options, from both sides, and what is said of a bad
 * one.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/message.h>
#include <gyre/system.h>

#include "base/macros.h"
#include "remote/secret.h"
#include "system/system.h"

enum { LINE_BYTES = 512 };

struct number {
	uint64_t value;
};
GYRE_MESSAGE(number, 0x1001);

static char last_line[LINE_BYTES];
static uint32_t errors;

static void logged(const struct gyre_log_line *line, void *arg)
{
	(void)arg;
	if (line->level >= GYRE_LOG_ERROR) {
		errors++;
		(void)snprintf(last_line, sizeof(last_line), "%s", line->text);
	}
}

static int create(const struct gyre_node_options *node, struct gyre_system **ret_system)
{
	const struct gyre_system_options options = { .loops = 1, .node = node, .log = logged };

	return gyre_system_create(&options, ret_system);
}

/* One line, which names what was wrong. */
static void expect_refused(const struct gyre_node_options *node, int error, const char *names)
{
	struct gyre_system *system = NULL;

	errors = 0;
	last_line[0] = '\0';
	cr_expect_eq(create(node, &system), error, "%s", names);
	cr_expect_null(system, "%s", names);
	cr_expect_eq(errors, 1, "%s: %u lines", names, errors);
	cr_expect_not_null(strstr(last_line, names), "\"%s\" is not in: %s", names, last_line);
}

static void expect_taken(const struct gyre_node_options *node, const char *names)
{
	struct gyre_system *system = NULL;

	errors = 0;
	cr_expect_eq(create(node, &system), 0, "%s: %s", names, last_line);
	gyre_system_destroy(system);
	cr_expect_eq(errors, 0, "%s: %s", names, last_line);
}

struct edge {
	const char *names;
	struct gyre_node_options node;
};

static void expect_edges(const struct edge *edges, size_t count, bool taken)
{
	for (size_t i = 0; i < count; i++) {
		struct gyre_node_options node = edges[i].node;

		node.id = 1;
		if (taken) {
			expect_taken(&node, edges[i].names);
		} else {
			expect_refused(&node, -EINVAL, edges[i].names);
		}
	}
}

static const uint32_t users[GYRE_NODE_USERS_MAX + 1];
static const uint32_t no_users[] = { 1000, UINT32_MAX };

Test(node_options, may_be_as_low_as_is_said)
{
	static const struct edge edges[] = {
		{ "link_bytes_max", { .link_bytes_max = 1 << 16 } },
		{ "message_bytes_max", { .message_bytes_max = 64 } },
		{ "listen_wait_ns", { .listen_wait_ns = GYRE_MILLISECONDS(1) } },
		{ "greetings_max", { .greetings_max = 1 } },
		{ "greeting_ns", { .greeting_ns = GYRE_MILLISECONDS(10) } },
		{ "heartbeat_ns", { .heartbeat_ns = GYRE_MILLISECONDS(10) } },
		{ "suspect_ns", { .suspect_ns = GYRE_SECONDS(1) + 1 } },
		{ "down_ns", { .down_ns = GYRE_SECONDS(3) + 1 } },
		{ "idle_ns", { .idle_ns = GYRE_SECONDS(1) } },
		{ "redial_min_ns", { .redial_min_ns = GYRE_MILLISECONDS(1) } },
		{ "redial_max_ns", { .redial_max_ns = GYRE_MILLISECONDS(100) } },
		{ "away_ns", { .away_ns = GYRE_MILLISECONDS(1) } },
		{ "cluster", { .cluster = "c" } },
		{ "secret", { .secret = "sixteen bytes..." } },
		{ "listen_mode", { .listen_mode = 1 } },
		{ "users", { .users = users, .users_count = 1 } },
		{ "watches_max", { .watches_max = 1 } },
	};

	expect_edges(edges, gy_countof(edges), true);
}

Test(node_options, are_refused_and_named_below_that)
{
	static const struct edge edges[] = {
		{ "link_bytes_max", { .link_bytes_max = (1 << 16) - 1 } },
		{ "message_bytes_max", { .message_bytes_max = 63 } },
		{ "listen_wait_ns", { .listen_wait_ns = GYRE_MILLISECONDS(1) - 1 } },
		{ "greeting_ns", { .greeting_ns = GYRE_MILLISECONDS(10) - 1 } },
		{ "heartbeat_ns", { .heartbeat_ns = GYRE_MILLISECONDS(10) - 1 } },
		{ "suspect_ns", { .suspect_ns = GYRE_SECONDS(1) } },
		{ "suspect_ns", { .heartbeat_ns = GYRE_SECONDS(3) } },
		{ "down_ns", { .down_ns = GYRE_SECONDS(3) } },
		{ "down_ns", { .suspect_ns = GYRE_SECONDS(10) } },
		{ "idle_ns", { .idle_ns = GYRE_SECONDS(1) - 1 } },
		{ "redial_min_ns", { .redial_min_ns = GYRE_MILLISECONDS(1) - 1 } },
		{ "redial_max_ns", { .redial_max_ns = GYRE_MILLISECONDS(100) - 1 } },
		{ "redial_max_ns", { .redial_min_ns = GYRE_SECONDS(11) } },
		{ "away_ns", { .away_ns = GYRE_MILLISECONDS(1) - 1 } },
		{ "cluster", { .cluster = "" } },
		{ "secret", { .secret = "" } },
		{ "openssl rand -hex 32", { .secret = "fifteen bytes.." } },
		{ "secret_before", { .secret = "sixteen bytes...", .secret_before = "short" } },
		{ "secret_before", { .secret_before = "sixteen bytes..." } },
		{ "users", { .users_count = 1 } },
		{ "users", { .users = no_users, .users_count = 2 } },
	};

	expect_edges(edges, gy_countof(edges), false);
}

static const char *text_of(size_t bytes)
{
	static char text[GY_SECRET_BYTES_MAX + 2];

	memset(text, 'x', bytes);
	text[bytes] = '\0';
	return text;
}

Test(node_options, may_be_as_high_as_is_said)
{
	const struct edge edges[] = {
		{ "link_bytes_max", { .link_bytes_max = 1 << 30 } },
		{ "message_bytes_max", { .message_bytes_max = 1 << 24 } },
		{ "listen_wait_ns", { .listen_wait_ns = GYRE_SECONDS(60) } },
		{ "greetings_max", { .greetings_max = 1 << 16 } },
		{ "watches_max", { .watches_max = 1 << 24 } },
		{ "greeting_ns", { .greeting_ns = GYRE_SECONDS(60) } },
		{ "heartbeat_ns",
		  { .heartbeat_ns = GYRE_SECONDS(60),
		    .suspect_ns = GYRE_SECONDS(61),
		    .down_ns = GYRE_SECONDS(62) } },
		{ "suspect_ns",
		  { .suspect_ns = GYRE_SECONDS(3600) - 1, .down_ns = GYRE_SECONDS(3600) } },
		{ "idle_ns", { .idle_ns = GYRE_SECONDS(3600) } },
		{ "redial_ns",
		  { .redial_min_ns = GYRE_SECONDS(60), .redial_max_ns = GYRE_SECONDS(3600) } },
		{ "away_ns", { .away_ns = GYRE_SECONDS(3600) } },
		{ "listen_mode", { .listen_mode = 0777 } },
		{ "users", { .users = users, .users_count = GYRE_NODE_USERS_MAX } },
	};

	expect_edges(edges, gy_countof(edges), true);
	expect_taken(&(struct gyre_node_options){ .id = UINT16_MAX,
						  .cluster = text_of(GYRE_NODE_NAME_BYTES_MAX) },
		     "cluster");
	expect_taken(&(struct gyre_node_options){ .id = 1, .secret = text_of(GY_SECRET_BYTES_MAX) },
		     "secret");
}

Test(node_options, are_refused_and_named_above_that)
{
	const struct edge edges[] = {
		{ "link_bytes_max", { .link_bytes_max = (1 << 30) + 1 } },
		{ "message_bytes_max", { .message_bytes_max = (1 << 24) + 1 } },
		{ "listen_wait_ns", { .listen_wait_ns = GYRE_SECONDS(60) + 1 } },
		{ "greetings_max", { .greetings_max = (1 << 16) + 1 } },
		{ "watches_max", { .watches_max = (1 << 24) + 1 } },
		{ "greeting_ns", { .greeting_ns = GYRE_SECONDS(60) + 1 } },
		{ "heartbeat_ns", { .heartbeat_ns = GYRE_SECONDS(60) + 1 } },
		{ "suspect_ns", { .suspect_ns = GYRE_SECONDS(3600) + 1 } },
		{ "down_ns", { .down_ns = GYRE_SECONDS(3600) + 1 } },
		{ "idle_ns", { .idle_ns = GYRE_SECONDS(3600) + 1 } },
		{ "redial_min_ns",
		  { .redial_min_ns = GYRE_SECONDS(60) + 1, .redial_max_ns = GYRE_SECONDS(70) } },
		{ "redial_max_ns", { .redial_max_ns = GYRE_SECONDS(3600) + 1 } },
		{ "away_ns", { .away_ns = GYRE_SECONDS(3600) + 1 } },
		{ "listen_mode", { .listen_mode = 0777 + 1 } },
		{ "users_count", { .users = users, .users_count = GYRE_NODE_USERS_MAX + 1 } },
	};

	expect_edges(edges, gy_countof(edges), false);
	expect_refused(
		&(struct gyre_node_options){ .id = 1,
					     .cluster = text_of(GYRE_NODE_NAME_BYTES_MAX + 1) },
		-EINVAL, "cluster");
	expect_refused(
		&(struct gyre_node_options){ .id = 1, .secret = text_of(GY_SECRET_BYTES_MAX + 1) },
		-EINVAL, "secret");
}

Test(node_options, need_an_id)
{
	expect_refused(&(struct gyre_node_options){ 0 }, -EINVAL, "id of the node is 0");
}

Test(node_options, need_types_that_can_travel_each_with_its_own_id)
{
	static const struct gyre_type twin = { .name = "twin", .id = 0x1001 };
	static const struct gyre_type low = { .name = "low", .id = 0xff };
	static const struct gyre_type *const twins[] = { &gyre_type_number, &twin, NULL };
	static const struct gyre_type *const of_gyre[] = { &low, NULL };

	expect_refused(&(struct gyre_node_options){ .id = 1, .types = twins }, -EINVAL, "twin");
	expect_refused(&(struct gyre_node_options){ .id = 1, .types = of_gyre }, -EINVAL, "low");
}

Test(node_options, need_peers_with_an_address_and_another_id)
{
	static const struct {
		struct gyre_node_peer peer;
		const char *says;
	} all[] = {
		{ { 1, "tcp://127.0.0.1:9000" }, "peer 1=tcp://127.0.0.1:9000 is node 1 itself" },
		{ { 1, NULL }, "peer 1= is node 1 itself" },
		{ { 3, NULL }, "peer 3 of node 1 has no address: an address looks like" },
		{ { 2, "foo" }, "peer 2 of node 1 has \"foo\", which is no address of a node: an" },
		{ { 2, "udp://127.0.0.1:9000" }, "has \"udp://127.0.0.1:9000\", which is no" },
		{ { 2, "127.0.0.1:9000" }, "has \"127.0.0.1:9000\", which is no" },
		{ { 2, "unix:" }, "has \"unix:\", which is no" },
		{ { 2, "unix:relative" }, "has \"unix:relative\", which is no" },
		{ { 2, "unix+dgram:/tmp/gyre-node" }, "has \"unix+dgram:/tmp/gyre-node\", which" },
	};

	for (size_t i = 0; i < gy_countof(all); i++) {
		const struct gyre_node_peer good = { 4, "tcp://127.0.0.1:9000" };
		const struct gyre_node_peer list[] = { good, all[i].peer, { 0, NULL } };

		expect_refused(&(struct gyre_node_options){ .id = 1, .peers = list }, -EINVAL,
			       all[i].says);
	}
}

/* "unix:" and a path of so many bytes. */
static const char *path_of(size_t bytes)
{
	static char text[160];

	memset(text, 'x', sizeof(text));
	memcpy(text, "unix:/tmp/", strlen("unix:/tmp/"));
	text[strlen("unix:") + bytes] = '\0';
	return text;
}

Test(node_options, refuse_paths_that_are_too_long_for_a_socket_and_say_so)
{
	const struct gyre_node_peer long_ones[] = { { 2, path_of(108) }, { 0, NULL } };
	const struct gyre_node_peer peer = { 2, path_of(108) };
	struct gyre_node_options node = { .id = 1, .listen = path_of(108) };
	struct gyre_system *system = NULL;

	expect_refused(&node, -ENAMETOOLONG, "at most 107 bytes");
	expect_refused(&(struct gyre_node_options){ .id = 1, .listen_local = path_of(108) },
		       -ENAMETOOLONG, "at most 107 bytes");
	expect_refused(&(struct gyre_node_options){ .id = 1, .peers = long_ones }, -ENAMETOOLONG,
		       "at most 107 bytes");
	cr_assert_eq(create(&(struct gyre_node_options){ .id = 1 }, &system), 0);
	cr_expect_eq(gyre_system_node_add_peer(system, &peer), -ENAMETOOLONG);
	gyre_system_destroy(system);
	node.listen = path_of(107);
	expect_taken(&node, "one byte less");
}

Test(node_options, refuse_paths_that_do_not_begin_at_the_root)
{
	expect_refused(&(struct gyre_node_options){ .id = 1, .listen = "unix:relative" }, -EINVAL,
		       "listen of the node is \"unix:relative\"");
	expect_refused(&(struct gyre_node_options){ .id = 1, .listen_local = "unix:relative" },
		       -EINVAL, "listen_local of the node is \"unix:relative\"");
	expect_refused(&(struct gyre_node_options){ .id = 1, .listen_local = "tcp://127.0.0.1:0" },
		       -EINVAL, "it must be a Unix socket");
}

Test(node_options, let_a_node_listen_on_a_unix_socket_without_a_secret)
{
	struct gyre_node_options node = { .id = 1, .listen = "unix:/tmp/gyre-options-node" };

	expect_taken(&node, "a path");
	node.listen = "unix:@gyre-options-node";
	expect_taken(&node, "an abstract name");
	node.listen_local = node.listen;
	node.listen = "tcp://0.0.0.0:0";
	expect_refused(&node, -EPERM, "without a secret");
}

Test(node_options, let_nobody_listen_in_public_without_a_secret_unless_it_is_meant)
{
	struct gyre_node_options node = { .id = 1, .listen = "tcp://0.0.0.0:0" };

	expect_refused(&node, -EPERM, "without a secret");
	node.listen = "tcp://[::]:0";
	expect_refused(&node, -EPERM, "without a secret");
	node.secret = "known to few, and long";
	expect_taken(&node, "a secret");
	node.secret = NULL;
	node.allow_public = true;
	expect_taken(&node, "allow_public");
	node.allow_public = false;
	node.listen = "tcp://127.7.7.7:0";
	expect_taken(&node, "the loopback address");
}

/* ---- read back ---- */

Test(node_options, say_what_each_zero_stood_for_but_no_secret)
{
	struct gyre_node_options node = { .id = 7, .secret = "known to few, and long" };
	struct gyre_node_options resolved;
	struct gyre_system *system = NULL;

	cr_assert_eq(create(&node, &system), 0);
	memset(&resolved, 0xa5, sizeof(resolved));
	cr_assert_eq(gyre_system_node_resolved_options(system, &resolved), 0);
	cr_expect_eq(resolved.id, 7);
	cr_expect_str_eq(resolved.cluster, "gyre");
	cr_expect_null(resolved.listen);
	cr_expect_null(resolved.peers);
	cr_expect_null(resolved.types);
	cr_expect_null(resolved.secret);
	cr_expect_null(resolved.secret_before);
	cr_expect_eq(resolved.listen_wait_ns, GYRE_SECONDS(5));
	cr_expect_eq(resolved.link_bytes_max, 1 << 22);
	cr_expect_eq(resolved.message_bytes_max, 1 << 24);
	cr_expect_eq(resolved.greetings_max, 1024);
	cr_expect_eq(resolved.greeting_ns, GYRE_SECONDS(5));
	cr_expect_eq(resolved.heartbeat_ns, GYRE_SECONDS(1));
	cr_expect_eq(resolved.suspect_ns, GYRE_SECONDS(3));
	cr_expect_eq(resolved.down_ns, GYRE_SECONDS(10));
	cr_expect_eq(resolved.idle_ns, GYRE_SECONDS(300));
	cr_expect_eq(resolved.redial_min_ns, GYRE_MILLISECONDS(100));
	cr_expect_eq(resolved.redial_max_ns, GYRE_SECONDS(10));
	cr_expect_eq(resolved.away_ns, GYRE_SECONDS(5));
	cr_expect_null(resolved.listen_local);
	cr_expect_null(resolved.users);
	cr_expect_eq(resolved.users_count, 0);
	cr_expect_eq(resolved.listen_mode, 0600);
	cr_expect_eq(resolved.watches_max, 1 << 20);
	gyre_system_destroy(system);
}

Test(node_options, have_users_and_a_local_address_of_their_own)
{
	char local[] = "unix:@gyre-options-local";
	uint32_t allowed[] = { 7, 8 };
	struct gyre_node_options node = {
		.id = 7, .listen_local = local, .users = allowed, .users_count = 2
	};
	struct gyre_node_options resolved;
	struct gyre_system *system = NULL;

	cr_assert_eq(create(&node, &system), 0);
	memset(local, 'x', sizeof(local));
	memset(allowed, 0, sizeof(allowed));
	cr_assert_eq(gyre_system_node_resolved_options(system, &resolved), 0);
	cr_expect_null(resolved.listen);
	cr_expect_str_eq(resolved.listen_local, "unix:@gyre-options-local");
	cr_expect_eq(resolved.users_count, 2);
	cr_expect_eq(resolved.users[0], 7);
	cr_expect_eq(resolved.users[1], 8);
	cr_expect_eq(resolved.listen_mode, 0666, "whoever may not is refused later");
	cr_expect_eq(gyre_system_node_port(system), 0);
	gyre_system_destroy(system);
}

Test(node_options, have_texts_of_their_own_and_the_port_that_was_found)
{
	char cluster[] = "harbour";
	char listen[] = "tcp://127.0.0.1:0";
	struct gyre_node_options node = { .id = 7, .cluster = cluster, .listen = listen };
	struct gyre_node_options resolved;
	struct gyre_system *system = NULL;
	char expected[64];

	cr_assert_eq(create(&node, &system), 0);
	memset(cluster, 'x', sizeof(cluster));
	memset(listen, 'x', sizeof(listen));
	cr_assert_eq(gyre_system_node_resolved_options(system, &resolved), 0);
	(void)snprintf(expected, sizeof(expected), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(system));
	cr_expect_str_eq(resolved.cluster, "harbour");
	cr_expect_str_eq(resolved.listen, expected);
	gyre_system_destroy(system);
}

Test(node_options, keep_the_name_of_a_host_that_is_listened_on)
{
	struct gyre_node_options node = { .id = 7, .listen = "tcp://localhost:0" };
	struct gyre_node_options resolved;
	struct gyre_system *system = NULL;
	char listen[64];

	cr_assert_eq(create(&node, &system), 0);
	(void)snprintf(listen, sizeof(listen), "tcp://localhost:%u", gyre_system_node_port(system));
	gyre_system_destroy(system);
	node.listen = listen;
	cr_assert_eq(create(&node, &system), 0);
	cr_assert_eq(gyre_system_node_resolved_options(system, &resolved), 0);
	cr_expect_str_eq(resolved.listen, listen);
	gyre_system_destroy(system);
}

/* ---- calls about other nodes ---- */

Test(node_options, are_asked_for_by_systems_that_have_some_alone)
{
	const struct gyre_node_peer peer = { 2, "tcp://127.0.0.1:9000" };
	struct gyre_node_options resolved = { .id = 77 };
	struct gyre_node_status status;
	struct gyre_system *system = NULL;

	cr_assert_eq(create(NULL, &system), 0);
	cr_expect_eq(gyre_system_node_id(system), 0);
	cr_expect_eq(gyre_system_node_port(system), 0);
	cr_expect_eq(gyre_system_node_id(NULL), 0);
	cr_expect_eq(gyre_system_node_port(NULL), 0);
	cr_expect_eq(gyre_system_node_add_peer(system, &peer), -EINVAL);
	cr_expect_eq(gyre_system_node_status(system, 2, &status), -EINVAL);
	cr_expect_eq(gyre_system_node_resolved_options(system, &resolved), -EINVAL);
	cr_expect_eq(gyre_system_node_resolved_options(NULL, &resolved), -EINVAL);
	cr_expect_eq(resolved.id, 77);
	gyre_system_destroy(system);
}

Test(node_options, may_be_followed_by_peers_that_are_told_later)
{
	static const struct gyre_node_peer bad[] = {
		{ 0, "tcp://127.0.0.1:1" }, { 7, "tcp://127.0.0.1:1" }, { 8, NULL }, { 8, "here" }
	};
	const struct gyre_node_options node = { .id = 7 };
	struct gyre_node_status status = { .sent = 77 };
	struct gyre_system *system = NULL;

	cr_assert_eq(create(&node, &system), 0);
	for (size_t i = 0; i < gy_countof(bad); i++) {
		cr_expect_eq(gyre_system_node_add_peer(system, &bad[i]), -EINVAL, "%zu", i);
	}
	cr_expect_eq(gyre_system_node_add_peer(system, NULL), -EINVAL);
	cr_expect_eq(gyre_system_node_add_peer(NULL, &bad[0]), -EINVAL);
	cr_expect_eq(gyre_system_node_status(system, 8, &status), -ENOENT);
	cr_expect_eq(status.sent, 77);
	cr_expect_eq(gyre_system_node_add_peer(system,
					       &(struct gyre_node_peer){ 8, "tcp://127.0.0.1:1" }),
		     0);
	cr_expect_eq(gyre_system_node_status(system, 8, NULL), -EINVAL);
	cr_expect_eq(gyre_system_node_status(system, 8, &status), 0);
	cr_expect_eq(status.state, GYRE_NODE_UNKNOWN);
	cr_expect_eq(status.sent, 0);
	gyre_system_destroy(system);
}
