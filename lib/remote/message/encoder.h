/*
 * The memory of an encoder, and of the one that is kept for the next message; see encoder.c.
 */
#ifndef GY_REMOTE_MESSAGE_ENCODER_H
#define GY_REMOTE_MESSAGE_ENCODER_H

#include <gyre/encode.h>

void gy_encoder_fini(struct gyre_encoder *out);
/* Begins a message of up to @max bytes in the memory that @kept has, if any, and leaves it none. */
void gy_encoder_begin(struct gyre_encoder *out, struct gyre_encoder *kept, size_t max);
/* Ends it: @kept has its memory, unless that is large or there is another. */
void gy_encoder_end(struct gyre_encoder *out, struct gyre_encoder *kept);

#endif
