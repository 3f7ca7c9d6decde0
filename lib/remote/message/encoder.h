/*
 * The memory of an encoder; see encoder.c.
 */
#ifndef GY_REMOTE_MESSAGE_ENCODER_H
#define GY_REMOTE_MESSAGE_ENCODER_H

#include <gyre/encode.h>

void gy_encoder_fini(struct gyre_encoder *out);

#endif
