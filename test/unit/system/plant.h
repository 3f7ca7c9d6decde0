/*
 * A tree of files as the kernel has them in /proc and /sys, planted in a folder of its own.
 */
#ifndef TEST_UNIT_SYSTEM_PLANT_H
#define TEST_UNIT_SYSTEM_PLANT_H

#include <stdint.h>

/* The folder, for functions that take a root. */
extern char plant_root[];

void plant_begin(void);
void plant_end(void);
/* A file below the root with its folders. */
void plant(const char *path, const char *text);
void plant_number(const char *path, uint64_t number);
/* The file of cgroups of a process in the cgroup @path, and the top of version 2. */
void plant_cgroup(const char *path);

#endif
