/*
 * The program of gyre_main(), and what ends it; see main.c.
 */
#ifndef GY_SYSTEM_MAIN_H
#define GY_SYSTEM_MAIN_H

struct gyre_system;

/* An actor's failure stops the system; the program of gyre_main() then ends with a status of 1. */
void gy_system_fail(struct gyre_system *system, int error);
/* Its node is to end, for another one has declared it down. */
void gy_system_was_declared_down(struct gyre_system *system);

#endif
