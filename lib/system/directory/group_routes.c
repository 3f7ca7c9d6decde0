/*
 * Which member gets a message. All that is read here is either fixed, or a table that is replaced
 * whole; all that is written is the sending loop's own cursor, and one that all other threads
 * share.
 */
#include <errno.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/random.h"
#include "system/directory/group_keeper.h"
#include "system/directory/groups.h"
#include "system/outside_count.h"
#include "system/outside_loss.h"
#include "system/outside_post.h"
#include "system/system.h"

/* A message on its way, and where it is sent. */
struct route {
	struct gy_group *group;
	struct gy_members *members;
	uint32_t loop; /* the number of loops for a thread that is none */
	bool outside;
};

/* ---- choosing ---- */

static uint64_t step(const struct route *route)
{
	uint64_t *count = &route->group->cursors[route->loop].count;

	return route->outside ? gy_add_relaxed(count, 1) : (*count)++;
}

/* From 0 to below @limit. */
static uint32_t any(const struct route *route, uint32_t limit)
{
	uint64_t state = step(route) * UINT64_C(0x9e3779b97f4a7c15) +
			 ((uint64_t)route->group->address.cookie << 16) + route->loop;

	return (uint32_t)((gy_random_next(&state) >> 32) * limit >> 32);
}

static uint32_t in_turn(const struct route *route)
{
	return (uint32_t)(step(route) % route->members->count);
}

static uint32_t near(const struct route *route)
{
	const uint16_t *first = &route->members->first[route->loop];

	if (route->outside || first[0] == first[1]) {
		return in_turn(route);
	}
	return first[0] + (uint32_t)(step(route) % (uint32_t)(first[1] - first[0]));
}

static uint32_t less_loaded(const struct route *route)
{
	const struct gy_member *member = route->members->member;
	uint32_t count = route->members->count;
	uint32_t a = any(route, count);
	uint32_t b = a;

	if (count > 1) {
		b = (a + 1 + any(route, count - 1)) % count;
	}
	return gy_load_relaxed(member[b].load) < gy_load_relaxed(member[a].load) ? b : a;
}

/*
 * Of all members that for which key and member mix to the most. So each member wins its share of
 * keys, and one that goes or comes changes nothing between the others.
 */
static uint32_t by_key(const struct route *route, const struct gyre_mail *mail)
{
	uint64_t key = gy_table_mix(route->group->key(mail->type, mail->payload));
	uint64_t most = 0;
	uint32_t best = 0;

	for (uint32_t i = 0; i < route->members->count; i++) {
		const struct gy_member *member = &route->members->member[i];
		uint64_t state = key ^ member->hash;
		uint64_t weight = gy_random_next(&state);

		if (gy_load_relaxed(&member->gone) == 0 && weight >= most) {
			most = weight;
			best = i;
		}
	}
	return best;
}

static uint32_t choose(const struct route *route, const struct gyre_mail *mail)
{
	switch (route->group->routing) {
	case GYRE_ROUTING_NEAR:
		return near(route);
	case GYRE_ROUTING_RANDOM:
		return any(route, route->members->count);
	case GYRE_ROUTING_BY_KEY:
		return by_key(route, mail);
	case GYRE_ROUTING_LESS_LOADED:
		return less_loaded(route);
	default:
		return in_turn(route);
	}
}

/* The address of one that is not gone, or nobody. */
static struct gyre_address pick(const struct route *route, const struct gyre_mail *mail)
{
	const struct gy_members *members = route->members;
	uint32_t chosen = choose(route, mail);

	for (uint32_t i = 0; i < members->count; i++) {
		const struct gy_member *member = &members->member[(chosen + i) % members->count];

		if (gy_likely(gy_load_relaxed(&member->gone) == 0)) {
			return member->address;
		}
	}
	return GYRE_NOBODY;
}

/* Whether there is anybody. */
static bool begin(struct route *route, struct gy_groups *groups, struct gyre_address to,
		  uint32_t loop)
{
	*route = (struct route){ .group = gy_group_find(groups, to), .loop = loop };
	route->outside = loop == groups->homes->loops->max;
	if (route->group != NULL) {
		route->members = gy_load_acquire(&route->group->members);
	}
	return route->members != NULL;
}

