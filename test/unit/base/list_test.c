/*
 * The two intrusive lists.
 */
#include <criterion/criterion.h>

#include "base/list.h"
#include "base/macros.h"

enum { ITEMS = 6 };

struct item {
	int number;
	struct gy_list list;
	struct gy_fifo_item link;
};

static struct item items[ITEMS];

static void append(struct gy_list *list, int from, int to)
{
	for (int i = from; i < to; i++) {
		items[i].number = i;
		gy_list_append(list, &items[i].list);
	}
}

/* The digits of @expected are the numbers of the items, read in both directions. */
static void assert_list(const struct gy_list *list, const char *expected)
{
	const struct gy_list *at = list;
	size_t count = 0;

	for (; expected[count] != '\0'; count++) {
		at = at->next;
		cr_assert_neq(at, list, "the list ends before %s", expected + count);
		cr_assert_eq(gy_container_of(at, struct item, list)->number, expected[count] - '0');
	}
	cr_assert_eq(at->next, list);
	while (count-- > 0) {
		cr_assert_eq(gy_container_of(at, struct item, list)->number, expected[count] - '0');
		at = at->previous;
	}
	cr_assert_eq(at, list);
	cr_assert_eq(gy_list_empty(list), expected[0] == '\0');
}

Test(list, is_empty_at_first_and_keeps_the_order_of_what_is_appended)
{
	struct gy_list list;

	gy_list_init(&list);
	assert_list(&list, "");
	append(&list, 0, 4);
	assert_list(&list, "0123");
}

Test(list, gives_up_an_item_of_its_middle_and_of_both_ends)
{
	struct gy_list list;

	gy_list_init(&list);
	append(&list, 0, 5);
	gy_list_remove(&items[2].list);
	assert_list(&list, "0134");
	gy_list_remove(&items[0].list);
	gy_list_remove(&items[4].list);
	assert_list(&list, "13");
	gy_list_remove(&items[1].list);
	gy_list_remove(&items[3].list);
	assert_list(&list, "");
}

Test(list, item_may_be_removed_twice)
{
	struct gy_list list;

	gy_list_init(&list);
	append(&list, 0, 3);
	gy_list_remove(&items[1].list);
	gy_list_remove(&items[1].list);
	assert_list(&list, "02");
	cr_assert(gy_list_empty(&items[1].list));
}

Test(list, takes_over_all_of_another_and_leaves_it_empty)
{
	struct gy_list one;
	struct gy_list other;

	gy_list_init(&one);
	gy_list_init(&other);
	gy_list_splice(&one, &other);
	assert_list(&one, "");
	append(&other, 0, 2);
	gy_list_splice(&one, &other);
	assert_list(&one, "01");
	assert_list(&other, "");
	append(&other, 2, 4);
	gy_list_splice(&one, &other);
	assert_list(&one, "0123");
	gy_list_splice(&one, &other);
	assert_list(&one, "0123");
}

Test(fifo, gives_back_in_order_and_null_when_empty)
{
	struct gy_fifo fifo = { 0 };

	cr_assert(gy_fifo_empty(&fifo));
	cr_assert_null(gy_fifo_pop(&fifo));
	for (int i = 0; i < ITEMS; i++) {
		gy_fifo_push(&fifo, &items[i].link);
		cr_assert_not(gy_fifo_empty(&fifo));
	}
	for (int i = 0; i < ITEMS; i++) {
		cr_assert_eq(gy_fifo_pop(&fifo), &items[i].link);
	}
	cr_assert(gy_fifo_empty(&fifo));
	cr_assert_null(gy_fifo_pop(&fifo));
}

Test(fifo, can_be_used_again_after_it_ran_empty)
{
	struct gy_fifo fifo = { 0 };

	gy_fifo_push(&fifo, &items[0].link);
	cr_assert_eq(gy_fifo_pop(&fifo), &items[0].link);
	gy_fifo_push(&fifo, &items[1].link);
	gy_fifo_push(&fifo, &items[0].link);
	cr_assert_eq(gy_fifo_pop(&fifo), &items[1].link);
	gy_fifo_push(&fifo, &items[2].link);
	cr_assert_eq(gy_fifo_pop(&fifo), &items[0].link);
	cr_assert_eq(gy_fifo_pop(&fifo), &items[2].link);
	cr_assert_null(gy_fifo_pop(&fifo));
}

Test(fifo, loses_an_item_from_its_begin_its_middle_or_its_end)
{
	for (int out = 0; out < 3; out++) {
		struct gy_fifo fifo = { 0 };

		for (int i = 0; i < 3; i++) {
			gy_fifo_push(&fifo, &items[i].link);
		}
		gy_fifo_remove_after(&fifo, out == 0 ? NULL : &items[out - 1].link);
		gy_fifo_push(&fifo, &items[3].link);
		for (int i = 0; i < 4; i++) {
			cr_assert(i == out || gy_fifo_pop(&fifo) == &items[i].link);
		}
		cr_assert_null(gy_fifo_pop(&fifo));
	}
}

Test(fifo, is_empty_when_its_only_item_is_taken_out)
{
	struct gy_fifo fifo = { 0 };

	gy_fifo_push(&fifo, &items[0].link);
	gy_fifo_remove_after(&fifo, NULL);
	cr_assert(gy_fifo_empty(&fifo));
	gy_fifo_push(&fifo, &items[1].link);
	cr_assert_eq(gy_fifo_pop(&fifo), &items[1].link);
}
