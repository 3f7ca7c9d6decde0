/*
 * A buffer: a chain of slices of pages, read at its front and appended to at its end. The first
 * slice stands in the buffer itself, so that a small message is one object of one cache line and
 * its page.
 *
 * A buffer belongs to its loop, to whoever has its pointer there, and to one queue at a time.
 */
#ifndef GY_BUFFER_BUFFER_H
#define GY_BUFFER_BUFFER_H

#include <gyre/buffer.h>
#include <gyre/number.h>

#include "base/memory/poison.h"
#include "buffer/page.h"
#include "buffer/pools.h"

/* A piece of so few bytes is copied where there is room behind others: one slice more, and its page
 * with little in it, would cost more. */
enum { GY_BUFFER_COPY_BYTES_MAX = 256 };

enum { GY_READER_BYTES = 32 };

struct gy_house;
struct gy_class_info;

struct gy_slice {
	unsigned char *bytes;
	struct gy_page *page; /* NULL in the first slice of an empty buffer */
	struct gy_slice *next;
	uint32_t count; /* not 0, except there */
	uint32_t peer;	/* in the first slice, the address of the whole buffer (address_table.h);
			   else 0 */
};

struct gyre_buffer {
	struct gy_slice first;
	struct gy_slice *last;
	struct gy_buffer_pools *pools;
	struct gyre_buffer *next; /* in a queue */
	size_t bytes;
#if GY_ASSERT_LEVEL >= 2
	/* The last owner: see buffer_leaks.c. */
	const struct gy_class_info *class_info; /* of the actor; NULL while nobody has had it */
	char reader[GY_READER_BYTES];		/* the handler; empty for the actor itself */
#endif
};

enum { GY_BUFFER_BYTES = 64 }; /* a small message is one cache line, but for who had it last */

#if GY_ASSERT_LEVEL < 2
_Static_assert(sizeof(struct gyre_buffer) == GY_BUFFER_BYTES, "bounds count that much");
#endif

/* A handler of a channel of that class is about to get it, or an actor has made it. */
#if GY_ASSERT_LEVEL >= 2
void gy_buffer_read_by(struct gyre_buffer *buffer, const struct gy_class_info *info,
		       const char *handler);
void gy_buffer_made_by(struct gyre_buffer *buffer, const struct gy_house *house);
#else
static inline void gy_buffer_made_by(const struct gyre_buffer *buffer, const struct gy_house *house)
{
	(void)buffer;
	(void)house;
}
#endif

/* At the end, when some were never given back: logs them. */
void gy_buffer_leaks_log(struct gy_buffer_pools *pools);

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

/* Puts back what was popped. */
static inline void gy_buffer_queue_push_front(struct gy_buffer_queue *queue,
					      struct gyre_buffer *buffer)
{
	buffer->next = queue->first;
	if (queue->first == NULL) {
		queue->last = buffer;
	}
	queue->first = buffer;
}

static inline struct gyre_buffer *gy_buffer_queue_pop(struct gy_buffer_queue *queue)
{
	struct gyre_buffer *buffer = queue->first;

	if (buffer != NULL) {
		queue->first = buffer->next;
	}
	return buffer;
}

/* A buffer of @count bytes of @page, one reference to which it takes; NULL without memory. */
static inline struct gyre_buffer *gy_buffer_of_page(struct gy_buffer_pools *pools,
						    struct gy_page *page, unsigned char *bytes,
						    uint32_t count)
{
	struct gyre_buffer *buffer = (struct gyre_buffer *)gy_pool_get(&pools->buffers);

	if (gy_likely(buffer != NULL)) {
		gy_unpoison(buffer, sizeof(*buffer));
		buffer->first.bytes = bytes;
		buffer->first.page = page;
		buffer->first.next = NULL;
		buffer->first.count = count;
		buffer->first.peer = 0;
		buffer->last = &buffer->first;
		buffer->pools = pools;
		buffer->bytes = count;
#if GY_ASSERT_LEVEL >= 2
		buffer->class_info = NULL;
#endif
	}
	return buffer;
}

/* An empty buffer; NULL without memory. */
struct gyre_buffer *gy_buffer_get(struct gy_buffer_pools *pools);
/* Gives back all slices. */
void gy_buffer_put_slices(struct gyre_buffer *buffer);
/* Gives back one that has no slice, or several. */
void gy_buffer_put_slow(struct gyre_buffer *buffer);

