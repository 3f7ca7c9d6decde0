/*
 * The memory guard of a system: see memory_guard.c, and gyre/overload.h for what it does.
 */
#ifndef GY_SYSTEM_MACHINE_MEMORY_GUARD_H
#define GY_SYSTEM_MACHINE_MEMORY_GUARD_H

#include <pthread.h>

#include "base/atomic.h"
#include "loop/wheel.h"
#include "system/machine/memory_usage.h"

struct gy_worker;
struct gyre_system;

struct gy_memory_guard {
	/* Atomic; read at every turn, written ten times in a second unless memory gets short. */
	uint64_t due_ns GY_ALIGNED_LINE; /* of the next look; UINT64_MAX while somebody looks */
	uint32_t busy;

	/* Used by the thread that measures. */
	struct gy_memory_usage memory_usage GY_ALIGNED_LINE;
	uint64_t interval_ns; /* until the next look */
	uint64_t seen_bytes;  /* at the last look */
	uint64_t seen_ns;     /* when that was; 0 before the first */
	/* Atomic: since when the system is busy, or 0 when it is not, or its program was told that
	 * it stays so. */
	uint64_t busy_since_ns;

	pthread_mutex_t mutex;
	pthread_cond_t condition; /* busy has become 0 */
	bool ended;		  /* under the mutex: the system stops, and is not busy any more */
	uint64_t periods;	  /* under the mutex; read from any thread */
	uint64_t delayed;	  /* atomic: notices that waited */
};

/* A part of the worker: what its loop knows of the guard. */
struct gy_guarded {
	uint32_t busy;	       /* as the loop follows it */
	uint64_t trim_ns;      /* when to give back memory next; only while busy */
	struct gy_timer timer; /* keeps the loop looking while the system is busy */
};

/* @limit_bytes as memory_limit_bytes of the options. What cannot be read is no limit. Returns the
 * limit that 0 stands for, else what was given. */
int64_t gy_memory_guard_init(struct gy_memory_guard *memory_guard, const char *root,
			     int64_t limit_bytes);
/* Only of one that was initialised. */
void gy_memory_guard_fini(struct gy_memory_guard *memory_guard);

/* Whoever is first past the time looks at the memory. Any thread. */
void gy_memory_guard_check(struct gyre_system *system, uint64_t now_ns);
/* After a turn, while the system or the loop is busy: the loop follows the system. */
void gy_memory_guard_apply(struct gy_worker *worker);
/* On a loop that makes its last turn: it follows no more. */
void gy_memory_guard_leave(struct gy_worker *worker);
/* On each loop, when the system begins to stop: it is not busy from now on. */
void gy_memory_guard_end(struct gy_worker *worker);
/* Waits while the system is busy, up to 40 ms; but never on a loop's thread. */
void gy_memory_guard_wait(struct gyre_system *system);

#endif
