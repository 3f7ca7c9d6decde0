/*
 * Topics: who has subscribed to what. A topic is a type with a key, or without one; it is there
 * while somebody has subscribed to it. Publishers on all threads find it without a lock, and go
 * through its subscriptions with none; what has left is freed after a grace period. Changes are
 * made under one mutex a system.
 */
#ifndef GY_SYSTEM_DIRECTORY_TOPICS_H
#define GY_SYSTEM_DIRECTORY_TOPICS_H

#include <pthread.h>

#include <gyre/event.h>

#include "base/table.h"
#include "system/directory/growing_table.h"

struct gy_home;
struct gy_house;
struct gyre_mail;
struct gyre_system;

struct gy_topic {
	struct gy_rcu_item item; /* first */
	struct cds_lfht_node node;
	struct gy_subscription *first; /* atomic */
	uint32_t type_id;
	uint32_t bytes;
	unsigned char key[];
};

/*
 * It is referred to by its actor, until that ends it, by each event of it that waits, and by each
 * word of what it has missed; the last of them retires it. The latter are counted apart, for they
 * take no event's place.
 */
#define GY_SUBSCRIPTION_WORD (UINT64_C(1) << 32)

static inline uint32_t gy_subscription_events(uint64_t references)
{
	return (uint32_t)references; /* and its actor */
}

struct gy_subscription {
	struct gy_rcu_item item;	/* first */
	struct gy_table_item mine;	/* in the entry of its actor, by hash */
	struct gy_subscription *next;	/* atomic: in its topic */
	struct gy_subscription *before; /* under the mutex */
	struct gy_topic *topic;
	struct gy_rcu *rcu;
	struct gyre_address actor;
	uint64_t tag;	      /* atomic */
	uint64_t missed;      /* atomic */
	uint64_t references;  /* atomic; 0 for one that has ended, and of which nothing waits */
	uint32_t waiting_max; /* atomic */
	bool ended;	      /* its actor's */
};

struct gy_topics {
	struct gy_growing_table table;
	pthread_mutex_t mutex;
};

/* What leads to a topic. */
struct gy_topic_key {
	uint32_t type_id;
	struct gyre_event_key key;
	unsigned long hash;
};

int gy_topics_init(struct gy_topics *topics, struct gy_rcu *rcu);
/* All actors are gone, and nothing that was retired is pending. Takes a half made one too. */
void gy_topics_fini(struct gy_topics *topics);
/* -EINVAL */
int gy_topic_key_make(const struct gy_topics *topics, const struct gyre_type *type,
		      struct gyre_event_key key, struct gy_topic_key *ret_key);
/* NULL for none. Between gy_rcu_enter() and gy_rcu_leave(), where it also stays. */
struct gy_topic *gy_topic_find(const struct gy_topics *topics, const struct gy_topic_key *key);
/* The actor has ended: so do its subscriptions. */
void gy_subscriptions_withdraw(struct gy_topics *topics, struct gy_house *house,
			       struct gy_table *subscriptions);
/* One more event of it is to wait: -ESRCH when it has ended, -ENOBUFS when too many do. */
int gy_subscription_enter(struct gy_subscription *subscription);
/* One more word of what it has missed is to wait: false when it has ended. */
bool gy_subscription_enter_word(struct gy_subscription *subscription);
/* Something of it waits no longer, whose reference is @one. Without a reference of one's own, or
 * out of the sight of RCU, nothing may be read from it after this. */
void gy_subscription_leave(struct gy_subscription *subscription, uint64_t one);
/* It has missed an event. */
void gy_subscription_miss(struct gy_subscription *subscription);
/* Whether some events were missed, and none waits that would tell of it. To be asked after each of
 * the two before; whoever gets true tells. */
bool gy_subscription_is_untold(struct gy_subscription *subscription);
/* How many it has missed, which the caller is to tell, or 0. */
uint64_t gy_subscription_take_missed(struct gy_subscription *subscription);

/* ---- what the actor floor calls, see struct gy_directory_ops ---- */

bool gy_event_claim(struct gy_house *house, struct gyre_mail *mail);
void gy_event_lost(const struct gyre_mail *mail);

/* ---- publish.c ---- */

/* Tells the subscriber, on whose loop this is, of what it has missed. */
void gy_publish_missed(struct gy_home *home, struct gy_subscription *subscription);
/* Whether anybody has subscribed to an event of gyre's own; while the system takes down its actors
 * nobody has. Any thread. */
bool gy_own_event_is_wanted(const struct gyre_system *system, const struct gyre_type *type);
/*
 * Publishes an event of gyre's own, which owns nothing, without a key. Without memory nobody hears
 * of it. @home is that of the calling loop, or NULL.
 */
void gy_publish_own(struct gyre_system *system, struct gy_home *home, const struct gyre_type *type,
		    const void *event);

#endif
