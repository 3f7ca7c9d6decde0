/*
 * What the options of a channel mean for its socket, if that is one of streams: set on sockets that
 * listen, of which connections of TCP inherit it, on accepted ones of Unix, which do not, and on
 * those that connect.
 */
#ifndef GY_NET_STREAM_H
#define GY_NET_STREAM_H

#include <gyre/channel.h>

#include "channel/channels.h"
#include "net/socket_option.h"

/* 0, or -EINVAL, and then one line goes to @log, unless that is NULL. */
int gy_stream_check(const struct gy_channels *channels, const struct gyre_channel_options *options,
		    const struct gy_log *log);
/* A socket of TCP: 0, or a negative errno. */
int gy_stream_prepare(int fd, const struct gyre_channel_options *options);
/* Likewise for a socket that listens already. A size of 0 leaves it as it is. */
int gy_stream_adopt(int fd, const struct gyre_channel_options *options,
		    enum gy_socket_origin origin);
/* Its buffers alone, of any socket. */
int gy_stream_size(int fd, const struct gyre_channel_options *options);

#endif
