/*
 * Groups. A group's members stand in a table that is never changed once it is published: a change
 * makes another one, and the old one is freed after a grace period. So senders on all loops route
 * by it with no lock and no write that others would see, while members come and go.
 *
 * Changes are made under one mutex a system. They are rare, and short.
 */
#ifndef GY_SYSTEM_DIRECTORY_GROUPS_H
#define GY_SYSTEM_DIRECTORY_GROUPS_H

#include <gyre/group.h>

#include "actor/home.h"
#include "actor/life/lifecycle.h"
#include "system/rcu.h"

enum { GY_GROUPS_A_CHUNK = 256, GY_GROUP_CHUNKS = 256 };

struct gy_member {
	struct gyre_address address;
	uint64_t hash;
	const uint32_t *load; /* its house's waiting mail */
	uint32_t gone;	      /* atomic: it has left, and there was no memory for a new table */
	bool spawned;	      /* with the group */
};

/* The members, in the order of their loops, and where each loop's begin. */
struct gy_members {
	struct gy_rcu_item item; /* first */
	uint32_t count;
	uint16_t *first; /* one a loop and one more */
	struct gy_member member[];
};

/* How another member is made, for a group that has one on each loop. */
struct gy_group_recipe {
	const struct gyre_class *class;
	struct gyre_mail *argument; /* from the heap, to be copied; NULL for none */
	struct gy_origin parent;    /* nobody for none */
	bool counted;
};

/* Counts what one loop has sent; the last one, of all other threads, is atomic. */
struct gy_cursor {
	uint64_t count GY_ALIGNED_LINE;
};

struct gy_group {
	struct gy_rcu_item item; /* first */
	struct gyre_address address;
	enum gyre_routing routing;
	gyre_key_fn key;
	bool spawned;
	uint32_t keeper_rests; /* atomic; written under the mutex: see group_keeper.c */
	/* With one member a loop, or a keeper; else NULL. Under the mutex. */
	struct gy_group_recipe *recipe;
	struct gy_group_keeper *keeper; /* of one that grows and shrinks; else NULL */
	struct gy_members *members;	/* atomic; NULL for none */
	struct gy_cursor cursors[];
};

/* Chunks stay where they are until the end, so that any number leads somewhere. */
struct gy_group_chunk {
	struct gy_group *groups[GY_GROUPS_A_CHUNK]; /* atomic */
};

struct gy_groups {
	const struct gy_homes *homes;
	struct gy_rcu *rcu;
	struct gy_group_chunk *chunks[GY_GROUP_CHUNKS]; /* atomic */

	pthread_mutex_t mutex; /* guards the rest, and all that is written above */
	uint32_t hint;	       /* no number below it is free */
	uint32_t cookie;
	struct gy_group_keeper *keepers; /* all; see group_keeper.h */
};

struct gy_membership {
	struct gy_membership *next;
	struct gyre_address group;
};

struct gy_groups *gy_groups_of(struct gyre_system *system);

/* ---- groups.c: under the mutex, if nothing else is said ---- */

void gy_groups_init(struct gy_groups *groups, const struct gy_homes *homes, struct gy_rcu *rcu);
void gy_groups_fini(struct gy_groups *groups);
/* Whether the routing is one, and has what it needs. */
bool gy_group_options_are_valid(const struct gyre_group_options *options);
/* A group that nobody finds yet, with its address; -ENOBUFS, -ENOMEM. */
int gy_group_make(struct gy_groups *groups, const struct gyre_group_options *options, bool spawned,
		  struct gy_group **ret_group);
/* Publishes a group: from then on it is found. */
void gy_group_publish(struct gy_groups *groups, struct gy_group *group);
/* NULL when the address is stale. Without the mutex too, for as long as a reader stays. */
struct gy_group *gy_group_find(const struct gy_groups *groups, struct gyre_address address);
/* Nobody finds it any more; also one that was never published. */
void gy_group_end(struct gy_groups *groups, struct gy_group *group);

/* ---- group_members.c ---- */

/* Adds several, which are in any order; -ENOBUFS, -ENOMEM. Under the mutex. */
int gy_group_add(struct gy_groups *groups, struct gy_group *group,
		 const struct gyre_address *addresses, uint32_t count, bool spawned);
/* Without the mutex: an actor has gone. */
void gy_group_remove(struct gy_groups *groups, struct gyre_address group,
		     struct gyre_address member);
/* A house is spawned as a member: notes it there. */
int gy_group_enlist(struct gy_house *house, struct gyre_address group);
/* The house could not be spawned: withdraws the note. */
void gy_group_refuse(struct gy_home *home, struct gyre_address member, struct gyre_address group);
/* A house stops: it leaves all its groups. */
void gy_groups_withdraw(struct gy_groups *groups, struct gy_house *house,
			struct gy_membership *first);

/* Under the mutex: ends a group whose members were made for it when none is left and none is to
 * come. Whether it has ended. */
bool gy_group_end_if_empty(struct gy_groups *groups, struct gy_group *group);
/* Under the mutex: a member leaves, or one that has left already. */
void gy_group_drop(struct gy_groups *groups, struct gy_group *group, struct gyre_address member);
/* Under the mutex: those on the loops from @from to before @to leave. */
void gy_group_remove_from(struct gy_groups *groups, struct gy_group *group, uint32_t from,
			  uint32_t to);

/* ---- group_loops.c ---- */

/* Remembers how members are made; -ENOMEM. Under the mutex. */
int gy_group_set_recipe(struct gy_group *group, const struct gy_spawn_order *order);
void gy_group_free_recipe(struct gy_group *group);
/* Stops a member that was made and is in no table. Without memory for the order it lives on. @home
 * is that of the calling loop, or NULL. */
void gy_group_stop_made(struct gyre_system *system, struct gy_home *home, struct gyre_address to);
/* Makes one more member of a group with a keeper, on some loop: 0, also where its parent is to make
 * it, or a negative errno. Under the mutex, on the first loop. */
int gy_group_add_spawned(struct gyre_system *system, struct gy_group *group);
/* Loops have come: groups with one member a loop get one there. Those whose members have a parent
 * get it when its loop has done what is posted to it here. */
void gy_groups_grow(struct gyre_system *system, uint32_t from, uint32_t to);
/* The loops from @from on retire: their members leave. Those on loops for one actor stay. */
void gy_groups_shrink(struct gyre_system *system, uint32_t from);

/* ---- group_routes.c ---- */

/* Mail of an actor for a group; as gy_send(). */
int gy_group_route(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail);
/*
 * The loop of the member that a message from outside goes to, where more than chance decides: by
 * its key, or as there is no other; false where any loop may send it. Any thread.
 */
bool gy_group_loop(struct gyre_system *system, struct gyre_address to, const struct gyre_mail *mail,
		   uint16_t *ret_loop);
/* A notice from outside; as gyre_system_notify(). */
int gy_group_notify(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail);

#endif
