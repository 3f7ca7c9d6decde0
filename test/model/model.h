/*
 * The explorer: runs a protocol of two to four threads, made of the library's own code, once for
 * each interleaving of its atomic operations that could make a difference, and checks each.
 *
 * A protocol is set up anew for each run, in memory of the model, so it may keep nothing in file
 * scope that set up does not set. A run ends when no thread can go on; a loop that sleeps without
 * end is not an error by itself, but @check then finds what it should have been woken for.
 */
#ifndef GY_TEST_MODEL_MODEL_H
#define GY_TEST_MODEL_MODEL_H

#include "memory.h"

enum { MODEL_THREADS_MAX = 4 };

/* What a planted fault does to the operations of one kind in one function. */
enum model_fault {
	MODEL_NO_FAULT,
	MODEL_RELAXED, /* orders nothing, and a full store does not wait for its commit */
	MODEL_TORN,    /* reads and writes in two steps */
	MODEL_SWAPPED, /* a store comes after the thread's next operation */
	MODEL_EARLY,   /* a load gives what stood there before the thread's operation before it */
	MODEL_OMITTED, /* a store is left out; a load gives 0 */
};

struct model_plant {
	const char *title; /* what is wrong, as a test's name */
	const char *function;
	enum model_kind kind;
	enum model_fault fault;
	uint32_t protocol; /* the number of the one that shows it */
};

struct model_thread {
	const char *name;
	void (*run)(void);
};

struct model_protocol {
	const char *title;
	void (*setup)(void); /* before the threads, alone */
	void (*check)(void); /* after them, alone */
	struct model_thread threads[MODEL_THREADS_MAX];
	uint32_t preemptions_max; /* 0: no limit */
};

/* Ends the run: the protocol does not keep what it promises. */
_Noreturn void model_failed(const char *what);
#define model_check(condition) ((condition) ? (void)0 : model_failed(#condition))

/* Waits until something that this thread has read since its last pause changes. */
void model_pause(void);
/* Blocks until @flag is not 0, as in the kernel. */
void model_await(const uint32_t *flag);

/*
 * A whole test program, which speaks TAP: explores each of @protocols as it is, and then with
 * each of @plants the one that must show it.
 */
int model_main(const struct model_protocol *protocols, uint32_t protocols_count,
	       const struct model_plant *plants, uint32_t plants_count);

#endif
