/* The ends of channels: by the peer, by a handler in any of its calls, by an error, by the system.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/mail/send.h"
#include "rig.h"

TestSuite(channel_end, .timeout = 60);

/* What a handler does, and what it has heard. */
struct plan {
	const char *in;	   /* the call in which it ends the channel */
	bool abort;	   /* at once */
	const char *reply; /* to a gyre_input_closed, and then it closes */
	uint32_t active;
	uint32_t inactive;
	uint32_t unregistered;
	uint32_t removed;
	uint32_t input_closed;
	uint32_t draining; /* of those */
	int reason;
};

static struct rig rig;
static struct plan plan;
static struct gyre_channel *channel;

static void act(struct gyre_handler_context *ctx, const char *call)
{
	if (plan.in == NULL || strcmp(plan.in, call) != 0) {
		return;
	}
	if (plan.abort) {
		gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
	} else {
		gyre_context_close(ctx);
	}
}

static void write_text(struct gyre_handler_context *ctx, const char *text)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	cr_assert_eq(gyre_buffer_append(buffer, text, strlen(text)), 0);
	(void)gyre_context_write(ctx, buffer);
}

static int on_added(struct gyre_handler_context *ctx)
{
	act(ctx, "added");
	return 0;
}

static void on_removed(struct gyre_handler_context *ctx)
{
	plan.removed++;
	act(ctx, "removed");
}

static void on_registered(struct gyre_handler_context *ctx)
{
	act(ctx, "registered");
}

static void on_active(struct gyre_handler_context *ctx)
{
	plan.active++;
	act(ctx, "active");
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	act(ctx, "read");
	(void)gyre_context_write(ctx, data);
	act(ctx, "read after write");
	if (plan.in != NULL && strcmp(plan.in, "exception") == 0) {
		gyre_context_fire_exception(&channel->pipeline.head.head, -EBADMSG);
	}
}

static void on_read_complete(struct gyre_handler_context *ctx)
{
	act(ctx, "read_complete");
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	if (type->id == GYRE_ID(gyre_input_closed)) {
		plan.input_closed++;
		plan.draining += ((const struct gyre_input_closed *)event)->draining;
		if (plan.reply != NULL) {
			write_text(ctx, plan.reply);
			gyre_context_close(ctx);
		}
	}
	act(ctx, "event");
}

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	(void)writable;
	act(ctx, "writability");
}

static void on_exception(struct gyre_handler_context *ctx, int error)
{
	(void)error;
	act(ctx, "exception");
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	plan.inactive++;
	plan.reason = gyre_channel_reason(gyre_context_channel(ctx));
	write_text(ctx, "too late");
	act(ctx, "inactive");
}

static void on_unregistered(struct gyre_handler_context *ctx)
{
	plan.unregistered++;
	act(ctx, "unregistered");
}

static const struct gyre_handler actor = {
	.name = "actor",
	.added = on_added,
	.removed = on_removed,
	.registered = on_registered,
	.active = on_active,
	.read = on_read,
	.read_complete = on_read_complete,
	.event = on_event,
	.writability = on_writability,
	.exception = on_exception,
	.inactive = on_inactive,
	.unregistered = on_unregistered,
};
static const struct gyre_handler *const actors[] = { &actor, NULL };

static void begin(void)
{
	memset(&plan, 0, sizeof(plan));
	rig_init(&rig, &(struct rig_options){ .low_bytes = 1, .high_bytes = 2 });
}

static void expect_ended_once(int reason)
{
	cr_expect_eq(plan.inactive, 1);
	cr_expect_eq(plan.unregistered, 1);
	cr_expect_eq(plan.removed, 1);
	cr_expect_eq(plan.reason, reason, "%s", strerror(-plan.reason));
	cr_expect_eq(gy_channels_counters(&rig.home)->closed, 1);
}

static bool is_closed(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return rig.home.channel_ops->open_count(&rig.home) == 0;
}

/* ---- by the peer ---- */

