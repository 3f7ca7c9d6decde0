/*
 * The attempts of a race. Each has a descriptor, a connect and at last a close; it is over for the
 * race when its connect has ended or the race is decided, and over for the kernel when it is
 * closed.
 */
#include "net/connect/happy_eyeballs.h"

#include <errno.h>
#include <netinet/in.h>

#include "net/socket_option.h"
#include "net/stream.h"
#include "ring/socket.h"

static const uint64_t head_start_ns = GYRE_MILLISECONDS(250);

static void connected(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_attempt *attempt = gy_container_of(op, struct gy_attempt, connect);

	gy_assert(attempt->fd >= 0);
	attempt->result = completion->result;
	gy_endpoint_ready(attempt->happy_eyeballs->endpoint);
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_attempt *attempt = gy_container_of(op, struct gy_attempt, close);

	gy_assert(attempt->fd >= 0 && !attempt->running && !attempt->connect.armed);
	(void)completion; /* whatever it says, the descriptor is gone */
	attempt->fd = -1;
	gy_endpoint_ready(attempt->happy_eyeballs->endpoint);
}

static void next_is_due(struct gy_timer *timer)
{
	struct gy_happy_eyeballs *happy_eyeballs =
		gy_container_of(timer, struct gy_happy_eyeballs, timer);

	happy_eyeballs->due = true;
	gy_endpoint_ready(happy_eyeballs->endpoint);
}

void gy_happy_eyeballs_init(struct gy_happy_eyeballs *happy_eyeballs, struct gy_endpoint *endpoint,
			    struct gy_channels *channels,
			    const struct gy_happy_eyeballs_options *options)
{
	*happy_eyeballs = (struct gy_happy_eyeballs){ .endpoint = endpoint,
						      .channels = channels,
						      .options = options };
	gy_timer_init(&happy_eyeballs->timer, next_is_due);
	for (size_t i = 0; i < GY_HAPPY_EYEBALLS_MAX; i++) {
		happy_eyeballs->attempts[i].fd = -1;
		happy_eyeballs->attempts[i].happy_eyeballs = happy_eyeballs;
		gy_op_init(&happy_eyeballs->attempts[i].connect, connected);
		gy_op_init(&happy_eyeballs->attempts[i].close, closed);
	}
}

static int bind_there(struct gy_happy_eyeballs *happy_eyeballs, int fd)
{
	const struct gyre_socket_address *local = &happy_eyeballs->options->local;
	int r = gy_socket_bind(fd, (const struct sockaddr *)&local->storage, local->bytes);

	if (r == 0) {
		gy_socket_file_set(&happy_eyeballs->file, local);
	}
	return r;
}

/* Makes the socket as it is to be. */
static int prepare(struct gy_happy_eyeballs *happy_eyeballs, int fd, int family)
{
	const struct gy_happy_eyeballs_options *options = happy_eyeballs->options;
	int r = family == AF_UNIX ? gy_stream_size(fd, options->channel)
				  : gy_stream_prepare(fd, options->channel);
	if (r < 0 || options->local.bytes == 0) {
		return r;
	}
	if (options->local.storage.ss_family != family) {
		return -EAFNOSUPPORT;
	}
	if (family != AF_UNIX && gyre_socket_address_port(&options->local) == 0) {
		r = gy_socket_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	}
	return r < 0 ? r : bind_there(happy_eyeballs, fd);
}

static int begin(struct gy_happy_eyeballs *happy_eyeballs, struct gy_attempt *attempt)
{
	const struct gyre_socket_address *to = &attempt->address;
	int fd = gy_socket_open(to->storage.ss_family, SOCK_STREAM, 0);
	int r = fd < 0 ? fd : prepare(happy_eyeballs, fd, to->storage.ss_family);

	gy_assert(attempt->fd < 0 && !attempt->running);
	gy_assert(!attempt->connect.armed && !attempt->close.armed);
	if (r == 0) {
		r = gy_ring_connect(happy_eyeballs->channels->pools.ring, &attempt->connect, fd,
				    (const struct sockaddr *)&to->storage, to->bytes);
	}
	if (r < 0) {
		gy_socket_file_remove(&happy_eyeballs->file); /* or the next one could not bind */
		gy_channels_close(happy_eyeballs->channels, fd);
		return r;
	}
	attempt->fd = fd;
	attempt->result = -EINPROGRESS;
	attempt->running = true;
	attempt->cancelled = false;
	happy_eyeballs->running++;
	return 0;
}

