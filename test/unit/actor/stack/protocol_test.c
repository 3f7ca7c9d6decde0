/*
 * Protocols: what goes through a typed address comes as by a plain one, and the tables of
 * GYRE_SERVES() lead each message to its handler. What does not compile: test/check/typed_test.py.
 */
#include "actor/parcel_rig.h"

#include <string.h>

#include <gyre/protocol.h>

struct restock {
	uint64_t count;
};
GYRE_MESSAGE(restock, 0x1301);

struct stock {
	uint64_t count;
};
GYRE_MESSAGE(stock, 0x1302);

struct stock_of {
	uint64_t item;
};
GYRE_REQUEST(stock_of, 0x1303, stock);

__extension__ struct list {
	uint64_t item;
	uint32_t count;
	uint32_t counts[];
};
GYRE_MESSAGE_TAIL(list, 0x1304, counts, count);

GYRE_PROTOCOL(shop, list, restock, stock_of);

struct shop {
	uint64_t count;
};

static struct shop *shop_of(struct gyre_stack *stack)
{
	return (struct shop *)gyre_state(stack);
}

static int on_restock(struct gyre_stack *stack)
{
	shop_of(stack)->count += gyre_message(stack, restock)->count;
	trace('r');
	return gyre_return(stack);
}

static int on_list(struct gyre_stack *stack)
{
	const struct list *list = gyre_message(stack, list);

	for (uint32_t i = 0; i < list->count; i++) {
		shop_of(stack)->count += list->counts[i];
	}
	trace('l');
	return gyre_return(stack);
}

static int on_stock_of(struct gyre_stack *stack)
{
	trace('s');
	return gyre_reply_to(stack, stock_of, .count = shop_of(stack)->count);
}

GYRE_SERVES(counter, shop, GYRE_ON_ASK(stock_of, on_stock_of), GYRE_ON_NOTICE(restock, on_restock),
	    GYRE_ON_NOTICE(list, on_list));

static const struct gyre_class shop_class = {
	.name = "shop",
	.state_bytes = sizeof(struct shop),
	.behaviour = { GYRE_ROUTES_OF(counter) },
};

struct visit {
	struct shop_address shop;
};
GYRE_MESSAGE(visit, 0x1305);

struct visitor {
	struct gyre_future asked;
	struct shop_address shop;
};

static struct visitor *visitor_of(struct gyre_stack *stack)
{
	return (struct visitor *)gyre_frame(stack);
}

static void open_shop(struct gyre_stack *stack)
{
	visitor_of(stack)->shop = gyre_address_as(shop, spawn_here(stack, &shop_class));
}

/* Asks overtake notices: until the shop has got all, it is asked again. */
static bool has_stock(struct gyre_stack *stack, uint64_t count)
{
	const struct visitor *visitor = visitor_of(stack);
	const struct stock *stock =
		visitor->asked.id == 0 ? NULL : gyre_future_answer_to(&visitor->asked, stock_of);

	return stock != NULL && stock->count == count;
}

