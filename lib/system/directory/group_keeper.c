/*
 * The keeper of a group that grows and shrinks. Every few milliseconds it adds up the mail that
 * waits for the members. When that is more than the mark for each it has members made, as many as
 * bring it down to the mark, but at most as many as there are. When for a while it has been so
 * little that with one member fewer it would be at most half of the mark, a member without mail
 * goes at each look, until the least number is left or more mail waits. Between the two marks
 * nothing happens; so a group that has shrunk must have twice as much mail before it grows.
 *
 * A keeper rests, and wakes no loop, while its group has the least number of members and none of
 * them has more mail than the lowest mark of all groups; no group can grow then. When the mailbox
 * of a member gets beyond that, its loop finds that the keeper rests, and wakes it; so does who
 * changes the table. Either that loop sees that the keeper rests, or the keeper sees the mail: it
 * says that it rests, and looks once more before it does.
 *
 * No mail is lost with a member that goes. First it leaves the table, so that no sender finds it.
 * After a grace period every loop has been through the end of a phase, and other threads through
 * their calls: what was sent by the old table is in the inbox of the member's loop. A task that is
 * posted there then comes behind all of that. It looks whether the mailbox is empty, and orders a
 * graceful stop, which lets suspended messages end. If it is not empty the task is posted again at
 * a later look.
 */
#include "system/directory/group_keeper.h"

#include <errno.h>
#include <string.h>

#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/mail/send.h"
#include "actor/steal_actor.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "system/directory/directory.h"
#include "system/system.h"

static const uint64_t look_ns = GYRE_MILLISECONDS(5);
static const uint64_t pause_max_ns = GYRE_SECONDS(1); /* before a member is made again */

static uint64_t doubled(uint64_t ns, uint64_t max_ns)
{
	return 2 * ns < max_ns ? 2 * ns : max_ns;
}

/* ---- members that go ---- */

enum stage {
	IN_GRACE, /* some may still find it in the old table */
	TO_STOP,  /* the task is to be posted */
	POSTED,
	DONE,
};

struct gy_leaver {
	struct gy_rcu_item item; /* first */
	struct gy_task task;
	struct gyre_address member;
	struct gy_leaver *next;
	uint32_t stage; /* atomic */
};

static void grace_ended(struct gy_rcu_item *item)
{
	struct gy_leaver *leaver = (struct gy_leaver *)(void *)item;

	gy_store_release(&leaver->stage, TO_STOP);
}

/* Whether it could be ordered to stop. What it has stashed is for it to handle, too. */
static bool stop_drained(struct gy_house *house)
{
	struct gyre_mail *order;

	if (gy_load_relaxed(&house->waiting) > 0 ||
	    (house->extra != NULL && house->extra->stash.count > 0)) {
		return false;
	}
	order = gy_graceful_stop_make(house->home, GYRE_FOREVER);
	if (order == NULL) {
		return false;
	}
	order->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(order);
	(void)gy_send_away(house->home, gy_house_address(house), order);
	return true;
}

/* On the loop of the member, behind all that was sent to it by way of the group. */
static void let_go(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_leaver *leaver = gy_container_of(task, struct gy_leaver, task);
	struct gy_house *house = gy_house_find_occupied(gy_home_of(loop), leaver->member.slot,
							leaver->member.cookie);

	gy_assert(gy_load_relaxed(&leaver->stage) == POSTED);
	if (house != NULL && gy_house_is_away(house)) {
		gy_house_defer_task(gy_home_of(loop), house, task);
		return;
	}
	gy_store_release(&leaver->stage, house == NULL || stop_drained(house) ? DONE : TO_STOP);
}

static void see_off(struct gy_group_keeper *keeper)
{
	struct gy_leaver **link = &keeper->leavers;

	while (*link != NULL) {
		struct gy_leaver *leaver = *link;
		enum stage stage = (enum stage)gy_load_acquire(&leaver->stage);

		if (stage == DONE) {
			*link = leaver->next;
			gy_memory_put(leaver);
			continue;
		}
		if (stage == TO_STOP) {
			gy_store_relaxed(&leaver->stage, POSTED);
			gy_loop_post_task(&keeper->system->homes.homes[leaver->member.loop].loop,
					  &leaver->task);
		}
		link = &leaver->next;
	}
}

/* ---- looking ---- */

/* What a look has found. */
struct finding {
	uint64_t waiting; /* for all members */
	uint32_t most;	  /* for one of them */
	uint32_t count;	  /* of members */
	uint32_t spawned; /* of those */
	/* The last that was spawned and has no mail, on the loop that has most; NULL for none. */
	const struct gy_member *idle;
};

