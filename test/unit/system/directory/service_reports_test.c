/*
 * What other nodes tell of their services, as bytes: the registry alone, without loops. Also what a
 * peer tells that is wrong, and what comes twice, late, or without memory.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap.h"
#include "remote/message/service_report.h"
#include "system/directory/services.h"

enum { BYTES = 8192, NODE = 2, LIFE = 77, FIRST = GY_SERVICE_REPORT_FIRST, CHANGE_AT = 17 };
enum { LAST = GY_SERVICE_REPORT_LAST, WHOLE = FIRST | LAST, SLOT_AT = CHANGE_AT + 1 };
enum { COOKIE_AT = SLOT_AT + 4, LOOP_AT = COOKIE_AT + 4, ID_AT = LOOP_AT + 2, NAME_AT = ID_AT + 4 };

static struct gy_services services;
static struct gy_rcu rcu;
static unsigned char bytes[BYTES];
static struct gyre_encoder out;
static uint64_t known;

static void begin(void)
{
	gy_rcu_init(&rcu);
	services = (struct gy_services){ 0 };
	cr_assert_eq(gy_services_init(&services, &rcu), 0);
	known = UINT64_MAX;
}

static void end(void)
{
	gy_services_empty(&services);
	cr_expect_eq(services.count, 0);
	gy_rcu_fini(&rcu);
	gy_services_fini(&services);
}

static void report(uint64_t from, uint64_t to, uint32_t flags)
{
	out = (struct gyre_encoder){ .bytes = bytes, .room = BYTES, .max = BYTES };
	gy_service_report_put_head(&out, &(struct gy_service_report_head){ from, to, flags });
}

/* The member is told apart by @slot. */
static void change(uint32_t flags, uint32_t slot, const char *name)
{
	gy_service_report_put_change(&out,
				     &(struct gy_service_change){ .flags = flags,
								  .slot = slot,
								  .cookie = 1,
								  .id = 5,
								  .bytes = (uint32_t)strlen(name),
								  .name = name });
}

static int take_of(uint32_t life)
{
	return gy_services_take_report(&services, NODE, life, bytes, (uint32_t)out.count, &known);
}

static int take(void)
{
	return take_of(LIFE);
}

static const struct gy_service_list *list_of(const char *name)
{
	const struct gyre_service service = { name, 5, 0, NULL };
	struct gy_service_key key;
	const struct gy_service *found;
	bool entered = gy_rcu_enter();

	cr_assert_eq(gy_service_key_make(&services, &service, &key), 0);
	found = gy_service_find(&services, &key);
	gy_rcu_leave(entered);
	return found == NULL ? NULL : found->foreign;
}

static uint32_t members_of(const char *name)
{
	const struct gy_service_list *list = list_of(name);

	return list == NULL ? 0 : list->count - list->left;
}

Test(service_reports, are_taken_in_order_and_each_once, .init = begin, .fini = end)
{
	report(0, 2, WHOLE);
	change(0, 1, "one");
	change(GY_SERVICE_CHANGE_SAME, 2, "one");
	cr_assert_eq(take(), 0);
	cr_assert_eq(known, 2);
	cr_assert_eq(members_of("one"), 2);
	report(2, 4, 0);
	change(GY_SERVICE_CHANGE_LEFT, 1, "one");
	change(0, 1, "two");
	cr_assert_eq(take(), 0);
	cr_assert_eq(take(), 0, "its receipt was lost");
	cr_assert_eq(known, 4);
	cr_assert_eq(members_of("one"), 1);
	cr_assert_eq(members_of("two"), 1);
	report(5, 6, 0);
	change(0, 9, "one");
	cr_assert_eq(take(), 0, "one was lost");
	cr_assert_eq(known, 4);
	cr_assert_eq(members_of("one"), 1);
}

Test(service_reports, of_all_that_a_node_has_end_what_they_do_not_have, .init = begin, .fini = end)
{
	report(0, 3, WHOLE);
	change(0, 1, "one");
	change(0, 2, "two");
	change(0, 3, "three");
	cr_assert_eq(take(), 0);
	report(0, 5, FIRST);
	change(0, 1, "one");
	cr_assert_eq(take(), 0);
	cr_assert_eq(members_of("two"), 1, "until all is told");
	report(5, 9, LAST);
	change(0, 3, "three");
	cr_assert_eq(take(), 0);
	cr_assert_eq(known, 9);
	cr_assert_eq(members_of("one") + members_of("three"), 2);
	cr_assert_eq(members_of("two"), 0);
}

