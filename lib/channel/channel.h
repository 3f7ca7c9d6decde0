/*
 * The channel: a connected socket, its receive and its send, and the queues on either side of them.
 *
 * Completions, in phase 1, only append to the input and take bytes off the output. Handlers run in
 * phase 2, when the channel is processed. Calls of the program and completions change the state
 * (channel_state.h); its consequences for the operations are worked out in one place, update_slow()
 * in channel.c, after the handlers have returned.
 */
#ifndef GY_CHANNEL_CHANNEL_H
#define GY_CHANNEL_CHANNEL_H

#include <gyre/channel.h>

#include <errno.h>
#include <sys/uio.h>

#include "buffer/buffer.h"
#include "channel/channel_mailbox.h"
#include "channel/channel_state.h"
#include "channel/endpoint.h"
#include "channel/input/reset_watch.h"
#include "channel/pipeline/deferred.h"
#include "channel/pipeline/pipeline.h"

enum gy_channel_type {
	GY_CHANNEL_STREAM, /* over TCP */
	GY_CHANNEL_UNIX_STREAM,
	GY_CHANNEL_PIPE,     /* no socket: see file/pipe.c */
	GY_CHANNEL_DATAGRAM, /* see datagram/datagram.h */
};

/*
 * What differs between channels of streams, of datagrams and on pipes, besides the operations of
 * their endpoints. A function that is NULL stands for what a stream over TCP does; but those that
 * say otherwise must be there. A request over a stream goes through none of them.
 */
struct gy_channel_kind {
	const char *name;
	enum gy_channel_type type;
	/* With GY_TRAIT_BY_KIND: queues a buffer, which is taken; see gyre_context_write(). */
	int (*add)(struct gyre_channel *channel, struct gyre_buffer *data);
	/* With GY_TRAIT_BY_KIND: the part of @first, which was taken off the input, that is
	 * delivered; the rest goes back. */
	struct gyre_buffer *(*take)(struct gyre_channel *channel, struct gyre_buffer *first);
	/* With GY_TRAIT_BY_KIND: prepares the send of @count slices; -EAGAIN when the ring has no
	 * room for it. The slices stay until it is complete, but for a single one. */
	int (*send)(struct gyre_channel *channel, const struct iovec *slices, uint32_t count);
	/* 0, or why @data cannot be queued however much room there is. */
	int (*check_write)(const struct gyre_channel *channel, const struct gyre_buffer *data);
	/* How much was ever queued, and how much of that has gone, as @output_bytes counts. */
	void (*count_output)(const struct gyre_channel *channel, uint64_t *ret_queued,
			     uint64_t *ret_gone);
	/* Begins to send what is queued; -EAGAIN when the ring has no room for it. Never NULL. */
	int (*start)(struct gyre_channel *channel);
	/* Arms the receive; likewise. NULL only while it is not connected. */
	int (*receive)(struct gyre_channel *channel);
	/*
	 * Tells operations of the kind to end before the channel is closed; returns whether they
	 * have.
	 */
	bool (*stop)(struct gyre_channel *channel);
	/* Arms one read; NULL where others do not wait for the same buffers. */
	int (*receive_once)(struct gyre_channel *channel);
	/* Tells the peer that no more comes, by the control operation, whose function is set;
	 * likewise. */
	int (*shutdown)(struct gyre_channel *channel);
	/* Closes a descriptor that only output has, by that too; arms nothing if there is none. */
	int (*close_output)(struct gyre_channel *channel);
	/* Its descriptor is closed. Counts that, and gives the memory back. Never NULL. */
	void (*free)(struct gyre_channel *channel);
};

/* The kind of streams over TCP, and the parts of it that other kinds share. */
extern const struct gy_channel_kind gy_stream_kind;
void gy_stream_free(struct gyre_channel *channel);
int gy_stream_receive_once(struct gyre_channel *channel);

/*
 * In the order of use: what every request touches are the second and the third cache line, which is
 * why the endpoint begins at the end of the first.
 */
