/*
 * The channel: a connected socket, its two operations and what waits on either side of them.
 *
 * Completions, in phase 1, only append to the input and take off the output; all that handlers hear
 * of happens in phase 2, when the channel is processed. A call of a user or a completion sets
 * flags; what follows from them is worked out in one place, settle() in channel.c, after the
 * handlers have returned.
 */
#ifndef GY_CHANNEL_CHANNEL_H
#define GY_CHANNEL_CHANNEL_H

#include <gyre/channel.h>

#include <errno.h>

#include "buffer/buffer.h"
#include "channel/deferred.h"
#include "channel/endpoint.h"
#include "channel/exchange/channel_mailbox.h"
#include "channel/pipeline.h"
#include "channel/reset_watch.h"

enum {
	GY_CHANNEL_NEW = 1 << 0,       /* handlers have not heard that it is active */
	GY_CHANNEL_PAUSED = 1 << 1,    /* no reading: output stands over the high mark */
	GY_CHANNEL_HELD = 1 << 2,      /* no reading: none was asked for */
	GY_CHANNEL_PARKED = 1 << 3,    /* in channels->pools.waiting */
	GY_CHANNEL_CANCELLED = 1 << 4, /* the receive was told to end */
	GY_CHANNEL_SEND_CANCELLED = 1 << 5,
	GY_CHANNEL_UNWRITABLE = 1 << 6,	   /* over the high mark, and not below the low one since */
	GY_CHANNEL_MARK_CROSSED = 1 << 7,  /* handlers have not heard of it */
	GY_CHANNEL_INPUT_ENDED = 1 << 8,   /* nothing will be received any more */
	GY_CHANNEL_INPUT_TOLD = 1 << 9,	   /* and handlers know */
	GY_CHANNEL_INPUT_FAILED = 1 << 10, /* it ended by an error */
	GY_CHANNEL_SHUTDOWN = 1 << 11,	   /* no more output, and the peer is to know */
	GY_CHANNEL_SHUTDOWN_DONE = 1 << 12,
	GY_CHANNEL_CLOSING = 1 << 13,	/* to be closed when the output has arrived */
	GY_CHANNEL_ABORTED = 1 << 14,	/* to be closed now */
	GY_CHANNEL_CLOSED = 1 << 15,	/* handlers are gone, the descriptor is being closed */
	GY_CHANNEL_MANUAL = 1 << 18,	/* held again after each read */
	GY_CHANNEL_DRAINED = 1 << 19,	/* to be closed when its input is dealt with */
	GY_CHANNEL_MARK_TOLD = 1 << 21, /* what handlers heard last is that it is unwritable */
	GY_CHANNEL_GATHERED = 1 << 22,	/* the send under way has a gather */
	GY_CHANNEL_SWEEP = 1 << 23, /* deferred calls, or places of removed handlers to be freed */
	GY_CHANNEL_COMPLETE = 1 << 24,	 /* some handler wants to know when a read is complete */
	GY_CHANNEL_COUNTED = 1 << 20,	 /* what it holds counts: see held.h */
	GY_CHANNEL_PEER_ENDED = 1 << 25, /* the peer has said that it sends no more */
	GY_CHANNEL_UNHEARD = 1 << 26,	 /* its first bytes end the handshake */
	GY_CHANNEL_NOISY = 1 << 27,	 /* input was thrown away since the last look */
	GY_CHANNEL_STARVED = 1 << 28,  /* no reading: memory is short, or the loop holds too much */
	GY_CHANNEL_DATAGRAM = 1 << 29, /* not a stream: see datagram.h */
	GY_CHANNEL_PIPE = 1 << 30,     /* no socket: see pipe.c */
	GY_CHANNEL_POSTED = 1 << 17,   /* its post has something to do, or awaits a send */
	GY_CHANNEL_FULL = 1U << 31,    /* no reading: too many requests are pending */
	GY_CHANNEL_SENT = 1 << 16, /* regions of files have been sent that nobody has heard of */
};

