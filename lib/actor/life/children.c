/*
 * Joining, leaving and stopping families.
 */
#include "actor/life/children.h"

#include <errno.h>

#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/life/restart_window.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

enum { BITS = 64 };

static const struct gyre_type type_order = { .name = "stop children", .id = 0x09 };

struct gy_family *gy_family_find(const struct gy_home *home, struct gy_origin parent)
{
	struct gy_table_item *item = gy_table_find(&home->families, gy_origin_key(parent));

	for (; item != NULL; item = item->next) {
		struct gy_family *family = gy_container_of(item, struct gy_family, item);

		if (gy_origin_equal(family->parent, parent)) {
			return family;
		}
	}
	return NULL;
}

bool gy_family_has_local_children(const struct gy_house *parent)
{
	return parent->extra != NULL && parent->extra->children != NULL &&
	       gy_family_find(parent->home, parent->self) != NULL;
}

void gy_families_init(struct gy_home *home)
{
	for (uint32_t root = 0; root < GY_ROOTS; root++) {
		home->roots[root] = (struct gy_family){ .root = (enum gy_root)root };
	}
}

static GY_COLD struct gy_family *make(struct gy_home *home, struct gy_origin parent,
				      struct gy_lineage *lineage)
{
	struct gy_family *family = (struct gy_family *)gy_sizes_new(&home->parts, sizeof(*family));
	int r;

	if (family == NULL) {
		return NULL;
	}
	*family = (struct gy_family){ .item.key = gy_origin_key(parent),
				      .parent = parent,
				      .root = lineage->root,
				      .lineage = lineage };
	(void)pthread_mutex_lock(&home->slots.mutex);
	r = gy_table_add(&home->families, &home->parts, &family->item);
	(void)pthread_mutex_unlock(&home->slots.mutex);
	if (r < 0) {
		gy_sizes_delete(&home->parts, family, sizeof(*family));
		return NULL;
	}
	return family;
}

static void delete_family(struct gy_home *home, struct gy_family *family)
{
	(void)pthread_mutex_lock(&home->slots.mutex);
	gy_table_remove(&home->families, &home->parts, &family->item);
	(void)pthread_mutex_unlock(&home->slots.mutex);
	if (home->recent_family == family) {
		home->recent_family = NULL;
	}
	gy_sizes_delete(&home->parts, family, sizeof(*family));
}

/* Other threads follow the ring forwards. */
static void set_next(struct gy_house *house, uint32_t slot)
{
	gy_store_relaxed(&house->next_sibling, slot);
}

static void join(struct gy_house *house, struct gy_family *family)
{
	const struct gy_home *home = house->home;
	uint32_t slot = house->self.slot;
	struct gy_house *first;

	gy_store_relaxed(&house->family, family);
	gy_store_relaxed(&family->count, family->count + 1);
	if (family->count == 1) {
		set_next(house, slot);
		house->previous_sibling = slot;
		gy_store_relaxed(&family->first, slot);
		return;
	}
	first = gy_house_at(home, family->first);
	set_next(house, family->first);
	house->previous_sibling = first->previous_sibling;
	set_next(gy_house_at(home, first->previous_sibling), slot);
	first->previous_sibling = slot;
}

/* The family of a parent that is not nobody, made if need be; NULL when there is no memory. */
static struct gy_family *get(struct gy_home *home, struct gy_origin parent,
			     struct gy_lineage *lineage)
{
	struct gy_family *family = home->recent_family;

	if (family == NULL || !gy_origin_equal(family->parent, parent)) {
		family = gy_family_find(home, parent);
		family = family != NULL ? family : make(home, parent, lineage);
		home->recent_family = family;
	}
	return family;
}

int gy_family_join(struct gy_house *house, struct gy_origin parent, const struct gy_kin *kin)
{
	struct gy_home *home = house->home;
	enum gy_root root = house->channels_actor ? GY_ROOT_SYSTEM : GY_ROOT_USER;
	struct gy_family *family =
		parent.cookie == 0 ? &home->roots[root] : get(home, parent, kin->lineage);

	gy_store_relaxed(&house->family, NULL); /* one that has lost its parent is seen already */
	if (family == NULL) {
		return -ENOMEM;
	}
	gy_store_relaxed(&house->number, kin->number);
	join(house, family);
	return 0;
}

static void report(struct gy_house *parent);

/* A parent that is another loop's is told nothing. */
static void tell_emptied(const struct gy_home *home, struct gy_origin origin)
{
	struct gy_house *parent = origin.loop == home->loop.index
					  ? gy_house_find_occupied(home, origin.slot, origin.cookie)
					  : NULL;

	if (parent != NULL && !gy_house_is_away(parent) && parent->extra != NULL &&
	    parent->extra->emptied != NULL) {
		parent->extra->emptied(parent);
	}
}

