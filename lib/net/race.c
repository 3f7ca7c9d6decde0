/*
 * The attempts of a race. Each has a descriptor, a connect and at last a close; it is over for the
 * race when its connect has ended or the race is decided, and over for the kernel when it is
 * closed.
 */
#include "net/race.h"

#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "net/socket_option.h"
#include "net/stream.h"

static const uint64_t head_start_ns = GYRE_MILLISECONDS(250);

static void connected(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_attempt *attempt = gy_container_of(op, struct gy_attempt, connect);

	attempt->result = completion->result;
	gy_endpoint_ready(attempt->race->endpoint);
}

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_attempt *attempt = gy_container_of(op, struct gy_attempt, close);

	(void)completion; /* whatever it says, the descriptor is gone */
	attempt->fd = -1;
	gy_endpoint_ready(attempt->race->endpoint);
}

static void next_is_due(struct gy_timer *timer)
{
	struct gy_race *race = gy_container_of(timer, struct gy_race, timer);

	race->due = true;
	gy_endpoint_ready(race->endpoint);
}

void gy_race_init(struct gy_race *race, struct gy_endpoint *endpoint, struct gy_channels *channels,
		  const struct gy_race_options *options)
{
	*race = (struct gy_race){ .endpoint = endpoint, .channels = channels, .options = options };
	gy_timer_init(&race->timer, next_is_due);
	for (size_t i = 0; i < GY_RACE_MAX; i++) {
		race->attempts[i].fd = -1;
		race->attempts[i].race = race;
		gy_op_init(&race->attempts[i].connect, connected);
		gy_op_init(&race->attempts[i].close, closed);
	}
}

/* Makes the socket as it is to be. */
static int prepare(const struct gy_race_options *options, int fd, int family)
{
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
	if (r == 0 &&
	    bind(fd, (const struct sockaddr *)&options->local.storage, options->local.bytes) < 0) {
		r = -errno;
	}
	return r;
}

static int begin(struct gy_race *race, struct gy_attempt *attempt)
{
	const struct gyre_socket_address *to = &attempt->address;
	int fd = socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -errno : prepare(race->options, fd, to->storage.ss_family);

	if (r == 0) {
		r = gy_ring_connect(race->channels->ring, &attempt->connect, fd,
				    (const struct sockaddr *)&to->storage, to->bytes);
	}
	if (r < 0) {
		gy_channels_close(race->channels, fd);
		return r;
	}
	attempt->fd = fd;
	attempt->result = -EINPROGRESS;
	attempt->running = true;
	attempt->cancelled = false;
	race->running++;
	return 0;
}

/* What only says that there is no way to an address explains less than an answer from it. */
static bool is_no_way(int error)
{
	return error == 0 || error == -ENETUNREACH || error == -EHOSTUNREACH ||
	       error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

static void failed(struct gy_race *race, const struct gy_attempt *attempt, int error)
{
	if (is_no_way(race->error) || !is_no_way(error)) {
		race->error = error;
	}
	race->options->failed(race, &attempt->address, error);
}

/* Begins with the next address for which that is possible. */
static void begin_next(struct gy_race *race)
{
	race->due = false;
	gy_timer_stop(&race->channels->home->loop.wheel, &race->timer);
	while (race->next < race->count) {
		struct gy_attempt *attempt = &race->attempts[race->next];
		int r;

		attempt->address = race->addresses[race->next++];
		r = begin(race, attempt);
		if (r == 0) {
			break;
		}
		failed(race, attempt, r);
	}
	if (race->next < race->count) {
		gy_timer_start(&race->channels->home->loop.wheel, &race->timer, head_start_ns);
	}
}

void gy_race_start(struct gy_race *race, const struct gyre_socket_address *addresses,
		   uint32_t count)
{
	race->addresses = addresses;
	race->count = count < GY_RACE_MAX ? count : GY_RACE_MAX;
	race->next = 0;
	race->running = 0;
	race->error = 0;
	begin_next(race);
}

void gy_race_forget(struct gy_race *race)
{
	race->next = race->count;
	race->running = 0;
	race->due = false;
	gy_timer_stop(&race->channels->home->loop.wheel, &race->timer);
	for (size_t i = 0; i < GY_RACE_MAX; i++) {
		race->attempts[i].running = false;
	}
}

int gy_race_process(struct gy_race *race)
{
	for (size_t i = 0; i < race->next; i++) {
		struct gy_attempt *attempt = &race->attempts[i];
		int fd = attempt->fd;

		if (!attempt->running || attempt->connect.armed) {
			continue;
		}
		if (attempt->result == 0) {
			attempt->fd = -1;
			gy_race_forget(race);
			return fd;
		}
		attempt->running = false;
		race->running--;
		race->due = true;
		failed(race, attempt, attempt->result);
	}
	if (race->due) {
		begin_next(race);
	}
	(void)gy_race_end(race);
	if (race->running == 0 && race->next == race->count) {
		return race->error;
	}
	return -EINPROGRESS;
}

void gy_race_abandon(struct gy_race *race, int error)
{
	for (size_t i = 0; i < race->next; i++) {
		if (race->attempts[i].running) {
			failed(race, &race->attempts[i], error);
		}
	}
	gy_race_forget(race);
}

bool gy_race_end(struct gy_race *race)
{
	struct gy_ring *ring = race->channels->ring;
	bool quiet = true;

	for (size_t i = 0; i < GY_RACE_MAX; i++) {
		struct gy_attempt *attempt = &race->attempts[i];
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
			gy_endpoint_ready(race->endpoint); /* to be tried again */
		}
	}
	return quiet;
}
