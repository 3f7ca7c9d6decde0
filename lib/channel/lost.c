/*
 * Buffers that were never given back. With all assertions each buffer keeps who had it last, and
 * the pool knows all of them, so that the log tells whom to look at; else it tells how many.
 */
#include <stdio.h>
#include <string.h>

#include "actor/house.h"
#include "base/tally.h"
#include "channel/buffer.h"
#include "channel/channel.h"
#include "channel/pipeline.h"

static const char remedy[] = "pass a buffer on, write it, or call gyre_buffer_free()";

#if GY_ASSERT_LEVEL >= 2

void gy_buffer_read_by(struct gyre_buffer *buffer, const struct gy_context *reader)
{
	buffer->kind = reader->head.channel->endpoint.owner->house->kind;
	(void)snprintf(buffer->reader, sizeof(buffer->reader), "%s", reader->handler->name);
}

void gy_buffer_made_by(struct gyre_buffer *buffer, const struct gy_house *house)
{
	buffer->kind = house->kind;
	buffer->reader[0] = '\0';
}

static void count_lost(void *arg, const void *object)
{
	const struct gyre_buffer *buffer = (const struct gyre_buffer *)object;
	char name[GY_TALLY_NAME_BYTES];

	if (buffer->kind == NULL) {
		(void)snprintf(name, sizeof(name), "that no handler got");
	} else if (buffer->reader[0] == '\0') {
		(void)snprintf(name, sizeof(name), "that actor %s made", buffer->kind->name);
	} else {
		(void)snprintf(name, sizeof(name),
			       "that handler %s of a channel of actor %s had last", buffer->reader,
			       buffer->kind->name);
	}
	gy_tally_add((struct gy_tally *)arg, name);
}

void gy_buffers_log_lost(struct gy_channels *channels)
{
	struct gy_tally tally = { 0 };

	gy_pool_each_lost(&channels->buffers, count_lost, &tally);
	for (uint32_t i = 0; i < tally.names; i++) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: %u buffers %s were never freed: %s",
		       (unsigned)channels->home->loop.index, (unsigned)tally.entries[i].count,
		       tally.entries[i].name, remedy);
	}
	if (tally.others > 0) {
		gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
		       "loop %u: %u buffers of other handlers were never freed: %s",
		       (unsigned)channels->home->loop.index, (unsigned)tally.others, remedy);
	}
}

#else

void gy_buffers_log_lost(struct gy_channels *channels)
{
	gy_log(channels->home->loop.options.log, GYRE_LOG_ERROR,
	       "loop %u: %u buffers were never freed by the handlers that had them: %s; a gyre "
	       "built with -Dassertions=full names the handlers",
	       (unsigned)channels->home->loop.index,
	       (unsigned)(channels->buffers.total - channels->buffers.free_count), remedy);
}

#endif
