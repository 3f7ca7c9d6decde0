/*
 * Bytes that come over a link; see incoming.c.
 */
#ifndef GY_REMOTE_INCOMING_H
#define GY_REMOTE_INCOMING_H

#include <stdint.h>

#include "base/list.h"
#include "remote/wire.h"

struct gy_link;
struct gyre_buffer;

/* A large message on its way in. Its memory grows with what has come of it. */
struct gy_partial_message {
	struct gy_list item;
	uint32_t number;
	uint32_t at;
	uint32_t bytes; /* of the whole, as the peer says */
	uint32_t room;
	unsigned char *frame;
};

/* The beginning of a frame whose end is not there yet. */
struct gy_partial_frame {
	unsigned char *frame; /* NULL while its length is not known */
	uint32_t at;	      /* bytes there */
	uint32_t bytes;
	unsigned char word[GY_WIRE_WORD_BYTES];
};

/* Bytes have come. */
void gy_incoming_read(struct gy_link *link, struct gyre_buffer *data);
void gy_incoming_reset(struct gy_link *link);
/* Asserts that partial frames and messages, and their sums, agree. */
void gy_incoming_check(const struct gy_link *link);
/* Tells the peer what has been taken. */
void gy_incoming_credit(struct gy_link *link);

#endif
