/*
 * Multishot receive from buffers that all connections share, whole ones or bit by bit.
 *
 * Each connection has one receive armed for good. What a completion brings is a slice of a buffer;
 * it waits in the connection's queue until it is sent, one gathered send at a time, so that order
 * is kept whatever the socket takes. All that a batch of completions changed on a connection is
 * looked at once, when the batch is over.
 *
 * When there is no buffer a receive ends with ENOBUFS; the connection is parked until there are
 * some again. A connection that owes its peer more than SLICES_HIGH slices is no longer received
 * from until all are sent.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "limit/echo_pool.h"
#include "limit/echo_uring.h"

enum {
	GATHER_MAX = 16,   /* slices a send */
	SLICES_HIGH = 256, /* of one connection */
};

struct buffer_connection {
	struct echo_connection base;
	struct echo_slice *first;
	struct echo_slice *last;
	struct buffer_connection *dirty_next;
	struct buffer_connection *parked_next;
	uint32_t slices;
	bool receiving; /* the receive is armed */
	bool cancelled; /* and was told to end */
	bool sending;
	bool ended; /* the peer sends no more */
	bool failed;
	bool dirty;
	bool parked;
	struct msghdr message;
	struct iovec vector[GATHER_MAX];
};

static struct {
	struct echo_pool pool;
	struct buffer_connection *dirty; /* to be looked at when the batch is over */
	struct buffer_connection *parked;
} shared;

static struct buffer_connection *buffer_connection_of(struct echo_connection *connection)
{
	return (void *)connection;
}

static int setup_multishot(struct echo_server *server)
{
	return echo_pool_init(&shared.pool, &server->ring, false);
}

static int setup_incremental(struct echo_server *server)
{
	return echo_pool_init(&shared.pool, &server->ring, true);
}

static void touch(struct buffer_connection *connection)
{
	if (!connection->dirty) {
		connection->dirty = true;
		connection->dirty_next = shared.dirty;
		shared.dirty = connection;
	}
}

static void arm_receive(struct echo_server *server, struct buffer_connection *connection)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_recv_multishot(sqe, connection->base.fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = ECHO_POOL_GROUP;
	echo_mark(sqe, &connection->base, ECHO_OP_RECEIVE);
	connection->receiving = true;
	connection->cancelled = false;
}

static void cancel_receive(struct echo_server *server, struct buffer_connection *connection)
{
	struct io_uring_sqe *sqe;

	if (connection->receiving && !connection->cancelled) {
		sqe = echo_request(server);
		io_uring_prep_cancel64(sqe, (uint64_t)(uintptr_t)connection | ECHO_OP_RECEIVE, 0);
		echo_mark(sqe, NULL, ECHO_OP_NONE);
		connection->cancelled = true;
	}
}

static void park(struct buffer_connection *connection)
{
	connection->parked = true;
	connection->parked_next = shared.parked;
	shared.parked = connection;
}

static void unpark_all(void)
{
	struct buffer_connection *connection = shared.parked;

	shared.parked = NULL;
	while (connection != NULL) {
		struct buffer_connection *next = connection->parked_next;

		connection->parked = false;
		touch(connection);
		connection = next;
	}
}

static void queue_slice(struct buffer_connection *connection, struct echo_slice *slice)
{
	if (connection->first == NULL) {
		connection->first = slice;
	} else {
		connection->last->next = slice;
	}
	connection->last = slice;
	connection->slices++;
}

static void received(struct echo_server *server, struct buffer_connection *connection,
		     const struct io_uring_cqe *cqe)
{
	if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
		connection->receiving = false;
	}
	if (cqe->res > 0) {
		server->counts.requests++;
		server->counts.bytes += (uint64_t)cqe->res;
		queue_slice(connection,
			    echo_pool_get(
				    &shared.pool, (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT),
				    (uint32_t)cqe->res, (cqe->flags & IORING_CQE_F_BUF_MORE) != 0));
	} else if (cqe->res == -ENOBUFS) {
		echo_pool_was_empty(&shared.pool);
		park(connection);
	} else if (cqe->res == 0) {
		connection->ended = true;
	} else if (cqe->res != -ECANCELED && cqe->res != -EINTR && cqe->res != -EAGAIN) {
		connection->failed = true;
	}
	touch(connection);
}

