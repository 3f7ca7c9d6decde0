/*
 * The timers of an actor. Firing puts an event into the house; the event carries the timer's
 * generation, and is dispatched only if a timer of that key and generation still stands in the
 * table. Periodic deadlines are absolute. While an event waits, further periods only raise its
 * count.
 *
 * A timer that has a mail sends that, or a copy of it, when it fires, and puts no event anywhere.
 */
#include <gyre/timer.h>

#include <errno.h>

#include "actor/house_extra.h"
#include "actor/log_of.h"
#include "actor/mail/mailbox.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "actor/timer.h"
#include "base/clock.h"
#include "base/sized.h"

struct actor_timer {
	struct gy_table_item item; /* its key is the mixed key */
	struct gy_timer timer;
	struct gy_house *house;
	uint64_t key;
	uint64_t generation;
	uint64_t deadline_ns;
	uint64_t period_ns;
	uint64_t expirations;	/* not yet told */
	struct gyre_mail *mail; /* that it sends, owned; NULL: it tells the actor */
	struct gyre_address to; /* of @mail */
};

static struct actor_timer *find(struct gy_house *house, uint64_t key)
{
	struct gy_table_item *item =
		house->extra == NULL ? NULL
				     : gy_table_find(&house->extra->timers, gy_table_mix(key));

	return item == NULL ? NULL : gy_container_of(item, struct actor_timer, item);
}

static void remove_timer(struct gy_house *house, struct actor_timer *timer)
{
	struct gy_home *home = house->home;

	gy_timer_stop(&home->loop.wheel, &timer->timer);
	(void)gy_table_take(&house->extra->timers, &home->parts, timer->item.key);
	if (timer->mail != NULL) {
		gy_mail_put(home, timer->mail);
	}
	gy_sizes_delete(&home->parts, timer, sizeof(*timer));
}

static int tell(struct actor_timer *timer)
{
	struct gy_home *home = timer->house->home;
	struct gyre_mail *mail = gy_mail_get(home, &gyre_type_gyre_timeout);

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from_nobody(mail);
	mail->ask_id = timer->generation;
	*(struct gyre_timeout *)gyre_payload(mail) = (struct gyre_timeout){ .key = timer->key };
	gy_count(&home->counters.sent, 1);
	gy_house_put(timer->house->home, timer->house, mail, GY_LANE_EVENT);
	return 0;
}

/* Sends the mail of a timer that fires once, or a copy; -ENOMEM. */
static int send_mail(struct actor_timer *timer)
{
	struct gy_home *home = timer->house->home;
	struct gyre_address to = timer->to;
	struct gyre_mail *mail = timer->mail;

	if (timer->period_ns != 0) {
		mail = gy_mail_copy(home, mail);
		if (mail == NULL) {
			return -ENOMEM;
		}
	}
	mail->node.kind = GY_MAIL_NOTICE;
	mail->ask_id = 0;
	gy_mail_from(mail, timer->house);
	if (timer->period_ns == 0) {
		timer->mail = NULL;
		remove_timer(timer->house, timer);
	}
	(void)gy_send(home, to, mail, GY_LANE_NOTICE);
	return 0;
}

/* How many periods have passed; the next one begins. */
static uint64_t begin_period(struct actor_timer *timer)
{
	struct gy_loop *loop = &timer->house->home->loop;
	uint64_t passed = 1;

	if (loop->now_ns > timer->deadline_ns) {
		passed += (loop->now_ns - timer->deadline_ns) / timer->period_ns;
	}
	timer->deadline_ns = gy_time_add(timer->deadline_ns, passed * timer->period_ns);
	gy_timer_start_at(&loop->wheel, &timer->timer, timer->deadline_ns);
	return passed;
}

