/*
 * What is asked after each event: the checks of users, and the condition of gyre_sim_run_until().
 */
#ifndef GY_SIM_CHECKS_H
#define GY_SIM_CHECKS_H

#include "sim/sim.h"

/*
 * Runs all checks; what one finds wrong is in @sim->failure. If nothing is, asks a condition,
 * unless it is NULL: its answer.
 */
bool gy_sim_checks_run(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg);
void gy_sim_checks_fini(struct gyre_sim *sim);

#endif
