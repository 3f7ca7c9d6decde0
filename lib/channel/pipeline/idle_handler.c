/*
 * The idle handler. A read only adds to a counter and notes the time of the loop's turn; one timer
 * checks at its end whether there was progress, and if so is started for the rest of the time.
 * Output has no such moment, since it moves while no handler runs: so while some is under way the
 * timer checks it in short steps. What the peer's kernel has acknowledged is what was written less
 * what it has not: gy_channel_untaken_bytes() in linger.c. A time in which the channel does not
 * read begins and ends with a call, and is left out: what was measured before it counts on.
 *
 * A timer fires outside of the channel's run, and queues a deferred call: see deferred.h. The call
 * is part of the handler's own memory, for it must not fail to start.
 */
#include <gyre/idle.h>

#include <errno.h>
#include <string.h>

#include "channel/channel.h"

enum { LOOKS = 8 };

static const uint64_t window_default_ns = GYRE_SECONDS(5);

/* The progress in one direction. */
struct flow {
	uint64_t bytes;
	uint64_t marked_bytes; /* when there was progress last */
	uint64_t marked_ns;
	uint64_t least; /* bytes that are progress */
	uint64_t window_bytes;
	uint64_t held_ns; /* of the window, in which nothing was to move */
	bool measured;	  /* the window counts: there was something to move all the time */
};

/* An idle time. */
struct limit {
	uint64_t time_ns; /* 0 for none */
	uint64_t told_ns;
	uint32_t count;
};

struct idle {
	struct gyre_channel *channel;
	struct gy_context *context;
	struct gyre_idle_options options;
	struct gy_deferred_timer timer;
	struct flow read;
	struct flow write;
	struct limit read_limit;
	struct limit write_limit;
	struct limit all_limit;
	uint32_t slow_reads; /* windows in a row */
	uint32_t slow_writes;
	uint64_t written;   /* by handlers */
	uint64_t window_ns; /* begin of the window */
	uint64_t check_ns;  /* step; 0 when output is not measured */
	bool running;
	bool checking; /* output is under way */
	bool held;     /* the channel does not read; its time is counted up to @held_ns */
	uint64_t held_ns;
	bool busy; /* in a call that others may remove it in */
	bool removed;
};

static inline struct idle *idle_of(const struct gyre_handler_context *ctx)
{
	return (struct idle *)ctx->arg;
}

static inline struct gy_loop *loop_of(const struct idle *idle)
{
	return &idle->channel->channels->home->loop;
}

static void moved(struct flow *flow, uint64_t bytes, uint64_t now_ns)
{
	flow->bytes += bytes;
	if (flow->bytes - flow->marked_bytes >= flow->least) {
		flow->marked_bytes = flow->bytes;
		flow->marked_ns = now_ns;
	}
}

/* ---- telling ---- */

static bool is_over(const struct idle *idle)
{
	return idle->removed || !idle->running || (idle->channel->state & GY_CHANNEL_ENDING) != 0;
}

static void tell(struct idle *idle, const struct gyre_idle *event)
{
	struct gyre_handler_context *ctx = &idle->context->head;

	if (is_over(idle)) {
		return;
	}
	gyre_context_fire_event(ctx, &gyre_type_gyre_idle, event);
	if (idle->options.close && !is_over(idle)) {
		gy_count(&idle->channel->channels->counters.idle_closed, 1);
		gy_channel_set_reason(idle->channel, -ETIMEDOUT);
		gyre_context_close(ctx);
	}
}

/* Tells of a limit, which is due when @marked_ns is long enough ago. When it will be due next. */
static uint64_t check(struct idle *idle, struct limit *limit, struct gyre_idle event,
		      uint64_t marked_ns)
{
	uint64_t now_ns = loop_of(idle)->now_ns;
	uint64_t from_ns = marked_ns;

	if (limit->time_ns == 0) {
		return UINT64_MAX;
	}
	if (limit->told_ns > marked_ns) {
		from_ns = limit->told_ns;
	} else {
		limit->count = 0;
	}
	if (now_ns - from_ns >= limit->time_ns) {
		limit->told_ns = now_ns;
		from_ns = now_ns;
		event.count = ++limit->count;
		event.duration_ns = now_ns - marked_ns;
		tell(idle, &event);
	}
	return gy_time_add(from_ns, limit->time_ns);
}

