/*
 * A run of a house, from its queue to its next wait. What dispatch.c does for any house is done
 * here by the shortest way for the runs that are most frequent: those with a single lane of plain
 * messages.
 */
#include <errno.h>

#include "actor/behaviour.h"
#include "actor/dispatch.h"
#include "actor/house_extra.h"
#include "actor/life/lifecycle.h"
#include "actor/life/restart.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"

/* ---- plain runs ---- */

/*
 * Most often a single lane is pending, and nothing is special about the house or its messages. Then
 * they share a stack, which is made ready once, and anew only after a message that has kept it.
 * Where functions are inlined, @lane is a constant.
 */

/* Whether there is something special about an ask or a notice. @handler is that of the lane. */
static inline bool is_special(const struct gy_home *home, const struct gyre_mail *mail,
			      enum gy_lane lane, gyre_handler_fn handler)
{
	if (lane == GY_LANE_ASK) {
		return handler == NULL || gy_deadline_passed(mail->deadline, home->loop.sure_ns);
	}
	return handler == NULL || mail->type == &gy_type_poison;
}

/* Handles a message on a stack that is ready for it. Returns the stack if it still is, else NULL.
 */
static inline struct gy_stack *run_plain(struct gy_stack *stack, enum gy_lane lane,
					 struct gyre_mail *mail, gyre_handler_fn handler)
{
	int result;

	gy_stack_set_message(stack, mail, handler);
	if (lane == GY_LANE_ASK) {
		stack->owed = ENOMSG;
	}
	result = handler(&stack->head);
	if (gy_likely(gy_stack_ends_plainly(stack, result))) {
		gy_stack_put_mail(stack);
		return stack;
	}
	gy_stack_returned(stack, result);
	return NULL;
}

/* Runs the lane, of asks or notices. Returns how many messages were handled. */
static inline __attribute__((always_inline)) uint32_t
run_plain_lane(struct gy_home *home, struct gy_house *house, enum gy_lane lane)
{
	const uint32_t frame_bytes = house->class_info->frame_bytes;
	struct gy_stack *stack = gy_stack_scratch(home, house);
	struct gy_node *last;
	struct gy_node *node = gy_house_take_lane(house, lane, &last);
	uint32_t left = home->options.run_budget;
	uint32_t handled = left;

	for (;;) {
		const struct gyre_behaviour *behaviour = house->behaviour;
		gyre_handler_fn handler = lane == GY_LANE_ASK ? behaviour->ask : behaviour->notice;
		struct gyre_mail *mail = gy_mail_of(node);

		node = node->next;
		left--;
		if (node != NULL) {
			gy_prefetch(node);
		}
		if (gy_unlikely(stack == NULL || is_special(home, mail, lane, handler))) {
			handled -= !gy_dispatch_one(home, house, lane, mail);
			stack = NULL;
		} else {
			stack = run_plain(stack, lane, mail, handler);
		}
		if (node == NULL || left == 0 || gy_unlikely((house->closed & 1U << lane) != 0)) {
			break;
		}
		if (gy_unlikely(stack == NULL)) {
			stack = gy_stack_scratch(home, house);
		} else if (frame_bytes != 0) {
			gy_stack_clear_frame(stack, frame_bytes);
		}
	}
	gy_house_put_rest_back(house, lane, node, last);
	return handled - left;
}

/* Functions of their own, which save only the registers that they need. */
static __attribute__((noinline)) uint32_t run_plain_asks(struct gy_home *home,
							 struct gy_house *house)
{
	return run_plain_lane(home, house, GY_LANE_ASK);
}

static __attribute__((noinline)) uint32_t run_plain_replies(struct gy_home *home,
							    struct gy_house *house)
{
	struct gy_node *last;
	struct gy_node *node = gy_house_take_lane(house, GY_LANE_REPLY, &last);
	uint32_t left = home->options.run_budget;
	uint32_t handled = 0;

	do {
		struct gyre_mail *mail = gy_mail_of(node);

		node = node->next;
		left--;
		if (node != NULL) {
			gy_prefetch(node);
		}
		house->replies--;
		handled += gy_promise_complete(house, mail);
	} while (node != NULL && left > 0 && (house->closed & 1U << GY_LANE_REPLY) == 0);
	gy_house_put_rest_back(house, GY_LANE_REPLY, node, last);
	return handled;
}

/* ---- the end of a run ---- */

/* Does the work that kept lanes closed until the end of the run. False if the house has stopped. */
static __attribute__((noinline)) bool end_closed(struct gy_home *home, struct gy_house *house)
{
	if (house->extra != NULL && house->extra->restart != NULL) {
		gy_house_restart(house);
	}
	if (home->front_waits) {
		gy_house_open_front(house);
	}
	if (gy_house_is_stopped(house)) {
		gy_house_stop(house);
		return false;
	}
	return true;
}

static inline void wait_again(struct gy_home *home, struct gy_house *house)
{
	house->high = house->replies > home->options.high_replies ||
		      house->events > home->options.high_events || house->promises.count == 0;
	gy_house_set_status(house, GY_HOUSE_WAITING);
}

/* The same for a house with nothing pending. */
static inline void wait_with_none(struct gy_house *house)
{
	gy_verify(house->replies == 0 && house->events == 0);
	house->high = house->promises.count == 0;
	gy_house_set_status(house, GY_HOUSE_WAITING);
}

/* Most often no lane is closed and nothing more is pending: one comparison tells. */
static inline __attribute__((always_inline)) void end_run(struct gy_home *home,
							  struct gy_house *house)
{
	if (gy_likely(gy_house_is_plainly(house, GY_HOUSE_RUNNING, 0) && !home->front_waits)) {
		wait_with_none(house);
		return;
	}
	if (gy_unlikely(house->closed != 0 || home->front_waits) && !end_closed(home, house)) {
		return;
	}
	wait_again(home, house);
	if (gy_house_can_run(house)) {
		gy_house_ready(house);
	}
}

/* The loop has taken the house out of its queue, and runs it at once. */
static inline void leave_queue(struct gy_house *house)
{
	gy_house_set_status(house, GY_HOUSE_SCHEDULED);
	gy_house_set_status(house, GY_HOUSE_RUNNING);
}

static inline void leave_queue_plainly(struct gy_house *house)
{
	leave_queue(house);
	house->passed_over = 0; /* with a single lane, it is the turn of that in any case */
}

void gy_house_run(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gy_home *home = gy_home_of(loop);
	uint32_t handled;

	gy_home_show_running(home, house);
	if (gy_likely(gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_NOTICE))) {
		leave_queue_plainly(house);
		handled = run_plain_lane(home, house, GY_LANE_NOTICE);
	} else if (gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_ASK)) {
		leave_queue_plainly(house);
		handled = run_plain_asks(home, house);
	} else if (gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_REPLY)) {
		leave_queue_plainly(house);
		handled = run_plain_replies(home, house);
	} else {
		leave_queue(house);
		handled = gy_dispatch_all(home, house);
	}
	gy_count(&house->class_info->handled, handled);
	end_run(home, house);
}

void gy_house_end_run(struct gy_home *home, struct gy_house *house)
{
	gy_home_show_running(home, house);
	end_run(home, house);
}
