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
#include "base/memory.h"
#include "remote/message/service_report.h"
#include "system/directory/directory.h"

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

/* Who is told all does not hear of what had left before. */
static bool is_told(const struct gy_service_member *member, uint64_t whole_up_to)
{
	return !member->has_left || member->version > whole_up_to;
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

void gy_services_plan_report(const struct gy_services *services, uint64_t from,
			     uint64_t whole_up_to, uint32_t bytes_max,
			     struct gy_service_report_plan *ret_plan)
{
	const struct gy_service_member *before = NULL;
	struct gy_service_report_plan plan = { .from = from,
					       .to = services->changed,
					       .bytes = GY_SERVICE_REPORT_HEAD_BYTES };

	for (struct gy_list *at = first_after(services, from); at != &services->changes;
	     at = at->next) {
		const struct gy_service_member *member = member_of(at);

		if (!is_told(member, whole_up_to)) {
			continue;
		}
		if (plan.bytes + bytes_of(member, before) > bytes_max) {
			plan.to = member->version - 1;
			break;
		}
		plan.bytes += bytes_of(member, before);
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
		if (!is_told(member, whole_up_to)) {
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

static bool is_of_node(struct gyre_address address, const void *arg)
{
	return address.node == *(const uint16_t *)arg;
}

static bool is_member(struct gyre_address address, const void *arg)
{
	return gy_address_same(address, *(const struct gyre_address *)arg);
}

/* Each list is gone through once, however many members of it are of the node. */
void gy_service_node_empty(struct gy_services *services, struct gy_service_node *node)
{
	services->sweep++;
	while (!gy_list_empty(&node->members)) {
		struct gy_service_member *member =
			gy_container_of(node->members.next, struct gy_service_member, mine);
		struct gy_service *service = member->service;

		if (service->sweep != services->sweep) {
			service->sweep = services->sweep;
			gy_service_list_filter(services->rcu, &service->foreign, is_of_node,
					       &node->id);
			gy_service_changed(service);
		}
		gy_service_member_hide(services, member);
		gy_service_member_free(services, member);
	}
	node->count = 0;
	node->known = 0;
	node->whole = false;
}

static void remove_member(struct gy_services *services, struct gy_service_node *node,
			  struct gy_service_member *member)
{
	gy_service_member_hide(services, member);
	gy_service_list_filter(services->rcu, &member->service->foreign, is_member,
			       &member->address);
	gy_service_changed(member->service);
	gy_service_member_free(services, member);
	gy_assert(node->count > 0);
	node->count--;
}

/* All has been told: what was not has left. */
static void sweep(struct gy_services *services, struct gy_service_node *node)
{
	struct gy_list *at = node->members.next;

	while (at != &node->members) {
		struct gy_service_member *member =
			gy_container_of(at, struct gy_service_member, mine);

		at = at->next;
		if (member->generation != node->generation) {
			remove_member(services, node, member);
		}
	}
	node->whole = false;
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

static int take_join(struct gy_services *services, struct gy_service_node *node,
		     const struct gy_service_key *key, struct gyre_address address)
{
	struct gy_service_member *member = gy_service_member_find(services, key, address);
	int r;

	if (member == NULL) {
		if (node->count >= 2 * GYRE_SERVICE_MEMBERSHIPS_MAX) {
			return -ENOBUFS;
		}
		r = gy_service_member_add(services, key, address, false, &member);
		if (r < 0) {
			return r;
		}
		gy_list_append(&node->members, &member->mine);
		node->count++;
	}
	member->generation = node->generation;
	return 0;
}

static int take_change(struct gy_services *services, struct gy_service_node *node,
		       const struct gy_service_change *change)
{
	const struct gy_service_key key = { change->name, change->id, change->bytes,
					    gy_bytes_hash(change->name, change->bytes,
							  change->id) };
	const struct gyre_address address = { .slot = change->slot,
					      .cookie = change->cookie,
					      .loop = change->loop,
					      .node = node->id,
					      .life = node->life };
	struct gy_service_member *member;

	if ((change->flags & GY_SERVICE_CHANGE_LEFT) == 0) {
		return take_join(services, node, &key, address);
	}
	member = gy_service_member_find(services, &key, address);
	if (member != NULL) {
		remove_member(services, node, member);
	}
	return 0;
}

/* Where memory ends is no harm: the report comes again, and what was taken of it changes nothing
 * then. */
static int take_changes(struct gy_services *services, struct gy_service_node *node,
			struct gyre_decoder *in)
{
	struct gy_service_change change = { 0 };
	int r = gy_service_report_get_change(in, &change);

	while (r > 0) {
		r = take_change(services, node, &change);
		if (r == 0) {
			r = gy_service_report_get_change(in, &change);
		}
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

	if (gy_service_report_get_head(&in, &head) < 0 || check(in) < 0) {
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
	r = take_changes(services, node, &in);
	if (r == 0) {
		node->known = head.to;
		if (node->whole && (head.flags & GY_SERVICE_REPORT_LAST) != 0) {
			sweep(services, node);
		}
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
