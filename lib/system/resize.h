/*
 * A changing number of loops; see resize.c.
 */
#ifndef GY_SYSTEM_RESIZE_H
#define GY_SYSTEM_RESIZE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

struct gy_worker;
struct gyre_system;

/* A function that the one who resizes has run on a loop. */
struct gy_visit {
	struct gy_task task;
	struct gy_worker *worker;
	void (*run)(struct gy_worker *worker);
	bool done; /* under the mutex of the resizing */
};

struct gy_resizing {
	pthread_mutex_t exclusive; /* held by the one who resizes, or starts */
	pthread_mutex_t mutex;
	pthread_cond_t condition; /* a visit is over, a stage done, or the system stops */
	uint32_t under_way;	  /* atomic: no stop begins yet, and no hand-over */
	uint32_t refused;	  /* atomic: sockets are being handed over */
	uint32_t living;      /* loops with a thread, or one from the start on; under @exclusive */
	uint32_t pinned;      /* loops of one actor each, which are never resized */
	uint32_t threads_max; /* more loops than that do not poll */
	bool spin_auto;
};

void gy_resizing_init(struct gyre_system *system);
void gy_resizing_fini(struct gyre_system *system);
/* A stage is done, or the system stops: whoever resizes looks again. */
void gy_resizing_wake(struct gyre_system *system);
/* Makes the loops of one actor each, of a system whose other loops are made. */
int gy_resize_make_pinned(struct gyre_system *system);
/* When the loops have been started: retires those that are too many, unless sockets are handed
 * over. */
void gy_resize_after_start(struct gyre_system *system);

#endif
