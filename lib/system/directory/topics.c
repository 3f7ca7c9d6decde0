/*
 * Subscriptions: how they come and go, and how many of their events wait. That count is also what
 * keeps one that has ended until the last of its events has.
 */
#include "system/directory/topics.h"

#include <errno.h>
#include <string.h>

#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "system/directory/directory.h"
#include "system/system.h"

/* ---- topics ---- */

int gy_topic_key_make(const struct gy_topics *topics, const struct gyre_type *type,
		      struct gyre_event_key key, struct gy_topic_key *ret_key)
{
	if (type == NULL || key.count > GYRE_EVENT_KEY_BYTES_MAX ||
	    (key.bytes == NULL && key.count > 0)) {
		return -EINVAL;
	}
	*ret_key = (struct gy_topic_key){
		type->id, key, gy_growing_table_hash(&topics->table, key.bytes, key.count, type->id)
	};
	return 0;
}

static bool equal(const struct gy_topic *topic, const struct gy_topic_key *key)
{
	return topic->type_id == key->type_id && topic->bytes == key->key.count &&
	       (topic->bytes == 0 || memcmp(topic->key, key->key.bytes, topic->bytes) == 0);
}

static int match(struct cds_lfht_node *node, const void *key)
{
	const struct gy_topic *topic = gy_container_of(node, struct gy_topic, node);
	bool is_it;

	gy_happens_after(topic);
	is_it = equal(topic, (const struct gy_topic_key *)key);
	gy_happens_before(topic);
	return is_it;
}

struct gy_topic *gy_topic_find(const struct gy_topics *topics, const struct gy_topic_key *key)
{
	struct cds_lfht_node *node = gy_growing_table_find(&topics->table, key->hash, match, key);

	return node == NULL ? NULL : gy_container_of(node, struct gy_topic, node);
}

int gy_topics_init(struct gy_topics *topics, struct gy_rcu *rcu)
{
	(void)pthread_mutex_init(&topics->mutex, NULL);
	return gy_growing_table_init(&topics->table, rcu);
}

void gy_topics_fini(struct gy_topics *topics)
{
	gy_growing_table_fini(&topics->table);
	(void)pthread_mutex_destroy(&topics->mutex);
}

/* Under the mutex. NULL when there is no memory. */
static struct gy_topic *make_topic(struct gy_topics *topics, const struct gy_topic_key *key)
{
	struct gy_topic *topic =
		(struct gy_topic *)gy_memory_get(sizeof(struct gy_topic) + key->key.count);

	if (topic != NULL) {
		topic->type_id = key->type_id;
		topic->bytes = key->key.count;
		if (topic->bytes > 0) {
			memcpy(topic->key, key->key.bytes, topic->bytes);
		}
		gy_happens_before(topic);
		gy_growing_table_add(&topics->table, key->hash, &topic->node);
	}
	return topic;
}

/* ---- subscriptions ---- */

/* Puts a new one into its topic, which is made if need be. -ENOMEM. */
static int join(struct gy_topics *topics, const struct gy_topic_key *key,
		struct gy_subscription *subscription)
{
	struct gy_topic *topic;
	bool entered = gy_rcu_enter();

	(void)pthread_mutex_lock(&topics->mutex);
	topic = gy_topic_find(topics, key);
	if (topic == NULL) {
		topic = make_topic(topics, key);
	}
	if (topic != NULL) {
		subscription->topic = topic;
		subscription->next = topic->first;
		if (topic->first != NULL) {
			topic->first->before = subscription;
		}
		gy_store_release(&topic->first, subscription);
	}
	(void)pthread_mutex_unlock(&topics->mutex);
	gy_rcu_leave(entered);
	return topic == NULL ? -ENOMEM : 0;
}

