/*
 * Buffers that were never given back. With all assertions each buffer keeps who had it last, and
 * the pool knows all of them, so that the log tells whom to look at; else it tells how many.
 */
#include <stdio.h>
#include <string.h>

#include "actor/home.h"
#include "base/tally.h"
#include "buffer/buffer.h"

static const char remedy[] = "pass a buffer on, write it, or call gyre_buffer_destroy()";

#if GY_ASSERT_LEVEL >= 2

void gy_buffer_read_by(struct gyre_buffer *buffer, const struct gy_class_info *info,
		       const char *handler)
{
	const char *name = handler == NULL ? "(no name)" : handler;
	size_t bytes = strnlen(name, sizeof(buffer->reader) - 1);

	buffer->class_info = info;
	memcpy(buffer->reader, name, bytes); /* for each read: snprintf() takes ten times as long */
	buffer->reader[bytes] = '\0';
}

void gy_buffer_made_by(struct gyre_buffer *buffer, const struct gy_house *house)
{
	buffer->class_info = house->class_info;
	buffer->reader[0] = '\0';
}

static void count_lost(void *arg, const void *object)
{
	const struct gyre_buffer *buffer = (const struct gyre_buffer *)object;
	char name[GY_TALLY_NAME_BYTES];

	if (buffer->class_info == NULL) {
		(void)snprintf(name, sizeof(name), "that no handler got");
	} else if (buffer->reader[0] == '\0') {
		(void)snprintf(name, sizeof(name), "that actor %s made", buffer->class_info->name);
	} else {
		(void)snprintf(name, sizeof(name),
			       "that handler %s of a channel of actor %s had last", buffer->reader,
			       buffer->class_info->name);
	}
	gy_tally_add((struct gy_tally *)arg, name);
}

void gy_buffer_leaks_log(struct gy_buffer_pools *pools)
{
	struct gy_tally tally = { 0 };

	gy_pool_each_lost(&pools->buffers, count_lost, &tally);
	for (uint32_t i = 0; i < tally.names; i++) {
		gy_log(pools->loop->options.log, GYRE_LOG_ERROR,
		       "loop %u: %u buffers %s were never freed: %s", (unsigned)pools->loop->index,
		       (unsigned)tally.entries[i].count, tally.entries[i].name, remedy);
	}
	if (tally.others > 0) {
		gy_log(pools->loop->options.log, GYRE_LOG_ERROR,
		       "loop %u: %u buffers of other handlers were never freed: %s",
		       (unsigned)pools->loop->index, (unsigned)tally.others, remedy);
	}
}

#else

void gy_buffer_leaks_log(struct gy_buffer_pools *pools)
{
	gy_log(pools->loop->options.log, GYRE_LOG_ERROR,
	       "loop %u: %u buffers were never freed by the handlers that had them: %s; a gyre "
	       "built with -Dassertions=full names the handlers",
	       (unsigned)pools->loop->index,
	       (unsigned)(pools->buffers.total - pools->buffers.free_count), remedy);
}

#endif