/* Ends a family whose last child has left. */
static GY_COLD void end(struct gy_home *home, struct gy_family *family)
{
	struct gy_origin parent = family->parent;
	struct gyre_mail *order = family->order;
	bool ordered = family->ordered;

	gy_assert(family->count == 0 && parent.cookie != 0 &&
		  (order == NULL || parent.loop != home->loop.index));
	delete_family(home, family);
	if (order != NULL) {
		order->node.kind = GY_MAIL_CHILDREN_GONE;
		gy_loop_send(&home->loop, parent.loop, &order->node);
	} else if (ordered) {
		report(gy_house_at(home, parent.slot));
	} else {
		tell_emptied(home, parent);
	}
}

void gy_family_leave(struct gy_house *house)
{
	struct gy_home *home = house->home;
	struct gy_family *family = house->family;

	if (family == NULL) {
		return;
	}
	gy_assert(family->count > 0);
	gy_store_relaxed(&house->family, NULL);
	gy_house_at(home, house->next_sibling)->previous_sibling = house->previous_sibling;
	set_next(gy_house_at(home, house->previous_sibling), house->next_sibling);
	gy_store_relaxed(&family->first, house->next_sibling);
	gy_store_relaxed(&family->count, family->count - 1);
	if (family->count == 0 && family->parent.cookie != 0) {
		end(home, family);
	}
}

void gy_family_orphan(struct gy_house *house)
{
	const struct gy_kin kin = gy_kin_of_orphan(gy_homes_of(house->home->options.system));
	int r;

	house->extra->parts = false;
	gy_family_leave(house);
	r = gy_family_join(house, (struct gy_origin){ 0 }, &kin);
	gy_assert(r == 0); /* a root is always there */
	(void)r;
}

/* Whether an order to stop is not for it. The extra part of one that is away is the thief's, and
 * whoever has a channel to part from its parent for stays at home. */
static bool is_exempt(const struct gy_house *child)
{
	return child->status == GY_HOUSE_STOPPING ||
	       (!gy_house_is_away(child) && child->extra != NULL && child->extra->parts);
}

/* Orders all children to stop. True if there are none; else the last one that leaves reports. */
static bool stop_family(struct gy_home *home, struct gy_origin parent, struct gyre_mail *order)
{
	struct gy_family *family = gy_family_find(home, parent);
	uint32_t slot;

	if (family == NULL) {
		return true;
	}
	family->order = order;
	family->ordered = order == NULL;
	slot = family->first;
	for (uint32_t i = 0; i < family->count; i++) {
		struct gy_house *child = gy_house_at(home, slot);

		slot = child->next_sibling;
		if (!is_exempt(child)) {
			gy_house_order_stop(child);
		}
	}
	return false;
}

/* ---- the parent's side ---- */

static size_t children_bytes(const struct gy_home *home)
{
	return sizeof(struct gy_children) +
	       (home->loop.peers->max + BITS - 1) / BITS * sizeof(uint64_t);
}

static bool order_all(struct gy_children *children);

static void tell_later(struct gy_loop *loop, struct gy_later *later)
{
	struct gy_children *children = gy_container_of(later, struct gy_children, gone);

	(void)loop;
	children->telling = false;
	gy_house_children_gone(children->parent);
}

/* All children are gone. A long line of ancestors must not end on one C stack. */
static void tell(struct gy_children *children)
{
	gy_assert(!children->telling);
	children->telling = true;
	children->gone.run = tell_later;
	gy_loop_later(&children->parent->home->loop, &children->gone);
}

static void retry_orders(struct gy_timer *timer)
{
	struct gy_children *children = gy_container_of(timer, struct gy_children, again);

	if (order_all(children)) {
		tell(children);
	}
}

static void report(struct gy_house *parent)
{
	struct gy_children *children = parent->extra->children;

	gy_assert(children->reports > 0);
	if (--children->reports == 0 && children->ordered) {
		tell(children);
	}
}

/* NULL when there is no memory. */
static GY_COLD struct gy_children *make_children(struct gy_house *parent)
{
	struct gy_home *home = parent->home;
	size_t bytes = children_bytes(home);
	struct gy_children *children = (struct gy_children *)gy_sizes_new(&home->parts, bytes);
	struct gy_lineage *lineage = children == NULL ? NULL : gy_lineage_make(parent);

	if (lineage == NULL) {
		if (children != NULL) {
			gy_sizes_delete(&home->parts, children, bytes);
		}
		return NULL;
	}
	memset(children, 0, bytes);
	children->parent = parent;
	children->lineage = lineage;
	gy_timer_init(&children->again, retry_orders);
	return children;
}

int gy_children_add(struct gy_house *parent, uint16_t loop, struct gy_kin *ret_kin)
{
	struct gy_house_extra *extra = gy_house_extra_get(parent);
	struct gy_children *children;

	gy_assert(loop < parent->home->loop.peers->max);
	if (extra == NULL) {
		return -ENOMEM;
	}
	if (extra->children == NULL) {
		extra->children = make_children(parent);
	}
	children = extra->children;
	if (children == NULL) {
		return -ENOMEM;
	}
	children->loops[loop / BITS] |= UINT64_C(1) << loop % BITS;
	*ret_kin = (struct gy_kin){ children->lineage, ++children->spawned };
	return 0;
}

