/* Who sent a datagram, or whom it is for: what becomes of it when buffers change. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "../channel/rig.h"

static struct rig rig;

static void begin(void)
{
	rig_init(&rig, NULL);
}

static void end(void)
{
	rig_fini(&rig);
}

TestSuite(address_table, .timeout = 60, .init = begin, .fini = end);

static struct gyre_socket_address address_of(uint16_t port)
{
	const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct gyre_socket_address address = { .bytes = sizeof(four), .type = SOCK_DGRAM };

	memcpy(&address.storage, &four, sizeof(four));
	return address;
}

static struct gyre_buffer *buffer_for(uint16_t port, size_t bytes)
{
	static const unsigned char zeroes[20000];
	const struct gyre_socket_address address = address_of(port);
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_set_peer(buffer, &address), 0);
	cr_assert_eq(gyre_buffer_append(buffer, zeroes, bytes), 0);
	return buffer;
}

static uint16_t port_of(const struct gyre_buffer *buffer)
{
	return gyre_socket_address_port(gyre_buffer_peer(buffer));
}

static uint32_t used(void)
{
	return rig_channels(&rig)->pools.addresses.used;
}

Test(address_table, of_a_buffer_can_be_set_changed_and_taken_away)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	struct gyre_socket_address address = address_of(7);
	struct gyre_socket_address nobody = { 0 };

	cr_expect_null(gyre_buffer_peer(NULL));
	cr_expect_null(gyre_buffer_peer(buffer));
	cr_expect_eq(gyre_buffer_set_peer(NULL, &address), -EINVAL);
	cr_expect_eq(gyre_buffer_set_peer(buffer, &nobody), -EINVAL);
	cr_expect_eq(gyre_buffer_set_peer(buffer, &address), 0);
	cr_expect(gyre_socket_address_equal(gyre_buffer_peer(buffer), &address));
	/* Also to what it is already. */
	cr_expect_eq(gyre_buffer_set_peer(buffer, gyre_buffer_peer(buffer)), 0);
	cr_expect_eq(port_of(buffer), 7);
	address = address_of(8);
	cr_expect_eq(gyre_buffer_set_peer(buffer, &address), 0);
	cr_expect_eq(port_of(buffer), 8);
	cr_expect_eq(used(), 1);
	cr_expect_eq(gyre_buffer_set_peer(buffer, NULL), 0);
	cr_expect_null(gyre_buffer_peer(buffer));
	cr_expect_eq(used(), 0);
	gyre_buffer_destroy(buffer);
}

Test(address_table, stays_whatever_happens_to_the_bytes)
{
	struct gyre_buffer *buffer = buffer_for(7, 20000);

	(void)gyre_buffer_skip(buffer, 5000);
	cr_expect_eq(port_of(buffer), 7);
	gy_buffer_copy_out_of_ring(buffer);
	cr_expect_eq(port_of(buffer), 7);
	(void)gyre_buffer_skip(buffer, 20000);
	cr_expect_eq(port_of(buffer), 7);
	cr_expect_eq(gyre_buffer_append(buffer, "again", 5), 0);
	cr_expect_eq(port_of(buffer), 7);
	gyre_buffer_destroy(buffer);
	cr_expect_eq(used(), 0);
}

Test(address_table, is_had_by_both_parts_of_a_buffer_that_is_split)
{
	struct gyre_buffer *buffer = buffer_for(7, 10000);
	struct gyre_buffer *front;

	cr_assert_eq(gyre_buffer_split(buffer, 6000, &front), 0);
	cr_expect_eq(port_of(front), 7);
	cr_expect_eq(port_of(buffer), 7);
	cr_expect_eq(used(), 1);
	gyre_buffer_destroy(buffer);
	cr_expect_eq(port_of(front), 7);
	gyre_buffer_destroy(front);
	cr_expect_eq(used(), 0);
}

Test(address_table, of_what_grows_is_kept_when_buffers_are_joined)
{
	struct gyre_buffer *one = buffer_for(7, 100);
	struct gyre_buffer *empty = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_join(one, buffer_for(8, 9000)), 0);
	cr_expect_eq(port_of(one), 7);
	cr_assert_eq(gyre_buffer_join(empty, one), 0);
	cr_expect_null(gyre_buffer_peer(empty));
	cr_expect_eq(used(), 0);
	gyre_buffer_destroy(empty);
}

Test(address_table, is_had_by_a_duplicate_too)
{
	struct gyre_buffer *buffer = buffer_for(7, 10000);
	struct gyre_buffer *same;

	cr_assert_eq(gyre_buffer_duplicate(buffer, &same), 0);
	gyre_buffer_destroy(buffer);
	cr_expect_eq(port_of(same), 7);
	cr_expect_eq(used(), 1);
	gyre_buffer_destroy(same);
	cr_expect_eq(used(), 0);
}

Test(address_table, stays_when_something_comes_before_the_bytes)
{
	static const char header[5000];
	struct gyre_buffer *buffer = buffer_for(7, 10000);
	struct gyre_buffer *empty = buffer_for(8, 0);
	const void *bytes;

	cr_expect_eq(gyre_buffer_prepend(buffer, "short", 5), 0);
	cr_expect_eq(gyre_buffer_prepend(buffer, header, sizeof(header)), 0);
	cr_expect_eq(port_of(buffer), 7);
	cr_expect_eq(gyre_buffer_linear(buffer, 12000, &bytes), 0);
	cr_expect_eq(port_of(buffer), 7);
	cr_expect_eq(gyre_buffer_prepend(empty, "first", 5), 0);
	cr_expect_eq(port_of(empty), 8);
	gyre_buffer_destroy(empty);
	(void)gyre_buffer_skip(buffer, 1000);
	gyre_buffer_destroy(buffer);
	cr_expect_eq(used(), 0);
}

Test(address_table, takes_memory_only_while_some_buffer_has_one)
{
	struct gy_address_table *addresses = &rig_channels(&rig)->pools.addresses;
	struct gyre_buffer *buffers[200];

	for (uint16_t i = 0; i < gy_countof(buffers); i++) {
		buffers[i] = buffer_for((uint16_t)(i + 1), 1);
	}
	cr_expect_eq(addresses->chunks_count, 4);
	cr_expect(!gy_address_table_trim(addresses));
	for (uint16_t i = 0; i < gy_countof(buffers); i++) {
		cr_assert_eq(port_of(buffers[i]), i + 1);
		gyre_buffer_destroy(buffers[i]);
	}
	cr_expect(gy_address_table_trim(addresses));
	cr_expect_eq(addresses->chunks_count, 0);
}
