/*
 * Channels beside an actor of the same loop that writes to itself for ever: I/O goes on, in both
 * queues, and so does the actor.
 */
#include "rig.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"

struct beat {
	uint64_t count;
};
GYRE_MESSAGE(beat, 0x1020);

static uint64_t beats;

static int beat(struct gyre_stack *stack)
{
	beats++;
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, beat, beats));
	return gyre_return(stack);
}

static const struct gyre_class eternal_class = { .name = "eternal",
						 .mount = beat,
						 .behaviour.notice = beat };

static void echo_beside(bool channels_actor)
{
	const struct gy_spawn_order order = { .class = &eternal_class,
					      .channels_actor = channels_actor };
	struct rig_stream stream = { .total = 1 << 20 };
	struct gyre_channel *channel;
	struct gyre_address eternal;
	struct rig rig;

	rig_init(&rig, NULL);
	rig_free_clock(&rig); /* phase 3 ends when its time is over */
	cr_assert_eq(gy_spawn(&rig.home, &order, 0, &eternal), 0);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	cr_assert(rig_until(&rig, rig_streamed, &stream));
	cr_assert_eq(stream.received, stream.total);
	cr_assert_not(stream.wrong);
	cr_assert_gt(beats, 100);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(channel, goes_on_beside_an_actor_that_writes_to_itself_for_ever)
{
	echo_beside(false);
}

Test(channel, goes_on_beside_a_channels_actor_that_writes_to_itself_for_ever)
{
	echo_beside(true);
}