struct gy_kin gy_kin_of_orphan(struct gy_homes *homes)
{
	return (struct gy_kin){ .number = gy_add_relaxed(&homes->orphans, 1) + 1 };
}

/* Orders one loop to stop its children; an order that lacks memory is left for later. */
static void order_one(struct gy_children *children, uint16_t loop)
{
	struct gy_home *home = children->parent->home;
	struct gy_origin parent = children->parent->self;
	struct gyre_mail *mail = NULL;

	if (loop != home->loop.index) {
		mail = gy_mail_get(home, &type_order);
		if (mail == NULL) {
			return;
		}
		mail->node.kind = GY_MAIL_STOP_CHILDREN;
		mail->from = parent;
	}
	children->loops[loop / BITS] &= ~(UINT64_C(1) << loop % BITS);
	if (mail != NULL) {
		children->reports++;
		gy_loop_send(&home->loop, loop, &mail->node);
	} else {
		children->reports += !stop_family(home, parent, NULL);
	}
}

/* Orders all loops that have children. True when no order or report is outstanding. */
static bool order_all(struct gy_children *children)
{
	struct gy_loop *loop = &children->parent->home->loop;
	uint64_t left = 0;

	for (uint32_t i = 0; i < (loop->peers->max + BITS - 1) / BITS; i++) {
		for (uint64_t bits = children->loops[i]; bits != 0; bits &= bits - 1) {
			order_one(children, (uint16_t)(i * BITS + (uint32_t)__builtin_ctzll(bits)));
		}
		left |= children->loops[i];
	}
	children->ordered = left == 0;
	gy_timer_stop(&loop->wheel, &children->again);
	if (left != 0) {
		gy_timer_start(&loop->wheel, &children->again, GYRE_MILLISECONDS(1));
	}
	return children->ordered && children->reports == 0;
}

bool gy_children_stop(struct gy_house *house)
{
	struct gy_children *children = house->extra == NULL ? NULL : house->extra->children;

	return children == NULL || (!children->telling && order_all(children));
}

void gy_children_fini(struct gy_house *house)
{
	struct gy_children *children = house->extra == NULL ? NULL : house->extra->children;

	if (children != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &children->again);
		gy_assert(!children->telling);
		gy_lineage_unref(house, children->lineage);
		if (children->restarts != NULL) {
			gy_sizes_delete(&house->home->parts, children->restarts,
					sizeof(*children->restarts));
		}
		gy_sizes_delete(&house->home->parts, children, children_bytes(house->home));
		house->extra->children = NULL;
	}
}

bool gy_children_may_be_left(const struct gy_house *parent)
{
	const struct gy_children *children = parent->extra == NULL ? NULL : parent->extra->children;
	uint32_t own = parent->home->loop.index;

	return children != NULL &&
	       (gy_family_has_local_children(parent) || gy_children_next_loop(children, 0) != own ||
		gy_children_next_loop(children, own + 1) != UINT32_MAX);
}

uint32_t gy_children_next_loop(const struct gy_children *children, uint32_t from)
{
	uint32_t max = children->parent->home->loop.peers->max;

	for (uint32_t loop = from; loop < max; loop++) {
		if ((children->loops[loop / BITS] >> loop % BITS & 1) != 0) {
			return loop;
		}
	}
	return UINT32_MAX;
}

struct gy_restart_window *gy_children_restarts(struct gy_house *parent)
{
	struct gy_children *children = parent->extra->children;

	if (children->restarts == NULL) {
		children->restarts = (struct gy_restart_window *)gy_sizes_new(
			&parent->home->parts, sizeof(*children->restarts));
		if (children->restarts != NULL) {
			*children->restarts = (struct gy_restart_window){ 0 };
		}
	}
	return children->restarts;
}

void gy_children_forget_restarts(struct gy_house *parent)
{
	const struct gy_children *children = parent->extra == NULL ? NULL : parent->extra->children;

	if (children != NULL && children->restarts != NULL) {
		*children->restarts = (struct gy_restart_window){ 0 };
	}
}

/* ---- between homes ---- */

void gy_family_order_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct gy_origin parent = mail->from;

	if (stop_family(home, parent, mail)) {
		mail->node.kind = GY_MAIL_CHILDREN_GONE;
		gy_loop_send(&home->loop, parent.loop, &mail->node);
	}
}

void gy_family_report_arrived(struct gy_home *home, struct gyre_mail *mail)
{
	struct gy_house *parent = gy_house_at(home, mail->from.slot);

	gy_mail_put(home, mail);
	report(parent);
}

struct gyre_address gyre_parent(const struct gyre_stack *stack)
{
	const struct gy_family *family = gy_stack_of_const(stack)->house->family;

	if (family->parent.cookie == 0) {
		return GYRE_NOBODY;
	}
	return gy_address_shown(gy_stack_of_const(stack)->house->home,
				gy_origin_address(family->parent));
}
