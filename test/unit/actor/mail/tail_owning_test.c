/*
 * Tails whose elements own something: each is given back once, wherever the mail ends.
 */
#include <errno.h>

#include "actor/parcel_rig.h"
#include "base/atomic.h"
#include "tails.h"

enum { PARCELS = 5, MANY = 5000 };

struct truck {
	uint64_t serial;
	uint32_t count;
	struct parcel parcels[];
};

static uint32_t trucks_destroyed;

static void truck_destroy(struct truck *truck)
{
	for (uint32_t i = 0; i < truck->count; i++) {
		parcel_destroy(&truck->parcels[i]);
	}
	(void)gy_fetch_add(&trucks_destroyed, 1);
}

GYRE_MESSAGE_TAIL_OWNING(truck, 0x1510, parcels, count, truck_destroy);

/* A truck that is loaded up to a part. */
static struct gyre_mail *load(struct gyre_mail *mail, uint32_t count)
{
	struct truck *truck = (struct truck *)gyre_payload(mail);

	for (uint32_t i = 0; i < count; i++) {
		truck->parcels[i] = pack(i);
	}
	return mail;
}

static struct gyre_mail *truck(struct gyre_stack *stack, uint32_t count)
{
	return load(gyre_new_tail(stack, truck, count, .serial = 1), count);
}

static int tell_sink(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	frame->to = spawn_target(stack, &sink_class);
	expect(gyre_notify(stack, frame->to, truck(stack, PARCELS)) == 0);
	expect(gyre_notify(stack, frame->to, truck(stack, MANY)) == 0);
	expect(gyre_notify(stack, frame->to, truck(stack, 0)) == 0);
	GYRE_AWAIT(stack, gyre_ask(stack, frame->to, truck(stack, PARCELS), 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOMSG);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(tail_owning, is_given_back_once_where_it_was_handled)
{
	play_parcels(tell_sink);
	cr_assert_eq(parcels_destroyed, parcels_packed);
	cr_assert_eq(trucks_destroyed, 8);
}

static int tell_nobody(struct gyre_stack *stack)
{
	expect(gyre_notify(stack, GYRE_NOBODY, truck(stack, PARCELS)) == -ESRCH);
	gyre_mail_destroy(stack, truck(stack, PARCELS));
	return fixture_end(stack);
}

Test(tail_owning, is_given_back_once_where_it_was_lost_or_never_sent)
{
	play_parcels(tell_nobody);
	cr_assert_eq(parcels_destroyed, 2 * 2 * PARCELS);
}

static int tell_half_loaded(struct gyre_stack *stack)
{
	struct gyre_mail *mail =
		load(gyre_system_new_tail(gyre_system_of(stack), truck, PARCELS), 2);
	const struct truck *half = (const struct truck *)gyre_payload(mail);

	for (uint32_t i = 2; i < PARCELS; i++) {
		expect(half->parcels[i].goods == NULL);
	}
	gyre_mail_destroy(NULL, mail);
	gyre_mail_destroy(stack, load(gyre_new_tail(stack, truck, MANY), 1));
	return fixture_end(stack);
}

Test(tail_owning, has_elements_of_zeros_until_they_are_written)
{
	play_parcels(tell_half_loaded);
	cr_assert_eq(parcels_destroyed, 2 * 3);
}

static int make_too_large(struct gyre_stack *stack)
{
	/* The value has no elements that its destructor could look at. */
	expect(gyre_new_tail(stack, truck, SIZE_MAX, .count = 7) == NULL);
	expect(trucks_destroyed == 1);
	return fixture_end(stack);
}

Test(tail_owning, is_given_back_at_once_where_there_is_no_mail_for_it)
{
	play(1, make_too_large);
}

static int move_truck(struct gyre_stack *stack)
{
	struct truck mine;

	expect(gyre_move(stack, truck, &mine) == -EMSGSIZE);
	expect(gyre_message(stack, truck)->count == PARCELS);
	return fixture_end(stack);
}

static int tell_mover(struct gyre_stack *stack)
{
	static const struct gyre_class mover_class = { .name = "mover",
						       .behaviour.notice = move_truck };

	return gyre_notify(stack, spawn_target(stack, &mover_class), truck(stack, PARCELS));
}

Test(tail_owning, is_not_moved_out_but_stays_whole)
{
	play_parcels(tell_mover);
	cr_assert_eq(parcels_destroyed, 2 * PARCELS);
}

static int copy_truck(struct gyre_stack *stack)
{
	union {
		struct truck truck;
		unsigned char bytes[sizeof(struct truck) + 2 * sizeof(struct parcel)];
	} room = { .truck = { .serial = 9, .count = 2 } };
	struct gyre_mail *copy;

	room.truck.parcels[0] = pack(1);
	room.truck.parcels[1] = pack(2);
	copy = gyre_new_copy(stack, truck, &room.truck); /* which takes them */
	expect(((const struct truck *)gyre_payload(copy))->serial == 9);
	return gyre_notify(stack, spawn_target(stack, &sink_class), copy) == 0
		       ? fixture_end(stack)
		       : gyre_throw(stack, -EIO);
}

Test(tail_owning, is_taken_over_by_a_copy)
{
	play_parcels(copy_truck);
	cr_assert_eq(parcels_destroyed, 2 * 2);
}
