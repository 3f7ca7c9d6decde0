/*
 * Beginning, ending and telling watches.
 */
#include <errno.h>
#include <string.h>

#include <gyre/watch.h>

#include "actor/address_text.h"
#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/life/node_loss.h"
#include "actor/life/path.h"
#include "actor/life/watch.h"
#include "actor/life/watch_walk.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"

/* The payload of both records. */
struct record {
	struct gy_table_item item;
	struct gyre_address actor; /* that is watched */
	uint32_t round;		   /* of a watcher on another node: see watch_walk.h */
};

const struct gyre_type gy_type_watch = { .name = "watch",
					 .id = GY_ID_WATCH,
					 .bytes = sizeof(struct record) };
const struct gyre_type gy_type_unwatch = { .name = "unwatch",
					   .id = GY_ID_UNWATCH,
					   .bytes = sizeof(struct record) };

/* The payload of the event of an end that has a cause. */
struct caused {
	struct gyre_terminated terminated; /* first */
	struct gy_cause *cause;		   /* owned */
};

static void release_cause(void *payload)
{
	gy_cause_unref(((struct caused *)payload)->cause);
}

static const struct gyre_type type_caused = { .name = "gyre_terminated",
					      .id = GYRE_ID(gyre_terminated),
					      .bytes = sizeof(struct gyre_terminated),
					      .destroy = release_cause };

_Static_assert(sizeof(struct caused) <= sizeof(struct record), "one becomes the other");

/* In the deadline of the watcher's record, a bit each: the event of the end is on its way, and it
 * ends the watcher. */
enum { MARK_TOLD = 1, MARK_PACT = 2 };

static struct record *record_of(struct gyre_mail *mail)
{
	return (struct record *)gyre_payload(mail);
}

static const struct record *record_of_const(const struct gyre_mail *mail)
{
	return (const struct record *)(const void *)mail->payload;
}

static struct gyre_mail *mail_of(struct gy_table_item *item)
{
	char *payload = (char *)(void *)gy_container_of(item, struct record, item);

	return (struct gyre_mail *)(void *)(payload - GYRE_MAIL_HEADER_BYTES);
}

static struct gy_watch *watch_of(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);

	if (extra != NULL && extra->watch == NULL) {
		extra->watch =
			(struct gy_watch *)gy_sizes_new(&house->home->parts, sizeof(*extra->watch));
		if (extra->watch != NULL) {
			*extra->watch = (struct gy_watch){ 0 };
		}
	}
	return extra == NULL ? NULL : extra->watch;
}

static struct gyre_mail *find(struct gy_house *house, struct gyre_address actor)
{
	struct gy_table_item *item = house->extra == NULL || house->extra->watch == NULL
					     ? NULL
					     : gy_table_find(&house->extra->watch->watched,
							     gy_origin_key(gy_origin_of(actor)));

	for (; item != NULL; item = item->next) {
		struct gyre_mail *mail = mail_of(item);

		if (gy_address_equal(house->home, record_of(mail)->actor, actor)) {
			return mail;
		}
	}
	return NULL;
}

static struct gyre_mail *make_record(struct gy_house *house, const struct gyre_type *type,
				     struct gyre_address actor, uint64_t number)
{
	struct gyre_mail *mail = gy_mail_get(house->home, type);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EVENT;
		mail->ask_id = number;
		mail->deadline = 0;
		gy_mail_from(mail, house);
		record_of(mail)->actor = actor;
		record_of(mail)->round = 0;
	}
	return mail;
}

/* @marks: of the watcher's record. */
static int watch(struct gyre_stack *stack, struct gyre_address actor, uint32_t marks)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_home *home = house->home;
	struct gy_watch *watch = watch_of(house);
	uint64_t number = gy_home_number(home);
	struct gyre_mail *mine;
	struct gyre_mail *theirs;

	if (gyre_address_is_nobody(actor) || actor.loop == GY_GROUP_LOOP ||
	    gy_address_same(actor, gy_house_address(house))) {
		return -EINVAL;
	}
	mine = find(house, actor);
	if (mine != NULL) {
		mine->deadline |= marks;
		return 0;
	}
	mine = make_record(house, &gy_type_unwatch, actor, number);
	theirs = make_record(house, &gy_type_watch, actor, number);
	if (mine != NULL) {
		record_of(mine)->item.key = gy_origin_key(gy_origin_of(actor));
		mine->deadline = marks;
	}
	if (mine == NULL || theirs == NULL || watch == NULL ||
	    gy_table_add(&watch->watched, &home->parts, &record_of(mine)->item) < 0) {
		gyre_mail_destroy(stack, mine);
		gyre_mail_destroy(stack, theirs);
		return -ENOMEM;
	}
	(void)gy_send_away(home, actor, theirs);
	return 0;
}