struct gyre_channel {
	struct gy_list waiter; /* while it waits for a buffer, in channels->pools.waiting; else of
				  @reset_watch, if    that is waiting */
	struct gy_op control;  /* shutdown, and at last close */
	struct gy_gather *gather; /* of a send of several slices that is under way */
	int reason;
	uint16_t last_round; /* calls of the kernel when it was last served with receive buffers */
	uint8_t long_rounds; /* so many more in which it receives all there is */
	bool cut;	     /* the last receive ended with the buffer, and there was more */

	struct gy_endpoint endpoint;
	struct gy_op receive;
	struct gy_op send;
	uint32_t state; /* see channel_state.h */
	uint32_t output_buffers;
	struct gy_channels *channels;
	struct gy_buffer_queue input;  /* received, and not delivered */
	struct gy_buffer_queue output; /* written, and not sent; its front may be under way */
	uint32_t output_bytes;
	uint32_t write_high_bytes; /* see water_marks.h; the other marks are used less often */
	struct gy_context *reader; /* the first that handles read */

	struct gy_pipeline pipeline;
	struct gy_channel_mailbox *mailbox; /* NULL until somebody wants to know its address */
	struct gy_list deferred_list;

	/* While it is closing or draining: */
	struct gy_timer linger; /* the next look at the peer's progress */
	uint64_t linger_end_ns; /* when it ends without any */
	uint32_t untaken_bytes; /* as seen at the last look, in its low bits */
	uint32_t write_low_bytes;
	const struct gy_channel_kind *kind;
	bool keep_reading; /* as the options say */
	bool half_close;
	bool no_linger;
	bool no_zero_copy;	      /* it does not gain, or cannot be */
	uint8_t large_receive_streak; /* in a row, that there was reason to change @bulk_page */
	/* A handler adds a byte in so many to what is written, and so many; 0 where none does. */
	uint8_t expand_share;
	uint8_t expand_bytes;
	bool dismissed : 1;	/* never became active: handlers hear nothing */
	bool unconnected : 1;	/* see connector.h */
	bool exempt : 1;	/* see gy_channel_exempt() */
	bool uncapped : 1;	/* what is written now has been let in, however long it is */
	bool unblocked : 1;	/* calls on its socket return at once: see file/region.c */
	bool told_read_end : 1; /* handlers know that the peer has ended its side */
	bool times_reads : 1;	/* has, or had, an idle handler, or asks with a time */

	struct gy_reset_watch reset_watch;
	struct gy_context_timer *timers; /* of handlers */
	struct gy_handshake *handshake;	 /* NULL when it is over, or has all the time */
	uint32_t input_charged;		 /* what counts of the input, with GY_TRAIT_BUDGETED */
	uint32_t frame_bytes;		 /* the same of frames that are not complete */
	union {
		struct gy_pipe *pipe;		/* of a pipe */
		struct gy_connector *connector; /* with @unconnected */
		struct gy_op end;		/* a poll; of Unix streams: see unix_stream.c */
	};
	struct gy_buffer_queue sent; /* items; with GY_EVENT_ITEMS_SENT */
	uint64_t region_bytes;	     /* of regions in the output, not sent */
	struct gy_page
		*large_page; /* to receive into; NULL: those of the ring; see large_receive.c */
	struct gy_zero_copy *zero_copies; /* whose pages the kernel has, the last one first */
	uint32_t withheld_bytes; /* written, and with a handler that cannot pass them on yet */
	uint32_t write_max_bytes;
};

_Static_assert(offsetof(struct gyre_channel, endpoint.ready_link) == GY_CACHE_LINE,
	       "as said above");
_Static_assert(offsetof(struct gyre_channel, pipeline) == 3 * (size_t)GY_CACHE_LINE,
	       "as said above");

static inline size_t gy_channel_queued_bytes(const struct gyre_channel *channel)
{
	return (size_t)channel->output_bytes + channel->withheld_bytes;
}

/* ---- its state; see channel_state.h ---- */

static inline enum gy_channel_stage gy_channel_stage(const struct gyre_channel *channel)
{
	return gy_channel_stage_of(channel->state);
}

static inline bool gy_channel_is_ending(const struct gyre_channel *channel)
{
	return (channel->state & GY_CHANNEL_ENDING) != 0;
}

/* Whether the channel closes without waiting for anything, or is closed. */
static inline bool gy_channel_is_aborted(const struct gyre_channel *channel)
{
	return gy_channel_stage(channel) >= GY_CHANNEL_ABORTED;
}

