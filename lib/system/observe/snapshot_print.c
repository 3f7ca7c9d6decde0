/*
 * A snapshot as people read it: a line for each loop, a line for each class, then the tree of
 * actors. Times are in milliseconds, since that is what fits.
 */
#include <gyre/inspect.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/sized.h"

static const uint64_t ns_of_ms = 1000000;

static void print_loop(const struct gyre_loop_snapshot *loop, FILE *file)
{
	(void)fprintf(
		file,
		"%4" PRIu32 " %4" PRId32 " %-6s %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
		" %9" PRIu64 " %9" PRIu64 " %8" PRIu32 " %6" PRIu32 " %7" PRIu64 " %8" PRIu32
		" %8" PRIu64 "\n",
		loop->index, loop->cpu, loop->parked ? "parked" : "runs", loop->turns,
		loop->io_ns / ns_of_ms, loop->channels_ns / ns_of_ms, loop->state_ns / ns_of_ms,
		loop->polled_ns / ns_of_ms, loop->parked_ns / ns_of_ms, loop->ready_channels,
		loop->ready_state, loop->timers, loop->actors,
		(loop->mail.bytes + loop->stacks.bytes + loop->parts.bytes + loop->promises.bytes) /
			1024);
}

/* Prints a limit, where there is one. */
static void print_held(const struct gyre_loop_snapshot *loop, FILE *file)
{
	if (loop->held_max > 0) {
		(void)fprintf(file,
			      "loop %" PRIu32 ": channels hold %" PRIu64 " KiB of %" PRIu64
			      " KiB%s\n",
			      loop->index, loop->held_bytes / 1024, loop->held_max / 1024,
			      loop->held_over ? ", and do not read" : "");
	}
}

static void print_lost_lines(const struct gyre_loop_snapshot *loop, FILE *file)
{
	if (loop->log_lost > 0) {
		(void)fprintf(file,
			      "loop %" PRIu32 ": %" PRIu64 " lines of the log lost, %" PRIu64
			      " written\n",
			      loop->index, loop->log_lost, loop->log_lines);
	}
}

static void print_class(const struct gyre_class_snapshot *class, FILE *file)
{
	(void)fprintf(file, "%-24s %8" PRIu64 " %12" PRIu64 " %9" PRIu64, class->name,
		      class->actors, class->handled, class->busy_ns / ns_of_ms);
	for (uint32_t i = 0; i < GYRE_DROP_COUNT; i++) {
		if (class->dropped[i] > 0) {
			(void)fprintf(file, "  %s: %" PRIu64, gyre_drop_name((enum gyre_drop)i),
				      class->dropped[i]);
		}
	}
	(void)fputc('\n', file);
}

/* Those that were ever used. */
static void print_pool(const struct gyre_offload_pool_snapshot *pool, FILE *file)
{
	if (pool->threads > 0) {
		(void)fprintf(file,
			      "pool %s: %" PRIu32 " of %" PRIu32 " threads are busy, %" PRIu32
			      " pieces of work wait, %" PRIu64 " are done\n",
			      pool->name[0] == 0 ? "without a name" : pool->name, pool->busy,
			      pool->threads_max, pool->waiting, pool->done);
	}
}

/* An element of an array, as ours: the program's may have another size. */
static struct gyre_loop_snapshot loop_at(const struct gyre_snapshot *snapshot, uint32_t i)
{
	const unsigned char *at = (const unsigned char *)snapshot->loops;
	struct gyre_loop_snapshot loop;

	gy_assert(i < snapshot->loops_count);
	gy_sized_write(&loop, sizeof(loop), at + i * (size_t)snapshot->loop_bytes,
		       snapshot->loop_bytes);
	return loop;
}

static struct gyre_class_snapshot class_at(const struct gyre_snapshot *snapshot, uint32_t i)
{
	const unsigned char *at = (const unsigned char *)snapshot->classes;
	struct gyre_class_snapshot class;

	gy_assert(i < snapshot->classes_count);
	gy_sized_write(&class, sizeof(class), at + i * (size_t)snapshot->class_bytes,
		       snapshot->class_bytes);
	return class;
}

static void print_engine(const struct gyre_snapshot *snapshot, FILE *file)
{
	if (snapshot->engine == GYRE_ENGINE_EPOLL && snapshot->io_uring_refused != 0) {
		(void)fprintf(file, "engine: epoll, as io_uring was refused (%s)\n",
			      strerrordesc_np(-snapshot->io_uring_refused));
	} else {
		(void)fprintf(file, "engine: %s\n",
			      snapshot->engine == GYRE_ENGINE_EPOLL ? "epoll" : "io_uring");
	}
}

int gyre_snapshot_print(const struct gyre_snapshot *snapshot, FILE *file)
{
	if (snapshot == NULL || file == NULL) {
		return -EINVAL;
	}
	(void)fprintf(file, "%4s %4s %-6s %10s %9s %9s %9s %9s %9s %8s %6s %7s %8s %8s\n", "loop",
		      "cpu", "", "turns", "io ms", "chan. ms", "state ms", "polled ms", "parked ms",
		      "channels", "ready", "timers", "actors", "pool KiB");
	for (uint32_t i = 0; i < snapshot->loops_count; i++) {
		struct gyre_loop_snapshot loop = loop_at(snapshot, i);

		print_loop(&loop, file);
	}
	for (uint32_t i = 0; i < snapshot->loops_count; i++) {
		struct gyre_loop_snapshot loop = loop_at(snapshot, i);

		print_held(&loop, file);
		print_lost_lines(&loop, file);
	}
	(void)fprintf(file, "%-24s %8s %12s %9s  lost\n", "class", "actors", "handled", "busy ms");
	for (uint32_t i = 0; i < snapshot->classes_count; i++) {
		struct gyre_class_snapshot class = class_at(snapshot, i);

		print_class(&class, file);
	}
	for (uint32_t i = 0; i < snapshot->offload_pools_count; i++) {
		print_pool(&snapshot->offload_pools[i], file);
	}
	print_engine(snapshot, file);
	if (snapshot->stalls > 0) {
		(void)fprintf(file, "stalls: %" PRIu64 "\n", snapshot->stalls);
	}
	if (snapshot->tree != NULL) {
		(void)fputs(snapshot->tree, file);
	}
	return ferror(file) != 0 ? -EIO : 0;
}
