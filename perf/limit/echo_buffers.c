/*
 * Multishot receive from buffers that all connections share, whole ones or bit by bit.
 *
 * Each connection has one receive armed for good. A completion names a buffer of the ring: what was
 * received there is a slice, which waits in the connection's queue until it is sent, one gathered
 * send at a time, so that order is kept whatever the socket takes. A buffer goes back to the ring
 * when the kernel will put no more into it and its last slice is sent. Whole buffers are one slice
 * each; an incremental ring (6.12) goes on filling a large buffer where it left off.
 *
 * Few buffers circulate, so that they stay in the cache: a ring gives out its buffers in turn,
 * never the one that was used last. When it is empty a receive ends with ENOBUFS; the connection is
 * parked until there are buffers again, and twice as many circulate from then on. A connection that
 * owes its peer more than SLICES_HIGH slices is no longer received from until all are sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "limit/echo_uring.h"

enum {
	GROUP = 0,
	GATHER_MAX = 16,   /* slices a send */
	SLICES_HIGH = 256, /* of one connection */
	WHOLE_COUNT = 8192,
	WHOLE_COUNT_FIRST = 256,
	WHOLE_BYTES = 4096,
	INCREMENTAL_COUNT = 1024,
	INCREMENTAL_COUNT_FIRST = 32,
	INCREMENTAL_BYTES = 64 * 1024,
};

struct slice {
	struct slice *next;
	char *data;
	uint32_t bytes;
	uint16_t buffer;
};

struct buffer_connection {
	struct echo_connection base;
	struct slice *first;
	struct slice *last;
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

struct buffer_state {
	uint32_t filled; /* bytes the kernel has put into it */
	uint32_t slices; /* not sent yet */
};

static struct {
	struct io_uring_buf_ring *ring;
	struct buffer_state *states;
	char *memory;
	uint32_t count;
	uint32_t bytes;	      /* of each */
	uint32_t circulating; /* those with lower numbers are in use */
	uint32_t free;	      /* buffers the kernel has, or has a part of */
	uint32_t returned;    /* of them, not shown to it yet */
	struct slice *spare;
	struct buffer_connection *dirty;
	struct buffer_connection *parked;
} pool;

static struct buffer_connection *buffer_connection_of(struct echo_connection *connection)
{
	return (void *)connection;
}

static void give_buffer(uint16_t buffer)
{
	pool.states[buffer] = (struct buffer_state){ 0 };
	io_uring_buf_ring_add(pool.ring, pool.memory + (size_t)buffer * pool.bytes, pool.bytes,
			      buffer, io_uring_buf_ring_mask(pool.count), (int)pool.returned++);
	pool.free++;
}

static void circulate(uint32_t count)
{
	for (; pool.circulating < count && pool.circulating < pool.count; pool.circulating++) {
		give_buffer((uint16_t)pool.circulating);
	}
}

static void show_buffers(void)
{
	if (pool.returned > 0) {
		io_uring_buf_ring_advance(pool.ring, (int)pool.returned);
		pool.returned = 0;
	}
}

static void *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		return NULL;
	}
	madvise(memory, bytes, MADV_HUGEPAGE); /* spares some TLB misses, if it can be had */
	return memory;
}

static int setup(struct echo_server *server, uint32_t count, uint32_t count_first, uint32_t bytes,
		 uint16_t flags)
{
	struct io_uring_buf_reg registration = {
		.ring_entries = count, .bgid = GROUP, .pad = flags, /* its name in liburing 2.3 */
	};
	int r;

	pool.count = count;
	pool.bytes = bytes;
	pool.ring = map(count * sizeof(struct io_uring_buf));
	pool.states = calloc(count, sizeof(pool.states[0]));
	pool.memory = map((size_t)count * bytes);
	if (pool.ring == NULL || pool.states == NULL || pool.memory == NULL) {
		return -ENOMEM;
	}
	registration.ring_addr = (uint64_t)(uintptr_t)pool.ring;
	r = io_uring_register_buf_ring(&server->ring, &registration, 0);
	if (r < 0) {
		return r;
	}
	io_uring_buf_ring_init(pool.ring);
	circulate(count_first);
	show_buffers();
	return 0;
}

static int setup_multishot(struct echo_server *server)
{
	return setup(server, WHOLE_COUNT, WHOLE_COUNT_FIRST, WHOLE_BYTES, 0);
}

static int setup_incremental(struct echo_server *server)
{
	return setup(server, INCREMENTAL_COUNT, INCREMENTAL_COUNT_FIRST, INCREMENTAL_BYTES,
		     IOU_PBUF_RING_INC);
}

static struct slice *get_slice(void)
{
	struct slice *slice = pool.spare;

	if (slice == NULL) {
		slice = malloc(sizeof(*slice));
		if (slice == NULL) {
			abort();
		}
		return slice;
	}
	pool.spare = slice->next;
	return slice;
}

static void put_slice(struct slice *slice)
{
	struct buffer_state *state = &pool.states[slice->buffer];

	if (--state->slices == 0 && state->filled == pool.bytes) {
		give_buffer(slice->buffer);
	}
	slice->next = pool.spare;
	pool.spare = slice;
}

static void touch(struct buffer_connection *connection)
{
	if (!connection->dirty) {
		connection->dirty = true;
		connection->dirty_next = pool.dirty;
		pool.dirty = connection;
	}
}

static void arm_receive(struct echo_server *server, struct buffer_connection *connection)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_recv_multishot(sqe, connection->base.fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
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
	connection->parked_next = pool.parked;
	pool.parked = connection;
}

static void unpark_all(void)
{
	struct buffer_connection *connection = pool.parked;

	pool.parked = NULL;
	while (connection != NULL) {
		struct buffer_connection *next = connection->parked_next;

		connection->parked = false;
		touch(connection);
		connection = next;
	}
}

static void queue_slice(struct buffer_connection *connection, uint16_t buffer, uint32_t bytes,
			bool more)
{
	struct buffer_state *state = &pool.states[buffer];
	char *data = pool.memory + (size_t)buffer * pool.bytes + state->filled;
	struct slice *slice = get_slice();

	*slice = (struct slice){ .data = data, .bytes = bytes, .buffer = buffer };
	state->slices++;
	state->filled = more ? state->filled + bytes : pool.bytes;
	if (!more) {
		pool.free--;
	}
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
		queue_slice(connection, (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT),
			    (uint32_t)cqe->res, (cqe->flags & IORING_CQE_F_BUF_MORE) != 0);
	} else if (cqe->res == -ENOBUFS) {
		if (pool.free == 0) {
			circulate(2 * pool.circulating);
		}
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
	struct slice *slice = connection->first;

	connection->first = slice->next;
	connection->slices--;
	put_slice(slice);
}

static void sent(struct buffer_connection *connection, int result)
{
	connection->sending = false;
	if (result < 0 && result != -EINTR && result != -EAGAIN) {
		connection->failed = true;
	}
	while (result > 0) {
		struct slice *slice = connection->first;

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
	struct slice *slice = connection->first;
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
	while (pool.dirty != NULL) {
		struct buffer_connection *connection = pool.dirty;

		pool.dirty = connection->dirty_next;
		connection->dirty = false;
		settle(server, connection);
	}
}

static void batch_end(struct echo_server *server)
{
	settle_all(server);
	if (pool.parked != NULL && pool.free > 0) {
		unpark_all();
		settle_all(server);
	}
	show_buffers();
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
