/*
 * What the files of this floor share: the system itself, its options resolved, and its threads.
 */
#ifndef GY_SYSTEM_SYSTEM_H
#define GY_SYSTEM_SYSTEM_H

#include <signal.h>

#include <gyre/socket_address.h>
#include <gyre/system.h>

#include "actor/house.h"
#include "system/memory_guard.h"

/* The stages of a stop. All loops go through each together; see drain.c. */
enum gy_stage {
	GY_STAGE_RUNNING,
	GY_STAGE_NO_ACTORS = 1, /* reached when all channels are closed */
	GY_STAGE_NO_MAIL,	/* reached when all actors are gone */
	GY_STAGE_NO_ANSWERS,
	GY_STAGE_NO_RETURNS,
	GY_STAGE_END,
};

struct gy_worker;
struct gyre_system;

/* The stages of a loop that retires; see loop_retire.c. */
enum gy_loop_retire_stage {
	GY_LOOP_RETIRE_NOT,
	GY_LOOP_RETIRE_CHANNELS, /* the sockets that listen go, connections end */
	GY_LOOP_RETIRE_ACTORS,	 /* actors end */
};

/* A part of the worker, for its own thread. */
struct gy_loop_retiring {
	enum gy_loop_retire_stage stage;
	uint64_t drain_ns; /* when the connections that are left are drained */
	uint64_t leave_ns; /* until then links to other nodes have a way of their own; 0: not yet */
	uint64_t end_ns;   /* when what is left of the stage is ended at once */
	uint32_t ordered;  /* actors that were told to stop last */
	uint64_t stopped;  /* how many had stopped before that */
	uint32_t agents;   /* that were there then, and not told yet */
	bool last;	   /* nobody else is left, and they are told */
	bool again;	   /* some could not be told yet */
	bool drained;
	bool hard;     /* those that are left have been ended at once */
	uint32_t done; /* atomic: the stage that is done; enum gy_loop_retire_stage */
	uint32_t end;  /* atomic: the thread is to end */
};

/* A function that the one who resizes has run on a loop. */
struct gy_visit {
	struct gy_task task;
	struct gy_worker *worker;
	void (*run)(struct gy_worker *worker);
	bool done; /* under the mutex of the resizing */
};

struct gy_worker {
	struct gyre_system *system;
	struct gy_home *home;
	pthread_t thread;
	bool started;
	bool draining;
	bool aborted;
	bool arrived; /* at the end of the present stage */
	bool stopped; /* its actors have been told to stop */
	uint32_t stage;
	struct gy_loop_retiring retiring;
	struct gy_timer deadline; /* of the drain, or of the present stage of retiring */
	struct gy_visit visit;
	int error; /* of its start */
	struct gy_guarded guarded;
};

struct gy_resizing {
	pthread_mutex_t exclusive; /* held by the one who resizes, or starts */
	pthread_mutex_t mutex;
	pthread_cond_t condition; /* a visit is over, a stage done, or the system stops */
	uint32_t under_way;	  /* atomic: no stop begins yet, and no hand-over */
	uint32_t refused;	  /* atomic: sockets are being handed over */
	uint32_t living;	  /* loops with a thread, or one from the start on; under @turns */
	uint32_t threads_max;	  /* more loops than that do not poll */
	bool spin_auto;
};

/* Where a loop runs. */
struct gy_cpu_place {
	int cpu;
	int node; /* of memory; -1 where it makes no difference */
};

struct gy_directory;
struct gy_foreign_asks;
struct gy_offload;
struct gy_watchdog;

struct gyre_system {
	struct gy_homes homes; /* first: lower floors find it there */
	struct gy_worker *workers;
	struct gyre_system_options options; /* no field is left at its default */
	struct gy_log log;
	struct gy_cpu_place *cpu_places; /* one for each loop that there may be */
	uint32_t cookie_seed;
	uint32_t next_loop[2]; /* atomic: round robin, of state actors and of channels actors */
	uint64_t outside_sent; /* atomic, as the next two */
	uint64_t outside_handled;
	uint64_t outside_dropped[GYRE_DROP_COUNT];
	struct gy_foreign_asks *foreign_asks;
	struct gy_offload *offload;
	struct gy_directory *directory;
	struct gy_watchdog *watchdog; /* NULL for none, and when no loop runs */
	uint64_t stalls;	      /* written by the watchdog with gy_count() */
	struct gy_memory_guard memory_guard;
	struct gy_resizing resizing;

