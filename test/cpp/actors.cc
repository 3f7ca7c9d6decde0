/*
 * gyre from C++: messages, requests and owning messages, classes, waiting, timers, and an orderly
 * end. It is compiled with all warnings as errors against the public headers alone; exits with 0
 * when everything came as it should.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <gyre/gyre.h>

namespace
{

/* ---- messages ---- */

struct price {
	int cents;
	char currency[4];
};
GYRE_MESSAGE(price, 0x0201);

struct price_of {
	int item;
	int quantities[2];
};
GYRE_REQUEST(price_of, 0x0202, price);

struct nothing {
};
GYRE_MESSAGE(nothing, 0x0203);

/* What a mail owns is a raw pointer: mail is moved as bytes. */
struct text {
	char *chars;
};

int texts;

void text_destroy(struct text *text)
{
	if (text->chars != nullptr) {
		texts--;
	}
	std::free(text->chars);
}

GYRE_MESSAGE_OWNING(text, 0x0204, text_destroy);

struct translate {
	char *chars;
};

void translate_destroy(struct translate *translate)
{
	text_destroy(reinterpret_cast<struct text *>(translate));
}

GYRE_REQUEST_OWNING(translate, 0x0205, text, translate_destroy);

/* A tail is an extension of C++ that both compilers have. */
__extension__ struct scores {
	uint32_t count;
	int values[];
};
GYRE_MESSAGE_TAIL(scores, 0x0207, values, count);

__extension__ struct rank {
	uint64_t best;
	uint32_t count;
	int values[];
};
GYRE_REQUEST_TAIL(rank, 0x0208, scores, values, count);

char *make_text(const char *chars)
{
	texts++;
	return strdup(chars);
}

int failures;

void check(bool holds, const char *what)
{
	if (!holds) {
		(void)std::fprintf(stderr, "actors: not so: %s\n", what);
		failures++;
	}
}

#define CHECK(condition) check((condition), #condition)

/* ---- the shop, which is asked ---- */

struct shop_state {
	uint64_t asked;
};

int shop_ask(struct gyre_stack *stack)
{
	shop_state *state = static_cast<shop_state *>(gyre_state(stack));

	state->asked++;
	switch (gyre_message_id(stack)) {
	case GYRE_ID(price_of): {
		const price_of *question = gyre_message(stack, price_of);

		return gyre_reply_to(stack, price_of, question->item * question->quantities[1],
				     { 'E', 'U', 'R' });
	}
	case GYRE_ID(translate): {
		struct translate mine = {};

		CHECK(gyre_move(stack, translate, &mine) == 0);
		mine.chars[0] = 'J';
		return gyre_reply(stack, gyre_new(stack, text, mine.chars));
	}
	case GYRE_ID(rank): {
		const struct rank *rank = gyre_message(stack, rank);

		CHECK(rank->best == 9);
		if (rank->count == 1) {
			struct scores *known = static_cast<struct scores *>(
				std::calloc(1, sizeof(struct scores) + sizeof(int)));

			known->count = 1;
			known->values[0] = rank->values[0] + 5;
			int r = gyre_reply_copy_to(stack, rank, known);

			std::free(known);
			return r;
		}
		return rank->count == 0
			       ? gyre_reply_to(stack, rank, 0)
			       : gyre_reply(stack, gyre_tail_fill(scores,
								  gyre_new_tail(stack, scores,
										rank->count, 0),
								  rank->values));
	}
	default:
		return gyre_throw(stack, -EPROTO);
	}
}

bool is_price_of(const struct gyre_type *type, const void *message)
{
	(void)message;
	return type->id == GYRE_ID(price_of);
}

/* The first is answered by itself. */
int stall_ask(struct gyre_stack *stack)
{
	CHECK(gyre_batch_reply_to(stack, 0, price_of, 1, { 'U', 'S', 'D' }) == 0);
	return gyre_batch_reply_all_to(stack, price_of, 2, { 'E', 'U', 'R' });
}

struct gyre_class make_stall_class()
{
	struct gyre_class stall = {};

	stall.name = "stall";
	stall.behaviour.ask_batch = stall_ask;
	stall.batch_asks = is_price_of;
	return stall;
}

