/*
 * Looking for members. A look reads two lists that others may replace meanwhile: what it finds were
 * members at some moment of the look, and a member that stays is found.
 */
#include <errno.h>

#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/random.h"
#include "system/directory/directory.h"
#include "system/system.h"

/* Who looks. */
struct view {
	struct gyre_system *system;
	const struct gy_home *home; /* whose life the addresses of this node have */
	uint16_t loop;		    /* the own one; GY_LOOP_NONE outside of loops */
};

/* What is found, of one list after the other. */
struct finding {
	struct gyre_address *members;
	uint32_t members_max;
	uint32_t count;
};

/* One that has not left, and can be read as a whole. */
static bool is_there(const struct gyre_address *address)
{
	return gy_load_relaxed(&address->cookie) != 0;
}

static struct gyre_address shown(const struct view *view, const struct gyre_address *address)
{
	struct gyre_address shown = { .slot = address->slot,
				      .cookie = gy_load_relaxed(&address->cookie),
				      .loop = address->loop,
				      .node = address->node,
				      .life = address->life };

	if (shown.node == view->home->node) {
		shown.life = gy_load_relaxed(&view->home->life);
	}
	return shown;
}

static void find_in(const struct view *view, struct gy_service_list *const *at,
		    struct finding *finding)
{
	const struct gy_service_list *list = gy_load_acquire(at);
	uint32_t count = list == NULL ? 0 : gy_load_acquire(&list->count);

	for (uint32_t i = 0; i < count; i++) {
		struct gyre_address address = shown(view, &list->places[i].address);

		if (address.cookie == 0) {
			continue;
		}
		if (finding->count < finding->members_max) {
			finding->members[finding->count] = address;
		}
		finding->count++;
	}
	if (list != NULL) {
		gy_happens_before(list);
	}
}

uint32_t gy_service_members(struct gyre_system *system, const struct gy_home *home,
			    const struct gy_service *service, uint32_t members_max,
			    struct gyre_address *members)
{
	const struct view view = { system, home, home->loop.index };
	struct finding finding = { members, members_max, 0 };

	find_in(&view, &service->own, &finding);
	find_in(&view, &service->foreign, &finding);
	return finding.count;
}

/* ---- find ---- */

static struct view view_of(const struct gyre_stack *stack)
{
	const struct gy_stack *s = gy_stack_of_const(stack);

	return (struct view){ s->house->home->options.system, s->house->home, s->home->loop.index };
}

static struct view view_from_outside(struct gyre_system *system)
{
	return (struct view){ system, &system->homes.homes[0], GY_LOOP_NONE };
}

/* Without memory other nodes are not heard of yet; the next call tries again. */
static void take_part(const struct view *view)
{
	(void)gy_services_take_part(view->system);
}

static int find(const struct view *view, const struct gyre_service *service, uint32_t members_max,
		struct gyre_address *members, uint32_t *ret_count)
{
	struct gy_service *found;
	struct gy_service_key key;
	bool entered;

	if (gy_service_key_make(&view->system->directory->services, service, &key) < 0 ||
	    ret_count == NULL || (members == NULL && members_max > 0)) {
		return -EINVAL;
	}
	take_part(view);
	*ret_count = 0;
	entered = gy_rcu_enter();
	found = gy_service_find(&view->system->directory->services, &key);
	if (found != NULL) {
		*ret_count =
			gy_service_members(view->system, view->home, found, members_max, members);
		gy_happens_before(found);
	}
	gy_rcu_leave(entered);
	return 0;
}

int gyre_service_find(const struct gyre_stack *stack, const struct gyre_service *service,
		      uint32_t members_max, struct gyre_address *members, uint32_t *ret_count)
{
	const struct view view = view_of(stack);

	return find(&view, service, members_max, members, ret_count);
}

int gyre_system_service_find(struct gyre_system *system, const struct gyre_service *service,
			     uint32_t members_max, struct gyre_address *members,
			     uint32_t *ret_count)
{
	struct view view;

	if (system == NULL) {
		return -EINVAL;
	}
	view = view_from_outside(system);
	return find(&view, service, members_max, members, ret_count);
}

/* ---- pick ---- */

