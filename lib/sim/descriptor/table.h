/*
 * The descriptors of a host; see table.c.
 */
#ifndef GY_SIM_TABLE_H
#define GY_SIM_TABLE_H

#include "sim/sim.h"

struct gy_sim_slot {
	struct gy_sim_file *file; /* NULL: free */
	bool close_on_exec;
};

/* With the descriptors 0 to 2, as each process has them. */
void gy_sim_table_init(struct gy_sim_host *host);
/* Closes all. */
void gy_sim_table_fini(struct gy_sim_host *host);
/* The lowest descriptor from @from on; -1: there is none. */
int gy_sim_table_next(const struct gy_sim_host *host, uint32_t from);
/* NULL where @fd is none of the running host's. */
struct gy_sim_slot *gy_sim_slot_at(int fd);
/* Has @fd stand for nothing. 0 or -EBADF. */
int gy_sim_descriptor_close(int fd);
/* Has @fd stand for @file as well, in the place of what it was. @fd or -EBADF. */
int gy_sim_file_install_at(struct gy_sim_file *file, int fd);

#endif