/* ---- rates ---- */

static void check_rate(struct idle *idle, const struct flow *flow, struct gyre_idle event,
		       uint64_t rate_min, uint32_t *count)
{
	uint64_t time_ns = loop_of(idle)->now_ns - idle->window_ns - flow->held_ns;
	double bytes = (double)(flow->bytes - flow->window_bytes);

	if (rate_min == 0 || !flow->measured || time_ns < flow->held_ns) {
		return;
	}
	if (bytes * 1e9 >= (double)rate_min * (double)time_ns) {
		*count = 0;
		return;
	}
	event.count = ++*count;
	event.bytes = flow->bytes - flow->window_bytes;
	event.duration_ns = time_ns;
	tell(idle, &event);
}

static void begin_window(struct idle *idle, uint64_t now_ns)
{
	idle->window_ns = now_ns;
	idle->read.window_bytes = idle->read.bytes;
	idle->write.window_bytes = idle->write.bytes;
	idle->read.measured = true;
	idle->read.held_ns = 0;
	idle->write.measured = idle->checking;
}

/* The end of the present window, or of the grace before the first; never without rates. */
static uint64_t check_rates(struct idle *idle)
{
	const struct gyre_idle_options *options = &idle->options;
	uint64_t now_ns = loop_of(idle)->now_ns;

	if (options->read_rate_min == 0 && options->write_rate_min == 0) {
		return UINT64_MAX;
	}
	if (now_ns < idle->window_ns) {
		return idle->window_ns; /* of the grace */
	}
	if (now_ns - idle->window_ns >= options->rate_window_ns) {
		check_rate(idle, &idle->read, (struct gyre_idle){ .kind = GYRE_SLOW_READ },
			   options->read_rate_min, &idle->slow_reads);
		check_rate(idle, &idle->write, (struct gyre_idle){ .kind = GYRE_SLOW_WRITE },
			   options->write_rate_min, &idle->slow_writes);
		begin_window(idle, now_ns);
	}
	return gy_time_add(idle->window_ns, options->rate_window_ns);
}

/* ---- the timer ---- */

/* How far output has got. */
static void check_output(struct idle *idle, uint64_t now_ns)
{
	uint64_t untaken = gy_channel_untaken_bytes(idle->channel);
	uint64_t taken = idle->written > untaken ? idle->written - untaken : 0;

	if (taken > idle->write.bytes) {
		moved(&idle->write, taken - idle->write.bytes, now_ns);
	}
	if (untaken == 0) {
		idle->checking = false;
		idle->write.measured = false;
	}
}

/* Leaves out the time in which the channel has not read. */
static void leave_out_held(struct idle *idle, uint64_t now_ns)
{
	uint64_t of_window_ns = gy_greater(idle->held_ns, idle->window_ns);

	idle->read.marked_ns += now_ns - gy_greater(idle->held_ns, idle->read.marked_ns);
	idle->read.held_ns += now_ns > of_window_ns ? now_ns - of_window_ns : 0;
	idle->held_ns = now_ns;
}

static void hold(struct idle *idle, uint64_t now_ns)
{
	idle->held = true;
	idle->held_ns = now_ns;
}

static void check_input(struct idle *idle, uint64_t now_ns)
{
	if (idle->held) {
		leave_out_held(idle, now_ns);
	} else if ((idle->channel->state & GY_CHANNEL_NO_RECEIVE) != 0) {
		idle->read.marked_ns = now_ns;
		idle->read.marked_bytes = idle->read.bytes;
		idle->read.measured = false;
	}
}

