/*
 * The actor of a probe. It keeps what it gets for the test, and does what the test orders.
 *
 * An ask has to be answered in its own stack, and later, when the test wants to. So it is stashed;
 * to answer one the actor takes all of them out of the stash, answers the one that is meant, and
 * stashes the others again. A stashed ask has no deadline, or it would be dropped on its way back,
 * and its message with it, which the test may be reading: the test knows when it was due.
 */
#include <errno.h>

#include <gyre/move.h>

#include "actor/stack/stack.h"
#include "base/assert.h"
#include "sim/kit/kit.h"

enum { STASHED_MAX = 1 << 20, ASKS_MAX = 32 };

struct probe_state {
	struct gyre_probe *probe;
};

/* The asks of one order. */
struct probe_frame {
	struct gyre_future answers[ASKS_MAX];
	struct gyre_address to[ASKS_MAX];
	bool taken[ASKS_MAX];
	uint32_t count;
};

static struct gyre_probe *probe_of(const struct gyre_stack *stack)
{
	return ((const struct probe_state *)gyre_state(stack))->probe;
}

/* ---- what comes ---- */

static void add(struct gyre_probe *probe, const struct gy_probe_item *from)
{
	struct gy_probe_item *item = (struct gy_probe_item *)gy_sim_get(sizeof(*item));

	*item = *from;
	gy_list_append(&probe->items, &item->of_probe);
	gy_test_changed(probe->test);
}

static int take_notice(struct gyre_stack *stack)
{
	struct gy_probe_item item = { .kind = GY_PROBE_NOTICE,
				      .type = stack->type,
				      .sender = gyre_sender(stack) };

	item.mail = gyre_mail_keep(stack, gyre_take(stack));
	if (item.mail == NULL) {
		return gyre_throw(stack, -ENOMEM);
	}
	item.message = gyre_payload(item.mail);
	add(probe_of(stack), &item);
	return gyre_return(stack);
}

static int take_event(struct gyre_stack *stack)
{
	struct gy_probe_item item = { .kind = GY_PROBE_EVENT,
				      .type = stack->type,
				      .sender = gyre_sender(stack) };

	if (item.type->bytes != GYRE_BYTES_VARY) {
		item.moved = gy_sim_get(item.type->bytes == 0 ? 1 : item.type->bytes);
		if (gyre_message_move(stack, item.type, item.moved) == 0) {
			item.message = item.moved;
		}
	}
	add(probe_of(stack), &item);
	return gyre_return(stack);
}

/* ---- asks ---- */

static bool has_key(const struct gy_list *items, const struct gy_probe_key *key)
{
	for (const struct gy_list *at = items->next; at != items; at = at->next) {
		const struct gy_probe_item *item =
			gy_container_of(at, const struct gy_probe_item, of_probe);

		if (item->kind == GY_PROBE_ASK && gy_probe_key_equal(&item->key, key)) {
			return true;
		}
	}
	return false;
}

static void finish(struct gyre_probe *probe, struct gy_probe_order *order, int result)
{
	order->result = result;
	order->done = true;
	gy_test_changed(probe->test);
}

static int answer(struct gyre_stack *stack, struct gyre_probe *probe)
{
	struct gy_probe_order *order = probe->reply;
	struct gyre_mail *mail = order->mail;

	probe->reply = NULL;
	if (!gyre_is_awaited(stack)) {
		finish(probe, order, -ETIMEDOUT);
		return gyre_return(stack);
	}
	if (order->error < 0) {
		finish(probe, order, 0);
		return gyre_throw(stack, order->error);
	}
	order->mail = NULL;
	finish(probe, order, gyre_reply(stack, mail));
	return gyre_return(stack);
}

static int take_ask(struct gyre_stack *stack)
{
	struct gyre_mail *mail = gy_stack_of(stack)->mail;
	struct gyre_probe *probe = probe_of(stack);
	const struct gy_probe_item item = {
		.kind = GY_PROBE_ASK,
		.type = stack->type,
		.message = stack->message,
		.sender = gyre_sender(stack),
		.key = { mail->ask_id, mail->from },
		.awaited_until_ns = gy_test_until(probe->test, gyre_time_left(stack)),
	};
	int r;

	if (probe->reply != NULL && gy_probe_key_equal(&probe->reply->key, &item.key)) {
		return answer(stack, probe);
	}
	r = gyre_stash(stack);
	if (r < 0) {
		return gyre_throw(stack, r);
	}
	mail->deadline = 0;
	if (!has_key(&probe->items, &item.key) && !has_key(&probe->taken, &item.key)) {
		add(probe, &item);
	}
	return gyre_return(stack);
}

/* ---- orders ---- */

