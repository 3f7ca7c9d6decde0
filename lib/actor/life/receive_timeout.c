/*
 * The receive time-out. While one is on, its actor's runs are not plain, and each that dispatches a
 * message moves the deadline, when it begins and when it ends: it may take longer than the
 * time-out. The end of the run that starts the time-out counts too, since there may be messages
 * behind that one. The timer is not moved with the deadline: where it fires too early, it is
 * started for what is left.
 */
#include <gyre/timer.h>

#include <errno.h>

#include "actor/house_extra.h"
#include "actor/life/receive_timeout.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"

struct gy_receive_timeout {
	struct gy_timer timer;
	struct gy_house *house;
	uint64_t timeout_ns;
	uint64_t active_ns; /* the last activity */
	uint64_t number;    /* of the last activity: an event from before it is void */
	bool waiting;	    /* an event is; the actor may take none for long, as before a restart */
	bool active;	    /* the end of the present run is activity */
};

static int tell(struct gy_receive_timeout *timeout, uint64_t now_ns)
{
	struct gy_house *house = timeout->house;
	struct gyre_mail *mail = gy_mail_get(house->home, &gyre_type_gyre_receive_timeout);

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	mail->ask_id = timeout->number;
	((struct gyre_receive_timeout *)gyre_payload(mail))->idle_ns = now_ns - timeout->active_ns;
	gy_count(&house->home->counters.sent, 1);
	timeout->waiting = true;
	gy_house_put(house->home, house, mail, GY_LANE_EVENT);
	return 0;
}

static void fired(struct gy_timer *timer)
{
	struct gy_receive_timeout *timeout =
		gy_container_of(timer, struct gy_receive_timeout, timer);
	struct gy_loop *loop = &timeout->house->home->loop;
	uint64_t now_ns = gy_clock_ns(&loop->clock);
	uint64_t idle_ns = now_ns - timeout->active_ns;

	gy_assert(timeout->timeout_ns > 0 && timeout->house->extra->receive_timeout == timeout);
	if (idle_ns < timeout->timeout_ns) {
		gy_timer_start(&loop->wheel, timer, timeout->timeout_ns - idle_ns);
	} else if (!timeout->waiting && tell(timeout, now_ns) < 0) {
		gy_timer_start(&loop->wheel, timer, GYRE_MILLISECONDS(1));
	} else {
		gy_timer_start(&loop->wheel, timer, timeout->timeout_ns);
	}
}

static void note_activity(struct gy_receive_timeout *timeout)
{
	timeout->active_ns = gy_clock_ns(&timeout->house->home->loop.clock);
	timeout->number = gy_home_number(timeout->house->home);
}

void gy_receive_timeout_run_begins(struct gy_house *house)
{
	struct gy_receive_timeout *timeout = house->extra->receive_timeout;

	timeout->active = true;
	note_activity(timeout);
}

void gy_receive_timeout_run_ends(struct gy_house *house)
{
	struct gy_receive_timeout *timeout = house->extra->receive_timeout;

	if (timeout->active) {
		timeout->active = false;
		note_activity(timeout);
	}
}

bool gy_receive_timeout_claim(const struct gy_house *house, const struct gyre_mail *mail)
{
	struct gy_receive_timeout *timeout =
		house->extra == NULL ? NULL : house->extra->receive_timeout;

	if (timeout != NULL) {
		timeout->waiting = false;
	}
	return timeout != NULL && timeout->number == mail->ask_id;
}

void gy_receive_timeout_stop(struct gy_house *house)
{
	struct gy_receive_timeout *timeout =
		house->extra == NULL ? NULL : house->extra->receive_timeout;

	if (timeout != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &timeout->timer);
		gy_sizes_delete(&house->home->parts, timeout, sizeof(*timeout));
		house->extra->receive_timeout = NULL;
		gy_house_update_plain(house);
	}
}

static struct gy_receive_timeout *receive_timeout_of(struct gy_house *house)
{
	struct gy_house_extra *extra = gy_house_extra_get(house);

	if (extra != NULL && extra->receive_timeout == NULL) {
		extra->receive_timeout = (struct gy_receive_timeout *)gy_sizes_new(
			&house->home->parts, sizeof(struct gy_receive_timeout));
		if (extra->receive_timeout != NULL) {
			*extra->receive_timeout = (struct gy_receive_timeout){ .house = house };
			gy_timer_init(&extra->receive_timeout->timer, fired);
		}
	}
	return extra == NULL ? NULL : extra->receive_timeout;
}

int gyre_receive_timeout_start(struct gyre_stack *stack, uint64_t timeout_ns)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_loop *loop = &house->home->loop;
	struct gy_receive_timeout *timeout;

	if (timeout_ns == 0) {
		return -EINVAL;
	}
	timeout = receive_timeout_of(house);
	if (timeout == NULL) {
		return -ENOMEM;
	}
	house->plain = false;
	timeout->active = house->status == GY_HOUSE_RUNNING || gy_house_is_away(house);
	note_activity(timeout);
	timeout->timeout_ns = timeout_ns;
	gy_timer_stop(&loop->wheel, &timeout->timer);
	gy_timer_start(&loop->wheel, &timeout->timer, timeout_ns);
	return 0;
}

int gyre_receive_timeout_stop(struct gyre_stack *stack)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	if (house->extra == NULL || house->extra->receive_timeout == NULL) {
		return -ENOENT;
	}
	gy_receive_timeout_stop(house);
	return 0;
}

void gy_receive_timeout_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns)
{
	if (house->extra->receive_timeout != NULL) {
		gy_timer_pack(wheel, &house->extra->receive_timeout->timer, now_ns);
	}
}

void gy_receive_timeout_unpack(struct gy_house *house, struct gy_wheel *wheel)
{
	if (house->extra->receive_timeout != NULL) {
		gy_timer_unpack(wheel, &house->extra->receive_timeout->timer);
	}
}
