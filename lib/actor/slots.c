/*
 * The slots of a home: where its houses stand.
 *
 * Houses stand in chunks that are never moved or freed while the system lives, so a stale address
 * always finds memory, and a cookie there that is not its own. Slots are reserved by any thread, so
 * that a spawn on another loop can return the address at once; that is rare enough for a mutex. A
 * freed slot queues for reuse behind all others, and gets its next cookie when it is freed.
 */
#include <errno.h>

#include "actor/home.h"
#include "actor/house.h"
#include "base/memory/memory.h"

int gy_slots_init(struct gy_slots *slots, uint32_t cookie_seed)
{
	*slots = (struct gy_slots){ .cookie_seed = cookie_seed == 0 ? 1 : cookie_seed };
	slots->chunks = (struct gy_house **)gy_memory_get(GY_CHUNKS_MAX * sizeof(*slots->chunks));
	if (slots->chunks == NULL) {
		return -ENOMEM;
	}
	return -pthread_mutex_init(&slots->mutex, NULL);
}

void gy_slots_fini(struct gy_slots *slots)
{
	if (slots->chunks == NULL) {
		return;
	}
	for (uint32_t i = 0; i < GY_CHUNKS_MAX && slots->chunks[i] != NULL; i++) {
		gy_memory_put(slots->chunks[i]);
	}
	gy_memory_put((void *)slots->chunks);
	slots->chunks = NULL;
	(void)pthread_mutex_destroy(&slots->mutex);
}

static int add_chunk(struct gy_home *home, uint32_t number)
{
	struct gy_slots *slots = &home->slots;
	struct gy_house *chunk;

	if (number >= GY_CHUNKS_MAX) {
		return -ENOBUFS;
	}
	chunk = (struct gy_house *)gy_memory_get(GY_CHUNK_HOUSES * sizeof(*chunk));
	if (chunk == NULL) {
		return -ENOMEM;
	}
	/* All before it is published: so no house ever has the cookie of nobody. */
	for (uint32_t i = 0; i < GY_CHUNK_HOUSES; i++) {
		chunk[i].home = home;
		chunk[i].recent = &chunk[i];
		chunk[i].self = (struct gy_origin){ .slot = (number << GY_CHUNK_BITS) + i,
						    .cookie = slots->cookie_seed,
						    .loop = home->loop.index,
						    .node = home->node };
	}
	gy_store_release(&slots->chunks[number], chunk);
	return 0;
}

/* Under the mutex. */
static int take_slot(struct gy_home *home, struct gy_house **ret_house)
{
	struct gy_slots *slots = &home->slots;
	struct gy_fifo_item *link = gy_fifo_pop(&slots->free);
	struct gy_house *house;

	if (link != NULL) {
		house = gy_container_of(link, struct gy_house, job.link);
		gy_assert(house->status == GY_HOUSE_FREE && house->home == home);
	} else {
		uint32_t slot = slots->used;

		if (slot % GY_CHUNK_HOUSES == 0) {
			int r = add_chunk(home, slot >> GY_CHUNK_BITS);

			if (r < 0) {
				return r;
			}
		}
		gy_store_release(&slots->used, slot + 1);
		house = gy_house_at(home, slot);
	}
	*ret_house = house;
	return 0;
}

int gy_slots_reserve(struct gy_home *home, struct gyre_address *ret_address)
{
	struct gy_house *house;
	int r;

	(void)pthread_mutex_lock(&home->slots.mutex);
	r = take_slot(home, &house);
	if (r == 0) {
		/* Under the mutex, for a loop that stops looks at all its houses. */
		gy_house_set_status(house, GY_HOUSE_CREATED);
		gy_list_init(&house->suspended);
		*ret_address = gy_address_shown(home, gy_house_address(house));
	}
	(void)pthread_mutex_unlock(&home->slots.mutex);
	return r;
}

static void advance_cookie(struct gy_house *house)
{
	uint32_t cookie = house->self.cookie + 1;

	gy_store_release(&house->self.cookie, cookie == 0 ? 1 : cookie);
}

void gy_slots_cancel(struct gy_home *home, struct gyre_address address)
{
	struct gy_house *house = gy_house_at(home, address.slot);

	(void)pthread_mutex_lock(&home->slots.mutex);
	gy_assert(house->status == GY_HOUSE_CREATED);
	advance_cookie(house);
	gy_house_set_status(house, GY_HOUSE_FREE);
	gy_fifo_push(&home->slots.free, &house->job.link);
	(void)pthread_mutex_unlock(&home->slots.mutex);
}

void gy_slots_release(struct gy_home *home, struct gy_house *house)
{
	bool pinned;

	advance_cookie(house);
	for (uint32_t lane = 0; lane < GY_LANES; lane++) {
		gy_assert(house->lanes[lane] == NULL);
	}
	house->pending = 0;
	gy_house_set_status(house, GY_HOUSE_FREE);
	house->high = false;
	house->closed = 0;
	house->reasons = 0;
	house->limit = 0;
	gy_store_relaxed(&house->waiting, 0);
	house->above_mark = false;
	house->stop_at_home = false;
	gy_store_relaxed(&house->is_root, false);
	house->passed_over = 0;
	house->plain = false;
	house->state = NULL;
	house->behaviour = NULL;
	gy_store_relaxed(&house->class_info, NULL);
	house->replies = 0;
	house->events = 0;
	house->channels_actor = false;
	gy_assert(house->extra == NULL && house->family == NULL && house->sealed == NULL);
	gy_assert(gy_list_empty(&house->suspended) && house->outstanding == 0);
	gy_home_clear_running(home, house);
	pinned = gy_load_relaxed(&home->pinned.slot) == house->self.slot;
	(void)pthread_mutex_lock(&home->slots.mutex);
	gy_fifo_push(&home->slots.free, &house->job.link);
	(void)pthread_mutex_unlock(&home->slots.mutex);
	if (gy_unlikely(pinned)) {
		gy_pinned_release(home);
	}
}