int gyre_watch(struct gyre_stack *stack, struct gyre_address actor)
{
	return watch(stack, actor, 0);
}

int gyre_watch_pact(struct gyre_stack *stack, struct gyre_address actor)
{
	return watch(stack, actor, MARK_PACT);
}

/* The watcher's own record becomes the order to forget. */
static void forget(struct gy_home *home, struct gyre_mail *mine)
{
	struct gyre_address actor = record_of(mine)->actor;

	mine->deadline = 0;
	(void)gy_send_away(home, actor, mine);
}

int gyre_unwatch(struct gyre_stack *stack, struct gyre_address actor)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gyre_mail *mine = find(house, actor);

	if (mine == NULL) {
		return -ENOENT;
	}
	gy_table_remove(&house->extra->watch->watched, &house->home->parts, &record_of(mine)->item);
	forget(house->home, mine);
	return 0;
}

/*
 * The watch has ended, and not what was watched: this node would not hear of that, or the other one
 * has refused the watch. It may have taken it since, when the watch was named once more, and before
 * the refusal came.
 */
static bool may_live_on(const struct gyre_mail *mine, int reason)
{
	return reason == -EDQUOT || ((mine->deadline & MARK_TOLD) != 0 && reason == -EADDRNOTAVAIL);
}

bool gy_watch_claim(struct gy_house *house, const struct gyre_mail *mail)
{
	const struct gyre_terminated *terminated =
		(const struct gyre_terminated *)(const void *)mail->payload;
	struct gyre_mail *mine = find(house, terminated->actor);

	if (mine == NULL || mine->ask_id != mail->ask_id) {
		return false;
	}
	gy_table_remove(&house->extra->watch->watched, &house->home->parts, &record_of(mine)->item);
	if (may_live_on(mine, terminated->reason)) {
		forget(house->home, mine);
	} else {
		gy_mail_put(house->home, mine);
	}
	return true;
}

/*
 * Lanes before @from that hold mail, a bit each. The pass has run these lanes as far as they go, so
 * the only mail of theirs outside of them is mail that was put first.
 */
static uint32_t lanes_before(const struct gy_house *house, enum gy_lane from)
{
	const struct gy_home *home = house->home;
	uint32_t lanes = house->pending;

	for (uint32_t lane = 0; home->front_waits && lane < GY_LANES; lane++) {
		lanes |= (uint32_t)(home->put_first[lane] != NULL) << lane;
	}
	if (gy_graceful_stop_is_closing(house)) {
		/* Their mail will never be handled. */
		lanes &= ~(uint32_t)gy_house_lanes_of(GY_CLOSED_BY_GRACEFUL_STOP);
	}
	return lanes & ((1U << from) - 1);
}

static void count_held(struct gy_house *house, uint32_t held)
{
	house->extra->watch->held = held;
	if (held == 0) {
		house->passed_over &= (uint8_t)~GY_ENDS_HELD;
		gy_house_update_plain(house);
	} else {
		house->passed_over |= GY_ENDS_HELD;
		house->plain = false;
	}
}

bool gy_watch_hold(struct gy_house *house, struct gyre_mail *mail, enum gy_lane from)
{
	const struct gy_watch *watch = house->extra == NULL ? NULL : house->extra->watch;
	uint32_t lanes = watch == NULL ? 0 : lanes_before(house, from);
	bool holds = lanes != 0;

	if (watch != NULL && holds != (from < GY_LANE_EVENT)) {
		gy_assert(holds || watch->held > 0);
		count_held(house, holds ? watch->held + 1 : watch->held - 1);
	}
	if (holds) {
		gy_house_put(house->home, house, mail, (enum gy_lane)(31 - __builtin_clz(lanes)));
	}
	return holds;
}

