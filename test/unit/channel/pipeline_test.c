/* Pipelines: who is called, in which order, and what changes while they run. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/stack/stack.h"
#include "load.h"
#include "rig.h"

TestSuite(pipeline, .timeout = 60);

/* What the handlers write down, a word each. */
struct trace {
	char text[RIG_TRACE_BYTES];
	struct gyre_channel *channel;
	int error;
};

static void note(struct gyre_handler_context *ctx, const char *what)
{
	struct trace *trace = (struct trace *)gyre_context_arg(ctx);
	const char *name = gy_context_of(ctx)->handler->name;
	size_t used = strlen(trace->text);

	(void)snprintf(trace->text + used, sizeof(trace->text) - used, "%s%s.%s",
		       used == 0 ? "" : " ", name, what);
}

static int on_added(struct gyre_handler_context *ctx)
{
	note(ctx, "added");
	return 0;
}

static void on_removed(struct gyre_handler_context *ctx)
{
	note(ctx, "removed");
}

static void on_registered(struct gyre_handler_context *ctx)
{
	note(ctx, "registered");
	gyre_context_fire_registered(ctx);
}

static void on_active(struct gyre_handler_context *ctx)
{
	note(ctx, "active");
	gyre_context_fire_active(ctx);
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	gyre_context_fire_read(ctx, data);
}

static void on_read_complete(struct gyre_handler_context *ctx)
{
	note(ctx, "complete");
	gyre_context_fire_read_complete(ctx);
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	note(ctx, type->name);
	gyre_context_fire_event(ctx, type, event);
}

static void on_writability(struct gyre_handler_context *ctx, bool writable)
{
	note(ctx, writable ? "writable" : "unwritable");
	gyre_context_fire_writability(ctx, writable);
}

static void on_exception(struct gyre_handler_context *ctx, int error)
{
	note(ctx, "exception");
	gyre_context_fire_exception(ctx, error);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	struct trace *trace = (struct trace *)gyre_context_arg(ctx);

	trace->error = gyre_channel_reason(gyre_context_channel(ctx));
	note(ctx, "inactive");
	gyre_context_fire_inactive(ctx);
}

static void on_unregistered(struct gyre_handler_context *ctx)
{
	note(ctx, "unregistered");
	gyre_context_fire_unregistered(ctx);
}

static int on_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "write");
	return gyre_context_write(ctx, data);
}

static void on_flush(struct gyre_handler_context *ctx)
{
	note(ctx, "flush");
	gyre_context_flush(ctx);
}

static void on_read_request(struct gyre_handler_context *ctx)
{
	note(ctx, "read_request");
	gyre_context_read(ctx);
}

static void on_shutdown(struct gyre_handler_context *ctx)
{
	note(ctx, "shutdown");
	gyre_context_shutdown(ctx);
}

static void on_close(struct gyre_handler_context *ctx)
{
	note(ctx, "close");
	gyre_context_close(ctx);
}

#define EVERYTHING                                                                   \
	.added = on_added, .removed = on_removed, .registered = on_registered,       \
	.active = on_active, .read = on_read, .read_complete = on_read_complete,     \
	.event = on_event, .writability = on_writability, .exception = on_exception, \
	.inactive = on_inactive, .unregistered = on_unregistered, .write = on_write, \
	.flush = on_flush, .read_request = on_read_request, .shutdown = on_shutdown, \
	.close = on_close

static const struct gyre_handler a = { .name = "a", EVERYTHING };
static const struct gyre_handler b = { .name = "b", EVERYTHING };
static const struct gyre_handler c = { .name = "c", EVERYTHING };
static const struct gyre_handler bystander = { .name = "bystander" };
static const struct gyre_handler *const a_and_b[] = { &a, &b, NULL };
static const struct gyre_handler *const only_a[] = { &a, NULL };

static struct rig rig;
static struct trace trace;
static int peer;

static void begin_with(const struct gyre_handler *const *handlers)
{
	memset(&trace, 0, sizeof(trace));
	rig_init(&rig, &(struct rig_options){ .linger_ns = GYRE_MILLISECONDS(100) });
	peer = rig_open(&rig, handlers, &trace, NULL, &trace.channel);
	rig_settle(&rig);
}

static void end(void)
{
	(void)close(peer);
	rig_fini(&rig);
}

static void expect_trace(const char *text)
{
	cr_expect_str_eq(trace.text, text);
	trace.text[0] = '\0';
}