int gy_probe_ask(struct gyre_stack *stack, struct gyre_address to, struct gyre_mail *mail,
		 uint64_t timeout_ns)
{
	struct probe_frame *frame = (struct probe_frame *)gyre_frame(stack);
	uint32_t i = frame->count;
	int r;

	gy_assert(mail != NULL && i <= ASKS_MAX);
	if (i == ASKS_MAX) {
		gyre_mail_destroy(stack, mail);
		return -ENOBUFS;
	}
	r = gyre_ask(stack, to, mail, timeout_ns, &frame->answers[i]);
	if (r == 0) {
		frame->to[i] = to;
		frame->count++;
	}
	return r;
}

/* Ends the stack, when its asks have ended. */
static int wait_for_answers(struct gyre_stack *stack, uint32_t outstanding)
{
	return outstanding == 0 ? gyre_return(stack) : gyre_suspend_any(stack, 1);
}

static int take_answer(struct gyre_stack *stack, uint32_t i)
{
	struct probe_frame *frame = (struct probe_frame *)gyre_frame(stack);
	struct gyre_future *answer = &frame->answers[i];
	struct gy_probe_item item = { .kind = GY_PROBE_FAILURE, .sender = frame->to[i] };

	frame->taken[i] = true;
	item.error = gyre_future_error(answer);
	if (item.error == 0) {
		item.kind = GY_PROBE_ANSWER;
		item.mail = gyre_mail_keep(stack, gyre_future_take(answer));
		if (item.mail == NULL) {
			return -ENOMEM;
		}
		item.type = item.mail->type;
		item.message = gyre_payload(item.mail);
	}
	add(probe_of(stack), &item);
	return 0;
}

static int take_answers(struct gyre_stack *stack)
{
	const struct probe_frame *frame = (const struct probe_frame *)gyre_frame(stack);
	uint32_t outstanding = 0;
	int r = 0;

	for (uint32_t i = 0; i < frame->count && r == 0; i++) {
		if (frame->taken[i]) {
			continue;
		}
		if (gyre_future_error(&frame->answers[i]) == -EINPROGRESS) {
			outstanding++;
		} else {
			r = take_answer(stack, i);
		}
	}
	return r < 0 ? gyre_throw(stack, r) : wait_for_answers(stack, outstanding);
}

static int obey(struct gyre_stack *stack)
{
	struct gyre_probe *probe = probe_of(stack);
	struct gy_probe_order *order = gyre_message(stack, gy_probe_call)->order;
	struct gyre_mail *mail = order->mail;
	int result;

	switch (order->kind) {
	case GY_PROBE_SEND:
		order->mail = NULL;
		finish(probe, order, gyre_notify(stack, order->to, mail));
		break;
	case GY_PROBE_SEND_ASK:
		order->mail = NULL;
		finish(probe, order, gy_probe_ask(stack, order->to, mail, order->timeout_ns));
		break;
	case GY_PROBE_DO:
		probe->doing = stack;
		result = order->function(stack, order->arg);
		probe->doing = NULL;
		finish(probe, order, result);
		break;
	case GY_PROBE_REPLY: /* all asks come once more */
		probe->reply = order;
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
		break;
	case GY_PROBE_NOTHING:
		break;
	}
	return wait_for_answers(stack, ((struct probe_frame *)gyre_frame(stack))->count);
}

/* ---- the actor ---- */

/* Calls a handler. A failing allocation is meant for what is tested, not for this. */
static int handle(struct gyre_stack *stack, gyre_handler_fn handler)
{
	struct gy_sim_host *host = probe_of(stack)->test->host;
	int r;

	gy_sim_allocations_spare(host, true);
	r = handler(stack);
	gy_sim_allocations_spare(host, false);
	return r;
}

static int notice(struct gyre_stack *stack)
{
	if (gyre_stack_state(stack) != 0) {
		return handle(stack, take_answers);
	}
	return handle(stack, gyre_message(stack, gy_probe_call) != NULL ? obey : take_notice);
}

static int ask(struct gyre_stack *stack)
{
	return handle(stack, take_ask);
}

static int event(struct gyre_stack *stack)
{
	return handle(stack, take_event);
}

static int begin(struct gyre_stack *stack)
{
	struct probe_state *state = (struct probe_state *)gyre_state(stack);

	state->probe = gyre_message(stack, gy_probe_call)->probe;
	return gyre_return(stack);
}

const struct gyre_class gy_probe_class = {
	.name = "probe",
	.state_bytes = sizeof(struct probe_state),
	.frame_bytes = sizeof(struct probe_frame),
	.behaviour = { .notice = notice, .ask = ask, .event = event },
	.mount = begin,
	.stash_max = STASHED_MAX,
};
