/*
 * The base of every public header: visibility, C linkage, and macros for units of time.
 *
 * Each call says in its Context where it may be made:
 *
 *   any thread       also one that runs no loop
 *   loop thread      a thread that gyre made to run a loop: inside what gyre calls there
 *   setup            the thread that creates, starts, waits for and destroys a system, while no
 *                    other thread may destroy it
 *   signal handler   also inside one
 *
 * A loop goes round in turns of three phases. In phase 1 it waits for the kernel and takes what has
 * been completed: no code of the program runs. In phase 2 channels actors run, those that own
 * sockets or pipes (acceptors, workers, clients, actors of datagrams), with the handlers of their
 * channels, due timers, and the first call of actors that are being mounted. In phase 3 all other
 * actors run, called state actors, until the turn has lasted long enough. The run of an actor is
 * what it does in one turn: a number of its messages, one after the other.
 */
#ifndef GYRE_API_H
#define GYRE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** GYRE_API - marks a symbol that the library exports */
#define GYRE_API __attribute__((visibility("default")))

/** GYRE_BEGIN_DECLS - opens the declarations of a header: they have C linkage in C++ too */
/** GYRE_END_DECLS - closes what GYRE_BEGIN_DECLS has opened */
#ifdef __cplusplus
#define GYRE_BEGIN_DECLS extern "C" {
#define GYRE_END_DECLS	 }
#else
#define GYRE_BEGIN_DECLS
#define GYRE_END_DECLS
#endif

/** GYRE_PRINTF() - has the compiler check the format that is argument FORMAT of a function, as that
 * of printf(3), against the arguments from FIRST on */
#define GYRE_PRINTF(FORMAT, FIRST) __attribute__((format(printf, FORMAT, FIRST)))

/** GYRE_SECONDS() - a span of whole seconds in nanoseconds, the unit of every time in gyre */
#define GYRE_SECONDS(n) ((uint64_t)(n)*UINT64_C(1000000000))
/** GYRE_MILLISECONDS() - a span of whole milliseconds in nanoseconds */
#define GYRE_MILLISECONDS(n) ((uint64_t)(n)*UINT64_C(1000000))
/** GYRE_MICROSECONDS() - a span of whole microseconds in nanoseconds */
#define GYRE_MICROSECONDS(n) ((uint64_t)(n)*UINT64_C(1000))
/** GYRE_FOREVER - a time-out that never comes */
#define GYRE_FOREVER UINT64_MAX

/**
 * struct gyre_sizes - how large structures are in the program, for calls that take several
 * @options: the options of the call
 * @actor_class: struct gyre_class
 * @node: struct gyre_node_options
 * @membership: struct gyre_membership
 *
 * Programs never fill it: the inline functions that they call do.
 */
struct gyre_sizes {
	uint32_t options;
	uint32_t actor_class;
	uint32_t node;
	uint32_t membership;
};

#endif
