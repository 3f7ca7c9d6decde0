/*
 * Causes on their way to another node, behind the errno of an exception or the end of an actor; see
 * causes.c.
 */
#ifndef GY_REMOTE_MESSAGE_CAUSES_H
#define GY_REMOTE_MESSAGE_CAUSES_H

#include <gyre/encode.h>

#include "actor/stack/cause.h"
#include "remote/wire.h"

struct gy_link;

/* Writes the message of a cause. False if it does not travel or finds no room; then @out is as it
 * was. */
bool gy_cause_encode(const struct gy_cause *cause, struct gyre_encoder *out);
/* The same with type and layout before it. */
void gy_cause_encode_typed(const struct gy_cause *cause, struct gyre_encoder *out);
/* The message of a cause as mail, of the type, the layout and the body of @frame; NULL for one that
 * is not understood here, and without memory. */
struct gyre_mail *gy_cause_decode(const struct gy_link *link, const struct gy_frame *frame);
/* What gy_cause_encode_typed() has written, if anything: 0 and NULL for nothing, for a cause that
 * is not understood here, and without memory; -EPROTO for what it does not write. */
int gy_cause_decode_typed(const struct gy_link *link, struct gyre_decoder *in,
			  struct gy_cause **ret_cause);

#endif
