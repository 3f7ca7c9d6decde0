/*
 * The life of a channel. Its actor opens it, and processes it after completions and calls. A
 * channel that ends cancels its operations, waits for their final completions, tells its handlers,
 * and closes the descriptor. A channel that closes in good order lingers first; see linger.c. Its
 * two directions may end apart: see half_close.c.
 */
#include "channel/channel.h"
#include "channel/channel_actor.h"
#include "channel/input/input.h"

#include <errno.h>

#include "actor/stack/stack.h"
#include "channel/half_close.h"
#include "channel/output/output.h"
#include "channel/output/water_marks.h"
#include "channel/output/zero_copy.h"
#include "ring/socket.h"

enum { GENERATIONS = 251 }; /* from one channel's operations to the next one's; odd */

/* ---- what handlers hear besides bytes ---- */

static void notify_active(struct gyre_channel *channel)
{
	gy_channel_set_events(channel, 0, GY_EVENT_ACTIVE);
	gy_channel_raise_stage(channel, GY_CHANNEL_OPEN);
	gyre_context_fire_registered(&channel->pipeline.head.head);
	if ((channel->state & GY_CHANNEL_ENDING) == 0) {
		gyre_context_fire_active(&channel->pipeline.head.head);
	}
}

static void notify_writability(struct gyre_channel *channel)
{
	bool unwritable = (channel->state & GY_OUTPUT_UNWRITABLE) != 0;

	gy_channel_set_events(channel, 0, GY_EVENT_MARK_CROSSED);
	if ((channel->state & GY_CHANNEL_ENDING) != 0) {
		return; /* and nobody hears of it later */
	}
	if (unwritable == ((channel->state & GY_EVENT_TOLD_UNWRITABLE) != 0)) {
		return; /* there and back again */
	}
	gy_channel_set_events(channel, unwritable ? GY_EVENT_TOLD_UNWRITABLE : 0,
			      unwritable ? 0 : GY_EVENT_TOLD_UNWRITABLE);
	if ((channel->pipeline.mask & GY_ON_WRITABILITY) != 0) {
		gyre_context_fire_writability(&channel->pipeline.head.head, !unwritable);
	}
}

static void notify_state(struct gyre_channel *channel)
{
	if ((channel->state & GY_EVENT_ITEMS_SENT) != 0) {
		gy_output_notify_items_sent(channel);
	}
	if ((channel->state & GY_EVENT_MARK_CROSSED) != 0) {
		notify_writability(channel);
	}
	if ((channel->state & GY_CHANNEL_ENDING) != 0) {
		if ((channel->state & GY_INPUT_FAILED) != 0) {
			gy_channel_raise_stage(channel, GY_CHANNEL_ABORTED);
		}
		return;
	}
	gy_half_close_notify(channel);
}

/* ---- closing ---- */

static void closed(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, control);

	(void)completion; /* whatever it says, the descriptor is gone */
	gy_assert(gy_channel_is_closed(channel));
	gy_endpoint_closed(&channel->endpoint);
	channel->kind->free(channel);
}

static void close_descriptor(struct gyre_channel *channel)
{
	gy_op_init(&channel->control, closed);
	if (gy_ring_close(channel->channels->pools.ring, &channel->control, channel->endpoint.fd) <
	    0) {
		gy_endpoint_ready(&channel->endpoint); /* to be tried again */
	}
}

static void closed_output(struct gy_op *op, const struct gy_completion *completion)
{
	(void)completion;
	close_descriptor(gy_container_of(op, struct gyre_channel, control));
}

void gy_channel_close(struct gyre_channel *channel)
{
	int r = 0;

	if (channel->kind->close_output != NULL) {
		gy_op_init(&channel->control, closed_output);
		r = channel->kind->close_output(channel);
	}
	if (r < 0) {
		gy_endpoint_ready(&channel->endpoint); /* to be tried again */
	} else if (!channel->control.armed) {
		close_descriptor(channel);
	}
}

