/*
 * Stopping gracefully. The order arrives with its deadline running; a poison takes its place among
 * the notices. From its dispatch on the actor takes no more asks and notices, but what is suspended
 * may end. The last of it, or the deadline, stops the actor; then those who wait for that are told.
 *
 * While the actor is away only its lanes may be touched: so the poison takes its place at once, the
 * order is told when its deadline is, and the rest waits until it is delivered again.
 */
#include <errno.h>

#include "actor/house_extra.h"
#include "actor/life/graceful_stop.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

struct gy_graceful_stop {
	struct gy_timer timer;
	struct gy_house *house;
	uint64_t deadline_ns;
	struct gy_node *asks; /* of those who wait, in a list */
	bool poisoned;	      /* the first order has come; others may only be earlier */
	bool closing;	      /* only what is suspended still runs */
};

struct order {
	uint64_t deadline_ns; /* from its arrival */
	uint64_t until_ns;    /* the same by the clock, once it has found its actor away; else 0 */
};

const struct gyre_type gy_type_graceful_stop = { .name = "stop gracefully",
						 .id = GY_ID_GRACEFUL_STOP,
						 .bytes = sizeof(struct order) };
const struct gyre_type gy_type_stopped = { .name = "stopped", .id = 0x0e };

static void time_is_up(struct gy_timer *timer)
{
	gy_house_request_stop(gy_container_of(timer, struct gy_graceful_stop, timer)->house, 0);
}

static struct gy_graceful_stop *graceful_stop_of(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);

	if (extra != NULL && extra->graceful_stop == NULL) {
		extra->graceful_stop = (struct gy_graceful_stop *)gy_sizes_new(
			&house->home->parts, sizeof(struct gy_graceful_stop));
		if (extra->graceful_stop != NULL) {
			*extra->graceful_stop =
				(struct gy_graceful_stop){ .house = house,
							   .deadline_ns = UINT64_MAX };
			gy_timer_init(&extra->graceful_stop->timer, time_is_up);
		}
	}
	return extra == NULL ? NULL : extra->graceful_stop;
}

static struct order *order_of(struct gyre_mail *mail)
{
	return (struct order *)gyre_payload(mail);
}

struct gyre_mail *gy_graceful_stop_make(struct gy_home *home, uint64_t deadline_ns)
{
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_graceful_stop);

	if (mail != NULL) {
		*order_of(mail) = (struct order){ .deadline_ns = deadline_ns };
	}
	return mail;
}

uint64_t gy_graceful_stop_deadline(const struct gyre_mail *mail)
{
	return ((const struct order *)(const void *)mail->payload)->deadline_ns;
}

static uint64_t end_of(const struct gy_home *home, const struct order *order)
{
	return order->until_ns != 0
		       ? order->until_ns
		       : gy_time_add(gy_clock_ns(&home->loop.clock), order->deadline_ns);
}

/* The earliest deadline counts. */
static void set_deadline(struct gy_graceful_stop *stop, uint64_t at_ns)
{
	struct gy_loop *loop = &stop->house->home->loop;

	if (at_ns < stop->deadline_ns) {
		stop->deadline_ns = at_ns;
		gy_timer_stop(&loop->wheel, &stop->timer);
		gy_timer_start_at(&loop->wheel, &stop->timer, at_ns);
	}
}

/* Without memory for the poison nothing more is waited for. */
static void put_poison(struct gy_home *home, struct gy_house *house)
{
	struct gyre_mail *poison = gy_mail_get(home, &gy_type_poison);

	if (poison == NULL) {
		gy_house_order_stop(house);
		return;
	}
	poison->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(poison);
	poison->ask_id = GY_POISON_GRACEFUL;
	gy_count(&home->counters.sent, 1);
	(void)gy_send_bounded(home, house, poison, GY_LANE_NOTICE);
}