/* An error that only says that there is no route explains less than an answer from the address. */
static bool is_no_way(int error)
{
	return error == 0 || error == -ENETUNREACH || error == -EHOSTUNREACH ||
	       error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

static void failed(struct gy_happy_eyeballs *happy_eyeballs, const struct gy_attempt *attempt,
		   int error)
{
	if (is_no_way(happy_eyeballs->error) || !is_no_way(error)) {
		happy_eyeballs->error = error;
	}
	happy_eyeballs->options->failed(happy_eyeballs, &attempt->address, error);
}

/* Begins with the next address for which that is possible. */
static void begin_next(struct gy_happy_eyeballs *happy_eyeballs)
{
	happy_eyeballs->due = false;
	gy_timer_stop(&happy_eyeballs->channels->home->loop.wheel, &happy_eyeballs->timer);
	while (happy_eyeballs->next < happy_eyeballs->count) {
		struct gy_attempt *attempt = &happy_eyeballs->attempts[happy_eyeballs->next];
		int r;

		attempt->address = happy_eyeballs->addresses[happy_eyeballs->next++];
		r = begin(happy_eyeballs, attempt);
		if (r == 0) {
			break;
		}
		if (r == -EAGAIN) {
			/* The ring has no room. */
			happy_eyeballs->next--;
			happy_eyeballs->due = true;
			gy_endpoint_ready(happy_eyeballs->endpoint);
			return;
		}
		failed(happy_eyeballs, attempt, r);
	}
	if (happy_eyeballs->next < happy_eyeballs->count) {
		gy_timer_start(&happy_eyeballs->channels->home->loop.wheel, &happy_eyeballs->timer,
			       head_start_ns);
	}
}

void gy_happy_eyeballs_start(struct gy_happy_eyeballs *happy_eyeballs,
			     const struct gyre_socket_address *addresses, uint32_t count)
{
	gy_assert(count > 0);
	gy_assert(happy_eyeballs->running == 0 && happy_eyeballs->next == happy_eyeballs->count);
	happy_eyeballs->addresses = addresses;
	happy_eyeballs->count = count < GY_HAPPY_EYEBALLS_MAX ? count : GY_HAPPY_EYEBALLS_MAX;
	happy_eyeballs->next = 0;
	happy_eyeballs->running = 0;
	happy_eyeballs->error = 0;
	begin_next(happy_eyeballs);
}

void gy_happy_eyeballs_forget(struct gy_happy_eyeballs *happy_eyeballs)
{
	happy_eyeballs->next = happy_eyeballs->count;
	happy_eyeballs->running = 0;
	happy_eyeballs->due = false;
	gy_timer_stop(&happy_eyeballs->channels->home->loop.wheel, &happy_eyeballs->timer);
	for (size_t i = 0; i < GY_HAPPY_EYEBALLS_MAX; i++) {
		happy_eyeballs->attempts[i].running = false;
	}
}

int gy_happy_eyeballs_process(struct gy_happy_eyeballs *happy_eyeballs)
{
	for (size_t i = 0; i < happy_eyeballs->next; i++) {
		struct gy_attempt *attempt = &happy_eyeballs->attempts[i];
		int fd = attempt->fd;

		if (!attempt->running || attempt->connect.armed) {
			continue;
		}
		if (attempt->result == 0) {
			attempt->fd = -1;
			gy_happy_eyeballs_forget(happy_eyeballs);
			return fd;
		}
		gy_assert(happy_eyeballs->running > 0 && attempt->result < 0);
		attempt->running = false;
		happy_eyeballs->running--;
		happy_eyeballs->due = true;
		failed(happy_eyeballs, attempt, attempt->result);
	}
	if (happy_eyeballs->due) {
		begin_next(happy_eyeballs);
	}
	(void)gy_happy_eyeballs_end(happy_eyeballs);
	if (happy_eyeballs->running == 0 && happy_eyeballs->next == happy_eyeballs->count) {
		return happy_eyeballs->error;
	}
	return -EINPROGRESS;
}

void gy_happy_eyeballs_abandon(struct gy_happy_eyeballs *happy_eyeballs, int error)
{
	for (size_t i = 0; i < happy_eyeballs->next; i++) {
		if (happy_eyeballs->attempts[i].running) {
			failed(happy_eyeballs, &happy_eyeballs->attempts[i], error);
		}
	}
	gy_happy_eyeballs_forget(happy_eyeballs);
}

bool gy_happy_eyeballs_end(struct gy_happy_eyeballs *happy_eyeballs)
{
	struct gy_ring *ring = happy_eyeballs->channels->pools.ring;
	bool quiet = true;

	for (size_t i = 0; i < GY_HAPPY_EYEBALLS_MAX; i++) {
		struct gy_attempt *attempt = &happy_eyeballs->attempts[i];
		int r = 0;

		if (attempt->fd < 0 || attempt->running) {
			quiet = quiet && !attempt->running;
			continue;
		}
		quiet = false;
		if (!attempt->connect.armed) {
			r = attempt->close.armed
				    ? 0
				    : gy_ring_close(ring, &attempt->close, attempt->fd);
		} else if (!attempt->cancelled) {
			r = gy_ring_cancel(ring, &attempt->connect);
			attempt->cancelled = r == 0;
		}
		if (r < 0) {
			gy_endpoint_ready(happy_eyeballs->endpoint); /* to be tried again */
		}
	}
	return quiet;
}
