/*
 * The second node, and how the two come to know each other.
 */
#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gyre/name.h>

#include "base/atomic.h"
#include "remote/patience.h"

enum { HANG_SECONDS = 120, ADDRESS_BYTES = 160 };

struct gyre_system *pair_other;

static const struct gyre_type *const types[] = { &gyre_type_number, &gyre_type_place,
						 &gyre_type_large, &gyre_type_order, NULL };
static struct gyre_counters other_counters;

uint32_t pair_heard;

static int hear(struct gyre_stack *stack)
{
	(void)gy_fetch_add(&pair_heard, 1);
	return gyre_return(stack);
}

const struct gyre_class pair_hearer_class = { .name = "hearer", .behaviour.notice = hear };

struct gyre_address pair_find(const char *name)
{
	struct gyre_address address = GYRE_NOBODY;

	expect(gyre_system_name_lookup(pair_other, name, &address) == 0);
	return address;
}

static int mount_named(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "adder") == 0);
	return gyre_return(stack);
}

static int mount_other(struct gyre_stack *stack)
{
	expect(gyre_name_register(stack, "other") == 0);
	return gyre_return(stack);
}

static struct gyre_class named_adder;
static struct gyre_class named_other;

/* Its loops take connections as soon as they run. */
static void await_name(const char *name)
{
	struct gyre_address address;

	while (gyre_system_name_lookup(pair_other, name, &address) < 0) {
		(void)sched_yield();
	}
}

static const char *or_loopback(const char *listen)
{
	return listen == NULL ? "tcp://127.0.0.1:0" : listen;
}

/* Where the first finds it. */
static void write_address(const struct pair *pair, char text[ADDRESS_BYTES])
{
	struct gyre_node_options resolved;

	cr_assert_eq(gyre_system_node_resolved_options(pair_other, &resolved), 0);
	(void)snprintf(text, ADDRESS_BYTES, "%s",
		       pair->locally ? resolved.listen_local : resolved.listen);
}

static void open_other(const struct pair *pair)
{
	struct gyre_node_options node = pair->second;
	struct gyre_system_options options = { .loops = pair->loops == 0 ? 1 : pair->loops,
					       .ask_timeout_ns = PATIENCE_ASK_NS,
					       .node = &node };
	struct gyre_address address;

	node.id = 2;
	node.listen = or_loopback(node.listen);
	node.types = node.types == NULL ? types : node.types;
	patience_of_node(&node);
	cr_assert_eq(gyre_system_create(&options, &pair_other), 0);
	named_adder = adder_class;
	named_adder.mount = mount_named;
	cr_assert_eq(gyre_system_spawn(pair_other, &named_adder, GYRE_NO_ARGUMENT, NULL, &address),
		     0);
	if (pair->class != NULL) {
		named_other = *pair->class;
		named_other.mount = mount_other;
		cr_assert_eq(gyre_system_spawn(pair_other, &named_other, GYRE_NO_ARGUMENT, NULL,
					       &address),
			     0);
	}
	cr_assert_eq(gyre_system_start(pair_other), 0);
	await_name("adder");
	if (pair->class != NULL) {
		await_name("other");
	}
}

static void close_other(void)
{
	uint64_t ends;

	gyre_system_stop(pair_other);
	cr_assert_eq(gyre_system_wait(pair_other), 0);
	cr_assert_eq(gyre_system_counters(pair_other, &other_counters), 0);
	ends = other_counters.handled + other_counters.to_nodes;
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		ends += other_counters.dropped[i];
	}
	cr_assert_eq(other_counters.sent, ends, "of the other, %lu were sent and %lu ended",
		     other_counters.sent, ends);
	gyre_system_destroy(pair_other);
}

