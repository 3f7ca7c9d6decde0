/*
 * The event stream. A listener subscribes as it is told to, and writes down what comes: a letter
 * for each event, in order.
 */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

#include <gyre/event.h>
#include <gyre/move.h>
#include <gyre/tail.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "heap.h"

enum { LOOPS = 2, ELSEWHERE = 1, MANY = 3000, FLOOD = 100, FEW = 10, TAG = 77 };

struct price {
	uint64_t value;
};
GYRE_MESSAGE(price, 0x1100);

struct other {
	uint64_t value;
};
GYRE_MESSAGE(other, 0x1101);

struct owner {
	uint64_t value;
};
static uint32_t owners_destroyed;
static void destroy_owner(struct owner *owner)
{
	(void)gy_fetch_add(&owners_destroyed, (uint32_t)(owner->value != 0));
}
GYRE_MESSAGE_OWNING(owner, 0x1102, destroy_owner);

struct words {
	uint32_t count;
	uint32_t words[];
};
GYRE_MESSAGE_TAIL(words, 0x1103, words, count);

enum what { SUBSCRIBE, UNSUBSCRIBE, SYNC, FAIL, FLOOD_SELF, UNSUBSCRIBE_IN_FLIGHT };

struct order {
	enum what what;
	uint32_t waiting_max;
	const char *key;
};
GYRE_MESSAGE(order, 0x1104);

static struct {
	uint64_t missed;
	uint64_t tag;
	uint32_t type_id;
	uint32_t heard; /* atomic */
	uint32_t wanted;
	struct gyre_address from;
} seen;

struct frame {
	struct gyre_future future;
	struct gyre_address a;
	struct gyre_address b;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static int publish(struct gyre_stack *stack, const char *key, uint64_t value)
{
	return gyre_publish(stack, gyre_new(stack, price, value), gyre_event_key_of(key));
}

/* ---- the listener ---- */

static int subscribe(struct gyre_stack *stack, const char *key, uint32_t waiting_max)
{
	const struct gyre_subscribe_options options = { .waiting_max = waiting_max, .tag = TAG };

	return gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of(key), &options);
}

static int flood(struct gyre_stack *stack)
{
	int sent = 0;

	for (uint64_t i = 0; i < FLOOD; i++) {
		sent += publish(stack, NULL, 'a');
	}
	return sent;
}

static int do_order(struct gyre_stack *stack, const struct order *order)
{
	struct gyre_event_key key = gyre_event_key_of(order->key);
	int r = 0;

	switch (order->what) {
	case SUBSCRIBE:
		return subscribe(stack, order->key, order->waiting_max);
	case UNSUBSCRIBE:
		return gyre_unsubscribe(stack, &gyre_type_price, key);
	case FLOOD_SELF:
		return flood(stack);
	case UNSUBSCRIBE_IN_FLIGHT:
		expect(publish(stack, order->key, 'x') == 1);
		r = gyre_unsubscribe(stack, &gyre_type_price, key);
		expect(publish(stack, order->key, 'x') == 0);
		return r;
	default:
		return r;
	}
}

static int obey(struct gyre_stack *stack)
{
	return gyre_reply(stack,
			  gyre_new(stack, number,
				   (uint64_t)(int64_t)do_order(stack, gyre_message(stack, order))));
}

static void hear_price(struct gyre_stack *stack, const struct price *price)
{
	seen.from = gyre_sender(stack);
	trace((char)price->value);
	if (gy_fetch_add(&seen.heard, 1) + 1 == gy_load_acquire(&seen.wanted)) {
		gyre_system_stop(gyre_system_of(stack));
	}
}

static void hear_missed(const struct gyre_events_missed *missed)
{
	trace('-');
	seen.missed += missed->count;
	seen.tag = missed->tag;
	seen.type_id = missed->type_id;
}

static int hear(struct gyre_stack *stack)
{
	const struct price *price = gyre_message(stack, price);
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);
	const struct words *words = gyre_message(stack, words);

	if (price != NULL) {
		hear_price(stack, price);
	} else if (missed != NULL) {
		hear_missed(missed);
	} else {
		expect(words != NULL && words->count == FEW && words->words[FEW - 1] == FEW);
		trace('w');
	}
	return gyre_return(stack);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

