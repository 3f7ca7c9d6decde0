/*
 * What this node tells others about its services, and what they have told.
 *
 * Each join and each leave of an actor here has the next number. Members stand in the order of
 * their last one; one that has left stays until all nodes that are told know. So what a node is to
 * be told is what stands behind the number that it knows up to. A node that knows nothing, or less
 * than was forgotten, is told all that there is, from the first on; when that has been told, what
 * it was told before and not again has left.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/memory/memory.h"
#include "remote/message/service_report.h"
#include "system/directory/directory.h"

enum { MEMBERS_MAX = 2 * GYRE_SERVICE_MEMBERSHIPS_MAX }; /* of another node */

/* ---- out ---- */

uint32_t gy_service_report_bytes(uint32_t name_bytes)
{
	return (uint32_t)sizeof(struct gy_service_report) + GY_SERVICE_REPORT_HEAD_BYTES +
	       GY_SERVICE_CHANGE_BYTES + GY_SERVICE_NAMED_BYTES + name_bytes;
}

static struct gy_service_member *member_of(struct gy_list *change)
{
	return gy_container_of(change, struct gy_service_member, change);
}

/* The first that is to be told behind that number: from the end, where news stand. */
static struct gy_list *first_after(const struct gy_services *services, uint64_t from)
{
	struct gy_list *at = services->changes.previous;

	while (at != &services->changes && member_of(at)->version > from) {
		at = at->previous;
	}
	return at->next;
}

static bool is_same(const struct gy_service_member *member, const struct gy_service_member *before)
{
	return before != NULL && before->service == member->service;
}

static uint32_t bytes_of(const struct gy_service_member *member,
			 const struct gy_service_member *before)
{
	return is_same(member, before)
		       ? GY_SERVICE_CHANGE_BYTES
		       : GY_SERVICE_CHANGE_BYTES + GY_SERVICE_NAMED_BYTES + member->service->bytes;
}

/* Who is told all does not hear of what had left before; and nobody of what no message to it can
 * have. */
static bool is_told(const struct gy_service_member *member, uint64_t whole_up_to,
		    uint32_t alone_max)
{
	return (!member->has_left || member->version > whole_up_to) &&
	       GY_SERVICE_REPORT_HEAD_BYTES + bytes_of(member, NULL) <= alone_max;
}

void gy_services_plan_report(const struct gy_services *services, uint64_t from,
			     uint64_t whole_up_to, uint32_t bytes_max, uint32_t alone_max,
			     struct gy_service_report_plan *ret_plan)
{
	const struct gy_service_member *before = NULL;
	struct gy_service_report_plan plan = { .from = from,
					       .to = services->changed,
					       .bytes = GY_SERVICE_REPORT_HEAD_BYTES,
					       .alone_max = alone_max };

	for (struct gy_list *at = first_after(services, from); at != &services->changes;
	     at = at->next) {
		const struct gy_service_member *member = member_of(at);

		if (!is_told(member, whole_up_to, alone_max)) {
			continue;
		}
		if (plan.count > 0 && plan.bytes + bytes_of(member, before) > bytes_max) {
			plan.to = member->version - 1;
			break;
		}
		plan.bytes += bytes_of(member, before);
		plan.count++;
		before = member;
	}
	*ret_plan = plan;
}

void gy_services_write_report(const struct gy_services *services,
			      const struct gy_service_report_plan *plan, uint64_t whole_up_to,
			      struct gyre_encoder *out)
{
	const struct gy_service_member *before = NULL;
	const struct gy_service_report_head head = { plan->from, plan->to, plan->flags };

	gy_service_report_put_head(out, &head);
	for (struct gy_list *at = first_after(services, plan->from); at != &services->changes;
	     at = at->next) {
		const struct gy_service_member *member = member_of(at);
		const struct gy_service *service = member->service;

		gy_assert(member->version > plan->from);
		if (member->version > plan->to) {
			break;
		}
		if (!is_told(member, whole_up_to, plan->alone_max)) {
			continue;
		}
		gy_service_report_put_change(
			out,
			&(struct gy_service_change){
				.flags = (member->has_left ? GY_SERVICE_CHANGE_LEFT : 0U) |
					 (is_same(member, before) ? GY_SERVICE_CHANGE_SAME : 0U),
				.slot = member->address.slot,
				.cookie = member->address.cookie,
				.loop = member->address.loop,
				.id = service->id,
				.bytes = service->bytes,
				.name = service->name });
		before = member;
	}
}

