#include "rig.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gyre/system.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/class_log.h"
#include "actor/life/lifecycle.h"
#include "actor/mail/mailbox.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "channel/datagram/datagram.h"
#include "echo.h"
#include "ring_engine.h"

enum { SETTLE_TURNS = 20, MOMENT_NS = 100000 };

static const uint64_t patience_ns = UINT64_C(30000000000);

static void logged(const struct gyre_log_line *line, void *arg)
{
	struct rig *rig = (struct rig *)arg;

	rig->logged++;
	(void)snprintf(rig->last_log, sizeof(rig->last_log), "%s", line->text);
}

static uint64_t read_ns(void *arg)
{
	const struct rig *rig = (const struct rig *)arg;

	return rig->clock_free ? gy_clock_machine_ns() + rig->ahead_ns : rig->now_ns;
}

static void moment_over(struct gy_timer *timer)
{
	(void)timer;
}

int rig_open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = -1; /* its own */

	cr_assert_not_null(folder);
	while (readdir(folder) != NULL) {
		count++;
	}
	(void)closedir(folder);
	return count;
}

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value == 0 ? fallback : value;
}

static const struct gyre_class owner_class = { .name = "owner",
					       .frame_bytes = sizeof(struct gyre_future) };

static void make_home(struct rig *rig, const struct rig_options *options)
{
	struct gy_loop_options loop = {
		.cpu = -1,
		.io_ratio = 50,
		.starvation_limit = 64,
		.min_budget_ns = 500000,
		.timer_tick_ns = MOMENT_NS,
		.spin_ns = GY_SPIN_NEVER,
		.ring = { .engine = engine_of_tests(),
			  .entries = 256,
			  .buffer_count = or_default(options->buffer_count, 64),
			  .buffer_bytes = or_default(options->buffer_bytes, 4096),
			  .whole_buffers = options->whole_buffers ||
					   GY_DEFAULT_receive_buffers == GYRE_RECEIVE_BUFFERS_WHOLE,
			  .log = &rig->log },
		.clock = { .read_ns = read_ns, .arg = rig },
		.log = &rig->log,
	};
	struct gy_home_options home = {
		.run_budget = 256,
		.high_replies = 2,
		.high_events = 4,
		.ask_timeout_ns = GYRE_SECONDS(5),
		.cookie_seed = 1,
		.system = (struct gyre_system *)(void *)&rig->homes,
	};
	struct gy_channels_options channels = {
		.write_low_bytes = or_default(options->low_bytes, 65536),
		.write_high_bytes = or_default(options->high_bytes, 262144),
		.write_max_bytes = or_default(options->max_bytes, 1048576),
		.zero_copy_bytes = options->zero_copy_bytes,
		.datagram_buffer_count = or_default(options->datagram_buffer_count, 16),
		.datagram_buffer_bytes = or_default(options->datagram_buffer_bytes, 65536),
		.channel_bytes_max = options->channel_bytes_max,
		.linger_ns =
			options->linger_ns == 0 ? RIG_LINGER_WITHOUT_END_NS : options->linger_ns,
	};

	cr_assert_eq(gy_home_init(&rig->home, &loop, &home), 0);
	cr_assert_eq(gy_channels_init(&rig->home, &channels), 0);
}