Test(channel_end, comes_after_what_is_queued_when_the_peer_sends_no_more)
{
	struct rig_stream stream = { .total = 1 << 20 };

	rig_init(&rig, NULL);
	stream.fd = rig_open_tcp(&rig, rig_echo_only, NULL, NULL, NULL);
	while (stream.sent < stream.total) {
		rig_stream_send(&stream);
		rig_stream_receive(&stream);
		rig_turn(&rig);
	}
	cr_assert_eq(shutdown(stream.fd, SHUT_WR), 0);
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.received, stream.total);
	cr_expect_eq(stream.error, 0);
	cr_expect(!stream.wrong);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(channel_end, comes_when_the_handler_says_so_if_half_closing_is_allowed)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	char text[16] = { 0 };
	int fd;

	begin();
	plan.reply = "last words";
	fd = rig_open_tcp(&rig, actors, NULL, &options, &channel);
	rig_settle(&rig);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	cr_assert(rig_until(&rig, is_closed, NULL));
	cr_expect_eq(plan.input_closed, 1);
	cr_expect_eq(plan.draining, 0);
	cr_expect_eq(recv(fd, text, sizeof(text), 0), 10);
	cr_expect_str_eq(text, "last words");
	cr_expect_eq(recv(fd, text, sizeof(text), 0), 0);
	expect_ended_once(0);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel_end, has_last_words_in_a_drain_if_half_closing_is_allowed)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	char text[16] = { 0 };
	int fd;

	begin();
	plan.reply = "last words";
	fd = rig_open_tcp(&rig, actors, NULL, &options, &channel);
	rig_settle(&rig);
	rig.home.channel_ops->drain(&rig.home);
	cr_assert(rig_until_later(&rig, is_closed, NULL));
	cr_expect_eq(plan.input_closed, 1);
	cr_expect_eq(plan.draining, 1);
	cr_expect_eq(recv(fd, text, sizeof(text), 0), 10);
	cr_expect_str_eq(text, "last words");
	cr_expect_eq(recv(fd, text, sizeof(text), 0), 0);
	expect_ended_once(0);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel_end, leaves_a_half_closed_channel_open_for_writing)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	char text[16] = { 0 };
	int fd;

	begin();
	fd = rig_open_tcp(&rig, actors, NULL, &options, &channel);
	rig_settle(&rig);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	rig_settle(&rig);
	cr_expect_eq(plan.input_closed, 1);
	cr_expect_eq(plan.inactive, 0);
	write_text(gyre_channel_tail(channel), "still here");
	rig_settle(&rig);
	cr_expect_eq(recv(fd, text, sizeof(text), 0), 10);
	gyre_context_shutdown(gyre_channel_tail(channel));
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_once(0);
	(void)close(fd);
	rig_fini(&rig);
}

struct far_end {
	int fd;
	char text[16];
};

static bool has_received_the_end(struct rig *r, void *arg)
{
	struct far_end *far = (struct far_end *)arg;
	ssize_t got = recv(far->fd, far->text, sizeof(far->text), MSG_DONTWAIT);

	(void)r;
	return got == 0;
}

Test(channel_end, of_writing_alone_lets_the_peer_go_on)
{
	struct far_end far = { 0 };

	begin();
	far.fd = rig_open_tcp(&rig, actors, NULL, NULL, &channel);
	rig_settle(&rig);
	write_text(gyre_channel_tail(channel), "bye");
	gyre_context_shutdown(gyre_channel_tail(channel));
	cr_expect(!gyre_channel_is_writable(channel));
	cr_expect(rig_until(&rig, has_received_the_end, &far));
	cr_expect_str_eq(far.text, "bye");
	cr_assert_eq(write(far.fd, "hello", 5), 5);
	rig_settle(&rig);
	cr_expect_eq(gy_channels_counters(&rig.home)->bytes_received, 5);
	cr_expect_eq(plan.inactive, 0);
	(void)close(far.fd);
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_once(0);
	rig_fini(&rig);
}

Test(channel_end, has_the_peers_reset_as_its_reason)
{
	const struct linger reset = { .l_onoff = 1 };
	int fd;

	begin();
	fd = rig_open_tcp(&rig, actors, NULL, NULL, &channel);
	rig_settle(&rig);
	cr_assert_eq(write(fd, "hello", 5), 5);
	rig_settle(&rig);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	(void)close(fd);
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_once(-ECONNRESET);
	rig_fini(&rig);
}

