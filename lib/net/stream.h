/*
 * What the options of a channel mean for its socket, if that is one of streams: set on sockets that
 * listen, of which connections inherit it, and on those that connect.
 */
#ifndef GY_NET_STREAM_H
#define GY_NET_STREAM_H

#include <gyre/channel.h>

bool gy_stream_is_valid(const struct gyre_channel_options *options);
/* A socket of TCP: 0, or a negative errno. */
int gy_stream_prepare(int fd, const struct gyre_channel_options *options);

#endif
