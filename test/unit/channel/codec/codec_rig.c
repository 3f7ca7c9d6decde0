#include "codec_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/class_log.h"
#include "actor/stack/stack.h"
#include "channel/codec/codec_error.h"

enum { TICK_NS = 1000000, LOG_LINES_MAX = 100 };

static void require(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "codec rig: %s\n", what);
		abort();
	}
}

/* ---- the log ---- */

static struct codec_event *add_event(struct codec_log *log)
{
	require(log->events_count < CODEC_RIG_EVENTS, "too many events");
	return &log->events[log->events_count++];
}

void codec_log_frame(struct codec_log *log, const void *bytes, size_t count)
{
	require(count <= CODEC_RIG_BYTES - log->bytes_count, "too many bytes");
	*add_event(log) = (struct codec_event){ .count = count };
	if (count > 0) {
		memcpy(log->bytes + log->bytes_count, bytes, count);
	}
	log->bytes_count += count;
}

void codec_log_error(struct codec_log *log, int error)
{
	*add_event(log) = (struct codec_event){ .error = error };
}

const char *codec_log_text(const struct codec_log *log)
{
	static char text[CODEC_RIG_TEXT_BYTES];
	size_t used = 0;
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; i < log->events_count; i++) {
		const struct codec_event *event = &log->events[i];

		used += event->error != 0 ? (size_t)snprintf(text + used, sizeof(text) - used,
							     "!%s", codec_error_text(event->error))
					  : (size_t)snprintf(text + used, sizeof(text) - used,
							     "[%.*s]", (int)event->count,
							     (const char *)log->bytes + at);
		at += event->count;
		require(used < sizeof(text), "the log is too long for a text");
	}
	return text;
}

bool codec_log_equal(const struct codec_log *a, const struct codec_log *b)
{
	if (a->events_count != b->events_count || a->bytes_count != b->bytes_count ||
	    memcmp(a->bytes, b->bytes, a->bytes_count) != 0) {
		return false;
	}
	for (size_t i = 0; i < a->events_count; i++) {
		if (a->events[i].error != b->events[i].error ||
		    a->events[i].count != b->events[i].count) {
			return false;
		}
	}
	return true;
}

/* ---- the handler that writes down ---- */

static void last_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct codec_rig *rig = (struct codec_rig *)gyre_context_arg(ctx);
	static unsigned char bytes[CODEC_RIG_BYTES];
	size_t count = gyre_buffer_copy(data, 0, bytes, sizeof(bytes));

	require(count == gyre_buffer_bytes(data), "a frame is too long for the log");
	codec_log_frame(&rig->log, bytes, count);
	gyre_buffer_destroy(data);
	if (rig->on_frame != NULL) {
		rig->on_frame(rig, ctx);
	}
}

static void last_complete(struct gyre_handler_context *ctx)
{
	((struct codec_rig *)gyre_context_arg(ctx))->completes++;
}

static void last_read_end(struct gyre_handler_context *ctx)
{
	struct codec_rig *rig = (struct codec_rig *)gyre_context_arg(ctx);

	rig->read_ends++;
	rig->ended_at = rig->log.events_count;
}

static void last_exception(struct gyre_handler_context *ctx, int error)
{
	struct codec_rig *rig = (struct codec_rig *)gyre_context_arg(ctx);

	codec_log_error(&rig->log, error);
	if (rig->pass_errors) {
		gyre_context_fire_exception(ctx, error);
	}
}

static const struct gyre_handler last = {
	.name = "last",
	.read = last_read,
	.read_complete = last_complete,
	.read_end = last_read_end,
	.exception = last_exception,
};

/* ---- the channel ---- */

/* Kinds of their own, for there are no operations. */
static const struct gy_channel_kind streams = { .name = "stream", .type = GY_CHANNEL_STREAM };
static const struct gy_channel_kind datagrams = {
	.name = "datagram",
	.type = GY_CHANNEL_DATAGRAM,
};

static void pools_of(struct codec_rig *rig, struct gy_pool *pools[GY_BUFFER_POOLS + 1])
{
	gy_buffer_pools_list(&rig->channels.pools, pools);
	pools[GY_BUFFER_POOLS] = &rig->channels.contexts;
}

