/*
 * The name that a channel has in the log.
 */
#ifndef GY_CHANNEL_CHANNEL_LOG_H
#define GY_CHANNEL_CHANNEL_LOG_H

#include <gyre/address.h>
#include <gyre/socket_address.h>

#include "base/macros.h"

struct gyre_channel;

/* "channel ", its address, " with ", and that of its peer. */
enum { GY_CHANNEL_NAME_BYTES = GYRE_ADDRESS_TEXT_MAX + GYRE_SOCKET_ADDRESS_TEXT_MAX + 16 };

/*
 * "channel [0:16777216:7] with tcp://192.0.2.1:4711", without the peer where the kernel knows none;
 * returns @text. A channel without an address gets one, if there is memory. On its loop's thread.
 */
GY_COLD const char *gy_channel_name(struct gyre_channel *channel, char text[GY_CHANNEL_NAME_BYTES]);

/* Logs a warning of the runtime, for the class of the actor that owns the channel, and with the
 * name of the channel in front. */
GY_PRINTF(2, 3)
GY_COLD void gy_channel_warn(struct gyre_channel *channel, const char *format, ...);

#endif