/* How many members are on the loop of one. */
static uint32_t crowd_of(const struct gy_members *members, const struct gy_member *member)
{
	const uint16_t *first = &members->first[member->address.loop];

	return (uint32_t)first[1] - first[0];
}

static struct finding look_at(const struct gy_group *group)
{
	const struct gy_members *members = group->members;
	struct finding found = { 0 };
	uint32_t most = 0;

	for (uint32_t i = 0; members != NULL && i < members->count; i++) {
		const struct gy_member *member = &members->member[i];
		uint32_t waiting = gy_load_relaxed(member->load);

		if (gy_load_relaxed(&member->gone) != 0) {
			continue;
		}
		found.count++;
		found.spawned += member->spawned;
		found.waiting += waiting;
		found.most = waiting > found.most ? waiting : found.most;
		if (member->spawned && waiting == 0 && crowd_of(members, member) >= most) {
			most = crowd_of(members, member);
			found.idle = member;
		}
	}
	return found;
}

/* How many there should be more. */
static uint32_t lacking(const struct gy_group_keeper *keeper, const struct finding *found)
{
	uint32_t count = found->count + keeper->ordered;
	uint64_t wanted = (found->waiting + keeper->grow_above - 1) / keeper->grow_above;

	if (wanted <= count) {
		wanted = count;
	}
	wanted = wanted > 2 * (uint64_t)count ? 2 * (uint64_t)count : wanted;
	wanted = wanted < keeper->count_min ? keeper->count_min : wanted;
	wanted = wanted > keeper->count_max ? keeper->count_max : wanted;
	return wanted > count ? (uint32_t)wanted - count : 0;
}

/* Returns how many were added, or are to be made by their parent. */
static uint32_t grow(struct gy_group_keeper *keeper, struct gy_group *group,
		     const struct finding *found, uint32_t more)
{
	const struct gy_groups *groups = gy_groups_of(keeper->system);
	uint32_t added = 0;
	int r = 0;

	gy_assert(more > 0 && found->count + more <= keeper->count_max);
	while (added < more && r == 0) {
		r = gy_group_add_spawned(keeper->system, group);
		added += r == 0;
	}
	if (added > 0) {
		gy_log(groups->homes->log, GYRE_LOG_INFO,
		       "a group of actors %s grows from %u members to %u: %llu messages wait",
		       group->recipe->class->name, (unsigned)found->count,
		       (unsigned)(found->count + added), (unsigned long long)found->waiting);
	}
	if (r < 0 && r != -ESHUTDOWN) {
		gy_log(groups->homes->log, GYRE_LOG_WARNING,
		       "a group of actors %s cannot grow beyond %u members: %s; it tries again in "
		       "a second",
		       group->recipe->class->name, (unsigned)(found->count + added),
		       strerrordesc_np(-r));
	}
	keeper->grown_ns = keeper->system->homes.homes[0].loop.now_ns;
	if (r < 0) {
		keeper->lacking_until_ns = keeper->grown_ns + pause_max_ns;
	}
	return added;
}

/* Members that end as soon as they are made are not made again at each look. */
static void pause_after_ends(struct gy_group_keeper *keeper, const struct finding *found,
			     uint64_t now_ns)
{
	if (now_ns - keeper->grown_ns > 2 * pause_max_ns) {
		keeper->pause_ns = 0;
	}
	if (found->count + keeper->ordered < keeper->expected) {
		keeper->pause_ns =
			keeper->pause_ns == 0 ? look_ns : doubled(keeper->pause_ns, pause_max_ns);
		keeper->lacking_until_ns = now_ns + keeper->pause_ns;
	}
}

/* Whether the idle member goes. Without memory it stays. */
static bool shrink(struct gy_group_keeper *keeper, struct gy_group *group,
		   const struct finding *found)
{
	struct gy_groups *groups = gy_groups_of(keeper->system);
	struct gy_leaver *leaver = (struct gy_leaver *)gy_memory_get(sizeof(*leaver));

	gy_assert(found->idle != NULL && found->count > keeper->count_min);
	if (leaver == NULL) {
		return false;
	}
	leaver->task = (struct gy_task){ .run = let_go, .embedded = true };
	leaver->member = found->idle->address;
	leaver->stage = IN_GRACE;
	leaver->next = keeper->leavers;
	keeper->leavers = leaver;
	gy_log(groups->homes->log, GYRE_LOG_INFO,
	       "a group of actors %s shrinks from %u members to %u: %llu messages wait",
	       group->recipe->class->name, (unsigned)found->count, (unsigned)found->count - 1,
	       (unsigned long long)found->waiting);
	gy_group_drop(groups, group, leaver->member);
	gy_rcu_call(groups->rcu, &leaver->item, grace_ended);
	return true;
}

