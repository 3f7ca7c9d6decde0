/*
 * Services: which actors, of all nodes, have joined what. A service is there while somebody has
 * joined it, watches it, or is still to be told of a member that has left.
 *
 * Looks on all threads take no lock: they find the service in a growing table, and its members in
 * two lists of addresses, of this node and of others, under RCU. All changes are made under one
 * mutex a system; they replace a list, or append to it where it has room.
 *
 *	services.c           the registry: services, members, joining and leaving
 *	service_lists.c      lists of addresses
 *	service_find.c       looking
 *	service_watch.c      listings
 *	service_reports.c    what this node tells others, and what they tell
 *	service_herald.c     the actor that does so
 */
#ifndef GY_SYSTEM_DIRECTORY_SERVICES_H
#define GY_SYSTEM_DIRECTORY_SERVICES_H

#include <pthread.h>

#include <gyre/service.h>

#include "base/list.h"
#include "loop/loop.h"
#include "system/directory/growing_table.h"

struct gy_home;
struct gy_house;
struct gy_directory_entry;
struct gyre_mail;

/* ---- lists of addresses: service_lists.c ---- */

struct gy_service_member;

struct gy_service_place {
	struct gyre_address address;	  /* who has left has a cookie of 0, which is atomic */
	struct gy_service_member *member; /* under the mutex */
};

struct gy_service_list {
	struct gy_rcu_item item; /* first */
	uint32_t count;		 /* atomic: the places that may be read */
	uint32_t capacity;
	uint32_t left; /* under the mutex: places of those that have left */
	struct gy_service_place places[];
};

/* Under the mutex, in the list that the member names. -ENOMEM */
int gy_service_list_add(struct gy_rcu *rcu, struct gy_service_member *member);
/* Under the mutex. Needs no memory, though it is better off with some. */
void gy_service_list_remove(struct gy_rcu *rcu, struct gy_service_member *member);

/* ---- the registry: services.c ---- */

struct gy_service {
	struct gy_rcu_item item; /* first */
	struct cds_lfht_node node;
	struct gy_service_list *own;	 /* atomic: of this node, without a life; NULL: of nobody */
	struct gy_service_list *foreign; /* atomic: of others; likewise */
	uint64_t version;		 /* atomic; written under the mutex */
	uint32_t turn;			 /* atomic: of round robin */
	uint32_t seed;			 /* of what is picked at random */
	uint32_t references;	/* under the mutex: members, watches, and members that have left */
	uint64_t sweep;		/* under the mutex: the last that has gone through it */
	struct gy_list watches; /* under the mutex */
	uint32_t id;
	uint32_t bytes;
	char name[];
};

/* What leads to a service. */
struct gy_service_key {
	const char *name;
	uint32_t id;
	uint32_t bytes;
	unsigned long hash;
};

/* A member, under the mutex. */
struct gy_service_member {
	struct gy_service_member *next; /* in the table of members */
	unsigned long hash;
	struct gy_list mine;   /* of its actor or its node; of those that have left */
	struct gy_list change; /* of this node: in the order of changes */
	struct gy_service *service;
	struct gy_service_list **list; /* of @service */
	uint32_t place;		       /* in it */
	struct gyre_address address;
	uint64_t version;    /* of this node: of its last change */
	uint32_t generation; /* of another: when it was told of last */
	bool has_left;	     /* of this node: others are still to be told; of another: at once */
};

/* What another node has told, under the mutex. */
struct gy_service_node {
	struct gy_list item; /* in services->nodes */
	struct gy_list members;
	uint64_t known; /* up to where */
	uint32_t life;	/* in which */
	uint32_t count; /* of members */
	uint32_t generation;
	uint16_t id;
	bool whole; /* it is telling all that it has; what it does not tell has left */
};

struct gy_services {
	struct gy_growing_table table;
	struct gy_rcu *rcu;
	pthread_mutex_t mutex;
	struct gy_service_member **buckets; /* of members, by service and address */
	uint32_t size;			    /* of @buckets: a power of two, or 0 */
	uint32_t count;			    /* of members in it */
	uint32_t own_count;
	uint32_t gone_count;
	struct gy_list changes; /* members of this node, those that have left too, by version */
	struct gy_list gone;	/* those of them that have left, likewise */
	uint64_t changed;	/* the last version; atomic */
	uint64_t forgotten;	/* up to there those that have left are not kept any more */
	bool is_told;		/* there are other nodes to be told */
	uint64_t sweep;
	struct gy_list nodes;
	struct gy_list watches; /* all that there is memory for */
	/* The actor that speaks with other nodes; see service_herald.c. */
	struct gyre_address herald;
	uint32_t has_herald; /* atomic */
	uint32_t is_poked;   /* atomic: it will look for changes */
};

int gy_services_init(struct gy_services *services, struct gy_rcu *rcu);
/* All actors are gone: retires what other nodes have told, and watches that wait for ever. */
void gy_services_empty(struct gy_services *services);
/* Then, when nothing that was retired is pending. Takes a half made one too. */
void gy_services_fini(struct gy_services *services);
/* -EINVAL */
int gy_service_key_make(const struct gy_services *services, const struct gyre_service *service,
			struct gy_service_key *ret_key);
