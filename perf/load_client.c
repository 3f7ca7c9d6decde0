/*
 * A load generator has to cost less a request than the server it measures. So this one is a closed
 * loop on one ring: multishot receives, and a batch of sends with each io_uring_enter. It spins
 * rather than sleeps, since to wake it would be work for the server. Replies are not copied out of
 * the kernel at all (MSG_TRUNC), unless they are to be verified; requests are all sent from one
 * pattern.
 *
 * The pattern repeats after a prime number of bytes, and a connection's stream is the pattern from
 * a place of its own: so any part of any stream is found at one address, to be sent from or
 * compared with.
 *
 * The time of a request is from the completion that made room for it to the completion of its last
 * byte.
 */
#include "load_client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cpu.h"

enum {
	BLOCK_NS = 10 * 1000 * 1000,
	OP_SEND = 1, /* in the low bit of user_data; 0 is a receive */
};

static const char *pattern_at(const struct load_client *client,
			      const struct load_connection *connection, uint64_t offset)
{
	return client->pattern + (connection->start + offset) % LOAD_PATTERN_BYTES;
}

static struct io_uring_sqe *request(struct load_client *client)
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(&client->ring)) == NULL) {
		client->counts.system_calls++;
		io_uring_submit(&client->ring);
	}
	return sqe;
}

static void arm_receive(struct load_client *client, struct load_connection *connection)
{
	struct io_uring_sqe *sqe = request(client);

	io_uring_prep_recv_multishot(sqe, connection->fd, NULL, 0,
				     client->settings.verify ? 0 : MSG_TRUNC);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	io_uring_sqe_set_data(sqe, connection);
}

static void send_requests(struct load_client *client, struct load_connection *connection)
{
	uint32_t bytes = connection->unsent * client->settings.size_bytes;
	struct io_uring_sqe *sqe = request(client);

	io_uring_prep_send(sqe, connection->fd,
			   pattern_at(client, connection, connection->sent_bytes), bytes,
			   MSG_WAITALL | MSG_NOSIGNAL);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)connection | OP_SEND);
	if (client->settings.depth == 1) {
		/* The reply proves that all was sent. */
		sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	} else {
		connection->sending = true;
	}
	connection->sent_bytes += bytes;
	connection->unsent = 0;
}

static uint32_t under_way(const struct load_client *client,
			  const struct load_connection *connection)
{
	uint32_t size_bytes = client->settings.size_bytes;
	uint64_t bytes = connection->sent_bytes - connection->received_bytes;

	return (uint32_t)((bytes + size_bytes - 1) / size_bytes) + connection->unsent;
}

static void fail(struct load_client *client, struct load_connection *connection)
{
	if (!connection->broken) {
		connection->broken = true;
		client->counts.errors++;
		client->open--;
		client->outstanding -= under_way(client, connection);
		shutdown(connection->fd, SHUT_RDWR);
	}
}

static void add_idle(struct load_client *client, struct load_connection *connection)
{
	connection->next_idle = NULL;
	*client->idle_link = connection;
	client->idle_link = &connection->next_idle;
}

static struct load_connection *take_idle(struct load_client *client)
{
	struct load_connection *connection = client->idle;

	if (connection != NULL) {
		client->idle = connection->next_idle;
		if (client->idle == NULL) {
			client->idle_link = &client->idle;
		}
	}
	return connection;
}

/* Adds @count requests to those under way. */
static void begin(struct load_client *client, struct load_connection *connection, uint32_t count)
{
	connection->unsent += count;
	client->outstanding += count;
	if (!connection->sending) {
		send_requests(client, connection);
	}
}

/* The last byte of the oldest request's reply is here. */
static void end_oldest(struct load_client *client, struct load_connection *connection)
{
	uint64_t *started_ns = &connection->started_ns[connection->oldest];

	histogram_record(&client->latency, client->now_ns - *started_ns);
	*started_ns = client->now_ns; /* of the request that takes its place */
	connection->oldest++;
	if (connection->oldest == client->settings.depth) {
		connection->oldest = 0;
	}
	client->counts.requests++;
	client->outstanding--;
}

static void replied(struct load_client *client, struct load_connection *connection,
		    const char *data, uint32_t bytes)
{
	uint32_t size_bytes = client->settings.size_bytes;
	uint32_t partial = (uint32_t)(connection->received_bytes % size_bytes);
	uint32_t whole = (partial + bytes) / size_bytes;

	if (connection->received_bytes + bytes > connection->sent_bytes ||
	    (client->settings.verify &&
	     memcmp(data, pattern_at(client, connection, connection->received_bytes), bytes) !=
		     0)) {
		fail(client, connection);
		return;
	}
	connection->received_bytes += bytes;
	for (uint32_t i = 0; i < whole; i++) {
		end_oldest(client, connection);
	}
	if (whole > 0 && client->settings.rate > 0) {
		add_idle(client, connection);
	} else if (whole > 0 && !client->draining) {
		begin(client, connection, whole);
	}
}

