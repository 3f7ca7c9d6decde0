/*
 * The table of slots of a home: its houses, in chunks that never move. Any thread may reserve a
 * slot, under the mutex; the loop reads the table without it.
 */
#ifndef GY_ACTOR_SLOTS_H
#define GY_ACTOR_SLOTS_H

#include <pthread.h>
#include <stdint.h>

#include "base/list.h"

struct gy_home;
struct gy_house;
struct gyre_address;

enum {
	GY_CHUNK_BITS = 10,
	GY_CHUNK_HOUSES = 1 << GY_CHUNK_BITS,
	GY_CHUNKS_MAX = 1 << 14,
	GY_CHANNEL_SLOTS = GY_CHUNKS_MAX << GY_CHUNK_BITS, /* higher slots are channels' */
};

struct gy_slots {
	pthread_mutex_t mutex;
	struct gy_fifo free;
	uint32_t used; /* slots that were ever handed out; atomic */
	uint32_t cookie_seed;
	struct gy_house **chunks;
};

int gy_slots_init(struct gy_slots *slots, uint32_t cookie_seed);
void gy_slots_fini(struct gy_slots *slots);
/* Any thread: reserves a house, in the status CREATED; -ENOBUFS, -ENOMEM. */
int gy_slots_reserve(struct gy_home *home, struct gyre_address *ret_address);
/* Any thread: takes back a house that was reserved, and whose address nobody else has seen. */
void gy_slots_cancel(struct gy_home *home, struct gyre_address address);
/* Takes back a house that is empty; its slot queues for reuse. */
void gy_slots_release(struct gy_home *home, struct gy_house *house);

#endif