static void fired(struct gy_timer *wheel_timer)
{
	struct actor_timer *timer = gy_container_of(wheel_timer, struct actor_timer, timer);
	bool sends = timer->mail != NULL;
	bool again = timer->period_ns != 0;
	int r = 0;

	if (sends) {
		r = send_mail(timer); /* which frees one that was to fire once */
	} else if (timer->expirations == 0) {
		r = tell(timer);
	}
	if (r < 0) {
		gy_timer_start(&timer->house->home->loop.wheel, wheel_timer, GYRE_MILLISECONDS(1));
	} else if (again) {
		uint64_t passed = begin_period(timer);

		timer->expirations += sends ? 0 : passed;
	} else if (!sends) {
		timer->expirations++;
	}
}

bool gy_timer_claim(struct gy_house *house, struct gyre_mail *mail)
{
	struct gyre_timeout *timeout = (struct gyre_timeout *)gyre_payload(mail);
	struct actor_timer *timer = find(house, timeout->key);

	gy_assert(mail->node.kind == GY_MAIL_EVENT);
	if (timer == NULL || timer->generation != mail->ask_id) {
		return false;
	}
	timeout->expirations = timer->expirations;
	timer->expirations = 0;
	if (timer->period_ns == 0) {
		remove_timer(house, timer);
	}
	return true;
}

/* A mail that was to be sent once will not be. */
static void lose(struct gy_house *house, struct actor_timer *timer)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = timer->mail;

	if (timer->period_ns != 0) {
		gy_mail_put(home, mail); /* of it copies are sent */
		return;
	}
	mail->node.kind = GY_MAIL_NOTICE;
	mail->ask_id = 0;
	gy_mail_from(mail, house);
	gy_count(&home->counters.sent, 1);
	gy_drop(home, mail, timer->to,
		!gy_house_is_stopped(house) ? GYRE_DROP_CANCELLED
		: home->draining	    ? GYRE_DROP_SHUTDOWN
					    : GYRE_DROP_STOPPED,
		0);
}

void gy_timers_stop(struct gy_house *house)
{
	struct gy_table *timers;
	struct gy_home *home = house->home;

	if (house->extra == NULL) {
		return;
	}
	timers = &house->extra->timers;
	for (uint32_t i = 0; i < timers->size; i++) {
		struct gy_table_item *item = timers->buckets[i];

		while (item != NULL) {
			struct actor_timer *timer = gy_container_of(item, struct actor_timer, item);

			item = item->next;
			gy_timer_stop(&home->loop.wheel, &timer->timer);
			if (timer->mail != NULL) {
				lose(house, timer);
			}
			gy_sizes_delete(&home->parts, timer, sizeof(*timer));
		}
	}
	timers->count = 0;
	gy_table_fini(timers, &home->parts);
}

static void for_each(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns, bool pack)
{
	const struct gy_table *timers = &house->extra->timers;

	for (uint32_t i = 0; i < timers->size; i++) {
		for (struct gy_table_item *item = timers->buckets[i]; item != NULL;
		     item = item->next) {
			struct actor_timer *timer = gy_container_of(item, struct actor_timer, item);

			if (pack) {
				gy_timer_pack(wheel, &timer->timer, now_ns);
			} else {
				gy_timer_unpack(wheel, &timer->timer);
			}
		}
	}
}

void gy_timers_pack(struct gy_house *house, struct gy_wheel *wheel, uint64_t now_ns)
{
	for_each(house, wheel, now_ns, true);
}

void gy_timers_unpack(struct gy_house *house, struct gy_wheel *wheel)
{
	for_each(house, wheel, 0, false);
}

static int add(struct gy_house *house, uint64_t key, struct actor_timer **ret_timer)
{
	struct gy_home *home = house->home;
	struct actor_timer *timer;

	if (gy_house_extra_get(house) == NULL) {
		return -ENOMEM;
	}
	timer = (struct actor_timer *)gy_sizes_new(&home->parts, sizeof(*timer));
	if (timer == NULL) {
		return -ENOMEM;
	}
	*timer = (struct actor_timer){ .house = house, .key = key };
	timer->item.key = gy_table_mix(key);
	gy_timer_init(&timer->timer, fired);
	if (gy_table_add(&house->extra->timers, &home->parts, &timer->item) < 0) {
		gy_sizes_delete(&home->parts, timer, sizeof(*timer));
		return -ENOMEM;
	}
	*ret_timer = timer;
	return 0;
}

