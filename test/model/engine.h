/*
 * What the parts of the explorer know of each other: threads and how they are scheduled
 * (explorer.c), atomic operations and store buffers (memory.c), plain accesses (races.c), the heap
 * (heap.c) and what is printed (trace.c).
 */
#ifndef GY_TEST_MODEL_ENGINE_H
#define GY_TEST_MODEL_ENGINE_H

#include <stddef.h>
#include <ucontext.h>

#include "model.h"

enum { BUFFER_MAX = 6, FOOTPRINT_MAX = 16, LOCATIONS_MAX = 4096 };

struct clock {
	uint16_t time[MODEL_THREADS_MAX];
};

/* A place in memory that atomic operations have met. */
struct location {
	uintptr_t address;
	/* Kept from run to run: */
	uint8_t threads; /* that have accessed it */
	bool shared;	 /* by more than one of them, so that an access is a step */
	/* Of one run: */
	uint32_t run;
	uint8_t readers;      /* threads that have read it since their last pause */
	uint32_t changed_at;  /* step of the last commit */
	uint64_t before;      /* value before it */
	struct clock release; /* what an acquiring load learns */
};

/* A store that waits to be committed. */
struct pending_store {
	struct location *location;
	uint32_t bytes;
	uint64_t value;
	struct clock clock;
	struct model_site site;
};

/* The next step of a thread. */
struct step {
	struct location *location; /* NULL: of a thread that has not begun, or pauses */
	bool writes;
	struct model_site site;
};

struct thread {
	ucontext_t context;
	uint32_t index;
	const char *name;
	void (*run)(void);
	bool done;
	bool changed; /* something it has read since its last pause */
	struct step next;
	struct pending_store buffer[BUFFER_MAX];
	uint32_t buffered;
	struct clock clock;
	uint32_t last_step;    /* number of its step before this one */
	uint32_t earlier_step; /* and of the one before that */
	/* A store that a planted fault holds back. */
	bool holds;
	struct pending_store held;
};

struct engine {
	const struct model_protocol *protocol;
	const struct model_plant *plant; /* or NULL */
	struct thread threads[MODEL_THREADS_MAX];
	uint32_t threads_count;
	struct thread *current; /* NULL in set up and check */
	uint32_t run;		/* number of this run, from 1 */
	uint32_t steps;		/* of this run */
	bool more_shared;	/* a location turned out to be shared: all begins again */
	const char *failure;
};

extern struct engine engine;

struct result {
	uint64_t runs;	 /* explored to their end */
	uint64_t leaves; /* given up, since others go the same way */
	const char *failure;
};

/* ---- explorer.c ---- */

/* All runs of a protocol, up to the first that fails; its trace is kept. */
struct result engine_explore(const struct model_protocol *protocol,
			     const struct model_plant *plant);

/* Makes @location the next step of the current thread, and returns when it is to be done. */
void engine_step(struct location *location, bool writes, const struct model_site *site);

/* ---- memory.c ---- */

void memory_begin(void);  /* a run */
void memory_forget(void); /* an exploration */
/* Commits the first @count stores that wait in a thread's buffer. */
void memory_commit(struct thread *thread, uint32_t count);
/* A plain access of the current thread sees what it has stored. */
void memory_settle(uintptr_t address, uint32_t bytes);

/* ---- races.c ---- */

void races_plain(uintptr_t address, size_t bytes, bool writes);
void races_atomic(uintptr_t address, size_t bytes, bool writes);

/* ---- heap.c ---- */

enum { HEAP_BYTES = 4 << 20 };

void heap_begin(void);
/* Whether the address is in the memory of the model; @ret_offset is where. */
bool heap_holds(uintptr_t address, size_t *ret_offset);
/* Whether it is allocated. */
bool heap_is_live(size_t offset);

/* ---- trace.c ---- */

void trace_begin(void);
void trace_add(const struct thread *thread, const char *how, const struct model_site *site,
	       uint64_t value);
void trace_print(void);

#endif
