/*
 * Bytes that come over a link, to frames; see incoming.c.
 */
#ifndef GY_REMOTE_MESSAGE_INCOMING_H
#define GY_REMOTE_MESSAGE_INCOMING_H

#include <stdint.h>

#include "remote/wire.h"

struct gy_link;
struct gyre_buffer;

/* The beginning of a frame whose end is not there yet. */
struct gy_partial_frame {
	unsigned char *frame; /* NULL while its length is not known */
	uint32_t at;	      /* bytes there */
	uint32_t bytes;
	unsigned char word[GY_WIRE_WORD_BYTES];
};

/* Takes bytes that have come, and @data. */
void gy_incoming_read(struct gy_link *link, struct gyre_buffer *data);
/* The connection has ended: forgets what has come in part. */
void gy_incoming_reset(struct gy_link *link);
/* Asserts that a partial frame has a length, and is not complete. */
void gy_incoming_check(const struct gy_link *link);

#endif