void rig_init(struct rig *rig, const struct rig_options *options)
{
	struct gyre_address owner;

	*rig = (struct rig){ .log = { .write = logged, .level = GYRE_LOG_WARNING } };
	rig->log.arg = rig;
	rig->now_ns = gy_clock_machine_ns();
	rig->descriptors = rig_open_descriptors();
	gy_net_init(&rig->net);
	rig->homes = (struct gy_homes){
		.count = 1, .net = &rig->net, .homes = &rig->home, .log = &rig->log
	};
	make_home(rig, options == NULL ? &(struct rig_options){ 0 } : options);
	gy_class_logs_begin(&rig->homes, RIG_LOG_LINES_MAX);
	rig->loops = gy_memory_get(sizeof(*rig->loops) + sizeof(struct gy_loop *));
	rig->loops->count = 1;
	rig->loops->made = 1;
	rig->loops->max = 1;
	rig->homes.loops = rig->loops;
	rig->loops->loop[0] = &rig->home.loop;
	cr_assert_eq(gy_loop_join(&rig->home.loop, rig->loops), 0);
	cr_assert_eq(gy_loop_enter(&rig->home.loop), 0);
	gy_timer_init(&rig->moment, moment_over);
	cr_assert_eq(
		gy_spawn(&rig->home,
			 &(struct gy_spawn_order){ .class = &owner_class, .channels_actor = true },
			 0, &owner),
		0);
	rig_turn(rig);
	rig->house = gy_house_find(&rig->home, owner.slot, owner.cookie);
	cr_assert_not_null(rig->house);
}

void rig_turn(struct rig *rig)
{
	if (!gy_timer_is_started(&rig->moment)) {
		gy_timer_start(&rig->home.loop.wheel, &rig->moment, MOMENT_NS);
	}
	gy_loop_turn(&rig->home.loop);
}

void rig_skip(struct rig *rig, uint64_t ns)
{
	rig->now_ns += ns;
	rig->ahead_ns += ns;
	gy_loop_read_clock_waited(&rig->home.loop); /* it has not passed while the loop worked */
}

void rig_free_clock(struct rig *rig)
{
	uint64_t machine_ns = gy_clock_machine_ns();

	rig->ahead_ns = rig->now_ns > machine_ns ? rig->now_ns - machine_ns : 0;
	rig->clock_free = true;
}

void rig_pass(struct rig *rig, uint64_t ns)
{
	rig_settle(rig);
	rig_skip(rig, ns);
	rig_settle(rig);
}

static bool until(struct rig *rig, rig_condition_fn condition, void *arg, uint64_t turn_ns)
{
	uint64_t end_ns = gy_clock_machine_ns() + patience_ns;

	while (!condition(rig, arg)) {
		if (gy_clock_machine_ns() > end_ns) {
			return false;
		}
		rig_turn(rig);
		rig_skip(rig, turn_ns);
	}
	return true;
}

bool rig_until(struct rig *rig, rig_condition_fn condition, void *arg)
{
	return until(rig, condition, arg, 0);
}

bool rig_until_later(struct rig *rig, rig_condition_fn condition, void *arg)
{
	return until(rig, condition, arg, GYRE_MILLISECONDS(1));
}

void rig_settle(struct rig *rig)
{
	for (int i = 0; i < SETTLE_TURNS; i++) {
		rig_turn(rig);
	}
}

struct gy_channels *rig_channels(struct rig *rig)
{
	return gy_channels_of(&rig->home);
}

struct gy_stack *rig_stack(struct rig *rig)
{
	struct gy_stack *stack = gy_stack_scratch(&rig->home, rig->house);

	cr_assert_not_null(stack);
	return stack;
}

/* ---- the end ---- */

static bool all_closed(struct rig *rig, void *arg)
{
	(void)arg;
	return rig->home.channel_ops->open_count(&rig->home) == 0;
}

static bool all_stopped(struct rig *rig, void *arg)
{
	(void)arg;
	return rig->home.houses == 0;
}

static void stop_houses(struct rig *rig)
{
	rig->home.draining = true;
	for (uint32_t slot = 0; slot < rig->home.slots.used; slot++) {
		struct gy_house *house = gy_house_at(&rig->home, slot);

		if (house->status >= GY_HOUSE_MOUNTING && house->status != GY_HOUSE_STOPPING) {
			gy_house_request_stop(house, 0);
		}
	}
}