/* Gives back what has no slices any more that count. */
static inline void gy_buffer_put_head(struct gyre_buffer *buffer)
{
	struct gy_buffer_pools *pools = buffer->pools;

	if (gy_unlikely(buffer->first.peer != 0)) {
		gy_address_table_unref(&pools->addresses, buffer->first.peer);
	}
	gy_poison(buffer, sizeof(*buffer));
	gy_pool_put(&pools->buffers, buffer);
}

/* Its calls are the last that it does, so that who does no others saves no registers. */
static inline void gy_buffer_put(struct gyre_buffer *buffer)
{
	struct gy_buffer_pools *pools = buffer->pools;
	struct gy_page *page = buffer->first.page;

	if (gy_unlikely(buffer->first.next != NULL || page == NULL)) {
		gy_buffer_put_slow(buffer);
		return;
	}
	gy_buffer_put_head(buffer);
	gy_page_unref(pools, page);
}

/* Puts @slice in the place of the first; whose buffer it is, and its peer, stay. */
static inline void gy_buffer_set_first(struct gyre_buffer *buffer, const struct gy_slice *slice)
{
	uint32_t peer = buffer->first.peer;

	buffer->first = *slice;
	buffer->first.peer = peer;
}

/* The slice with the byte at @offset, which there is; its own place there in @ret_at. */
const struct gy_slice *gy_buffer_slice_at(const struct gyre_buffer *buffer, size_t offset,
					  size_t *ret_at);
/* Where @what, not empty, stands first between the offsets @from and @to; or -ENOENT. */
int64_t gy_buffer_find_within(const struct gyre_buffer *buffer, size_t from, size_t to,
			      const struct gyre_span *what);
/*
 * Whether a small buffer went into the page of the last slice: what comes a few bytes at a time
 * would take a page for each time.
 */
bool gy_buffer_absorb(struct gyre_buffer *buffer, const struct gyre_buffer *more);
/* Appends the bytes of @more, not empty, as they would be if a program appended them: all or,
 * without memory, none. */
int gy_buffer_append_copy(struct gyre_buffer *buffer, const struct gyre_buffer *more);
/* How many bytes there is room for behind the last one, on a page of this program alone. */
uint32_t gy_buffer_room_behind(const struct gyre_buffer *buffer);
/*
 * Moves the bytes of @buffer, if they are few, behind the last one of @before, on the same page.
 * Returns whether there was room; a buffer whose memory is not a page's stays as it is.
 */
bool gy_buffer_move_behind(struct gyre_buffer *buffer, const struct gyre_buffer *before);
/* Adds @slice, whose reference to its page it takes unless there is no memory, at the end. */
int gy_buffer_add_slice(struct gyre_buffer *buffer, const struct gy_slice *slice);
/* Takes off the end what lies beyond the first @bytes, no more than there are. */
void gy_buffer_truncate(struct gyre_buffer *buffer, size_t bytes);
/* The bytes of a number, as they stand in a buffer. */
void gy_number_put(unsigned char *to, size_t bytes, enum gyre_byte_order order, uint64_t value);
/* Writes a number of variable length; returns how many bytes. */
size_t gy_varint_put(unsigned char *to, uint64_t value);
/*
 * Room for @count bytes, no more than a page of the pool has, that lie together: they are the end
 * of the buffer from now on. NULL without memory.
 */
unsigned char *gy_buffer_extend(struct gyre_buffer *buffer, uint32_t count);
/*
 * Extends by the room behind the last byte, if that is not little, else by a page of the pool;
 * @ret_count says how much.
 */
unsigned char *gy_buffer_extend_most(struct gyre_buffer *buffer, uint32_t *ret_count);
/* Takes back what of the room that was had last is not needed, so that it may be had again. */
void gy_buffer_unreserve(struct gyre_buffer *buffer, uint32_t count);
/* Takes @count bytes, no more than there are, off the front. */
void gy_buffer_consume(struct gyre_buffer *buffer, size_t count);
/* Gives @buffer, which has none, the peer of @from, if that has one. */
static inline void gy_buffer_share_peer(struct gyre_buffer *buffer, const struct gyre_buffer *from)
{
	if (from->first.peer != 0) {
		buffer->first.peer =
			gy_address_table_ref(&buffer->pools->addresses, from->first.peer);
	}
}

/*
 * Walks the slices of @buffer, and asserts that they agree with each other, their pages and its
 * bytes.
 */
void gy_buffer_check(const struct gyre_buffer *buffer);

/* Frees all buffers of a queue. */
void gy_buffer_queue_clear(struct gy_buffer_queue *queue);
/* Moves the bytes out of ring pages, so that those go home now; without memory it changes nothing.
 */
void gy_buffer_copy_out_of_ring(struct gyre_buffer *buffer);

#endif