Test(service_reports, of_another_life_end_the_members_of_the_former, .init = begin, .fini = end)
{
	report(0, 1, WHOLE);
	change(0, 1, "one");
	cr_assert_eq(take(), 0);
	report(1, 2, 0);
	change(0, 2, "one");
	cr_assert_eq(take_of(LIFE + 1), 0);
	cr_assert_eq(known, 0, "it is to tell all");
	cr_assert_eq(members_of("one"), 0);
}

Test(service_reports, end_with_their_node, .init = begin, .fini = end)
{
	report(0, 3, WHOLE);
	for (uint32_t i = 0; i < 100; i++) {
		change(0, i, i % 2 == 0 ? "even" : "odd");
	}
	cr_assert_eq(take(), 0);
	cr_assert_eq(members_of("even"), 50);
	heap_end_after(0);
	gy_services_node_lost(&services, NODE);
	cr_assert_eq(members_of("even") + members_of("odd"), 0, "it needs no memory");
	(void)heap_recover();
	gy_services_node_lost(&services, NODE + 1);
}

static void expect_no_report(const char *what)
{
	cr_expect_eq(take(), -EPROTO, "%s", what);
	cr_expect_eq(services.count, 1, "%s", what);
}

static void good_report(void)
{
	report(0, 1, WHOLE);
	change(0, 1, "one");
}

Test(service_reports, that_are_none_change_nothing, .init = begin, .fini = end)
{
	static const struct {
		size_t at;
		unsigned char value;
		const char *what;
	} bad[] = {
		{ CHANGE_AT - 1, 4, "an unknown flag" },
		{ 0, 2, "it ends before it begins" },
		{ CHANGE_AT, 4, "an unknown kind of change" },
		{ CHANGE_AT, GY_SERVICE_CHANGE_SAME, "the service of a change before the first" },
		{ SLOT_AT + 3, 0xff, "a slot that no actor has" },
		{ COOKIE_AT, 0, "nobody" },
		{ LOOP_AT + 1, 0xff, "a loop that there cannot be" },
		{ ID_AT, 0, "a service without an id" },
		{ NAME_AT, 0, "a service without a name" },
		{ NAME_AT, 4, "a name that is longer than the report" },
		{ NAME_AT, 2, "half a change" },
		{ NAME_AT + 1, 0, "a name with a 0" },
	};

	good_report();
	cr_assert_eq(take(), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		good_report();
		bytes[bad[i].at] = bad[i].value;
		expect_no_report(bad[i].what);
	}
	good_report();
	for (size_t count = 0; count < CHANGE_AT + 16; count++) {
		if (count != CHANGE_AT) {
			out.count = count;
			expect_no_report("a part of one");
		}
	}
}

Test(service_reports, of_more_members_than_a_node_may_have_are_refused, .init = begin, .fini = end)
{
	uint32_t slot = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0; i++) {
		report(i, i + 1, i == 0 ? FIRST : 0);
		change(0, slot++, "one");
		while (out.count + 64 < BYTES) {
			change(GY_SERVICE_CHANGE_SAME, slot++, "one");
		}
		r = take();
		cr_assert(i < BYTES);
	}
	cr_assert_eq(r, -ENOBUFS);
	cr_assert_eq(members_of("one"), 2 * GYRE_SERVICE_MEMBERSHIPS_MAX);
}

/* It tells as many as it may have, all others than the last time. */
Test(service_reports, of_all_that_a_node_has_make_room_of_what_it_had, .init = begin, .fini = end)
{
	enum { MANY = 2 * GYRE_SERVICE_MEMBERSHIPS_MAX };

	for (uint32_t round = 0; round < 2; round++) {
		uint32_t slot = 0;

		for (uint64_t i = 0; slot < MANY; i++) {
			report(i, i + 1, i == 0 ? FIRST : 0);
			change(0, round * MANY + slot++, "one");
			while (out.count + 64 < BYTES && slot < MANY) {
				change(GY_SERVICE_CHANGE_SAME, round * MANY + slot++, "one");
			}
			cr_assert_eq(take(), 0);
			cr_assert_eq(known, i + 1);
		}
		cr_assert_eq(members_of("one"), MANY);
	}
}