/* Whether so little waits that one fewer would do. */
static bool is_calm(const struct gy_group_keeper *keeper, const struct finding *found)
{
	return found->count > keeper->count_min && keeper->ordered == 0 &&
	       2 * found->waiting <= (uint64_t)keeper->grow_above * (found->count - 1);
}

/* Whether a group of @count members may change before its keeper is woken. */
static bool may_change(const struct gy_group_keeper *keeper, const struct finding *found,
		       uint32_t count)
{
	const struct gy_homes *homes = gy_groups_of(keeper->system)->homes;

	return found->most >= gy_load_relaxed(&homes->crowded_at) || keeper->leavers != NULL ||
	       keeper->ordered > 0 || (count < keeper->count_min && !keeper->poisoned) ||
	       (count > keeper->count_min && found->spawned > 0);
}

/* Whether there will be something to look for. Under the mutex. */
static bool adjust(struct gy_group_keeper *keeper, struct gy_group *group)
{
	uint64_t now_ns = keeper->system->homes.homes[0].loop.now_ns;
	struct finding found = look_at(group);
	uint32_t count = found.count + keeper->ordered;
	uint32_t more = keeper->poisoned ? 0 : lacking(keeper, &found);

	pause_after_ends(keeper, &found, now_ns);
	if (!is_calm(keeper, &found)) {
		keeper->calm_since_ns = UINT64_MAX;
	} else if (keeper->calm_since_ns == UINT64_MAX) {
		keeper->calm_since_ns = now_ns;
	}
	if (more > 0 && now_ns >= keeper->lacking_until_ns) {
		count += grow(keeper, group, &found, more);
	} else if (keeper->calm_since_ns != UINT64_MAX && found.idle != NULL &&
		   now_ns - keeper->calm_since_ns >= keeper->shrink_after_ns) {
		count -= shrink(keeper, group, &found);
	}
	keeper->expected = count;
	return may_change(keeper, &found, count);
}

/* Whether the next look comes without a call. Under the mutex. */
static bool look_at_group(struct gy_group_keeper *keeper, struct gy_group *group)
{
	if (adjust(keeper, group)) {
		gy_store_relaxed(&group->keeper_rests, 0);
		return true;
	}
	if (gy_load_relaxed(&group->keeper_rests) != 0) {
		return false;
	}
	gy_store_full(&group->keeper_rests, 1);
	return true;
}

/* Under the mutex: the group is gone, and all who left it. */
static void forget(struct gy_groups *groups, struct gy_group_keeper *keeper)
{
	struct gy_group_keeper **link = &groups->keepers;

	while (*link != keeper) {
		gy_assert(*link != NULL);
		link = &(*link)->next;
	}
	*link = keeper->next;
	gy_memory_put(keeper);
}

static void look(struct gy_timer *timer)
{
	struct gy_group_keeper *keeper = gy_container_of(timer, struct gy_group_keeper, timer);
	struct gy_groups *groups = gy_groups_of(keeper->system);
	struct gy_group *group;
	bool again;

	if (gy_load_relaxed(&keeper->system->stop) != 0) {
		return; /* all members are being stopped; it is freed with the groups */
	}
	see_off(keeper);
	(void)pthread_mutex_lock(&groups->mutex);
	group = gy_group_find(groups, keeper->group);
	again = group != NULL ? look_at_group(keeper, group)
			      : keeper->leavers != NULL || keeper->is_begun;
	if (again) {
		gy_timer_start(&keeper->system->homes.homes[0].loop.wheel, timer, look_ns);
	} else if (group == NULL) {
		forget(groups, keeper);
	}
	(void)pthread_mutex_unlock(&groups->mutex);
}

/* ---- life ---- */

static void begin(struct gy_loop *loop, struct gy_task *task)
{
	struct gy_group_keeper *keeper = gy_container_of(task, struct gy_group_keeper, begin);
	struct gy_groups *groups = gy_groups_of(keeper->system);

	(void)pthread_mutex_lock(&groups->mutex);
	keeper->is_begun = false;
	(void)pthread_mutex_unlock(&groups->mutex);
	if (!gy_timer_is_started(&keeper->timer)) {
		gy_timer_start(&loop->wheel, &keeper->timer, look_ns);
	}
}

static void post_begin(struct gy_group_keeper *keeper)
{
	if (!keeper->is_begun) {
		keeper->is_begun = true;
		gy_loop_post_task(&keeper->system->homes.homes[0].loop, &keeper->begin);
	}
}