static bool is_traced(struct rig *r, void *arg)
{
	(void)r;
	return strstr(trace.text, *(const char *const *)arg) != NULL;
}

static bool until_traced(const char *word)
{
	return rig_until(&rig, is_traced, &word);
}

static bool later_traced(const char *word)
{
	return rig_until_later(&rig, is_traced, &word);
}

static void receive_something(void)
{
	cr_assert_eq(write(peer, "hello", 5), 5);
}

static struct gyre_buffer *some_bytes(const char *text)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, text, strlen(text)), 0);
	return buffer;
}

Test(pipeline, tells_of_a_channels_life_from_head_to_tail_in_order)
{
	begin_with(a_and_b);
	expect_trace("a.added b.added a.registered b.registered a.active b.active");
	receive_something();
	cr_assert(until_traced("b.complete"));
	expect_trace("a.read b.read a.complete b.complete");
	gyre_context_close(gyre_channel_tail(trace.channel));
	cr_assert(later_traced("b.removed"));
	expect_trace("b.close a.close a.inactive b.inactive a.unregistered b.unregistered "
		     "a.removed b.removed");
	end();
}

Test(pipeline, passes_what_goes_out_from_tail_to_head)
{
	begin_with(a_and_b);
	trace.text[0] = '\0';
	cr_expect_eq(gyre_context_write(gyre_channel_tail(trace.channel), some_bytes("x")), 0);
	gyre_context_flush(gyre_channel_tail(trace.channel));
	gyre_context_read(gyre_channel_tail(trace.channel));
	gyre_context_shutdown(gyre_channel_tail(trace.channel));
	expect_trace("b.write a.write b.flush a.flush b.read_request a.read_request b.shutdown "
		     "a.shutdown");
	end();
}

Test(pipeline, begins_an_outbound_call_at_the_place_of_the_caller)
{
	begin_with(a_and_b);
	trace.text[0] = '\0';
	cr_expect_eq(gyre_context_write(gyre_pipeline_get(trace.channel, "b"), some_bytes("x")), 0);
	expect_trace("a.write");
	cr_expect_eq(gyre_context_write(gyre_pipeline_get(trace.channel, "a"), some_bytes("y")), 0);
	expect_trace("");
	end();
}

Test(pipeline, passes_by_a_handler_that_does_nothing)
{
	const struct gyre_handler *const handlers[] = { &bystander, &a, NULL };

	begin_with(handlers);
	expect_trace("a.added a.registered a.active");
	receive_something();
	cr_assert(until_traced("a.complete"));
	expect_trace("a.read a.complete");
	end();
}

Test(pipeline, hands_an_event_of_any_type_to_those_behind)
{
	const struct gyre_input_closed event = { 0 };

	begin_with(a_and_b);
	trace.text[0] = '\0';
	gyre_context_fire_event(gyre_pipeline_get(trace.channel, "a"), &gyre_type_gyre_input_closed,
				&event);
	expect_trace("b.gyre_input_closed");
	end();
}

static void on_read_end(struct gyre_handler_context *ctx)
{
	note(ctx, "read_end");
	gyre_context_fire_read_end(ctx);
}

static const struct gyre_handler first_of_ends = { .name = "x", .read_end = on_read_end };
static const struct gyre_handler last_of_ends = {
	.name = "y",
	.event = on_event,
	.read_end = on_read_end,
	.inactive = on_inactive,
};

Test(pipeline, hands_the_end_of_reading_from_head_to_tail_before_all_that_follows_from_it)
{
	const struct gyre_handler *const handlers[] = { &first_of_ends, &bystander, &last_of_ends,
							NULL };

	begin_with(handlers);
	cr_assert_eq(shutdown(peer, SHUT_WR), 0);
	cr_assert(later_traced("y.inactive"));
	expect_trace("x.read_end y.read_end y.inactive");
	end();
}

Test(pipeline, hands_the_end_of_reading_to_those_behind_a_handler_that_has_left)
{
	struct gyre_handler_context *gone;

	begin_with(only_a);
	cr_assert_eq(gyre_pipeline_add(trace.channel, GYRE_LAST, &last_of_ends, &trace), 0);
	gone = gyre_pipeline_get(trace.channel, "a");
	trace.text[0] = '\0';
	gyre_context_remove(gone);
	gyre_context_fire_read_end(gone);
	expect_trace("a.removed y.read_end");
	end();
}

