/*
 * Finding and making the records of classes. A program has few classes, and mostly spawns the same
 * one again and again.
 */
#include "actor/class_info.h"

#include <string.h>

#include "actor/class_log.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"

static void read_class(struct gy_class_info *info)
{
	const struct gyre_class *class = info->class;

	info->frame_bytes = (uint32_t) class->frame_bytes;
	info->stack_class = gy_sizes_class(sizeof(struct gy_stack) + class->frame_bytes);
	info->plain = class->barrier == NULL && class->batch_notices == NULL &&
		      class->batch_asks == NULL && class->urgent == NULL &&
		      class->mailbox_limit == 0;
}

static bool is_of(const struct gy_class_info *info, const struct gyre_class *class)
{
	return info->class == class &&
	       (info->actors > 0 || strncmp(info->name, class->name, sizeof(info->name) - 1) == 0);
}

static struct gy_class_info *find(const struct gy_class_infos *class_infos,
				  const struct gyre_class *class, uint64_t key)
{
	struct gy_table_item *item = gy_table_find(&class_infos->by_class, key);

	for (; item != NULL; item = item->next) {
		struct gy_class_info *info = gy_container_of(item, struct gy_class_info, item);

		if (is_of(info, class)) {
			return info;
		}
	}
	return NULL;
}

static struct gy_class_info *make(struct gy_home *home, const struct gyre_class *class,
				  uint64_t key)
{
	struct gy_class_info *info = (struct gy_class_info *)gy_memory_get(sizeof(*info));

	if (info == NULL) {
		return NULL;
	}
	info->class = class;
	info->item.key = key;
	(void)strncpy(info->name, class->name, sizeof(info->name) - 1);
	if (gy_table_add(&home->class_infos.by_class, &home->parts, &info->item) < 0) {
		gy_memory_put(info);
		return NULL;
	}
	info->log = gy_class_log_get(home, info->name);
	if (info->log == NULL) {
		gy_table_remove(&home->class_infos.by_class, &home->parts, &info->item);
		gy_memory_put(info);
		return NULL;
	}
	info->next = home->class_infos.first;
	gy_store_release(&home->class_infos.first, info);
	return info;
}

struct gy_class_info *gy_class_info_get(struct gy_home *home, const struct gyre_class *class)
{
	struct gy_class_info *info = home->class_infos.recent;

	if (info == NULL || !is_of(info, class)) {
		uint64_t key = gy_table_mix((uint64_t)(uintptr_t) class);

		info = find(&home->class_infos, class, key);
		if (info == NULL) {
			info = make(home, class, key);
		}
		if (info == NULL) {
			return NULL;
		}
		home->class_infos.recent = info;
	}
	if (info->actors == 0) {
		read_class(info);
	}
	return info;
}

struct gy_class_info *gy_class_info_enter(struct gy_home *home, const struct gyre_class *class)
{
	struct gy_class_info *info = gy_class_info_get(home, class);

	if (info != NULL) {
		gy_store_relaxed(&info->actors, info->actors + 1);
	}
	return info;
}

void gy_class_infos_fini(struct gy_home *home)
{
	struct gy_class_info *info = home->class_infos.first;

	while (info != NULL) {
		struct gy_class_info *next = info->next;

		gy_class_log_put(home, info->log);
		gy_memory_put(info);
		info = next;
	}
	home->class_infos.by_class.count = 0;
	gy_table_fini(&home->class_infos.by_class, &home->parts);
	home->class_infos = (struct gy_class_infos){ 0 };
}