static void release_lane(struct gy_house *house, enum gy_lane lane)
{
	struct gy_node *last = NULL;
	struct gy_node *node =
		house->lanes[lane] == NULL ? NULL : gy_house_take_lane(house, lane, &last);

	while (node != NULL) {
		struct gy_node *next = node->next;
		bool is_end = node->kind == GY_MAIL_EVENT;

		if (is_end) {
			count_held(house, house->extra->watch->held - 1);
		}
		gy_house_put(house->home, house, gy_mail_of(node), is_end ? GY_LANE_EVENT : lane);
		node = next;
	}
}

void gy_watch_release(struct gy_house *house)
{
	gy_assert(gy_graceful_stop_is_closing(house));
	release_lane(house, GY_LANE_ASK);
	release_lane(house, GY_LANE_NOTICE);
}

struct gy_cause *gy_watch_cause(const struct gyre_mail *event)
{
	return event->type == &type_caused
		       ? ((const struct caused *)(const void *)event->payload)->cause
		       : NULL;
}

bool gy_watch_end_by_pact(struct gy_house *house, struct gyre_mail *mail)
{
	const struct gyre_terminated *terminated =
		(const struct gyre_terminated *)(const void *)mail->payload;
	const struct gyre_mail *mine = find(house, terminated->actor);
	int reason = terminated->reason;
	char text[GYRE_ADDRESS_TEXT_MAX];

	if (mine == NULL || mine->ask_id != mail->ask_id || (mine->deadline & MARK_PACT) == 0) {
		return false;
	}
	if (reason < 0) {
		gy_house_warn(house->home, house, "stops with %s, with which it has a pact: %s",
			      gy_address_text(terminated->actor, text), strerror(-reason));
		gy_house_set_cause(house, reason, gy_cause_ref(gy_watch_cause(mail)));
	}
	(void)gy_watch_claim(house, mail);
	gy_mail_put(house->home, mail);
	gy_house_request_stop(house, reason);
	return true;
}

const void *gyre_terminated_cause_as(const struct gyre_stack *stack, const struct gyre_type *type)
{
	const struct gyre_mail *mail = gy_stack_of_const(stack)->mail;

	return mail == NULL ? NULL : gy_cause_as(gy_watch_cause(mail), type);
}

/* A record becomes the event. The cause is taken, and may be NULL. */
static void make_end(struct gyre_mail *record, const struct gyre_terminated *terminated,
		     struct gy_cause *cause)
{
	record->type = cause == NULL ? &gyre_type_gyre_terminated : &type_caused;
	*(struct gyre_terminated *)gyre_payload(record) = *terminated;
	if (cause != NULL) {
		((struct caused *)gyre_payload(record))->cause = cause;
		record->node.owner |= GY_NODE_HOLDS;
	}
}

struct gyre_mail *gy_watch_make_end(struct gy_home *home, const struct gyre_terminated *terminated,
				    struct gy_cause *cause)
{
	struct gyre_mail *event = gy_mail_get(home, &gy_type_watch); /* which has room for both */

	if (event == NULL) {
		gy_cause_unref(cause);
	} else {
		make_end(event, terminated, cause);
	}
	return event;
}

/* @cause is NULL for none. */
static void tell_cause(struct gy_home *home, struct gyre_mail *theirs, int reason,
		       struct gy_cause *cause)
{
	struct gyre_address watcher = gy_mail_sender(theirs);
	struct gyre_address actor = record_of(theirs)->actor;

	gy_mail_from_nobody(theirs);
	make_end(theirs, &(struct gyre_terminated){ .actor = actor, .reason = reason },
		 gy_cause_ref(cause));
	(void)gy_send(home, watcher, theirs, GY_LANE_EVENT);
}

static void tell(struct gy_home *home, struct gyre_mail *theirs, int reason)
{
	tell_cause(home, theirs, reason, NULL);
}

uint32_t gy_watch_round(const struct gyre_mail *order)
{
	gy_assert(order->type == &gy_type_watch);
	return record_of_const(order)->round;
}

void gy_watch_set_round(struct gyre_mail *order, uint32_t round)
{
	gy_assert(order->type == &gy_type_watch);
	record_of(order)->round = round;
}

/* Watchers on other nodes are counted, and there are only so many of each. */
static bool hold_watcher(struct gy_home *home, const struct gyre_mail *theirs)
{
	return gy_likely(theirs->from.node == home->node) ||
	       home->options.remote->hold_watcher(home, theirs->from);
}