enum {
	/* There may be more to do than to deliver and to send. */
	GY_CHANNEL_SLOW = GY_CHANNEL_NEW | GY_CHANNEL_UNWRITABLE | GY_CHANNEL_MARK_CROSSED |
			  GY_CHANNEL_INPUT_ENDED | GY_CHANNEL_SHUTDOWN | GY_CHANNEL_CLOSING |
			  GY_CHANNEL_ABORTED | GY_CHANNEL_CLOSED | GY_CHANNEL_MANUAL |
			  GY_CHANNEL_SWEEP | GY_CHANNEL_STARVED | GY_CHANNEL_SENT |
			  GY_CHANNEL_POSTED | GY_CHANNEL_FULL,
	/* There may be operations to settle. */
	GY_CHANNEL_UNSETTLED = GY_CHANNEL_SLOW | GY_CHANNEL_DRAINED,
	GY_CHANNEL_NO_OUTPUT =
		GY_CHANNEL_SHUTDOWN | GY_CHANNEL_CLOSING | GY_CHANNEL_ABORTED | GY_CHANNEL_CLOSED,
	GY_CHANNEL_ENDING = GY_CHANNEL_CLOSING | GY_CHANNEL_ABORTED | GY_CHANNEL_CLOSED,
	GY_CHANNEL_NO_DELIVERY =
		GY_CHANNEL_ENDING | GY_CHANNEL_PAUSED | GY_CHANNEL_HELD | GY_CHANNEL_FULL,
	/* There is nothing to receive, or nowhere to put it. */
	GY_CHANNEL_NO_RECEIVE = GY_CHANNEL_NO_DELIVERY | GY_CHANNEL_PARKED |
				GY_CHANNEL_INPUT_ENDED | GY_CHANNEL_STARVED,
	/* What is received now is thrown away; a drain still delivers what came before it. */
	GY_CHANNEL_DISCARDING = GY_CHANNEL_ENDING | GY_CHANNEL_DRAINED,
	/* And then this alone is a reason not to receive. */
	GY_CHANNEL_NO_DISCARD = GY_CHANNEL_ABORTED | GY_CHANNEL_CLOSED | GY_CHANNEL_PARKED |
				GY_CHANNEL_PEER_ENDED | GY_CHANNEL_INPUT_FAILED,
};

/*
 * What differs between channels of streams and of datagrams, besides the operations of their
 * endpoints. The ways of a request over a stream do not go through it.
 */
struct gy_channel_kind {
	/* Queues a buffer, which is taken; see gyre_context_write(). */
	int (*add)(struct gyre_channel *channel, struct gyre_buffer *data);
	/* What of @data itself keeps it from being queued; 0 for nothing. */
	int (*refusal)(const struct gyre_channel *channel, const struct gyre_buffer *data);
	/* Begins to send what is queued; -EAGAIN when the ring has no room for it. */
	int (*start)(struct gyre_channel *channel);
	/* Arms the receive; likewise. */
	int (*receive)(struct gyre_channel *channel);
	/* The same, of one read; NULL where others do not wait for the same buffers. */
	int (*receive_once)(struct gyre_channel *channel);
	/* Its descriptor is closed. Counts that, and gives the memory back. */
	void (*free)(struct gyre_channel *channel);
};

/* Of the kind that most are, for those that differ from it in part. */
extern const struct gy_channel_kind gy_stream_kind;
int gy_stream_check_write(const struct gyre_channel *channel, const struct gyre_buffer *data);
void gy_stream_free(struct gyre_channel *channel);
int gy_stream_receive_once(struct gyre_channel *channel);

/*
 * In the order of use: what every request touches are the second and the third cache line, which is
 * why the endpoint begins at the end of the first.
 */
struct gyre_channel {
	struct gy_list waiter;	  /* with GY_CHANNEL_PARKED, in channels->pools.waiting; else of
				     @reset_watch, if    that is waiting */
	struct gy_op control;	  /* shutdown, and at last close */
	struct gy_gather *gather; /* of a send of several slices that is under way */
	int reason;
	uint16_t
		last_turn_at; /* calls of the kernel when it had its last turn at receive buffers */
	uint8_t long_turns;   /* so many more in which it receives all there is */
	bool cut;	      /* the last receive ended with the buffer, and there was more */

	struct gy_endpoint endpoint;
	struct gy_op receive;
	struct gy_op send;
	uint32_t flags;
	uint32_t output_buffers;
	struct gy_channels *channels;
	struct gy_buffer_queue input;  /* received, and not delivered */
	struct gy_buffer_queue output; /* written, and not sent; its front may be under way */
	uint32_t output_bytes;
	uint32_t write_high_bytes; /* see marks.h; the others are of less use */
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
	bool dismissed;		      /* never became active: handlers hear nothing */
	bool no_zero_copy;	      /* it does not gain, or cannot be */
	bool expands;		      /* a handler makes a little more of what is written */
	uint8_t large_receive_streak; /* in a row, that there was reason to change @bulk_page */
	bool unconnected : 1;	      /* see connector.h */
	bool uncapped : 1;	      /* what is written now has been let in, however long it is */

