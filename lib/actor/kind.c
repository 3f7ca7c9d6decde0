/*
 * Finding and making kinds. A program has few classes, and mostly spawns of the same one again and
 * again.
 */
#include "actor/kind.h"

#include <string.h>

#include "actor/stack.h"
#include "base/memory.h"

static void look_at_class(struct gy_kind *kind)
{
	const struct gyre_class *class = kind->class;

	kind->frame_bytes = (uint32_t) class->frame_bytes;
	kind->stack_class = gy_sizes_class(sizeof(struct gy_stack) + class->frame_bytes);
	kind->plain =
		class->barrier == NULL && class->batch_notices == NULL && class->mailbox_limit == 0;
}

static bool is_of(const struct gy_kind *kind, const struct gyre_class *class)
{
	return kind->class == class &&
	       (kind->actors > 0 || strncmp(kind->name, class->name, sizeof(kind->name) - 1) == 0);
}

static struct gy_kind *find(const struct gy_kinds *kinds, const struct gyre_class *class,
			    uint64_t key)
{
	struct gy_table_item *item = gy_table_find(&kinds->by_class, key);

	for (; item != NULL; item = item->next) {
		struct gy_kind *kind = gy_container_of(item, struct gy_kind, item);

		if (is_of(kind, class)) {
			return kind;
		}
	}
	return NULL;
}

static struct gy_kind *make(struct gy_home *home, const struct gyre_class *class, uint64_t key)
{
	struct gy_kind *kind = (struct gy_kind *)gy_memory_get(sizeof(*kind));

	if (kind == NULL) {
		return NULL;
	}
	kind->class = class;
	kind->item.key = key;
	(void)strncpy(kind->name, class->name, sizeof(kind->name) - 1);
	if (gy_table_add(&home->kinds.by_class, &home->parts, &kind->item) < 0) {
		gy_memory_put(kind);
		return NULL;
	}
	kind->log = gy_class_log_get(home, kind->name);
	if (kind->log == NULL) {
		gy_table_remove(&home->kinds.by_class, &home->parts, &kind->item);
		gy_memory_put(kind);
		return NULL;
	}
	kind->next = home->kinds.first;
	gy_store_release(&home->kinds.first, kind);
	return kind;
}

struct gy_kind *gy_kind_of(struct gy_home *home, const struct gyre_class *class)
{
	struct gy_kind *kind = home->kinds.recent;

	if (kind == NULL || !is_of(kind, class)) {
		uint64_t key = gy_table_mix((uint64_t)(uintptr_t) class);

		kind = find(&home->kinds, class, key);
		if (kind == NULL) {
			kind = make(home, class, key);
		}
		if (kind == NULL) {
			return NULL;
		}
		home->kinds.recent = kind;
	}
	if (kind->actors == 0) {
		look_at_class(kind);
	}
	return kind;
}

struct gy_kind *gy_kind_enter(struct gy_home *home, const struct gyre_class *class)
{
	struct gy_kind *kind = gy_kind_of(home, class);

	if (kind != NULL) {
		gy_store_relaxed(&kind->actors, kind->actors + 1);
	}
	return kind;
}

void gy_kinds_fini(struct gy_home *home)
{
	struct gy_kind *kind = home->kinds.first;

	while (kind != NULL) {
		struct gy_kind *next = kind->next;

		gy_class_log_put(home, kind->log);
		gy_memory_put(kind);
		kind = next;
	}
	home->kinds.by_class.count = 0;
	gy_table_fini(&home->kinds.by_class, &home->parts);
	home->kinds = (struct gy_kinds){ 0 };
}
