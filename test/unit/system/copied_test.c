/*
 * Messages that own something and have a function that copies them: they go wherever plain ones go
 * as copies. A parcel owns a counted allocation; when the system has ended none is left.
 */
#include "fixture.h"

#include <stdlib.h>

#include <gyre/batch.h>
#include <gyre/event.h>
#include <gyre/group.h>
#include <gyre/tail.h>

#include "base/atomic.h"

enum { LOOPS = 2, KEEPERS = 3, ASKS = 3, CONTENT = 42, KEY = 9, PERIODS = 3, ELEMENTS = 5 };

static uint32_t made;	   /* atomic: allocations, from the first on */
static uint32_t destroyed; /* atomic */
static uint32_t refused;   /* atomic: copies */
static uint32_t refuse;	   /* atomic: copies that are to be refused from now on */
static uint32_t got;	   /* atomic: parcels that came */

static uint64_t *make_content(uint64_t value)
{
	uint64_t *content = (uint64_t *)malloc(sizeof(*content));

	if (content != NULL) {
		*content = value;
		(void)gy_fetch_add(&made, 1);
	}
	return content;
}

static void destroy_content(uint64_t *content)
{
	if (content != NULL) {
		*content = 0;
		free(content);
		(void)gy_fetch_add(&destroyed, 1);
	}
}

static int copy_content(uint64_t **content)
{
	if (gy_load_relaxed(&refuse) > 0 || *content == NULL) {
		(void)gy_fetch_add(&refused, 1);
		return -ENOMEM;
	}
	*content = make_content(**content);
	return *content == NULL ? -ENOMEM : 0;
}

struct parcel {
	uint64_t *content;
};
static void destroy_parcel(struct parcel *parcel)
{
	destroy_content(parcel->content);
}
static int copy_parcel(struct parcel *parcel)
{
	return copy_content(&parcel->content);
}
GYRE_MESSAGE_OWNING(parcel, 0x1100, destroy_parcel, copy_parcel);

struct crate {
	uint32_t count;
	uint64_t *contents[];
};
static void destroy_crate(struct crate *crate)
{
	for (uint32_t i = 0; i < crate->count; i++) {
		destroy_content(crate->contents[i]);
	}
}
static int copy_crate(struct crate *crate)
{
	for (uint32_t i = 0; i < crate->count; i++) {
		int r = copy_content(&crate->contents[i]);

		while (r < 0 && i > 0) {
			destroy_content(crate->contents[--i]);
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}
GYRE_MESSAGE_TAIL_OWNING(crate, 0x1101, contents, count, destroy_crate, copy_crate);

static struct gyre_mail *new_parcel(struct gyre_stack *stack)
{
	return gyre_new(stack, parcel, make_content(CONTENT));
}

struct frame {
	struct gyre_future future;
	struct gyre_future answers[ASKS];
	struct gyre_address group;
	uint32_t i;
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* Sleeps until so many parcels have come. */
#define AWAIT_PARCELS(STACK, COUNT)                                                    \
	while (gy_load_acquire(&got) < (COUNT)) {                                      \
		GYRE_AWAIT((STACK), gyre_sleep((STACK), 1, &frame_of(STACK)->future)); \
	}

/* ---- the keeper ---- */

static int keep(struct gyre_stack *stack)
{
	const struct parcel *parcel = gyre_message(stack, parcel);
	const struct crate *crate = gyre_message(stack, crate);

	if (parcel != NULL) {
		expect(*parcel->content == CONTENT);
	} else {
		for (uint32_t i = 0; i < crate->count; i++) {
			expect(*crate->contents[i] == CONTENT);
		}
	}
	(void)gy_fetch_add(&got, 1);
	return gyre_return(stack);
}

static int subscribe(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_parcel, gyre_event_key_of(NULL), NULL) == 0);
	expect(gyre_subscribe(stack, &gyre_type_crate, gyre_event_key_of(NULL), NULL) == 0);
	return 0;
}

static int hear_missed(struct gyre_stack *stack)
{
	const struct gyre_events_missed *missed = gyre_message(stack, gyre_events_missed);

	if (missed == NULL) {
		return keep(stack);
	}
	trace('m');
	expect(missed->count == 1);
	return gyre_return(stack);
}

static const struct gyre_class subscriber_class = { .name = "subscriber",
						    .mount = subscribe,
						    .behaviour.event = hear_missed };

static const struct gyre_class keeper_class = { .name = "keeper", .behaviour.notice = keep };

/* Its argument is a parcel. */
static const struct gyre_class mounted_class = { .name = "mounted", .mount = keep };

static void play_parcels(gyre_handler_fn script, uint32_t expected)
{
	play(LOOPS, script);
	cr_assert_eq(made, destroyed);
	cr_assert_eq(got, expected);
}

/* ---- events ---- */

static int publish_parcels(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < KEEPERS; i++) {
		(void)spawn_here(stack, &subscriber_class);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame_of(stack)->future));
	expect(gyre_publish(stack, new_parcel(stack), gyre_event_key_of("k")) == KEEPERS);
	AWAIT_PARCELS(stack, KEEPERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_are_published_to_each_subscriber)
{
	play_parcels(publish_parcels, KEEPERS);
	cr_assert_eq(made, KEEPERS); /* the last subscriber gets the mail itself */
}