Test(pipeline, closes_the_channel_with_an_exception_that_nobody_keeps)
{
	begin_with(a_and_b);
	trace.text[0] = '\0';
	gyre_context_fire_exception(gyre_pipeline_get(trace.channel, "a"), -EBADMSG);
	cr_assert(later_traced("b.removed"));
	cr_expect_eq(trace.error, -EBADMSG);
	expect_trace("b.exception a.inactive b.inactive a.unregistered b.unregistered a.removed "
		     "b.removed");
	end();
}

Test(pipeline, puts_handlers_where_it_was_asked_to)
{
	begin_with(only_a);
	trace.text[0] = '\0';
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_BEFORE("a"), &b, &trace), 0);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_AFTER("b"), &c, &trace), 0);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_FIRST, &bystander, &trace), 0);
	trace.text[0] = '\0';
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("b.complete c.complete a.complete");
	cr_expect_eq(gyre_pipeline_remove(trace.channel, "c"), 0);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_REPLACE("b"), &c, &trace), 0);
	expect_trace("c.removed c.added b.removed");
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("c.complete a.complete");
	end();
}

Test(pipeline, refuses_what_it_cannot_do_and_stays_as_it_is)
{
	begin_with(only_a);
	trace.text[0] = '\0';
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_LAST, &a, &trace), -EEXIST);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_BEFORE("none"), &b, &trace), -ENOENT);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_AFTER("none"), &b, &trace), -ENOENT);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_REPLACE("none"), &b, &trace), -ENOENT);
	cr_expect_eq(gyre_pipeline_remove(trace.channel, "none"), -ENOENT);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_LAST, NULL, &trace), -EINVAL);
	cr_expect_eq(gyre_pipeline_add(NULL, GYRE_LAST, &a, &trace), -EINVAL);
	cr_expect_null(gyre_pipeline_get(trace.channel, "none"));
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("a.complete");
	end();
}

Test(pipeline, refuses_positions_that_are_none)
{
	struct gyre_position position = GYRE_LAST;

	begin_with(only_a);
	trace.text[0] = '\0';
	position.where = (enum gyre_where)(GYRE_WHERE_REPLACE + 1);
	cr_expect_eq(gyre_pipeline_add(trace.channel, position, &b, &trace), -EINVAL);
	position = GYRE_FIRST;
	position.other = "a";
	cr_expect_eq(gyre_pipeline_add(trace.channel, position, &b, &trace), -EINVAL);
	position.where = GYRE_WHERE_LAST;
	cr_expect_eq(gyre_pipeline_add(trace.channel, position, &b, &trace), -EINVAL);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_BEFORE(NULL), &b, &trace), -EINVAL);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_AFTER(NULL), &b, &trace), -EINVAL);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_REPLACE(NULL), &b, &trace), -EINVAL);
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("a.complete");
	end();
}

Test(pipeline, knows_a_handler_by_the_name_that_its_position_gave_it)
{
	struct gyre_position second = GYRE_AFTER("a");

	second.name = "second";
	begin_with(only_a);
	cr_expect_eq(gyre_pipeline_add(trace.channel, second, &a, &trace), 0);
	cr_expect_eq(gyre_pipeline_add(trace.channel, second, &b, &trace), -EEXIST);
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_BEFORE("second"), &b, &trace), 0);
	cr_expect_neq(gyre_pipeline_get(trace.channel, "second"),
		      gyre_pipeline_get(trace.channel, "a"));
	trace.text[0] = '\0';
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("a.complete b.complete a.complete");
	cr_expect_eq(gyre_pipeline_remove(trace.channel, "second"), 0);
	cr_expect_null(gyre_pipeline_get(trace.channel, "second"));
	second.where = GYRE_WHERE_REPLACE;
	second.name = "a"; /* of the one that goes */
	cr_expect_eq(gyre_pipeline_add(trace.channel, second, &c, &trace), 0);
	trace.text[0] = '\0';
	gyre_context_fire_read_complete(&trace.channel->pipeline.head.head);
	expect_trace("c.complete b.complete");
	cr_expect_null(gyre_pipeline_get(trace.channel, "c"));
	end();
}

static int refuse(struct gyre_handler_context *ctx)
{
	note(ctx, "refused");
	return -EPERM;
}