/* Afterwards nobody can reach the channel any more. */
void gy_channel_end(struct gyre_channel *channel, bool connected)
{
	struct gyre_handler_context *head = &channel->pipeline.head.head;

	gy_channel_set_stage(channel, GY_CHANNEL_CLOSED);
	gy_assert(!channel->receive.armed && !channel->send.armed);
	gy_linger_stop(channel);
	gy_handshake_stop(channel);
	gy_input_clear(channel);
	gy_output_clear(channel);
	gy_channel_mailbox_end(channel);
	gy_write_promises_end(channel);
	if (connected && !channel->dismissed) {
		gyre_context_fire_inactive(head);
	}
	if (!channel->dismissed) {
		gyre_context_fire_unregistered(head);
	}
	gy_pipeline_fini(&channel->pipeline);
	gy_deferred_run_all(channel); /* of handlers that were removed before */
	gy_assert(gy_list_empty(&channel->deferred_list));
	gy_channel_mailbox_fini(channel);
	gy_zero_copy_leave(channel);
	if (channel->endpoint.owner->channel == channel) {
		gy_channel_actor_lose(channel);
	}
}

void gy_channel_dismiss(struct gyre_channel *channel, int reason)
{
	channel->dismissed = true;
	gy_channel_set_events(channel, 0, GY_EVENT_ACTIVE);
	gy_channel_fail(channel, reason);
}

void gy_channel_finish(struct gyre_channel *channel)
{
	gy_channel_end(channel, true);
	gy_channel_close(channel);
}

/* Whether no operation is under way; those that are will be told to end. */
static bool stop_operations(struct gyre_channel *channel)
{
	bool stopped = gy_input_stop(channel);

	if (channel->send.armed && (channel->state & GY_OUTPUT_CANCELLED) == 0) {
		if (gy_ring_cancel(channel->channels->pools.ring, gy_output_op(channel)) < 0) {
			gy_endpoint_ready(&channel->endpoint);
		} else {
			gy_channel_set_output(channel, GY_OUTPUT_CANCELLED, 0);
		}
	}
	stopped = gy_reset_watch_stop(channel) && stopped;
	if (channel->kind->stop != NULL) {
		stopped = channel->kind->stop(channel) && stopped;
	}
	return stopped && !channel->send.armed && !channel->control.armed;
}

