/*
 * Data of the program for each loop: a connection to a database, a cache, a random generator, or
 * whatever else handlers of one thread may share without a lock. A loop's constructor and
 * destructor are fields of struct gyre_system_options.
 */
#ifndef GYRE_LOOP_DATA_H
#define GYRE_LOOP_DATA_H

#include <gyre/api.h>

GYRE_BEGIN_DECLS

struct gyre_stack;
struct gyre_system;

/**
 * gyre_loop_init_fn - makes the program's data of a loop
 * @system: the system
 * @loop: the index of the loop
 * @arg: @loop_arg of the options
 * @ret_data: the data, for gyre_loop_data(); NULL if the call leaves it alone
 *
 * Runs in no phase, on the loop's own thread, before any handler of the loop does; on several
 * threads at once. A loop that gyre_system_resize() adds has its call then. It may block, and may
 * not call gyre but for gyre_system_user() and gyre_system_log(). It is not re-entered;
 * gyre_loop_fini_fn is the last call of a loop.
 *
 * Returns 0, or a negative errno, with which the start or the resize fails.
 */
typedef int (*gyre_loop_init_fn)(struct gyre_system *system, uint32_t loop, void *arg,
				 void **ret_data);

/**
 * gyre_loop_fini_fn - frees the program's data of a loop
 * @system: the system
 * @loop: the index of the loop
 * @data: what gyre_loop_init_fn gave; NULL if it gave nothing
 * @arg: @loop_arg of the options
 *
 * Runs in no phase, on the loop's own thread, once for each call of gyre_loop_init_fn that
 * succeeded: when no handler of the loop will run any more, since the system stops, the loop has
 * retired, or the start has failed on another loop. It may block, and may not call gyre but for
 * gyre_system_user() and gyre_system_log(). It is not re-entered, and the last call of a loop.
 */
typedef void (*gyre_loop_fini_fn)(struct gyre_system *system, uint32_t loop, void *data, void *arg);

/**
 * gyre_loop_data() - the program's data of the loop that runs the handler
 * @stack: the stack of the running handler; in a pipeline that of gyre_context_stack()
 *
 * A state actor may run on another loop after each suspension: ask for the data again then.
 *
 * Return: what gyre_loop_init_fn gave; NULL if it gave nothing, or there is none.
 * Errors:
 *   NULL  the options have no @loop_init, or it gave nothing
 * Ownership: stays the loop's; other threads must not use it.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API void *gyre_loop_data(const struct gyre_stack *stack);

GYRE_END_DECLS

#endif
