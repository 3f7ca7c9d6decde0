/*
 * How much memory is used, of what limit: the cgroups that the process is in, its resident memory,
 * or both.
 */
#ifndef GY_SYSTEM_MACHINE_MEMORY_USAGE_H
#define GY_SYSTEM_MACHINE_MEMORY_USAGE_H

#include "base/log/log.h"
#include "system/machine/kernel_file.h"

enum { GY_MEMORY_USAGE_CGROUPS_MAX = 8 };

/* How near a limit is. */
enum gy_memory_usage_level {
	GY_MEMORY_USAGE_LOW,
	GY_MEMORY_USAGE_HALF, /* from half of it on */
	GY_MEMORY_USAGE_HIGH, /* from 80 % of it on: a busy system stays busy */
	GY_MEMORY_USAGE_OVER, /* above 90 %, or with too little free: a system becomes busy */
};

struct gy_memory_reading {
	enum gy_memory_usage_level level;
	uint64_t used_bytes;  /* of that limit which is nearest; 0 when there is none */
	uint64_t limit_bytes; /* 0 when there is none */
};

struct gy_memory_usage_cgroup {
	int max_fd;
	int current_fd;
	int stat_fd; /* negative when there is none */
};

struct gy_memory_usage {
	struct gy_memory_usage_cgroup cgroups[GY_MEMORY_USAGE_CGROUPS_MAX];
	uint32_t cgroups_count;
	int statm_fd;	      /* negative when resident memory does not matter */
	uint64_t limit_bytes; /* of resident memory */
	uint64_t page_bytes;
};

/* Initialises a usage without a limit. */
void gy_memory_usage_init(struct gy_memory_usage *memory_usage);
/* @limit_bytes: of resident memory; 0 for the machine's if no cgroup sets a limit. What cannot be
 * read is left out. */
void gy_memory_usage_open(struct gy_memory_usage *memory_usage, const char *root,
			  uint64_t limit_bytes);
void gy_memory_usage_close(struct gy_memory_usage *memory_usage);
/* Makes no allocation and opens nothing. */
struct gy_memory_reading gy_memory_usage_read(const struct gy_memory_usage *memory_usage);

/* The level of @used_bytes against a limit. */
enum gy_memory_usage_level gy_memory_usage_level_of(uint64_t used_bytes, uint64_t limit_bytes);

#endif