const struct gyre_class stall_class = make_stall_class();

int shop_notice(struct gyre_stack *stack)
{
	const struct scores *scores = gyre_message(stack, scores);

	CHECK(gyre_message(stack, nothing) != nullptr || gyre_message(stack, text) != nullptr ||
	      (scores != nullptr && scores->count == 2 && scores->values[1] == 8));
	return gyre_return(stack);
}

struct gyre_class make_shop_class()
{
	struct gyre_class shop = {};

	shop.name = "shop";
	shop.state_bytes = sizeof(shop_state);
	shop.behaviour.ask = shop_ask;
	shop.behaviour.notice = shop_notice;
	return shop;
}

const struct gyre_class shop_class = make_shop_class();

/* ---- work off the loops, which asks the shop and waits ---- */

struct errand {
	struct gyre_address shop;
};
GYRE_REQUEST(errand, 0x0206, text);

int run_errand(struct gyre_work *work)
{
	const errand *where = gyre_work_get(work, errand);
	struct gyre_system *system = gyre_work_system(work);
	struct gyre_mail *answer = nullptr;
	struct text mine = {};

	CHECK(gyre_system_ask(system, where->shop,
			      gyre_work_new(work, translate, make_text("mellow")), 0,
			      &answer) == 0);
	CHECK(gyre_mail_get(answer, price) == nullptr);
	CHECK(std::strcmp(gyre_mail_get(answer, text)->chars, "Jellow") == 0);
	CHECK(std::strcmp(gyre_mail_answer_to(answer, translate)->chars, "Jellow") == 0);
	CHECK(gyre_mail_move_answer_to(answer, translate, &mine) == 0);
	gyre_mail_destroy(nullptr, answer);
	return gyre_work_reply_to(work, errand, mine.chars);
}

/* ---- the customer, who asks and waits ---- */

struct customer_frame {
	struct gyre_address shop;
	struct gyre_address stall;
	struct gyre_future price;
	struct gyre_future text;
	struct gyre_future refused;
};

/* Tells what stands in a mail, and what was copied from it. */
int tell_scores(struct gyre_stack *stack, struct gyre_address to)
{
	const int values[] = { 7, 8 };
	struct gyre_mail *mail = gyre_tail_fill(scores, gyre_new_tail(stack, scores, 2, 0), values);
	struct gyre_mail *copy =
		gyre_new_copy(stack, scores, static_cast<struct scores *>(gyre_payload(mail)));
	int r = gyre_notify(stack, to, mail);

	return r < 0 ? r : gyre_notify(stack, to, copy);
}

int ask_rank(struct gyre_stack *stack, struct gyre_address to, size_t count,
	     struct gyre_future *ret_future)
{
	const int values[] = { 1, 2, 3 };

	return gyre_ask(stack, to,
			gyre_tail_fill(rank, gyre_new_tail(stack, rank, count, 9, 0), values), 0,
			ret_future);
}