static void drop_first_slice(struct buffer_connection *connection)
{
	struct echo_slice *slice = connection->first;

	connection->first = slice->next;
	connection->slices--;
	echo_pool_put(&shared.pool, slice);
}

static void sent(struct buffer_connection *connection, int result)
{
	connection->sending = false;
	if (result < 0 && result != -EINTR && result != -EAGAIN) {
		connection->failed = true;
	}
	while (result > 0) {
		struct echo_slice *slice = connection->first;

		if ((uint32_t)result < slice->bytes) {
			slice->data += result;
			slice->bytes -= (uint32_t)result;
			break;
		}
		result -= (int)slice->bytes;
		drop_first_slice(connection);
	}
	touch(connection);
}

static void complete(struct echo_server *server, struct echo_connection *base, enum echo_op op,
		     const struct io_uring_cqe *cqe)
{
	struct buffer_connection *connection = buffer_connection_of(base);

	if (op == ECHO_OP_RECEIVE) {
		received(server, connection, cqe);
	} else {
		sent(connection, cqe->res);
	}
}

static void send_slices(struct echo_server *server, struct buffer_connection *connection)
{
	struct io_uring_sqe *sqe = echo_request(server);
	int flags = MSG_WAITALL | MSG_NOSIGNAL;
	struct echo_slice *slice = connection->first;
	size_t count = 0;

	if (slice->next == NULL) {
		io_uring_prep_send(sqe, connection->base.fd, slice->data, slice->bytes, flags);
	} else {
		for (; slice != NULL && count < GATHER_MAX; slice = slice->next) {
			connection->vector[count].iov_base = slice->data;
			connection->vector[count++].iov_len = slice->bytes;
		}
		connection->message.msg_iov = connection->vector;
		connection->message.msg_iovlen = count;
		io_uring_prep_sendmsg(sqe, connection->base.fd, &connection->message,
				      (unsigned int)flags);
	}
	echo_mark(sqe, &connection->base, ECHO_OP_SEND);
	connection->sending = true;
}

/* Asks for whatever the state of @connection now calls for. */
static void settle(struct echo_server *server, struct buffer_connection *connection)
{
	bool over;

	if (connection->failed) {
		while (!connection->sending && connection->first != NULL) {
			drop_first_slice(connection);
		}
		cancel_receive(server, connection);
	} else if (connection->first != NULL && !connection->sending) {
		send_slices(server, connection);
	}
	over = connection->failed || connection->ended;
	if (connection->slices > SLICES_HIGH) {
		cancel_receive(server, connection);
	} else if (!over && !connection->receiving && !connection->parked &&
		   connection->first == NULL) {
		arm_receive(server, connection);
	}
	if (over && connection->first == NULL && !connection->sending && !connection->receiving &&
	    !connection->parked) {
		echo_finish(server, &connection->base);
	}
}

static void settle_all(struct echo_server *server)
{
	while (shared.dirty != NULL) {
		struct buffer_connection *connection = shared.dirty;

		shared.dirty = connection->dirty_next;
		connection->dirty = false;
		settle(server, connection);
	}
}

static void batch_end(struct echo_server *server)
{
	settle_all(server);
	if (shared.parked != NULL && shared.pool.free > 0) {
		unpark_all();
		settle_all(server);
	}
	echo_pool_show(&shared.pool);
}

static void start(struct echo_server *server, struct echo_connection *connection)
{
	arm_receive(server, buffer_connection_of(connection));
}

const struct echo_mode echo_mode_multishot = {
	.name = "multishot",
	.connection_bytes = sizeof(struct buffer_connection),
	.setup = setup_multishot,
	.start = start,
	.complete = complete,
	.batch_end = batch_end,
};

const struct echo_mode echo_mode_incremental = {
	.name = "incremental",
	.connection_bytes = sizeof(struct buffer_connection),
	.setup = setup_incremental,
	.start = start,
	.complete = complete,
	.batch_end = batch_end,
};