static void release_watcher(struct gy_home *home, const struct gyre_mail *theirs)
{
	if (gy_unlikely(theirs->from.node != home->node)) {
		home->options.remote->release_watcher(home, theirs->from);
	}
}

/* Finds the record of the watch that an order is about. Each node gives numbers for itself. */
static struct gyre_mail *find_watcher(struct gy_house *house, const struct gyre_mail *order)
{
	struct gy_table_item *item =
		house->extra == NULL || house->extra->watch == NULL
			? NULL
			: gy_table_find(&house->extra->watch->watchers, order->ask_id);

	for (; item != NULL; item = item->next) {
		struct gyre_mail *mail = mail_of(item);

		if (item->key == order->ask_id && gy_origin_equal(mail->from, order->from)) {
			return mail;
		}
	}
	return NULL;
}

/* The watch is named once more. An order of an earlier round may come behind one of a later. */
static void name_again(struct gy_home *home, struct gyre_mail *theirs, struct gyre_mail *order)
{
	if ((int32_t)(gy_watch_round(order) - record_of(theirs)->round) > 0) {
		record_of(theirs)->round = gy_watch_round(order);
	}
	gy_mail_put(home, order);
}

/* A watch that waits for memory is given up: its mail stays in the lane, and means nothing. */
static void call_off(struct gy_house *house, struct gyre_mail *waiting)
{
	release_watcher(house->home, waiting);
	gy_mail_from_nobody(waiting);
}

static bool is_called_off(const struct gyre_mail *waiting)
{
	return waiting->from.cookie == 0;
}

/* A watch that waits for the memory of its record, from the one before on; NULL for none. */
static struct gyre_mail *next_waiting(const struct gy_house *house, const struct gyre_mail *before)
{
	struct gy_node *last = house->lanes[GY_LANE_EVENT];
	struct gy_node *node = before == NULL ? last : before->node.next;

	if (gy_likely(!house->home->watches_waited) || node == NULL ||
	    (before != NULL && node == last)) {
		return NULL;
	}
	do {
		struct gyre_mail *mail = gy_mail_of(node);

		if (mail->type == &gy_type_watch && !is_called_off(mail)) {
			return mail;
		}
		node = node->next;
	} while (node != last);
	return NULL;
}

/* By an order that names it again, or gives it up. */
static struct gyre_mail *find_waiting(const struct gy_house *house, const struct gyre_mail *order)
{
	struct gyre_mail *waiting = next_waiting(house, NULL);

	while (waiting != NULL &&
	       (waiting->ask_id != order->ask_id || !gy_origin_equal(waiting->from, order->from))) {
		waiting = next_waiting(house, waiting);
	}
	return waiting;
}

/* Without memory for its record a watch waits: the watcher must hear of the end only at the end. */
void gy_watch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	struct gyre_mail *theirs = house == NULL ? NULL : find_watcher(house, mail);

	gy_count(&home->counters.handled, 1);
	if (theirs == NULL && house != NULL) {
		theirs = find_waiting(house, mail);
	}
	if (is_called_off(mail)) {
		gy_mail_put(home, mail); /* another node says that it is from nobody */
	} else if (house == NULL) {
		tell(home, mail, -ESRCH);
	} else if (theirs != NULL) {
		name_again(home, theirs, mail);
	} else if (!hold_watcher(home, mail)) {
		tell(home, mail, -EDQUOT);
	} else if (!gy_watch_retry(house, mail)) {
		home->watches_waited = true;
		gy_house_put(home, house, mail, GY_LANE_EVENT);
	}
}

bool gy_watch_retry(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_home *home = house->home;
	struct gy_watch *watch = watch_of(house);

	if (is_called_off(mail)) {
		gy_mail_put(home, mail);
		return true;
	}
	record_of(mail)->item.key = mail->ask_id;
	return watch != NULL &&
	       gy_table_add(&watch->watchers, &home->parts, &record_of(mail)->item) == 0;
}

