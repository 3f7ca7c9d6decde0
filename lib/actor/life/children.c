/*
 * Joining, leaving and stopping families.
 */
#include "actor/life/children.h"

#include <errno.h>

#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

enum { BITS = 64 };

static const struct gyre_type type_order = { .name = "stop children", .id = 0x09 };

static struct gy_family *find(const struct gy_home *home, struct gy_origin parent)
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
	       find(parent->home, parent->self) != NULL;
}

static struct gy_family *make(struct gy_home *home, struct gy_origin parent)
{
	struct gy_family *family = (struct gy_family *)gy_sizes_new(&home->parts, sizeof(*family));

	if (family == NULL) {
		return NULL;
	}
	*family = (struct gy_family){ .item.key = gy_origin_key(parent), .parent = parent };
	if (gy_table_add(&home->families, &home->parts, &family->item) < 0) {
		gy_sizes_delete(&home->parts, family, sizeof(*family));
		return NULL;
	}
	return family;
}

static void delete_family(struct gy_home *home, struct gy_family *family)
{
	gy_table_remove(&home->families, &home->parts, &family->item);
	if (home->recent_family == family) {
		home->recent_family = NULL;
	}
	gy_sizes_delete(&home->parts, family, sizeof(*family));
}

int gy_family_join(struct gy_house *house, struct gy_origin parent)
{
	struct gy_home *home = house->home;
	struct gy_family *family = home->recent_family;
	struct gy_house *first;

	house->family = NULL;
	if (parent.cookie == 0) {
		return 0;
	}
	if (family == NULL || !gy_origin_equal(family->parent, parent)) {
		family = find(home, parent);
		family = family != NULL ? family : make(home, parent);
		if (family == NULL) {
			return -ENOMEM;
		}
		home->recent_family = family;
	}
	house->family = family;
	if (family->count++ == 0) {
		family->first = house->self.slot;
		house->next_sibling = house->self.slot;
		house->previous_sibling = house->self.slot;
		return 0;
	}
	first = gy_house_at(home, family->first);
	house->next_sibling = family->first;
	house->previous_sibling = first->previous_sibling;
	gy_house_at(home, first->previous_sibling)->next_sibling = house->self.slot;
	first->previous_sibling = house->self.slot;
	return 0;
}

static void report(struct gy_house *parent);

/* Ends a family whose last child has left. */
static void end(struct gy_home *home, struct gy_family *family)
{
	struct gy_origin parent = family->parent;
	struct gyre_mail *order = family->order;

	gy_assert(family->count == 0 && (order == NULL || parent.loop != home->loop.index));
	delete_family(home, family);
	if (order != NULL) {
		order->node.kind = GY_MAIL_CHILDREN_GONE;
		gy_loop_send(&home->loop, parent.loop, &order->node);
	} else if (parent.loop == home->loop.index) {
		struct gy_house *house = gy_house_at(home, parent.slot);

		if (house->status == GY_HOUSE_STOPPING) {
			report(house);
		}
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
	house->family = NULL;
	gy_house_at(home, house->next_sibling)->previous_sibling = house->previous_sibling;
	gy_house_at(home, house->previous_sibling)->next_sibling = house->next_sibling;
	family->first = house->next_sibling;
	if (--family->count == 0) {
		end(home, family);
	}
}

/* Orders all children to stop. True if there are none; else the last one reports. */
static bool stop_family(struct gy_home *home, struct gy_origin parent, struct gyre_mail *order)
{
	struct gy_family *family = find(home, parent);
	uint32_t slot;

	if (family == NULL) {
		return true;
	}
	family->order = order;
	slot = family->first;
	for (uint32_t i = 0; i < family->count; i++) {
		struct gy_house *child = gy_house_at(home, slot);

		slot = child->next_sibling;
		if (child->status != GY_HOUSE_STOPPING) {
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
	gy_house_children_gone(children->parent);
}

/* All children are gone. A long line of ancestors must not end on one C stack. */
static void tell(struct gy_children *children)
{
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

	gy_assert(parent->status == GY_HOUSE_STOPPING && children->reports > 0);
	if (--children->reports == 0 && children->ordered) {
		tell(children);
	}
}

int gy_children_add(struct gy_house *parent, uint16_t loop)
{
	struct gy_home *home = parent->home;
	struct gy_house_extra *extra = gy_house_extra_get(parent);
	size_t bytes = children_bytes(home);

	gy_assert(loop < home->loop.peers->max);
	if (extra == NULL) {
		return -ENOMEM;
	}
	if (extra->children == NULL) {
		extra->children = (struct gy_children *)gy_sizes_new(&home->parts, bytes);
		if (extra->children == NULL) {
			return -ENOMEM;
		}
		memset(extra->children, 0, bytes);
		extra->children->parent = parent;
		gy_timer_init(&extra->children->again, retry_orders);
	}
	extra->children->loops[loop / BITS] |= UINT64_C(1) << loop % BITS;
	return 0;
}

/* The origin by which the children know their parent: a stopping house has another cookie
 * already. */
static struct gy_origin origin_of(const struct gy_house *parent)
{
	struct gy_origin origin = parent->self;

	origin.cookie = gy_house_last_cookie(parent);
	return origin;
}

/* Orders one loop to stop its children; an order that lacks memory is left for later. */
static void order_one(struct gy_children *children, uint16_t loop)
{
	struct gy_home *home = children->parent->home;
	struct gy_origin parent = origin_of(children->parent);
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
	if (left != 0) {
		gy_timer_start(&loop->wheel, &children->again, GYRE_MILLISECONDS(1));
	}
	return children->ordered && children->reports == 0;
}

bool gy_children_stop(struct gy_house *house)
{
	return house->extra == NULL || house->extra->children == NULL ||
	       order_all(house->extra->children);
}

void gy_children_fini(struct gy_house *house)
{
	struct gy_children *children = house->extra == NULL ? NULL : house->extra->children;

	if (children != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &children->again);
		gy_sizes_delete(&house->home->parts, children, children_bytes(house->home));
		house->extra->children = NULL;
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

	if (family == NULL) {
		return GYRE_NOBODY;
	}
	return gy_address_shown(gy_stack_of_const(stack)->house->home,
				gy_origin_address(family->parent));
}
