/*
 * Timers of threads that have no stack. An actor on the first loop, which is made for the first of
 * them, keeps them as its own; a thread tells it by a notice what to send and when. That loop never
 * retires. A delay becomes a deadline in the call, so it is no longer for the way of the notice.
 */
#include "system/outside/foreign_timers.h"

#include <errno.h>
#include <string.h>

#include <gyre/timer.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/mail_pool.h"
#include "actor/stack/stack.h"
#include "base/clock.h"
#include "base/sized.h"
#include "system/outside/outside.h"
#include "system/system.h"

/* The order to start a timer, or with no mail to stop it. */
struct order {
	uint64_t key;
	struct gyre_address to;
	struct gyre_mail *mail; /* owned */
	uint64_t deadline_ns;	/* unless there is a date */
	uint64_t date_ns;
	uint64_t period_ns;
};

static void destroy_order(void *payload)
{
	gyre_mail_destroy(NULL, ((struct order *)payload)->mail);
}

static const struct gyre_type type_order = {
	.name = "timer", .id = 0x2d, .bytes = sizeof(struct order), .destroy = destroy_order
};

static int carry_out(struct gyre_stack *stack, struct order *order)
{
	struct gyre_mail *mail = order->mail;
	uint64_t now_ns = gy_clock_machine_ns();
	const struct gyre_timer_options options = {
		.delay_ns = order->deadline_ns > now_ns ? order->deadline_ns - now_ns : 0,
		.date_ns = order->date_ns,
		.period_ns = order->period_ns,
	};
	int r;

	if (mail == NULL) {
		(void)gyre_timer_stop(stack, order->key);
		return gyre_return(stack);
	}
	order->mail = NULL;
	r = gyre_send_after(stack, order->key, order->to, mail, &options);
	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

/* The keeper is the sender of what it sends, so it may be told anything. */
static int obey(struct gyre_stack *stack)
{
	if (gyre_message_as(stack, &type_order) == NULL) {
		return gyre_throw(stack, -EPROTO);
	}
	return carry_out(stack, (struct order *)gyre_payload(gy_stack_of(stack)->mail));
}

/* What fails is logged, and the other timers go on. */
static const struct gyre_class keeper_class = { .name = "gyre timers",
						.behaviour.notice = obey,
						.strategy = GYRE_STRATEGY_IGNORE };

void gy_foreign_timers_init(struct gy_foreign_timers *timers)
{
	(void)pthread_mutex_init(&timers->mutex, NULL);
}

void gy_foreign_timers_fini(struct gy_foreign_timers *timers)
{
	(void)pthread_mutex_destroy(&timers->mutex);
}

static int find_keeper(struct gyre_system *system, struct gyre_address *ret_keeper)
{
	const struct gy_spawn_order order = { .class = &keeper_class, .channels_actor = true };
	struct gy_foreign_timers *timers = &system->foreign_timers;
	int r = 0;

	(void)pthread_mutex_lock(&timers->mutex);
	/* One for which there was no memory is not there. */
	if (!gy_house_is_there(&system->homes.homes[0], timers->keeper)) {
		r = gy_load_relaxed(&system->stop) != 0
			    ? -ESHUTDOWN
			    : gy_spawn_from_outside(&system->homes.homes[0], &order,
						    &timers->keeper);
	}
	*ret_keeper = timers->keeper;
	(void)pthread_mutex_unlock(&timers->mutex);
	return r;
}

/* Takes the mail of the order. */
static int give(struct gyre_system *system, const struct order *order)
{
	struct gyre_mail *carrier = gy_mail_get_outside(&type_order);
	struct gyre_address keeper;
	int r;

	if (carrier == NULL) {
		gyre_mail_destroy(NULL, order->mail);
		return -ENOMEM;
	}
	memcpy(gyre_payload(carrier), order, sizeof(*order));
	r = find_keeper(system, &keeper);
	if (r < 0) {
		gyre_mail_destroy(NULL, carrier);
		return r;
	}
	return gyre_system_notify(system, keeper, carrier);
}

static int check(const struct gyre_system *system, struct gyre_address to,
		 const struct gyre_mail *mail, const struct gyre_timer_options *options)
{
	if (gy_mail_is_missing(mail)) {
		return gy_mail_report_no_memory(mail);
	}
	if (system == NULL || options == NULL ||
	    (options->period_ns != 0 && !gy_type_can_be_copied(mail->type))) {
		return -EINVAL;
	}
	if (to.loop == GY_GROUP_LOOP && gy_is_of_node(system->homes.node, to)) {
		return 0;
	}
	return gy_outside_loop(system, to) < 0 ? -EINVAL : 0;
}

int gyre_system_send_after_sized(struct gyre_system *system, uint64_t key, struct gyre_address to,
				 struct gyre_mail *mail, const struct gyre_timer_options *options,
				 size_t options_bytes)
{
	struct gyre_timer_options whole = { 0 };
	int r = GY_SIZED_READ(gyre_timer_options, &whole, options, options_bytes,
			      system == NULL ? NULL : &system->log);

	if (r == 0) {
		r = check(system, to, mail, options == NULL ? NULL : &whole);
	}
	if (r < 0) {
		gyre_mail_destroy(NULL, mail);
		return r;
	}
	mail = gy_mail_given(NULL, mail);
	return give(system, &(struct order){ .key = key,
					     .to = to,
					     .mail = mail,
					     .deadline_ns = gy_time_add(gy_clock_machine_ns(),
									whole.delay_ns),
					     .date_ns = whole.date_ns,
					     .period_ns = whole.period_ns });
}

int gyre_system_timer_stop(struct gyre_system *system, uint64_t key)
{
	return system == NULL ? -EINVAL : give(system, &(struct order){ .key = key });
}
