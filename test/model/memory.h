/*
 * The atomic operations of the threads of a model, under a memory like that of x86: a thread's
 * stores wait in its store buffer, in order, until they are committed; it sees its own at once,
 * others see them when they are committed. Full stores and all that read and write in one step
 * commit what waits first.
 *
 * What acquire and release add to that is checked beside it, by vector clocks: see races.c.
 */
#ifndef GY_TEST_MODEL_MEMORY_H
#define GY_TEST_MODEL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum model_kind {
	MODEL_LOAD_RELAXED,
	MODEL_LOAD_ACQUIRE,
	MODEL_LOAD_FULL,
	MODEL_STORE_RELAXED,
	MODEL_STORE_RELEASE,
	MODEL_STORE_FULL,
	MODEL_EXCHANGE,
	MODEL_ADD,
	MODEL_ADD_RELAXED,
	MODEL_COMPARE,
	MODEL_COMPARE_RELAXED,
	MODEL_AWAIT, /* blocks until the location is not 0 */
	MODEL_PAUSE, /* until anything that the thread has read since its last pause changes */
};

/* Where an operation stands in the source. */
struct model_site {
	const char *function;
	const char *file;
	const char *what;
	int line;
	enum model_kind kind;
};

uint64_t model_load(const void *place, uint32_t bytes, const struct model_site *site);
void model_store(void *place, uint32_t bytes, uint64_t value, const struct model_site *site);
uint64_t model_exchange(void *place, uint32_t bytes, uint64_t value, const struct model_site *site);
uint64_t model_add(void *place, uint32_t bytes, uint64_t value, const struct model_site *site);
bool model_compare(void *place, uint32_t bytes, void *expected, uint64_t value,
		   const struct model_site *site);

#endif