/* The first from @start on, round the list, that is there, and on that loop if one is named. */
static bool pick_in(const struct view *view, struct gy_service_list *const *at, uint64_t start,
		    uint16_t loop, struct gyre_address *ret_address)
{
	const struct gy_service_list *list = gy_load_acquire(at);
	uint32_t count = list == NULL ? 0 : gy_load_acquire(&list->count);
	bool is_found = false;

	for (uint32_t i = 0; i < count && !is_found; i++) {
		const struct gyre_address *address = &list->places[(start + i) % count].address;

		if (is_there(address) && (loop == GY_LOOP_NONE || address->loop == loop)) {
			*ret_address = shown(view, address);
			is_found = ret_address->cookie != 0;
		}
	}
	if (list != NULL) {
		gy_happens_before(list);
	}
	return is_found;
}

static uint32_t count_of(struct gy_service_list *const *at)
{
	const struct gy_service_list *list = gy_load_acquire(at);
	uint32_t count = list == NULL ? 0 : gy_load_acquire(&list->count);

	if (list != NULL) {
		gy_happens_before(list);
	}
	return count;
}

/* Of both lists as if they were one. */
static bool pick_any(const struct view *view, struct gy_service *service, uint64_t start,
		     struct gyre_address *ret_address)
{
	uint64_t own = count_of(&service->own);
	uint64_t all = own + count_of(&service->foreign);
	uint64_t place = all == 0 ? 0 : start % all;

	if (place < own && pick_in(view, &service->own, place, GY_LOOP_NONE, ret_address)) {
		return true;
	}
	return pick_in(view, &service->foreign, place < own ? start : place - own, GY_LOOP_NONE,
		       ret_address) ||
	       pick_in(view, &service->own, start, GY_LOOP_NONE, ret_address);
}

/* Round robin takes no part of a lock, but writes a line that all who pick share. */
static uint64_t start_of(struct gy_service *service, uint32_t how)
{
	uint64_t seed;

	if ((how & ~(uint32_t)GYRE_PICK_OWN_NODE) != GYRE_PICK_RANDOM) {
		return gy_add_relaxed(&service->turn, 1);
	}
	seed = (uint64_t)gy_add_relaxed(&service->turn, 1) << 32 ^ service->seed;
	return gy_random_next(&seed);
}

static bool pick_of(const struct view *view, struct gy_service *service, uint32_t how,
		    struct gyre_address *ret_address)
{
	uint64_t start = start_of(service, how);

	if (how == GYRE_PICK_NEAR && view->loop != GY_LOOP_NONE &&
	    pick_in(view, &service->own, start, view->loop, ret_address)) {
		return true;
	}
	if ((how == GYRE_PICK_NEAR || (how & GYRE_PICK_OWN_NODE) != 0) &&
	    pick_in(view, &service->own, start, GY_LOOP_NONE, ret_address)) {
		return true;
	}
	return pick_any(view, service, start, ret_address);
}

static bool is_valid(uint32_t how)
{
	return how == GYRE_PICK_NEAR ||
	       (how & ~(uint32_t)(GYRE_PICK_RANDOM | GYRE_PICK_OWN_NODE)) == 0;
}

static int pick(const struct view *view, const struct gyre_service *service, uint32_t how,
		struct gyre_address *ret_address)
{
	struct gy_service *found;
	struct gy_service_key key;
	bool entered;
	bool is_found = false;

	if (gy_service_key_make(&view->system->directory->services, service, &key) < 0 ||
	    ret_address == NULL || !is_valid(how)) {
		return -EINVAL;
	}
	take_part(view);
	entered = gy_rcu_enter();
	found = gy_service_find(&view->system->directory->services, &key);
	if (found != NULL) {
		is_found = pick_of(view, found, how, ret_address);
		gy_happens_before(found);
	}
	gy_rcu_leave(entered);
	return is_found ? 0 : -ENOENT;
}

int gyre_service_pick(const struct gyre_stack *stack, const struct gyre_service *service,
		      uint32_t how, struct gyre_address *ret_address)
{
	const struct view view = view_of(stack);

	return pick(&view, service, how, ret_address);
}

int gyre_system_service_pick(struct gyre_system *system, const struct gyre_service *service,
			     uint32_t how, struct gyre_address *ret_address)
{
	struct view view;

	if (system == NULL) {
		return -EINVAL;
	}
	view = view_from_outside(system);
	return pick(&view, service, how, ret_address);
}
