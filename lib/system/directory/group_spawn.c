/*
 * Groups that are made with their members. All of it is done under the mutex of the groups, so that
 * a member which ends on its own loop before the last one is made finds itself in the table.
 */
#include <errno.h>

#include "actor/class_sized.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "system/directory/group_keeper.h"
#include "system/directory/groups.h"
#include "system/outside_count.h"
#include "system/system.h"

/* A group that is being made. */
struct making {
	struct gyre_system *system;
	struct gy_home *home; /* NULL outside of actors */
	struct gyre_group_options options;
	struct gy_spawn_order order;	/* its argument is the one to be copied */
	struct gy_group_keeper *keeper; /* until the group has it; NULL for none */
	uint32_t count;
	uint32_t made;
	struct gyre_address *addresses; /* of those that were made */
};

static int copy_argument(struct making *making, struct gyre_mail **ret_copy)
{
	const struct gyre_mail *argument = making->order.argument;

	*ret_copy = NULL;
	if (argument == NULL) {
		return 0;
	}
	*ret_copy = gy_mail_copy(making->home, argument);
	return *ret_copy == NULL ? -ENOMEM : 0;
}

static int make_one(struct making *making)
{
	struct gyre_system *system = making->system;
	struct gyre_address *address = &making->addresses[making->made];
	struct gy_spawn_order order = making->order;
	bool on_each = making->options.count == 0 && !gy_group_is_elastic(&making->options);
	uint32_t loop = on_each ? making->made
				: gy_add_relaxed(&system->next_loop[false], 1) %
					  gy_loops_count(system->homes.loops);
	int r = copy_argument(making, &order.argument);

	if (r == 0) {
		r = making->home == NULL
			    ? gy_spawn_from_outside(&system->homes.homes[loop], &order, address)
			    : gy_spawn(making->home, &order, (uint16_t)loop, address);
	}
	making->made += r == 0;
	return r;
}

void gy_group_stop_made(struct gyre_system *system, struct gy_home *home, struct gyre_address to)
{
	if (home != NULL) {
		(void)gy_send_signal(home, to, &gy_type_stop, GY_MAIL_EVENT);
	} else {
		gy_stop_from_outside(&system->homes.homes[to.loop], to);
	}
}

/* Stops the members that were made before one could not be. */
static void stop_made(struct making *making)
{
	for (uint32_t i = 0; i < making->made; i++) {
		gy_group_stop_made(making->system, making->home, making->addresses[i]);
	}
}

static int make_members(struct making *making, struct gy_group *group)
{
	int r = 0;

	making->order.group = group->address;
	making->order.counted =
		group->routing == GYRE_ROUTING_LESS_LOADED || gy_group_is_elastic(&making->options);
	if (making->options.count == 0 && !gy_group_is_elastic(&making->options)) {
		making->count = gy_loops_count(making->system->homes.loops);
	}
	if (making->options.count == 0 || gy_group_is_elastic(&making->options)) {
		r = gy_group_set_recipe(group, &making->order);
	}
	while (r == 0 && making->made < making->count) {
		r = make_one(making);
	}
	if (r == 0) {
		r = gy_group_add(gy_groups_of(making->system), group, making->addresses,
				 making->count, true);
	}
	if (r < 0) {
		stop_made(making);
	}
	return r;
}

static void publish(struct making *making, struct gy_groups *groups, struct gy_group *group,
		    struct gyre_address *ret_address)
{
	*ret_address = gy_address_shown(&groups->homes->homes[0], group->address);
	group->keeper = making->keeper;
	gy_group_publish(groups, group);
	if (group->keeper != NULL) {
		making->keeper = NULL;
		gy_group_keeper_start(groups, group);
	}
}

static int make_group(struct making *making, struct gyre_address *ret_address)
{
	struct gy_groups *groups = gy_groups_of(making->system);
	struct gy_group *group;
	int r;

	(void)pthread_mutex_lock(&groups->mutex);
	r = gy_group_make(groups, &making->options, true, &group);
	if (r == 0) {
		r = make_members(making, group);
		if (r < 0) {
			gy_group_end(groups, group);
		} else {
			publish(making, groups, group, ret_address);
		}
	}
	(void)pthread_mutex_unlock(&groups->mutex);
	return r;
}

