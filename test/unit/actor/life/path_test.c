/*
 * Paths: what people read of an actor's place among families, on one loop and over two.
 */
#include "actor/puppet_kit.h"

#include <string.h>

#include <gyre/actor.h>

enum { DEEP = 100 };

static char seen[GYRE_PATH_TEXT_MAX];
static int seen_bytes;
static struct gyre_address child;
static struct gyre_spawn_options options;

static int see(struct gyre_stack *stack)
{
	seen_bytes = gyre_path(stack, sizeof(seen), seen);
	return gyre_return(stack);
}

static int spawn_child(struct gyre_stack *stack)
{
	return gyre_spawn(stack, &puppet_class, GYRE_NO_ARGUMENT, &options, &child);
}

static const char *path_of(struct gyre_test *test, struct gyre_address actor)
{
	puppet_call(test, actor, see);
	cr_assert_eq((size_t)seen_bytes, strlen(seen));
	return seen;
}

static struct gyre_address child_of(struct gyre_test *test, struct gyre_address parent)
{
	puppet_call(test, parent, spawn_child);
	return child;
}

KIT_TEST_WITH(path, of_an_actor_without_a_parent_begins_at_user, &two_loops)
{
	cr_assert_str_eq(path_of(test, puppet_spawn(test, &puppet_class, 0)), "/user/puppet-1");
	cr_assert_str_eq(path_of(test, puppet_spawn(test, &puppet_class, 0)), "/user/puppet-2");
}

KIT_TEST_WITH(path, counts_the_children_of_each_parent_over_all_loops, &two_loops)
{
	struct gyre_address parent = puppet_spawn(test, &puppet_class, 0);

	cr_assert_str_eq(path_of(test, child_of(test, parent)), "/user/puppet-1/puppet-1");
	options = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	cr_assert_str_eq(path_of(test, child_of(test, parent)), "/user/puppet-1/puppet-2");
	cr_assert_eq(child.loop, 1);
	options.loop = 0;
	cr_assert_str_eq(path_of(test, child_of(test, child)), "/user/puppet-1/puppet-2/puppet-1");
	cr_assert_eq(child.loop, 0);
	cr_assert_str_eq(path_of(test, parent), "/user/puppet-1");
}

KIT_TEST_WITH(path, of_a_detached_actor_begins_at_user, &two_loops)
{
	struct gyre_address parent = puppet_spawn(test, &puppet_class, 0);

	options = (struct gyre_spawn_options){ .detached = true };
	cr_assert_str_eq(path_of(test, child_of(test, parent)), "/user/puppet-2");
}

KIT_TEST_WITH(path, that_is_too_long_lacks_its_upper_part, &two_loops)
{
	struct gyre_address actor = puppet_spawn(test, &puppet_class, 0);

	for (uint32_t depth = 1; depth < DEEP; depth++) {
		actor = child_of(test, actor);
	}
	(void)path_of(test, actor);
	cr_assert_eq(strncmp(seen, "/user/.../puppet-1/", 19), 0, "%s", seen);
	cr_assert_gt(seen_bytes, 400);
}

static int see_too_little(struct gyre_stack *stack)
{
	char text[14] = "untouched";

	cr_assert(gyre_path(stack, sizeof(text), NULL) == -EINVAL);
	cr_assert(gyre_path(stack, sizeof(text), text) == -EMSGSIZE);
	cr_assert(strcmp(text, "untouched") == 0);
	cr_assert(gyre_path(stack, sizeof(text) + 1, seen) == (int)sizeof(text));
	return gyre_return(stack);
}

KIT_TEST_WITH(path, that_does_not_fit_leaves_the_text_untouched, &two_loops)
{
	puppet_call(test, puppet_spawn(test, &puppet_class, 0), see_too_little);
}

KIT_TEST_WITH(path, stands_in_the_log_line_of_a_failure, &two_loops)
{
	struct gyre_address parent = puppet_spawn(test, &puppet_class, 0);

	puppet_call(test, child_of(test, parent), puppet_fail);
	cr_assert_str_eq(heard_last(), "actor puppet /user/puppet-1/puppet-1: its handler of call "
				       "failed: Input/output error");
}