/* Tells what is due, and says when there will be something to look at. */
static uint64_t check_all(struct idle *idle)
{
	const struct flow *read = &idle->read;
	const struct flow *write = &idle->write;
	uint64_t both_ns = gy_greater(read->marked_ns, write->marked_ns);
	uint64_t next_ns = check(idle, &idle->read_limit,
				 (struct gyre_idle){ .kind = GYRE_IDLE_READ,
						     .bytes = read->bytes - read->marked_bytes },
				 read->marked_ns);

	next_ns = gy_lesser(next_ns,
			    check(idle, &idle->write_limit,
				  (struct gyre_idle){ .kind = GYRE_IDLE_WRITE,
						      .bytes = write->bytes - write->marked_bytes },
				  write->marked_ns));
	next_ns = gy_lesser(next_ns,
			    check(idle, &idle->all_limit,
				  (struct gyre_idle){ .kind = GYRE_IDLE_ALL,
						      .bytes = read->bytes - read->marked_bytes +
							       write->bytes - write->marked_bytes },
				  both_ns));
	return gy_lesser(next_ns, check_rates(idle));
}

static void dispose(struct idle *idle)
{
	gy_sizes_delete(&idle->channel->channels->home->parts, idle, sizeof(*idle));
}

static void check_progress(struct gy_deferred *deferred)
{
	struct idle *idle = gy_container_of(deferred, struct idle, timer.deferred);
	uint64_t now_ns = loop_of(idle)->now_ns;
	uint64_t next_ns;

	if (is_over(idle)) {
		return;
	}
	if (idle->checking) {
		check_output(idle, now_ns);
	}
	check_input(idle, now_ns);
	idle->busy = true;
	next_ns = check_all(idle);
	idle->busy = false;
	if (idle->removed) {
		dispose(idle);
	} else if (!is_over(idle)) {
		uint64_t delay_ns = next_ns > now_ns ? next_ns - now_ns : 0;

		gy_deferred_timer_start(&idle->timer, idle->checking
							      ? gy_lesser(delay_ns, idle->check_ns)
							      : delay_ns);
	}
}

/* ---- the handler ---- */

static void start(struct idle *idle)
{
	uint64_t now_ns = loop_of(idle)->now_ns;

	if (idle->running) {
		return;
	}
	idle->running = true;
	idle->checking = idle->written > 0 && idle->check_ns != 0;
	idle->read.marked_ns = now_ns;
	idle->write.marked_ns = now_ns;
	begin_window(idle, gy_time_add(now_ns, idle->options.rate_grace_ns));
	if ((idle->channel->state & GY_NO_READ_REASONS) != 0) {
		hold(idle, now_ns);
	}
	gy_deferred_timer_start(&idle->timer,
				idle->checking ? idle->check_ns : check_all(idle) - now_ns);
}

/* The step in which output is looked at; 0 when nobody wants to know. */
static uint64_t check_time_ns(const struct gyre_idle_options *options)
{
	uint64_t shortest_ns = UINT64_MAX;

	if (options->write_ns != 0) {
		shortest_ns = options->write_ns;
	}
	if (options->all_ns != 0) {
		shortest_ns = gy_lesser(shortest_ns, options->all_ns);
	}
	if (options->write_rate_min != 0) {
		shortest_ns = gy_lesser(shortest_ns, options->rate_window_ns);
	}
	return shortest_ns == UINT64_MAX ? 0 : shortest_ns / LOOKS + 1;
}