void gy_services_forget(struct gy_services *services, uint64_t up_to)
{
	while (!gy_list_empty(&services->gone)) {
		struct gy_service_member *member =
			gy_container_of(services->gone.next, struct gy_service_member, mine);

		if (member->version > up_to) {
			break;
		}
		gy_assert(services->gone_count > 0 && member->has_left);
		services->gone_count--;
		gy_service_member_free(services, member);
	}
	if (services->forgotten < up_to) {
		services->forgotten = up_to;
	}
}

/* ---- in: members of other nodes ---- */

/* All leave at once: who watches a service is told when the last of them is out of its list. */
static void remove_all(struct gy_services *services, struct gy_list *leaving)
{
	for (struct gy_list *at = leaving->next; at != leaving; at = at->next) {
		gy_service_member_hide(services,
				       gy_container_of(at, struct gy_service_member, mine));
	}
	services->sweep++;
	while (!gy_list_empty(leaving)) {
		struct gy_service_member *member =
			gy_container_of(leaving->next, struct gy_service_member, mine);
		struct gy_service *service = member->service;

		if (service->sweep != services->sweep) {
			service->sweep = services->sweep;
			gy_service_changed(service);
		}
		gy_service_member_free(services, member);
	}
}

void gy_service_node_empty(struct gy_services *services, struct gy_service_node *node)
{
	remove_all(services, &node->members);
	node->count = 0;
	node->known = 0;
	node->whole = false;
}

/* A member is to be removed with others. Until then the table of members has it. */
static void begin_leave(struct gy_service_node *node, struct gy_service_member *member,
			struct gy_list *leaving)
{
	gy_assert(node->count > 0 && !member->has_left);
	member->has_left = true;
	node->count--;
	gy_list_remove(&member->mine);
	gy_list_append(leaving, &member->mine);
}

/* What of a node was told before it began to tell all, and not since, leaves, with those that are
 * leaving already. */
static void sweep(struct gy_services *services, struct gy_service_node *node,
		  struct gy_list *leaving)
{
	struct gy_list *at = node->members.next;

	while (at != &node->members) {
		struct gy_service_member *member =
			gy_container_of(at, struct gy_service_member, mine);

		at = at->next;
		if (member->generation != node->generation) {
			begin_leave(node, member, leaving);
		}
	}
	remove_all(services, leaving);
}

static struct gy_service_node *find_node(const struct gy_services *services, uint16_t id)
{
	for (struct gy_list *at = services->nodes.next; at != &services->nodes; at = at->next) {
		struct gy_service_node *node = gy_container_of(at, struct gy_service_node, item);

		if (node->id == id) {
			return node;
		}
	}
	return NULL;
}

/* What it is known by; another life has other members. NULL without memory. */
static struct gy_service_node *get_node(struct gy_services *services, uint16_t id, uint32_t life)
{
	struct gy_service_node *node = find_node(services, id);

	if (node == NULL) {
		node = (struct gy_service_node *)gy_memory_get(sizeof(*node));
		if (node == NULL) {
			return NULL;
		}
		node->id = id;
		node->life = life;
		gy_list_init(&node->members);
		gy_list_append(&services->nodes, &node->item);
	}
	if (node->life != life) {
		gy_service_node_empty(services, node);
		node->life = life;
	}
	return node;
}

/* ---- in: reports ---- */

static int check(struct gyre_decoder in)
{
	struct gy_service_change change = { 0 };
	int r;

	do {
		r = gy_service_report_get_change(&in, &change);
	} while (r > 0);
	return r;
}

