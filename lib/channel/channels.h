/*
 * The shared state of the channels of one loop: the pools of their parts, the pages of the ring,
 * the queue for receive buffers, and the counters. The loop has it as home->loop.own_channels.
 *
 * Pages of the ring are lent to buffers. When three quarters of them are lent, arriving bytes are
 * copied into pages of the pool, so that a program that keeps its input for long cannot stop others
 * from receiving. From half of that on the same is done for channels with much queued output. A
 * page that several receives share is lent when it is full, and returned with the last of its
 * slices.
 */
#ifndef GY_CHANNEL_CHANNELS_H
#define GY_CHANNEL_CHANNELS_H

#include <pthread.h>

#include "actor/home.h"
#include "buffer/page.h"
#include "buffer/pools.h"
#include "channel/channel_mailbox.h"
#include "channel/input/buffer_waiters.h"
#include "channel/input/reset_watch.h"
#include "channel/output/byte_budget.h"

struct gyre_buffer;
struct gyre_channel;
struct gy_datagrams;
struct gy_kept_files;

struct gy_channels_options {
	uint32_t write_low_bytes;
	uint32_t write_high_bytes;
	uint32_t write_max_bytes;
	uint64_t zero_copy_bytes; /* 0 for never */
	uint64_t linger_ns;
	uint64_t channel_bytes_max; /* of all loops; 0 for no limit */
	uint32_t datagram_buffer_count;
	uint32_t datagram_buffer_bytes;
};

/* Written by the loop with gy_count(), read from any thread. */
struct gy_channels_counters {
	uint64_t accepted;
	uint64_t connected;
	uint64_t closed;
	uint64_t bytes_received;
	uint64_t bytes_sent;
	uint64_t reads;
	uint64_t buffer_stalls;
	uint64_t accept_stalls;
	uint64_t linger_timeouts;
	uint64_t zero_copy_sends;
	uint64_t zero_copies_copied;
	uint64_t accepts_paused;
	uint64_t accepts_held;
	uint64_t refused_full;
	uint64_t refused_rate;
	uint64_t refused_report;
	uint64_t reads_paused;
	uint64_t held_periods;
	uint64_t held_reads_paused;
	uint64_t held_refused;
	uint64_t held_closed;
	uint64_t handshake_timeouts;
	uint64_t idle_closed;
	uint64_t write_max_closed;
	uint64_t datagrams_sent;
	uint64_t datagrams_failed;
	uint64_t datagrams_truncated;
	uint64_t datagrams_dropped;
	uint64_t datagram_receives;
	uint64_t datagram_sends;
};

/*
 * A descriptor on its way to its owner inside a message. Should the message be lost the descriptor
 * is still known, and closed at the end.
 */
struct gy_fd_transit {
	struct gy_list item;
	void (*discard)(struct gy_channels *channels, struct gy_fd_transit *transit); /* frees it */
	int fd;		 /* -1 when it had to be closed on the way */
	bool connection; /* accepted, and not the socket of a listener */
};

/* The functions of datagram channels that their loop calls; datagram/datagrams.c has them. */
struct gy_datagrams_ops {
	/* Frees it. Objects that were never returned are logged as errors. */
	void (*fini)(struct gy_channels *channels);
	/* Frees unused memory but for @keep of each pool; whether there is more. */
	bool (*trim)(struct gy_channels *channels, uint32_t keep);
};

/* The functions of kept files that their loop calls; file/kept.c has them. */
struct gy_kept_files_ops {
	/* Closes and frees all that has to do with them. */
	void (*fini)(struct gy_channels *channels);
	/* Closes all that no handle needs. */
	void (*drop_all)(struct gy_channels *channels);
};

struct gy_channels {
	struct gy_buffer_pools pools;
	struct gy_home *home;
	struct gy_stack *stack; /* that handlers of pipelines run with; NULL outside of them */
	struct gy_page *ring_pages;
	uint32_t ring_pages_count;
	uint32_t lent_max; /* of pools.lent; above it what arrives is copied */
	/* Of one channel, in pages: of its queued output, and of what a codec joins. */
	uint32_t channel_share;
	bool pages_are_shared;
	struct gy_channels_options options;

	struct gy_pool channels;
	struct gy_pool contexts;
	struct gy_pool gathers;
	struct gy_pool zero_copies;
	struct gy_kept_files *kept_files;		/* NULL until a file is kept */
	const struct gy_kept_files_ops *kept_files_ops; /* of these */
	void *file_memory; /* what is sent of files is read here; NULL until something is */
	struct gy_datagrams *datagrams; /* NULL until the first datagram channel is opened */
	const struct gy_datagrams_ops *datagrams_ops; /* of these */

	struct gy_buffer_waiters buffer_waiters;
	struct gy_list owners; /* struct gy_endpoints */
	struct gy_channel_mailboxes mailboxes;
	struct gy_reset_watches reset_watches;
	struct gy_byte_budget byte_budget;
	uint32_t open;		    /* endpoints whose descriptor is open */
	uint32_t unclaimed;	    /* accepted descriptors that no worker has taken yet */
	uint32_t lookups;	    /* of gyre_resolve(), under way */
	uint32_t zero_copies_count; /* whose pages the kernel has */
	bool zero_copy_reports;	    /* the kernel can tell whether it copied */
	uint16_t generation;	    /* where those of the next channel's operations begin */
	bool busy;		    /* memory is short: nothing new is taken in */
	bool doors_closed;	    /* nothing listens here any more: the system stops */
	bool draining;
	bool aborted;
	bool leaving; /* the loop retires: nothing new listens here */
	struct gy_channels_counters counters;

	pthread_mutex_t mutex;
	struct gy_list transits; /* under the mutex */
};

int gy_channels_init(struct gy_home *home, const struct gy_channels_options *options);
/* Takes a half made one too, or none. Objects that were never returned are logged as errors. */
void gy_channels_fini(struct gy_home *home);

/* Memory has become short, or is so no longer: all endpoints pause or go on. Any phase. */
void gy_channels_set_busy(struct gy_home *home, bool busy);

/* The loop holds too much, or much less again: all endpoints follow. Any phase. */
void gy_channels_update_limits(struct gy_home *home);

static inline struct gy_channels *gy_channels_of(const struct gy_home *home)
{
	return home->loop.own_channels;
}

static inline const struct gy_channels_counters *gy_channels_counters(const struct gy_home *home)
{
	return &gy_channels_of(home)->counters;
}

extern const struct gy_channel_ops gy_channel_ops;

/* Closes a descriptor that has become nothing, and is not known to the ring; -1 is none. */
void gy_channels_close(struct gy_channels *channels, int fd);
/* Closes a connection, which counts as a channel that was closed. */
void gy_channels_drop(struct gy_channels *channels, int fd);

/* A reader that loads @closed before @accepted and @connected never sees more closed than made. */
static inline void gy_channels_count_closed(struct gy_channels *channels)
{
	gy_store_release(&channels->counters.closed, channels->counters.closed + 1);
}

/* ---- transits, from any thread; @transit has its discard and its descriptor ---- */

void gy_fd_transit_begin(struct gy_channels *channels, struct gy_fd_transit *transit);
/* The descriptor, which is now the caller's. */
int gy_fd_transit_end(struct gy_channels *channels, struct gy_fd_transit *transit);

#endif
