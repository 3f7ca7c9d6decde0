/*
 * Actors that are run by another loop than their own.
 *
 * An actor that may be stolen is sealed: the asks and notices that wait for it now are taken out of
 * its lanes and go with it. From then on until it is back its own loop touches nothing of it but
 * the lanes, to which mail is appended as ever; orders to stop or to watch it are kept. The thief
 * has all the rest to itself. It runs what is sealed with its own pools, whose objects are as good
 * as those of any other loop. All that the actor sends goes by way of inboxes, also to actors of
 * the thief and of the home, and is flushed before the house goes home: so nothing overtakes what
 * it sent earlier or will send later. Timers that it has started are taken home with it.
 *
 * What would need its own loop meanwhile keeps an actor at home: outstanding promises, timers,
 * files, a restart or a graceful stop under way, phases of the shutdown that it holds, ends that
 * stand among its mail; and a limit or batches, which belong to its mailbox. Files that it opens
 * while it is away are opened when it is back.
 */
#include "actor/steal_actor.h"
#include "actor/dispatch.h"
#include "actor/house_extra.h"
#include "actor/life/receive_timeout.h"
#include "actor/life/restart.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/stack/stack.h"
#include "actor/timer.h"
#include "base/ticks.h"

/* The record that travels with a stolen house; the payload of a mail of its own loop. */
struct record {
	struct gy_house *house;
	struct gy_sealed_lane asks;
	struct gy_sealed_lane notices;
	struct gy_sealed_lane first_asks; /* that the actor has put first */
	struct gy_sealed_lane first_notices;
};

static const struct gyre_type type_theft = { .name = "theft",
					     .id = 0x16,
					     .bytes = sizeof(struct record) };

static struct record *record_of(struct gyre_mail *mail)
{
	return (struct record *)gyre_payload(mail);
}

/* ---- at home ---- */

static bool extra_may_leave(const struct gy_house *house)
{
	const struct gy_house_extra *extra = house->extra;

	return extra == NULL || (extra->timers.count == 0 && extra->receive_timeout == NULL &&
				 extra->graceful_stop == NULL && extra->endpoints == NULL &&
				 (extra->shutdown_holds | extra->shutdown_holding) == 0 &&
				 gy_restart_is_quiet(house));
}

static bool may_leave(const struct gy_house *house)
{
	const struct gyre_class *class = house->class_info->class;

	return (house->pending & (1U << GY_LANE_ASK | 1U << GY_LANE_NOTICE)) != 0 &&
	       house->closed == 0 && house->passed_over == 0 && house->outstanding == 0 &&
	       gy_list_empty(&house->suspended) && house->limit == 0 &&
	       class->batch_notices == NULL && class->batch_asks == NULL && extra_may_leave(house);
}

static void seal_lane(struct gy_house *house, enum gy_lane lane, struct gy_sealed_lane *sealed)
{
	sealed->first = NULL;
	if (house->lanes[lane] != NULL) {
		sealed->first = gy_house_take_lane(house, lane, &sealed->last);
	}
}

static void put_back(struct gy_house *house, enum gy_lane lane, const struct gy_sealed_lane *sealed)
{
	if (sealed->first != NULL) {
		gy_house_put_back(house, lane, sealed->first, sealed->last);
	}
}

bool gy_house_seal(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gyre_mail *mail;

	if (!may_leave(house)) {
		return false;
	}
	mail = gy_mail_get(gy_home_of(loop), &type_theft);
	if (mail == NULL) {
		return false;
	}
	gy_assert(house->sealed == NULL && house->status == GY_HOUSE_READY);
	*record_of(mail) = (struct record){ .house = house };
	seal_lane(house, GY_LANE_ASK, &record_of(mail)->asks);
	seal_lane(house, GY_LANE_NOTICE, &record_of(mail)->notices);
	house->sealed = mail;
	gy_house_set_status(house, GY_HOUSE_SCHEDULED);
	gy_home_clear_running(gy_home_of(loop), house);
	return true;
}

/* Adds to a ring that is known by its last. */
static void keep(struct gy_node **ring, struct gy_node *node)
{
	struct gy_node *last = *ring;

	node->next = last == NULL ? node : last->next;
	if (last != NULL) {
		last->next = node;
	}
	*ring = node;
}

