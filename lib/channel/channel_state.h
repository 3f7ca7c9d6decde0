/*
 * The state of a channel: one word of 32 bits, so that the paths of bytes see with one test that
 * nothing out of the ordinary is to be done. The word holds
 *
 *   the stage of its life, in the lowest three bits; only gy_channel_set_stage() changes it;
 *   the reasons why it does not read; it reads while there is none;
 *   flags about its input, about its output, about what its handlers are to be told or the next
 *   run has to do, and traits that hardly ever change.
 *
 * All bits are distinct, so that a mask may join several groups. Each group has one function that
 * writes it (channel.h). These hold whenever no function of the floor is changing the channel, and
 * gy_channel_check() asserts them:
 *
 *   new                    handlers are still to be told that the channel is active
 *   open                   they have been told
 *   draining               input ended by a drain (GY_INPUT_DRAINED), which implies GY_INPUT_ENDED
 *   closed                 nothing is queued, nothing received and no operation but the close armed
 *   paused                 only while unwritable
 *   waits for buffer       the channel is in a list of waiters, and its reset is not watched for
 *   END_TOLD, FAILED, PEER_ENDED   only with GY_INPUT_ENDED; FAILED has a reason
 *   INPUT_CANCELLED        only while the receive is armed
 *   OUTPUT_CANCELLED       only from closing on
 *   SHUTDOWN_DONE          only after a shutdown was asked for, or from closing on
 *   GATHERED               only while the send is armed
 *   MAILBOX                only with a mailbox
 *   ITEMS_SENT           just while there are items that were sent
 */
#ifndef GY_CHANNEL_CHANNEL_STATE_H
#define GY_CHANNEL_CHANNEL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In the order of a life, in which no step leads back. The values are such that one bit tells the
 * last three from the rest, and two bits the last four.
 */
enum gy_channel_stage {
	GY_CHANNEL_NEW = 0, /* handlers have not been told that it is active */
	GY_CHANNEL_OPEN = 1,
	GY_CHANNEL_DRAINING = 2, /* takes in nothing new; closes when its input is dealt with */
	GY_CHANNEL_CLOSING = 4,	 /* closes when its output has arrived */
	GY_CHANNEL_ABORTED = 5,	 /* closes now */
	GY_CHANNEL_CLOSED = 6,	 /* handlers are gone, the descriptor is being closed */
};

/* Why a channel does not read. */
enum gy_no_read {
	GY_NO_READ_PAUSED = 1 << 3,	      /* output stands over the high mark */
	GY_NO_READ_NOT_ASKED = 1 << 4,	      /* it reads on request, and none is pending */
	GY_NO_READ_WAITS_FOR_BUFFER = 1 << 5, /* in channels->pools.waiting, or of datagrams */
	GY_NO_READ_STARVED = 1 << 6,	      /* memory is short, the loop holds too much, or a
						 datagram socket leaves its loop */
	GY_NO_READ_FULL = 1 << 7,	      /* too many requests are pending */
};

enum gy_input_flag {
	GY_INPUT_ENDED = 1 << 8,       /* nothing will be received any more */
	GY_INPUT_END_TOLD = 1 << 9,    /* and handlers know */
	GY_INPUT_FAILED = 1 << 10,     /* it ended by an error */
	GY_INPUT_PEER_ENDED = 1 << 11, /* the peer sends no more */
	GY_INPUT_DRAINED = 1 << 12,    /* the system or the actor ended it */
	GY_INPUT_MANUAL = 1 << 13,     /* each read is asked for */
	GY_INPUT_CANCELLED = 1 << 14,  /* the receive was told to end */
	GY_INPUT_DISCARDED = 1 << 15,  /* some was thrown away since the last check of lingering */
	GY_INPUT_AWAITED = 1 << 16,    /* the first bytes end the handshake */
};

enum gy_output_flag {
	GY_OUTPUT_UNWRITABLE = 1 << 17, /* over the high mark, and not below the low one since */
	GY_OUTPUT_SHUTDOWN = 1 << 18,	/* no more is taken, and the peer is to know */
	GY_OUTPUT_SHUTDOWN_DONE = 1 << 19,
	GY_OUTPUT_CANCELLED = 1 << 20, /* the send was told to end */
	GY_OUTPUT_GATHERED = 1 << 21,  /* the send under way has a gather */
};

enum gy_event_flag {
	GY_EVENT_ACTIVE = 1 << 22,	    /* handlers are to be told that it is active */
	GY_EVENT_MARK_CROSSED = 1 << 23,    /* or that it is writable, or is not */
	GY_EVENT_TOLD_UNWRITABLE = 1 << 24, /* the last of these that they were told */
	GY_EVENT_DEFERRED = 1 << 25,   /* deferred calls, or places of removed handlers to free */
	GY_EVENT_MAILBOX = 1 << 26,    /* the mailbox has something to do, or awaits a send */
	GY_EVENT_ITEMS_SENT = 1 << 27, /* items of the output were sent, nobody told */
};