static void make_owner(struct codec_rig *rig)
{
	rig->home.options.system = (struct gyre_system *)(void *)&rig->homes;
	gy_class_logs_begin(&rig->homes, LOG_LINES_MAX);
	gy_class_logs_init(&rig->home);
	(void)snprintf(rig->class_info.name, sizeof(rig->class_info.name), "rig");
	rig->class_info.log = gy_class_log_get(&rig->home, rig->class_info.name);
	require(rig->class_info.log != NULL, "no log");
	rig->house.class_info = &rig->class_info;
	rig->owner.house = &rig->house;
	rig->channel.endpoint.owner = &rig->owner;
}

/* Who has made a system of its own of the home since has another list of logs there. */
void codec_rig_end_owner(struct codec_rig *rig)
{
	struct gyre_system *system = rig->home.options.system;

	/* Lines of the log may have asked for the address of the channel. */
	gy_channel_mailbox_fini(&rig->channel);
	gy_channel_mailboxes_fini(&rig->channels.mailboxes);
	rig->home.options.system = (struct gyre_system *)(void *)&rig->homes;
	gy_class_log_put(&rig->home, rig->class_info.log);
	rig->home.options.system = system;
}

void codec_rig_init(struct codec_rig *rig)
{
	struct gy_channels *channels = &rig->channels;

	memset(rig, 0, offsetof(struct codec_rig, log));
	rig->log.events_count = 0;
	rig->log.bytes_count = 0;
	gy_sizes_init(&rig->home.parts, "part");
	gy_wheel_init(&rig->home.loop.wheel, TICK_NS, 0);
	rig->home.loop.own_channels = channels;
	channels->home = &rig->home;
	channels->channel_share = CODEC_RIG_RING_PAGES;
	gy_buffer_pools_init(&channels->pools, &rig->home.loop);
	gy_pool_init(&channels->contexts, "context", sizeof(struct gy_context));
	/* As if it were being processed: nobody else does that. */
	rig->channel.endpoint.ready = true;
	rig->channel.endpoint.fd = -1;
	rig->channel.channels = channels;
	rig->channel.kind = &streams;
	rig->channel.state = GY_CHANNEL_OPEN;
	rig->channel.write_low_bytes = CODEC_RIG_BYTES;
	rig->channel.write_high_bytes = CODEC_RIG_BYTES;
	rig->channel.write_max_bytes = CODEC_RIG_BYTES;
	make_owner(rig);
	gy_list_init(&rig->channel.deferred_list);
	gy_pipeline_init(&rig->channel.pipeline, &rig->channel);
	require(gyre_pipeline_add(&rig->channel, GYRE_LAST, &last, rig) == 0, "no last handler");
}

void codec_rig_fini(struct codec_rig *rig)
{
	struct gy_pool *pools[GY_BUFFER_POOLS + 1];

	codec_rig_stage(rig, GY_CHANNEL_CLOSED);
	gy_buffer_queue_clear(&rig->channel.output);
	gy_pipeline_fini(&rig->channel.pipeline);
	gy_deferred_run_all(&rig->channel);
	require(gy_list_empty(&rig->channel.deferred_list), "a chore is left");
	require(rig->home.loop.wheel.count == 0, "a timer is left");
	codec_rig_end_owner(rig);
	pools_of(rig, pools);
	for (size_t i = 0; i < gy_countof(pools); i++) {
		require(gy_pool_fini(pools[i]) == 0, pools[i]->name);
	}
	require(gy_sizes_fini(&rig->home.parts) == 0, "a handler's state is left");
}

void codec_rig_reset(struct codec_rig *rig)
{
	struct gyre_channel *channel = &rig->channel;
	struct gy_pool *pools[GY_BUFFER_POOLS + 1];

	codec_rig_stage(rig, GY_CHANNEL_ABORTED);
	while (channel->pipeline.head.next != channel->pipeline.tail.previous) {
		gyre_context_remove(&channel->pipeline.head.next->head);
	}
	codec_rig_run(rig);
	channel->state = GY_CHANNEL_OPEN;
	channel->kind = &streams;
	channel->reason = 0;
	rig->log.events_count = 0;
	rig->log.bytes_count = 0;
	rig->read_ends = 0;
	gy_buffer_queue_clear(&channel->output);
	channel->output_bytes = 0;
	channel->output_buffers = 0;
	pools_of(rig, pools);
	for (size_t i = 0; i < 4; i++) {
		require(pools[i]->free_count == pools[i]->total, pools[i]->name);
	}
}