/* Whether such an order waits for the house already, and has put its poison. */
static bool is_expected(const struct gy_home *home, const struct gy_house *house)
{
	const struct gy_node *last = home->orders_kept;
	struct gy_node *node = home->orders_kept;

	while (node != NULL) {
		const struct gyre_mail *mail = gy_mail_of(node);

		if (mail->type == &gy_type_graceful_stop && mail->to_slot == house->self.slot) {
			return true;
		}
		node = node->next == last ? NULL : node->next;
	}
	return false;
}

void gy_graceful_stop_defer(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	struct order *order = order_of(mail);

	gy_assert(order->until_ns == 0);
	order->until_ns = end_of(home, order);
	if (!is_expected(home, house)) {
		put_poison(home, house);
	}
}

void gy_graceful_stop_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_graceful_stop *stop = graceful_stop_of(house);
	uint64_t end_ns = end_of(home, order_of(mail));
	bool waited = order_of(mail)->until_ns != 0;

	gy_count(&home->counters.handled, 1);
	if (mail->node.kind != GY_MAIL_ASK) {
		gy_mail_put(home, mail);
	} else if (stop == NULL) {
		gy_fail_ask(home, mail, -ENOMEM);
	} else {
		mail->node.next = stop->asks;
		stop->asks = &mail->node;
	}
	if (house->status == GY_HOUSE_STOPPING) {
		return; /* it ends already, and then tells */
	}
	if (stop == NULL) {
		gy_house_request_stop(house, 0);
		return;
	}
	if (!stop->poisoned) {
		stop->poisoned = true;
		if (!waited) {
			put_poison(home, house);
		}
	}
	set_deadline(stop, end_ns);
}

void gy_house_order_graceful_stop(struct gy_house *house, uint64_t deadline_ns)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = gy_graceful_stop_make(home, deadline_ns);

	if (mail == NULL) {
		gy_house_order_stop(house);
		return;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from_nobody(mail);
	(void)gy_send_away(home, gy_house_address(house), mail);
}

void gy_house_poisoned(struct gy_house *house, const struct gyre_mail *poison)
{
	gy_assert(house->status == GY_HOUSE_RUNNING || gy_house_is_away(house));
	if (poison->ask_id == GY_POISON_GRACEFUL && !gy_list_empty(&house->suspended)) {
		house->extra->graceful_stop->closing = true;
		gy_house_add_reason(house, GY_CLOSED_BY_GRACEFUL_STOP);
	} else {
		gy_house_request_stop(house, 0);
	}
}

bool gy_graceful_stop_is_closing(const struct gy_house *house)
{
	return house->extra != NULL && house->extra->graceful_stop != NULL &&
	       house->extra->graceful_stop->closing;
}

void gy_graceful_stop_end(struct gy_house *house)
{
	struct gy_home *home = house->home;
	struct gy_graceful_stop *stop = house->extra == NULL ? NULL : house->extra->graceful_stop;
	struct gy_node *node;

	if (stop == NULL) {
		return;
	}
	node = stop->asks;
	while (node != NULL) {
		struct gyre_mail *ask = gy_mail_of(node);

		node = node->next;
		ask->type = &gy_type_stopped;
		ask->node.kind = GY_MAIL_REPLY;
		(void)gy_send(home, gy_mail_sender(ask), ask, GY_LANE_REPLY);
	}
	gy_timer_stop(&home->loop.wheel, &stop->timer);
	gy_sizes_delete(&home->parts, stop, sizeof(*stop));
	house->extra->graceful_stop = NULL;
}

int gyre_stop_gracefully(struct gyre_stack *stack, struct gyre_address actor, uint64_t deadline_ns,
			 struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gyre_mail *mail;

	if (ret_future != NULL && gy_address_same(actor, gy_house_address(s->house))) {
		*ret_future = (struct gyre_future){ .error = -EINVAL };
		return -EINVAL;
	}
	mail = gy_graceful_stop_make(s->home, deadline_ns);
	if (ret_future != NULL) {
		return gy_ask_order(s, actor, mail, ret_future);
	}
	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	gy_mail_from(mail, s->house);
	return gy_send_away(s->home, actor, mail);
}
