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
#include "actor/life/receive_timeout.h"
#include "actor/life/restart.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"

/* ---- plain runs ---- */

/*
 * Most often a single lane is pending, and nothing is special about the house or its messages. Then
 * they share a stack, which is made ready once, and anew only after a message that has kept it.
 * Where functions are inlined, @lane is a constant.
 */

/* The time that is past for sure, in units of deadlines. */
static inline uint32_t sure_time(const struct gy_home *home)
{
	return (uint32_t)(home->loop.sure_ns >> GY_DEADLINE_SHIFT);
}

/* Whether there is something special about an ask or a notice. */
static inline bool is_special(const struct gyre_mail *mail, enum gy_lane lane, uint32_t sure)
{
	if (lane == GY_LANE_ASK) {
		return gy_deadline_is_past(mail->deadline, sure);
	}
	return mail->type == &gy_type_poison;
}

/* gy_node_head_of() of most mail of a lane. */
static inline uint32_t small_head(const struct gy_home *home, enum gy_lane lane)
{
	return gy_node_head(home->loop.small_origin, (uint8_t)(GY_MAIL_REPLY + lane));
}

static inline gyre_handler_fn handler_of(const struct gyre_behaviour *behaviour, enum gy_lane lane)
{
	return lane == GY_LANE_ASK ? behaviour->ask : behaviour->notice;
}

/*
 * Shows a message to a stack that is ready and has its handler, which then runs. Returns whether
 * that leaves nothing to do but to free the mail, to which the stack still points.
 */
static inline bool handle_plainly(struct gy_stack *stack, enum gy_lane lane, struct gyre_mail *mail)
{
	int result;

	stack->head.message = mail->payload;
	stack->head.type = mail->type;
	stack->mail = mail;
	if (lane == GY_LANE_ASK) {
		stack->owed = ENOMSG;
	}
	result = stack->handler(&stack->head);
	gy_verify(lane == GY_LANE_ASK || stack->owed == 0);
	if (gy_likely(result == 0) && gy_likely(gy_stack_is_plain(stack)) &&
	    (lane != GY_LANE_ASK || gy_likely(stack->owed == 0))) {
		return true;
	}
	gy_stack_returned(stack, result);
	return false;
}

/*
 * Runs the rest of a lane, at most @left messages, whatever they are, and puts back what may not
 * run. Returns how many were handled.
 */
static __attribute__((noinline)) uint32_t run_rest(struct gy_home *home, struct gy_house *house,
						   enum gy_lane lane, struct gy_node *node,
						   struct gy_node *last, uint32_t left)
{
	const uint32_t sure = sure_time(home);
	uint32_t handled = 0;

	for (; node != NULL && left > 0 && (house->closed & 1U << lane) == 0; left--) {
		struct gyre_mail *mail = gy_mail_of(node);
		gyre_handler_fn handler = handler_of(house->behaviour, lane);
		struct gy_stack *stack = handler == NULL || is_special(mail, lane, sure)
						 ? NULL
						 : gy_stack_scratch(home, house);

		node = node->next;
		if (stack == NULL) {
			handled += gy_dispatch_one(home, house, lane, mail);
			continue;
		}
		handled++;
		stack->handler = handler;
		if (handle_plainly(stack, lane, mail)) {
			gy_stack_put_mail(stack);
		}
	}
	gy_house_put_rest_back(house, lane, node, last);
	return handled;
}

/*
 * Runs the lane, of asks or notices. Returns how many messages were handled. All that it needs
 * while messages follow each other plainly has place in registers.
 */
static inline __attribute__((always_inline)) uint32_t
run_plain_lane(struct gy_home *home, struct gy_house *house, enum gy_lane lane)
{
	const uint32_t head = small_head(home, lane);
	const uint32_t sure = lane == GY_LANE_ASK ? sure_time(home) : 0;
	const uint32_t budget = home->options.run_budget;
	const uint32_t frame_bytes = house->class_info->frame_bytes;
	const struct gyre_behaviour *behaviour = house->behaviour;
	struct gy_stack *stack = gy_stack_scratch(home, house);
	struct gy_node *last;
	struct gy_node *node = gy_house_take_lane(house, lane, &last);
	uint32_t left = budget;

	if (gy_unlikely(stack == NULL || handler_of(behaviour, lane) == NULL)) {
		return run_rest(home, house, lane, node, last, left);
	}
	stack->handler = handler_of(behaviour, lane);
	for (;;) {
		struct gyre_mail *mail = gy_mail_of(node);

		if (gy_unlikely(is_special(mail, lane, sure))) {
			break;
		}
		node = node->next;
		left--;
		gy_prefetch(node); /* NULL too: that does nothing */
		if (gy_unlikely(!handle_plainly(stack, lane, mail))) {
			return budget - left + run_rest(home, house, lane, node, last, left);
		}
		gy_loop_small_put(&home->loop, &mail->node, head);
		if (node == NULL || left == 0 || gy_unlikely((house->closed & 1U << lane) != 0) ||
		    gy_unlikely(house->behaviour != behaviour)) {
			break;
		}
		if (frame_bytes != 0) {
			gy_stack_clear_frame(stack, frame_bytes);
		}
	}
	stack->mail = NULL;
	if (gy_unlikely(node != NULL)) {
		return budget - left + run_rest(home, house, lane, node, last, left);
	}
	return budget - left;
}

