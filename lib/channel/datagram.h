/*
 * The datagram channel: a channel whose socket is not a stream. What it shares with one are the
 * pipeline, the flags and what follows from them; what differs is how bytes come and go, for which
 * it has a table of its own (struct gy_channel_kind), and its endpoint's process function.
 *
 * Each datagram is one buffer. They come into large buffers of the ring, of which a loop has a
 * group of its own for them, made when its first datagram channel is opened. They leave by several
 * sends at once, each of one datagram, or of several alike to one peer.
 */
#ifndef GY_CHANNEL_DATAGRAM_H
#define GY_CHANNEL_DATAGRAM_H

#include "channel/channel.h"
#include "channel/output.h"

enum {
	GY_DATAGRAM_BYTES_MAX = 65507, /* that fit into a packet of IPv4 */
	GY_DATAGRAM_SENDS_MAX = 64,    /* of one channel, in flight */
};

/* What the datagram channels of a loop share. */
struct gy_datagrams {
	struct gy_page *pages; /* of the ring's buffers for datagrams */
	uint32_t count;
	uint32_t lent;
	uint32_t lent_max;     /* above it what arrives is copied */
	struct gy_list parked; /* channels that wait for one */
	struct gy_pool channels;
	struct gy_pool sends;
};

struct gy_datagram {
	struct gyre_channel channel;
	struct gy_list sends;		   /* in flight */
	struct gy_buffer_queue again;	   /* refused for now, to be sent before all else */
	struct gy_op room;		   /* the wait for some in the socket's send buffer */
	struct gy_timer retry;		   /* or, where the kernel cannot tell, for a while */
	uint64_t retry_ns;		   /* the last while, or 0 */
	struct gy_fifo failed;		   /* sends that handlers have not heard of */
	void (*closes)(void *arg, int fd); /* any phase; before it is closed; may be NULL */
	void (*ended)(void *arg);	   /* in phase 1, when it is; may be NULL */
	void *ended_arg;		   /* of all three */
	uint32_t sends_count;		   /* in both */
	uint32_t sends_max;		   /* 1 where the kernel would not keep the order of more */
	uint32_t peer;			   /* of the last that came, with a reference; or 0 */
	uint32_t segment_bytes_max;	  /* of datagrams that leave several at once; 0 for never */
	int receive_error;		  /* that handlers have not heard of, or 0 */
	void (*leave)(void *arg, int fd); /* gives the socket to another loop; may be NULL */
	bool leaving;			  /* it has: what has come is delivered, then it ends */
	bool connected;
	bool can_wait; /* the kernel can tell when there is room */
	bool room_cancelled;
};

/* A send under way, and what it points to. */
struct gy_datagram_send {
	struct gy_op op;
	struct gy_list item;
	struct gy_link link; /* in @failed */
	struct gy_datagram *datagram;
	struct gy_buffer_queue buffers;
	uint32_t count; /* of them */
	int error;
	bool cancelled;
	struct gy_gather gather;
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(uint16_t))];
};

struct gy_datagram_opening {
	struct gy_channel_opening channel;
	void (*closes)(void *arg, int fd); /* as above, also when the opening fails */
	void (*ended)(void *arg);
	void *ended_arg;
	void (*leave)(void *arg, int fd); /* the loop retires; any phase; may be NULL */
	bool connected;			  /* it has a peer, to which all goes */
	bool is_unix;			  /* to a peer that has no room nothing gets lost */
	bool batched;			  /* alike ones may leave together (GSO) */
};

static inline struct gy_datagram *gy_datagram_of(struct gyre_channel *channel)
{
	return gy_container_of(channel, struct gy_datagram, channel);
}

/* As gy_channel_open(). */
int gy_datagram_open(struct gy_house *house, struct gy_stack *stack,
		     const struct gy_datagram_opening *opening);

/* ---- datagrams.c ---- */

/* What the datagrams of a loop share, made now if there is none; NULL without memory. */
struct gy_datagrams *gy_datagrams_of(struct gy_channels *channels);
void gy_datagrams_fini(struct gy_channels *channels);
bool gy_datagrams_trim(struct gy_channels *channels, uint32_t keep);
/* The last slice of a page of theirs is gone. */
void gy_datagrams_page_return(struct gy_channels *channels, struct gy_page *page);
/* The first that waits for one tries again. */
void gy_datagrams_unpark_first(struct gy_datagrams *datagrams);

/* ---- datagram_input.c ---- */

void gy_datagram_input_init(struct gy_datagram *datagram);
int gy_datagram_receive(struct gyre_channel *channel);

/* ---- datagram_output.c ---- */

void gy_datagram_output_init(struct gy_datagram *datagram, bool is_unix);
/* Whether nothing is queued or under way. */
bool gy_datagram_has_sent_all(const struct gy_datagram *datagram);
int gy_datagram_refusal(const struct gyre_channel *channel, const struct gyre_buffer *data);
int gy_datagram_add(struct gyre_channel *channel, struct gyre_buffer *data);
int gy_datagram_start(struct gyre_channel *channel);
/* Tells the handlers of sends that failed. */
void gy_datagram_tell_failures(struct gy_datagram *datagram);
/* Tells the sends under way to end; whether there are none. */
bool gy_datagram_cancel(struct gy_datagram *datagram);

#endif