/* What a leave costs may not grow with the members that stay. */
Test(service_reports, of_one_leave_after_the_other_copy_the_list_of_many_seldom, .init = begin,
     .fini = end)
{
	enum { MANY = 4000, PART = 500, COPIES_MAX = 100 };
	const struct gy_service_list *list = NULL;
	uint32_t copies = 0;

	for (uint32_t i = 0; i < MANY; i += PART) {
		report(i, i + PART, i == 0 ? FIRST : 0);
		change(0, i, "one");
		for (uint32_t k = 1; k < PART; k++) {
			change(GY_SERVICE_CHANGE_SAME, i + k, "one");
		}
		cr_assert_eq(take(), 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		cr_assert_eq(members_of("one"), MANY - i);
		report(MANY + i, MANY + i + 1, 0);
		change(GY_SERVICE_CHANGE_LEFT, i * 1237 % MANY, "one");
		cr_assert_eq(take(), 0);
		if (MANY - i > 100 && list_of("one") != list) {
			list = list_of("one");
			cr_assert_leq(++copies, COPIES_MAX);
		}
	}
	cr_assert_eq(members_of("one"), 0);
}

Test(service_reports, of_leaves_and_joins_in_one_leave_who_has_joined_last, .init = begin,
     .fini = end)
{
	report(0, 4, WHOLE);
	for (uint32_t i = 1; i <= 4; i++) {
		change(0, i, "one");
	}
	cr_assert_eq(take(), 0);
	report(4, 10, 0);
	change(GY_SERVICE_CHANGE_LEFT, 1, "one");
	change(GY_SERVICE_CHANGE_LEFT, 2, "one");
	change(0, 1, "one");
	change(0, 5, "one");
	change(GY_SERVICE_CHANGE_LEFT, 5, "one");
	change(GY_SERVICE_CHANGE_LEFT, 5, "one");
	cr_assert_eq(take(), 0);
	cr_assert_eq(known, 10);
	cr_assert_eq(members_of("one"), 3);
	cr_assert_eq(services.count, 3);
}

Test(service_reports, that_are_too_long_are_refused, .init = begin, .fini = end)
{
	static unsigned char long_bytes[GY_SERVICE_REPORT_BYTES_MAX + 64];
	const uint32_t max = GY_SERVICE_REPORT_BYTES_MAX;

	out = (struct gyre_encoder){ .bytes = long_bytes,
				     .room = sizeof(long_bytes),
				     .max = sizeof(long_bytes) };
	gy_service_report_put_head(&out, &(struct gy_service_report_head){ 0, 1, WHOLE });
	change(0, 0, "a name ....");
	for (uint32_t i = 1; out.count < max; i++) {
		change(GY_SERVICE_CHANGE_SAME, i, "a name ....");
	}
	cr_assert(out.count > max);
	cr_assert_eq(gy_services_take_report(&services, NODE, LIFE, long_bytes, (uint32_t)out.count,
					     &known),
		     -EPROTO);
	cr_assert_eq(services.count, 0);
	cr_assert_eq(gy_services_take_report(&services, NODE, LIFE, long_bytes,
					     (uint32_t)out.count - GY_SERVICE_CHANGE_BYTES, &known),
		     0);
}

Test(service_reports, that_find_no_memory_come_again, .init = begin, .fini = end)
{
	uint32_t lacks = 0;
	bool lacked;

	do {
		report(0, 3, WHOLE);
		change(0, 1, "one");
		change(0, 2, "two");
		change(0, 3, "two");
		heap_end_after(lacks++);
		cr_assert_eq(take(), 0);
		lacked = heap_recover();
		cr_assert_eq(known, lacked ? 0 : 3);
	} while (lacked);
	cr_assert(lacks > 3);
	cr_assert_eq(members_of("one") + members_of("two"), 3);
}