void gy_group_keeper_wake(struct gy_group *group)
{
	struct gy_group_keeper *keeper = group->keeper;

	if (keeper == NULL || gy_load_relaxed(&group->keeper_rests) == 0 ||
	    gy_load_relaxed(&keeper->system->stop) != 0) {
		return;
	}
	gy_store_relaxed(&group->keeper_rests, 0);
	post_begin(keeper);
}

static void wake_by_address(struct gy_groups *groups, struct gyre_address address)
{
	struct gy_group *group = gy_group_find(groups, address);

	if (group != NULL) {
		gy_group_keeper_wake(group);
	}
}

void gy_group_crowded(struct gy_house *house)
{
	const struct gy_directory_entry *entry = gy_directory_entry_of(house);
	struct gy_groups *groups = gy_groups_of(house->home->options.system);
	const struct gy_membership *membership = entry == NULL ? NULL : entry->memberships;

	gy_store_full(&house->waiting, house->waiting); /* before it is seen who rests */
	for (; membership != NULL; membership = membership->next) {
		struct gy_group *group = gy_group_find(groups, membership->group);
		bool rests = group != NULL && gy_load_full(&group->keeper_rests) != 0;

		if (group != NULL) {
			gy_happens_before(group);
		}
		if (rests) {
			(void)pthread_mutex_lock(&groups->mutex);
			wake_by_address(groups, membership->group);
			(void)pthread_mutex_unlock(&groups->mutex);
		}
	}
}

bool gy_group_bounds_are_valid(const struct gyre_group_options *options)
{
	if (options->reserved != 0) {
		return false;
	}
	if (!gy_group_is_elastic(options)) {
		return options->count_min == 0 && options->grow_above == 0 &&
		       options->shrink_after_ns == 0;
	}
	return options->count_max <= GYRE_GROUP_MEMBERS_MAX &&
	       options->count_min <= options->count_max && options->count <= options->count_max &&
	       (options->count == 0 || options->count >= options->count_min) &&
	       options->grow_above <= GYRE_GROUP_GROW_ABOVE_MAX;
}

struct gy_group_keeper *gy_group_keeper_create(struct gyre_system *system,
					       const struct gyre_group_options *options)
{
	struct gy_group_keeper *keeper = (struct gy_group_keeper *)gy_memory_get(sizeof(*keeper));

	gy_assert(gy_group_is_elastic(options));
	if (keeper != NULL) {
		*keeper = (struct gy_group_keeper){
			.begin = { .run = begin, .embedded = true },
			.system = system,
			.calm_since_ns = UINT64_MAX,
			.shrink_after_ns = options->shrink_after_ns == 0
						   ? GYRE_GROUP_SHRINK_AFTER_NS
						   : options->shrink_after_ns,
			.count_min = options->count_min == 0 ? 1 : options->count_min,
			.count_max = options->count_max,
			.grow_above = options->grow_above == 0 ? GYRE_GROUP_GROW_ABOVE
							       : options->grow_above,
		};
		gy_timer_init(&keeper->timer, look);
	}
	return keeper;
}

/* The mark at which keepers are woken only falls: those that rest look by the new one. */
static void lower_mark(struct gy_groups *groups, struct gyre_system *system, uint32_t grow_above)
{
	struct gy_homes *homes = gy_homes_of(system);
	const struct gy_group_keeper *keeper = groups->keepers;
	uint32_t at = grow_above + 1;

	if (homes->crowded_at != 0 && homes->crowded_at <= at) {
		return;
	}
	gy_store_relaxed(&homes->crowded_at, at);
	for (; keeper != NULL; keeper = keeper->next) {
		wake_by_address(groups, keeper->group);
	}
}

void gy_group_keeper_start(struct gy_groups *groups, struct gy_group *group)
{
	struct gy_group_keeper *keeper = group->keeper;

	gy_assert(keeper != NULL && group->recipe != NULL);
	keeper->group = group->address;
	keeper->next = groups->keepers;
	groups->keepers = keeper;
	lower_mark(groups, keeper->system, keeper->grow_above);
	post_begin(keeper);
}

void gy_group_keepers_fini(struct gy_groups *groups)
{
	while (groups->keepers != NULL) {
		struct gy_group_keeper *keeper = groups->keepers;

		while (keeper->leavers != NULL) {
			struct gy_leaver *next = keeper->leavers->next;

			gy_memory_put(keeper->leavers);
			keeper->leavers = next;
		}
		groups->keepers = keeper->next;
		gy_memory_put(keeper);
	}
}
