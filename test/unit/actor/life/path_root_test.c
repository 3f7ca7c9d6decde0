/*
 * The roots of paths that no program makes: those of gyre's own actors, and an actor that stands
 * for a root.
 */
#include "actor/model.h"

#include "actor/life/lifecycle.h"

static char seen[GYRE_PATH_TEXT_MAX];
static struct gyre_address child;

static int see(struct gyre_stack *stack)
{
	(void)gyre_path(stack, sizeof(seen), seen);
	return gyre_return(stack);
}

static int spawn_child(struct gyre_stack *stack)
{
	return gyre_spawn(stack, &puppet_class, GYRE_NO_ARGUMENT, NULL, &child);
}

static const char *path_of(struct gyre_address actor)
{
	model_call(actor, see);
	model_settle();
	return seen;
}

static struct gyre_address child_of(struct gyre_address parent)
{
	model_call(parent, spawn_child);
	model_settle();
	return child;
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
