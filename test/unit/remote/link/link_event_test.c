/*
 * The events of links: what subscribers hear of those that open, end, break, and cannot be had.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <gyre/event.h>

#include "base/atomic.h"
#include "remote/stranger.h"

TestSuite(link_event, .timeout = 60);

enum { HEARD_MAX = 16 };

static struct gyre_link_event heard[HEARD_MAX];
static uint32_t heard_count; /* atomic */
static uint32_t subscribed;
static struct gyre_address afar = { .slot = 5, .cookie = 6, .loop = 3, .node = STRANGER_ID };

static int subscribe(struct gyre_stack *stack)
{
	expect(gyre_subscribe(stack, &gyre_type_gyre_link_event, gyre_event_key_of(NULL), NULL) ==
	       0);
	gy_store_release(&subscribed, 1);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	uint32_t count = heard_count;

	expect(gyre_message(stack, gyre_link_event) != NULL);
	if (count < HEARD_MAX) { /* dials may fail again and again */
		heard[count] = *gyre_message(stack, gyre_link_event);
		gy_store_release(&heard_count, count + 1);
	}
	return gyre_return(stack);
}

static int send_afar(struct gyre_stack *stack)
{
	return gyre_notify(stack, afar, gyre_new(stack, number, 1));
}

static const struct gyre_class hearer_class = {
	.name = "hearer", .mount = subscribe, .behaviour = { .notice = send_afar, .event = hear }
};

static struct gyre_address begin(const struct gyre_node_options *options)
{
	struct gyre_address hearer = stranger_open_with(options, &hearer_class);

	while (gy_load_acquire(&subscribed) == 0) {
		(void)sched_yield();
	}
	return hearer;
}

static const struct gyre_link_event *await(uint32_t number, enum gyre_link_step step)
{
	while (gy_load_acquire(&heard_count) <= number) {
		(void)sched_yield();
	}
	cr_assert_eq(heard[number].step, step);
	cr_assert_eq(heard[number].loop, 0);
	return &heard[number];
}

static bool is_on_loopback(const struct gyre_link_event *event)
{
	return strstr(event->address, "127.0.0.1:") != NULL;
}

Test(link_event, tells_of_an_accepted_link_that_opens_and_of_its_loss)
{
	const struct gyre_link_event *event;
	struct stranger stranger;

	(void)begin(&stranger_quick);
	stranger_meet(&stranger);
	event = await(0, GYRE_LINK_OPENED);
	cr_assert_eq(event->node, STRANGER_ID);
	cr_assert(!event->dialled);
	cr_assert(is_on_loopback(event));
	cr_assert_eq(event->reason, 0);
	stranger_close(&stranger);
	event = await(1, GYRE_LINK_BROKEN);
	cr_assert_eq(event->node, STRANGER_ID);
	cr_assert(!event->dialled);
	cr_assert_str_eq(event->address, heard[0].address);
	fixture_close();
}

Test(link_event, tells_of_an_accepted_link_that_is_closed_in_good_order)
{
	struct stranger stranger;

	(void)begin(&stranger_quick);
	stranger_meet(&stranger);
	(void)await(0, GYRE_LINK_OPENED);
	stranger_say(&stranger, GY_WIRE_CLOSE, "", 0);
	stranger_close(&stranger);
	cr_assert_eq(await(1, GYRE_LINK_CLOSED)->reason, 0);
	fixture_close();
}

Test(link_event, tells_of_an_accepted_link_that_is_refused)
{
	const struct gyre_link_event *event;
	struct gy_hello hello = stranger_hello();
	struct stranger stranger;

	(void)begin(&stranger_quick);
	hello.loop = UINT16_MAX;
	stranger_dial(&stranger);
	stranger_say_hello(&stranger, &hello);
	stranger_expect_refusal(&stranger, GY_REFUSED_MALFORMED);
	event = await(0, GYRE_LINK_FAILED);
	cr_assert(!event->dialled);
	cr_assert(is_on_loopback(event));
	stranger_close(&stranger);
	fixture_close();
}

Test(link_event, tells_of_a_dialled_link_by_the_address_that_was_dialled)
{
	const struct gyre_link_event *event;
	struct gyre_address hearer;
	struct stranger stranger;
	char text[STRANGER_TEXT_BYTES];

	hearer = begin(&stranger_quick);
	stranger_listen_unheard(&stranger, text);
	cr_assert_eq(gyre_system_node_add_peer(fixture.system,
					       &(struct gyre_node_peer){ STRANGER_ID, text }),
		     0);
	cr_assert_eq(notify_outside(hearer, 1), 0);
	stranger_welcome(&stranger);
	event = await(0, GYRE_LINK_OPENED);
	cr_assert_eq(event->node, STRANGER_ID);
	cr_assert(event->dialled);
	cr_assert_str_eq(event->address, text);
	stranger_close(&stranger);
	cr_assert(await(1, GYRE_LINK_BROKEN)->dialled);
	event = await(2, GYRE_LINK_FAILED);
	cr_assert_eq(event->reason, -ECONNREFUSED);
	cr_assert_str_eq(event->address, text);
	fixture_close();
}
