/*
 * Messages that leave in fragments; see fragments.c. The words of links for what they carry:
 *
 *	frame            a unit of the connection: a word, a head and a body; see wire.h
 *	parcel           here: a message that leaves in fragments, stored as the one frame that it
 *	                 would be if frames had no bound
 *	stream           here: the parcels of one sender to one receiver, in order
 *	fragment         a frame that carries a piece of a parcel
 *	partial message  at the other side: a parcel of which fragments have come, but not all
 */
#ifndef GY_REMOTE_MESSAGE_FRAGMENTS_H
#define GY_REMOTE_MESSAGE_FRAGMENTS_H

#include <stdbool.h>

#include <gyre/address.h>

#include "remote/wire.h"

struct gy_link;
struct gyre_buffer;

/* Whether something of that pair is on its way in pieces. */
bool gy_fragments_pending(const struct gy_link *link, struct gyre_address from,
			  struct gyre_address to);
/* Copies a message that is to leave in pieces; -ENOMEM. */
int gy_fragments_add(struct gy_link *link, const struct gy_frame *frame, struct gyre_address from,
		     struct gyre_address to);
/* The next fragment of those that are there; NULL without memory. */
struct gyre_buffer *gy_fragments_next(struct gy_link *link);
/* What had not left in full does not arrive; -ENOMEM while not all who wait for it could be told:
 * the rest stays then. */
int gy_fragments_reset(struct gy_link *link);
/* Asserts that parcels, streams and their sums agree. How many bytes have still to leave. */
uint64_t gy_fragments_check(const struct gy_link *link);
/* Forgets what stayed. */
void gy_fragments_fini(struct gy_link *link);

#endif
