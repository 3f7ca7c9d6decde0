/*
 * What the loss of another node means for the actors of a loop: their asks to it fail, and what
 * they watch there has ended. That is rare, so nothing is kept for it: all houses are looked at.
 */
#include "actor/afar.h"

#include "actor/annex.h"
#include "actor/stack.h"
#include "actor/watch.h"

/* Through the house's own lane, as every answer. Without memory the time-out ends it. */
static void fail_ask(struct gy_house *house, const struct gy_promise *promise, int error)
{
	struct gy_home *home = house->home;
	struct gyre_mail *mail = gy_mail_get(home, &gy_type_exception);

	if (mail != NULL) {
		mail->node.kind = GY_MAIL_EXCEPTION;
		mail->from.cookie = 0;
		mail->ask_id = promise->item.key;
		((struct gy_exception *)gyre_payload(mail))->error = error;
		(void)gy_send(home, gy_house_address(house), mail, GY_LANE_EXCEPTION);
	}
}

static void fail_asks(struct gy_house *house, uint16_t node, int error)
{
	const struct gy_table *promises = &house->promises;

	for (uint32_t i = 0; promises->count > 0 && i < promises->size; i++) {
		struct gy_table_item *item = promises->buckets[i];

		for (; item != NULL; item = item->next) {
			const struct gy_promise *promise =
				gy_container_of(item, const struct gy_promise, item);

			if (promise->to.cookie != 0 && promise->to.node == node) {
				fail_ask(house, promise, error);
			}
		}
	}
}

bool gy_home_lost_node(struct gy_home *home, uint16_t node, int error)
{
	bool all = true;

	for (uint32_t slot = 0; slot < gy_load_relaxed(&home->slots.used); slot++) {
		struct gy_house *house = gy_house_at(home, slot);

		if (house->status < GY_HOUSE_MOUNTING) {
			continue;
		}
		if (gy_house_is_away(house)) {
			all = false;
			continue;
		}
		fail_asks(house, node, error);
		gy_watch_lost_node(house, node, error);
	}
	return all;
}
