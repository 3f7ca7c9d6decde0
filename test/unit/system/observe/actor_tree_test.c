/*
 * The tree of actors in snapshots, with names and without, and its bounds.
 */
#include "fixture.h"

#include <gyre/inspect.h>
#include <gyre/name.h>

#include <stdio.h>
#include <string.h>

enum { MANY = 1005, DEEP = 14 };

static struct gyre_snapshot *taken;
static char path[GYRE_PATH_TEXT_MAX];

static int take_and_end(struct gyre_stack *stack)
{
	expect(gyre_system_inspect(gyre_system_of(stack), &taken) == 0);
	return fixture_end(stack);
}

static const char *find(const char *text)
{
	const char *found = strstr(taken->tree, text);

	cr_assert_not_null(found, "%s is not in %s", text, taken->tree);
	return found;
}

static const struct gyre_class quiet_class = { .name = "quiet" };

/* A child that answers is in the tree. */
static int ask_child(struct gyre_stack *stack, struct gyre_address child, uint32_t number)
{
	struct gyre_future *futures = (struct gyre_future *)gyre_frame(stack);

	return gyre_ask(stack, child, gyre_new(stack, number, number), GYRE_FOREVER,
			&futures[number]);
}

static int spawn_two_loops(struct gyre_stack *stack)
{
	const struct gyre_spawn_options named = { .place = GYRE_PLACE_LOOP,
						  .loop = 1,
						  .name = "chat" };
	struct gyre_address child;

	expect(gyre_spawn(stack, &adder_class, GYRE_NO_ARGUMENT, &named, &child) == 0);
	expect(ask_child(stack, child, 0) == 0);
	return ask_child(stack, spawn_on(stack, &adder_class, 0), 1);
}

static int take_when_they_are_there(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, spawn_two_loops(stack));
	return take_and_end(stack);
	GYRE_END(stack);
}

Test(actor_tree, has_children_of_all_loops_below_their_parent_by_name_or_number)
{
	play(2, take_when_they_are_there);
	cr_assert_eq(strncmp(taken->tree, "/\n  user\n    ", 13), 0, "%s", taken->tree);
	cr_assert_gt(find("\n      adder-2  adder [0:"), taken->tree);
	cr_assert_gt(find("\n      chat  adder [1:"), taken->tree);
	(void)find("\n  system\n");
	gyre_snapshot_destroy(taken);
}

static int spawn_many(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < MANY; i++) {
		(void)spawn_here(stack, &quiet_class);
	}
	return take_and_end(stack);
}

Test(actor_tree, counts_the_children_that_it_does_not_draw)
{
	play(1, spawn_many);
	(void)find("\n      quiet-8  quiet ");
	cr_assert_null(strstr(taken->tree, "quiet-9 "));
	(void)find("\n      \u2026 997 more\n");
	gyre_snapshot_destroy(taken);
}

static int spawn_with_odd_names(struct gyre_stack *stack)
{
	static const char *const names[] = { "line\n/system", "\x1b[31mred", "half\xc3" };
	struct gyre_spawn_options named = { .place = GYRE_PLACE_HERE };
	struct gyre_address child;

	for (uint32_t i = 0; i < 3; i++) {
		named.name = names[i];
		expect(gyre_spawn(stack, &quiet_class, GYRE_NO_ARGUMENT, &named, &child) == 0);
	}
	return take_and_end(stack);
}

Test(actor_tree, shows_names_as_the_log_does_whatever_they_hold)
{
	play(1, spawn_with_odd_names);
	(void)find("\n      line\\n/system  quiet [");
	(void)find("\n      \\x1b[31mred  quiet [");
	(void)find("\n      half\\xc3  quiet [");
	gyre_snapshot_destroy(taken);
}

static uint32_t depth;

static int deepen(struct gyre_stack *stack);
static const struct gyre_class deep_class = { .name = "deep", .mount = deepen };

static int deepen(struct gyre_stack *stack)
{
	if (++depth == DEEP) {
		return take_and_end(stack);
	}
	(void)spawn_here(stack, &deep_class);
	return gyre_return(stack);
}

Test(actor_tree, ends_where_it_is_too_deep)
{
	play(1, deepen);
	(void)find("\u2026 1 more\n");
	cr_assert_lt(strlen(taken->tree), 1000);
	gyre_snapshot_destroy(taken);
}

static int rename_and_look(struct gyre_stack *stack)
{
	const char *own;

	expect(gyre_path(stack, sizeof(path), path) > 0);
	own = strrchr(path, '/') + 1;
	expect(strchr(own, '-') != NULL);
	expect(gyre_name_register(stack, "first") == 0);
	expect(gyre_name_register(stack, "second") == 0);
	expect(gyre_path(stack, sizeof(path), path) > 0 && strcmp(own, "first") == 0);
	expect(gyre_name_unregister(stack, "second") == 0);
	expect(gyre_path(stack, sizeof(path), path) > 0 && strcmp(own, "first") == 0);
	(void)spawn_here(stack, &quiet_class);
	expect(gyre_name_unregister(stack, "first") == 0);
	expect(gyre_path(stack, sizeof(path), path) > 0 && strcmp(own, "first") == 0);
	return fixture_end(stack);
}

Test(path, has_the_first_name_and_keeps_it_once_there_are_children)
{
	play(1, rename_and_look);
}