static const struct gyre_class listener_class = {
	.name = "listener",
	.behaviour = { .ask = obey, .notice = fail, .event = hear },
};

static int tell(struct gyre_stack *stack, struct gyre_address to, enum what what, const char *key)
{
	return gyre_ask(stack, to, gyre_new(stack, order, what, FEW, key), 0,
			&frame_of(stack)->future);
}

/* What the listener's call returned. */
static int answer(struct gyre_stack *stack)
{
	const struct number *number = gyre_future_get(&frame_of(stack)->future, number);

	expect(number != NULL);
	return number == NULL ? -EPROTO : (int)(int64_t)number->value;
}

/*
 * Events stand behind asks in a mailbox: of two SYNC the first answer comes before what was
 * published, and the second after it.
 */
#define TELL(STACK, TO, WHAT, KEY) GYRE_AWAIT((STACK), tell((STACK), (TO), (WHAT), (KEY)))

/* ---- who gets them ---- */

static int publish_to_both(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &listener_class);
	frame->b = spawn_on(stack, &listener_class, ELSEWHERE);
	expect(publish(stack, NULL, 'x') == 0);
	TELL(stack, frame->a, SUBSCRIBE, NULL);
	expect(answer(stack) == 0);
	expect(publish(stack, NULL, 'a') == 1);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	expect(gyre_address_equal(seen.from, gyre_self(stack)));
	TELL(stack, frame->b, SUBSCRIBE, NULL);
	expect(publish(stack, NULL, 'b') == 2);
	expect(gyre_publish(stack, gyre_new(stack, other, 1), gyre_event_key_of(NULL)) == 0);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->b, SYNC, NULL);
	TELL(stack, frame->b, SYNC, NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, comes_to_each_that_has_subscribed_to_its_type)
{
	play(LOOPS, publish_to_both);
	cr_assert_str_eq(traced, "abb");
}

static int publish_under_keys(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_here(stack, &listener_class);
	TELL(stack, frame->a, SUBSCRIBE, "one");
	expect(publish(stack, "one", 'a') == 1);
	expect(publish(stack, "two", 'x') == 0);
	expect(publish(stack, "on", 'x') == 0);
	expect(publish(stack, NULL, 'x') == 0);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SUBSCRIBE, NULL);
	expect(publish(stack, "one", 'b') == 2);
	expect(publish(stack, "two", 'c') == 1);
	expect(publish(stack, NULL, 'd') == 1);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, UNSUBSCRIBE, "one");
	expect(answer(stack) == 0);
	expect(publish(stack, "one", 'e') == 1);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, comes_by_its_key_and_to_those_who_want_all_of_its_type)
{
	play(1, publish_under_keys);
	cr_assert_str_eq(traced, "abbcde");
}

static int publish_words(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_mail *mail;
	struct words *words;

	GYRE_BEGIN(stack);
	expect(gyre_subscribe(stack, &gyre_type_words, gyre_event_key_of(NULL), NULL) == 0);
	mail = gyre_new_tail(stack, words, FEW);
	words = (struct words *)gyre_payload(mail);
	words->words[FEW - 1] = FEW;
	expect(gyre_publish(stack, mail, gyre_event_key_of("whatever")) == 1);
	expect(gyre_sleep(stack, 1, &frame->future) == 0);
	return gyre_return(stack);
	GYRE_END(stack);
}

static int hear_and_end(struct gyre_stack *stack)
{
	(void)hear(stack);
	return fixture_end(stack);
}

static const struct gyre_class self_class = { .name = "self",
					      .mount = publish_words,
					      .frame_bytes = sizeof(struct frame),
					      .behaviour.event = hear_and_end };

Test(event, with_a_tail_comes_whole_and_also_to_who_has_published_it)
{
	fixture_open(1);
	(void)spawn_outside(&self_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "w");
}

static int publish_what_owns(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_owner, gyre_event_key_of(NULL), NULL) == 0);
	expect(gyre_publish(stack, gyre_new(stack, owner, 1), gyre_event_key_of(NULL)) == -EINVAL);
	expect(gyre_publish(stack, gyre_new(stack, gyre_terminated, .reason = 0),
			    gyre_event_key_of(NULL)) == -EINVAL);
	expect(gyre_publish(stack, gyre_new(stack, gyre_terminated, .reason = 0),
			    gyre_event_key_of(NULL)) == -EINVAL);
	return fixture_end(stack);
}