	/* Atomic: */
	uint32_t stop;	/* 1 asked to drain, 2 asked not to wait */
	uint32_t stage; /* enum gy_stage */
	uint32_t arrived;
	bool complete; /* all its parts are made */
	bool running;  /* started at some time */
	bool joined;

	pthread_mutex_t late_mutex; /* of who takes what was posted after the end */
	pthread_mutex_t mutex;	    /* guards the start */
	pthread_cond_t entered_condition;
	pthread_cond_t gate_condition;
	uint32_t entered;
	enum {
		GY_GATE_CLOSED,
		GY_GATE_OPEN,
		GY_GATE_ABANDONED
	} gate;		 /* no loop turns before all can */
	int error;	 /* atomic: the first that a loop met with */
	int ended_fd;	 /* readable when all loops have ended */
	int exit_status; /* atomic: of the program, if gyre_main() runs it */
	int signal_fd; /* of SIGINT and SIGTERM; opened early, so that their lack is an early error
			*/
	int watch_fd;  /* tells the thread in gyre_system_run() that @watched has changed */
	struct gyre_address signals;	  /* the actor that catches them; guarded by @mutex */
	uint64_t watched;		  /* atomic: signals that actors watch, a bit each */
	uint64_t blocked;		  /* atomic: of those, what that thread blocks */
	bool has_runner;		  /* atomic: there is such a thread */
	struct gy_succession *succession; /* NULL without @handover */
	struct gyre_socket_address supervisor;
	int supervisor_fd; /* by which that is told things, or -1 */
	bool explained;	   /* an error of the creation has its line in the log */
};

/* ---- options.c ---- */

/* Fills in defaults and checks bounds; a bad field is named in the log of @options. */
int gy_options_resolve(const struct gyre_system_options *options,
		       struct gyre_system_options *ret_options);

/* ---- cpus.c ---- */

/* The CPUs that loops may be pinned to: those of @list, else those the process may use. A count. */
int gy_cpus_find(const char *list, const struct gy_log *log, int *ret_cpus, int cpus_max);

/* ---- drain.c ---- */

/* After each turn of a loop of a stopping system. False when the loop has nothing left to do. */
bool gy_drain_step(struct gy_worker *worker);
void gy_system_wake_all(struct gyre_system *system);

/* ---- loop_retire.c: on the worker's thread ---- */

/* The connections and actors of the loop are to end. */
void gy_loop_retire_begin(struct gy_worker *worker);
/* No more is to come of what was sent before: its actors stop when they have handled that. */
void gy_loop_retire_actors(struct gy_worker *worker);
/* After each turn. False when the thread is to end. */
bool gy_loop_retire_step(struct gy_worker *worker);

/* ---- resize.c ---- */

void gy_resizing_init(struct gyre_system *system);
void gy_resizing_fini(struct gyre_system *system);
/* A stage is done, or the system stops: whoever resizes looks again. */
void gy_resizing_tell(struct gyre_system *system);
/* When the loops have been started: retires those that are too many. */
void gy_resize_after_start(struct gyre_system *system);

/* ---- system.c ---- */

/* Makes the home of the next loop, which does not take part yet. */
int gy_system_make_home(struct gyre_system *system, uint32_t index);

/* ---- main.c ---- */

/* An actor's failure stops the system; the program of gyre_main() then ends with a status of 1. */
void gy_system_fail(struct gyre_system *system);
/* Its node is to end, for another one has declared it down. */
void gy_system_was_declared_down(struct gyre_system *system);

/* ---- outside.c ---- */

/* Mail from outside that no loop will take any more: counted as lost in the shutdown, and freed. */
void gy_outside_lost(struct gyre_system *system, struct gyre_address to, struct gyre_mail *mail);
/* The loop by which mail from outside goes to an address, always the same one; -EINVAL for none. */
int gy_outside_loop(const struct gyre_system *system, struct gyre_address to);
/* Counts mail from the heap that is lost, and tells who listens; the mail stays. Any thread. */
void gy_outside_drop(struct gyre_system *system, const struct gyre_mail *mail,
		     struct gyre_address to, enum gyre_drop reason);

/* ---- foreign_ask.c ---- */

