/*
 * The end of a system, in stages that all loops reach together; see drain.c.
 */
#ifndef GY_SYSTEM_DRAIN_H
#define GY_SYSTEM_DRAIN_H

#include <stdbool.h>

struct gy_worker;
struct gyre_system;

/* The stages of a stop. All loops go through each together; see drain.c. */
enum gy_stage {
	GY_STAGE_RUNNING, /* while the system stops: nothing new is taken in */
	GY_STAGE_FINISH,
	GY_STAGE_CLOSE,
	GY_STAGE_LAST_WORDS, /* reached when all channels are closed */
	GY_STAGE_NO_ACTORS,
	GY_STAGE_NO_MAIL, /* reached when all actors are gone */
	GY_STAGE_NO_ANSWERS,
	GY_STAGE_NO_RETURNS,
	GY_STAGE_END,
};

/* After each turn of a loop of a stopping system. False when the loop has nothing left to do. */
bool gy_drain_step(struct gy_worker *worker);
void gy_system_wake_all(struct gyre_system *system);

#endif
