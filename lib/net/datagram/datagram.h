/*
 * What the files about datagrams of this floor share: the sockets, and the actor that owns the
 * channel of one.
 */
#ifndef GY_NET_DATAGRAM_DATAGRAM_H
#define GY_NET_DATAGRAM_DATAGRAM_H

#include <gyre/datagram.h>

#include "channel/connector.h"
#include "net/socket_option.h"
#include "net/socket_registry.h"

/* The sockets of one call: as they are to be, and as they were opened. */
struct gy_datagram_sockets {
	const struct gyre_datagram_options *options;
	const struct gy_log *log;
	struct gyre_socket_address address; /* bound to; of 0 bytes before, for any */
	struct gyre_socket_address peer;    /* of 0 bytes when it is not connected */
	uint32_t count;
	uint64_t bound_until_ns; /* see gy_bind_pause() */
	bool batched;		 /* the kernel can cut what is sent (GSO) */
	bool named;		 /* there is an address that they are to be bound to, be it any */
	bool inherited;		 /* somebody else has opened them */
	bool of_actor; /* opened by one: nothing may block, and the caller tells of failures */
};

/* Finds out what the options' addresses are, and how many sockets there are to be of @loops. */
int gy_datagram_sockets_plan(struct gy_datagram_sockets *sockets, uint32_t loops);
/* Opens them; on failure none is left, and one line goes to the log. */
int gy_datagram_sockets_open(struct gy_datagram_sockets *sockets, int *ret_fds);
/*
 * Instead of that: @count of them are there already. Opens more beside those, up to @wanted; what
 * there can be is in sockets->count, which is never less than @count.
 */
void gy_datagram_sockets_adopt(struct gy_datagram_sockets *sockets, uint32_t count, uint32_t wanted,
			       int *fds);
/* Sets the options that can be set of an open socket of @family: 0, or a negative errno. */
int gy_datagram_socket_adopt(int fd, int family, const struct gyre_datagram_options *options,
			     enum gy_socket_origin origin);

/* One more, like one of @options; not @alone it shares its address with others that are the same.
 */
int gy_datagram_sockets_reopen(struct gy_datagram_sockets *sockets, bool alone, int *ret_fd);

/* ---- datagram_check.c: 0, or -EINVAL, and then one line goes to the log ---- */

/* @wrong says what; @log may be NULL, as below. */
int gy_datagram_refuse(const char *wrong, const struct gy_log *log);
/* Checks the options that need no address. */
int gy_datagram_check(const struct gyre_datagram_options *options, const struct gy_log *log);
/* When gy_datagram_sockets_plan() has found the addresses. */
int gy_datagram_check_addresses(const struct gy_datagram_sockets *sockets);

/* ---- datagram_options.c ---- */

/* What they say of sockets, kept behind the call; NULL without memory. To be given back as memory.
 */
struct gyre_datagram_options *gy_datagram_options_copy(const struct gyre_datagram_options *options);

/* ---- multicast.c ---- */

/* AF_INET or AF_INET6; -EINVAL when it is no group. */
int gy_multicast_family(const struct gyre_multicast *multicast);

/* Joins groups and sets how datagrams leave to such, as the options say. */
int gy_multicast_prepare(int fd, int family, const struct gyre_datagram_options *options,
			 enum gy_socket_origin origin);

struct gy_multicast_change;

/* Does what was noted of one socket to another that was opened like it: 0, or what the kernel
 * refuses the first of that with. */
int gy_multicast_repeat(int fd, const struct gy_multicast_change *changes);
void gy_multicast_forget(struct gy_multicast_change *changes);

/* ---- datagram_actor.c ---- */

struct gy_datagram_stand {
	struct gyre_address actor; /* of the socket, wherever that is; nobody for none */
	struct gy_socket_order stop;
	struct gy_datagram_group *group; /* a reference while that is on its way */
};

/* What the sockets of one call share. All fields but @references under homes->placing. */
struct gy_datagram_group {
	struct gy_socket_entry entry;
	uint32_t references; /* atomic */
	struct gy_homes *homes;
	struct gyre_datagram_options *options;
	uint32_t count;
	struct gy_datagram_stand stands[]; /* one for each socket */
};

/* A socket on its way to its actor, from the heap; the actor keeps it. */
struct gy_datagram_pending {
	struct gy_fd_transit transit;
	struct gy_channels *channels; /* of the loop that it goes to */
	gyre_init_channel_fn init_channel;
	void *init_arg;
	const struct gyre_class *actor_class; /* NULL for none */
	enum gyre_channel_bond bond;
	struct gyre_channel_options channel;
	gyre_datagram_fn report; /* NULL for nobody */
	void *report_arg;
	bool connected;
	bool is_unix;
	bool batched;
	bool orders; /* the handlers of its channel are to have some */
	bool named;  /* that to bind among them */
	struct gyre_socket_address address;
	struct gyre_socket_address peer;     /* of 0 bytes for none */
	struct gy_datagram_group *group;     /* a reference */
	uint32_t number;		     /* of the socket */
	struct gy_multicast_change *changes; /* what the handlers joined and left; NULL for none */
};

/* The argument of its mount. */
struct gy_datagram_argument {
	struct gy_datagram_pending *pending;
};
void gy_datagram_argument_destroy(struct gy_datagram_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_datagram_argument, 0x30, gy_datagram_argument_destroy);

extern const struct gyre_class gy_datagram_class;

/* Another process has the socket of that actor: its channel closes when it has done what it has
 * read. On its loop. */
void gy_datagram_leave(struct gy_house *house);

/* The actor of a socket is to stop, if there is one. With the mutex. */
void gy_datagram_stop(struct gy_datagram_group *group, uint32_t number);
/* Gives back a reference. Without the mutex, unless another one is known to be left. */
void gy_datagram_group_unref(struct gy_datagram_group *group);
/* Frees a socket's record whose mail was lost; see struct gy_fd_transit. */
void gy_datagram_pending_discard(struct gy_channels *channels, struct gy_fd_transit *transit);
/* Counts the socket as being on its way to @channels. */
void gy_datagram_pending_begin(struct gy_datagram_pending *pending, struct gy_channels *channels);
/* Takes that back where the actor could not be spawned, with its argument if there is one. */
void gy_datagram_pending_abort(struct gy_datagram_pending *pending, struct gyre_stack *stack,
			       struct gyre_mail *mail);
/*
 * Spawns the actor of a socket, with the mutex held that guards the number of loops. Takes @pending
 * with its descriptor, whatever is returned.
 */
int gy_datagram_place(struct gy_datagram_pending *pending, uint32_t loop);

/* ---- datagram_orders.c ---- */

/* A part of the actor's state. */
struct gy_datagram_orders {
	struct gy_connector connector;
	struct gy_datagram_pending *pending;
	struct gy_house *house;
	int fd;
	struct gyre_socket_address peer; /* that @fd is connected with */
	char local[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	char to[GYRE_SOCKET_ADDRESS_TEXT_MAX];
};

/* The operations of a channel on @fd. */
void gy_datagram_orders_init(struct gy_datagram_orders *orders, struct gy_datagram_pending *pending,
			     struct gy_house *house, int fd);
/* The list of groups that their channel has joined and left. */
struct gy_multicast_change **gy_datagram_orders_changes(struct gy_connector *connector);

#endif