/* Takes one out of its topic, which goes with the last. */
static void part(struct gy_topics *topics, struct gy_subscription *subscription)
{
	struct gy_topic *topic = subscription->topic;
	bool entered = gy_rcu_enter();

	(void)pthread_mutex_lock(&topics->mutex);
	if (subscription->next != NULL) {
		subscription->next->before = subscription->before;
	}
	if (subscription->before != NULL) {
		gy_store_release(&subscription->before->next, subscription->next);
	} else {
		gy_store_release(&topic->first, subscription->next);
	}
	if (topic->first == NULL) {
		gy_growing_table_remove(&topics->table, &topic->node);
		gy_happens_before(topic);
		gy_rcu_retire(subscription->rcu, &topic->item);
	}
	(void)pthread_mutex_unlock(&topics->mutex);
	gy_rcu_leave(entered);
}

int gy_subscription_enter(struct gy_subscription *subscription)
{
	uint64_t references = gy_load_relaxed(&subscription->references);

	do {
		if (references == 0) {
			return -ESRCH;
		}
		if (gy_subscription_events(references) >
		    gy_load_relaxed(&subscription->waiting_max)) {
			return -ENOBUFS;
		}
	} while (!gy_compare_exchange(&subscription->references, &references, references + 1));
	return 0;
}

bool gy_subscription_enter_word(struct gy_subscription *subscription)
{
	uint64_t references = gy_load_relaxed(&subscription->references);

	do {
		if (references == 0) {
			return false;
		}
	} while (!gy_compare_exchange(&subscription->references, &references,
				      references + GY_SUBSCRIPTION_WORD));
	return true;
}

void gy_subscription_leave(struct gy_subscription *subscription, uint64_t one)
{
	if (gy_add_full(&subscription->references, -one) == one) {
		gy_happens_before(subscription);
		gy_rcu_retire(subscription->rcu, &subscription->item);
	}
}

void gy_subscription_miss(struct gy_subscription *subscription)
{
	(void)gy_add_full(&subscription->missed, 1);
}

/* Whoever misses an event and whoever leaves as the last each write one and then read the other, in
 * one order that all see: so one of them finds that it is to be told. */
bool gy_subscription_is_untold(struct gy_subscription *subscription)
{
	return gy_subscription_events(gy_load_full(&subscription->references)) == 1 &&
	       gy_load_full(&subscription->missed) > 0;
}

uint64_t gy_subscription_take_missed(struct gy_subscription *subscription)
{
	return gy_exchange_full(&subscription->missed, 0);
}

static void end(struct gy_topics *topics, struct gy_subscription *subscription)
{
	part(topics, subscription);
	subscription->ended = true;
	gy_subscription_leave(subscription, 1);
}

/* ---- of an actor ---- */

/* That of the actor with such a topic. */
static struct gy_subscription *find_mine(const struct gy_directory_entry *entry,
					 const struct gy_topic_key *key)
{
	struct gy_table_item *item =
		entry == NULL ? NULL : gy_table_find(&entry->subscriptions, key->hash);

	while (item != NULL) {
		struct gy_subscription *subscription =
			gy_container_of(item, struct gy_subscription, mine);

		if (item->key == key->hash && equal(subscription->topic, key)) {
			return subscription;
		}
		item = item->next;
	}
	return NULL;
}

static void set_options(struct gy_subscription *subscription,
			const struct gyre_subscribe_options *options)
{
	gy_store_relaxed(&subscription->tag, options->tag);
	gy_store_relaxed(&subscription->waiting_max,
			 options->waiting_max == 0 ? GYRE_EVENTS_WAITING : options->waiting_max);
}

