/*
 * Asks and answers that have been sent, and may yet be lost; see in_flight.c.
 */
#ifndef GY_REMOTE_LINK_IN_FLIGHT_H
#define GY_REMOTE_LINK_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/life/node_loss.h"
#include "remote/wire.h"

struct gy_link;

/* An ask or an answer that is on its way. */
struct gy_in_flight_item {
	uint64_t end; /* where it does, in the bytes that the link sends */
	uint64_t ask_id;
	uint32_t slot; /* of who asks, here or there */
	uint32_t cookie;
	uint16_t loop;
	bool ask;
};

/* A ring of them. */
struct gy_in_flight {
	struct gy_in_flight_item *items;
	uint32_t size; /* a power of two, or 0 */
	uint32_t first;
	uint32_t count;
	bool ending; /* those who wait are being told of their loss */
};

/* Whether somebody waits for it or for what answers it. */
static inline bool gy_in_flight_is_tracked(const struct gy_frame *frame)
{
	return frame->kind != GY_WIRE_NOTICE &&
	       (frame->kind != GY_WIRE_EVENT || frame->type == gy_type_unanswered.id);
}
/* Room for one more; -ENOMEM. */
int gy_in_flight_reserve(struct gy_link *link);
/* Another item behind those that are there. There is room. */
static inline void gy_in_flight_put(struct gy_in_flight *in_flight, struct gy_in_flight_item item)
{
	in_flight->items[(in_flight->first + in_flight->count++) & (in_flight->size - 1)] = item;
}
/* An ask or an answer is on its way. There is room. */
void gy_in_flight_add(struct gy_link *link, const struct gy_frame *frame);
/* The peer has taken more. */
void gy_in_flight_acknowledge(struct gy_link *link);
/* The connection has ended, and with it what is on its way, in pieces too. -ENOMEM while not all
 * who wait for it could be told: then it is to be called again, before there is another connection.
 */
int gy_in_flight_reset(struct gy_link *link);
/* A frame will not arrive; -ENOMEM if the actor that waits for it could not be told. */
int gy_in_flight_fail(struct gy_link *link, const struct gy_frame *frame);
/* Asserts that the ring is one, and that its items stand in the order of their frames. */
void gy_in_flight_check(const struct gy_link *link);

#endif
