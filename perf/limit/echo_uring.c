/*
 * A TCP echo server on io_uring, with nothing between it and the ring: one thread, one
 * io_uring_enter an iteration, which submits all that the last batch of completions gave rise to
 * and waits for the next.
 *
 * The ring is set up for one thread that lets the kernel do its part only inside that call
 * (DEFER_TASKRUN), so that completions come in batches and nothing is interrupted. Accepting is one
 * multishot request.
 */
#include "limit/echo_uring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/options.h"

enum {
	SUBMISSIONS = 1024,
	COMPLETIONS = 8192,
	OP_MASK = CONNECTION_ALIGN - 1,
};

static void enter(struct echo_server *server, unsigned int wait)
{
	int r = io_uring_submit_and_wait(&server->ring, wait);

	server->counts.enters++;
	if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY) {
		exit(perf_fail("io_uring_enter", r));
	}
}

void echo_reserve(struct echo_server *server, unsigned int count)
{
	while (io_uring_sq_space_left(&server->ring) < count) {
		enter(server, 0);
	}
}

struct io_uring_sqe *echo_request(struct echo_server *server)
{
	struct io_uring_sqe *sqe;

	while ((sqe = io_uring_get_sqe(&server->ring)) == NULL) {
		enter(server, 0);
	}
	return sqe;
}

static void arm_accept(struct echo_server *server)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_multishot_accept(sqe, server->listener, NULL, NULL, SOCK_CLOEXEC);
	echo_mark(sqe, NULL, ECHO_OP_ACCEPT);
	server->accepting = true;
}

static void arm_signals(struct echo_server *server)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_poll_add(sqe, server->signals, POLLIN);
	echo_mark(sqe, NULL, ECHO_OP_SIGNAL);
}

void echo_finish(struct echo_server *server, struct echo_connection *connection)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_close(sqe, connection->fd);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	echo_mark(sqe, NULL, ECHO_OP_NONE);
	free(connection);
	if (!server->accepting && !server->stop) {
		arm_accept(server);
	}
}

static void accepted(struct echo_server *server, const struct io_uring_cqe *cqe)
{
	size_t bytes = server->mode->connection_bytes;
	struct echo_connection *connection;

	if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
		server->accepting = false;
	}
	if (cqe->res >= 0) {
		connection = aligned_alloc(CONNECTION_ALIGN, (bytes + OP_MASK) & ~(size_t)OP_MASK);
		if (connection == NULL) {
			exit(perf_fail("connection", -ENOMEM));
		}
		memset(connection, 0, bytes);
		connection->fd = cqe->res;
		server->counts.connections++;
		server->mode->start(server, connection);
	}
	/* Without a free descriptor accepting goes on when one is closed. */
	if (!server->accepting && !server->stop && cqe->res != -EMFILE && cqe->res != -ENFILE) {
		arm_accept(server);
	}
}

static void dispatch(struct echo_server *server, const struct io_uring_cqe *cqe)
{
	enum echo_op op = (enum echo_op)(cqe->user_data & OP_MASK);
	uintptr_t address = (uintptr_t)(cqe->user_data & ~(uint64_t)OP_MASK);

	switch (op) {
	case ECHO_OP_RECEIVE:
	case ECHO_OP_SEND:
	case ECHO_OP_CANCEL:
		server->mode->complete(server, (struct echo_connection *)address, op, cqe);
		break;
	case ECHO_OP_ACCEPT:
		accepted(server, cqe);
		break;
	case ECHO_OP_SIGNAL:
		server->stop = true;
		break;
	case ECHO_OP_NONE:
		break;
	}
}

static void turn(struct echo_server *server)
{
	struct io_uring_cqe *cqe;
	unsigned int head;
	unsigned int count = 0;

	enter(server, 1);
	io_uring_for_each_cqe(&server->ring, head, cqe)
	{
		dispatch(server, cqe);
		count++;
	}
	io_uring_cq_advance(&server->ring, count);
	if (server->mode->batch_end != NULL) {
		server->mode->batch_end(server);
	}
}

static void run(struct echo_server *server)
{
	arm_signals(server);
	arm_accept(server);
	while (!server->stop) {
		turn(server);
	}
}

/*
 * Ends the accept request and closes the listener. Left to itself the kernel would do so some time
 * after the process has gone, and the next server would find the port in use.
 */
static void stop_listening(struct echo_server *server)
{
	struct io_uring_sqe *sqe = echo_request(server);

	io_uring_prep_cancel64(sqe, ECHO_OP_ACCEPT, 0);
	echo_mark(sqe, NULL, ECHO_OP_NONE);
	while (server->accepting) {
		turn(server);
	}
	close(server->listener);
}

static int setup(struct echo_server *server)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE |
			 IORING_SETUP_CLAMP,
		.cq_entries = COMPLETIONS,
	};
	int r = io_uring_queue_init_params(SUBMISSIONS, &server->ring, &params);

	if (r < 0) {
		return r;
	}
	r = io_uring_register_ring_fd(&server->ring);
	if (r < 0) {
		return r;
	}
	r = server->mode->setup(server);
	if (r == -EINVAL && server->mode == &echo_mode_incremental) {
		server->mode = &echo_mode_multishot; /* before 6.12 */
		r = server->mode->setup(server);
	}
	return r;
}

static const struct echo_mode *find_mode(const char *name)
{
	const struct echo_mode *modes[] = { &echo_mode_single, &echo_mode_multishot,
					    &echo_mode_incremental };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i]->name, name) == 0) {
			return modes[i];
		}
	}
	abort();
}

int main(int argc, char **argv)
{
	static struct echo_server server;
	struct echo_options options = {
		.host = "127.0.0.1", .port = 7000, .cpu = -1, .mode = "incremental"
	};
	int r;

	echo_options_parse(&options, argc, argv, "A TCP echo server on io_uring.",
			   "single|multishot|incremental");
	server.mode = find_mode(options.mode);
	server.signals = echo_signals();
	if (server.signals < 0) {
		return perf_fail("signals", server.signals);
	}
	server.listener = echo_listen(&options, 0);
	if (server.listener < 0) {
		return perf_fail("cannot listen", server.listener);
	}
	r = setup(&server);
	if (r < 0) {
		return perf_fail("io_uring", r);
	}
	run(&server);
	stop_listening(&server);
	options.mode = server.mode->name;
	server.counts.system_calls = server.counts.enters;
	echo_print("limit/echo_uring", &options, &server.counts);
	return 0;
}