void gy_watch_tell_waiting(struct gy_house *house, int reason)
{
	struct gy_node *last;
	struct gy_node *node = house->lanes[GY_LANE_EVENT] == NULL
				       ? NULL
				       : gy_house_take_lane(house, GY_LANE_EVENT, &last);

	while (node != NULL) {
		struct gyre_mail *mail = gy_mail_of(node);

		node = node->next;
		if (is_called_off(mail)) {
			gy_mail_put(house->home, mail);
		} else {
			release_watcher(house->home, mail);
			tell(house->home, mail, reason);
		}
	}
}

struct gyre_mail *gy_watch_make(struct gy_home *home, const struct gyre_type *type,
				struct gyre_address actor)
{
	struct gyre_mail *mail = gy_mail_get(home, type);

	if (mail != NULL) {
		record_of(mail)->actor = actor;
		record_of(mail)->round = 0;
	}
	return mail;
}

void gy_watch_refused(struct gy_home *home, struct gyre_mail *mail, int reason)
{
	gy_count(&home->counters.handled, 1);
	tell(home, mail, reason);
}

/* The event needs mail of its own: the record stays, marked, until it is claimed. */
static bool tell_lost(struct gy_house *house, struct gyre_mail *mine, int reason)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = gy_watch_make(home, &gy_type_watch, record_of(mine)->actor);

	if (mail != NULL) {
		mine->deadline |= MARK_TOLD;
		mail->node.kind = GY_MAIL_EVENT;
		mail->ask_id = mine->ask_id;
		gy_mail_from(mail, house);
		tell(home, mail, reason);
	}
	return mail != NULL;
}

bool gy_watch_node_lost(struct gy_house *house, const struct gy_node_loss *news)
{
	const struct gy_watch *watch = house->extra == NULL ? NULL : house->extra->watch;
	bool all = true;

	for (uint32_t i = 0; watch != NULL && i < watch->watched.size; i++) {
		struct gy_table_item *item = watch->watched.buckets[i];

		for (; item != NULL; item = item->next) {
			struct gyre_mail *mine = mail_of(item);

			if ((mine->deadline & MARK_TOLD) == 0 &&
			    gy_node_loss_ends(house->home, news, record_of(mine)->actor)) {
				all = tell_lost(house, mine, news->error) && all;
			}
		}
	}
	return all;
}

static void forget_watcher(struct gy_house *house, struct gyre_mail *theirs)
{
	release_watcher(house->home, theirs);
	gy_mail_put(house->home, theirs);
}

/* Which watchers are to be forgotten. */
typedef bool (*is_over_fn)(const struct gy_house *house, const void *by,
			   const struct gyre_mail *theirs);

static void forget_waiting(struct gy_house *house, is_over_fn is_over, const void *by)
{
	struct gyre_mail *waiting = next_waiting(house, NULL);

	for (; waiting != NULL; waiting = next_waiting(house, waiting)) {
		if (is_over(house, by, waiting)) {
			call_off(house, waiting);
		}
	}
}

/* Those of a bucket; one more than there were. The table keeps its size, so that a walk goes on
 * where it is. */
static uint32_t forget_bucket(struct gy_house *house, uint32_t bucket, is_over_fn is_over,
			      const void *by)
{
	struct gy_table *table = &house->extra->watch->watchers;
	struct gy_table_item **link = &table->buckets[bucket];
	uint32_t count = 1;

	for (; *link != NULL; count++) {
		struct gyre_mail *theirs = mail_of(*link);

		if (is_over(house, by, theirs)) {
			*link = (*link)->next;
			table->count--;
			forget_watcher(house, theirs);
		} else {
			link = &(*link)->next;
		}
	}
	return count;
}

/* @by: struct gy_node_loss. */
static bool waits_in_vain(const struct gy_house *house, const void *by,
			  const struct gyre_mail *theirs)
{
	return gy_node_loss_ends(house->home, (const struct gy_node_loss *)by,
				 gy_address_shown(house->home, gy_mail_sender(theirs)));
}

void gy_watch_forget_watchers(struct gy_house *house, const struct gy_node_loss *news)
{
	const struct gy_watch *watch = house->extra == NULL ? NULL : house->extra->watch;

	forget_waiting(house, waits_in_vain, news);
	for (uint32_t i = 0; watch != NULL && i < watch->watchers.size; i++) {
		(void)forget_bucket(house, i, waits_in_vain, news);
	}
}

/* ---- walks ---- */

