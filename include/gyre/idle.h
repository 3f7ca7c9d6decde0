/*
 * Idle and slow channels. This handler measures progress, which is bytes that have moved, and
 *raises an event when there has been none, or too little, for a time; a peer that sends or takes a
 *byte now and then makes as much progress as the bytes say.
 *
 *	const struct gyre_idle_options options = {
 *		.read_ns = GYRE_SECONDS(30),
 *		.read_bytes_min = 100,
 *		.close = true,
 *	};
 *
 *	r = gyre_pipeline_add_first(channel, gyre_idle_handler(), &options);
 *
 * It is to stand next to the head, where it sees the bytes of the socket. What is written counts as
 * moved when the peer's kernel has acknowledged it; that is looked at eight times in the shortest
 *of the times for output while some is under way, so an event of output may be late by an eighth.
 * Times begin when the channel is active. Time in which the channel does not read, as nobody wants
 * it to, is not held against the peer, nor is time in which there is nothing to be sent, except by
 * @write_ns and @all_ns.
 */
#ifndef GYRE_IDLE_H
#define GYRE_IDLE_H

#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

/**
 * enum gyre_idle_kind - what has been missed
 */
enum gyre_idle_kind {
	GYRE_IDLE_READ = 1,  /* progress of input */
	GYRE_IDLE_WRITE = 2, /* progress of output */
	GYRE_IDLE_ALL = 3,   /* progress of either */
	GYRE_SLOW_READ = 4,  /* the least rate of input */
	GYRE_SLOW_WRITE = 5, /* the least rate of output */
};

/**
 * struct gyre_idle - the event of an idle or a slow channel
 * @kind: what has been missed
 * @count: how often in a row, 1 for the first time
 * @bytes: what has moved in @duration_ns after all
 * @duration_ns: for how long
 */
struct gyre_idle {
	enum gyre_idle_kind kind;
	uint32_t count;
	uint64_t bytes;
	uint64_t duration_ns;
};
GYRE_OWN_MESSAGE_(gyre_idle, 0x20);

/**
 * struct gyre_idle_options - what is measured; what is 0 is not, and something has to be
 * @read_ns: the time without progress of input after which GYRE_IDLE_READ is raised, and again
 *   after as long
 * @write_ns: the same for output, also when there was none
 * @all_ns: the same for both together
 * @read_bytes_min: how many bytes are progress of input; 0 for 1
 * @write_bytes_min: how many bytes are progress of output; 0 for 1
 * @read_rate_min: bytes a second below which GYRE_SLOW_READ is raised
 * @write_rate_min: bytes a second below which GYRE_SLOW_WRITE is raised, while there is output
 * @rate_window_ns: the time over which rates are measured; 0 for 5 s
 * @rate_grace_ns: the time after the channel has become active in which they are not
 * @close: close the channel with -ETIMEDOUT after the event, unless a handler has closed it
 */
struct gyre_idle_options {
	uint64_t read_ns;
	uint64_t write_ns;
	uint64_t all_ns;
	uint64_t read_bytes_min;
	uint64_t write_bytes_min;
	uint64_t read_rate_min;
	uint64_t write_rate_min;
	uint64_t rate_window_ns;
	uint64_t rate_grace_ns;
	bool close;
};

/**
 * gyre_idle_handler() - raises gyre_idle
 *
 * Its argument is a struct gyre_idle_options, which is copied, its name "idle". Options that
 * measure nothing refuse with -EINVAL.
 *
 * Return: the handler.
 * Ownership: stays the library's, and lives for ever.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API const struct gyre_handler *gyre_idle_handler(void);

GYRE_END_DECLS

#endif