Test(event, that_owns_something_or_is_gyres_own_is_refused_and_destroyed)
{
	play(1, publish_what_owns);
	cr_assert_eq(owners_destroyed, 1);
}

static int misuse(struct gyre_stack *stack)
{
	static char text[GYRE_EVENT_KEY_BYTES_MAX + 2];
	const struct gyre_subscribe_options most = { .waiting_max = GYRE_EVENTS_WAITING_MAX };
	const struct gyre_subscribe_options more = { .waiting_max = GYRE_EVENTS_WAITING_MAX + 1U };
	const struct gyre_event_key nothing = { NULL, 1 };
	const struct gyre_type *type = &gyre_type_price;

	memset(text, 'x', sizeof(text) - 1);
	expect(gyre_subscribe(stack, type, gyre_event_key_of(text), NULL) == -EINVAL);
	expect(publish(stack, text, 'x') == -EINVAL);
	text[GYRE_EVENT_KEY_BYTES_MAX] = '\0';
	expect(gyre_subscribe(stack, type, gyre_event_key_of(text), &most) == 0);
	expect(gyre_subscribe(stack, type, gyre_event_key_of(text), &more) == -EINVAL);
	expect(gyre_subscribe(stack, NULL, gyre_event_key_of(NULL), NULL) == -EINVAL);
	expect(gyre_subscribe(stack, type, nothing, NULL) == -EINVAL);
	expect(gyre_unsubscribe(stack, type, nothing) == -EINVAL);
	expect(gyre_unsubscribe(stack, NULL, gyre_event_key_of(NULL)) == -EINVAL);
	expect(gyre_unsubscribe(stack, type, gyre_event_key_of("other")) == -ENOENT);
	expect(gyre_unsubscribe(stack, type, gyre_event_key_of(text)) == 0);
	expect(gyre_unsubscribe(stack, type, gyre_event_key_of(text)) == -ENOENT);
	expect(gyre_publish(stack, NULL, gyre_event_key_of(NULL)) == -ENOMEM);
	expect(gyre_system_publish(fixture.system, NULL, gyre_event_key_of(NULL)) == -ENOMEM);
	expect(gyre_system_publish(NULL, gyre_system_new(fixture.system, price, 'x'),
				   gyre_event_key_of(NULL)) == -EINVAL);
	return fixture_end(stack);
}

Test(event, calls_have_bounds_and_tell_of_misuse)
{
	play(1, misuse);
}

/* ---- ends ---- */

static int unsubscribe_in_flight(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &listener_class, ELSEWHERE);
	TELL(stack, frame->a, SUBSCRIBE, "key");
	TELL(stack, frame->a, UNSUBSCRIBE_IN_FLIGHT, "key");
	expect(answer(stack) == 0);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, that_waits_does_not_come_when_its_subscription_has_ended)
{
	play(LOOPS, unsubscribe_in_flight);
	cr_assert_str_eq(traced, "");
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_CANCELLED], 1);
}

static int end_listener(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &listener_class, ELSEWHERE);
	TELL(stack, frame->a, SUBSCRIBE, "key");
	TELL(stack, frame->a, SUBSCRIBE, NULL);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, frame->a, 0, &frame->future));
	expect(publish(stack, "key", 'x') == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, does_not_come_to_who_has_ended)
{
	play(LOOPS, end_listener);
	cr_assert_str_eq(traced, "");
}

static int restart_listener(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &listener_class, ELSEWHERE);
	TELL(stack, frame->a, SUBSCRIBE, "key");
	expect(gyre_notify(stack, frame->a, gyre_new(stack, number, 0)) == 0);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	expect(publish(stack, "key", 'a') == 1);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, comes_after_a_restart_as_before)
{
	play(LOOPS, restart_listener);
	cr_assert_eq(fixture.counters.restarted, 1);
	cr_assert_str_eq(traced, "a");
}

/* ---- bounds ---- */

