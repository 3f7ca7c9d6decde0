/*
 * A rig for tests of datagram channels: one channel on the home of the channels' rig, handlers that
 * note what they hear, and clients, which are plain sockets.
 */
#ifndef TEST_UNIT_NET_DATAGRAM_RIG_H
#define TEST_UNIT_NET_DATAGRAM_RIG_H

#include <criterion/criterion.h>

#include "buffer/socket_address.h"
#include "channel/datagram/datagram.h"
#include "channel/rig.h"
#include "net/datagram/datagram.h"

enum { DATAGRAMS_NOTED_MAX = 4096 };

/* What the channel's handler has heard. */
struct datagrams {
	struct gyre_channel *channel;
	uint32_t reads;
	size_t bytes[DATAGRAMS_NOTED_MAX];
	uint32_t numbers[DATAGRAMS_NOTED_MAX]; /* the first four bytes, or 0 */
	struct gyre_socket_address peer;       /* of the last */
	uint32_t exceptions;
	int error; /* of the last */
	uint32_t closed;
	int reason;
	uint32_t unwritable;
	uint32_t writable;
	bool keep; /* keep what comes */
	struct gyre_buffer *kept[DATAGRAMS_NOTED_MAX];
	uint32_t kept_count;
	bool silent; /* and answer nothing */
};

/* The ones of this process. */
extern struct rig datagram_rig;
extern struct datagrams datagrams;

void datagram_begin(void);
/* Instead of the one that was begun already. */
void datagram_begin_with(const struct rig_options *options);
void datagram_end(void);

/* An abstract Unix address of this process; valid until three more are asked for. */
const char *datagram_name(const char *what);
/* Opens what @options say with the noting echo; where it is bound. */
struct gyre_socket_address datagram_open_with(const struct gyre_datagram_options *options,
					      struct gyre_address *ret_actor);
struct gyre_socket_address datagram_open_at(const char *bind);

/* A client's socket that is connected there, not blocking, and bound to @bind if that is given. */
int datagram_client(const struct gyre_socket_address *to, const char *bind);
void datagram_send(int fd, const void *bytes, size_t count);
/* Turns until @fd has a datagram; its length, which may be over @count. */
ssize_t datagram_receive(int fd, void *bytes, size_t count);
/* Turns until the handler has heard of @count reads, closes or exceptions. */
void datagram_until_reads(uint32_t count);
void datagram_until_closed(void);
void datagram_until_exceptions(uint32_t count);

/* A buffer of @count bytes, for nobody yet. */
struct gyre_buffer *datagram_buffer(size_t count);
/* Writes it from behind the last handler. */
int datagram_write(struct gyre_buffer *buffer, const struct gyre_socket_address *to);
const struct gy_channels_counters *datagram_counters(void);

#endif
