/*
 * Small text files that the kernel writes, in /proc and /sys. All paths are below a root, which is
 * "" but for tests: those plant a tree of their own.
 */
#ifndef GY_SYSTEM_MACHINE_KERNEL_FILE_H
#define GY_SYSTEM_MACHINE_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GY_PATH_BYTES = 4096 };

/* A descriptor, or a negative errno. */
int gy_kernfile_open(const char *root, const char *path);
/* Closes one that may be negative. */
void gy_kernfile_close(int fd);
/* What is in it now, from its front, as far as there is room; ends in a zero. Bytes, or a negative
 * errno. Allocates nothing. */
int gy_kernfile_reread(int fd, char *ret_text, size_t bytes);
/* Opens, reads and closes. */
int gy_kernfile_read(const char *root, const char *path, char *ret_text, size_t bytes);

/* Joins two parts of a path; false when there is no room. */
bool gy_path_join(char ret_path[GY_PATH_BYTES], const char *folder, const char *name);

/* A number at *@text, which is moved behind it; false when there is none, or it is too large. */
bool gy_text_number(const char **text, uint64_t *ret_number);

/* ---- cgroup.c ---- */

/* Hears of one folder of the hierarchy; it is below the root that the walk was given. */
typedef void (*gy_cgroup_fn)(const char *root, const char *folder, void *arg);

/*
 * Calls @visit for the cgroup of this process and for each that it is in, the innermost first. Only
 * of version 2; where there is none, or none that can be seen, nothing is called.
 */
void gy_cgroup_walk(const char *root, gy_cgroup_fn visit, void *arg);

/* How much CPU time this process may use, in thousandths of a CPU; UINT64_MAX for no limit. */
uint64_t gy_cgroup_cpu_quota_milli(const char *root);

#endif
