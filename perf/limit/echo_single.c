/*
 * Single-shot receive into a buffer of the connection's own.
 *
 * A request is two submissions and one completion: the send of what was received, and linked to it
 * the next receive into the same buffer, which the kernel starts when all has been sent. The send
 * reports nothing unless it fails; then the receive is cancelled silently. So there is always
 * exactly one completion to come, and a peer who does not read is not read from.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "limit/echo_uring.h"

enum { BUFFER_BYTES = 64 * 1024 };

struct single_connection {
	struct echo_connection base;
	_Alignas(CONNECTION_ALIGN) char buffer[BUFFER_BYTES];
};

static struct single_connection *single_of(struct echo_connection *connection)
{
	return (void *)connection;
}

static int setup(struct echo_server *server)
{
	(void)server;
	return 0;
}

static void receive(struct echo_server *server, struct echo_connection *connection)
{
	struct single_connection *single = single_of(connection);
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_recv(sqe, connection->fd, single->buffer, sizeof(single->buffer), 0);
	sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	echo_mark(sqe, connection, ECHO_OP_RECEIVE);
}

static void complete(struct echo_server *server, struct echo_connection *connection,
		     enum echo_op op, const struct io_uring_cqe *cqe)
{
	struct single_connection *single = single_of(connection);
	struct io_uring_sqe *sqe;

	if (op == ECHO_OP_RECEIVE && (cqe->res == -EINTR || cqe->res == -EAGAIN)) {
		receive(server, connection);
		return;
	}
	if (op != ECHO_OP_RECEIVE || cqe->res <= 0) {
		echo_finish(server, connection);
		return;
	}
	server->counts.requests++;
	server->counts.bytes += (uint64_t)cqe->res;
	echo_reserve(server, 2);
	sqe = echo_request(server);
	io_uring_prep_send(sqe, connection->fd, single->buffer, (size_t)cqe->res,
			   MSG_WAITALL | MSG_NOSIGNAL);
	sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	echo_mark(sqe, connection, ECHO_OP_SEND);
	receive(server, connection);
}

const struct echo_mode echo_mode_single = {
	.name = "single",
	.connection_bytes = sizeof(struct single_connection),
	.setup = setup,
	.start = receive,
	.complete = complete,
};