static int added(struct gyre_handler_context *ctx)
{
	struct gyre_channel *channel = ctx->channel;
	struct gyre_idle_options options = *(const struct gyre_idle_options *)ctx->arg;
	struct idle *idle;

	if ((options.read_ns | options.write_ns | options.all_ns | options.read_rate_min |
	     options.write_rate_min) == 0) {
		return -EINVAL;
	}
	if (options.rate_window_ns == 0) {
		options.rate_window_ns = window_default_ns;
	}
	idle = (struct idle *)gy_sizes_new(&channel->channels->home->parts, sizeof(*idle));
	if (idle == NULL) {
		return -ENOMEM;
	}
	*idle = (struct idle){
		.channel = channel,
		.context = gy_context_of(ctx),
		.options = options,
		.read.least = options.read_bytes_min == 0 ? 1 : options.read_bytes_min,
		.write.least = options.write_bytes_min == 0 ? 1 : options.write_bytes_min,
		.read_limit.time_ns = options.read_ns,
		.write_limit.time_ns = options.write_ns,
		.all_limit.time_ns = options.all_ns,
		.check_ns = check_time_ns(&options),
	};
	channel->times_reads = true;
	gy_deferred_timer_init(&idle->timer, channel, check_progress);
	ctx->arg = idle;
	if ((channel->state & GY_EVENT_ACTIVE) == 0) {
		start(idle);
	}
	return 0;
}

static void stop(struct idle *idle)
{
	idle->running = false;
	gy_deferred_timer_stop(&idle->timer);
}

static void removed(struct gyre_handler_context *ctx)
{
	struct idle *idle = idle_of(ctx);

	stop(idle);
	idle->removed = true;
	if (!idle->busy) {
		dispose(idle);
	}
}

static void active(struct gyre_handler_context *ctx)
{
	start(idle_of(ctx));
	gyre_context_fire_active(ctx);
}

static void inactive(struct gyre_handler_context *ctx)
{
	stop(idle_of(ctx));
	gyre_context_fire_inactive(ctx);
}

static void read_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct idle *idle = idle_of(ctx);

	moved(&idle->read, data->bytes, loop_of(idle)->now_ns);
	gyre_context_fire_read(ctx, data);
}

/* Bytes are on their way, or refused; in the call the handler may have been removed. */
static int wrote(struct idle *idle, bool was_busy, uint64_t bytes, int r)
{
	idle->busy = was_busy;
	if (idle->removed) {
		if (!was_busy) {
			dispose(idle);
		}
		return r;
	}
	idle->written += r < 0 ? 0 : bytes;
	if (r == 0 && !idle->checking && idle->running && idle->check_ns != 0) {
		idle->checking = true;
		gy_deferred_timer_start(&idle->timer, idle->check_ns);
	}
	return r;
}

static int write_bytes(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct idle *idle = idle_of(ctx);
	uint64_t bytes = data->bytes;
	bool was_busy = idle->busy;

	idle->busy = true;
	return wrote(idle, was_busy, bytes, gyre_context_write(ctx, data));
}

static int send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
		     const struct gyre_file_region *what)
{
	struct idle *idle = idle_of(ctx);
	bool was_busy = idle->busy;

	idle->busy = true;
	return wrote(idle, was_busy, what == NULL ? 0 : what->bytes,
		     gyre_context_send_file(ctx, file, what));
}

static const struct gyre_handler idle_handler = {
	.name = "idle",
	.added = added,
	.removed = removed,
	.active = active,
	.read = read_bytes,
	.inactive = inactive,
	.write = write_bytes,
	.send_file = send_file,
};

static void note_reads(struct idle *idle, bool reads, uint64_t now_ns)
{
	if (idle->held && reads) {
		leave_out_held(idle, now_ns);
		idle->held = false;
	} else if (!idle->held && !reads && idle->running) {
		hold(idle, now_ns);
	}
}

void gy_idle_reads(struct gyre_channel *channel, bool reads)
{
	uint64_t now_ns = channel->channels->home->loop.now_ns;

	for (struct gy_context *context = channel->pipeline.head.next;
	     context != &channel->pipeline.tail; context = context->next) {
		if (context->handler == &idle_handler) {
			note_reads(idle_of(&context->head), reads, now_ns);
		}
	}
}

int gyre_idle_add_sized(struct gyre_channel *channel, struct gyre_position position,
			const struct gyre_idle_options *options, size_t options_bytes)
{
	struct gyre_idle_options ours;
	int r = GY_HANDLER_OPTIONS(gyre_idle_options, channel, &ours, options, options_bytes);

	return r < 0 ? r : gy_pipeline_add(channel, &position, &idle_handler, &ours);
}
