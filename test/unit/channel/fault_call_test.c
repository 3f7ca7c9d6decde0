/*
 * A channel is closed, aborted, shut down, or loses its handler, from inside every call of a
 * handler, and from inside those that tell what has become of a write and of a part of a file: it
 * ends once, in order, and nothing is left of it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

TestSuite(fault_call, .timeout = 110);

enum call {
	IN_ADDED,
	IN_REGISTERED,
	IN_ACTIVE,
	IN_READ,
	IN_READ_COMPLETE,
	IN_EVENT,
	IN_WRITABILITY,
	IN_EXCEPTION,
	IN_INACTIVE,
	IN_UNREGISTERED,
	IN_REMOVED,
	IN_WRITE,
	IN_FLUSH,
	IN_READ_REQUEST,
	IN_SHUTDOWN,
	IN_CLOSE,
	IN_TIMER,
	IN_SEND_FILE,
	IN_WRITTEN,
	IN_SENT,
	CALLS
};

static const char *const names[CALLS] = {
	"added",   "registered",  "active",    "read",	       "read_complete",
	"event",   "writability", "exception", "inactive",     "unregistered",
	"removed", "write",	  "flush",     "read_request", "shutdown",
	"close",   "timer",	  "send_file", "written",      "sent",
};

enum deed { CLOSE, ABORT, SHUT_DOWN, REMOVE, REMOVE_AND_ABORT, DEEDS };

static struct rig rig;
static struct gyre_channel *channel;
static enum call where;
static enum deed what;
static uint32_t called[CALLS];
static bool busy; /* doing it: it may lead to the same call again */

static void act(struct gyre_handler_context *ctx, enum call here)
{
	called[here]++;
	if (here != where || busy) {
		return;
	}
	busy = true;
	if (what == REMOVE || what == REMOVE_AND_ABORT) {
		gyre_context_remove(ctx);
	}
	if (what == CLOSE) {
		gyre_context_close(ctx);
	} else if (what == ABORT || what == REMOVE_AND_ABORT) {
		gyre_channel_abort(gyre_context_channel(ctx), -ECANCELED);
	} else if (what == SHUT_DOWN) {
		gyre_context_shutdown(ctx);
	}
	busy = false;
}

static int on_added(struct gyre_handler_context *ctx)
{
	act(ctx, IN_ADDED);
	return 0;
}

static void on_removed(struct gyre_handler_context *ctx)
{
	act(ctx, IN_REMOVED);
}

static void on_registered(struct gyre_handler_context *ctx)
{
	act(ctx, IN_REGISTERED);
	gyre_context_fire_registered(ctx);
}

static void on_active(struct gyre_handler_context *ctx)
{
	act(ctx, IN_ACTIVE);
	(void)gyre_context_timer_start(ctx, 0, 1); /* it may be closed, or gone */
	gyre_context_fire_active(ctx);
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	act(ctx, IN_READ);
	gyre_context_fire_read(ctx, data);
}

static void on_read_complete(struct gyre_handler_context *ctx)
{
	act(ctx, IN_READ_COMPLETE);
	gyre_context_fire_read_complete(ctx);
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	act(ctx, IN_EVENT);
	gyre_context_fire_event(ctx, type, event);
}

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	act(ctx, IN_WRITABILITY);
	gyre_context_fire_writability(ctx, writable);
}

static void on_exception(struct gyre_handler_context *ctx, int error)
{
	act(ctx, IN_EXCEPTION);
	gyre_context_fire_exception(ctx, error);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	act(ctx, IN_INACTIVE);
	gyre_context_fire_inactive(ctx);
}

static void on_unregistered(struct gyre_handler_context *ctx)
{
	act(ctx, IN_UNREGISTERED);
	gyre_context_fire_unregistered(ctx);
}

static int on_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	act(ctx, IN_WRITE);
	return gyre_context_write(ctx, data);
}

static void on_flush(struct gyre_handler_context *ctx)
{
	act(ctx, IN_FLUSH);
	gyre_context_flush(ctx);
}

static void on_read_request(struct gyre_handler_context *ctx)
{
	act(ctx, IN_READ_REQUEST);
	gyre_context_read(ctx);
}

static void on_shutdown(struct gyre_handler_context *ctx)
{
	act(ctx, IN_SHUTDOWN);
	gyre_context_shutdown(ctx);
}

static void on_close(struct gyre_handler_context *ctx)
{
	act(ctx, IN_CLOSE);
	gyre_context_close(ctx);
}

static void on_timer(struct gyre_handler_context *ctx, uint64_t key)
{
	(void)key;
	act(ctx, IN_TIMER);
}

static int on_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
			const struct gyre_file_region *region)
{
	act(ctx, IN_SEND_FILE);
	return gyre_context_send_file(ctx, file, region);
}

static const struct gyre_handler doer = {
	.name = "doer",
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
	.write = on_write,
	.flush = on_flush,
	.read_request = on_read_request,
	.shutdown = on_shutdown,
	.close = on_close,
	.timer = on_timer,
	.send_file = on_send_file,
};

/* The one behind it brings all those calls about, and hears how it ends. */
static uint32_t inactive;
static uint32_t unregistered;
static uint32_t promised; /* calls that are still to come */

/* Calls that are no handler's; a handler that has left is not taken out again. */
static void act_without_handler(struct gyre_channel *of, enum call here)
{
	struct gyre_handler_context *ctx = gyre_pipeline_get(of, "doer");

	if (ctx == NULL) {
		called[here]++;
	} else {
		act(ctx, here);
	}
}

