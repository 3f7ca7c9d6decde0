/*
 * What the head of a datagram channel is told before it is active. Its socket is bound already, and
 * connected, by the call that opened it, which can so tell the caller what is wrong; an order that
 * comes as it was given leaves it as it is. For another address a socket is opened that is like the
 * first, in the same groups, and takes its descriptor's number: whoever knows that number need not
 * hear of it. Until then the old one stays, so that an order which cannot be carried out changes
 * nothing.
 */
#include <errno.h>

#include "actor/mail/mailbox.h"
#include "net/datagram/datagram.h"
#include "net/socket_file.h"
#include "net/socket_registry.h"
#include "ring/descriptor.h"
#include "ring/socket.h"

static struct gy_datagram_orders *orders_of(struct gy_connector *connector)
{
	return gy_container_of(connector, struct gy_datagram_orders, connector);
}

static int parse(const char *text, struct gyre_socket_address *ret_address)
{
	int r = gyre_socket_address_parse(text, ret_address);

	return r == 0 && ret_address->type != SOCK_DGRAM ? -EINVAL : r;
}

/* The address was parsed, or chosen by the kernel, so that it has a text. */
static const char *format(const struct gyre_socket_address *address, char *text)
{
	return gyre_socket_address_format(address, GYRE_SOCKET_ADDRESS_TEXT_MAX, text) < 0 ? NULL
											   : text;
}

/* The file of a Unix socket goes with it. Under homes->placing. */
static int take_place(struct gy_datagram_orders *orders, const struct gyre_socket_address *address,
		      int fd)
{
	struct gy_socket_entry *entry = &orders->pending->group->entry;
	struct gy_socket_file file;
	int r = gy_descriptor_replace(orders->fd, fd);

	gy_socket_file_set(&file, address);
	if (r < 0) {
		gy_socket_file_remove(&file);
		return r;
	}
	gy_socket_entry_remove_file(orders->pending->group->homes, entry);
	entry->file = file;
	return 0;
}

/* Has @fd be another socket; each of the two may be NULL. */
static int replace(struct gy_datagram_orders *orders, const struct gyre_socket_address *local,
		   const struct gyre_socket_address *peer)
{
	static const struct gyre_socket_address none;
	struct gy_datagram_pending *pending = orders->pending;
	struct gy_homes *homes = pending->group->homes;
	const struct gyre_socket_address *any = local != NULL ? local : peer;
	struct gy_datagram_sockets sockets = {
		.options = pending->group->options,
		.log = homes->log,
		.address = local != NULL ? *local : none,
		.peer = peer != NULL ? *peer : none,
		.count = 1,
		.of_actor = true,
	};
	int fd;
	int r;

	if ((any->storage.ss_family == AF_UNIX) != pending->is_unix) {
		return -EAFNOSUPPORT;
	}
	r = gy_datagram_sockets_reopen(&sockets, pending->group->count == 1, &fd);
	if (r < 0) {
		return r;
	}
	r = gy_multicast_repeat(fd, pending->changes); /* there are none of a Unix socket */
	if (r == 0) {
		(void)pthread_mutex_lock(&homes->placing);
		r = take_place(orders, &sockets.address, fd);
		(void)pthread_mutex_unlock(&homes->placing);
	}
	(void)gy_descriptor_close(fd);
	if (r == 0) {
		pending->address = sockets.address;
		orders->peer = sockets.peer;
	}
	return r;
}

static int bind_to(struct gy_datagram_orders *orders, const char *text)
{
	struct gyre_socket_address local;
	int r = parse(text, &local);

	if (r < 0 || gyre_socket_address_equal(&local, &orders->pending->address)) {
		return r;
	}
	r = replace(orders, &local, NULL);
	if (r == 0) {
		orders->pending->named = true;
		orders->connector.local = format(&orders->pending->address, orders->local);
	}
	return r;
}

static int ordered_bind(struct gy_connector *connector, const char *local)
{
	return bind_to(orders_of(connector), local);
}

static int connect_with(struct gy_datagram_orders *orders, const struct gyre_socket_address *peer)
{
	int r;

	if (gyre_socket_address_equal(peer, &orders->peer)) {
		return 0;
	}
	if (!orders->pending->named) {
		return replace(orders, NULL, peer); /* which may need another family's */
	}
	r = gy_socket_connect(orders->fd, (const struct sockaddr *)&peer->storage, peer->bytes);
	if (r == 0) {
		orders->peer = *peer;
	}
	return r;
}

static int ordered_connect(struct gy_connector *connector, const char *to, const char *local)
{
	struct gy_datagram_orders *orders = orders_of(connector);
	struct gyre_socket_address peer;
	int r = parse(to, &peer);

	if (r == 0 && local != NULL) {
		r = bind_to(orders, local);
	}
	return r == 0 ? connect_with(orders, &peer) : r;
}

/* Nobody else could tell why. */
static void failed(struct gy_connector *connector, int reason)
{
	gy_house_request_stop(orders_of(connector)->house, reason);
}

static const struct gy_connector_ops connector_ops = { .bind = ordered_bind,
						       .connect = ordered_connect,
						       .failed = failed };

void gy_datagram_orders_init(struct gy_datagram_orders *orders, struct gy_datagram_pending *pending,
			     struct gy_house *house, int fd)
{
	*orders = (struct gy_datagram_orders){
		.connector = { .ops = &connector_ops },
		.pending = pending,
		.house = house,
		.fd = fd,
		.peer = pending->peer,
	};
	if (pending->named) {
		orders->connector.local = format(&pending->address, orders->local);
	}
	if (pending->peer.bytes > 0) {
		orders->connector.to = format(&pending->peer, orders->to);
	}
}

struct gy_multicast_change **gy_datagram_orders_changes(struct gy_connector *connector)
{
	return &orders_of(connector)->pending->changes;
}
