/*
 * The io_uring echo server: what its frame and its ways of receiving share.
 *
 * The frame owns the ring, accepts, and closes. A way of receiving owns what happens on a
 * connection in between. Each request to the ring carries the address of its connection and, in the
 * low bits, what it was for; a connection is freed when none of its requests is under way.
 */
#ifndef PERF_LIMIT_ECHO_URING_H
#define PERF_LIMIT_ECHO_URING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/uring.h"
#include "limit/echo.h"

enum {
	CONNECTION_ALIGN = 64, /* what the low bits of an address can hold */
};

enum echo_op {
	ECHO_OP_NONE, /* nobody waits for it */
	ECHO_OP_ACCEPT,
	ECHO_OP_SIGNAL,
	ECHO_OP_RECEIVE,
	ECHO_OP_SEND,
	ECHO_OP_CANCEL,
};

struct echo_connection {
	int fd;
};

struct echo_server;

/* A way of receiving. A connection of it takes @connection_bytes, zeroed, and begins as
 * echo_connection. */
struct echo_mode {
	const char *name;
	size_t connection_bytes;
	int (*setup)(struct echo_server *server);
	void (*start)(struct echo_server *server, struct echo_connection *connection);
	void (*complete)(struct echo_server *server, struct echo_connection *connection,
			 enum echo_op op, const struct io_uring_cqe *cqe);
	void (*batch_end)(struct echo_server *server); /* NULL: nothing to do */
};

struct echo_server {
	struct io_uring ring;
	const struct echo_mode *mode;
	struct echo_counts counts;
	int listener;
	int signals;
	bool accepting;
	bool stop;
};

extern const struct echo_mode echo_mode_single;
extern const struct echo_mode echo_mode_multishot;
extern const struct echo_mode echo_mode_incremental;

/* Makes room for @count requests that are to be submitted together. */
void echo_reserve(struct echo_server *server, unsigned int count);

/* The next request; there is always one. */
struct io_uring_sqe *echo_request(struct echo_server *server);

/* Marks @sqe as @op of @connection, which may be NULL. To be called after io_uring_prep_*(). */
static inline void echo_mark(struct io_uring_sqe *sqe, struct echo_connection *connection,
			     enum echo_op op)
{
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)connection | op);
}

/* Closes and frees a connection that has no request under way. */
void echo_finish(struct echo_server *server, struct echo_connection *connection);

#endif