/* The chain of what is in such a ring, which is empty then. */
static struct gy_node *take_all(struct gy_node **ring)
{
	struct gy_node *last = *ring;
	struct gy_node *first = last == NULL ? NULL : last->next;

	if (last != NULL) {
		last->next = NULL;
	}
	*ring = NULL;
	return first;
}

/* The orders that have waited for this house go their way. */
static void deliver_kept_orders(struct gy_home *home, const struct gy_house *house)
{
	struct gy_node *node = take_all(&home->orders_kept);
	struct gy_node *first = NULL;
	struct gy_node **end = &first;

	gy_assert(!gy_house_is_away(house));
	while (node != NULL) {
		struct gy_node *next = node->next;

		if (gy_mail_of(node)->to_slot == house->self.slot) {
			*end = node;
			end = &node->next;
		} else {
			keep(&home->orders_kept, node);
		}
		node = next;
	}
	*end = NULL;
	while (first != NULL) {
		node = first;
		first = node->next;
		gy_home_deliver(&home->loop, node);
	}
}

void gy_home_run_kept_tasks(struct gy_home *home)
{
	struct gy_node *node = take_all(&home->tasks_kept);

	while (node != NULL) {
		struct gy_task *task = gy_container_of(node, struct gy_task, node);

		node = node->next;
		task->run(&home->loop, task);
	}
}

void gy_home_post_kept_tasks(struct gy_home *home)
{
	struct gy_node *node = take_all(&home->tasks_kept);

	while (node != NULL) {
		struct gy_node *next = node->next;

		gy_loop_put(&home->loop, node);
		node = next;
	}
}

void gy_house_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	gy_assert(gy_house_is_away(house) && house->self.loop == home->loop.index);
	mail->to_slot = house->self.slot;
	mail->to_cookie = house->self.cookie;
	keep(&home->orders_kept, &mail->node);
}

void gy_house_defer_task(struct gy_home *home, const struct gy_house *house, struct gy_task *task)
{
	gy_assert(gy_house_is_away(house) || house->status <= GY_HOUSE_MOUNTING);
	gy_assert(house->self.loop == home->loop.index && task->node.kind == GY_NODE_TASK);
	keep(&home->tasks_kept, &task->node);
}

void gy_house_order_stop(struct gy_house *house)
{
	if (gy_house_is_away(house)) {
		house->stop_at_home = true;
	} else {
		gy_house_request_stop(house, 0);
	}
}

void gy_house_unseal(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gy_home *home = gy_home_of(loop);
	struct gyre_mail *mail = house->sealed;

	gy_assert(gy_house_is_away(house) && house->home == home);
	house->sealed = NULL;
	put_back(house, GY_LANE_ASK, &record_of(mail)->asks);
	put_back(house, GY_LANE_NOTICE, &record_of(mail)->notices);
	gy_mail_put(home, mail);
	gy_house_ready(house);
	if (house->stop_at_home) {
		house->stop_at_home = false;
		gy_house_request_stop(house, 0);
	}
	deliver_kept_orders(home, house);
	gy_home_run_kept_tasks(home);
}

/* ---- away ---- */

static void pack_timers(struct gy_house *house, struct gy_loop *loop)
{
	uint64_t now_ns;
	const struct gy_list *item = house->suspended.next;

	if (gy_list_empty(&house->suspended) && house->extra == NULL) {
		return;
	}
	now_ns = gy_clock_ns(&loop->clock);
	for (; item != &house->suspended; item = item->next) {
		struct gy_stack *stack = gy_container_of(item, struct gy_stack, item);

		gy_promises_pack(stack, &loop->wheel, now_ns);
	}
	if (house->extra != NULL) {
		gy_timers_pack(house, &loop->wheel, now_ns);
		gy_receive_timeout_pack(house, &loop->wheel, now_ns);
		gy_restart_pack(house, &loop->wheel, now_ns);
	}
}

/* Mail that the actor has put first stands in the thief's rings until the end of the run. */
static void take_front(struct gy_home *thief, enum gy_lane lane, struct gy_sealed_lane *sealed)
{
	struct gy_node *last = thief->put_first[lane];

	if (last != NULL) {
		thief->put_first[lane] = NULL;
		sealed->first = last->next;
		sealed->last = last;
		last->next = NULL;
	}
}