Test(channel_end, has_a_reason_when_there_is_nobody_left_to_write_to)
{
	int fd;

	begin();
	fd = rig_open(&rig, actors, NULL,
		      &(struct gyre_channel_options){ .allow_half_close = true }, &channel);
	rig_settle(&rig);
	(void)close(fd);
	rig_settle(&rig);
	cr_expect_eq(plan.inactive, 0);
	write_text(gyre_channel_tail(channel), "hello");
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_once(-EPIPE);
	rig_fini(&rig);
}

/* ---- by a handler ---- */

static void end_in(const char *call, bool at_once)
{
	const struct gyre_channel_options options = { .allow_half_close = true };
	int fd;

	begin();
	plan.in = call;
	plan.abort = at_once;
	fd = rig_open_tcp(&rig, actors, NULL, &options, &channel);
	cr_assert_eq(write(fd, "hello", 5), 5);
	rig_settle(&rig);
	(void)shutdown(fd, SHUT_WR); /* unless it was reset */
	rig_settle(&rig);
	if (plan.inactive == 0) {
		gyre_context_close(gyre_channel_tail(channel));
	}
	cr_expect(rig_until(&rig, is_closed, NULL), "%s", call);
	cr_expect_eq(plan.inactive, 1, "%s", call);
	cr_expect_eq(plan.unregistered, 1, "%s", call);
	cr_expect_eq(plan.removed, 1, "%s", call);
	(void)close(fd);
	rig_fini(&rig);
}

Test(channel_end, may_be_asked_for_in_every_call_of_a_handler)
{
	static const char *const calls[] = {
		"added",	 "registered", "active",      "read",	   "read after write",
		"read_complete", "event",      "writability", "exception", "inactive",
		"unregistered",	 "removed",
	};

	for (size_t i = 0; i < gy_countof(calls); i++) {
		end_in(calls[i], false);
		end_in(calls[i], true);
	}
}

Test(channel_end, waits_for_what_is_queued_and_reads_no_more)
{
	struct rig_stream stream = { .total = 200000 };
	struct gyre_buffer *buffer;
	static unsigned char bytes[200000];

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, &channel);
	rig_settle(&rig);
	rig_fill(bytes, sizeof(bytes), 0);
	buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
	gyre_context_close(gyre_channel_tail(channel));
	cr_assert_eq(write(stream.fd, "not read", 8), 8);
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_eq(stream.received, sizeof(bytes));
	cr_expect(!stream.wrong);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(channel_end, at_once_drops_what_is_queued)
{
	static unsigned char bytes[900000];
	struct gyre_buffer *buffer;
	int fd;

	begin();
	fd = rig_open(&rig, actors, NULL, NULL, &channel);
	rig_settle(&rig);
	buffer = gy_buffer_get(&rig_channels(&rig)->pools);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, sizeof(bytes)), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
	rig_settle(&rig);
	cr_assert(channel->send.armed, "the peer does not read");
	gyre_channel_abort(channel, 0);
	cr_assert(rig_until(&rig, is_closed, NULL));
	expect_ended_once(0);
	(void)close(fd);
	rig_fini(&rig);
}

/* ---- by the system, and with its actor ---- */