/* Takes what it needs of memory, besides the members'. */
static int prepare(struct making *making)
{
	const struct gyre_group_options *options = &making->options;

	making->count = options->count == 0 ? making->system->options.loops_max : options->count;
	if (gy_group_is_elastic(options)) {
		making->keeper = gy_group_keeper_create(making->system, options);
		if (making->keeper == NULL) {
			return -ENOMEM;
		}
		making->count = options->count == 0 ? making->keeper->count_min : options->count;
	}
	making->addresses =
		(struct gyre_address *)gy_memory_get(making->count * sizeof(*making->addresses));
	return making->addresses == NULL ? -ENOMEM : 0;
}

static int make(struct making *making, struct gyre_address *ret_address)
{
	const struct gyre_mail *argument = making->order.argument;
	int r = ret_address == NULL || !gy_group_options_are_valid(&making->options) ||
				(argument != NULL && !gy_type_can_be_copied(argument->type))
			? -EINVAL
			: 0;

	if (r == 0) {
		r = prepare(making);
	}
	if (r == 0) {
		r = make_group(making, ret_address);
	}
	gy_memory_put(making->keeper);
	gy_memory_put(making->addresses);
	gy_mail_put_anywhere(making->home, making->order.argument);
	return r;
}

/* ---- what both calls share ---- */

/* Takes options and class in; @argument goes if that fails. */
static int take_given(struct making *making, const struct gyre_group_options *options,
		      struct gyre_sizes sizes, struct gyre_mail *argument)
{
	struct gy_homes *homes = &making->system->homes;
	int r = GY_SIZED_READ(gyre_group_options, &making->options, options, sizes.options,
			      homes->log);

	if (r == 0) {
		r = gy_class_sized(homes, &making->order.class, sizes.actor_class);
	}
	if (r < 0) {
		gy_mail_put_anywhere(making->home, argument);
	}
	return r;
}

/* Makes a group of other than one member. */
static int make_with(struct making *making, struct gyre_mail *argument,
		     struct gyre_address *ret_address)
{
	int r = gy_take_argument(argument, &making->order.argument);

	if (r < 0) {
		return r;
	}
	making->order.argument = gy_mail_given(making->home, making->order.argument);
	return make(making, ret_address);
}

int gyre_group_spawn_sized(struct gyre_stack *stack, const struct gyre_class *actor_class,
			   struct gyre_mail *argument, const struct gyre_group_options *options,
			   struct gyre_sizes sizes, struct gyre_address *ret_address)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct making making = { .system = house->home->options.system, .home = house->home };
	int r;

	making.order.class = actor_class;
	r = take_given(&making, options, sizes, argument);
	if (r < 0) {
		return r;
	}
	if (making.options.count == 1 && !gy_group_is_elastic(&making.options)) {
		const struct gyre_spawn_options one = { .detached = making.options.detached };

		return gyre_spawn(stack, making.order.class, argument, &one, ret_address);
	}
	if (!making.options.detached) {
		making.order.parent = house;
		making.order.child_of = house->self;
	}
	return make_with(&making, argument, ret_address);
}

int gyre_system_group_spawn_sized(struct gyre_system *system, const struct gyre_class *actor_class,
				  struct gyre_mail *argument,
				  const struct gyre_group_options *options, struct gyre_sizes sizes,
				  struct gyre_address *ret_address)
{
	struct making making = { .system = system };
	int r;

	if (system == NULL || gy_load_relaxed(&system->stop) != 0) {
		gyre_mail_destroy(NULL, argument);
		return system == NULL ? -EINVAL : -ESHUTDOWN;
	}
	making.order.class = actor_class;
	r = take_given(&making, options, sizes, argument);
	if (r < 0) {
		return r;
	}
	if (making.options.count == 1 && !gy_group_is_elastic(&making.options)) {
		return gyre_system_spawn(system, making.order.class, argument, NULL, ret_address);
	}
	return make_with(&making, argument, ret_address);
}
