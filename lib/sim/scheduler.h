/*
 * Tasks and what runs them; see task.c and scheduler.c. The rest of the simulator needs only what
 * sim.h says of them; threads, RCU and hosts need this.
 */
#ifndef GY_SIM_SCHEDULER_H
#define GY_SIM_SCHEDULER_H

#include <signal.h>

#include "sim/context.h"
#include "sim/sim.h"

struct gy_foreign_mine;
struct gy_worker;

enum {
	GY_SIM_TASK_NAME_BYTES = 16,
	GY_SIM_ADDRESS_QUEUES = 64, /* in which tasks wait that do so at an address */
};

/* What a thread has for itself in gyre: the thread-local objects of the library. */
struct gy_sim_task_locals {
	struct gy_foreign_mine *foreign_mine;
	const struct gy_worker *worker;
	uint32_t reader_reasons;
	int error; /* errno */
};

/* A call of pthread_once(), on the stack of its task. */
struct gy_sim_once {
	pthread_once_t *control;
	struct gy_sim_once *outer; /* within which it is called */
};

struct gy_sim_specific {
	pthread_key_t key;
	const void *value;
};

struct gy_sim_task {
	struct gyre_sim *sim;
	struct gy_sim_host *host; /* NULL for the observer */
	bool exits;		  /* its end is that of its host, as that of the main task is */
	struct gy_list of_host;
	struct gy_list of_queue; /* of those that are ready, or that wait for the same */
	struct gy_sim_queue joiners;
	enum gy_sim_task_state state;
	bool woken;    /* the wait ended otherwise than by time */
	bool detached; /* nobody will join it */
	bool ending;   /* has returned, and ends what it has by pthread_setspecific() */
	bool observer;
	const void *address; /* that it waits at, until it has gone on */
	const char *waits_for;
	/* What a wait has taken, and gives back also where it never ends. */
	struct gy_sim_file *file;
	void *scratch;
	uint64_t until_ns;	   /* that it waits at most */
	struct gy_sim_timer timer; /* fires then, or before */
	uint32_t number;	   /* of the host's tasks */
	uint32_t serial;	   /* of all tasks that there ever were; from 1 on */
	char name[GY_SIM_TASK_NAME_BYTES];
	void *(*run)(void *arg);
	void *arg;
	void *value;
	sigset_t blocked;	  /* signals */
	const sigset_t *awaited;  /* signals that it waits for; NULL: none */
	struct gy_sim_once *once; /* what it has begun of pthread_once() */
	struct gy_sim_task_locals locals;
	pthread_mutex_t **held; /* mutexes that it has locked */
	uint32_t held_count;
	uint32_t held_room;
	struct gy_sim_specific *specifics;
	uint32_t specifics_count;
	uint32_t specifics_room;
	bool online;	    /* a reader of RCU that may look */
	bool resting;	    /* which does not until it has events */
	uint64_t quiescent; /* the host's grace number when it last looked at nothing */
	struct gy_sim_stack *stack;
	struct gy_sim_context context;
	void *fake_stack; /* of the address sanitizer */
};

struct gy_sim_scheduler {
	struct gy_list ready;
	uint32_t ready_count;
	uint32_t tasks_made;
	struct gy_sim_timer **timers; /* a heap, from 1 on */
	uint32_t timers_count;
	uint32_t timers_room;
	uint64_t timer_number;
	struct gy_list rows[GY_SIM_ROWS];			 /* of timers, each by time */
	struct gy_sim_queue at_addresses[GY_SIM_ADDRESS_QUEUES]; /* of mutexes, conditions */
	struct gy_list stacks;					 /* that nobody uses */
	struct gy_sim_task observer;
	struct gy_sim_context context; /* of who called gyre_sim_run() */
	void *fake_stack;
	const void *bottom; /* the stack of that, for the sanitizer */
	size_t bottom_bytes;
};

void gy_sim_scheduler_init(struct gyre_sim *sim);
void gy_sim_scheduler_fini(struct gyre_sim *sim);

/* ---- task.c ---- */

/* A task that is ready to run. NULL: there is no memory for its stack. */
struct gy_sim_task *gy_sim_task_create(struct gy_sim_host *host, void *(*call)(void *arg),
				       void *arg);