static void update_closing(struct gyre_channel *channel)
{
	if (gy_channel_is_aborted(channel) || gy_linger_is_over(channel)) {
		if ((channel->state & GY_EVENT_ITEMS_SENT) != 0) {
			gy_endpoint_ready(&channel->endpoint);
		}
		/* A run that is due comes first: what was sent in this one is told in that. */
		if (stop_operations(channel) && !channel->endpoint.ready) {
			gy_channel_finish(channel);
		}
		return;
	}
	gy_half_close_send_end(channel);
	if (gy_input_update_receive(channel) < 0) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* ---- processing ---- */

/* Does to the operations what the flags call for. */
static void update_slow(struct gyre_channel *channel)
{
	if (gy_channel_is_ending(channel)) {
		update_closing(channel);
		return;
	}
	if ((channel->state & GY_INPUT_DRAINED) != 0) {
		gy_linger_watch(
			channel); /* it may wait for its output to go, to deliver the rest */
	}
	if ((channel->state & GY_OUTPUT_SHUTDOWN) != 0) {
		gy_half_close_update(channel);
	}
	if (gy_input_update_receive(channel) < 0 ||
	    (channel->state & (GY_EVENT_MARK_CROSSED | GY_EVENT_ITEMS_SENT)) != 0 ||
	    gy_channel_has_deferred(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* Notifies of everything but input; no more input is delivered in this run. */
static void notify_slow(struct gyre_channel *channel)
{
	if (channel->mailbox != NULL) {
		gy_channel_mailbox_run(channel);
	}
	notify_state(channel);
	gy_pipeline_sweep(&channel->pipeline);
	channel->endpoint.ready = false;
	if (channel->mailbox != NULL) {
		gy_channel_mailbox_reschedule(channel);
	}
}

/* Rare work that comes before input. Returns whether the run goes on. */
static GY_COLD bool notify_before_input(struct gyre_channel *channel)
{
	if (gy_channel_is_closed(channel)) {
		channel->endpoint.ready = false;
		gy_channel_close(channel);
		return false;
	}
	if ((channel->state & GY_EVENT_ACTIVE) != 0) {
		notify_active(channel);
	}
	gy_deferred_run_all(channel); /* before input that came later than what they keep */
	if ((channel->state & GY_EVENT_MARK_CROSSED) != 0) {
		notify_writability(channel); /* before input makes it cross the mark again */
	}
	return true;
}

static inline bool deliver(struct gyre_channel *channel)
{
	const uint32_t before =
		GY_EVENT_ACTIVE | GY_CHANNEL_ENDING | GY_EVENT_DEFERRED | GY_EVENT_MARK_CROSSED;

	if (gy_unlikely((channel->state & before) != 0) && !notify_before_input(channel)) {
		return false;
	}
	gy_input_deliver(channel);
	return true;
}

static void notify_rest(struct gyre_channel *channel)
{
	if ((channel->state & GY_CHANNEL_SLOW) != 0) {
		notify_slow(channel);
	} else {
		channel->endpoint.ready = false;
	}
}

bool gy_channel_notify_handlers(struct gyre_channel *channel)
{
	if (!deliver(channel)) {
		return false;
	}
	notify_rest(channel);
	return true;
}

/* The end of a run that has more to do than to deliver and to send. */
static void finish_slow(struct gyre_channel *channel)
{
	notify_rest(channel);
	if (gy_output_start(channel) < 0) {
		gy_endpoint_ready(&channel->endpoint);
	}
	/* What handlers have let in since the input was delivered is for another run. */
	if ((channel->state & GY_CHANNEL_SLOW) != 0 || !channel->receive.armed ||
	    channel->input.first != NULL) {
		update_slow(channel);
	}
}

static void process(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);

	gy_walk(gy_channel_check(channel));
	if (gy_unlikely(!deliver(channel))) {
		return;
	}
	if (gy_unlikely((channel->state & GY_CHANNEL_SLOW) != 0 || !channel->receive.armed)) {
		finish_slow(channel);
		return;
	}
	endpoint->ready = false;
	if (gy_unlikely(gy_output_start(channel) < 0)) {
		gy_endpoint_ready(endpoint);
	}
}

void gy_channel_note_reads(struct gyre_channel *channel)
{
	gy_idle_reads(channel, (channel->state & GY_NO_READ_REASONS) == 0);
	gy_channel_mailbox_note_reads(channel);
}

void gy_channel_drain(struct gy_endpoint *endpoint)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);

	gy_channel_raise_stage(channel, GY_CHANNEL_DRAINING);
	gy_channel_set_input(channel, GY_INPUT_DRAINED | GY_INPUT_ENDED, GY_INPUT_MANUAL);
	gy_channel_remove_no_read(channel, GY_NO_READ_NOT_ASKED);
	gy_channel_ready(channel);
	if ((channel->state & GY_INPUT_END_TOLD) != 0) {
		gy_channel_end_in_order(channel);
	}
}

void gy_channel_abort(struct gy_endpoint *endpoint, int reason)
{
	gy_channel_fail(gy_container_of(endpoint, struct gyre_channel, endpoint), reason);
}

/* A channel that reads on request goes on: its program has decided how much it takes. */
void gy_channel_set_busy(struct gy_endpoint *endpoint, bool busy)
{
	struct gyre_channel *channel = gy_container_of(endpoint, struct gyre_channel, endpoint);
	struct gy_channels *channels = channel->channels;
	bool over = channels->byte_budget.over != 0 && channel->frame_bytes == 0;

	if (channel->exempt) {
		return;
	}
	if ((channel->state & GY_TRAIT_BUDGETED) != 0) {
		gy_output_update_writability(channel);
	}
	if (!busy && !over) {
		gy_channel_remove_no_read(channel, GY_NO_READ_STARVED);
		gy_channel_ready(channel);
	} else if ((channel->state & (GY_INPUT_MANUAL | GY_NO_READ_STARVED)) == 0 &&
		   !gy_channel_is_closed(channel)) {
		gy_count(busy ? &channels->counters.reads_paused
			      : &channels->counters.held_reads_paused,
			 1);
		gy_channel_add_no_read(channel, GY_NO_READ_STARVED);
		gy_channel_ready(channel);
	}
}

void gy_channel_exempt(struct gyre_channel *channel)
{
	gy_assert(channel->input_charged == 0 && channel->output_bytes == 0);
	channel->exempt = true;
	channel->write_max_bytes = GY_WATER_MARKS_BYTES_MAX;
	gy_channel_set_traits(channel, 0, GY_TRAIT_BUDGETED);
}

static const struct gy_endpoint_ops channel_endpoint_ops = {
	.process = process,
	.drain = gy_channel_drain,
	.abort = gy_channel_abort,
	.set_busy = gy_channel_set_busy,
};

static int receive(struct gyre_channel *channel)
{
	return gy_ring_receive(channel->channels->pools.ring, &channel->receive,
			       channel->endpoint.fd);
}

int gy_stream_receive_once(struct gyre_channel *channel)
{
	return gy_ring_receive_once(channel->channels->pools.ring, &channel->receive,
				    channel->endpoint.fd);
}

void gy_stream_free(struct gyre_channel *channel)
{
	gy_channels_count_closed(channel->channels);
	gy_pool_put(&channel->channels->channels, channel);
}

const struct gy_channel_kind gy_stream_kind = {
	.name = "stream",
	.type = GY_CHANNEL_STREAM,
	.start = gy_output_start,
	.receive = receive,
	.receive_once = gy_stream_receive_once,
	.free = gy_stream_free,
};

/* ---- opening ---- */

static const struct gy_channel_kind *kind_of(int fd)
{
	return gy_socket_is_local(fd) ? &gy_unix_stream_kind : &gy_stream_kind;
}

void gy_channel_become_stream(struct gyre_channel *channel)
{
	channel->endpoint.ops = &channel_endpoint_ops;
	channel->kind = kind_of(channel->endpoint.fd);
}

uint32_t gy_channel_first_state(const struct gyre_channel_options *options)
{
	uint32_t manual = options->manual_read ? GY_INPUT_MANUAL | GY_NO_READ_NOT_ASKED : 0U;

	return GY_CHANNEL_NEW | GY_EVENT_ACTIVE | manual;
}

/*
 * The memory of a channel that has gone serves for the next one. Its operations go on elsewhere, so
 * that nothing meant for those before them is taken for theirs.
 */
static void begin_generations(struct gyre_channel *channel)
{
	uint16_t generation = channel->channels->generation;

	channel->receive.generation = generation;
	channel->send.generation = generation;
	channel->control.generation = generation;
	channel->reset_watch.poll.generation = generation;
	channel->end.generation = generation;
	channel->channels->generation = (uint16_t)(generation + GENERATIONS);
}

static void set_marks(struct gyre_channel *channel, const struct gyre_channel_options *options)
{
	struct gy_water_marks marks = gy_water_marks_of(channel->channels, options);

	channel->write_low_bytes = marks.low_bytes;
	channel->write_high_bytes = marks.high_bytes;
	channel->write_max_bytes = marks.max_bytes;
}

/* The parts that handlers may use from when they are added on. */
static void init_parts(struct gyre_channel *channel, const struct gyre_channel_options *options)
{
	begin_generations(channel);
	set_marks(channel, options);
	gy_list_init(&channel->waiter);
	gy_list_init(&channel->deferred_list);
	channel->half_close = options->allow_half_close;
	channel->keep_reading = options->keep_reading;
	channel->no_linger = options->no_linger;
	if (channel->channels->options.channel_bytes_max != 0) {
		gy_channel_set_traits(channel, GY_TRAIT_BUDGETED, 0);
	}
	gy_linger_init(channel);
	gy_reset_watch_init(channel);
	gy_pipeline_init(&channel->pipeline, channel);
}

/* The time of the handshake runs before: handlers say when they are added that they have one. */
static int add_handlers(struct gyre_channel *channel, struct gy_stack *stack,
			const struct gy_channel_opening *opening)
{
	struct gy_channels *channels = channel->channels;
	struct gy_stack *before = channels->stack;
	int r;

	channels->stack = stack;
	r = gy_handshake_start(channel, opening->options->handshake_ns);
	if (r == 0) {
		r = opening->init(channel, opening->init_arg);
	}
	channels->stack = before;
	return r < 0 ? r : 0;
}

/* A channel that is opened late takes part in the state of its loop. */
static void follow_loop(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;

	gy_channel_set_busy(&channel->endpoint, channels->busy);
	if (channels->aborted) {
		gy_channel_fail(channel, -ESHUTDOWN);
	} else if (channels->draining) {
		gy_channel_drain(&channel->endpoint);
	}
}

int gy_channel_begin(struct gyre_channel *channel, struct gy_stack *stack,
		     const struct gy_channel_opening *opening)
{
	int r;

	gy_assert(gy_channel_stage(channel) == GY_CHANNEL_NEW);
	gy_assert(channel->kind != NULL && channel->endpoint.owner != NULL);
	init_parts(channel, opening->options);
	r = add_handlers(channel, stack, opening);
	if (r < 0) {
		gy_channel_dismiss(channel, r);
		return r;
	}
	gy_channel_ready(channel);
	follow_loop(channel);
	return 0;
}

int gy_channel_open(struct gy_house *house, struct gy_stack *stack,
		    const struct gy_channel_opening *opening)
{
	struct gy_channels *channels = gy_channels_of(house->home);
	struct gyre_channel *channel = (struct gyre_channel *)gy_pool_get(&channels->channels);
	int r = channel == NULL ? -ENOMEM : 0;

	if (r == 0) {
		*channel = (struct gyre_channel){
			.endpoint = { .ops = &channel_endpoint_ops, .fd = opening->fd },
			.channels = channels,
			.state = gy_channel_first_state(opening->options),
			.kind = kind_of(opening->fd),
		};
		r = gy_endpoint_add(&channel->endpoint, house);
	}
	if (r < 0) {
		if (channel != NULL) {
			gy_pool_put(&channels->channels, channel);
		}
		gy_channels_drop(channels, opening->fd);
		return r;
	}
	gy_input_init(channel);
	gy_output_init(channel);
	return gy_channel_begin(channel, stack, opening);
}

/* ---- the public calls that go past the handlers ---- */

void gyre_channel_abort(struct gyre_channel *channel, int reason)
{
	gy_channel_fail(channel, reason);
}

struct gyre_handler_context *gyre_channel_tail(struct gyre_channel *channel)
{
	return &channel->pipeline.tail.head;
}

void gyre_channel_set_auto_read(struct gyre_channel *channel, bool auto_read)
{
	if (auto_read) {
		gy_channel_set_input(channel, 0, GY_INPUT_MANUAL);
		gy_channel_remove_no_read(channel, GY_NO_READ_NOT_ASKED);
		gy_channel_ready(channel);
		gy_channel_set_busy(&channel->endpoint, channel->channels->busy);
	} else if ((channel->state & GY_INPUT_DRAINED) == 0) {
		gy_channel_set_input(channel, GY_INPUT_MANUAL, 0);
		gy_channel_add_no_read(channel, GY_NO_READ_NOT_ASKED);
		gy_channel_remove_no_read(channel, GY_NO_READ_STARVED);
		gy_channel_ready(channel);
	}
}

bool gyre_channel_is_writable(const struct gyre_channel *channel)
{
	return (channel->state & (GY_OUTPUT_UNWRITABLE | GY_CHANNEL_NO_OUTPUT)) == 0;
}

size_t gyre_channel_queued_bytes(const struct gyre_channel *channel)
{
	return gy_channel_queued_bytes(channel);
}

int gyre_channel_reason(const struct gyre_channel *channel)
{
	return channel->reason;
}
