/*
 * Memory. What the simulator needs for itself it has to get, so it ends the process where there is
 * none. And what gyre allocates for a host is kept in a list of that host, by a head before each
 * piece, so that a crash can give it back, as the kernel does for a process. The head is there for
 * all pieces, as one that was made outside of a simulation may be given back inside.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/memory/memory.h"
#include "base/memory/poison.h"
#include "loop/foreign_nodes.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct head {
	struct gy_list of_host;
	size_t bytes;
} GY_ALIGNED_LINE;

void *gy_sim_get(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL) {
		(void)fprintf(stderr, "simulator: no memory for %zu bytes\n", bytes);
		abort();
	}
	return memory;
}

void gy_sim_put(void *memory)
{
	free(memory);
}

void gy_sim_grow(void **elements, uint32_t *room, uint32_t count, size_t element_bytes)
{
	uint32_t larger = *room == 0 ? 16 : *room;
	void *moved;

	if (count <= *room) {
		return;
	}
	while (larger < count) {
		larger *= 2;
	}
	moved = gy_sim_get(larger * element_bytes);
	if (*elements != NULL) {
		memcpy(moved, *elements, *room * element_bytes);
		gy_sim_put(*elements);
	}
	*elements = moved;
	*room = larger;
}

/* ---- allocations that fail ---- */

void gy_sim_allocations_fail(struct gy_sim_host *host, uint64_t number)
{
	host->allocations = (struct gy_sim_allocations){ .fails_in = number };
}

bool gy_sim_allocations_recover(struct gy_sim_host *host)
{
	bool failed = host->allocations.failed;

	host->allocations = (struct gy_sim_allocations){ .fails_in = 0 };
	return failed;
}

void gy_sim_allocations_spare(struct gy_sim_host *host, bool spare)
{
	host->allocations.spared = spare;
}

/* Whether the host here has memory for one more piece. */
static bool has_one(struct gy_sim_host *host)
{
	struct gy_sim_allocations *allocations = host == NULL ? NULL : &host->allocations;

	if (gy_sim_refuses("memory")) {
		return false;
	}
	if (host == NULL || allocations->fails_in == 0 || allocations->spared ||
	    gy_sim_here == host->main) {
		return true;
	}
	allocations->failed = --allocations->fails_in == 0;
	return !allocations->failed;
}

/* ---- what gyre allocates ---- */

static void *keep(struct head *head, size_t bytes, struct gy_sim_host *host)
{
	if (head == NULL) {
		return NULL;
	}
	head->bytes = bytes;
	gy_list_init(&head->of_host);
	if (host != NULL) {
		gy_list_append(&host->memory, &head->of_host);
	}
	return head + 1;
}

void *__wrap_gy_memory_get_raw(size_t bytes)
{
	struct gy_sim_host *host = gy_sim_host_here();

	return has_one(host)
		       ? keep((struct head *)__real_gy_memory_get_raw(sizeof(struct head) + bytes),
			      bytes, host)
		       : NULL;
}

void *__wrap_gy_memory_get(size_t bytes)
{
	struct gy_sim_host *host = gy_sim_host_here();

	return has_one(host)
		       ? keep((struct head *)__real_gy_memory_get(sizeof(struct head) + bytes),
			      bytes, host)
		       : NULL;
}

void *__wrap_gy_memory_get_lasting(size_t bytes)
{
	return gy_sim_refuses("memory")
		       ? NULL
		       : keep((struct head *)__real_gy_memory_get(sizeof(struct head) + bytes),
			      bytes, NULL);
}

void __wrap_gy_memory_put(void *memory)
{
	if (memory != NULL) {
		struct head *head = (struct head *)memory - 1;

		gy_list_remove(&head->of_host);
		__real_gy_memory_put(head);
	}
}

void *__wrap_gy_memory_resize(void *memory, size_t old_bytes, size_t bytes)
{
	void *moved = __wrap_gy_memory_get_raw(bytes);

	if (moved != NULL && memory != NULL) {
		memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
		__wrap_gy_memory_put(memory);
	}
	return moved;
}

void gy_sim_memory_crash(struct gy_sim_host *host)
{
	while (!gy_list_empty(&host->memory)) {
		struct head *head = gy_container_of(host->memory.next, struct head, of_host);

		gy_list_remove(&head->of_host);
		gy_unpoison(head + 1, head->bytes);
		__real_gy_memory_put(head);
	}
}

bool gy_sim_memory_has(const struct gy_sim_host *host, const void *at)
{
	for (const struct gy_list *item = host->memory.next; item != &host->memory;
	     item = item->next) {
		const struct head *head = gy_container_of(item, const struct head, of_host);

		if ((uintptr_t)at - (uintptr_t)(head + 1) < head->bytes) {
			return true;
		}
	}
	return false;
}

uint32_t gy_sim_memory_out(const struct gy_sim_host *host, size_t *ret_bytes)
{
	uint32_t count = 0;

	*ret_bytes = 0;
	for (const struct gy_list *item = host->memory.next; item != &host->memory;
	     item = item->next) {
		*ret_bytes += gy_container_of(item, const struct head, of_host)->bytes;
		count++;
	}
	return count;
}

/* ---- pools of nodes ---- */

/* A host's set of them goes with it; the observer has those of the process. */
struct gy_foreign_pools *__wrap_gy_foreign_pools_here(void)
{
	enum { POOLS_MAX = 1024 };
	struct gy_sim_host *host = gy_sim_host_here();
	struct gy_foreign_pools *pools;

	if (host == NULL) {
		return __real_gy_foreign_pools_here();
	}
	if (host->foreign_pools == NULL) {
		pools = (struct gy_foreign_pools *)gy_sim_get(sizeof(*pools) +
							      POOLS_MAX * sizeof(*pools->pools));
		*pools = (struct gy_foreign_pools){
			.mutex = PTHREAD_MUTEX_INITIALIZER,
			.pools_max = POOLS_MAX,
			.pools = (struct gy_foreign_pool **)(void *)(pools + 1),
		};
		host->foreign_pools = pools;
	}
	return host->foreign_pools;
}

void gy_sim_foreign_pools_fini(struct gy_sim_host *host)
{
	if (host->foreign_pools != NULL) {
		gy_foreign_pools_fini(host->foreign_pools);
	}
	gy_sim_put(host->foreign_pools);
	host->foreign_pools = NULL;
}