static int subscribe(struct gy_house *house, const struct gy_topic_key *key,
		     const struct gyre_subscribe_options *options)
{
	struct gy_directory *directory = house->home->options.system->directory;
	struct gy_subscription *subscription;
	struct gy_directory_entry *entry;
	int r = gy_directory_entry_get(house, &entry);

	if (r < 0) {
		return r;
	}
	subscription = find_mine(entry, key);
	if (subscription != NULL) {
		set_options(subscription, options);
		return 0;
	}
	subscription = (struct gy_subscription *)gy_memory_get(sizeof(*subscription));
	if (subscription == NULL) {
		return -ENOMEM;
	}
	subscription->rcu = &directory->rcu;
	subscription->actor = gy_house_address(house);
	subscription->references = 1;
	subscription->mine.key = key->hash;
	set_options(subscription, options);
	r = gy_table_add(&entry->subscriptions, &house->home->parts, &subscription->mine);
	if (r == 0) {
		r = join(&directory->topics, key, subscription);
		if (r < 0) {
			gy_table_remove(&entry->subscriptions, &house->home->parts,
					&subscription->mine);
		}
	}
	if (r < 0) {
		gy_memory_put(subscription);
	}
	return r;
}

int gyre_subscribe_sized(struct gyre_stack *stack, const struct gyre_type *type,
			 struct gyre_event_key key, const struct gyre_subscribe_options *options,
			 size_t options_bytes)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gyre_subscribe_options mine;
	struct gy_topic_key topic;
	int r = GY_SIZED_READ(gyre_subscribe_options, &mine, options, options_bytes,
			      house->home->options.system->homes.log);

	if (r == 0) {
		r = gy_topic_key_make(&house->home->options.system->directory->topics, type, key,
				      &topic);
	}
	if (r == 0 && (mine.waiting_max > GYRE_EVENTS_WAITING_MAX || mine.reserved != 0)) {
		r = -EINVAL;
	}
	return r == 0 ? subscribe(house, &topic, &mine) : r;
}

int gyre_unsubscribe(struct gyre_stack *stack, const struct gyre_type *type,
		     struct gyre_event_key key)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_directory_entry *entry = gy_directory_entry_of(house);
	struct gy_subscription *subscription;
	struct gy_topic_key topic;

	if (gy_topic_key_make(&house->home->options.system->directory->topics, type, key, &topic) <
	    0) {
		return -EINVAL;
	}
	subscription = find_mine(entry, &topic);
	if (subscription == NULL) {
		return -ENOENT;
	}
	gy_table_remove(&entry->subscriptions, &house->home->parts, &subscription->mine);
	end(&house->home->options.system->directory->topics, subscription);
	return 0;
}

void gy_subscriptions_withdraw(struct gy_topics *topics, struct gy_house *house,
			       struct gy_table *subscriptions)
{
	for (uint32_t i = 0; i < subscriptions->size; i++) {
		struct gy_table_item *item = subscriptions->buckets[i];

		while (item != NULL) {
			struct gy_table_item *next = item->next;

			end(topics, gy_container_of(item, struct gy_subscription, mine));
			item = next;
		}
	}
	subscriptions->count = 0;
	gy_table_fini(subscriptions, &house->home->parts);
}

/* ---- events that wait ---- */

/* NULL for one that has had its turn. */
static struct gy_subscription *subscription_of(const struct gyre_mail *mail)
{
	gy_assert(mail->node.kind == GY_MAIL_PUBLISHED);
	return (struct gy_subscription *)(uintptr_t)mail->ask_id;
}

/* What the mail takes of the references of its subscription. */
static uint64_t reference_of(const struct gyre_mail *mail)
{
	return mail->type->id == GYRE_ID(gyre_events_missed) ? GY_SUBSCRIPTION_WORD : 1;
}

bool gy_event_claim(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_subscription *subscription = subscription_of(mail);
	bool wanted = !subscription->ended;

	mail->ask_id = 0; /* it has left, whatever becomes of it */
	gy_subscription_leave(subscription, reference_of(mail));
	if (wanted && gy_subscription_is_untold(subscription)) {
		gy_publish_missed(house->home, subscription);
	}
	return wanted;
}

void gy_event_lost(const struct gyre_mail *mail)
{
	struct gy_subscription *subscription = subscription_of(mail);

	if (subscription != NULL) {
		gy_subscription_leave(subscription, reference_of(mail));
	}
}
