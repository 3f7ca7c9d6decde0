/*
 * Packing and unpacking, counted.
 */
#include "parcel_rig.h"

#include <stdlib.h>

#include "base/atomic.h"

uint32_t parcels_packed;
uint32_t parcels_destroyed;
uint32_t parcel_loop;

static uint32_t parcels_unpacked;

struct parcel pack(uint64_t number)
{
	struct parcel parcel = { .goods = (uint64_t *)malloc(sizeof(uint64_t)) };

	expect(parcel.goods != NULL);
	*parcel.goods = number;
	(void)gy_fetch_add(&parcels_packed, 1);
	return parcel;
}

uint64_t unpack(struct parcel *parcel)
{
	uint64_t number = *parcel->goods;

	free(parcel->goods);
	parcel->goods = NULL;
	(void)gy_fetch_add(&parcels_unpacked, 1);
	return number;
}

void parcel_destroy(struct parcel *parcel)
{
	if (parcel->goods != NULL) {
		(void)unpack(parcel);
		(void)gy_fetch_add(&parcels_destroyed, 1);
	}
}

void crate_destroy(struct crate *crate)
{
	parcel_destroy(&crate->parcel);
}

struct gyre_mail *parcel(struct gyre_stack *stack, uint64_t number)
{
	return gyre_fill_parcel(gyre_mail_create(stack, &gyre_type_parcel), pack(number));
}

struct gyre_mail *parcel_outside(uint64_t number)
{
	return gyre_fill_parcel(gyre_system_mail_create(fixture.system, &gyre_type_parcel),
				pack(number));
}

struct gyre_address spawn_target(struct gyre_stack *stack, const struct gyre_class *class)
{
	return spawn_on(stack, class, parcel_loop);
}

void assert_all_unpacked(void)
{
	cr_assert_eq(parcels_unpacked, parcels_packed, "%u of %u parcels were unpacked",
		     parcels_unpacked, parcels_packed);
}

void play_parcels(gyre_handler_fn script)
{
	for (parcel_loop = 0; parcel_loop < 2; parcel_loop++) {
		fixture = (struct fixture){ 0 };
		play(2, script);
		assert_all_unpacked();
	}
	cr_assert_gt(parcels_packed, 0);
}