static int publish_crate(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < KEEPERS; i++) {
		(void)spawn_here(stack, &subscriber_class);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame_of(stack)->future));
	{
		struct gyre_mail *mail = gyre_new_tail(stack, crate, ELEMENTS);

		for (uint32_t i = 0; i < ELEMENTS; i++) {
			((struct crate *)gyre_payload(mail))->contents[i] = make_content(CONTENT);
		}
		expect(gyre_publish(stack, mail, gyre_event_key_of(NULL)) == KEEPERS);
	}
	AWAIT_PARCELS(stack, KEEPERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_may_have_tails_whose_elements_own)
{
	play_parcels(publish_crate, KEEPERS);
	cr_assert_eq(made, KEEPERS * ELEMENTS);
}

static int publish_what_is_not_copied(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	for (uint32_t i = 0; i < KEEPERS; i++) {
		(void)spawn_here(stack, &subscriber_class);
	}
	GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame_of(stack)->future));
	gy_store_relaxed(&refuse, 1);
	expect(gyre_publish(stack, new_parcel(stack), gyre_event_key_of(NULL)) == 1);
	gy_store_relaxed(&refuse, 0);
	AWAIT_PARCELS(stack, 1);
	expect(gyre_publish(stack, new_parcel(stack), gyre_event_key_of(NULL)) == KEEPERS);
	AWAIT_PARCELS(stack, 1 + KEEPERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_without_memory_for_what_they_own_are_missed_by_the_subscriber)
{
	play_parcels(publish_what_is_not_copied, 1 + KEEPERS);
	cr_assert_eq(refused, KEEPERS - 1);
	cr_assert_str_eq(traced, "mm");
}

/* ---- groups ---- */

static struct gyre_address make_group(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .count = KEEPERS, .routing = GYRE_ROUTING_ALL };
	struct gyre_address group = GYRE_NOBODY;

	expect(gyre_group_spawn(stack, &keeper_class, GYRE_NO_ARGUMENT, &options, &group) == 0);
	return group;
}

