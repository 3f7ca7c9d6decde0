/*
 * Publishing: a copy of a message for each subscription to its type and key. The first that is to
 * have it gets the message itself in the end, so that where there is one nothing is copied.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "base/atomic.h"
#include "base/happens.h"
#include "system/directory/directory.h"
#include "system/drain.h"
#include "system/outside_count.h"
#include "system/outside_post.h"
#include "system/system.h"

/* A message that is being published. */
struct publication {
	struct gyre_system *system;
	struct gy_home *home; /* NULL outside of loops */
	struct gyre_mail *mail;
	struct gy_subscription *first; /* gets @mail itself; NULL for none yet */
	int count;
};

/* To the lane of events; what becomes of it is counted there. */
static void give(const struct publication *publication, struct gy_subscription *subscription,
		 struct gyre_mail *mail)
{
	struct gyre_address to = subscription->actor;

	mail->ask_id = (uintptr_t)subscription;
	mail->node.kind = GY_MAIL_PUBLISHED;
	if (publication->home != NULL) {
		(void)gy_send(publication->home, to, mail, GY_LANE_EVENT);
	} else {
		(void)gy_outside_send(publication->system, to, mail);
	}
}

/* ---- what was missed ---- */

/* Tells the subscriber of what it has missed until now. False without memory. */
static bool tell_missed(const struct publication *publication, struct gy_subscription *subscription)
{
	struct gyre_mail *mail =
		gy_mail_get_anywhere(publication->home, &gyre_type_gyre_events_missed);
	uint64_t count;

	if (mail == NULL) {
		return false;
	}
	count = gy_subscription_take_missed(subscription);
	if (count == 0 || !gy_subscription_enter_word(subscription)) {
		gy_mail_put_anywhere(publication->home,
				     mail); /* somebody else was faster, or it has ended */
		return true;
	}
	gy_mail_from_nobody(mail);
	*(struct gyre_events_missed *)gyre_payload(mail) =
		(struct gyre_events_missed){ .count = count,
					     .tag = gy_load_relaxed(&subscription->tag),
					     .type_id = subscription->topic->type_id };
	give(publication, subscription, mail);
	return true;
}

void gy_publish_missed(struct gy_home *home, struct gy_subscription *subscription)
{
	const struct publication publication = { .system = home->options.system, .home = home };

	(void)tell_missed(&publication, subscription);
}

/* ---- copies ---- */

/* Gives one subscription, which the event was let into, its copy. False without memory. */
static bool give_copy(struct publication *publication, struct gy_subscription *subscription)
{
	struct gyre_mail *copy;

	if (gy_unlikely(gy_load_relaxed(&subscription->missed) > 0) &&
	    !tell_missed(publication, subscription)) {
		return false;
	}
	if (publication->first == NULL) {
		publication->first = subscription;
		return true;
	}
	copy = gy_mail_copy(publication->home, publication->mail);
	if (copy == NULL) {
		return false;
	}
	copy->from = publication->mail->from;
	give(publication, subscription, copy);
	return true;
}

/* The subscription stays while this looks on, also when it has ended meanwhile. */
static void give_to(struct publication *publication, struct gy_subscription *subscription)
{
	int r = gy_subscription_enter(subscription);

	if (r == -ESRCH) {
		return;
	}
	if (r == 0 && give_copy(publication, subscription)) {
		publication->count += publication->count < INT_MAX;
		return;
	}
	gy_subscription_miss(subscription);
	if (r == 0) {
		gy_subscription_leave(subscription, 1);
	}
	if (gy_subscription_is_untold(subscription)) {
		(void)tell_missed(publication, subscription);
	}
}

static void give_to_topic(struct publication *publication, const struct gy_topic_key *key)
{
	struct gy_topic *topic = gy_topic_find(&publication->system->directory->topics, key);
	struct gy_subscription *next;

	if (topic == NULL) {
		return;
	}
	next = gy_load_acquire(&topic->first);
	while (next != NULL) {
		struct gy_subscription *subscription = next;

		give_to(publication, subscription);
		next = gy_load_acquire(&subscription->next);
		gy_happens_before(subscription);
	}
	gy_happens_before(topic);
}