/* A node that tells all once more may have had so many before. */
static int make_room(struct gy_services *services, struct gy_service_node *node,
		     struct gy_list *leaving)
{
	if (node->count >= MEMBERS_MAX && node->whole) {
		sweep(services, node, leaving);
	}
	return node->count >= MEMBERS_MAX ? -ENOBUFS : 0;
}

/* One that has left in the same report, and joined again, stays where it is. */
static int take_join(struct gy_services *services, struct gy_service_node *node,
		     const struct gy_service_key *key, struct gyre_address address,
		     struct gy_list *leaving)
{
	struct gy_service_member *member = gy_service_member_find(services, key, address);
	int r;

	if (member == NULL) {
		r = make_room(services, node, leaving);
		if (r == 0) {
			r = gy_service_member_add(services, key, address, false, &member);
		}
		if (r < 0) {
			return r;
		}
		gy_list_append(&node->members, &member->mine);
		node->count++;
	} else if (member->has_left) {
		member->has_left = false;
		gy_list_remove(&member->mine);
		gy_list_append(&node->members, &member->mine);
		node->count++;
	}
	member->generation = node->generation;
	return 0;
}

static int take_change(struct gy_services *services, struct gy_service_node *node,
		       const struct gy_service_change *change, struct gy_list *leaving)
{
	const struct gy_service_key key =
		gy_service_key_of(services, change->name, change->bytes, change->id);
	const struct gyre_address address = { .slot = change->slot,
					      .cookie = change->cookie,
					      .loop = change->loop,
					      .node = node->id,
					      .life = node->life };
	struct gy_service_member *member;

	if ((change->flags & GY_SERVICE_CHANGE_LEFT) == 0) {
		return take_join(services, node, &key, address, leaving);
	}
	member = gy_service_member_find(services, &key, address);
	if (member != NULL && !member->has_left) {
		begin_leave(node, member, leaving);
	}
	return 0;
}

/* Where memory ends is no harm: the report comes again, and what was taken of it changes nothing
 * then. */
static int take_changes(struct gy_services *services, struct gy_service_node *node,
			struct gyre_decoder *in, bool is_last)
{
	struct gy_service_change change = { 0 };
	int r = gy_service_report_get_change(in, &change);
	struct gy_list leaving;

	gy_list_init(&leaving);
	while (r > 0) {
		r = take_change(services, node, &change, &leaving);
		if (r == 0) {
			r = gy_service_report_get_change(in, &change);
		}
	}
	if (r == 0 && is_last) {
		sweep(services, node, &leaving);
		node->whole = false;
	} else {
		remove_all(services, &leaving);
	}
	return r;
}

int gy_services_take_report(struct gy_services *services, uint16_t id, uint32_t life,
			    const void *bytes, uint32_t count, uint64_t *ret_known)
{
	struct gyre_decoder in = { .at = (const unsigned char *)bytes, .left = count };
	struct gy_service_report_head head;
	struct gy_service_node *node;
	int r;

	if (count > GY_SERVICE_REPORT_BYTES_MAX || gy_service_report_get_head(&in, &head) < 0 ||
	    check(in) < 0) {
		return -EPROTO;
	}
	node = get_node(services, id, life);
	if (node == NULL) {
		*ret_known = 0;
		return 0;
	}
	if ((head.flags & GY_SERVICE_REPORT_FIRST) != 0) {
		node->known = 0;
		node->generation++;
		node->whole = true;
	} else if (head.from != node->known) {
		*ret_known = node->known;
		return 0;
	}
	r = take_changes(services, node, &in,
			 node->whole && (head.flags & GY_SERVICE_REPORT_LAST) != 0);
	if (r == 0) {
		node->known = head.to;
	}
	*ret_known = node->known;
	return r == -ENOMEM ? 0 : r;
}

void gy_services_node_lost(struct gy_services *services, uint16_t id)
{
	struct gy_service_node *node;

	(void)pthread_mutex_lock(&services->mutex);
	node = find_node(services, id);
	if (node != NULL) {
		gy_service_node_empty(services, node);
	}
	(void)pthread_mutex_unlock(&services->mutex);
}
