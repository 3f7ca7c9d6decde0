/*
 * A buffer: a chain of slices of pages, read at its front and appended to at its end. The first
 * slice stands in the buffer itself, so that a small message is one object of one cache line and
 * its page.
 *
 * A buffer belongs to its loop, to whoever has its pointer there, and to one queue at a time.
 */
#ifndef GY_CHANNEL_BUFFER_H
#define GY_CHANNEL_BUFFER_H

#include <gyre/buffer.h>

#include "channel/channels.h"
#include "channel/page.h"

struct gy_slice {
	unsigned char *bytes;
	struct gy_page *page; /* NULL in the first slice of an empty buffer */
	struct gy_slice *next;
	uint32_t count; /* not 0, except there */
	uint32_t peer;	/* in the first slice, of the whole buffer: see peers.h; else 0 */
};

struct gyre_buffer {
	struct gy_slice first;
	struct gy_slice *last;
	struct gy_channels *channels;
	struct gyre_buffer *next; /* in a queue */
	size_t bytes;
};

_Static_assert(sizeof(struct gyre_buffer) == 64, "a small message is one cache line");

/* Buffers in the order of their bytes. */
struct gy_buffer_queue {
	struct gyre_buffer *first;
	struct gyre_buffer *last; /* undefined while @first is NULL */
};

static inline void gy_buffer_queue_push(struct gy_buffer_queue *queue, struct gyre_buffer *buffer)
{
	buffer->next = NULL;
	if (queue->first == NULL) {
		queue->first = buffer;
	} else {
		queue->last->next = buffer;
	}
	queue->last = buffer;
}

static inline struct gyre_buffer *gy_buffer_queue_pop(struct gy_buffer_queue *queue)
{
	struct gyre_buffer *buffer = queue->first;

	if (buffer != NULL) {
		queue->first = buffer->next;
	}
	return buffer;
}

/* A buffer of the first @count bytes of @page, whose reference it takes; NULL without memory. */
static inline struct gyre_buffer *gy_buffer_of_page(struct gy_channels *channels,
						    struct gy_page *page, uint32_t count)
{
	struct gyre_buffer *buffer = (struct gyre_buffer *)gy_pool_get(&channels->buffers);

	if (gy_likely(buffer != NULL)) {
		buffer->first.bytes = page->memory;
		buffer->first.page = page;
		buffer->first.next = NULL;
		buffer->first.count = count;
		buffer->first.peer = 0;
		buffer->last = &buffer->first;
		buffer->channels = channels;
		buffer->bytes = count;
	}
	return buffer;
}

/* An empty buffer; NULL without memory. */
struct gyre_buffer *gy_buffer_get(struct gy_channels *channels);
/* Gives back the slices beyond the first, and the first. */
void gy_buffer_put_slices(struct gyre_buffer *buffer);

static inline void gy_buffer_put(struct gyre_buffer *buffer)
{
	struct gy_channels *channels = buffer->channels;

	if (gy_likely(buffer->first.next == NULL && buffer->first.page != NULL)) {
		gy_page_unref(channels, buffer->first.page);
	} else {
		gy_buffer_put_slices(buffer);
	}
	if (gy_unlikely(buffer->first.peer != 0)) {
		gy_peer_unref(&channels->peers, buffer->first.peer);
	}
	gy_pool_put(&channels->buffers, buffer);
}

/*
 * Room for @count bytes, no more than a page of the pool has, that lie together: they are the end
 * of the buffer from now on. NULL without memory.
 */
unsigned char *gy_buffer_extend(struct gyre_buffer *buffer, uint32_t count);
/* Takes @count bytes, no more than there are, off the front. */
void gy_buffer_consume(struct gyre_buffer *buffer, size_t count);
/* Gives @buffer, which has none, the peer of @from, if that has one. */
static inline void gy_buffer_share_peer(struct gyre_buffer *buffer, const struct gyre_buffer *from)
{
	if (from->first.peer != 0) {
		buffer->first.peer = gy_peer_ref(&buffer->channels->peers, from->first.peer);
	}
}

/* Frees all buffers of a queue. */
void gy_buffer_queue_clear(struct gy_buffer_queue *queue);
/* Moves the bytes out of ring pages, so that those go home now; without memory it changes nothing.
 */
void gy_buffer_leave_ring(struct gyre_buffer *buffer);

#endif
