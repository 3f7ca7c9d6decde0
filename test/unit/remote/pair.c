/*
 * The second node, and how the two come to know each other.
 */
#include "pair.h"

#include <stdio.h>

#include <gyre/name.h>

struct gyre_system *pair_other;

static const struct gyre_type *const types[] = { &gyre_type_number, &gyre_type_place,
						 &gyre_type_large, NULL };

static int mount_named(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "adder") == 0);
	return gyre_return(stack);
}

static struct gyre_class named_adder;

static void open_other(const struct pair *pair)
{
	struct gyre_node_options node = pair->second;
	struct gyre_system_options options = { .loops = 1, .node = &node };
	struct gyre_address address;

	node.id = 2;
	node.listen = "tcp://127.0.0.1:0";
	node.types = node.types == NULL ? types : node.types;
	cr_assert_eq(gyre_system_create(&options, &pair_other), 0);
	named_adder = adder_class;
	named_adder.mount = mount_named;
	cr_assert_eq(gyre_system_spawn(pair_other, &named_adder, NULL, NULL, &address), 0);
	cr_assert_eq(gyre_system_start(pair_other), 0);
}

static void close_other(void)
{
	gyre_system_stop(pair_other);
	cr_assert_eq(gyre_system_wait(pair_other), 0);
	gyre_system_destroy(pair_other);
}

void pair_play(const struct pair *pair)
{
	struct gyre_node_options node = pair->first;
	struct gyre_system_options options = { .loops = pair->loops == 0 ? 1 : pair->loops,
					       .node = &node };
	struct gyre_class script = { .name = "script",
				     .frame_bytes = FIXTURE_FRAME_BYTES,
				     .mount = pair->script };
	int descriptors = descriptors_open();
	char to_other[64];

	open_other(pair);
	(void)snprintf(to_other, sizeof(to_other), "tcp://127.0.0.1:%u",
		       gyre_node_port(pair_other));
	node.id = 1;
	node.listen = "tcp://127.0.0.1:0";
	node.peers = (const struct gyre_node_peer[]){ { 2, to_other }, { 0, NULL } };
	node.types = node.types == NULL ? types : node.types;
	fixture_open_with(&options);
	(void)spawn_outside(&script, 0);
	fixture_run();
	fixture_close();
	close_other();
	cr_assert_eq(descriptors_open(), descriptors);
}