/* Sends the order again, which the other node takes as a name of the watch where it has arrived. */
static bool name(struct gy_house *house, const struct gyre_mail *mine)
{
	struct gyre_address actor = record_of_const(mine)->actor;
	struct gyre_mail *theirs = make_record(house, &gy_type_watch, actor, mine->ask_id);

	if (theirs != NULL) {
		(void)gy_send_away(house->home, actor, theirs);
	}
	return theirs != NULL;
}

/* Those of a bucket; one more than there are, or 0 if memory was lacking. */
static uint32_t name_bucket(struct gy_house *house, uint16_t node, struct gy_table_item *item)
{
	uint32_t count = 1;

	for (; item != NULL; item = item->next, count++) {
		const struct gyre_mail *mine = mail_of(item);

		if ((mine->deadline & MARK_TOLD) == 0 &&
		    record_of_const(mine)->actor.node == node && !name(house, mine)) {
			return 0;
		}
	}
	return count;
}

/* @by: struct gy_watch_walk. */
static bool is_swept(const struct gy_house *house, const void *by, const struct gyre_mail *theirs)
{
	const struct gy_watch_walk *walk = (const struct gy_watch_walk *)by;

	(void)house;
	return theirs->from.node == walk->node && theirs->from.loop == walk->loop &&
	       (theirs->from.slot & ~gy_slot_mask) == walk->life &&
	       (int32_t)(record_of_const(theirs)->round - walk->round) < 0;
}

bool gy_watch_visit(struct gy_house *house, const struct gy_watch_walk *walk,
		    struct gy_watch_place *place, uint32_t *budget)
{
	struct gy_watch *watch = house->extra == NULL ? NULL : house->extra->watch;
	struct gy_table *table = watch == NULL	? NULL
				 : walk->sweeps ? &watch->watchers
						: &watch->watched;

	if (walk->sweeps && place->size == 0) { /* those that come later are of its round */
		forget_waiting(house, is_swept, walk);
	}
	if (table != NULL && place->size != table->size) {
		*place = (struct gy_watch_place){ .size = table->size }; /* from the first on */
	}
	for (; table != NULL && place->bucket < table->size; place->bucket++) {
		uint32_t count =
			*budget == 0 ? 0
			: walk->sweeps
				? forget_bucket(house, place->bucket, is_swept, walk)
				: name_bucket(house, walk->node, table->buckets[place->bucket]);

		if (count == 0) {
			return false;
		}
		*budget -= count < *budget ? count : *budget;
	}
	return true;
}

/* ---- ends ---- */

void gy_unwatch_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	struct gyre_mail *theirs = house == NULL ? NULL : find_watcher(house, mail);
	struct gyre_mail *waiting =
		house == NULL || theirs != NULL ? NULL : find_waiting(house, mail);

	gy_count(&home->counters.handled, 1);
	if (theirs != NULL) {
		gy_table_remove(&house->extra->watch->watchers, &home->parts,
				&record_of(theirs)->item);
		forget_watcher(house, theirs);
	} else if (waiting != NULL) {
		call_off(house, waiting);
	}
	gy_mail_put(home, mail);
}

/* Takes any item out of a table that is not empty. */
static struct gyre_mail *take_any(struct gy_table *table, uint32_t *bucket)
{
	struct gy_table_item *item;

	while (table->buckets[*bucket] == NULL) {
		++*bucket;
	}
	item = table->buckets[*bucket];
	table->buckets[*bucket] = item->next;
	table->count--;
	return mail_of(item);
}

void gy_watch_end(struct gy_house *house, int reason)
{
	struct gy_home *home = house->home;
	struct gy_watch *watch = house->extra == NULL ? NULL : house->extra->watch;
	uint32_t bucket = 0;

	if (watch == NULL) {
		return;
	}
	while (watch->watchers.count > 0) {
		struct gyre_mail *theirs = take_any(&watch->watchers, &bucket);

		release_watcher(home, theirs);
		tell_cause(home, theirs, reason, gy_house_cause(house, reason));
	}
	bucket = 0;
	while (watch->watched.count > 0) {
		forget(home, take_any(&watch->watched, &bucket));
	}
	gy_table_fini(&watch->watchers, &home->parts);
	gy_table_fini(&watch->watched, &home->parts);
	gy_sizes_delete(&home->parts, watch, sizeof(*watch));
	house->extra->watch = NULL;
}