int customer_mount(struct gyre_stack *stack)
{
	customer_frame *frame = static_cast<customer_frame *>(gyre_frame(stack));
	struct gyre_timer_options in_a_moment = {};
	struct gyre_spawn_options elsewhere = {};
	struct text mine = {};

	GYRE_BEGIN(stack);
	elsewhere.place = GYRE_PLACE_LOOP;
	elsewhere.loop = 1;
	CHECK(gyre_spawn(stack, &shop_class, GYRE_NO_ARGUMENT, &elsewhere, &frame->shop) == 0);
	CHECK(gyre_notify(stack, frame->shop, gyre_new(stack, nothing)) == 0);
	CHECK(gyre_notify(stack, frame->shop, gyre_new(stack, text, make_text("hello"))) == 0);
	CHECK(tell_scores(stack, frame->shop) == 0);
	CHECK(ask_rank(stack, frame->shop, 0, &frame->price) == 0);
	GYRE_AWAIT(stack, ask_rank(stack, frame->shop, 3, &frame->text));
	CHECK(gyre_future_answer_to(&frame->price, rank)->count == 0);
	CHECK(gyre_future_answer_to(&frame->text, rank)->count == 3);
	CHECK(gyre_future_get(&frame->text, scores)->values[2] == 3);
	GYRE_AWAIT(stack, ask_rank(stack, frame->shop, 1, &frame->text));
	CHECK(gyre_future_answer_to(&frame->text, rank)->values[0] == 6);
	gyre_mail_destroy(nullptr, gyre_mail_keep(stack, gyre_future_take(&frame->text)));
	CHECK(gyre_future_answer_to(&frame->text, rank) == nullptr);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->shop, gyre_new(stack, price_of, 7, { 1, 3 }),
				   GYRE_SECONDS(5), &frame->price));
	CHECK(!gyre_future_failed(&frame->price));
	CHECK(gyre_future_answer_to(&frame->price, price_of)->cents == 21);
	CHECK(std::strcmp(gyre_future_get(&frame->price, price)->currency, "EUR") == 0);
	CHECK(gyre_spawn(stack, &stall_class, GYRE_NO_ARGUMENT, nullptr, &frame->stall) == 0);
	CHECK(gyre_ask(stack, frame->stall, gyre_new(stack, price_of, 1, { 1, 1 }), 0,
		       &frame->price) == 0);
	CHECK(gyre_ask(stack, frame->stall, gyre_new(stack, price_of, 2, { 1, 1 }), 0,
		       &frame->text) == 0);
	GYRE_AWAIT_ALL(stack, &frame->price, &frame->text);
	CHECK(gyre_future_answer_to(&frame->price, price_of)->cents == 1);
	CHECK(gyre_future_answer_to(&frame->text, price_of)->cents == 2);
	CHECK(gyre_ask(stack, frame->shop, gyre_new(stack, translate, make_text("hello")), 0,
		       &frame->text) == 0);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, frame->shop, gyre_new(stack, nothing), 0, &frame->refused));
	CHECK(gyre_future_error(&frame->refused) == -EPROTO);
	CHECK(gyre_future_answer_to(&frame->text, translate) != nullptr);
	CHECK(gyre_future_move_answer_to(&frame->text, translate, &mine) == 0);
	CHECK(std::strcmp(mine.chars, "Jello") == 0);
	text_destroy(&mine);
	GYRE_AWAIT(stack, gyre_offload(stack, run_errand, gyre_new(stack, errand, frame->shop),
				       GYRE_SECONDS(5), &frame->text));
	CHECK(std::strcmp(gyre_future_answer_to(&frame->text, errand)->chars, "Jellow") == 0);
	in_a_moment.delay_ns = GYRE_MILLISECONDS(1);
	CHECK(gyre_timer_start(stack, 5, &in_a_moment) == 0);
	GYRE_END(stack);
}

int customer_event(struct gyre_stack *stack)
{
	const struct gyre_timeout *timeout = gyre_message(stack, gyre_timeout);

	CHECK(timeout != nullptr && timeout->key == 5);
	gyre_system_stop(gyre_system_of(stack));
	return gyre_return(stack);
}

struct gyre_class make_customer_class()
{
	struct gyre_class customer = {};

	customer.name = "customer";
	customer.frame_bytes = sizeof(customer_frame);
	customer.mount = customer_mount;
	customer.behaviour.event = customer_event;
	return customer;
}

const struct gyre_class customer_class = make_customer_class();

} /* namespace */

int main()
{
	struct gyre_system_options options = {};
	struct gyre_system *system = nullptr;
	struct gyre_address customer = GYRE_NOBODY;
	struct gyre_counters counters = {};

	options.loops = 2;
	if (gyre_system_create(&options, &system) < 0) {
		return 1;
	}
	CHECK(gyre_system_spawn(system, &customer_class, GYRE_NO_ARGUMENT, nullptr, &customer) ==
	      0);
	CHECK(gyre_system_start(system) == 0);
	CHECK(gyre_system_wait(system) == 0);
	CHECK(gyre_system_notify(system, customer,
				 gyre_system_new(system, text, make_text("late"))) == -ESHUTDOWN);
	CHECK(gyre_system_counters(system, &counters) == 0);
	CHECK(counters.failed == 1);
	gyre_system_destroy(system);
	CHECK(texts == 0);
	return failures == 0 ? 0 : 1;
}