Test(pipeline, is_without_a_handler_that_refused_to_be_added)
{
	static const struct gyre_handler refusing = {
		.name = "refusing", .added = refuse, .removed = on_removed, .read = on_read
	};

	begin_with(only_a);
	trace.text[0] = '\0';
	cr_expect_eq(gyre_pipeline_add(trace.channel, GYRE_FIRST, &refusing, &trace), -EPERM);
	receive_something();
	cr_assert(until_traced("a.complete"));
	expect_trace("refusing.refused a.read a.complete");
	end();
}

/* ---- changes from inside ---- */

static void read_and_go(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	gyre_context_remove(ctx);
	gyre_context_remove(ctx);
	gyre_context_fire_read(ctx, data);
}

static void read_and_answer_gone(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	(void)gyre_pipeline_remove(gyre_context_channel(ctx), "a");
	gyre_context_remove(ctx);
	(void)gyre_context_write(ctx, data);
}

static void read_and_remove_next(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	(void)gyre_pipeline_remove(gyre_context_channel(ctx), "b");
	gyre_context_remove(ctx);
	gyre_context_fire_read(ctx, data);
}

static void read_and_replace(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	(void)gyre_pipeline_add(gyre_context_channel(ctx), GYRE_REPLACE("first"), &c,
				gyre_context_arg(ctx));
	gyre_context_fire_read(ctx, data);
}

static void read_and_add(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	note(ctx, "read");
	(void)gyre_pipeline_add(gyre_context_channel(ctx), GYRE_LAST, &c, gyre_context_arg(ctx));
	gyre_context_fire_read(ctx, data);
}

static void check_change(gyre_read_fn read, const char *first_read, const char *second_read)
{
	const struct gyre_handler first = { .name = "first", .removed = on_removed, .read = read };
	const struct gyre_handler *const handlers[] = { &a, &first, &b, NULL };

	begin_with(handlers);
	trace.text[0] = '\0';
	receive_something();
	cr_assert(until_traced("complete"));
	expect_trace(first_read);
	receive_something();
	rig_settle(&rig);
	expect_trace(second_read);
	end();
}

Test(pipeline, lets_a_handler_remove_itself_and_still_pass_on)
{
	check_change(read_and_go, "a.read first.read first.removed b.read a.complete b.complete",
		     "a.read b.read a.complete b.complete");
}

Test(pipeline, lets_a_handler_remove_all_before_it_and_still_write)
{
	check_change(read_and_answer_gone, "a.read first.read a.removed first.removed b.complete",
		     "b.read b.complete");
}

Test(pipeline, lets_a_handler_remove_itself_and_the_one_it_passes_on_to)
{
	check_change(read_and_remove_next, "a.read first.read b.removed first.removed a.complete",
		     "a.read a.complete");
}

Test(pipeline, lets_a_handler_be_replaced_by_one_that_gets_what_it_passes_on)
{
	check_change(read_and_replace,
		     "a.read first.read c.added first.removed c.read b.read a.complete "
		     "c.complete b.complete",
		     "a.read c.read b.read a.complete c.complete b.complete");
}

Test(pipeline, lets_a_handler_add_one_that_takes_part_at_once)
{
	check_change(read_and_add,
		     "a.read first.read c.added b.read c.read a.complete b.complete c.complete",
		     "a.read first.read b.read c.read a.complete b.complete c.complete");
}

Test(pipeline, frees_the_places_of_removed_handlers_when_none_can_be_running)
{
	begin_with(a_and_b);
	cr_assert_eq(gyre_pipeline_remove(trace.channel, "a"), 0);
	cr_expect_not_null(trace.channel->pipeline.removed);
	rig_settle(&rig);
	cr_expect_null(trace.channel->pipeline.removed);
	end();
}

/* ---- what is thrown ---- */

static void read_and_throw(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);

	trace.error = gyre_throw_with(stack, -EIO, gyre_new(stack, load, 1));
	gyre_context_fire_read(ctx, data);
}

static const struct gyre_handler throwing = { .name = "throwing", .read = read_and_throw };
static const struct gyre_handler *const throwing_only[] = { &throwing, NULL };

/* It would be the cause of the next failure of whatever actor on the loop. */
Test(pipeline, destroys_a_message_that_a_handler_has_thrown)
{
	begin_with(throwing_only);
	receive_something();
	rig_settle(&rig);
	cr_expect_eq(trace.error, -EIO);
	cr_expect_eq(destroyed, 1);
	cr_expect_not(rig_stack(&rig)->caused);
	end();
}