	struct gy_reset_watch reset_watch;
	struct gy_context_timer *timers; /* of handlers */
	struct gy_handshake *handshake;	 /* NULL when it is over, or has all the time */
	uint32_t input_charged;		 /* what counts of the input, with GY_CHANNEL_COUNTED */
	uint32_t frame_bytes;		 /* the same of frames that are not complete */
	union {
		struct gy_pipe *pipe;		/* with GY_CHANNEL_PIPE */
		struct gy_connector *connector; /* with @unconnected */
		struct gy_op end;		/* a poll; of Unix streams: see unix_stream.c */
	};
	struct gy_buffer_queue sent; /* regions; with GY_CHANNEL_SENT */
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

/* Whether it can still have handlers. */
static inline bool gy_channel_is_closed(const struct gyre_channel *channel)
{
	return (channel->flags & GY_CHANNEL_CLOSED) != 0;
}

static inline void gy_channel_ready(struct gyre_channel *channel)
{
	if (!gy_channel_is_closed(channel)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* Whether there are deferred calls, and they may deliver. */
static inline bool gy_channel_has_deferred(const struct gyre_channel *channel)
{
	return (channel->flags & (GY_CHANNEL_SWEEP | GY_CHANNEL_NO_DELIVERY)) == GY_CHANNEL_SWEEP &&
	       !gy_list_empty(&channel->deferred_list);
}

/* Sets and clears flags, whose consequences follow after the handlers have returned. */
static inline void gy_channel_set(struct gyre_channel *channel, uint32_t set, uint32_t clear)
{
	if (!gy_channel_is_closed(channel)) {
		channel->flags = (channel->flags & ~clear) | set;
		gy_endpoint_ready(&channel->endpoint);
	}
}

/* The first reason stays. */
static inline void gy_channel_set_reason(struct gyre_channel *channel, int reason)
{
	if (channel->reason == 0) {
		channel->reason = reason;
	}
}

/* What those who wait for a channel that ends are told. */
static inline int gy_channel_failure(const struct gyre_channel *channel)
{
	return channel->reason != 0 ? channel->reason : -EPIPE;
}

/* Ends the channel at once, for a reason. Any phase. */
static inline void gy_channel_fail(struct gyre_channel *channel, int reason)
{
	gy_channel_set_reason(channel, reason);
	gy_channel_set(channel, GY_CHANNEL_ABORTED, 0);
}

/* What comes with a channel: its socket and how it is to be. */
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
 * Tells the handlers what there is to tell, and gives them input; afterwards their wishes are to be
 * settled, unless it returns false.
 */
bool gy_channel_notify_handlers(struct gyre_channel *channel);
/* No operation is under way: tells the handlers of the end and closes the descriptor. */
void gy_channel_finish(struct gyre_channel *channel);
/* The first half of it, which says of what the handlers are told. */
void gy_channel_end(struct gyre_channel *channel, bool inactive, bool unregistered);
/* The second half. */
void gy_channel_close(struct gyre_channel *channel);
/* Of the endpoint. */
void gy_channel_drain(struct gy_endpoint *endpoint);
void gy_channel_abort(struct gy_endpoint *endpoint, int reason);
void gy_channel_set_busy(struct gy_endpoint *endpoint, bool busy);
/* Of one that was not connected, by then: its descriptor is one of a stream. */
void gy_channel_become_stream(struct gyre_channel *channel);
/* The flags of a channel that begins. */
uint32_t gy_channel_flags_of(const struct gyre_channel_options *options);

/* ---- linger.c ---- */

void gy_linger_init(struct gyre_channel *channel);
void gy_linger_stop(struct gyre_channel *channel);
/* Bytes that the peer's kernel has not acknowledged. Our end counts as one. */
uint64_t gy_channel_untaken_bytes(const struct gyre_channel *channel);
/* Sees to it that a channel which is to end does so, also if its peer makes no progress. */
void gy_linger_watch(struct gyre_channel *channel);
/* Whether a channel that is closing may be closed now; else it is watched. */
bool gy_linger_is_over(struct gyre_channel *channel);

/* ---- input.c ---- */

/* Whether there is a use for input, be it only to throw it away. */
static inline bool gy_input_is_wanted(const struct gyre_channel *channel)
{
	uint32_t flags = channel->flags;

	return (flags & ((flags & GY_CHANNEL_DISCARDING) != 0 ? GY_CHANNEL_NO_DISCARD
							      : GY_CHANNEL_NO_RECEIVE)) == 0;
}
/* A completion of a receive. */
void gy_input_received(struct gy_op *op, const struct gy_completion *completion);
/* The same, before it, where @page, which is taken, was received into, and none of the ring's. */
void gy_input_received_page(struct gyre_channel *channel, struct gy_page *page, int32_t result);
void gy_input_init(struct gyre_channel *channel);
/* Frees what handlers have not had. */
void gy_input_clear(struct gyre_channel *channel);
/* Gives the handlers what has been received, as far as they may have it now. */
void gy_input_deliver(struct gyre_channel *channel);
/* Arms, or disarms, the receive as the flags say; -EAGAIN when the ring has no room for it. */
int gy_input_update_receive(struct gyre_channel *channel);
/* What is armed ends, and is armed anew in the way that the kind says by then. */
void gy_input_renew(struct gyre_channel *channel);
/* Sees to it that nothing is received any more; whether that is so already. */
bool gy_input_stop(struct gyre_channel *channel);

#endif