enum gy_channel_trait {
	GY_TRAIT_READ_COMPLETE = 1 << 28, /* some handler wants to know when a read is complete */
	GY_TRAIT_BUDGETED = 1 << 29,	  /* its bytes count: see byte_budget.h */
	GY_TRAIT_BY_KIND = 1 << 30,	  /* bytes go through functions of its kind */
};

/* The bits of each group. */
enum {
	GY_CHANNEL_STAGE = 7,
	GY_NO_READ_REASONS = GY_NO_READ_PAUSED | GY_NO_READ_NOT_ASKED |
			     GY_NO_READ_WAITS_FOR_BUFFER | GY_NO_READ_STARVED | GY_NO_READ_FULL,
	GY_INPUT_FLAGS = GY_INPUT_ENDED | GY_INPUT_END_TOLD | GY_INPUT_FAILED |
			 GY_INPUT_PEER_ENDED | GY_INPUT_DRAINED | GY_INPUT_MANUAL |
			 GY_INPUT_CANCELLED | GY_INPUT_DISCARDED | GY_INPUT_AWAITED,
	GY_OUTPUT_FLAGS = GY_OUTPUT_UNWRITABLE | GY_OUTPUT_SHUTDOWN | GY_OUTPUT_SHUTDOWN_DONE |
			  GY_OUTPUT_CANCELLED | GY_OUTPUT_GATHERED,
	GY_EVENT_FLAGS = GY_EVENT_ACTIVE | GY_EVENT_MARK_CROSSED | GY_EVENT_TOLD_UNWRITABLE |
			 GY_EVENT_DEFERRED | GY_EVENT_MAILBOX | GY_EVENT_ITEMS_SENT,
	GY_CHANNEL_TRAITS = GY_TRAIT_READ_COMPLETE | GY_TRAIT_BUDGETED | GY_TRAIT_BY_KIND,
};

/* Several causes at once, of which any counts. */
enum {
	GY_CHANNEL_ENDING = 4,	   /* closing, aborted or closed */
	GY_CHANNEL_DISCARDING = 6, /* or draining: what is received now is thrown away */
	/* A run has more to do than to deliver and to send. */
	GY_CHANNEL_SLOW = GY_CHANNEL_DISCARDING | GY_NO_READ_STARVED | GY_NO_READ_FULL |
			  GY_INPUT_ENDED | GY_INPUT_MANUAL | GY_OUTPUT_UNWRITABLE |
			  GY_OUTPUT_SHUTDOWN | GY_EVENT_ACTIVE | GY_EVENT_MARK_CROSSED |
			  GY_EVENT_DEFERRED | GY_EVENT_MAILBOX | GY_EVENT_ITEMS_SENT,
	/* A send that ends leaves a run to do; and so does one where no read is asked for, if the
	 * channel has to be watched from then on. */
	GY_CHANNEL_SLOW_SENT = GY_CHANNEL_SLOW & ~GY_INPUT_MANUAL,
	GY_CHANNEL_NO_OUTPUT = GY_CHANNEL_ENDING | GY_OUTPUT_SHUTDOWN,
	/* Received bytes stay undelivered. */
	GY_CHANNEL_NO_DELIVERY =
		GY_CHANNEL_ENDING | GY_NO_READ_PAUSED | GY_NO_READ_NOT_ASKED | GY_NO_READ_FULL,
	/* Nothing can be received, or there is nowhere to put it. */
	GY_CHANNEL_NO_RECEIVE = GY_CHANNEL_NO_DELIVERY | GY_NO_READ_WAITS_FOR_BUFFER |
				GY_INPUT_ENDED | GY_NO_READ_STARVED,
	/* Where input is thrown away, these alone keep from receiving it; and being aborted. */
	GY_CHANNEL_NO_DISCARD = GY_NO_READ_WAITS_FOR_BUFFER | GY_INPUT_PEER_ENDED | GY_INPUT_FAILED,
};

static inline enum gy_channel_stage gy_channel_stage_of(uint32_t state)
{
	return (enum gy_channel_stage)(state & GY_CHANNEL_STAGE);
}

/* Whether a channel may go from one stage to the other in one step. */
bool gy_channel_stage_may_follow(enum gy_channel_stage from, enum gy_channel_stage to);
/* "open", or "?" for a value that is none. */
const char *gy_channel_stage_name(enum gy_channel_stage stage);

enum { GY_CHANNEL_STATE_TEXT_BYTES = 512 }; /* that hold any state */

/*
 * Writes the stage, and the names of all other bits that are set, as in
 * "open no-read:paused output:unwritable events:mark-crossed", and returns @text.
 */
char *gy_channel_state_print(uint32_t state, char *text, size_t bytes);

#endif
