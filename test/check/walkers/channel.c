/*
 * Damage to a channel: its state, and its queues.
 */
#include "channel/channel.h"

#include "actor/home.h"
#include "walkers.h"

static struct gy_home home;
static struct gy_channels channels;
static struct gyre_channel channel;
static struct gy_page page;
static struct gyre_buffer buffer;
static unsigned char bytes[3];

/* An open channel that has nothing to do. */
static void fill(void)
{
	channels.home = &home;
	channel.channels = &channels;
	channel.kind = &gy_stream_kind;
	channel.state = GY_CHANNEL_OPEN;
	gy_list_init(&channel.waiter);
	gy_list_init(&channel.deferred_list);
	gy_timer_init(&channel.linger, NULL);
}

/* A buffer of three bytes in @queue. */
static void queue(struct gy_buffer_queue *queue)
{
	page = (struct gy_page){
		.memory = bytes,
		.references = 1,
		.bytes = sizeof(bytes),
		.used = sizeof(bytes),
	};
	buffer.first.bytes = bytes;
	buffer.first.page = &page;
	buffer.first.count = sizeof(bytes);
	buffer.last = &buffer.first;
	buffer.bytes = sizeof(bytes);
	gy_buffer_queue_push(queue, &buffer);
}

static void write_bytes(void)
{
	queue(&channel.output);
	channel.output_buffers = 1;
	channel.output_bytes = sizeof(bytes);
}

static void is_open_and_was_never_active(bool damaged)
{
	fill();
	channel.state |= damaged ? GY_EVENT_ACTIVE : 0U;
	gy_channel_check(&channel);
}

static void is_of_no_stage(bool damaged)
{
	fill();
	channel.state |= damaged ? GY_CHANNEL_STAGE : 0U;
	gy_channel_check(&channel);
}

static void has_input_that_failed_and_goes_on(bool damaged)
{
	fill();
	channel.reason = -EIO;
	channel.state |= GY_INPUT_FAILED | (damaged ? 0U : GY_INPUT_ENDED);
	gy_channel_check(&channel);
}

static void is_paused_and_writable(bool damaged)
{
	fill();
	channel.state |= GY_NO_READ_PAUSED | (damaged ? 0U : GY_OUTPUT_UNWRITABLE);
	gy_channel_check(&channel);
}

static void waits_for_a_buffer_in_no_list(bool damaged)
{
	static struct gy_list waiting;

	fill();
	gy_list_init(&waiting);
	if (!damaged) {
		gy_list_append(&waiting, &channel.waiter);
	}
	channel.state |= GY_NO_READ_WAITS_FOR_BUFFER;
	gy_channel_check(&channel);
}

static void counts_output_that_is_not_there(bool damaged)
{
	fill();
	write_bytes();
	channel.output_bytes -= damaged;
	gy_channel_check(&channel);
}

static void has_a_damaged_buffer_in_its_output(bool damaged)
{
	fill();
	write_bytes();
	buffer.bytes += damaged;
	channel.output_bytes += damaged;
	gy_channel_check(&channel);
}

static void has_input_with_another_end(bool damaged)
{
	fill();
	queue(&channel.input);
	channel.input.last = damaged ? NULL : &buffer;
	gy_channel_check(&channel);
}

static void is_closed_with_output(bool damaged)
{
	fill();
	write_bytes();
	channel.state = damaged ? GY_CHANNEL_CLOSED : GY_CHANNEL_ABORTED;
	gy_channel_check(&channel);
}

static void has_a_deferred_call_that_nobody_looks_for(bool damaged)
{
	static struct gy_deferred deferred;

	fill();
	gy_list_append(&channel.deferred_list, &deferred.item);
	channel.state |= damaged ? 0U : GY_EVENT_DEFERRED;
	gy_channel_check(&channel);
}

const struct walker_case channel_cases[] = {
	{ "channel: it is open and was never active", is_open_and_was_never_active },
	{ "channel: it is of no stage", is_of_no_stage },
	{ "channel: its input has failed and goes on", has_input_that_failed_and_goes_on },
	{ "channel: it is paused and writable", is_paused_and_writable },
	{ "channel: it waits for a buffer in no list", waits_for_a_buffer_in_no_list },
	{ "channel: its output is not counted", counts_output_that_is_not_there },
	{ "channel: a buffer of its output is damaged", has_a_damaged_buffer_in_its_output },
	{ "channel: its input ends with another buffer", has_input_with_another_end },
	{ "channel: it is closed with output", is_closed_with_output },
	{ "channel: nobody looks for a deferred call", has_a_deferred_call_that_nobody_looks_for },
	{ 0 },
};
