/*
 * The directory of a system: by what its actors are found, which is names and groups.
 */
#ifndef GY_SYSTEM_DIRECTORY_H
#define GY_SYSTEM_DIRECTORY_H

#include "system/groups.h"
#include "system/names.h"
#include "system/rcu.h"

struct gy_directory {
	struct gy_rcu rcu;
	struct gy_names names;
	struct gy_groups groups;
};

/* @homes are looked at when the first group is made. NULL when there is no memory. */
struct gy_directory *gy_directory_create(const struct gy_homes *homes);
/* When all threads of the system have ended. NULL is allowed. */
void gy_directory_destroy(struct gy_directory *directory);

/* What homes call. */
extern const struct gy_directory_ops gy_directory_ops;

#endif
