/*
 * The loss of another node, as it concerns actors. When a life of the node is over, asks to it
 * fail, watches on it end, and its watchers are forgotten. That is rare, so no index is kept for
 * it: all houses are visited. A house that is away gets an order that waits for it. When it is
 * known which asks are lost, these alone fail, each by an order. Work that lacks memory is left to
 * another call.
 */
#include "actor/life/node_loss.h"

#include "actor/life/watch.h"
#include "actor/mail/send.h"
#include "actor/memory_retry.h"
#include "actor/stack/promise_places.h"
#include "actor/stack/stack.h"
#include "actor/steal_actor.h"

const struct gyre_type gy_type_node_loss = { .name = "news of a node",
					     .id = GY_ID_NODE_LOSS,
					     .bytes = sizeof(struct gy_node_loss) };

const struct gyre_type gy_type_unanswered = { .name = "unanswered",
					      .id = GY_ID_UNANSWERED,
					      .bytes = sizeof(struct gy_exception) };

/* Fails the ask through the house's own lane, as every answer comes. */
static void fail_ask(struct gy_house *house, struct gy_promise *promise, int error)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_exception);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EXCEPTION;
		gy_mail_from_nobody(mail);
		mail->ask_id = promise->id;
		((struct gy_exception *)gyre_payload(mail))->error = error;
		(void)gy_send(home, gy_house_address(house), mail, GY_LANE_EXCEPTION);
	} else {
		gy_promise_fail_later(promise, error);
	}
}

/* Whether an ask from another loop, where the actor was away, came before or after is not known. */
static bool is_asked_later(const struct gy_house *house, const struct gy_promise *promise,
			   const struct gy_node_loss *news)
{
	return news->asked_until != 0 && promise->number > news->asked_until &&
	       promise->number >> GY_NUMBER_BITS == house->home->loop.index;
}

/* Between two runs only stacks that wait have promises. */
static void fail_asks(struct gy_house *house, const struct gy_node_loss *news)
{
	const struct gy_list *item = house->suspended.next;

	for (; item != &house->suspended; item = item->next) {
		const struct gy_stack *stack = gy_container_of(item, const struct gy_stack, item);
		struct gy_promise *promise = stack->outstanding;

		for (; promise != NULL; promise = promise->next) {
			if (promise->to.cookie != 0 &&
			    gy_node_loss_concerns(house->home, news, promise->to.node) &&
			    !is_asked_later(house, promise, news)) {
				fail_ask(house, promise, news->error);
			}
		}
	}
}

static bool tell(struct gy_house *house, const struct gy_node_loss *news)
{
	bool all = true;

	if ((news->deeds & GY_NODE_LOSS_FAIL_ASKS) != 0) {
		fail_asks(house, news);
	}
	if ((news->deeds & GY_NODE_LOSS_END_WATCHES) != 0) {
		all = gy_watch_node_lost(house, news);
	}
	if ((news->deeds & GY_NODE_LOSS_FORGET_WATCHERS) != 0) {
		gy_watch_forget_watchers(house, news);
	}
	return all;
}

static bool tell_later(struct gy_home *home, struct gy_house *house,
		       const struct gy_node_loss *news)
{
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_node_loss);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EVENT;
		gy_mail_from_nobody(mail);
		mail->ask_id = 0;
		*(struct gy_node_loss *)gyre_payload(mail) = *news;
		gy_house_defer(home, house, mail);
	}
	return mail != NULL;
}

bool gy_home_node_lost(struct gy_home *home, const struct gy_node_loss *news)
{
	bool all = true;

	for (uint32_t slot = 0; slot < gy_load_acquire(&home->slots.used); slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (!gy_house_is_spawned(home, house)) {
			continue;
		}
		all = (gy_house_is_away(house) ? tell_later(home, house, news)
					       : tell(house, news)) &&
		      all;
	}
	return all;
}

void gy_node_loss_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	if (house == NULL) {
		gy_mail_put(home, mail);
		return;
	}
	gy_count(&home->counters.sent, 1);
	if (!gy_node_loss_retry(house, mail)) {
		gy_house_put(home, house, mail, GY_LANE_EVENT);
	}
}

bool gy_node_loss_retry(struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_node_loss *news = (struct gy_node_loss *)gyre_payload(mail);

	if (!tell(house, news)) {
		news->deeds &= (uint16_t)~GY_NODE_LOSS_FAIL_ASKS; /* which has been done */
		return false;
	}
	gy_count(&house->home->counters.handled, 1);
	gy_mail_put(house->home, mail);
	return true;
}

struct gyre_mail *gy_unanswered_make(struct gy_home *home, uint64_t ask_id, int error)
{
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_unanswered);

	if (mail != NULL) {
		mail->ask_id = ask_id;
		gy_unanswered_convert(mail, error);
	}
	return mail;
}

void gy_unanswered_convert(struct gyre_mail *mail, int error)
{
	mail->type = &gy_type_unanswered;
	mail->node.kind = GY_MAIL_EVENT;
	mail->from = (struct gy_origin){ 0 };
	((struct gy_exception *)gyre_payload(mail))->error = error;
}

int gy_unanswered_error(const struct gyre_mail *mail)
{
	return ((const struct gy_exception *)(const void *)mail->payload)->error;
}

void gy_unanswered_arrived(struct gy_home *home, struct gy_house *house, struct gyre_mail *mail)
{
	struct gy_promise *promise =
		house == NULL ? NULL : gy_promise_find(home, house, mail->ask_id);

	gy_count(&home->counters.handled, 1);
	if (promise != NULL && promise->to.cookie != 0 && promise->to.node == mail->from.node) {
		fail_ask(house, promise, gy_unanswered_error(mail));
	}
	gy_mail_put(home, mail);
}