Test(channel_end, of_all_sends_what_is_queued_when_the_system_drains)
{
	struct rig_stream stream = { .total = 600000 };

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	for (int i = 0; i < 100; i++) {
		rig_stream_send(&stream);
		rig_turn(&rig);
	}
	rig.home.channel_ops->drain(&rig.home);
	rig_settle(&rig);
	cr_expect_eq(rig.home.channel_ops->open_count(&rig.home), 1, "the peer has not read yet");
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	cr_expect_gt(stream.received, 0);
	cr_expect(!stream.wrong);
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(channel_end, of_all_is_at_once_when_the_system_waits_no_longer)
{
	struct rig_stream stream = { .total = 600000 };

	rig_init(&rig, NULL);
	stream.fd = rig_open(&rig, rig_echo_only, NULL, NULL, NULL);
	for (int i = 0; i < 100; i++) {
		rig_stream_send(&stream);
		rig_turn(&rig);
	}
	rig.home.channel_ops->abort(&rig.home);
	cr_assert(rig_until(&rig, is_closed, NULL));
	(void)close(stream.fd);
	rig_fini(&rig);
}

Test(channel_end, comes_at_once_to_a_channel_that_is_opened_after_that_of_all)
{
	struct rig_stream stream = { 0 };

	begin();
	rig.home.channel_ops->abort(&rig.home);
	stream.fd = rig_open(&rig, actors, NULL, NULL, &channel);
	cr_assert(rig_until(&rig, is_closed, NULL));
	cr_assert(rig_until(&rig, rig_stream_ended, &stream));
	expect_ended_once(-ESHUTDOWN);
	(void)close(stream.fd);
	rig_fini(&rig);
}

static bool is_stopped(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.houses == 0;
}

Test(channel_end, comes_before_that_of_the_actor_that_owns_it)
{
	int fds[10];

	begin();
	for (size_t i = 0; i < gy_countof(fds); i++) {
		fds[i] = rig_open(&rig, actors, NULL, NULL, &channel);
	}
	rig_settle(&rig);
	cr_assert_eq(gy_send_signal(&rig.home, gy_house_address(rig.house), &gy_type_stop,
				    GY_MAIL_EVENT),
		     0);
	cr_assert(rig_until_later(&rig, is_stopped, NULL));
	cr_expect_eq(plan.inactive, gy_countof(fds));
	cr_expect_eq(plan.removed, gy_countof(fds));
	for (size_t i = 0; i < gy_countof(fds); i++) {
		(void)close(fds[i]);
	}
	rig_fini(&rig);
}

static int refuse(struct gyre_channel *c, void *arg)
{
	(void)c;
	(void)arg;
	return -EPERM;
}

Test(channel_end, is_the_answer_to_an_initialiser_that_fails_and_no_handler_hears_of_it)
{
	const struct gyre_channel_options options = { 0 };
	struct gy_channel_opening opening = { .options = &options, .init = refuse };
	int fds[2];
	char byte;

	begin();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	opening.fd = fds[0];
	rig.opened++;
	cr_expect_eq(gy_channel_open(rig.house, rig_stack(&rig), &opening), -EPERM);
	cr_assert(rig_until(&rig, is_closed, NULL));
	cr_expect_eq(recv(fds[1], &byte, 1, MSG_DONTWAIT), 0);
	cr_expect_eq(plan.inactive, 0);
	(void)close(fds[1]);
	rig_fini(&rig);
}

/* ---- of an actor that has stopped ---- */

static int child_error;
static int orphan_error;

static const struct gyre_class child_class = { .name = "child" };

static void spawn_two(struct gyre_handler_context *ctx)
{
	const struct gyre_spawn_options detached = { .detached = true };
	struct gyre_stack *stack = gyre_context_stack(ctx);
	struct gyre_address address;

	child_error = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, NULL, &address);
	orphan_error = gyre_spawn(stack, &child_class, GYRE_NO_ARGUMENT, &detached, &address);
}

static bool is_orphan_left(struct rig *r, void *arg)
{
	(void)arg;
	return child_error != 0 && r->home.houses == 1;
}

Test(channel_end, of_an_actor_that_has_stopped_lets_it_have_no_more_children)
{
	static const struct gyre_handler spawner = { .name = "spawner", .inactive = spawn_two };
	static const struct gyre_handler *const spawners[] = { &spawner, NULL };
	int fd;

	rig_init(&rig, NULL);
	fd = rig_open(&rig, spawners, NULL, NULL, &channel);
	rig_settle(&rig);
	gy_house_request_stop(rig.house, 0);
	rig_settle(&rig);
	(void)close(fd);
	cr_expect(rig_until_later(&rig, is_orphan_left, NULL), "%u are left", rig.home.houses);
	cr_expect_eq(child_error, -ESHUTDOWN);
	cr_expect_eq(orphan_error, 0);
	rig_fini(&rig);
}
