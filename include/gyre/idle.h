/*
 * Idle and slow channels. The idle handler measures progress, which is bytes that have moved, and
 * raises an event after a time without progress, or with too little of it. A peer that moves a byte
 * now and then makes as much progress as these bytes.
 *
 *	const struct gyre_idle_options options = {
 *		.read_ns = GYRE_SECONDS(30),
 *		.read_bytes_min = 100,
 *		.close = true,
 *	};
 *
 *	r = gyre_idle_add(channel, GYRE_FIRST, &options);
 *
 * The handler belongs next to the head, where it sees the bytes of the socket. Written bytes count
 * as moved when the peer's kernel has acknowledged them. While some are under way, this is looked
 * at eight times in the shortest time that is measured for output, so that an event of output may
 * be late by an eighth. Times begin when the channel is active. Time in which the channel itself
 * holds reading back (manual reading, lack of memory) is not held against the peer, nor is time
 * without output to send, except by @write_ns and @all_ns.
 */
#ifndef GYRE_IDLE_H
#define GYRE_IDLE_H

#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

/**
 * enum gyre_idle_kind - how a channel is idle or slow
 * @GYRE_IDLE_READ: no progress of input
 * @GYRE_IDLE_WRITE: no progress of output
 * @GYRE_IDLE_ALL: no progress of either
 * @GYRE_SLOW_READ: input below the least rate
 * @GYRE_SLOW_WRITE: output below the least rate
 */
enum gyre_idle_kind {
	GYRE_IDLE_READ = 1,
	GYRE_IDLE_WRITE = 2,
	GYRE_IDLE_ALL = 3,
	GYRE_SLOW_READ = 4,
	GYRE_SLOW_WRITE = 5,
};

/**
 * struct gyre_idle - the event of an idle or a slow channel
 * @kind: how it is idle or slow
 * @count: how often in a row; 1 for the first time
 * @bytes: the bytes that have moved in @duration_ns nevertheless
 * @duration_ns: the time that was measured
 */
struct gyre_idle {
	enum gyre_idle_kind kind;
	uint32_t count;
	uint64_t bytes;
	uint64_t duration_ns;
};
GYRE_OWN_MESSAGE_(gyre_idle, 0x20);

/**
 * struct gyre_idle_options - what is measured: each field that is not 0, and at least one
 * @read_ns: the time without progress of input after which GYRE_IDLE_READ is raised, and again
 *   after as long
 * @write_ns: likewise for GYRE_IDLE_WRITE, also without any output to send
 * @all_ns: likewise for GYRE_IDLE_ALL, with progress of either
 * @read_bytes_min: how many bytes are progress of input; 0 for 1
 * @write_bytes_min: how many bytes are progress of output; 0 for 1
 * @read_rate_min: bytes a second below which GYRE_SLOW_READ is raised
 * @write_rate_min: bytes a second below which GYRE_SLOW_WRITE is raised, while there is output
 * @rate_window_ns: the time over which rates are measured; 0 for 5 s
 * @rate_grace_ns: the time after the channel became active in which rates are not measured
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

/** gyre_idle_add_sized() - gyre_idle_add() with the size of @options */
GYRE_API int gyre_idle_add_sized(struct gyre_channel *channel, struct gyre_position position,
				 const struct gyre_idle_options *options, size_t options_bytes);

/**
 * gyre_idle_add() - adds a handler that raises gyre_idle
 * @channel: the channel
 * @position: where it goes, as for gyre_pipeline_add()
 * @options: what is measured
 *
 * Its name is "idle".
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @options is NULL, or @options measure nothing
 *   others   as for gyre_pipeline_add()
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_idle_add(struct gyre_channel *channel, struct gyre_position position,
				const struct gyre_idle_options *options)
{
	return gyre_idle_add_sized(channel, position, options, sizeof(*options));
}

GYRE_END_DECLS

#endif