static uint64_t time_until(uint64_t date_ns)
{
	uint64_t now_ns = gy_clock_date_ns();

	return date_ns <= now_ns ? 0 : date_ns - now_ns;
}

/*
 * The first deadline by the monotonic clock. That clock is read last: a thread that is held up
 * between the two readings makes the timer late, not early.
 */
static uint64_t first_deadline_ns(const struct gy_clock *clock,
				  const struct gyre_timer_options *options)
{
	uint64_t delay_ns =
		options->date_ns == 0 ? options->delay_ns : time_until(options->date_ns);

	return gy_time_add(gy_clock_ns(clock), delay_ns);
}

/* @mail is what it sends, taken if that works; NULL where it tells the actor. */
static int start(struct gyre_stack *stack, uint64_t key, const struct gyre_timer_options *options,
		 struct gyre_address to, struct gyre_mail *mail)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_home *home = s->home;
	struct actor_timer *timer = find(s->house, key);
	int r;

	if (options == NULL) {
		return -EINVAL;
	}
	if (timer == NULL) {
		r = add(s->house, key, &timer);
		if (r < 0) {
			return r;
		}
	}
	gy_timer_stop(&home->loop.wheel, &timer->timer);
	if (timer->mail != NULL) {
		gy_mail_put(home, timer->mail);
	}
	timer->mail = mail;
	timer->to = to;
	timer->generation = gy_home_number(home);
	timer->expirations = 0;
	timer->period_ns = options->period_ns;
	timer->deadline_ns = first_deadline_ns(&home->loop.clock, options);
	gy_timer_start_at(&home->loop.wheel, &timer->timer, timer->deadline_ns);
	return 0;
}

int gyre_timer_start_sized(struct gyre_stack *stack, uint64_t key,
			   const struct gyre_timer_options *options, size_t options_bytes)
{
	struct gyre_timer_options whole;
	int r = GY_SIZED_READ(gyre_timer_options, &whole, options, options_bytes,
			      gy_log_of_stack(stack));

	return r < 0 ? r : start(stack, key, options == NULL ? NULL : &whole, GYRE_NOBODY, NULL);
}

/* Takes the mail, which is there. */
static int send_after(struct gyre_stack *stack, uint64_t key, struct gyre_address to,
		      struct gyre_mail *mail, const struct gyre_timer_options *options)
{
	int r = options == NULL || (options->period_ns != 0 && !gy_type_can_be_copied(mail->type))
			? -EINVAL
			: start(stack, key, options, to, mail);

	if (r < 0) {
		gy_mail_put(gy_stack_of(stack)->home, mail);
	}
	return r;
}

int gyre_send_after_sized(struct gyre_stack *stack, uint64_t key, struct gyre_address to,
			  struct gyre_mail *mail, const struct gyre_timer_options *options,
			  size_t options_bytes)
{
	struct gyre_timer_options whole;
	int r = GY_SIZED_READ(gyre_timer_options, &whole, options, options_bytes,
			      gy_log_of_stack(stack));

	if (gy_mail_is_missing(mail)) {
		(void)gyre_timer_stop(stack, key);
		return gy_mail_report_no_memory(mail);
	}
	if (r < 0) {
		gyre_mail_destroy(stack, mail);
		return r;
	}
	return send_after(stack, key, to, gy_mail_given(gy_stack_of(stack)->home, mail),
			  options == NULL ? NULL : &whole);
}

int gyre_sleep_until(struct gyre_stack *stack, uint64_t date_ns, struct gyre_future *ret_future)
{
	return gyre_sleep(stack, time_until(date_ns), ret_future);
}

int gyre_timer_stop(struct gyre_stack *stack, uint64_t key)
{
	struct gy_house *house = gy_stack_of(stack)->house;
	struct actor_timer *timer = find(house, key);

	if (timer == NULL) {
		return -ENOENT;
	}
	remove_timer(house, timer);
	return 0;
}
