/*
 * Snapshots. Everything here is read while the loops go on writing it: counters that each have one
 * writer, and the list of class_infos, which only grows. A snapshot is one piece of memory, with
 * its arrays behind it.
 */
#include <gyre/inspect.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log/log_writer.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "channel/channels.h"
#include "system/observe/actor_tree.h"
#include "system/offload_view.h"
#include "system/system.h"

_Static_assert(GYRE_CLASS_NAME_BYTES == (int)GY_CLASS_NAME_BYTES, "a name is copied whole");

struct view {
	struct gyre_snapshot snapshot;
	uint32_t classes_max;
	char *tree;
	unsigned char *resized; /* the arrays of a program whose elements have another size */
	struct gyre_class_snapshot *classes;
	struct gyre_offload_pool_snapshot *pools;
	struct gyre_loop_snapshot loops[];
};

/* ---- loops ---- */

static struct gy_pool_use sum_of(const struct gy_pool *pools, uint32_t count)
{
	struct gy_pool_use sum = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		gy_pool_use_add(&pools[i], &sum);
	}
	return sum;
}

/*
 * What the pools of one kind of all loops have in use. An object that has left with an actor counts
 * for ever where it was made, and less than nothing where it is freed. The sum over all loops is
 * right, and is shared out among those that seem to have any in use.
 */
struct kind_use {
	int64_t used;
	int64_t used_bytes;
	int64_t seeming; /* of those that have more than nothing */
	int64_t seeming_bytes;
};

struct kinds_use {
	struct kind_use stacks;
	struct kind_use parts;
	struct kind_use promises;
};

static void add_to_kind(struct kind_use *kind, const struct gy_pool *pools, uint32_t count)
{
	struct gy_pool_use sum = sum_of(pools, count);

	kind->used += sum.used;
	kind->used_bytes += sum.used_bytes;
	kind->seeming += sum.used < 0 ? 0 : sum.used;
	kind->seeming_bytes += sum.used_bytes < 0 ? 0 : sum.used_bytes;
}

static struct kinds_use use_of_kinds(const struct gy_homes *homes)
{
	struct kinds_use use = { 0 };
	uint32_t made = gy_homes_made(homes);

	for (uint32_t i = 0; i < made; i++) {
		const struct gy_home *home = &homes->homes[i];

		add_to_kind(&use.stacks, home->stacks.pools, GY_SIZES_COUNT);
		add_to_kind(&use.parts, home->parts.pools, GY_SIZES_COUNT);
		add_to_kind(&use.promises, &home->promises, 1);
	}
	return use;
}

static uint64_t share_of(int64_t mine, int64_t all, int64_t seeming)
{
	if (mine <= 0 || all <= 0) {
		return 0;
	}
	return all >= seeming ? (uint64_t)mine
			      : (uint64_t)((double)mine * (double)all / (double)seeming);
}

static struct gyre_pool_use pool_use(const struct gy_pool *pools, uint32_t count,
				     const struct kind_use *kind)
{
	struct gy_pool_use sum = sum_of(pools, count);

	return (struct gyre_pool_use){
		.used = share_of(sum.used, kind->used, kind->seeming),
		.free = sum.free,
		.bytes = sum.free_bytes +
			 share_of(sum.used_bytes, kind->used_bytes, kind->seeming_bytes),
	};
}

static struct gyre_pool_use mail_use(const struct gy_loop *loop)
{
	struct gy_pool_use sum = sum_of(loop->nodes.pools, GY_SIZES_COUNT);

	return (struct gyre_pool_use){ (uint64_t)sum.used, sum.free,
				       (uint64_t)sum.used_bytes + sum.free_bytes };
}

/*
 * Ticks of a park that has not ended. They are charged when it does; so they count only if nothing
 * was charged while we looked, or they might be counted twice.
 */
static uint64_t parking_ticks(const struct gy_loop *loop, uint64_t charged, uint64_t now)
{
	const uint64_t *spent = &loop->meter.spent[GY_PHASE_PARKED];
	uint64_t from = gy_load_acquire(&loop->meter.ticks);

	if (!GY_INSPECT || gy_load_full(&loop->parked) == GY_AWAKE || now < from ||
	    gy_load_acquire(spent) != charged || gy_load_relaxed(&loop->meter.ticks) != from) {
		return 0;
	}
	return now - from;
}