/* Whether its handlers are gone. */
static inline bool gy_channel_is_closed(const struct gyre_channel *channel)
{
	return gy_channel_stage(channel) == GY_CHANNEL_CLOSED;
}

static inline bool gy_channel_is_datagram(const struct gyre_channel *channel)
{
	return channel->kind->type == GY_CHANNEL_DATAGRAM;
}

static inline bool gy_channel_is_pipe(const struct gyre_channel *channel)
{
	return channel->kind->type == GY_CHANNEL_PIPE;
}

/* Goes to @stage, which must be allowed to follow the present one. */
void gy_channel_set_stage(struct gyre_channel *channel, enum gy_channel_stage stage);

/* Goes to @stage unless the channel is there already, or beyond. */
static inline void gy_channel_raise_stage(struct gyre_channel *channel, enum gy_channel_stage stage)
{
	if (gy_channel_stage(channel) < stage) {
		gy_channel_set_stage(channel, stage);
	}
}

/* The channel reads no more, or again: the time between is not its peer's. */
void gy_channel_note_reads(struct gyre_channel *channel);
void gy_idle_reads(struct gyre_channel *channel, bool reads);

static inline void gy_channel_add_no_read(struct gyre_channel *channel, uint32_t reasons)
{
	gy_assert((reasons & ~(uint32_t)GY_NO_READ_REASONS) == 0);
	channel->state |= reasons;
	if (gy_unlikely(channel->times_reads)) {
		gy_channel_note_reads(channel);
	}
}

static inline void gy_channel_remove_no_read(struct gyre_channel *channel, uint32_t reasons)
{
	gy_assert((reasons & ~(uint32_t)GY_NO_READ_REASONS) == 0);
	channel->state &= ~reasons;
	if (gy_unlikely(channel->times_reads)) {
		gy_channel_note_reads(channel);
	}
}

/* Each of the next four sets and clears flags of its group. */
static inline void gy_channel_set_input(struct gyre_channel *channel, uint32_t set, uint32_t clear)
{
	gy_assert(((set | clear) & ~(uint32_t)GY_INPUT_FLAGS) == 0);
	channel->state = (channel->state & ~clear) | set;
}

static inline void gy_channel_set_output(struct gyre_channel *channel, uint32_t set, uint32_t clear)
{
	gy_assert(((set | clear) & ~(uint32_t)GY_OUTPUT_FLAGS) == 0);
	channel->state = (channel->state & ~clear) | set;
}

static inline void gy_channel_set_events(struct gyre_channel *channel, uint32_t set, uint32_t clear)
{
	gy_assert(((set | clear) & ~(uint32_t)GY_EVENT_FLAGS) == 0);
	channel->state = (channel->state & ~clear) | set;
}

static inline void gy_channel_set_traits(struct gyre_channel *channel, uint32_t set, uint32_t clear)
{
	gy_assert(((set | clear) & ~(uint32_t)GY_CHANNEL_TRAITS) == 0);
	channel->state = (channel->state & ~clear) | set;
}

/* Walks the queues of @channel, and asserts that its state agrees with itself and with them. */
void gy_channel_check(const struct gyre_channel *channel);