/* Functions of their own, so that others save only the registers that they need. */
static __attribute__((noinline)) uint32_t run_plain_asks(struct gy_home *home,
							 struct gy_house *house)
{
	return run_plain_lane(home, house, GY_LANE_ASK);
}

static __attribute__((noinline)) uint32_t run_plain_notices(struct gy_home *home,
							    struct gy_house *house)
{
	return run_plain_lane(home, house, GY_LANE_NOTICE);
}

/* The same for a lane with one message, as where little is to do: nothing follows it. False if it
 * is left to the functions above. */
static inline __attribute__((always_inline)) bool
run_single(struct gy_home *home, struct gy_house *house, enum gy_lane lane)
{
	struct gyre_mail *mail = gy_mail_of(house->lanes[lane]);
	gyre_handler_fn handler = handler_of(house->behaviour, lane);
	struct gy_stack *stack = gy_stack_scratch(home, house);

	if (gy_unlikely(stack == NULL || handler == NULL ||
			is_special(mail, lane, lane == GY_LANE_ASK ? sure_time(home) : 0))) {
		return false;
	}
	house->lanes[lane] = NULL;
	house->pending &= (uint8_t) ~(1U << lane);
	stack->handler = handler;
	if (gy_likely(handle_plainly(stack, lane, mail))) {
		gy_loop_small_put(&home->loop, &mail->node, small_head(home, lane));
		stack->mail = NULL;
	}
	return true;
}

/* Whether one message stands in a lane that is not empty. */
static inline bool is_single(const struct gy_house *house, enum gy_lane lane)
{
	return house->lanes[lane]->next == house->lanes[lane];
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
		      house->events > home->options.high_events || house->outstanding == 0;
	gy_house_set_status(house, GY_HOUSE_WAITING);
}

/* The same for a house with nothing pending. */
static inline void wait_with_none(struct gy_house *house)
{
	gy_verify(house->replies == 0 && house->events == 0);
	house->high = house->outstanding == 0;
	gy_house_set_status(house, GY_HOUSE_WAITING);
}

static __attribute__((noinline)) void end_run_otherwise(struct gy_home *home,
							struct gy_house *house)
{
	if (gy_unlikely(house->closed != 0 || home->front_waits) && !end_closed(home, house)) {
		return;
	}
	if (!house->plain && house->extra != NULL && house->extra->receive_timeout != NULL) {
		gy_receive_timeout_run_ends(house);
	}
	wait_again(home, house);
	if (gy_house_can_run(house)) {
		gy_house_ready(house);
	}
}

/* Most often no lane is closed and nothing more is pending: one comparison tells. */
static inline __attribute__((always_inline)) void end_run(struct gy_home *home,
							  struct gy_house *house)
{
	if (gy_likely(gy_house_is_plainly(house, GY_HOUSE_RUNNING, 0) && !home->front_waits)) {
		wait_with_none(house);
		return;
	}
	end_run_otherwise(home, house);
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

static inline __attribute__((always_inline)) void finish(struct gy_home *home,
							 struct gy_house *house, uint32_t handled)
{
	gy_count(&house->class_info->handled, handled);
	end_run(home, house);
}

/* Each kind of run is a function of its own, which gy_house_run() ends with: so it saves only the
 * registers that it needs. */
static __attribute__((noinline)) void run_notices(struct gy_home *home, struct gy_house *house)
{
	if (is_single(house, GY_LANE_NOTICE) && run_single(home, house, GY_LANE_NOTICE)) {
		finish(home, house, 1);
	} else {
		finish(home, house, run_plain_notices(home, house));
	}
}

static __attribute__((noinline)) void run_asks(struct gy_home *home, struct gy_house *house)
{
	if (is_single(house, GY_LANE_ASK) && run_single(home, house, GY_LANE_ASK)) {
		finish(home, house, 1);
	} else {
		finish(home, house, run_plain_asks(home, house));
	}
}

static __attribute__((noinline)) void run_replies(struct gy_home *home, struct gy_house *house)
{
	finish(home, house, gy_promises_complete(home, house));
}

static __attribute__((noinline)) void run_all(struct gy_home *home, struct gy_house *house)
{
	leave_queue(house);
	finish(home, house, gy_dispatch_all(home, house));
}

void gy_house_run(struct gy_loop *loop, struct gy_job *job)
{
	struct gy_house *house = gy_container_of(job, struct gy_house, job);
	struct gy_home *home = gy_home_of(loop);

	gy_home_show_running(home, house);
	if (gy_likely(gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_NOTICE))) {
		leave_queue_plainly(house);
		run_notices(home, house);
	} else if (gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_ASK)) {
		leave_queue_plainly(house);
		run_asks(home, house);
	} else if (gy_house_is_plainly(house, GY_HOUSE_READY, 1U << GY_LANE_REPLY)) {
		leave_queue_plainly(house);
		run_replies(home, house);
	} else {
		run_all(home, house);
	}
}

void gy_house_end_run(struct gy_home *home, struct gy_house *house)
{
	gy_home_show_running(home, house);
	end_run(home, house);
}