/* Nothing of the group is looked at after this. */
static void end(const struct route *route)
{
	if (route->members != NULL) {
		gy_happens_before(route->members);
	}
	if (route->group != NULL) {
		gy_happens_before(route->group);
	}
}

/* ---- copies for all ---- */

static struct gyre_mail *copy_mail(struct gy_home *home, const struct gyre_mail *mail)
{
	struct gyre_mail *copy = gy_mail_copy(home, mail);

	if (copy != NULL) {
		copy->node.kind = mail->node.kind;
		copy->from = mail->from;
		copy->ask_id = 0;
	}
	return copy;
}

/*
 * As many copies as are needed in a list that ends in NULL, or none of them; @ret_copies is not set
 * then.
 */
static int copy_for_all(struct gy_home *home, const struct route *route,
			const struct gyre_mail *mail, struct gy_node **ret_copies)
{
	struct gy_node *copies = NULL;

	for (uint32_t i = 0; i < route->members->count; i++) {
		struct gyre_mail *copy = copy_mail(home, mail);

		if (copy == NULL) {
			while (copies != NULL) {
				struct gy_node *next = copies->next;

				gy_mail_put_anywhere(home, gy_mail_of(copies));
				copies = next;
			}
			return -ENOMEM;
		}
		copy->node.next = copies;
		copies = &copy->node;
	}
	*ret_copies = copies;
	return 0;
}

/* Sends one copy, or frees it if its member is gone. */
static void send_copy(struct gyre_system *system, struct gy_home *home,
		      const struct gy_member *member, struct gyre_mail *copy)
{
	if (gy_load_relaxed(&member->gone) != 0) {
		gy_mail_put_anywhere(home, copy);
	} else if (home == NULL) {
		copy->node.kind = GY_NODE_NEW; /* it was not given away yet */
		(void)gyre_system_notify(system, member->address, copy);
	} else {
		(void)gy_send(home, member->address, copy, GY_LANE_NOTICE);
	}
}

/* -EINVAL, -ENOMEM: nobody got it. @mail stays the caller's. */
static int send_to_all(struct gyre_system *system, struct gy_home *home, const struct route *route,
		       const struct gyre_mail *mail)
{
	struct gy_node *copies;
	int r = mail->node.kind != GY_MAIL_NOTICE || !gy_type_can_be_copied(mail->type)
			? -EINVAL
			: copy_for_all(home, route, mail, &copies);

	if (r < 0) {
		return r;
	}
	for (uint32_t i = 0; i < route->members->count; i++) {
		struct gyre_mail *copy = gy_mail_of(copies);

		gy_assert(copies != NULL); /* one for each member */
		copies = copies->next;
		send_copy(system, home, &route->members->member[i], copy);
	}
	return 0;
}

/* ---- from actors ---- */

static int lose(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail, int error)
{
	enum gyre_drop reason = error == -ESRCH	   ? GYRE_DROP_NO_ACTOR
				: error == -ENOMEM ? GYRE_DROP_NO_MEMORY
						   : GYRE_DROP_UNHANDLED;

	gy_count(&home->counters.sent, 1);
	gy_drop(home, mail, to, reason, error);
	return error;
}

static int route_one(struct gy_home *home, struct gyre_address to, const struct route *route,
		     struct gyre_mail *mail)
{
	struct gyre_address member = pick(route, mail);

	if (gyre_address_is_nobody(member)) {
		return lose(home, to, mail, -ESRCH);
	}
	return gy_send(home, member, mail, gy_mail_lane(mail));
}

static int route_all(struct gy_home *home, struct gyre_address to, const struct route *route,
		     struct gyre_mail *mail)
{
	int r = send_to_all(home->options.system, home, route, mail);

	if (r < 0) {
		return lose(home, to, mail, r);
	}
	gy_mail_put(home, mail);
	return 0;
}

/* A stop or a poison: it goes to the members that were spawned with the group. */
static int route_order(struct gy_home *home, struct gy_groups *groups, const struct route *route,
		       struct gyre_mail *mail)
{
	const struct gyre_type *type = mail->type;
	struct gyre_address to = route->group->address;
	enum gy_mail_kind kind = (enum gy_mail_kind)mail->node.kind;
	struct gy_group *group;
	int r = 0;

