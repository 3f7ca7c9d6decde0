/*
 * The decisions of a simulation; see decisions.c, and sim.h for how they are taken.
 */
#ifndef GY_SIM_DECISIONS_H
#define GY_SIM_DECISIONS_H

#include "sim/sim.h"

/* 0 or a negative errno: a file cannot be opened, or is none of decisions (-EBADMSG). */
int gy_sim_decisions_init(struct gyre_sim *sim, const struct gyre_sim_options *options);
void gy_sim_decisions_fini(struct gyre_sim *sim);

#endif