int codec_rig_add(struct codec_rig *rig, const struct gyre_handler *handler, const void *options)
{
	return gyre_pipeline_add(&rig->channel, GYRE_BEFORE("last"), handler, options);
}

/* Bytes in a page of their own, which none can be added to any more. */
static struct gyre_buffer *make_slice(struct codec_rig *rig, const void *bytes, size_t count)
{
	struct gyre_buffer *page = gy_buffer_get(&rig->channels.pools);
	struct gyre_buffer *slice = NULL;

	require(page != NULL && gyre_buffer_append(page, bytes, count) == 0 &&
			gyre_buffer_append(page, "", 1) == 0 &&
			gyre_buffer_split(page, count, &slice) == 0,
		"no memory");
	gyre_buffer_destroy(page);
	return slice;
}

struct gyre_buffer *codec_rig_buffer(struct codec_rig *rig, const void *bytes, size_t count,
				     size_t slice_bytes)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig->channels.pools);

	for (size_t at = 0; at < count; at += slice_bytes) {
		size_t part = slice_bytes < count - at ? slice_bytes : count - at;
		struct gyre_buffer *slice =
			make_slice(rig, (const unsigned char *)bytes + at, part);

		require(gyre_buffer_join(buffer, slice) == 0, "no memory");
	}
	return buffer;
}

void codec_rig_run(struct codec_rig *rig)
{
	gy_deferred_run_all(&rig->channel);
	gy_pipeline_sweep(&rig->channel.pipeline);
}

void codec_rig_feed(struct codec_rig *rig, const void *bytes, size_t count, size_t slice_bytes)
{
	struct gyre_buffer *data = codec_rig_buffer(rig, bytes, count, slice_bytes);
	struct gy_stack stack; /* only that there is one */

	rig->channels.stack = &stack;
	if ((rig->channel.state & GY_INPUT_MANUAL) != 0) {
		gy_channel_add_no_read(&rig->channel, GY_NO_READ_NOT_ASKED);
	}
	gyre_context_fire_read(&rig->channel.pipeline.head.head, data);
	rig->channels.stack = NULL;
	gy_pipeline_sweep(&rig->channel.pipeline);
}

void codec_rig_end(struct codec_rig *rig)
{
	struct gy_stack stack;

	rig->channels.stack = &stack;
	gyre_context_fire_read_end(&rig->channel.pipeline.head.head);
	rig->channels.stack = NULL;
	gy_pipeline_sweep(&rig->channel.pipeline);
}

void codec_rig_wait(struct codec_rig *rig, uint64_t time_ns)
{
	struct gy_loop *loop = &rig->home.loop;

	for (uint64_t end_ns = loop->now_ns + time_ns; loop->now_ns < end_ns;) {
		loop->now_ns += TICK_NS;
		gy_wheel_advance(&loop->wheel, loop->now_ns);
		(void)gy_wheel_fire(&loop->wheel);
		codec_rig_run(rig);
	}
}

void codec_rig_stage(struct codec_rig *rig, enum gy_channel_stage stage)
{
	rig->channel.state = (rig->channel.state & ~(uint32_t)GY_CHANNEL_STAGE) | stage;
}

void codec_rig_take_datagrams(struct codec_rig *rig)
{
	rig->channel.kind = &datagrams;
}

void codec_rig_flags(struct codec_rig *rig, uint32_t set, uint32_t clear)
{
	rig->channel.state = (rig->channel.state & ~clear) | set;
}

size_t codec_rig_output(struct codec_rig *rig, void *to, size_t bytes_max)
{
	unsigned char *out = (unsigned char *)to;
	struct gyre_buffer *buffer;
	size_t count = 0;

	while ((buffer = gy_buffer_queue_pop(&rig->channel.output)) != NULL) {
		require(gyre_buffer_bytes(buffer) <= bytes_max - count, "too much output");
		count += gyre_buffer_copy(buffer, 0, out + count, bytes_max - count);
		gyre_buffer_destroy(buffer);
	}
	rig->channel.output_bytes = 0;
	rig->channel.output_buffers = 0;
	return count;
}
