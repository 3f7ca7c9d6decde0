/*
 * The life of a directory, and its side of what homes call.
 */
#include "system/directory.h"

#include "base/memory.h"
#include "system/name_entry.h"

struct gy_directory *gy_directory_create(const struct gy_homes *homes)
{
	struct gy_directory *directory = (struct gy_directory *)gy_memory_get(sizeof(*directory));

	if (directory == NULL) {
		return NULL;
	}
	gy_rcu_init(&directory->rcu);
	gy_groups_init(&directory->groups, homes, &directory->rcu);
	if (gy_names_init(&directory->names, &directory->rcu) < 0) {
		gy_directory_destroy(directory);
		return NULL;
	}
	return directory;
}

void gy_directory_destroy(struct gy_directory *directory)
{
	if (directory == NULL) {
		return;
	}
	gy_rcu_fini(&directory->rcu);
	gy_names_fini(&directory->names);
	gy_groups_fini(&directory->groups);
	gy_memory_put(directory);
}

const struct gy_directory_ops gy_directory_ops = {
	.route = gy_group_route,
	.enlist = gy_group_enlist,
	.refuse = gy_group_refuse,
	.withdraw = gy_name_entry_withdraw,
};
