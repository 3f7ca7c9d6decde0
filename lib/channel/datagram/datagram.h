/*
 * The datagram channel: a channel whose socket is not a stream. It shares the pipeline, the state
 * and its consequences with streams. Its bytes come and go in another way, for which it has a table
 * of its own (struct gy_channel_kind) and its own process function.
 *
 * Each datagram is one buffer for handlers. Datagrams come into large buffers of the ring, a group
 * that a loop makes when its first datagram channel is opened. They leave by several sends at once,
 * each of one datagram, or of several of one size to one peer.
 */
#ifndef GY_CHANNEL_DATAGRAM_DATAGRAM_H
#define GY_CHANNEL_DATAGRAM_DATAGRAM_H

#include "channel/connector.h"
#include "channel/output/output.h"

enum {
	GY_DATAGRAM_BYTES_MAX = 65507, /* that fit into a packet of IPv4 */
	GY_DATAGRAM_SENDS_MAX = 64,    /* of one channel, in flight */
};

/* Memory that the datagram channels of a loop share. */
struct gy_datagrams {
	struct gy_page *pages; /* of the ring's buffers for datagrams */
	uint32_t count;
	uint32_t lent;
	uint32_t lent_max;	/* above it what arrives is copied */
	struct gy_list waiters; /* channels that wait for one */
	struct gy_pool channels;
	struct gy_pool sends;
	struct gy_pool gathers;
};

enum gy_datagram_send_flag {
	GY_DATAGRAM_CANCELLED = 1 << 0,
	GY_DATAGRAM_PACKED = 1 << 1, /* gy_datagram_pack() has seen it */
};

/*
 * One datagram, or several of equal size to one peer, from the write to the completion of the send.
 * Datagrams that follow each other in one page are one buffer.
 */
struct gy_datagram_send {
	struct gy_op op;
	union {
		struct gy_list item;	  /* in @sends */
		struct gy_fifo_item link; /* in @failed */
	};
	struct gy_datagram *datagram;
	struct gyre_buffer *first;	   /* of its buffers */
	struct gy_datagram_gather *gather; /* while it is under way, if it needs one */
	uint16_t each;			   /* the bytes of each but the last */
	uint8_t count;			   /* of datagrams */
	uint8_t flags;			   /* enum gy_datagram_send_flag */
	union {
		uint32_t position; /* in @sends: low bits of what was written before it */
		int error;	   /* in @failed */
	};
};

_Static_assert(sizeof(struct gy_datagram_send) == 64, "one cache line");

/* The description of a send of several slices, or of several datagrams. */
struct gy_datagram_gather {
	struct gy_gather gather;
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(uint16_t))];
};

/* The last of @sends, while it can take in what is written next. */
struct gy_datagram_batch {
	struct gy_datagram_send *send;	    /* NULL for none */
	struct gyre_buffer *last;	    /* of its buffers */
	const struct gy_shared_address *to; /* its peer; NULL where the socket has one */
	uint32_t bytes;
	uint32_t slices;
};

struct gy_datagram {
	struct gyre_channel channel;
	struct gy_list sends;	/* all that is written and not sent, in order */
	struct gy_list *unsent; /* the first of them that is not in flight; @sends for none */
	uint32_t sends_count;	/* in flight, which are before that */
	uint32_t sends_max;	/* 1 where the kernel would not keep the order of more */
	struct gy_datagram_batch batch;
	uint64_t written;		  /* what all that was ever queued counted */
	uint32_t peer;			  /* of the last that came, with a reference; or 0 */
	struct gy_shared_address *sender; /* where that stands; NULL for none */
	uint32_t segment_bytes_max;	  /* of datagrams that leave several at once; 0 for never */
	int receive_error;		  /* that handlers have not heard of, or 0 */
	bool again;   /* some before @unsent were refused for now, and go first */
	bool leaving; /* another loop has the socket: what has come is delivered, then it ends */
	bool connected;
	bool can_wait; /* the kernel can tell when there is room */
	bool room_cancelled;
	struct gy_fifo failed;	   /* sends that handlers have not heard of */
	struct gy_op room;	   /* the wait for some in the socket's send buffer */
	struct gy_timer retry;	   /* or, where the kernel cannot tell, for a while */
	uint64_t retry_ns;	   /* the last while, or 0 */
	uint64_t refused_ns;	   /* since when, if @retry_ns is not 0 */
	void (*begins)(void *arg); /* any phase; once its handlers have had their orders; or NULL */
	void (*closes)(void *arg, int fd); /* any phase; before it is closed; may be NULL */
	void (*ended)(void *arg);	   /* in phase 1, when it is; may be NULL */
	void (*leave)(void *arg, int fd);  /* gives the socket to another loop; may be NULL */
	void *ended_arg;		   /* of all four */
};

struct gy_datagram_opening {
	struct gy_channel_opening channel;
	void (*begins)(void *arg);	   /* as above */
	void (*closes)(void *arg, int fd); /* as above, also when the opening fails */
	void (*ended)(void *arg);
	void *ended_arg;
	void (*leave)(void *arg, int fd); /* the loop retires; any phase; may be NULL */
	struct gy_connector *connector;	  /* gives the handlers orders; NULL if none are due */
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

/* The shared memory of a loop, made now if there is none; NULL without memory. */
struct gy_datagrams *gy_datagrams_of(struct gy_channels *channels);
/* The first that waits for one tries again. */
GY_COLD void gy_datagrams_wake_waiter(struct gy_datagrams *datagrams);

/* ---- datagram_input.c ---- */

void gy_datagram_input_init(struct gy_datagram *datagram);
int gy_datagram_receive(struct gyre_channel *channel);
/* The part of @first, which was taken off the input, that is delivered; the rest goes back. */
struct gyre_buffer *gy_datagram_take(struct gyre_channel *channel, struct gyre_buffer *first);

/* ---- datagram_output.c ---- */

int gy_datagram_check_write(const struct gyre_channel *channel, const struct gyre_buffer *data);
int gy_datagram_add(struct gyre_channel *channel, struct gyre_buffer *data);
/* How much @count datagrams of @bytes count for the marks and the cap. */
size_t gy_datagram_cost(size_t bytes, uint32_t count);
/* See struct gy_channel_kind. */
void gy_datagram_count_output(const struct gyre_channel *channel, uint64_t *ret_queued,
			      uint64_t *ret_gone);
/* A send of @first, which it takes; NULL without memory. */
struct gy_datagram_send *gy_datagram_send_of(struct gy_datagram *datagram,
					     struct gyre_buffer *first);
/* Nothing is sent for now: makes what waits take no more memory than it counts. */
GY_COLD void gy_datagram_pack(struct gy_datagram *datagram);
/* Puts before @send all of its datagrams but the last, each as a send of its own; without memory
 * -ENOMEM, and the rest is still in it. */
int gy_datagram_take_apart(struct gy_datagram_send *send);

/* ---- datagram_send.c ---- */

void gy_datagram_output_init(struct gy_datagram *datagram, bool is_unix);
int gy_datagram_start(struct gyre_channel *channel);
/* Whether nothing is queued or under way. */
bool gy_datagram_has_sent_all(const struct gy_datagram *datagram);
/* Tells the handlers of sends that failed. */
void gy_datagram_notify_failures(struct gy_datagram *datagram);
/* Tells the sends under way to end; whether there are none. */
bool gy_datagram_cancel(struct gy_datagram *datagram);
/* Drops what is queued. No send may be under way. */
void gy_datagram_clear(struct gy_datagram *datagram);

#endif
