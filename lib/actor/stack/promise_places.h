/*
 * The places of all promises of a system, by which answers find them: see promise_places.c.
 */
#ifndef GY_ACTOR_STACK_PROMISE_PLACES_H
#define GY_ACTOR_STACK_PROMISE_PLACES_H

#include "actor/home.h"
#include "actor/stack/promise.h"

/*
 * An id is a place, the bit of those that have completed, and which use of the place this is. It is
 * also by what a future knows its promise: adding the bit once makes the id that of a promise which
 * has completed, adding it again that of the next use.
 *
 * An answer has the id without the bit. There are no chunks for places with it, so that an id which
 * somebody made up leads to no promise that has completed.
 */
enum {
	GY_PLACE_CHUNK_BITS = 13, /* of a place: which of its chunk */
	GY_PLACE_BITS = 25,
	GY_PLACE_CHUNKS = 1 << (GY_PLACE_BITS - GY_PLACE_CHUNK_BITS),
};

static const uint64_t gy_promise_done = UINT64_C(1) << GY_PLACE_BITS;
static const uint64_t gy_promise_use = UINT64_C(2) << GY_PLACE_BITS;

static inline bool gy_promise_is_done(const struct gy_promise *promise)
{
	return (gy_load_relaxed(&promise->id) & gy_promise_done) != 0;
}

/* The promise behind a future; NULL when there was none, or it was recycled. */
static inline struct gy_promise *gy_promise_of(const struct gyre_future *future)
{
	struct gy_promise *promise = future->promise;

	return promise == NULL || (gy_load_relaxed(&promise->id) & ~gy_promise_done) != future->id
		       ? NULL
		       : promise;
}

/* Tells a home where the places of its system are; -ENOMEM. Setup, or as a loop is added. */
int gy_promise_places_init(struct gy_home *home);
/* Gives a promise, which is new memory, a place and its first id; false when there is no memory.
 * Any loop. */
bool gy_promise_places_enter(struct gy_home *home, struct gy_promise *promise);
/* A home ends, which may be half made. True for the last of its system: the places are freed then,
 * and no promise is looked for any more. */
bool gy_promise_places_leave(struct gy_home *home);

/* The outstanding promise of that house that has the id; NULL for none. The id may be anything. On
 * the loop that runs the house. */
static inline struct gy_promise *gy_promise_find(const struct gy_home *home,
						 const struct gy_house *house, uint64_t id)
{
	struct gy_promise **chunk = gy_load_acquire(
		&home->promise_places[(id & (gy_promise_use - 1)) >> GY_PLACE_CHUNK_BITS]);
	struct gy_promise *promise;

	if (gy_unlikely(chunk == NULL)) {
		return NULL;
	}
	promise = gy_load_acquire(&chunk[id & ((1U << GY_PLACE_CHUNK_BITS) - 1)]);
	if (gy_unlikely(promise == NULL) || gy_unlikely(gy_load_relaxed(&promise->id) != id) ||
	    gy_unlikely(gy_load_relaxed(&promise->house) != house)) {
		return NULL;
	}
	return promise;
}

#endif
