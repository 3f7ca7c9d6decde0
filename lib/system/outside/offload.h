/*
 * Work that is done off the loops; see offload.c.
 */
#ifndef GY_SYSTEM_OUTSIDE_OFFLOAD_H
#define GY_SYSTEM_OUTSIDE_OFFLOAD_H

struct gyre_system;

int gy_offload_init(struct gyre_system *system);
/* After gy_offload_stop(), if any thread was started. */
void gy_offload_fini(struct gyre_system *system);
/* Takes no more work, and fails what was not begun. Does not wait; twice is harmless. */
void gy_offload_close(struct gyre_system *system);
/* When the loops have ended: waits for what runs. */
void gy_offload_stop(struct gyre_system *system);

#endif