/* Takes the mail, which is of nobody but the caller. Returns how many it was sent to. */
static int publish(struct publication *publication, const struct gy_topic_key *key)
{
	struct gy_topic_key every;
	bool entered = gy_rcu_enter();

	give_to_topic(publication, key);
	if (key->key.count > 0) {
		(void)gy_topic_key_make(&publication->system->directory->topics,
					publication->mail->type, gyre_event_key_of(NULL), &every);
		give_to_topic(publication, &every);
	}
	if (publication->first != NULL) {
		give(publication, publication->first, publication->mail);
	} else {
		gy_mail_put_anywhere(publication->home, publication->mail);
	}
	gy_rcu_leave(entered);
	return publication->count;
}

static int check(const struct gyre_system *system, const struct gyre_mail *mail,
		 struct gyre_event_key key, struct gy_topic_key *ret_key)
{
	return !gy_type_can_be_copied(mail->type) || mail->type->id < GY_IDS_OF_GYRE
		       ? -EINVAL
		       : gy_topic_key_make(&system->directory->topics, mail->type, key, ret_key);
}

int gyre_publish(struct gyre_stack *stack, struct gyre_mail *mail, struct gyre_event_key key)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct publication publication = { .system = house->home->options.system,
					   .home = gy_stack_of(stack)->home };
	struct gy_topic_key topic;
	int r;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	publication.mail = gy_mail_given(publication.home, mail);
	r = check(publication.system, publication.mail, key, &topic);
	if (r < 0) {
		gy_mail_put(publication.home, publication.mail);
		return r;
	}
	gy_mail_from(publication.mail, house);
	return publish(&publication, &topic);
}

int gyre_system_publish(struct gyre_system *system, struct gyre_mail *mail,
			struct gyre_event_key key)
{
	struct publication publication = { .system = system };
	struct gy_topic_key topic;
	int r;

	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	publication.mail = gy_mail_given(NULL, mail);
	r = system == NULL ? -EINVAL : check(system, publication.mail, key, &topic);
	if (r < 0) {
		gyre_mail_destroy(NULL, publication.mail);
		return r;
	}
	gy_mail_from_nobody(publication.mail);
	gy_outside_guard_memory(system, gy_outside_counted(system), 0);
	return publish(&publication, &topic);
}

/* ---- gyre's own events ---- */

bool gy_own_event_is_wanted(const struct gyre_system *system, const struct gyre_type *type)
{
	const struct gy_topics *topics = &system->directory->topics;
	struct gy_topic_key key;
	bool entered;
	bool wanted;

	if (gy_load_relaxed(&topics->table.count) == 0 ||
	    gy_load_acquire(&system->stage) >= GY_STAGE_NO_ACTORS) {
		return false;
	}
	(void)gy_topic_key_make(topics, type, gyre_event_key_of(NULL), &key);
	entered = gy_rcu_enter();
	wanted = gy_topic_find(topics, &key) != NULL;
	gy_rcu_leave(entered);
	return wanted;
}

void gy_publish_own(struct gyre_system *system, struct gy_home *home, const struct gyre_type *type,
		    const void *event)
{
	struct publication publication = { .system = system, .home = home };
	struct gy_topic_key key;

	if (!gy_own_event_is_wanted(system, type)) {
		return;
	}
	publication.mail = gy_mail_get_anywhere(home, type);
	if (publication.mail == NULL) {
		return;
	}
	memcpy(publication.mail->payload, event, type->bytes);
	gy_mail_from_nobody(publication.mail);
	(void)gy_topic_key_make(&system->directory->topics, type, gyre_event_key_of(NULL), &key);
	(void)publish(&publication, &key);
}
