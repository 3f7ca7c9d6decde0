/*
 * Where the promises of a system are. A promise stays memory as long as the system lives, whatever
 * loop has it, so each gets a place in an array of pointers when its memory is made, for good. Its
 * id says which place that is and which use of the promise: an answer finds its promise by one
 * look, without a search, and nothing is entered or removed as asks come and go. An id that is
 * wrong in any bit, as one from another node may be, leads to no promise.
 *
 * Places are counted up by any loop. The array is in chunks, which are made as they are needed and
 * never moved.
 */
#include "actor/stack/promise_places.h"

#include <errno.h>

#include "base/memory/memory.h"

int gy_promise_places_init(struct gy_home *home)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);
	struct gy_promise ***chunks = gy_load_acquire(&homes->promise_places);
	struct gy_promise ***made;

	if (chunks == NULL) {
		/* As many again, which stay empty, are for ids with the bit of promises that have
		 * completed. */
		made = (struct gy_promise ***)gy_memory_get((size_t)2 * GY_PLACE_CHUNKS *
							    sizeof(*made));
		if (made == NULL) {
			return -ENOMEM;
		}
		if (gy_compare_exchange(&homes->promise_places, &chunks, made)) {
			chunks = made;
		} else {
			gy_memory_put((void *)made);
		}
	}
	(void)gy_fetch_add(&homes->promise_homes, 1);
	home->promise_places = chunks;
	return 0;
}

/* The chunk of a place, made if there is none; NULL without memory. */
static struct gy_promise **chunk_of(struct gy_home *home, uint32_t place)
{
	struct gy_promise ***at = &home->promise_places[place >> GY_PLACE_CHUNK_BITS];
	struct gy_promise **chunk = gy_load_acquire(at);
	struct gy_promise **made;

	if (chunk != NULL) {
		return chunk;
	}
	made = (struct gy_promise **)gy_memory_get(sizeof(*made) << GY_PLACE_CHUNK_BITS);
	if (made == NULL) {
		return NULL;
	}
	if (gy_compare_exchange(at, &chunk, made)) {
		return made;
	}
	gy_memory_put((void *)made);
	return chunk;
}

bool gy_promise_places_enter(struct gy_home *home, struct gy_promise *promise)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);
	uint32_t place = gy_load_relaxed(&homes->promise_count);
	struct gy_promise **chunk;

	do {
		if (place >> GY_PLACE_BITS != 0) {
			return false;
		}
		chunk = chunk_of(home, place);
		if (chunk == NULL) {
			return false;
		}
	} while (!gy_compare_exchange(&homes->promise_count, &place, place + 1));
	promise->id = place | gy_promise_use;
	promise->house = NULL;
	gy_store_release(&chunk[place & ((1U << GY_PLACE_CHUNK_BITS) - 1)], promise);
	return true;
}

bool gy_promise_places_leave(struct gy_home *home)
{
	struct gy_homes *homes = gy_homes_of(home->options.system);
	struct gy_promise ***chunks = home->promise_places;

	if (chunks == NULL) {
		return false;
	}
	home->promise_places = NULL;
	if (gy_fetch_add(&homes->promise_homes, UINT32_MAX) != 1) {
		return false;
	}
	homes->promise_places = NULL;
	homes->promise_count = 0;
	for (uint32_t i = 0; i < GY_PLACE_CHUNKS && chunks[i] != NULL; i++) {
		gy_memory_put((void *)chunks[i]);
	}
	gy_memory_put((void *)chunks);
	return true;
}