static void on_written(struct gyre_channel *of, int error, void *arg)
{
	(void)error;
	(void)arg;
	promised--;
	act_without_handler(of, IN_WRITTEN);
}

static void on_sent(struct gyre_channel *of, void *arg, int result)
{
	(void)arg;
	(void)result;
	promised--;
	act_without_handler(of, IN_SENT);
}

static void send_file(struct gyre_handler_context *ctx)
{
	const struct gyre_file_region region = { .bytes = 3, .sent = on_sent };
	struct gyre_file *file;

	cr_assert_eq(gyre_file_adopt(gyre_context_stack(ctx),
				     open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &file),
		     0);
	promised += gyre_context_send_file(ctx, file, &region) == 0;
	gyre_file_close(file);
}

static void drive_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	promised += gyre_context_write_then(ctx, data, on_written, NULL) == 0;
	gyre_context_flush(ctx); /* else the bytes are sent with the file, before a mark is seen */
	send_file(ctx);
	gyre_context_read(ctx);
}

static void drive_exception(struct gyre_handler_context *ctx, int error)
{
	(void)error;
	gyre_context_shutdown(ctx);
	gyre_context_close(ctx);
}

static void drive_inactive(struct gyre_handler_context *ctx)
{
	(void)ctx;
	inactive++;
}

static void drive_unregistered(struct gyre_handler_context *ctx)
{
	(void)ctx;
	unregistered++;
}

static const struct gyre_handler driver = {
	.name = "driver",
	.read = drive_read,
	.exception = drive_exception,
	.inactive = drive_inactive,
	.unregistered = drive_unregistered,
};

/* In front of it, whom removals must not disturb. */
static int front_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	return gyre_context_write(ctx, data);
}

static void front_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gyre_context_fire_read(ctx, data);
}

static int front_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
			   const struct gyre_file_region *region)
{
	return gyre_context_send_file(ctx, file, region);
}

static const struct gyre_handler front = {
	.name = "front", .read = front_read, .write = front_write, .send_file = front_send_file
};
static const struct gyre_handler *const handlers[] = { &front, &doer, &driver, NULL };

static bool is_closed(struct rig *r, void *arg)
{
	(void)arg;
	return r->home.channel_ops->open_count(&r->home) == 0;
}

static void turn(void)
{
	for (int i = 0; i < 8; i++) {
		rig_turn(&rig);
	}
}

/* Whatever has happened to it: a request, an exception, the peer's end, and a close. */
static void live_through(int fd)
{
	turn();
	rig_pass(&rig, GYRE_MILLISECONDS(2));
	(void)send(fd, "hello", 5, MSG_NOSIGNAL);
	turn();
	(void)shutdown(fd, SHUT_WR);
	turn();
	if (inactive == 0) {
		gyre_context_fire_exception(&channel->pipeline.head.head, -EBADMSG);
		turn();
	}
	if (inactive == 0) {
		gyre_context_close(gyre_channel_tail(channel));
	}
}

static void expect_one_life(bool over_tcp, bool half_close)
{
	const struct gyre_channel_options options = { .allow_half_close = half_close };
	int fd;

	memset(called, 0, sizeof(called));
	inactive = 0;
	unregistered = 0;
	fd = over_tcp ? rig_open_tcp(&rig, handlers, NULL, &options, &channel)
		      : rig_open(&rig, handlers, NULL, &options, &channel);
	live_through(fd);
	cr_assert(rig_until(&rig, is_closed, NULL), "%s, %d", names[where], (int)what);
	cr_expect_eq(inactive, 1, "%s, %d", names[where], (int)what);
	cr_expect_eq(unregistered, 1, "%s, %d", names[where], (int)what);
	cr_expect_eq(promised, 0, "%s, %d", names[where], (int)what);
	cr_expect_eq(called[IN_REMOVED], 1, "%s, %d", names[where], (int)what);
	cr_expect_leq(called[IN_INACTIVE], 1, "%s, %d", names[where], (int)what);
	(void)close(fd);
}

static void begin(void)
{
	rig_init(&rig, &(struct rig_options){ .low_bytes = 1, .high_bytes = 2 });
}

static void end(void)
{
	rig_fini(&rig);
}

static void expect_all(enum deed deed)
{
	what = deed;
	for (int call = 0; call < CALLS; call++) {
		where = (enum call)call;
		expect_one_life(false, true);
		expect_one_life(true, true);
		expect_one_life(true, false);
	}
}

Test(fault_call, every_call_a_channel_may_be_closed, .init = begin, .fini = end)
{
	expect_all(CLOSE);
}

Test(fault_call, every_call_a_channel_may_be_aborted, .init = begin, .fini = end)
{
	expect_all(ABORT);
}

Test(fault_call, every_call_a_channel_may_be_shut_down, .init = begin, .fini = end)
{
	expect_all(SHUT_DOWN);
}

Test(fault_call, every_call_a_handler_may_remove_itself, .init = begin, .fini = end)
{
	expect_all(REMOVE);
}

Test(fault_call, every_call_a_handler_may_remove_itself_and_abort, .init = begin, .fini = end)
{
	expect_all(REMOVE_AND_ABORT);
}

Test(fault_call, an_ordinary_life_each_call_comes, .init = begin, .fini = end)
{
	what = DEEDS;
	where = CALLS;
	expect_one_life(true, true);
	for (int call = 0; call < CALLS; call++) {
		cr_expect_gt(called[call], 0, "%s", names[call]);
	}
}
