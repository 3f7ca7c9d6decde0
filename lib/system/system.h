/*
 * What the files of this floor share: the system itself, its options resolved, and its threads.
 */
#ifndef GY_SYSTEM_SYSTEM_H
#define GY_SYSTEM_SYSTEM_H

#include <gyre/system.h>

#include "actor/house.h"

/* The stages of a stop. All loops go through each together; see drain.c. */
enum gy_stage {
	GY_STAGE_RUNNING,
	GY_STAGE_NO_ACTORS = 1, /* reached when all channels are closed */
	GY_STAGE_NO_MAIL,	/* reached when all actors are gone */
	GY_STAGE_NO_ANSWERS,
	GY_STAGE_NO_RETURNS,
	GY_STAGE_END,
};

struct gy_worker {
	struct gyre_system *system;
	struct gy_home *home;
	pthread_t thread;
	bool started;
	bool draining;
	bool aborted;
	bool arrived; /* at the end of the present stage */
	uint32_t stage;
	struct gy_timer deadline; /* of the drain */
};

struct gyre_system {
	struct gy_homes homes; /* first: lower floors find it there */
	struct gy_loops *loops;
	struct gy_worker *workers;
	struct gyre_system_options options; /* no field is left at its default */
	struct gy_log log;
	int *cpus;	    /* one a loop */
	uint32_t next_loop; /* atomic: round robin */
	uint64_t outside_sent;
	uint64_t outside_dropped;

	/* Atomic: */
	uint32_t stop;	/* 1 asked to drain, 2 asked not to wait */
	uint32_t stage; /* enum gy_stage */
	uint32_t arrived;
	bool complete; /* made to the end */
	bool running;  /* started at some time */
	bool joined;

	pthread_mutex_t mutex; /* guards the start */
	pthread_cond_t entered_condition;
	pthread_cond_t gate_condition;
	uint32_t entered;
	enum {
		GY_GATE_CLOSED,
		GY_GATE_OPEN,
		GY_GATE_ABANDONED
	} gate;	      /* no loop turns before all can */
	int error;    /* the first that a loop met with */
	int ended_fd; /* readable when all loops have ended */
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

/* ---- outside.c ---- */

/* Mail from outside that no loop will take any more: counted as lost in the shutdown, and freed. */
void gy_outside_lost(struct gyre_system *system, uint16_t loop, struct gyre_mail *mail);

/* ---- threads.c ---- */

void gy_system_join(struct gyre_system *system);
/* Takes what came in after the loops had ended: it can have come only from outside. */
void gy_system_drop_late(struct gyre_system *system);

#endif