static int tell_and_ask(struct gyre_stack *stack)
{
	struct visitor *visitor = visitor_of(stack);

	GYRE_BEGIN(stack);
	open_shop(stack);
	expect(gyre_tell(stack, visitor->shop, restock, .count = 4) == 0);
	expect(gyre_tell(stack, visitor->shop, restock, 5) == 0);
	while (!has_stock(stack, 9)) {
		GYRE_AWAIT(stack, gyre_ask_of(stack, visitor->shop, 0, &visitor->asked, stock_of,
					      .item = 1));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(protocol, leads_messages_of_a_typed_address_to_their_handlers)
{
	play(1, tell_and_ask);
	cr_assert_not_null(strstr(traced, "rrs"));
}

static int send_mails(struct gyre_stack *stack)
{
	static const uint32_t counts[] = { 1, 2, 3 };
	struct visitor *visitor = visitor_of(stack);

	GYRE_BEGIN(stack);
	open_shop(stack);
	expect(gyre_tell_mail(stack, visitor->shop, list,
			      gyre_tail_fill(list, gyre_new_tail(stack, list, 3, .item = 1),
					     counts)) == 0);
	while (!has_stock(stack, 6)) {
		GYRE_AWAIT(stack, gyre_ask_mail(stack, visitor->shop, 0, &visitor->asked, stock_of,
						gyre_new(stack, stock_of, 1)));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(protocol, takes_mails_that_were_made_before_and_those_with_a_tail)
{
	play(1, send_mails);
	cr_assert_not_null(strstr(traced, "ls"));
}

/* A parcel counts what it owns. */
static int send_others(struct gyre_stack *stack)
{
	struct visitor *visitor = visitor_of(stack);

	open_shop(stack);
	expect(gyre_tell_mail(stack, visitor->shop, restock, parcel(stack, 7)) == -EPROTO);
	expect(gyre_ask_mail(stack, visitor->shop, 0, &visitor->asked, stock_of,
			     parcel(stack, 7)) == -EPROTO);
	expect(gyre_future_error(&visitor->asked) == -EPROTO);
	expect(gyre_ask_mail(stack, visitor->shop, 0, NULL, stock_of, parcel(stack, 7)) == -EINVAL);
	return fixture_end(stack);
}

Test(protocol, refuses_a_mail_of_another_type_and_destroys_it)
{
	play_parcels(send_others);
	cr_assert_str_eq(traced, "");
}

static int send_nothing(struct gyre_stack *stack)
{
	struct visitor *visitor = visitor_of(stack);

	open_shop(stack);
	expect(gyre_tell_mail(stack, visitor->shop, restock, NULL) == -ENOMEM);
	expect(gyre_tell_mail(stack, visitor->shop, restock, GYRE_NO_ARGUMENT) == -EINVAL);
	expect(gyre_ask_mail(stack, visitor->shop, 0, &visitor->asked, stock_of, NULL) == -ENOMEM);
	expect(gyre_future_error(&visitor->asked) == -ENOMEM);
	return fixture_end(stack);
}

Test(protocol, answers_for_a_mail_that_could_not_be_made_as_plain_calls_do)
{
	play(1, send_nothing);
}

/* ---- typed addresses in messages, and what is not of the protocol ---- */

static int customer_notice(struct gyre_stack *stack)
{
	return gyre_tell(stack, gyre_message(stack, visit)->shop, restock, 1);
}

static const struct gyre_class customer_class = { .name = "customer",
						  .behaviour.notice = customer_notice };

static int pass_address_on(struct gyre_stack *stack)
{
	struct visitor *visitor = visitor_of(stack);

	GYRE_BEGIN(stack);
	open_shop(stack);
	expect(gyre_notify(stack, spawn_on(stack, &customer_class, 1),
			   gyre_new(stack, visit, visitor->shop)) == 0);
	while (!has_stock(stack, 1)) {
		GYRE_AWAIT(stack,
			   gyre_ask_of(stack, visitor->shop, 0, &visitor->asked, stock_of, 1));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(protocol, has_typed_addresses_that_travel_in_messages)
{
	play(2, pass_address_on);
}

/* Past the compiler: through the plain address. */
static int send_in_the_wrong_form(struct gyre_stack *stack)
{
	struct visitor *visitor = visitor_of(stack);

	GYRE_BEGIN(stack);
	open_shop(stack);
	expect(gyre_notify(stack, visitor->shop.address, gyre_new(stack, stock_of, 1)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, visitor->shop.address, gyre_new(stack, restock, 1), 0,
				   &visitor->asked));
	expect(gyre_future_error(&visitor->asked) == -ENOSYS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(protocol, has_no_route_for_a_request_among_notices_nor_for_a_notice_among_asks)
{
	play(1, send_in_the_wrong_form);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.lost[GYRE_DROP_UNHANDLED], 2);
}