static void view_times(const struct gy_loop *loop, struct gyre_loop_snapshot *view)
{
	const struct gy_meter *meter = &loop->meter;
	struct gy_tick_pair now = gy_tick_pair_read(&loop->clock);
	uint64_t spent[GY_PHASES];

	for (uint32_t i = 0; i < GY_PHASES; i++) {
		spent[i] = gy_load_relaxed(&meter->spent[i]);
	}
	spent[GY_PHASE_PARKED] += parking_ticks(loop, spent[GY_PHASE_PARKED], now.ticks);
	view->io_ns = gy_ticks_to_ns(spent[GY_PHASE_IO], &meter->start, &now);
	view->channels_ns = gy_ticks_to_ns(spent[GY_PHASE_CHANNELS], &meter->start, &now);
	view->state_ns = gy_ticks_to_ns(spent[GY_PHASE_STATE], &meter->start, &now);
	view->polled_ns = gy_ticks_to_ns(spent[GY_PHASE_POLLED], &meter->start, &now);
	view->parked_ns = gy_ticks_to_ns(spent[GY_PHASE_PARKED], &meter->start, &now);
}

static void view_log(const struct gy_log_source *source, struct gyre_loop_snapshot *view)
{
	view->log_lines = gy_load_relaxed(&source->lines);
	view->log_lost = gy_load_relaxed(&source->lost);
}

static void view_loop(const struct gy_home *home, const struct kinds_use *use,
		      struct gyre_loop_snapshot *view)
{
	const struct gy_loop *loop = &home->loop;

	view->index = loop->index;
	view->cpu = loop->options.cpu;
	view->turns = gy_load_relaxed(&loop->counters.turns);
	view->parks = gy_load_relaxed(&loop->counters.parks);
	view_times(loop, view);
	view->parked = gy_load_relaxed(&loop->parked) != GY_AWAKE;
	if (!view->parked) {
		/* A loop parks only with nothing to do; what it last showed is from before. */
		view->ready_channels = gy_load_relaxed(&loop->meter.ready_channels);
		view->ready_state = gy_load_relaxed(&loop->meter.ready_state);
		view->mounting = gy_load_relaxed(&loop->meter.mounting);
	}
	view->sent = gy_load_relaxed(&loop->counters.nodes_sent);
	view->received = gy_load_relaxed(&loop->counters.nodes_received);
	view->timers = gy_load_relaxed(&loop->meter.timers);
	view->actors = gy_load_relaxed(&home->houses);
	view->held_bytes = gy_load_relaxed(&gy_channels_of(home)->byte_budget.bytes);
	view->held_max = gy_byte_budget_max(gy_channels_of(home));
	view->held_over = gy_load_relaxed(&gy_channels_of(home)->byte_budget.over) != 0;
	view->mail = mail_use(loop);
	view->stacks = pool_use(home->stacks.pools, GY_SIZES_COUNT, &use->stacks);
	view->parts = pool_use(home->parts.pools, GY_SIZES_COUNT, &use->parts);
	view->promises = pool_use(&home->promises, 1, &use->promises);
}

/* ---- classes ---- */

static struct gyre_class_snapshot *class_of(struct view *view, const char *name)
{
	struct gyre_class_snapshot *class;

	for (uint32_t i = 0; i < view->snapshot.classes_count; i++) {
		if (strcmp(view->classes[i].name, name) == 0) {
			return &view->classes[i];
		}
	}
	if (view->snapshot.classes_count == view->classes_max) {
		return NULL; /* it came while we counted */
	}
	class = &view->classes[view->snapshot.classes_count++];
	memcpy(class->name, name, sizeof(class->name));
	return class;
}

static void view_kinds(const struct gy_home *home, struct view *view)
{
	const struct gy_class_info *info = gy_load_acquire(&home->class_infos.first);
	struct gy_tick_pair now = gy_tick_pair_read(&home->loop.clock);

	for (; info != NULL; info = info->next) {
		struct gyre_class_snapshot *class = class_of(view, info->name);

		if (class == NULL) {
			continue;
		}
		class->actors += gy_load_relaxed(&info->actors);
		class->handled += gy_load_relaxed(&info->handled);
		for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
			class->dropped[i] += gy_load_relaxed(&info->dropped[i]);
		}
		class->busy_ns += gy_ticks_to_ns(gy_load_relaxed(&info->busy_ticks),
						 &home->loop.meter.start, &now);
	}
}

static uint32_t count_kinds(const struct gy_homes *homes)
{
	uint32_t count = 0;

	uint32_t made = gy_homes_made(homes);

	for (uint32_t i = 0; i < made; i++) {
		const struct gy_class_info *info =
			gy_load_acquire(&homes->homes[i].class_infos.first);

		for (; info != NULL; info = info->next) {
			count++;
		}
	}
	return count;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct gyre_class_snapshot *)a)->name,
		      ((const struct gyre_class_snapshot *)b)->name);
}

/* ---- the snapshot ---- */

/* The index of a loop that is shown: those of one actor each stand behind all that there may be. */
static uint32_t index_of(const struct gyre_system *system, uint32_t number, uint32_t loops)
{
	return number < loops ? number : system->options.loops_max + number - loops;
}