/* Whether the house is that of an agent. */
bool gy_foreign_asks_has(const struct gy_house *house);
/* The loop has retired, and its agent has ended: it is called no more. */
void gy_foreign_asks_close(struct gyre_system *system, uint32_t loop);
int gy_foreign_asks_init(struct gyre_system *system);
void gy_foreign_asks_fini(struct gyre_system *system);
/* Opens the next stage of a stop, so that no ask from outside falls between two. */
void gy_foreign_asks_set_stage(struct gyre_system *system, uint32_t stage);
/* What a lost mail is to those who listen: for a carrier, the question that it carries. */
void gy_foreign_ask_describe(const struct gyre_mail *mail, const struct gyre_type **type,
			     struct gyre_address *to);

/* ---- process.c ---- */

/* The worker that this thread is, for its loop turns here; NULL for other threads. Signal safe. */
const struct gy_worker *gy_current_worker(void);
void gy_current_worker_set(const struct gy_worker *worker);

/* ---- offload.c ---- */

int gy_offload_init(struct gyre_system *system);
/* After gy_offload_stop(), if any thread was started. */
void gy_offload_fini(struct gyre_system *system);
/* Takes no more work, and fails what was not begun. Does not wait; twice is harmless. */
void gy_offload_close(struct gyre_system *system);
/* When the loops have ended: waits for what runs. */
void gy_offload_stop(struct gyre_system *system);

/* ---- memory_guard.c ---- */

/* After a turn: looks at the memory if that is due, and does as the whole system does. */
static inline void gy_memory_guard_after_turn(struct gy_worker *worker)
{
	struct gy_memory_guard *memory_guard = &worker->system->memory_guard;

	if (gy_unlikely(worker->home->loop.now_ns >= gy_load_relaxed(&memory_guard->due_ns))) {
		gy_memory_guard_check(worker->system, worker->home->loop.now_ns);
	}
	if (gy_unlikely((gy_load_relaxed(&memory_guard->busy) | worker->guarded.busy) != 0)) {
		gy_memory_guard_apply(worker);
	}
}

/*
 * For a thread from outside that is about to add the @sent-th notice, of so many bytes: looks at
 * the memory now and then, and waits while it is short. A clock reading for each notice would cost
 * as much as the notice.
 */
enum { GY_MEMORY_GUARD_EVERY_NOTICES = 128, GY_MEMORY_GUARD_LARGE_BYTES = 4096 };

static inline void gy_memory_guard_admit(struct gyre_system *system, uint64_t sent, uint32_t bytes)
{
	if (gy_unlikely(sent % GY_MEMORY_GUARD_EVERY_NOTICES == 0 ||
			bytes >= GY_MEMORY_GUARD_LARGE_BYTES)) {
		const struct gy_clock machine = { 0 };
		uint64_t now_ns = gy_clock_ns(&machine);

		if (gy_unlikely(now_ns >= gy_load_relaxed(&system->memory_guard.due_ns))) {
			gy_memory_guard_check(system, now_ns);
		}
	}
	if (gy_unlikely(gy_load_relaxed(&system->memory_guard.busy) != 0)) {
		gy_memory_guard_wait(system);
	}
}

/* ---- signals.c ---- */

/*
 * In the thread of gyre_system_run(), which blocked @before at first: blocks what is watched now,
 * adds it to @ret_late, and tells.
 */
void gy_signals_block(struct gyre_system *system, const sigset_t *before, sigset_t *ret_late);

/* ---- standard.c ---- */

/* Opens what is closed of the descriptors 0 to 2. */
int gy_process_open_standard(const struct gy_log *log);

/* ---- descriptors.c ---- */

/* Makes room for the descriptors that the process may open; without it they are opened slowly. */
void gy_process_reserve_descriptors(const struct gy_log *log);

/* ---- threads.c ---- */

/* The signals that stop a system. */
void gy_system_signals(sigset_t *ret_signals);
void gy_system_join(struct gyre_system *system);
/* An actor of a socket has been mounted, or could not be. Any thread. */
void gy_system_opened(struct gy_homes *homes);
/* Starts the threads of some loops, and waits until they can turn; on failure they may not. */
int gy_threads_start(struct gyre_system *system, uint32_t from, uint32_t to);
/* Takes what came in after the loops had ended: it can have come only from outside. Any thread. */
void gy_system_take_late(struct gy_home *home);

#endif