/* Criterion forgets an expectation that fails after the test, but not a crash. */
static void expect_at_end(bool holds, const char *what, int64_t is, int64_t wanted)
{
	if (!holds) {
		(void)fprintf(stderr, "%s: %" PRId64 ", not %" PRId64 "\n", what, is, wanted);
		abort();
	}
}

static void expect_equal(const char *what, uint64_t is, uint64_t wanted)
{
	expect_at_end(is == wanted, what, (int64_t)is, (int64_t)wanted);
}

static void expect_all_returned(const struct gy_pool *pool)
{
	expect_equal(pool->name, pool->free_count, pool->total);
}

static void expect_nothing_left(const struct rig *rig, const struct gy_channels *channels)
{
	expect_all_returned(&channels->pools.buffers);
	expect_all_returned(&channels->pools.slices);
	expect_all_returned(&channels->pools.pages);
	expect_all_returned(&channels->pools.foreigns);
	expect_all_returned(&channels->channels);
	expect_all_returned(&channels->contexts);
	expect_all_returned(&channels->gathers);
	expect_equal("peers", channels->pools.addresses.used, 0);
	expect_equal("bytes that channels hold", channels->byte_budget.bytes, 0);
	if (channels->datagrams != NULL) {
		expect_all_returned(&channels->datagrams->channels);
		expect_all_returned(&channels->datagrams->sends);
		expect_all_returned(&channels->datagrams->gathers);
		expect_equal("datagram buffers that are out", channels->datagrams->lent, 0);
	}
	expect_equal("receive buffers that are out", channels->pools.lent, 0);
	expect_equal("channels closed", channels->counters.closed,
		     channels->counters.accepted + rig->opened);
}

void rig_fini(struct rig *rig)
{
	struct gy_leaks leaks = { 0 };
	struct gy_channels *channels = rig_channels(rig);
	uint64_t linger_ns = channels->options.linger_ns;

	rig->home.channel_ops->drain(&rig->home);
	expect_at_end(until(rig, all_closed, NULL, linger_ns / 4), "open channels",
		      rig->home.channel_ops->open_count(&rig->home), 0);
	stop_houses(rig);
	expect_at_end(rig_until(rig, all_stopped, NULL), "actors", rig->home.houses, 0);
	expect_nothing_left(rig, channels);
	gy_timer_stop(&rig->home.loop.wheel, &rig->moment);
	gy_loop_leave();
	gy_channels_fini(&rig->home);
	gy_home_fini(&rig->home, &leaks);
	gy_class_logs_fini(&rig->homes);
	gy_leaks_log(&leaks, &rig->log);
	gy_memory_put(rig->loops);
	expect_at_end(rig->logged == rig->warnings_expected, rig->last_log, rig->logged,
		      rig->warnings_expected);
	expect_equal("open descriptors", (uint64_t)rig_open_descriptors(),
		     (uint64_t)rig->descriptors);
}

/* ---- channels ---- */

struct opening {
	const struct gyre_handler *const *handlers;
	void *arg;
	struct gyre_channel *channel;
};

static int init_channel(struct gyre_channel *channel, void *arg)
{
	struct opening *opening = (struct opening *)arg;
	int r = 0;

	opening->channel = channel;
	for (const struct gyre_handler *const *handler = opening->handlers;
	     *handler != NULL && r == 0; handler++) {
		r = gyre_pipeline_add(channel, GYRE_LAST, *handler, opening->arg);
	}
	return r;
}

static void open_on(struct rig *rig, int fd, struct opening *with,
		    const struct gyre_channel_options *options, struct gyre_channel **ret_channel)
{
	const struct gyre_channel_options defaults = { 0 };
	struct gy_channel_opening opening = {
		.fd = fd,
		.options = options == NULL ? &defaults : options,
		.init = init_channel,
		.init_arg = with,
	};

	rig->opened++;
	cr_assert_eq(gy_channel_open(rig->house, rig_stack(rig), &opening), 0);
	if (ret_channel != NULL) {
		*ret_channel = with->channel;
	}
}