static struct view *make(const struct gyre_system *system, uint32_t loops)
{
	const struct gy_homes *homes = &system->homes;
	uint32_t pools = system->options.offload_pools_count + 1;
	uint32_t classes = count_kinds(homes);
	size_t loops_bytes = loops * sizeof(struct gyre_loop_snapshot);
	size_t classes_bytes = classes * sizeof(struct gyre_class_snapshot);
	struct view *view =
		(struct view *)gy_memory_get(sizeof(*view) + loops_bytes + classes_bytes +
					     pools * sizeof(struct gyre_offload_pool_snapshot));

	if (view == NULL) {
		return NULL;
	}
	view->classes_max = classes;
	view->classes = (struct gyre_class_snapshot *)(void *)(view->loops + loops);
	view->snapshot.loops = view->loops;
	view->snapshot.loops_count = loops;
	view->snapshot.classes = view->classes;
	view->pools = (struct gyre_offload_pool_snapshot *)(void *)(view->classes + classes);
	view->snapshot.offload_pools = view->pools;
	view->snapshot.offload_pools_count = pools;
	return view;
}

static int inspect(struct gyre_system *system, struct view **ret_view)
{
	uint32_t loops = gy_loops_count(system->homes.loops);
	const struct kinds_use use = use_of_kinds(&system->homes);
	struct view *view;
	uint32_t made;

	view = make(system, loops + system->options.loops_pinned);
	if (view == NULL) {
		return -ENOMEM;
	}
	view->tree = gy_actor_tree_draw(&system->homes);
	if (view->tree == NULL) {
		gy_memory_put(view);
		return -ENOMEM;
	}
	view->snapshot.tree = view->tree;
	view->snapshot.time_ns = gy_clock_machine_ns();
	view->snapshot.stalls = gy_load_relaxed(&system->stalls);
	view->snapshot.engine = system->options.engine;
	view->snapshot.io_uring_refused = system->io_uring_refused;
	for (uint32_t i = 0; i < view->snapshot.loops_count; i++) {
		uint32_t index = index_of(system, i, loops);

		view_loop(&system->homes.homes[index], &use, &view->loops[i]);
		view_log(&system->log_writer->loops[index], &view->loops[i]);
	}
	made = gy_homes_made(&system->homes);
	for (uint32_t i = 0; i < made; i++) {
		view_kinds(&system->homes.homes[i], view);
	}
	gy_offload_view(system, view->pools);
	qsort(view->classes, view->snapshot.classes_count, sizeof(*view->classes), compare_names);
	*ret_view = view;
	return 0;
}

/* Copies the elements of an array of ours to where the program's are, which have another size. */
static void spread(unsigned char *to, size_t to_bytes, const void *from, size_t from_bytes,
		   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		gy_sized_write(to + i * to_bytes, to_bytes,
			       (const unsigned char *)from + i * from_bytes, from_bytes);
	}
}

/* For a program whose elements have another size: its snapshot has arrays of its own. */
static int resize(struct view *view, size_t loop_bytes, size_t class_bytes)
{
	struct gyre_snapshot *snapshot = &view->snapshot;
	size_t loops_bytes = snapshot->loops_count * loop_bytes;

	gy_assert(snapshot->classes_count <= view->classes_max);
	view->resized = (unsigned char *)gy_memory_get(loops_bytes +
						       snapshot->classes_count * class_bytes + 1);
	if (view->resized == NULL) {
		return -ENOMEM;
	}
	spread(view->resized, loop_bytes, view->loops, sizeof(*view->loops), snapshot->loops_count);
	spread(view->resized + loops_bytes, class_bytes, view->classes, sizeof(*view->classes),
	       snapshot->classes_count);
	snapshot->loops = (const struct gyre_loop_snapshot *)(const void *)view->resized;
	snapshot->classes =
		(const struct gyre_class_snapshot *)(const void *)(view->resized + loops_bytes);
	return 0;
}

int gyre_system_inspect_sized(struct gyre_system *system, size_t loop_bytes, size_t class_bytes,
			      struct gyre_snapshot **ret_snapshot)
{
	struct view *view;
	int r = system == NULL || ret_snapshot == NULL ? -EINVAL : inspect(system, &view);

	if (r < 0) {
		return r;
	}
	if (loop_bytes != sizeof(*view->loops) || class_bytes != sizeof(*view->classes)) {
		r = resize(view, loop_bytes, class_bytes);
	}
	view->snapshot.loop_bytes = (uint32_t)loop_bytes;
	view->snapshot.class_bytes = (uint32_t)class_bytes;
	if (r < 0) {
		gyre_snapshot_destroy(&view->snapshot);
		return r;
	}
	*ret_snapshot = &view->snapshot;
	return 0;
}

void gyre_snapshot_destroy(struct gyre_snapshot *snapshot)
{
	if (snapshot != NULL) {
		struct view *view = gy_container_of(snapshot, struct view, snapshot);

		gy_memory_put(view->resized);
		gy_memory_put(view->tree);
		gy_memory_put(view);
	}
}
