/*
 * The places of all promises of a system, by which answers find them: see promise_places.c.
 */
#ifndef GY_ACTOR_STACK_PROMISE_PLACES_H
#define GY_ACTOR_STACK_PROMISE_PLACES_H

#include "actor/home.h"
#include "actor/stack/promise.h"

enum {
	GY_PLACE_CHUNK_BITS = 13, /* of a place: which of its chunk */
	GY_PLACE_BITS = 26,	  /* of an id: the place; above it stands which use this is */
	GY_PLACE_CHUNKS = 1 << (GY_PLACE_BITS - GY_PLACE_CHUNK_BITS),
};

/* The first use of a place; adding it to an id gives that of the next use. */
static const uint64_t gy_promise_use = UINT64_C(1) << GY_PLACE_BITS;

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
	    gy_unlikely(gy_load_relaxed(&promise->house) != house) ||
	    gy_unlikely(promise->completed)) {
		return NULL;
	}
	return promise;
}

#endif
