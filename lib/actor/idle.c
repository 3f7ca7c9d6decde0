/*
 * The receive time-out. While one is on, its actor's runs are not plain, and each that dispatches a
 * message moves the deadline. The timer is not moved with it: where it fires too early, it is
 * started for what is left.
 */
#include <errno.h>

#include "actor/annex.h"
#include "actor/stack.h"

struct gy_idle {
	struct gy_timer timer;
	struct gy_house *house;
	uint64_t timeout_ns;
	uint64_t active_ns; /* the last activity */
	uint64_t number;    /* of the last activity: an event from before it is void */
	bool waiting;	    /* an event is; the actor may take none for long, as before a restart */
};

static int tell(struct gy_idle *idle, uint64_t now_ns)
{
	struct gy_house *house = idle->house;
	struct gyre_mail *mail = gy_mail_get(house->home, &gyre_type_gyre_receive_timeout);

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	mail->ask_id = idle->number;
	((struct gyre_receive_timeout *)gyre_payload(mail))->idle_ns = now_ns - idle->active_ns;
	gy_count(&house->home->counters.sent, 1);
	idle->waiting = true;
	gy_house_put(house->home, house, mail, GY_LANE_EVENT);
	return 0;
}

static void fired(struct gy_timer *timer)
{
	struct gy_idle *idle = gy_container_of(timer, struct gy_idle, timer);
	struct gy_loop *loop = &idle->house->home->loop;
	uint64_t now_ns = gy_clock_ns(&loop->clock);
	uint64_t idle_ns = now_ns - idle->active_ns;

	if (idle_ns < idle->timeout_ns) {
		gy_timer_start(&loop->wheel, timer, idle->timeout_ns - idle_ns);
	} else if (!idle->waiting && tell(idle, now_ns) < 0) {
		gy_timer_start(&loop->wheel, timer, GYRE_MILLISECONDS(1));
	} else {
		gy_timer_start(&loop->wheel, timer, idle->timeout_ns);
	}
}

void gy_idle_active(struct gy_house *house)
{
	struct gy_idle *idle = house->annex->idle;

	idle->active_ns = gy_clock_ns(&house->home->loop.clock);
	idle->number = gy_home_number(house->home);
}

bool gy_idle_claim(const struct gy_house *house, const struct gyre_mail *mail)
{
	struct gy_idle *idle = house->annex == NULL ? NULL : house->annex->idle;

	if (idle != NULL) {
		idle->waiting = false;
	}
	return idle != NULL && idle->number == mail->ask_id;
}

void gy_idle_stop(struct gy_house *house)
{
	struct gy_idle *idle = house->annex == NULL ? NULL : house->annex->idle;

	if (idle != NULL) {
		gy_timer_stop(&house->home->loop.wheel, &idle->timer);
		gy_sizes_delete(&house->home->parts, idle, sizeof(*idle));
		house->annex->idle = NULL;
		gy_house_look_plain(house);
	}
}

static struct gy_idle *idle_of(struct gy_house *house)
{
	struct gy_annex *annex = gy_annex_get(house);

	if (annex != NULL && annex->idle == NULL) {
		annex->idle =
			(struct gy_idle *)gy_sizes_new(&house->home->parts, sizeof(struct gy_idle));
		if (annex->idle != NULL) {
			*annex->idle = (struct gy_idle){ .house = house };
			gy_timer_init(&annex->idle->timer, fired);
		}
	}
	return annex == NULL ? NULL : annex->idle;
}

int gyre_receive_timeout_start(struct gyre_stack *stack, uint64_t timeout_ns)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct gy_loop *loop = &house->home->loop;
	struct gy_idle *idle;

	if (timeout_ns == 0) {
		return -EINVAL;
	}
	idle = idle_of(house);
	if (idle == NULL) {
		return -ENOMEM;
	}
	house->plain = false;
	gy_idle_active(house);
	idle->timeout_ns = timeout_ns;
	gy_timer_stop(&loop->wheel, &idle->timer);
	gy_timer_start(&loop->wheel, &idle->timer, timeout_ns);
	return 0;
}

int gyre_receive_timeout_stop(struct gyre_stack *stack)
{
	struct gy_house *house = gy_stack_of(stack)->house;

	if (house->annex == NULL || house->annex->idle == NULL) {
		return -ENOENT;
	}
	gy_idle_stop(house);
	return 0;
}

void gy_idle_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns)
{
	if (house->annex->idle != NULL) {
		gy_timer_pack(wheel, &house->annex->idle->timer, now_ns);
	}
}

void gy_idle_unpack(struct gy_house *house, struct gy_wheel *wheel)
{
	if (house->annex->idle != NULL) {
		gy_timer_unpack(wheel, &house->annex->idle->timer);
	}
}
