/*
 * Paths: what people read of an actor's place among families, on one loop and over two.
 */
#include "actor/model.h"

#include <string.h>

#include "actor/life/lifecycle.h"
#include "actor/life/path.h"

enum { DEEP = 100 };

static char seen[GYRE_PATH_TEXT_MAX];
static int seen_bytes;
static struct gyre_address child;
static struct gyre_spawn_options options;
static uint32_t depth;

static int see(struct gyre_stack *stack)
{
	seen_bytes = gyre_path(stack, sizeof(seen), seen);
	return gyre_return(stack);
}

static int spawn_child(struct gyre_stack *stack)
{
	return gyre_spawn(stack, &puppet_class, GYRE_NO_ARGUMENT, &options, &child);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const char *path_of(struct gyre_address actor)
{
	model_call(actor, see);
	model_settle();
	cr_assert_eq((size_t)seen_bytes, strlen(seen));
	return seen;
}

static struct gyre_address child_of(struct gyre_address parent)
{
	model_call(parent, spawn_child);
	model_settle();
	return child;
}

Test(path, of_an_actor_without_a_parent_begins_at_user)
{
	model_open(1);
	cr_assert_str_eq(path_of(model_spawn(&puppet_class, 0)), "/user/puppet-1");
	cr_assert_str_eq(path_of(model_spawn(&puppet_class, 0)), "/user/puppet-2");
	model_close();
}

Test(path, of_an_actor_that_gyre_has_made_for_itself_begins_at_system)
{
	const struct gy_spawn_order order = { .class = &puppet_class, .channels_actor = true };
	struct gyre_address actor;

	model_open(1);
	cr_assert_eq(gy_spawn(&model.home[0], &order, 0, &actor), 0);
	model_settle();
	cr_assert_str_eq(path_of(actor), "/system/puppet-1");
	cr_assert_str_eq(path_of(child_of(actor)), "/system/puppet-1/puppet-1");
	model_close();
}

Test(path, counts_the_children_of_each_parent_over_all_loops)
{
	struct gyre_address parent;

	model_open(2);
	parent = model_spawn(&puppet_class, 0);
	cr_assert_str_eq(path_of(child_of(parent)), "/user/puppet-1/puppet-1");
	options = (struct gyre_spawn_options){ .place = GYRE_PLACE_LOOP, .loop = 1 };
	cr_assert_str_eq(path_of(child_of(parent)), "/user/puppet-1/puppet-2");
	cr_assert_eq(child.loop, 1);
	options.loop = 0;
	cr_assert_str_eq(path_of(child_of(child)), "/user/puppet-1/puppet-2/puppet-1");
	cr_assert_eq(child.loop, 0);
	cr_assert_str_eq(path_of(parent), "/user/puppet-1");
	model_close();
}

Test(path, of_a_detached_actor_begins_at_user)
{
	struct gyre_address parent;

	model_open(1);
	parent = model_spawn(&puppet_class, 0);
	options = (struct gyre_spawn_options){ .detached = true };
	cr_assert_str_eq(path_of(child_of(parent)), "/user/puppet-2");
	model_close();
}

Test(path, leaves_an_actor_out_that_stands_for_a_root)
{
	const struct gy_spawn_order order = { .class = &puppet_class, .is_root = true };
	struct gyre_address actor;

	model_open(1);
	cr_assert_eq(gy_spawn(&model.home[0], &order, 0, &actor), 0);
	model_settle();
	cr_assert_str_eq(path_of(actor), "/user");
	cr_assert_str_eq(path_of(child_of(actor)), "/user/puppet-1");
	model_close();
}

Test(path, that_is_too_long_lacks_its_upper_part)
{
	struct gyre_address actor;

	model_open(1);
	actor = model_spawn(&puppet_class, 0);
	for (depth = 1; depth < DEEP; depth++) {
		actor = child_of(actor);
	}
	(void)path_of(actor);
	cr_assert_eq(strncmp(seen, "/user/.../puppet-1/", 19), 0, "%s", seen);
	cr_assert_gt(seen_bytes, 400);
	model_close();
}

static int see_too_little(struct gyre_stack *stack)
{
	char text[14] = "untouched";

	expect(gyre_path(stack, sizeof(text), NULL) == -EINVAL);
	expect(gyre_path(stack, sizeof(text), text) == -EMSGSIZE);
	expect(strcmp(text, "untouched") == 0);
	expect(gyre_path(stack, sizeof(text) + 1, seen) == (int)sizeof(text));
	return gyre_return(stack);
}

Test(path, that_does_not_fit_leaves_the_text_untouched)
{
	model_open(1);
	model_call(model_spawn(&puppet_class, 0), see_too_little);
	model_settle();
	model_close();
}

Test(path, stands_in_the_log_line_of_a_failure)
{
	struct gyre_address parent;

	model_open(1);
	parent = model_spawn(&puppet_class, 0);
	model_call(child_of(parent), fail);
	model_settle();
	cr_assert_str_eq(model.line, "actor puppet /user/puppet-1/puppet-1: its handler of call "
				     "failed: Input/output error");
	model_close();
}
