/*
 * The output of a channel: buffers that wait to be sent, of which one send at a time is under way.
 */
#ifndef GY_CHANNEL_OUTPUT_OUTPUT_H
#define GY_CHANNEL_OUTPUT_OUTPUT_H

#include <sys/socket.h>
#include <sys/uio.h>

#include "channel/channel.h"

enum { GY_GATHER_SLICES = 64 };

/* The description of a send of several slices, valid until it is complete. */
struct gy_gather {
	struct msghdr message;
	struct iovec slices[GY_GATHER_SLICES];
};

/*
 * An item of the output that has no bytes of its own, but what sends them, such as a part of a
 * file. It stands in the queue as a buffer without a page, whose bytes are where it is, and is sent
 * by itself, by the channel's one send.
 */
struct gy_output_item;

struct gy_output_item_ops {
	/* Goes on with the item at the front of the output; -EAGAIN when the ring has no room. */
	int (*send)(struct gyre_channel *channel);
	/*
	 * Sends the bytes before @item in the output, and the item, as far as the socket takes them
	 * now. Returns whether that was tried, and then all is seen to: else the bytes are sent by
	 * themselves. NULL for never.
	 */
	bool (*send_with_bytes)(struct gyre_channel *channel, struct gyre_buffer *item);
	/* The item will not be sent; its buffer is off the queue. Phase 2. */
	void (*drop)(struct gyre_channel *channel, struct gyre_buffer *buffer);
	/* The item was sent, and put into channel->sent. Phase 2. */
	void (*notify_sent)(struct gyre_channel *channel, struct gyre_buffer *buffer);
};

struct gy_output_item {
	const struct gy_output_item_ops *ops;
};

static inline bool gy_output_is_item(const struct gyre_buffer *buffer)
{
	return buffer->first.page == NULL && buffer->first.bytes != NULL;
}

static inline struct gy_output_item *gy_output_item_of(const struct gyre_buffer *buffer)
{
	gy_assert(gy_output_is_item(buffer));
	return (struct gy_output_item *)(void *)buffer->first.bytes;
}

/* Tells those who wait of items that have been sent. Phase 2. */
void gy_output_notify_items_sent(struct gyre_channel *channel);

/* Describes as much of @first and those behind it in its queue as fits. */
void gy_gather_buffers(struct gy_gather *gather, const struct gyre_buffer *first);

void gy_output_init(struct gyre_channel *channel);
/* Whether a write of @count bytes would be taken now: 0, -EAGAIN, -EMSGSIZE, -EPIPE. */
int gy_output_check(struct gyre_channel *channel, size_t count);
/* Queues @data, which is taken; see gyre_context_write(). */
int gy_output_add(struct gyre_channel *channel, struct gyre_buffer *data);
/* Sends what is queued, which is something, while no send is under way; -EAGAIN when the ring has
 * no room for it. Any phase. */
int gy_output_send(struct gyre_channel *channel);

/* Sends what is queued, if anything is and no send is under way. */
static inline int gy_output_start(struct gyre_channel *channel)
{
	return channel->output.first == NULL || channel->send.armed ? 0 : gy_output_send(channel);
}

/* The operation of the send that is under way. */
struct gy_op *gy_output_op(struct gyre_channel *channel);
/* The completion of a send. */
void gy_output_sent(struct gy_op *op, const struct gy_completion *completion);
/* Takes @count bytes off the output, which were sent, with all that follows from that. Any phase.
 */
void gy_output_take(struct gyre_channel *channel, uint32_t count);
/*
 * A send of whatever form is complete, and what it sent is off the queue: fails the channel if
 * @result is an error, and starts the next one unless a run is to come first. Phase 1.
 */
void gy_output_send_ended(struct gyre_channel *channel, int32_t result);
/* Drops what is queued. No send may be under way. */
void gy_output_clear(struct gyre_channel *channel);

/*
 * A handler keeps @bytes that were written, 1 at least, which count for the marks and the cap like
 * those that are queued, only that reading goes on: they may wait for something to be read.
 * -ENOBUFS over the cap, and then the channel is being closed.
 */
int gy_output_withhold(struct gyre_channel *channel, size_t bytes);
/*
 * @bytes of a handler's are withheld no more: they have been queued; or dropped, and those who wait
 * for them get @error. They are told when no handler withholds anything.
 */
void gy_output_release(struct gyre_channel *channel, size_t bytes, int error);
/* The most that @bytes become in a channel whose handlers add to what is written. */
size_t gy_output_expanded(const struct gyre_channel *channel, size_t bytes);

/* The high mark was crossed, or a write refused; handlers hear of it later. */
void gy_output_became_unwritable(struct gyre_channel *channel);
void gy_output_became_writable(struct gyre_channel *channel);
/* Becomes unwritable or writable if the budget of the loop says so. */
void gy_output_update_writability(struct gyre_channel *channel);

#endif
