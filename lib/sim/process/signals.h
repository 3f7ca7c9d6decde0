/*
 * Signals of hosts: how one is sent from outside. What hosts call to read them is in signals.c.
 */
#ifndef GY_SIM_SIGNALS_H
#define GY_SIM_SIGNALS_H

#include "sim/sim.h"

/* Sends a signal to a host that is up. 0, or -EOPNOTSUPP: no descriptor is there to read it from,
 * and nothing else of signals is simulated. */
int gy_sim_signal_send(struct gy_sim_host *host, int signo);

#endif