static int flood_listener(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->a = spawn_on(stack, &listener_class, ELSEWHERE);
	TELL(stack, frame->a, SUBSCRIBE, NULL);
	TELL(stack, frame->a, FLOOD_SELF, NULL);
	expect(answer(stack) == FEW);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	expect(publish(stack, NULL, 'b') == 1);
	TELL(stack, frame->a, SYNC, NULL);
	TELL(stack, frame->a, SYNC, NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(event, that_is_too_much_is_missed_and_the_gap_is_told_where_it_is)
{
	play(LOOPS, flood_listener);
	cr_assert_str_eq(traced, "aaaaaaaaaa-b", "%s", traced);
	cr_assert_eq(seen.missed, FLOOD - FEW);
	cr_assert_eq(seen.tag, TAG);
	cr_assert_eq(seen.type_id, gyre_type_price.id);
}

/* Publishes two while the first of FEW is handled: there is room for one. */
static int fill_the_gap(struct gyre_stack *stack)
{
	const struct price *price = gyre_message(stack, price);
	static uint32_t count;

	if (price == NULL) {
		hear_missed(gyre_message(stack, gyre_events_missed));
		return seen.missed > FLOOD - FEW ? fixture_end(stack) : gyre_return(stack);
	}
	trace((char)price->value);
	if (++count == 1) {
		expect(publish(stack, NULL, 'b') == 1);
		expect(publish(stack, NULL, 'x') == 0);
	}
	return gyre_return(stack);
}

static int subscribe_and_flood(struct gyre_stack *stack)
{
	expect(subscribe(stack, NULL, FEW) == 0);
	expect(flood(stack) == FEW);
	return gyre_return(stack);
}

static const struct gyre_class gap_class = { .name = "gap",
					     .mount = subscribe_and_flood,
					     .behaviour.event = fill_the_gap };

Test(event, after_a_gap_comes_behind_the_word_of_it)
{
	fixture_open(1);
	(void)spawn_outside(&gap_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_str_eq(traced, "aaaaaaaaaa-b-", "%s", traced);
	cr_assert_eq(seen.missed, FLOOD - FEW + 1);
}

/* ---- without memory ---- */

/* So large that each copy is from the heap. */
struct big {
	unsigned char bytes[100000];
};
GYRE_MESSAGE(big, 0x1105);

static struct {
	uint32_t number; /* of the allocation that fails */
	bool once;	 /* and those behind it do not */
	bool done;
	uint64_t published;
	uint64_t told; /* heard, or missed */
} lean;

static bool go_on_to_lack(bool lacked)
{
	lean.number++;
	if (!lacked) {
		lean.done = lean.once;
		lean.once = true;
		lean.number = 0;
	}
	return !lean.done;
}

static void subscribe_and_publish(struct gyre_stack *stack)
{
	const struct gyre_event_key key = gyre_event_key_of("another");
	struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_big);
	bool lacked;
	int r;

	expect(mail != NULL);
	(lean.once ? heap_lack_once_after : heap_end_after)(lean.number);
	r = gyre_subscribe(stack, &gyre_type_other, key, NULL);
	lean.published += 2;
	expect(gyre_publish(stack, mail, gyre_event_key_of(NULL)) >= 0);
	lacked = heap_recover();
	expect(r == 0 || (r == -ENOMEM && lacked));
	expect(gyre_unsubscribe(stack, &gyre_type_other, key) == (r == 0 ? 0 : -ENOENT));
	(void)go_on_to_lack(lacked);
}

static int publish_without_memory(struct gyre_stack *stack)
{
	if (lean.done) {
		lean.published += 2;
		expect(gyre_publish(stack, gyre_mail_create(stack, &gyre_type_big),
				    gyre_event_key_of(NULL)) == 2);
		return gyre_return(stack);
	}
	subscribe_and_publish(stack);
	return gyre_notify(stack, gyre_self(stack), gyre_new(stack, number, 0));
}

static int want_big(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_big, gyre_event_key_of(NULL), NULL) == 0);
	return gyre_return(stack);
}

static int count_big(struct gyre_stack *stack)
{
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);

	lean.told += missed == NULL ? 1 : missed->count;
	seen.missed += missed == NULL ? 0 : missed->count;
	return lean.done && lean.told == lean.published ? fixture_end(stack) : gyre_return(stack);
}

