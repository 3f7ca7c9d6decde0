/*
 * The registry of types, and what makes two nodes mean the same by one.
 */
#include <criterion/criterion.h>

#include <errno.h>

#include <gyre/node.h>
#include <gyre/tail.h>

#include "remote/types.h"

enum { MANY = 1000, FIRST_ID = 0x100 };

static void destroy(void *payload)
{
	(void)payload;
}

static int encode(const void *payload, struct gyre_encoder *out)
{
	(void)payload;
	(void)out;
	return 0;
}

static int decode(void *payload, struct gyre_decoder *in)
{
	(void)payload;
	(void)in;
	return 0;
}

static const struct gyre_encoding first_version = { .version = 1 };
static const struct gyre_encoding second_version = { .version = 2 };
static const struct gyre_encoding whole = { .version = 1, .encode = encode, .decode = decode };
static const struct gyre_encoding half = { .version = 1, .encode = encode };

struct versioned {
	uint32_t count;
	int values[];
};
GYRE_MESSAGE_TAIL_VERSIONED(versioned, 0x2000, values, count, first_version);

static int init(struct gy_types *types, const struct gyre_type *type,
		const struct gyre_type **ret_bad)
{
	const struct gyre_type *const list[] = { type, NULL };

	return gy_types_init(types, list, ret_bad);
}

Test(types, finds_each_of_many_and_nothing_else)
{
	static struct gyre_type all[MANY];
	static const struct gyre_type *list[MANY + 1];
	const struct gyre_type *bad = NULL;
	struct gy_types types;

	for (uint32_t i = 0; i < MANY; i++) {
		all[i] = (struct gyre_type){ .name = "one", .id = FIRST_ID + i * 3, .bytes = i };
		list[i] = &all[i];
	}
	cr_assert_eq(gy_types_init(&types, list, &bad), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		cr_assert_eq(gy_types_find(&types, FIRST_ID + i * 3), &all[i]);
		cr_assert_null(gy_types_find(&types, FIRST_ID + i * 3 + 1));
	}
	gy_types_fini(&types);
}

Test(types, are_none_without_a_list_but_for_the_answer_to_a_lookup)
{
	const struct gyre_type *bad = NULL;
	struct gy_types types;

	cr_assert_eq(gy_types_init(&types, NULL, &bad), 0);
	cr_assert_not_null(gy_types_find(&types, GYRE_ID(gyre_node_found)));
	cr_assert_null(gy_types_find(&types, FIRST_ID));
	gy_types_fini(&types);
}

Test(types, refuses_two_of_one_id)
{
	static const struct gyre_type one = { .name = "one", .id = FIRST_ID };
	static const struct gyre_type other = { .name = "other", .id = FIRST_ID };
	const struct gyre_type *const list[] = { &one, &other, NULL };
	const struct gyre_type *bad = NULL;
	struct gy_types types;

	cr_assert_eq(gy_types_init(&types, list, &bad), -EEXIST);
	cr_assert_eq(bad, &other);
	gy_types_fini(&types);
}

Test(types, refuses_what_cannot_travel)
{
	static const struct gyre_type owning = { .name = "a", .id = FIRST_ID, .destroy = destroy };
	static const struct gyre_type mute = { .name = "b", .id = FIRST_ID, .encoding = &half };
	static const struct gyre_type of_gyre = { .name = "c", .id = FIRST_ID - 1 };
	static const struct gyre_type tail = {
		.name = "d", .id = FIRST_ID, .bytes = GYRE_BYTES_VARY, .encoding = &whole
	};
	static const struct gyre_type *const bad_ones[] = { &owning, &mute, &of_gyre, &tail };

	for (size_t i = 0; i < gy_countof(bad_ones); i++) {
		const struct gyre_type *bad = NULL;
		struct gy_types types;

		cr_assert_eq(init(&types, bad_ones[i], &bad), -EINVAL);
		cr_assert_eq(bad, bad_ones[i]);
		gy_types_fini(&types);
	}
}

Test(types, may_own_what_they_encode)
{
	static const struct gyre_type type = {
		.name = "a", .id = FIRST_ID, .destroy = destroy, .encoding = &whole
	};
	const struct gyre_type *bad = NULL;
	struct gy_types types;

	cr_assert_eq(init(&types, &type, &bad), 0);
	cr_assert_eq(gy_types_find(&types, FIRST_ID), &type);
	gy_types_fini(&types);
}

Test(types, differ_in_layout_where_size_or_version_differ)
{
	static const struct gyre_type plain = { .id = FIRST_ID, .bytes = 8 };
	static const struct gyre_type larger = { .id = FIRST_ID, .bytes = 16 };
	static const struct gyre_type one = { .id = FIRST_ID,
					      .bytes = 8,
					      .encoding = &first_version };
	static const struct gyre_type two = { .id = FIRST_ID,
					      .bytes = 8,
					      .encoding = &second_version };

	cr_assert_neq(gy_type_layout(&plain), gy_type_layout(&larger));
	cr_assert_neq(gy_type_layout(&plain), gy_type_layout(&one));
	cr_assert_neq(gy_type_layout(&one), gy_type_layout(&two));
	cr_assert_eq(gy_type_layout(&plain),
		     gy_type_layout(&(struct gyre_type){ .id = 5, .bytes = 8 }));
}

Test(types, differ_in_layout_where_parts_of_their_tails_differ)
{
	static const struct gyre_tail tails[] = {
		{ .bytes = 16, .at = 12, .unit = 2, .count_at = 8 },
		{ .bytes = 24, .at = 12, .unit = 2, .count_at = 8 },
		{ .bytes = 16, .at = 16, .unit = 2, .count_at = 8 },
		{ .bytes = 16, .at = 12, .unit = 4, .count_at = 8 },
		{ .bytes = 16, .at = 12, .unit = 2, .count_at = 0 },
	};
	struct gyre_type first = { .id = FIRST_ID, .bytes = GYRE_BYTES_VARY, .tail = tails[0] };
	struct gyre_type versioned = gyre_type_versioned;

	cr_assert_eq(gyre_type_versioned.encoding, &first_version);
	cr_assert_eq(gyre_type_versioned.encoding_bytes, sizeof(first_version));
	versioned.encoding = &second_version;
	cr_assert_neq(gy_type_layout(&versioned), gy_type_layout(&gyre_type_versioned));
	versioned.encoding = NULL;
	cr_assert_neq(gy_type_layout(&versioned), gy_type_layout(&gyre_type_versioned));
	for (size_t i = 1; i < gy_countof(tails); i++) {
		struct gyre_type other = first;

		cr_assert_eq(gy_type_layout(&first), gy_type_layout(&other));
		other.tail = tails[i];
		cr_assert_neq(gy_type_layout(&first), gy_type_layout(&other), "%zu", i);
	}
}

Test(types, that_are_encoded_have_a_layout_whatever_their_size_in_memory)
{
	static const struct gyre_type here = { .id = FIRST_ID, .bytes = 8, .encoding = &whole };
	static const struct gyre_type there = { .id = FIRST_ID, .bytes = 24, .encoding = &whole };

	cr_assert_eq(gy_type_layout(&here), gy_type_layout(&there));
}