/* Ends a task where it stands: what it had on its stack is lost. It is not running. */
void gy_sim_task_destroy(struct gy_sim_task *task);
/* Lets a ready task run until it waits, yields or ends. In the scheduler. */
void gy_sim_task_switch_to(struct gy_sim_task *task);
/* Ends the running task, as when its function returns. */
_Noreturn void gy_sim_task_return(void *value);
/* Ends the running task, and its host as by exit(). */
_Noreturn void gy_sim_task_exit(void);
/* Back to the scheduler. In a task. */
void gy_sim_task_switch_back(struct gy_sim_task *task);
/* Lets a task that waits go on at @until_ns; UINT64_MAX: never. */
void gy_sim_task_start_timer(struct gy_sim_task *task, uint64_t until_ns);
/* Calls the functions that end what the task has by pthread_setspecific(): in its name, but on the
 * stack of the scheduler or its own. */
void gy_sim_task_end_specifics(struct gy_sim_task *task);
/* Has calls be made in the name of a task without its stack; gives what was before. */
struct gy_sim_task *gy_sim_task_pose(struct gy_sim_task *task);

/* ---- timers.c ---- */

void gy_sim_timers_init(struct gy_sim_scheduler *scheduler);
/* The one that fires next; NULL: none is started. */
struct gy_sim_timer *gy_sim_timer_first(const struct gy_sim_scheduler *scheduler);

/* ---- scheduler.c ---- */

/* Runs until @when is true: 0; until @until_ns: -ETIMEDOUT; or until something is found wrong:
 * -ENOTRECOVERABLE. */
int gy_sim_schedule(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg, uint64_t until_ns);
/* Tells what each task of the hosts that are up does or waits for, a line each without its end. */
void gy_sim_tasks_tell(const struct gyre_sim *sim, void (*tell)(const char *line, void *arg),
		       void *arg);
/* Has a task that is in no list go on. */
void gy_sim_task_ready(struct gy_sim_task *task);
/* Takes a task out of whatever list it is in. */
void gy_sim_task_unlist(struct gy_sim_task *task);
/*
 * A host is about to go down. What hosts have in common would be left half changed by tasks of it
 * that can go on and have locked a mutex outside of its memory, or are ending; and tasks of other
 * hosts that have would be in the way of what is done for the host. They all have turns until they
 * are through, but not for ever. In the scheduler.
 */
void gy_sim_tasks_leave(struct gy_sim_host *host);
/* Wait for, and wake, who waits at the same address, in any host. */
bool gy_sim_wait_at(const void *address, uint64_t until_ns, const char *what);
void gy_sim_wake_at(const void *address, bool all);

/* ---- rcu_calls.c ---- */

struct gy_sim_rcu {
	struct gy_list items;
	uint64_t number; /* of the newest item */
	struct gy_sim_task *reclaimer;
	struct gy_sim_queue due;
};

void gy_sim_rcu_init(struct gy_sim_host *host);
/* What waits for a grace period is dropped: its memory goes with the host. */
void gy_sim_rcu_fini(struct gy_sim_host *host);
/* After a task of the host has run: wakes the reclaimer if a grace period is over. */
void gy_sim_rcu_look(struct gy_sim_host *host);
/* The running task looks at nothing, now and until it is said that it no longer rests. */
void gy_sim_rcu_rest(bool rests);

/* ---- thread_calls.c ---- */

/* Lets go of the mutexes of a task that goes no further, for those that are global in the program
 * belong to other hosts too. In its name: see gy_sim_task_pose(). */
void gy_sim_task_unlock_all(struct gy_sim_task *task);

/* ---- host.c ---- */

struct gy_sim_host *gy_sim_host_make(struct gyre_sim *sim, const char *name, gyre_sim_boot_fn boot,
				     void *arg);
void gy_sim_host_boot(struct gy_sim_host *host);
/* Ends all of the host. @crashed: also what gyre has allocated and what is not on the disk. */
void gy_sim_host_down(struct gy_sim_host *host, bool crashed);
void gy_sim_host_destroy(struct gy_sim_host *host);
/* ---- process_calls.c, stream_calls.c ---- */

/* A host ends as a process does: writes what its streams have yet. In one of its tasks. */
void gy_sim_streams_flush(struct gy_sim_host *host);
/* A host is down: what it has set, and opened, is no more. */
void gy_sim_environment_fini(struct gy_sim_host *host);
void gy_sim_streams_fini(struct gy_sim_host *host);

/* ---- host.c ---- */

/* The clocks of a host, and back to that of the simulation. */
uint64_t gy_sim_host_clock(const struct gy_sim_host *host);
uint64_t gy_sim_host_date(const struct gy_sim_host *host);
uint64_t gy_sim_host_when(const struct gy_sim_host *host, uint64_t clock_ns);
uint64_t gy_sim_host_when_date(const struct gy_sim_host *host, uint64_t date_ns);

#endif