void pair_play(const struct pair *pair)
{
	struct gyre_node_options node = pair->first;
	struct gyre_system_options options = { .loops = pair->loops == 0 ? 1 : pair->loops,
					       .loops_pinned = pair->loops_pinned,
					       .ask_timeout_ns = PATIENCE_ASK_NS,
					       .node = &node };
	struct gyre_class script = { .name = "script",
				     .frame_bytes = FIXTURE_FRAME_BYTES,
				     .mount = pair->script };
	int descriptors = descriptors_open();
	char to_other[ADDRESS_BYTES];

	(void)alarm(HANG_SECONDS);
	open_other(pair);
	write_address(pair, to_other);
	node.id = 1;
	node.listen = pair->dial_only ? NULL : or_loopback(node.listen);
	node.peers = (const struct gyre_node_peer[]){ { 2, to_other }, { 0, NULL } };
	node.types = node.types == NULL ? types : node.types;
	patience_of_node(&node);
	fixture_open_with(&options);
	fixture.descriptors = descriptors; /* those of both are gone when they are counted */
	(void)spawn_outside(&script, 0);
	fixture_run();
	close_other();
	fixture_close();
	cr_assert_eq(pair_orders, 0, "%u orders are left", pair_orders);
}

uint64_t pair_other_lost(enum gyre_drop reason)
{
	return other_counters.dropped[reason];
}

/* ---- orders ---- */

uint32_t pair_orders;

void pair_order_destroy(struct order *order)
{
	(void)gy_fetch_add(&pair_orders, -1U);
	free(order->customer);
	free(order->items);
}

static int encode_order(const void *payload, struct gyre_encoder *out)
{
	const struct order *order = (const struct order *)payload;

	gyre_encode_text(out, order->customer);
	gyre_encode_u32(out, order->count);
	for (uint32_t i = 0; i < order->count; i++) {
		gyre_encode_u32(out, order->items[i]);
	}
	return 0;
}

static int decode_items(struct order *order, struct gyre_decoder *in)
{
	order->count = gyre_decode_u32(in);
	if (order->count > in->left / sizeof(*order->items)) {
		return -EPROTO; /* so no more is allocated than has come */
	}
	order->items = (uint32_t *)calloc(order->count + 1, sizeof(*order->items));
	for (uint32_t i = 0; order->items != NULL && i < order->count; i++) {
		order->items[i] = gyre_decode_u32(in);
	}
	return order->items == NULL ? -ENOMEM : 0;
}

static int decode_order(void *payload, struct gyre_decoder *in)
{
	struct order *order = (struct order *)payload;
	size_t letters;
	const char *customer = gyre_decode_text(in, &letters);

	(void)gy_fetch_add(&pair_orders, 1);
	order->customer = customer == NULL ? NULL : strndup(customer, letters);
	return order->customer == NULL ? -EPROTO : decode_items(order, in);
}

const struct gyre_encoding pair_order_encoding = { .version = 1,
						   .encode = encode_order,
						   .decode = decode_order };

struct gyre_mail *pair_order(struct gyre_stack *stack, uint32_t letters, uint32_t count)
{
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_order);
	struct order *order = (struct order *)gyre_payload(mail);

	(void)gy_fetch_add(&pair_orders, 1);
	order->count = count;
	order->customer = (char *)calloc(letters + 1, 1);
	memset(order->customer, 'c', letters);
	order->items = (uint32_t *)calloc(count + 1, sizeof(*order->items));
	for (uint32_t i = 0; i < count; i++) {
		order->items[i] = i * 3;
	}
	return mail;
}

bool pair_order_is_whole(const struct order *order, uint32_t letters, uint32_t count)
{
	bool whole = strlen(order->customer) == letters && order->count == count;

	for (uint32_t i = 0; whole && i < count; i++) {
		whole = order->items[i] == i * 3;
	}
	return whole;
}

enum { LETTERS = 300, LARGE_ITEMS = 500000 };

static int take_order(struct gyre_stack *stack)
{
	const struct order *order = gyre_message(stack, order);

	expect(order != NULL && pair_order_is_whole(order, LETTERS, LARGE_ITEMS));
	return gyre_reply(stack, pair_order(stack, LETTERS, LARGE_ITEMS));
}

const struct gyre_class pair_shop_class = { .name = "shop", .behaviour.ask = take_order };

int pair_orders_much(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "other", 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->other = gyre_future_get(&frame->future, gyre_node_found)->address;
	GYRE_AWAIT(stack, gyre_ask(stack, frame->other, pair_order(stack, LETTERS, LARGE_ITEMS),
				   GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	expect(pair_order_is_whole(gyre_future_get(&frame->future, order), LETTERS, LARGE_ITEMS));
	return fixture_end(stack);
	GYRE_END(stack);
}
