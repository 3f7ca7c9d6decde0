/*
 * The actor of a probe. It keeps what it gets for the test, and does what the test orders.
 *
 * An ask has to be answered in its own stack, and later, when the test wants to. So it is stashed;
 * to answer one the actor takes all of them out of the stash, answers the one that is meant, and
 * stashes the others again. A stashed ask has no deadline, or it would be dropped on its way back,
 * and its message with it, which the test may be reading: the test knows when it was due.
 */
#include <gyre/move.h>

#include "actor/stack/stack.h"
#include "base/assert.h"
#include "sim/kit/kit.h"

enum { ASKS_MAX = 1 << 20 };

struct probe_state {
	struct gyre_probe *probe;
};

struct probe_frame {
	struct gyre_future answer;
	struct gyre_address to;
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

static int send_ask(struct gyre_stack *stack, struct gyre_probe *probe,
		    struct gy_probe_order *order)
{
	struct probe_frame *frame = (struct probe_frame *)gyre_frame(stack);
	int r = gyre_ask(stack, order->to, order->mail, order->timeout_ns, &frame->answer);

	frame->to = order->to;
	order->mail = NULL;
	finish(probe, order, r);
	return r < 0 ? gyre_return(stack) : gyre_suspend(stack, 1);
}

static int take_answer(struct gyre_stack *stack)
{
	const struct probe_frame *frame = (const struct probe_frame *)gyre_frame(stack);
	struct gy_probe_item item = { .kind = GY_PROBE_FAILURE, .sender = frame->to };

	item.error = gyre_future_error(&frame->answer);
	if (item.error == 0) {
		item.kind = GY_PROBE_ANSWER;
		item.mail = gyre_mail_keep(stack, gyre_future_take(&frame->answer));
		if (item.mail == NULL) {
			return gyre_throw(stack, -ENOMEM);
		}
		item.type = item.mail->type;
		item.message = gyre_payload(item.mail);
	}
	add(probe_of(stack), &item);
	return gyre_return(stack);
}

static int obey(struct gyre_stack *stack)
{
	struct gyre_probe *probe = probe_of(stack);
	struct gy_probe_order *order = gyre_message(stack, gy_probe_call)->order;
	struct gyre_mail *mail = order->mail;

	switch (order->kind) {
	case GY_PROBE_SEND:
		order->mail = NULL;
		finish(probe, order, gyre_notify(stack, order->to, mail));
		break;
	case GY_PROBE_SEND_ASK:
		return send_ask(stack, probe, order);
	case GY_PROBE_DO:
		finish(probe, order, order->function(stack, order->arg));
		break;
	case GY_PROBE_REPLY: /* all asks come once more */
		probe->reply = order;
		(void)gyre_unstash(stack, GYRE_UNSTASH_ALL);
		break;
	case GY_PROBE_NOTHING:
		break;
	}
	return gyre_return(stack);
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
		return handle(stack, take_answer);
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
	.stash_max = ASKS_MAX,
};
