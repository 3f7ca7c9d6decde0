/*
 * What the tests of owning messages share: parcels, whose goods are an allocation each. Every
 * parcel that is packed must be unpacked once: by the destructor, or by who moved it out.
 */
#ifndef GY_TEST_PARCEL_RIG_H
#define GY_TEST_PARCEL_RIG_H

#include <gyre/behaviour.h>
#include <gyre/move.h>
#include <gyre/request.h>

#include "fixture.h"

struct parcel {
	uint64_t *goods; /* NULL: it was never filled */
};
void parcel_destroy(struct parcel *parcel);
GYRE_MESSAGE_OWNING(parcel, 0x1101, parcel_destroy);

/* The same, too large for a pool. */
struct crate {
	struct parcel parcel;
	uint64_t padding[3000];
};
void crate_destroy(struct crate *crate);
GYRE_MESSAGE_OWNING(crate, 0x1102, crate_destroy);

/* A frame for any script. */
struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_address to;
};

static inline struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

/* Atomic. */
extern uint32_t parcels_packed;
extern uint32_t parcels_destroyed;
/* The loop of who gets the parcels; the script is on loop 0. */
extern uint32_t parcel_loop;

/* A parcel with one number in it. */
struct parcel pack(uint64_t number);
/* In a mail; from a handler, or from outside. */
struct gyre_mail *parcel(struct gyre_stack *stack, uint64_t number);
struct gyre_mail *parcel_outside(uint64_t number);
/* The number of a parcel that was moved out, which is freed. */
uint64_t unpack(struct parcel *parcel);

/* Spawns on the target loop. */
struct gyre_address spawn_target(struct gyre_stack *stack, const struct gyre_class *class);
/* Plays @script with the target on the same loop, then on another, and asserts that each parcel was
 * unpacked once. */
void play_parcels(gyre_handler_fn script);
void assert_all_unpacked(void);

#endif