static int send_to_all(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->group = make_group(stack);
	expect(gyre_notify(stack, frame->group, new_parcel(stack)) == 0);
	AWAIT_PARCELS(stack, KEEPERS);
	expect(gyre_system_notify(fixture.system, frame->group,
				  gyre_system_new(fixture.system, parcel, make_content(CONTENT))) ==
	       0);
	AWAIT_PARCELS(stack, 2 * KEEPERS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_go_to_all_members_of_a_group_from_inside_and_outside)
{
	play_parcels(send_to_all, 2 * KEEPERS);
}

static int send_without_memory(struct gyre_stack *stack)
{
	struct gyre_address group = make_group(stack);

	gy_store_relaxed(&refuse, 1);
	expect(gyre_notify(stack, group, new_parcel(stack)) == -ENOMEM);
	return fixture_end(stack);
}

Test(copied, messages_without_memory_for_what_they_own_go_to_no_member_at_all)
{
	play_parcels(send_without_memory, 0);
	cr_assert_eq(fixture.lost[GYRE_DROP_NO_MEMORY], 1);
}

static int spawn_with_argument(struct gyre_stack *stack)
{
	const struct gyre_group_options options = { .count = KEEPERS };
	struct gyre_address group;

	GYRE_BEGIN(stack);
	expect(gyre_group_spawn(stack, &mounted_class, new_parcel(stack), &options, &group) == 0);
	AWAIT_PARCELS(stack, KEEPERS);
	gy_store_relaxed(&refuse, 1);
	expect(gyre_group_spawn(stack, &mounted_class, new_parcel(stack), &options, &group) ==
	       -ENOMEM);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_are_arguments_of_all_members_of_a_group)
{
	play_parcels(spawn_with_argument, KEEPERS);
}

/* ---- timers ---- */

static int send_in_periods(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .period_ns = 1 };
	const struct gyre_address keeper = spawn_on(stack, &keeper_class, 1);

	GYRE_BEGIN(stack);
	gy_store_relaxed(&refuse, 1);
	expect(gyre_send_after(stack, KEY, keeper, new_parcel(stack), &options) == 0);
	while (gy_load_acquire(&refused) == 0) { /* the timer tries again */
		GYRE_AWAIT(stack, gyre_sleep(stack, 1, &frame_of(stack)->future));
	}
	expect(gy_load_acquire(&got) == 0);
	gy_store_relaxed(&refuse, 0);
	AWAIT_PARCELS(stack, PERIODS);
	expect(gyre_timer_stop(stack, KEY) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_are_sent_by_a_timer_again_and_again)
{
	play(LOOPS, send_in_periods);
	cr_assert_eq(made, destroyed);
	cr_assert_geq(got, PERIODS);
}

static int send_in_periods_from_outside(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .period_ns = 1 };
	const struct gyre_address keeper = spawn_on(stack, &keeper_class, 1);

	GYRE_BEGIN(stack);
	expect(gyre_system_send_after(
		       fixture.system, KEY, keeper,
		       gyre_system_new(fixture.system, parcel, make_content(CONTENT)),
		       &options) == 0);
	AWAIT_PARCELS(stack, PERIODS);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_are_sent_again_and_again_for_a_thread_outside)
{
	play(LOOPS, send_in_periods_from_outside);
	cr_assert_eq(made, destroyed);
	cr_assert_geq(got, PERIODS);
}

/* ---- batches ---- */

static bool any(const struct gyre_type *type, const void *message)
{
	(void)type;
	(void)message;
	return true;
}

static int answer_all(struct gyre_stack *stack)
{
	return gyre_batch_reply_all(stack, new_parcel(stack));
}

static int fail_all(struct gyre_stack *stack)
{
	expect(gyre_batch_count(stack) == ASKS);
	return gyre_throw_with(stack, -EIO, new_parcel(stack));
}

static const struct gyre_class answering_class = { .name = "answering",
						   .batch_asks = any,
						   .behaviour.ask_batch = answer_all };
static const struct gyre_class failing_class = { .name = "failing",
						 .batch_asks = any,
						 .behaviour.ask_batch = fail_all };

static int ask_all(struct gyre_stack *stack, const struct gyre_class *class, uint32_t count)
{
	const struct gyre_address to = spawn_here(stack, class);
	int r = 0;

	for (uint32_t i = 0; i < count; i++) {
		r = gyre_ask(stack, to, gyre_new(stack, number, i), GYRE_FOREVER,
			     &frame_of(stack)->answers[i]);
		expect(r == 0);
	}
	return r;
}

static int ask_for_parcels(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_all(stack, &answering_class, ASKS));
	for (uint32_t i = 0; i < ASKS; i++) {
		const struct parcel *parcel = gyre_future_get(&frame_of(stack)->answers[i], parcel);

		expect(parcel != NULL && *parcel->content == CONTENT);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_answer_all_asks_of_a_batch)
{
	play_parcels(ask_for_parcels, 0);
	cr_assert_geq(made, ASKS);
}

static int ask_for_one(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	gy_store_relaxed(&refuse, 1);
	GYRE_AWAIT(stack, ask_all(stack, &answering_class, 1));
	expect(gyre_future_get(&frame_of(stack)->answers[0], parcel) != NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_need_no_copy_for_a_batch_of_one)
{
	play_parcels(ask_for_one, 0);
	cr_assert_eq(made, 1);
	cr_assert_eq(refused, 0);
}

static int ask_for_causes(struct gyre_stack *stack)
{
	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, ask_all(stack, &failing_class, ASKS));
	for (uint32_t i = 0; i < ASKS; i++) {
		const struct parcel *parcel =
			gyre_future_cause(&frame_of(stack)->answers[i], parcel);

		expect(gyre_future_error(&frame_of(stack)->answers[i]) == -EIO);
		expect(parcel != NULL && *parcel->content == CONTENT);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(copied, messages_are_the_cause_for_each_asker_of_a_batch)
{
	play_parcels(ask_for_causes, 0);
}
