/*
 * The system itself: its loops, its options resolved, and the parts that its files own.
 */
#ifndef GY_SYSTEM_SYSTEM_H
#define GY_SYSTEM_SYSTEM_H

#include <pthread.h>

#include <gyre/socket_address.h>
#include <gyre/system.h>

#include "actor/home.h"
#include "net/net_state.h"
#include "system/embedded.h"
#include "system/machine/memory_guard.h"
#include "system/outside/foreign_timers.h"
#include "system/resize.h"

struct gy_cpu_place;
struct gy_directory;
struct gy_foreign_asks;
struct gy_log_writer;
struct gy_offload;
struct gy_succession;
struct gy_watchdog;
struct gy_worker;

struct gy_outside_line {
	uint64_t count GY_ALIGNED_LINE; /* atomic */
};
enum { GY_OUTSIDE_LINES = 16 };

struct gyre_system {
	struct gy_homes homes; /* first: lower floors find it there */
	struct gy_net net;     /* homes.net */
	struct gy_worker *workers;
	struct gyre_system_options options; /* no field is left at its default */
	char *texts;			    /* those of @options */
	struct gy_log_writer *log_writer;
	struct gy_log log;		 /* of threads that are no loop's */
	struct gy_cpu_place *cpu_places; /* one for each loop that there may be */
	uint32_t cookie_seed;
	int io_uring_refused;  /* a negative errno, where epoll is in its place; or 0 */
	uint32_t next_loop[2]; /* atomic: round robin, of state actors and of channels actors */
	struct gy_outside_line outside_sent[GY_OUTSIDE_LINES]; /* see outside_count.h */
	uint64_t outside_handled GY_ALIGNED_LINE;	       /* atomic, as the next one */
	uint64_t outside_dropped[GYRE_DROP_COUNT];
	struct gy_foreign_asks *foreign_asks;
	struct gy_foreign_timers foreign_timers;
	struct gy_offload *offload;
	struct gy_directory *directory;
	struct gy_watchdog *watchdog; /* NULL for none, and when no loop runs */
	uint64_t stalls;	      /* written by the watchdog with gy_count() */
	struct gy_memory_guard memory_guard;
	struct gy_resizing resizing;
	struct gy_embedding embedding;

	/* Atomic: */
	uint32_t stop;	/* 1 asked to drain, 2 asked not to wait */
	uint32_t stage; /* enum gy_stage */
	uint32_t arrived;
	bool complete; /* all its parts are made */
	bool running;  /* started at some time */
	bool joined;

	pthread_mutex_t late_mutex; /* of who takes what was posted after the end */
	struct gy_node *late_tasks; /* under @late_mutex: those that do something all the same */
	pthread_mutex_t mutex;	    /* guards the start */
	pthread_cond_t entered_condition;
	pthread_cond_t started_condition;
	uint32_t starting; /* atomic; changes under @mutex */
	pthread_cond_t gate_condition;
	uint32_t entered;
	int error;	 /* atomic: the first that a loop met with */
	int ended_fd;	 /* readable when all loops have ended */
	int exit_status; /* atomic: of the program, if gyre_main() runs it */
	int signal_fd; /* of SIGINT and SIGTERM; opened early, so that their lack is an early error
			*/
	int watch_fd;  /* tells the thread in gyre_system_run() that @watched has changed */
	struct gyre_address signals;	  /* the actor that catches them; guarded by @mutex */
	uint64_t watched;		  /* atomic: signals that actors watch, a bit each */
	uint64_t watched_changes;	  /* atomic: how often it has changed */
	uint64_t watched_done;		  /* atomic: to which of them that thread blocks it */
	bool has_runner;		  /* atomic: there is such a thread */
	struct gy_succession *succession; /* NULL without @handover */
	struct gyre_socket_address supervisor;
	int supervisor_fd; /* by which that is told things, or -1 */
};

/* How many loops there may be, with those of one actor each, which come last. */
static inline uint32_t gy_system_places(const struct gyre_system *system)
{
	return system->options.loops_max + system->options.loops_pinned;
}

/* Makes the home of the next loop, which does not take part yet. */
int gy_system_make_home(struct gyre_system *system, uint32_t index);

#endif