int rig_open(struct rig *rig, const struct gyre_handler *const *handlers, void *arg,
	     const struct gyre_channel_options *options, struct gyre_channel **ret_channel)
{
	struct opening with = { .handlers = handlers, .arg = arg };
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cr_assert_eq(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	open_on(rig, fds[0], &with, options, ret_channel);
	return fds[1];
}

static void connected_pair(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(listener, (struct sockaddr *)&address, bytes), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(connect(fds[1], (struct sockaddr *)&address, bytes), 0);
	fds[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fds[0], 0);
	(void)close(listener);
}

int rig_open_tcp(struct rig *rig, const struct gyre_handler *const *handlers, void *arg,
		 const struct gyre_channel_options *options, struct gyre_channel **ret_channel)
{
	struct opening with = { .handlers = handlers, .arg = arg };
	int fds[2];

	connected_pair(fds);
	cr_assert_eq(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	open_on(rig, fds[0], &with, options, ret_channel);
	return fds[1];
}

/* ---- bytes ---- */

/*
 * The bytes come round after PERIOD of them, a prime: those of another place differ, unless it is
 * whole periods away. They are in a table, with one more STRETCH of them: to compute each took a
 * third of the time of the tests of channels.
 */
enum { PERIOD = 65521, STRETCH = 16384 };

static unsigned char pattern[PERIOD + STRETCH];

__attribute__((constructor)) static void draw_pattern(void)
{
	for (uint64_t i = 0; i < sizeof(pattern); i++) {
		pattern[i] = (unsigned char)((i % PERIOD * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
	}
}

void rig_fill(unsigned char *bytes, size_t count, uint64_t position)
{
	for (size_t done = 0; done < count; done += STRETCH) {
		size_t piece = count - done < STRETCH ? count - done : STRETCH;

		memcpy(bytes + done, pattern + (position + done) % PERIOD, piece);
	}
}

bool rig_check(const unsigned char *bytes, size_t count, uint64_t position)
{
	for (size_t done = 0; done < count; done += STRETCH) {
		size_t piece = count - done < STRETCH ? count - done : STRETCH;

		if (memcmp(bytes + done, pattern + (position + done) % PERIOD, piece) != 0) {
			return false;
		}
	}
	return true;
}

/* ---- the far end ---- */

const struct gyre_handler *const rig_echo_only[] = { &echo_handler, NULL };

void rig_stream_send(struct rig_stream *stream)
{
	unsigned char bytes[16384];
	size_t piece = stream->piece != 0 ? stream->piece : sizeof(bytes);

	while (stream->sent < stream->total) {
		uint64_t left = stream->total - stream->sent;
		size_t count = piece < left ? piece : (size_t)left;
		ssize_t r;

		rig_fill(bytes, count, stream->sent);
		r = send(stream->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (r <= 0) {
			break;
		}
		stream->sent += (uint64_t)r;
	}
}

void rig_stream_receive(struct rig_stream *stream)
{
	unsigned char bytes[65536];
	ssize_t r;

	while ((r = recv(stream->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		stream->wrong = stream->wrong || !rig_check(bytes, (size_t)r, stream->received);
		stream->received += (uint64_t)r;
	}
	if (r == 0) {
		stream->ended = true;
	} else if (errno != EAGAIN) {
		stream->ended = true;
		stream->error = errno;
	}
}

bool rig_streamed(struct rig *rig, void *stream)
{
	struct rig_stream *s = (struct rig_stream *)stream;

	(void)rig;
	rig_stream_send(s);
	rig_stream_receive(s);
	return s->received >= s->total || s->wrong || s->ended;
}

bool rig_stream_ended(struct rig *rig, void *stream)
{
	struct rig_stream *s = (struct rig_stream *)stream;

	(void)rig;
	rig_stream_receive(s);
	return s->ended;
}