/* How many members it has; the first are written. Between gy_rcu_enter() and gy_rcu_leave(). */
uint32_t gy_service_members(struct gyre_system *system, const struct gy_home *home,
			    const struct gy_service *service, uint32_t members_max,
			    struct gyre_address *members);
struct gy_service_key gy_service_key_of(const struct gy_services *services, const char *name,
					uint32_t bytes, uint32_t id);
/* NULL for none. Between gy_rcu_enter() and gy_rcu_leave(), where it also stays. */
struct gy_service *gy_service_find(const struct gy_services *services,
				   const struct gy_service_key *key);
/* Under the mutex, as all that follows: the service, with a reference; NULL without memory. */
struct gy_service *gy_service_get(struct gy_services *services, const struct gy_service_key *key);
void gy_service_put(struct gy_services *services, struct gy_service *service);
/* Its members have changed. */
void gy_service_changed(struct gy_service *service);
struct gy_service_member *gy_service_member_find(const struct gy_services *services,
						 const struct gy_service_key *key,
						 struct gyre_address address);
/* A new member, in no list of its owner yet; -ENOMEM. @own: of this node. */
int gy_service_member_add(struct gy_services *services, const struct gy_service_key *key,
			  struct gyre_address address, bool own,
			  struct gy_service_member **ret_member);
/* Frees a member that is in no list of addresses any more. */
void gy_service_member_free(struct gy_services *services, struct gy_service_member *member);
/* Takes it out of the table of members and the list of its service. */
void gy_service_member_hide(struct gy_services *services, struct gy_service_member *member);
/* The actor has ended: it leaves all services and ends all its watches. */
void gy_services_withdraw(struct gy_services *services, struct gy_directory_entry *entry);

/* ---- listings: service_watch.c ---- */

/*
 * It is referred to by its actor, until that ends it, by its task while that is posted, by its
 * timer while that runs, and by the listing that waits; the last of them retires it.
 */
struct gy_service_watch {
	struct gy_rcu_item item; /* first */
	struct gy_task task;
	struct gy_timer retry;
	struct gy_list all;	       /* of all watches, under the mutex */
	struct gy_list watcher;	       /* of those of its service, under the mutex */
	struct gy_service_watch *next; /* of those of its actor */
	struct gy_services *services;
	struct gy_service *service;
	struct gy_home *home;
	struct gyre_address actor;
	uint64_t tag;  /* atomic, as the rest */
	uint64_t told; /* the version of the last listing */
	uint32_t references;
	uint32_t is_posted;
	uint32_t is_waiting; /* a listing is in the mailbox */
	uint32_t has_ended;
};

/* Under the mutex: the watcher is to get a listing. Any thread. */
void gy_service_watch_post(struct gy_service_watch *watch);
void gy_service_watches_withdraw(struct gy_services *services, struct gy_service_watch *first);
/* All loops have ended: retires those whose tasks or timers will never run. */
void gy_service_watches_free(struct gy_services *services);
/* Mail of that kind has its turn, or is lost; see struct gy_directory_ops. */
bool gy_listing_claim(struct gyre_mail *mail);
void gy_listing_lost(const struct gyre_mail *mail);

/* ---- reports: service_reports.c ---- */

struct gy_service_report_plan {
	uint64_t from;
	uint64_t to;
	uint32_t flags;
	uint32_t bytes; /* of the whole report */
	uint32_t count; /* of changes */
	uint32_t alone_max;
};

/* What a node is to be told that knows what was up to @from; @whole_up_to: it is told all that was
 * up to there, or 0. A report of at most @bytes_max, or of one change; what would have more
 * than @alone_max in a report of its own is left out. */
void gy_services_plan_report(const struct gy_services *services, uint64_t from,
			     uint64_t whole_up_to, uint32_t bytes_max, uint32_t alone_max,
			     struct gy_service_report_plan *ret_plan);
struct gyre_encoder;
void gy_services_write_report(const struct gy_services *services,
			      const struct gy_service_report_plan *plan, uint64_t whole_up_to,
			      struct gyre_encoder *out);
/* All nodes that are told know what was up to there. */
void gy_services_forget(struct gy_services *services, uint64_t up_to);
/* Bytes of the report of one join. */
uint32_t gy_service_report_bytes(uint32_t name_bytes);
/*
 * A node has told something in that life, which is not over. What is known of it after that, or
 * -EPROTO for what is no report, -ENOBUFS for too many members. Without memory what is known stays.
 */
int gy_services_take_report(struct gy_services *services, uint16_t id, uint32_t life,
			    const void *bytes, uint32_t count, uint64_t *ret_known);
/* Takes the mutex: the node is down, and all its members leave. */
void gy_services_node_lost(struct gy_services *services, uint16_t id);
/* All its members leave. */
void gy_service_node_empty(struct gy_services *services, struct gy_service_node *node);

/* ---- the herald: service_herald.c ---- */

/* This system takes part from now on: 0, or -ENOMEM. Any thread. */
int gy_services_take_part(struct gyre_system *system);
/* Other nodes are to be told of a change. Any thread; @home is that of the calling loop. */
void gy_services_tell(struct gyre_system *system, struct gy_home *home);
/* A call of the remote floor, on a loop's thread, under its mutex. */
void gy_services_lost(struct gyre_system *system, uint16_t node);

#endif
