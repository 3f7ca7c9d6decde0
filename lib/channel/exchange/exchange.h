/*
 * The exchange of a channel: two pairs of queues, pending and in flight, one for the requests of
 * the peer and one for the asks of actors.
 *
 * Both rest on what there is for actors. A request is an ask that the channel's address has sent to
 * a stack of the owner; so its answer, its failure and its abandonment come back to the channel as
 * mail. An ask of an actor is mail that the channel keeps until it can be answered.
 *
 * Users' functions are called with no record in hand that they could make invalid: what they may do
 * to the channel shows in its flags, and the exchange itself lives until its run is over.
 */
#ifndef GY_CHANNEL_EXCHANGE_EXCHANGE_H
#define GY_CHANNEL_EXCHANGE_EXCHANGE_H

#include <gyre/exchange.h>

#include "channel/channel.h"

struct gy_requests {
	struct gy_list pending;
	struct gy_list in_flight;   /* in the order of their coming */
	struct gy_list answered;    /* of these, what may be written in any order */
	struct gy_table unanswered; /* of those in flight, by number */
	uint32_t exchange;	    /* its number among those of the channel */
	uint32_t pending_count;
	uint32_t count; /* in flight */
	bool barrier;	/* the one in flight is alone */
};

struct gy_asks {
	struct gy_mails pending;
	struct gy_list in_flight; /* in the order of their writing */
	struct gy_list late;	  /* given up, but the answer may come */
	struct gy_table by_id;	  /* of both, where there are ids */
	uint64_t id;		  /* the latest */
	uint32_t pending_count;
	uint32_t count; /* in flight */
	uint32_t late_count;
	bool barrier; /* the one in flight is alone */
	bool hurried; /* @timer is for those that have become late, while others wait */
	bool overdue; /* it has fired */
	struct gy_timer timer;
	uint64_t silent_ns; /* since when an answer is awaited, and none has come; 0 for none is */
	uint64_t held_ns;   /* the channel does not read; its time is left out up to this; or 0 */
};

struct gy_exchange {
	struct gy_channel_mailbox *mailbox;
	struct gyre_handler_context *ctx;
	const struct gyre_exchange_options *options; /* see shared_options.h */
	bool running;
	bool more;    /* the last run has left something that can be done */
	bool blocked; /* or that can be when output is welcome again */
	bool closed;  /* to be freed when the run is over */
	struct gy_requests requests;
	struct gy_asks asks;
};

/* Whether it may call users' functions. */
static inline bool gy_exchange_is_open(const struct gy_exchange *exchange)
{
	return !exchange->closed && (exchange->mailbox->channel->state & GY_CHANNEL_ENDING) == 0;
}

static inline struct gy_home *gy_exchange_home(const struct gy_exchange *exchange)
{
	return exchange->mailbox->channel->channels->home;
}

/*
 * Whether output is unwelcome for one reason alone, that the channels of the loop hold too much,
 * and part of that is input of this channel which waits until fewer requests are pending. It can go
 * in no other way than by answers. So they are written one after the other has gone.
 */
static inline bool gy_exchange_must_write(const struct gy_exchange *exchange)
{
	const struct gyre_channel *channel = exchange->mailbox->channel;

	return (channel->state & GY_NO_READ_FULL) != 0 &&
	       channel->channels->byte_budget.over != 0 &&
	       channel->input_charged + channel->frame_bytes > 0 &&
	       gy_channel_queued_bytes(channel) == 0;
}

/*
 * Whether a message may be written: while the channel is writable and no region of a file is
 * queued. The marks do not count regions, and a peer that reads nothing could have any number of
 * them queued.
 */
static inline bool gy_exchange_may_write(const struct gy_exchange *exchange)
{
	return gy_exchange_is_open(exchange) && exchange->mailbox->channel->region_bytes == 0 &&
	       ((exchange->mailbox->channel->state & GY_OUTPUT_UNWRITABLE) == 0 ||
		gy_exchange_must_write(exchange));
}

/*
 * Round the call of a user's function that writes a message. How long that is shows only as it is
 * written, in one piece or in several; so the cap is not for it. What is queued stays bounded, by
 * the high mark and one message.
 */
static inline void gy_exchange_begin_message(struct gy_exchange *exchange)
{
	exchange->mailbox->channel->uncapped = true;
}

static inline void gy_exchange_end_message(struct gy_exchange *exchange)
{
	exchange->mailbox->channel->uncapped = false;
}

/* Schedules another run. */
static inline void gy_exchange_ready(struct gy_exchange *exchange)
{
	exchange->more = true;
	gy_channel_mailbox_ready(exchange->mailbox->channel);
}

/* ---- requests.c ---- */

void gy_requests_init(struct gy_exchange *exchange);
/* Answers what can be, and starts what may be. */
void gy_requests_run(struct gy_exchange *exchange);
/* Whether an answer could be written but for the marks. */
bool gy_requests_have_answer(const struct gy_exchange *exchange);
/* Whether some wait to begin, or to be written. */
bool gy_requests_wait(const struct gy_exchange *exchange);
void gy_requests_end(struct gy_exchange *exchange);

/* ---- asks.c ---- */

void gy_asks_init(struct gy_exchange *exchange);
/* Takes an ask of an actor. */
void gy_asks_add(struct gy_exchange *exchange, struct gyre_mail *ask);
/* Writes what may be written. */
void gy_asks_run(struct gy_exchange *exchange);
/* The channel has been connected: only now an answer can come. */
void gy_asks_connected(struct gy_exchange *exchange);
/* The channel reads no more, or again: the time between is not its peer's. */
void gy_asks_note_reads(struct gy_exchange *exchange);
void gy_asks_end(struct gy_exchange *exchange);

#endif