static void received(struct load_client *client, struct load_connection *connection,
		     const struct io_uring_cqe *cqe)
{
	if (cqe->res > 0) {
		uint16_t buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);

		if (!connection->broken) {
			replied(client, connection,
				client->memory + (size_t)buffer * LOAD_BUFFER_BYTES,
				(uint32_t)cqe->res);
		}
		load_client_give_buffer(client, buffer);
	} else if (cqe->res != -ENOBUFS) {
		fail(client, connection);
	}
	if ((cqe->flags & IORING_CQE_F_MORE) == 0 && !connection->broken) {
		arm_receive(client, connection);
	}
}

static void sent(struct load_client *client, struct load_connection *connection, int result)
{
	connection->sending = false;
	if (connection->broken) {
		return;
	}
	if (result <= 0) {
		fail(client, connection);
	} else if (connection->unsent > 0) {
		send_requests(client, connection);
	}
}

/* When the next request of the rate is to be sent, from which its time counts. */
static uint64_t due_ns(const struct load_client *client)
{
	return client->start_ns + client->begun * UINT64_C(1000000000) / client->settings.rate;
}

/* A request that is due waits for a connection that has none. */
static void begin_due(struct load_client *client)
{
	struct load_connection *connection;

	client->now_ns = perf_now_ns();
	while (client->now_ns >= due_ns(client) && (connection = take_idle(client)) != NULL) {
		if (!connection->broken) {
			connection->started_ns[0] = due_ns(client);
			client->begun++;
			begin(client, connection, 1);
		}
	}
}

static void enter(struct load_client *client)
{
	struct __kernel_timespec timeout = { .tv_nsec = BLOCK_NS };
	struct io_uring_cqe *cqe;

	if (client->settings.block) {
		client->counts.system_calls++;
		io_uring_submit_and_wait_timeout(&client->ring, &cqe, 1, &timeout, NULL);
	} else if (io_uring_sq_ready(&client->ring) > 0 ||
		   (__atomic_load_n(client->ring.sq.kflags, __ATOMIC_RELAXED) &
		    (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0) {
		client->counts.system_calls++;
		io_uring_submit_and_get_events(&client->ring);
	} else {
		perf_relax();
	}
}

void load_client_turn(struct load_client *client)
{
	uint64_t before_ns = client->now_ns;
	struct io_uring_cqe *cqe;
	unsigned int count = 0;
	unsigned int head;

	if (client->settings.rate > 0 && !client->draining) {
		begin_due(client);
	}
	enter(client);
	client->now_ns = perf_now_ns();
	io_uring_for_each_cqe(&client->ring, head, cqe)
	{
		uintptr_t address = (uintptr_t)cqe->user_data & ~(uintptr_t)OP_SEND;
		struct load_connection *connection = (struct load_connection *)address;

		if ((cqe->user_data & OP_SEND) != 0) {
			sent(client, connection, cqe->res);
		} else {
			received(client, connection, cqe);
		}
		count++;
	}
	io_uring_cq_advance(&client->ring, count);
	if (count == 0) {
		client->counts.idle_ns += client->now_ns - before_ns;
	}
}

void load_client_start(struct load_client *client)
{
	uint32_t depth = client->settings.depth;

	client->now_ns = perf_now_ns();
	client->start_ns = client->now_ns;
	client->idle_link = &client->idle;
	for (uint32_t i = 0; i < client->settings.connections; i++) {
		struct load_connection *connection = client->connections[i];

		for (uint32_t j = 0; j < depth; j++) {
			connection->started_ns[j] = client->now_ns;
		}
		arm_receive(client, connection);
		if (client->settings.rate > 0) {
			add_idle(client, connection);
		} else {
			begin(client, connection, depth);
		}
	}
}

void load_client_drain(struct load_client *client, uint64_t timeout_ns)
{
	uint64_t end_ns = client->now_ns + timeout_ns;

	client->draining = true;
	while (client->outstanding > 0 && client->open > 0 && client->now_ns < end_ns) {
		load_client_turn(client);
	}
	client->counts.errors += client->outstanding;
}

void load_client_reset(struct load_client *client)
{
	client->counts = (struct load_counts){ 0 };
	histogram_init(&client->latency);
}