	for (uint32_t i = 0; route->members != NULL && i < route->members->count; i++) {
		const struct gy_member *member = &route->members->member[i];

		if (member->spawned && gy_load_relaxed(&member->gone) == 0 &&
		    gy_send_signal(home, member->address, type, kind) == -ENOMEM) {
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		return lose(home, to, mail, r);
	}
	gy_count(&home->counters.sent, 1);
	gy_count(&home->counters.handled, 1);
	gy_mail_put(home, mail);
	(void)pthread_mutex_lock(&groups->mutex);
	group = gy_group_find(groups, to);
	if (group != NULL && type == &gy_type_stop) {
		gy_group_end(groups, group);
	} else if (group != NULL && group->keeper != NULL) {
		group->keeper->poisoned = true;
	}
	(void)pthread_mutex_unlock(&groups->mutex);
	return 0;
}

int gy_group_route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_groups *groups = gy_groups_of(home->options.system);
	struct route route;
	bool anybody = begin(&route, groups, to, home->loop.index);
	int r;

	if (mail->type == &gy_type_stop || mail->type == &gy_type_poison) {
		r = route.group == NULL ? lose(home, to, mail, -ESRCH)
					: route_order(home, groups, &route, mail);
	} else if (!anybody) {
		r = lose(home, to, mail, -ESRCH);
	} else if (mail->type == &gy_type_graceful_stop ||
		   (mail->node.kind != GY_MAIL_NOTICE && mail->node.kind != GY_MAIL_ASK)) {
		r = lose(home, to, mail, -EINVAL);
	} else if (route.group->routing == GYRE_ROUTING_ALL) {
		r = route_all(home, to, &route, mail);
	} else {
		r = route_one(home, to, &route, mail);
	}
	end(&route);
	return r;
}

/* ---- from outside ---- */

static int lose_outside(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail)
{
	(void)gy_outside_count(system);
	gy_mail_from_nobody(mail);
	gy_outside_lost(system, to, mail, GYRE_DROP_NO_ACTOR);
	return -ESRCH;
}

static int notify_all(struct gyre_system *system, const struct route *route, struct gyre_mail *mail)
{
	int r;

	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	r = send_to_all(system, NULL, route, mail);
	gyre_mail_destroy(NULL, mail);
	return r;
}

static int notify_one(struct gyre_system *system, struct gyre_address to, const struct route *route,
		      struct gyre_mail *mail)
{
	struct gyre_address member = pick(route, mail);

	return gyre_address_is_nobody(member) ? lose_outside(system, to, mail)
					      : gyre_system_notify(system, member, mail);
}

bool gy_group_loop(struct gyre_system *system, struct gyre_address to, const struct gyre_mail *mail,
		   uint16_t *ret_loop)
{
	struct gyre_address member = GYRE_NOBODY;
	bool entered = gy_rcu_enter();
	struct route route;

	if (begin(&route, gy_groups_of(system), to, system->homes.loops->max) &&
	    (route.group->routing == GYRE_ROUTING_BY_KEY || route.members->count == 1)) {
		member = pick(&route, mail);
	}
	end(&route);
	gy_rcu_leave(entered);
	*ret_loop = member.loop;
	return !gyre_address_is_nobody(member);
}

int gy_group_notify(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail)
{
	struct route route;
	bool entered;
	int r;

	gy_mail_expect_new(NULL, mail);
	/* Not when it is sent to the member, for there a reader of RCU must not wait. */
	gy_outside_guard_memory(system, gy_outside_counted(system), gy_mail_bytes(mail));
	entered = gy_rcu_enter();
	if (!begin(&route, gy_groups_of(system), to, system->homes.loops->max)) {
		r = lose_outside(system, to, mail);
	} else if (route.group->routing == GYRE_ROUTING_ALL) {
		r = notify_all(system, &route, mail);
	} else {
		r = notify_one(system, to, &route, mail);
	}
	end(&route);
	gy_rcu_leave(entered);
	return r;
}