static const struct gyre_class big_class = { .name = "big",
					     .mount = want_big,
					     .behaviour.event = count_big };

static const struct gyre_class lean_class = { .name = "lean",
					      .behaviour.notice = publish_without_memory };

Test(event, for_whose_copy_there_is_no_memory_is_missed_and_no_other)
{
	struct gyre_address publisher;

	fixture_open(1);
	(void)spawn_outside(&big_class, 0);
	(void)spawn_outside(&big_class, 0);
	publisher = spawn_outside(&lean_class, 0);
	cr_assert_eq(notify_outside(publisher, 0), 0);
	fixture_run();
	fixture_close();
	cr_assert_gt(seen.missed, 0);
}

/* ---- many ---- */

static int subscribe_many(struct gyre_stack *stack)
{
	for (uint32_t i = 0; i < MANY; i++) {
		const struct gyre_event_key key = { &i, sizeof(i) };

		expect(gyre_subscribe(stack, &gyre_type_price, key, NULL) == 0);
		expect(gyre_subscribe(stack, &gyre_type_price, key, NULL) == 0);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		const struct gyre_event_key key = { &i, sizeof(i) };

		expect(gyre_publish(stack, gyre_new(stack, price, 'a'), key) == 1);
		if (i % 2 == 0) {
			expect(gyre_unsubscribe(stack, &gyre_type_price, key) == 0);
		}
	}
	gy_store_release(&seen.wanted, MANY / 2);
	return gyre_return(stack);
}

static const struct gyre_class many_class = { .name = "many",
					      .mount = subscribe_many,
					      .behaviour.event = hear };

Test(event, may_be_wanted_under_many_keys_by_one)
{
	fixture_open(1);
	(void)spawn_outside(&many_class, 0);
	fixture_run();
	fixture_close();
	cr_assert_eq(seen.heard, MANY / 2);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_CANCELLED], MANY / 2);
}

static uint32_t mounted;

static int join_many(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_price, gyre_event_key_of(NULL), NULL) == 0);
	if (gy_fetch_add(&mounted, 1) + 1 == MANY) {
		expect(publish(stack, NULL, 'a') == MANY);
	}
	return gyre_return(stack);
}

static const struct gyre_class member_class = { .name = "member",
						.mount = join_many,
						.behaviour.event = hear };

Test(event, comes_to_many_on_all_loops)
{
	fixture_open(LOOPS);
	seen.wanted = MANY;
	for (uint32_t i = 0; i < MANY; i++) {
		(void)spawn_outside(&member_class, i % LOOPS);
	}
	fixture_run();
	fixture_close();
	cr_assert_eq(seen.heard, MANY);
}

/* ---- from outside ---- */

static int join_outside(struct gyre_stack *stack)
{
	expect(subscribe(stack, "outside", 0) == 0);
	gy_store_release(&mounted, 1);
	return gyre_return(stack);
}

static const struct gyre_class server_class = { .name = "server",
						.mount = join_outside,
						.behaviour.event = hear };

static void *publish_outside(void *arg)
{
	(void)arg;
	while (gy_load_acquire(&mounted) == 0) {
		gy_pause();
	}
	for (uint32_t i = 0; i < FLOOD; i++) {
		cr_assert_eq(gyre_system_publish(fixture.system,
						 gyre_system_new(fixture.system, price, 'a'),
						 gyre_event_key_of("outside")),
			     1);
	}
	return NULL;
}

Test(event, may_be_published_by_any_thread)
{
	pthread_t thread;

	fixture_open(LOOPS);
	seen.wanted = FLOOD;
	(void)spawn_outside(&server_class, ELSEWHERE);
	cr_assert_eq(pthread_create(&thread, NULL, publish_outside, NULL), 0);
	fixture_run();
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(gyre_system_publish(fixture.system,
					 gyre_system_new(fixture.system, price, 'x'),
					 gyre_event_key_of("outside")),
		     0);
	fixture_close();
	cr_assert_eq(seen.heard, FLOOD);
	cr_assert(gyre_address_is_nobody(seen.from));
}