/* Sees to it that the channel is processed, where what its state calls for is done. */
static inline void gy_channel_ready(struct gyre_channel *channel)
{
	if (!gy_channel_is_closed(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* Whether there are deferred calls, and they may deliver. */
static inline bool gy_channel_has_deferred(const struct gyre_channel *channel)
{
	return (channel->state & (GY_EVENT_DEFERRED | GY_CHANNEL_NO_DELIVERY)) ==
		       GY_EVENT_DEFERRED &&
	       !gy_list_empty(&channel->deferred_list);
}

/* The first reason stays. */
static inline void gy_channel_set_reason(struct gyre_channel *channel, int reason)
{
	if (channel->reason == 0) {
		channel->reason = reason;
	}
}

/* The error for those who wait for a channel that ends. */
static inline int gy_channel_failure(const struct gyre_channel *channel)
{
	return channel->reason != 0 ? channel->reason : -EPIPE;
}

/* Ends the channel at once, for a reason. Any phase. */
static inline void gy_channel_fail(struct gyre_channel *channel, int reason)
{
	gy_channel_set_reason(channel, reason);
	gy_channel_raise_stage(channel, GY_CHANNEL_ABORTED);
	gy_channel_ready(channel);
}

/* Ends the channel when its output has arrived. Any phase. */
static inline void gy_channel_end_in_order(struct gyre_channel *channel)
{
	gy_channel_raise_stage(channel, GY_CHANNEL_CLOSING);
	gy_channel_ready(channel);
}

/* The socket of a new channel, and its options. */
struct gy_channel_opening {
	int fd; /* taken, whatever is returned */
	const struct gyre_channel_options *options;
	int (*init)(struct gyre_channel *channel, void *arg);
	void *init_arg;
};

/*
 * Makes a channel of @house, whose handlers @init adds; they hear of it in the next run. Phase 2,
 * with
 * @stack being the running one. A failure of @init closes the socket again.
 */
int gy_channel_open(struct gy_house *house, struct gy_stack *stack,
		    const struct gy_channel_opening *opening);

/* ---- what all kinds share ---- */

/*
 * Gives a new channel, whose parts and endpoint are made, its handlers. Afterwards it lives until
 * it is closed, also if that fails.
 */
int gy_channel_begin(struct gyre_channel *channel, struct gy_stack *stack,
		     const struct gy_channel_opening *opening);
/*
 * Notifies the handlers of events and delivers input. If it returns true the caller must update the
 * operations.
 */
bool gy_channel_notify_handlers(struct gyre_channel *channel);
/* Tells the handlers of the end and closes the descriptor. No operation may be under way. */
void gy_channel_finish(struct gyre_channel *channel);
/* The first half of it. Handlers are told that it is inactive if it was connected. */
void gy_channel_end(struct gyre_channel *channel, bool connected);
/* Ends the channel at once; its handlers, which have heard of nothing yet, never will but of their
 * removal. Any phase. */
void gy_channel_dismiss(struct gyre_channel *channel, int reason);
/* The second half. */
void gy_channel_close(struct gyre_channel *channel);
/* Functions of the endpoint. */
void gy_channel_drain(struct gy_endpoint *endpoint);
void gy_channel_abort(struct gy_endpoint *endpoint, int reason);
void gy_channel_set_busy(struct gy_endpoint *endpoint, bool busy);
/*
 * For the function that gives it its handlers: they bound what it holds, and somebody is taken for
 * dead if it stands still. So it reads and is writable whatever else takes the memory; its bytes do
 * not count, and have no cap.
 */
void gy_channel_exempt(struct gyre_channel *channel);
/* The channel has been connected: its descriptor is one of a stream. */
void gy_channel_become_stream(struct gyre_channel *channel);
/* The state of a channel that begins. */
uint32_t gy_channel_first_state(const struct gyre_channel_options *options);

/* ---- linger.c ---- */

void gy_linger_init(struct gyre_channel *channel);
void gy_linger_stop(struct gyre_channel *channel);
/* Bytes that the peer's kernel has not acknowledged. Our end counts as one. */
uint64_t gy_channel_untaken_bytes(const struct gyre_channel *channel);
/* Sees to it that a channel which is to end does so, also if its peer makes no progress. */
void gy_linger_watch(struct gyre_channel *channel);
/* Whether a channel that is closing may be closed now; else it is watched. */
bool gy_linger_is_over(struct gyre_channel *channel);

/* ---- handshake_timeout.c ---- */

/* Lets the time run, before handlers are added; 0 is without end. -ENOMEM. */
int gy_handshake_start(struct gyre_channel *channel, uint64_t time_ns);
/* A channel that was not connected then is so now: the time runs from here on. */
void gy_handshake_connected(struct gyre_channel *channel, uint64_t time_ns);
/* The handshake is over, or the channel is. Phase 2. */
void gy_handshake_stop(struct gyre_channel *channel);

/* ---- unix_stream.c ---- */

extern const struct gy_channel_kind gy_unix_stream_kind;

/* ---- large_receive.c ---- */

/*
 * @bytes have come at once to a channel that reads all it gets, and frees it at once. If that goes
 * on to be much the channel receives into a page of its own. Phase 2.
 */
void gy_large_receive_update(struct gyre_channel *channel, size_t bytes);

#endif
