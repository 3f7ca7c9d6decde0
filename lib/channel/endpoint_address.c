/*
 * The two ends of a channel: the kernel knows their addresses for as long as it has the socket, so
 * a channel does not keep them. What else it knows is asked for by the descriptor.
 */
#include <errno.h>

#include "buffer/socket_address.h"
#include "channel/channel.h"

int gyre_channel_local_address(const struct gyre_channel *channel,
			       struct gyre_socket_address *ret_address)
{
	int r = gyre_channel_descriptor(channel);

	if (ret_address == NULL) {
		return -EINVAL;
	}
	return r < 0 ? r : gy_socket_address_of(r, ret_address);
}

int gyre_channel_peer_address(const struct gyre_channel *channel,
			      struct gyre_socket_address *ret_address)
{
	int r = gyre_channel_descriptor(channel);

	if (ret_address == NULL) {
		return -EINVAL;
	}
	return r < 0 ? r : gy_socket_address_of_peer(r, ret_address);
}

int gyre_channel_descriptor(const struct gyre_channel *channel)
{
	if (channel == NULL) {
		return -EINVAL;
	}
	return channel->endpoint.fd < 0 ? -ENOTCONN : channel->endpoint.fd;
}
