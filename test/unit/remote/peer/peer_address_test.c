/*
 * The addresses of other nodes: who may tell of one, and who may take it away.
 */
#include <criterion/criterion.h>

#include "remote/bare.h"

static struct bare bare;

static struct gy_peer *tell(const char *address)
{
	const struct gyre_node_peer peer = { BARE_PEER, address };

	cr_assert_eq(gy_peer_add(bare.homes.nodes, &peer), 0);
	return gy_peer_find(bare.homes.nodes, BARE_PEER);
}

Test(peer_address, is_learnt_of_a_node_that_nobody_has_told_of)
{
	struct gy_peer *peer;

	bare_init(&bare, &(struct gyre_node_options){ 0 });
	peer = gy_peer_get(bare.homes.nodes, BARE_PEER);
	cr_assert_not_null(peer);
	gy_peer_learn_address(peer, "tcp://127.0.0.1:1");
	cr_expect_str_eq(peer->address, "tcp://127.0.0.1:1");
	gy_peer_learn_address(peer, "tcp://127.0.0.1:2");
	cr_expect_str_eq(peer->address, "tcp://127.0.0.1:2");
	(void)tell("tcp://127.0.0.1:3");
	gy_peer_learn_address(peer, "tcp://127.0.0.1:4");
	cr_expect_str_eq(peer->address, "tcp://127.0.0.1:3");
	bare_fini(&bare);
}

Test(peer_address, is_not_learnt_of_a_node_that_has_left_until_it_is_told_of_again)
{
	struct gy_peer *peer;

	bare_init(&bare, &(struct gyre_node_options){ 0 });
	(void)tell("tcp://127.0.0.1:1");
	peer = tell(NULL);
	gy_peer_learn_address(peer, "tcp://127.0.0.1:2");
	cr_expect_null(peer->address, "%s", peer->address);
	(void)tell("tcp://127.0.0.1:3");
	cr_expect_str_eq(peer->address, "tcp://127.0.0.1:3");
	bare_fini(&bare);
}