static void run_here(struct gy_home *thief, struct gy_house *house, struct record *record)
{
	uint32_t handled;

	gy_assert(thief->here == thief->loop.index && !thief->front_waits);
	/* The watchdog's signal handler may interrupt this thread anywhere: the class record must
	 * be the thief's before gy_home_get_running() can show the house there. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thief->here = GY_LOOP_NONE;
	handled = gy_house_run_sealed(thief, house, &record->asks, &record->notices);
	gy_count(&house->class_info->handled, handled);
	if (thief->front_waits) {
		thief->front_waits = false;
		take_front(thief, GY_LANE_ASK, &record->first_asks);
		take_front(thief, GY_LANE_NOTICE, &record->first_notices);
	}
	pack_timers(house, &thief->loop);
	thief->here = thief->loop.index;
}

void gy_house_run_stolen(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gy_home *thief = gy_home_of(loop);
	struct gy_home *home = house->home;
	struct gy_class_info *info = house->class_info;
	struct gyre_mail *mail = house->sealed;
	uint16_t back = house->self.loop;
	uint64_t from = gy_ticks(&loop->clock);

	struct gy_class_info *here;

	gy_assert(gy_house_is_away(house) && back != loop->index);
	here = gy_class_info_get(thief, info->class);
	gy_store_release(&house->class_info, here); /* an inspection reads what was made just now */
	if (here != NULL) {
		house->home = thief;
		run_here(thief, house, record_of(mail));
		gy_count(&house->class_info->busy_ticks, gy_ticks(&loop->clock) - from);
		gy_home_clear_running(thief, house);
		house->home = home;
	}
	gy_store_release(&house->class_info, info);
	/* Mail that the actor has sent goes before the house itself, to whatever loop. */
	gy_loop_flush(loop);
	mail->node.kind = GY_MAIL_HOME;
	gy_loop_send(loop, back, &mail->node);
	gy_loop_flush(loop);
}

/* ---- back ---- */

static void unpack(struct gy_home *home, struct gy_house *house)
{
	const struct gy_list *item = house->suspended.next;

	for (; item != &house->suspended; item = item->next) {
		struct gy_stack *stack = gy_container_of(item, struct gy_stack, item);

		stack->home = home;
		gy_promises_unpack(stack, &home->loop.wheel);
	}
	if (house->extra != NULL) {
		gy_timers_unpack(house, &home->loop.wheel);
		gy_receive_timeout_unpack(house, &home->loop.wheel);
		gy_restart_unpack(house, &home->loop.wheel);
	}
}

/* The mail that it has not handled stands before all that came meanwhile, and before that the mail
 * that it has put first. */
static void put_back_all(struct gy_house *house, const struct record *record)
{
	put_back(house, GY_LANE_ASK, &record->asks);
	put_back(house, GY_LANE_NOTICE, &record->notices);
	put_back(house, GY_LANE_ASK, &record->first_asks);
	put_back(house, GY_LANE_NOTICE, &record->first_notices);
	gy_house_remove_reason(house, GY_CLOSED_BY_FIRST);
}

/* Does what had to wait until the house is back. */
static void catch_up(struct gy_home *home, struct gy_house *house)
{
	struct gy_house_extra *extra = house->extra;

	if (extra != NULL && extra->count_at_home) {
		extra->count_at_home = false;
		gy_house_start_counting(house);
	}
	if (extra != NULL && extra->endpoints != NULL) {
		home->channel_ops->came_home(house);
	}
	if ((house->reasons & GY_CLOSED_BY_NO_MEMORY) != 0) {
		gy_home_retry_later(home);
	}
	if (house->stop_at_home) {
		house->stop_at_home = false;
		gy_house_request_stop(house, 0);
	}
}

void gy_house_came_home(struct gy_home *home, struct gyre_mail *mail)
{
	struct gy_house *house = record_of(mail)->house;

	gy_assert(house->home == home && house->sealed == mail);
	house->sealed = NULL;
	gy_house_set_status(house, GY_HOUSE_RUNNING);
	unpack(home, house);
	put_back_all(house, record_of(mail));
	gy_mail_put(home, mail);
	catch_up(home, house);
	deliver_kept_orders(home, house); /* the run may end with the actor */
	gy_house_end_run(home, house);
	gy_home_run_kept_tasks(home);
}
