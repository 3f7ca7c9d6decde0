/*
 * The inside of a pipeline: a doubly linked list of places between head and tail.
 *
 * A place knows from its mask what its handler does. Looking for the next one that handles an event
 * walks along the masks; for the two events that count, read and write, each place has the answer
 * at hand. A place that was removed has an empty mask, so that walks pass it by, and lives on until
 * no handler of the pipeline can be running.
 */
#ifndef GY_CHANNEL_PIPELINE_PIPELINE_H
#define GY_CHANNEL_PIPELINE_PIPELINE_H

#include <gyre/channel.h>

#include "channel/channels.h"

/* The functions that a handler has, a bit each. */
enum {
	GY_ON_REGISTERED = 1 << 0,
	GY_ON_ACTIVE = 1 << 1,
	GY_ON_READ = 1 << 2,
	GY_ON_READ_COMPLETE = 1 << 3,
	GY_ON_EVENT = 1 << 4,
	GY_ON_WRITABILITY = 1 << 5,
	GY_ON_EXCEPTION = 1 << 6,
	GY_ON_INACTIVE = 1 << 7,
	GY_ON_UNREGISTERED = 1 << 8,
	GY_ON_READ_END = 1 << 9,
	GY_ON_WRITE = 1 << 10,
	GY_ON_FLUSH = 1 << 11,
	GY_ON_READ_REQUEST = 1 << 12,
	GY_ON_SHUTDOWN = 1 << 13,
	GY_ON_CLOSE = 1 << 14,
	GY_ON_SEND_FILE = 1 << 15,
};

/* The most bytes that a handler adds to a write: a head, a delimiter. */
enum { GY_HANDLER_ADDS_BYTES_MAX = 64 };

struct gy_context {
	struct gyre_handler_context head; /* what users' accessors read */
	const struct gyre_handler *handler;
	struct gy_context *next_read;	   /* the next that handles read; once removed, a link */
	struct gy_context *previous_write; /* the one before that handles write */
	struct gy_context *next;
	struct gy_context *previous;
	uint32_t mask;
	bool removed;
	bool named; /* by who has added it; it has room for more */
};

_Static_assert(sizeof(struct gy_context) == 64, "a handler's place is one cache line");

struct gy_pipeline {
	struct gy_context head;
	struct gy_context tail;
	struct gy_context *removed; /* linked by @next_read; their neighbours still lead on */
	uint32_t mask;		    /* of all handlers, without head and tail */
};

/*
 * The handlers of head and tail: the head acts on the channel, the tail disposes of all that no
 * handler kept.
 */
extern const struct gyre_handler gy_head_handler;
extern const struct gyre_handler gy_tail_handler;

static inline struct gy_context *gy_context_of(struct gyre_handler_context *ctx)
{
	return gy_container_of(ctx, struct gy_context, head);
}

/* As gyre_pipeline_add(), for handlers of the library; @channel and @handler are not NULL. */
int gy_pipeline_add(struct gyre_channel *channel, const struct gyre_position *position,
		    const struct gyre_handler *handler, const void *arg);
/* Copies the options of such a handler as gy_sized_read() does; -EINVAL without a channel. */
int gy_pipeline_read_options(const struct gyre_channel *channel, void *ours, size_t ours_bytes,
			     const void *given, size_t given_bytes, const char *name);

#define GY_HANDLER_OPTIONS(NAME, CHANNEL, OURS, GIVEN, GIVEN_BYTES)                              \
	gy_pipeline_read_options((CHANNEL), (OURS), sizeof(struct NAME), (GIVEN), (GIVEN_BYTES), \
				 "struct " #NAME)

void gy_pipeline_init(struct gy_pipeline *pipeline, struct gyre_channel *channel);
/* Removes all handlers, from first to last, and frees their places. */
void gy_pipeline_fini(struct gy_pipeline *pipeline);
/* Frees the places of removed handlers. No handler of this pipeline may be running. */
void gy_pipeline_sweep(struct gy_pipeline *pipeline);
/*
 * A pointer of the library beside the argument, which is the program's. Only places of handlers
 * that were added by another name have one, which is NULL at first.
 */
void **gy_context_own(struct gy_context *context);
/* Puts a place next to another one, on the tail's side, if it is nearer to the head. */
void gy_pipeline_move_behind(struct gy_context *context, struct gy_context *place);

/* A handler is about to get @buffer: a leak is told by its name. */
#if GY_ASSERT_LEVEL >= 2
void gy_context_gets(const struct gy_context *context, struct gyre_buffer *buffer);
#else
static inline void gy_context_gets(const struct gy_context *context,
				   const struct gyre_buffer *buffer)
{
	(void)context;
	(void)buffer;
}
#endif

/* The next place towards the tail that handles @event; the tail handles all. */
static inline struct gy_context *gy_context_next(const struct gy_context *context, uint32_t event)
{
	struct gy_context *next = context->next;

	while ((next->mask & event) == 0) {
		next = next->next;
	}
	return next;
}

/* The next place towards the head that handles @event; the head handles all of them. */
static inline struct gy_context *gy_context_previous(const struct gy_context *context,
						     uint32_t event)
{
	struct gy_context *previous = context->previous;

	while ((previous->mask & event) == 0) {
		previous = previous->previous;
	}
	return previous;
}

#endif
