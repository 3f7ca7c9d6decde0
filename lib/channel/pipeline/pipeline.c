/*
 * How a pipeline's list changes. Whatever changes it works out the masks and the short cuts for
 * read and write anew, by one pass each way: pipelines are short, and change seldom.
 */
#include "channel/pipeline/pipeline.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "channel/channel.h"
#include "channel/pipeline/context_timer.h"

enum {
	MASK_INBOUND = GY_ON_WRITE - 1,
	MASK_OUTBOUND = GY_ON_WRITE | GY_ON_FLUSH | GY_ON_READ_REQUEST | GY_ON_SHUTDOWN |
			GY_ON_CLOSE | GY_ON_SEND_FILE,
};

#if GY_ASSERT_LEVEL >= 2
void gy_context_gets(const struct gy_context *context, struct gyre_buffer *buffer)
{
	gy_buffer_read_by(buffer, context->head.channel->endpoint.owner->house->class_info,
			  context->handler->name);
}
#endif

static uint32_t mask_of(const struct gyre_handler *handler)
{
	const bool does[] = {
		handler->registered != NULL,   handler->active != NULL,
		handler->read != NULL,	       handler->read_complete != NULL,
		handler->event != NULL,	       handler->writability != NULL,
		handler->exception != NULL,    handler->inactive != NULL,
		handler->unregistered != NULL, handler->read_end != NULL,
		handler->write != NULL,	       handler->flush != NULL,
		handler->read_request != NULL, handler->shutdown != NULL,
		handler->close != NULL,	       handler->send_file != NULL,
	};
	uint32_t mask = 0;

	for (size_t i = 0; i < gy_countof(does); i++) {
		mask |= (uint32_t)does[i] << i;
	}
	return mask;
}

/* Works out what depends on the list. */
static void refresh(struct gy_pipeline *pipeline)
{
	struct gyre_channel *channel = pipeline->head.head.channel;
	struct gy_context *context;
	struct gy_context *writer = &pipeline->head;

	pipeline->mask = 0;
	for (context = pipeline->head.next; context != NULL; context = context->next) {
		context->previous_write = writer;
		if ((context->mask & GY_ON_WRITE) != 0) {
			writer = context;
		}
		if (context != &pipeline->tail) {
			pipeline->mask |= context->mask;
		}
	}
	for (context = pipeline->tail.previous; context != NULL; context = context->previous) {
		context->next_read = gy_context_next(context, GY_ON_READ);
	}
	channel->reader = pipeline->head.next_read;
	gy_channel_set_traits(channel, 0, GY_TRAIT_READ_COMPLETE);
	if ((pipeline->mask & GY_ON_READ_COMPLETE) != 0) {
		gy_channel_set_traits(channel, GY_TRAIT_READ_COMPLETE, 0);
	}
}

void gy_pipeline_init(struct gy_pipeline *pipeline, struct gyre_channel *channel)
{
	*pipeline = (struct gy_pipeline){
		.head = { .head.channel = channel,
			  .handler = &gy_head_handler,
			  .next = &pipeline->tail,
			  .mask = MASK_OUTBOUND },
		.tail = { .head.channel = channel,
			  .handler = &gy_tail_handler,
			  .previous = &pipeline->head,
			  .mask = MASK_INBOUND },
	};
	refresh(pipeline);
}

/* A place whose handler goes by another name than its own. Few have one, and places of the others
 * are to be one cache line. */
struct named_context {
	struct gy_context context;
	const char *name;
	void *own;
};

void **gy_context_own(struct gy_context *context)
{
	gy_assert(context->named);
	return &gy_container_of(context, struct named_context, context)->own;
}

static const char *name_of(const struct gy_context *context)
{
	return context->named ? gy_container_of(context, const struct named_context, context)->name
			      : context->handler->name;
}

static struct gy_context *find(struct gy_pipeline *pipeline, const char *name)
{
	for (struct gy_context *context = pipeline->head.next; context != &pipeline->tail;
	     context = context->next) {
		const char *its_name = name_of(context);

		if (its_name != NULL && strcmp(its_name, name) == 0) {
			return context;
		}
	}
	return NULL;
}

static struct gy_context *get_context(struct gy_channels *channels, const char *name)
{
	struct named_context *named;

	if (name == NULL) {
		return (struct gy_context *)gy_pool_get(&channels->contexts);
	}
	named = (struct named_context *)gy_memory_get(sizeof(*named));
	if (named == NULL) {
		return NULL;
	}
	named->name = name;
	named->own = NULL;
	return &named->context;
}

static void put_context(struct gy_channels *channels, struct gy_context *context)
{
	if (context->named) {
		gy_memory_put(gy_container_of(context, struct named_context, context));
	} else {
		gy_pool_put(&channels->contexts, context);
	}
}

static void unlink_context(struct gy_pipeline *pipeline, struct gy_context *context)
{
	gy_assert(!context->removed && context != &pipeline->head && context != &pipeline->tail);
	context->previous->next = context->next;
	context->next->previous = context->previous;
	context->mask = 0;
	context->removed = true;
	context->next_read = pipeline->removed;
	pipeline->removed = context;
	gy_channel_set_events(context->head.channel, GY_EVENT_DEFERRED, 0);
	gy_channel_mailbox_handler_left(context->head.channel, &context->head);
	gy_context_timers_end(context);
	refresh(pipeline);
	gy_channel_ready(context->head.channel);
}

/* Adds a handler behind @place; @instead is about to go, so that its name may be used again. */
static int add(struct gy_context *place, const struct gy_context *instead, const char *rename,
	       const struct gyre_handler *handler, const void *arg)
{
	struct gyre_channel *channel = place->head.channel;
	const char *name = rename == NULL ? handler->name : rename;
	const struct gy_context *same = name == NULL ? NULL : find(&channel->pipeline, name);
	struct gy_context *context;
	int r;

	if (same != NULL && same != instead) {
		return -EEXIST;
	}
	context = get_context(channel->channels, rename);
	if (context == NULL) {
		return -ENOMEM;
	}
	*context = (struct gy_context){
		.head = { .channel = channel, .arg = (void *)(uintptr_t)arg },
		.handler = handler,
		.next = place->next,
		.previous = place,
		.mask = mask_of(handler),
		.named = rename != NULL,
	};
	place->next->previous = context;
	place->next = context;
	refresh(&channel->pipeline);
	r = handler->added == NULL ? 0 : handler->added(&context->head);
	if (r < 0 && !context->removed) {
		unlink_context(&channel->pipeline, context);
	}
	return r < 0 ? r : 0;
}

static void remove_context(struct gy_pipeline *pipeline, struct gy_context *context)
{
	unlink_context(pipeline, context);
	if (context->handler->removed != NULL) {
		context->handler->removed(&context->head);
	}
}

void gy_pipeline_sweep(struct gy_pipeline *pipeline)
{
	struct gyre_channel *channel = pipeline->head.head.channel;

	while (pipeline->removed != NULL) {
		struct gy_context *context = pipeline->removed;

		pipeline->removed = context->next_read;
		put_context(channel->channels, context);
	}
	if (gy_list_empty(&channel->deferred_list)) {
		gy_channel_set_events(channel, 0, GY_EVENT_DEFERRED);
	}
}

void gy_pipeline_fini(struct gy_pipeline *pipeline)
{
	while (pipeline->head.next != &pipeline->tail) {
		remove_context(pipeline, pipeline->head.next);
	}
	gy_pipeline_sweep(pipeline);
}

void gy_pipeline_move_behind(struct gy_context *context, struct gy_context *place)
{
	const struct gy_context *after = place;

	gy_assert(context != NULL && place != NULL && place->next != NULL);
	while (after != NULL && after != context) {
		after = after->next;
	}
	if (after == context || context->removed || place->removed) {
		return;
	}
	context->previous->next = context->next;
	context->next->previous = context->previous;
	context->next = place->next;
	context->previous = place;
	place->next->previous = context;
	place->next = context;
	refresh(&context->head.channel->pipeline);
}

/* ---- the public calls ---- */

static const struct gy_log *log_of(const struct gyre_channel *channel)
{
	return channel->channels->home->loop.options.log;
}

int gy_pipeline_read_options(const struct gyre_channel *channel, void *ours, size_t ours_bytes,
			     const void *given, size_t given_bytes, const char *name)
{
	return channel == NULL
		       ? -EINVAL
		       : gy_sized_read(ours, ours_bytes, given, given_bytes, name, log_of(channel));
}

/* The handler that a position is next to, or in the place of; @ret_other is NULL for an end. */
static int find_other(struct gyre_channel *channel, const struct gyre_position *position,
		      struct gy_context **ret_other)
{
	bool at_end = position->where == GYRE_WHERE_LAST || position->where == GYRE_WHERE_FIRST;

	*ret_other = NULL;
	if ((uint32_t)position->where > GYRE_WHERE_REPLACE || at_end != (position->other == NULL)) {
		return -EINVAL;
	}
	if (!at_end) {
		*ret_other = find(&channel->pipeline, position->other);
	}
	return at_end || *ret_other != NULL ? 0 : -ENOENT;
}

/* The place behind which a handler goes. */
static struct gy_context *place_of(struct gy_pipeline *pipeline, enum gyre_where where,
				   struct gy_context *other)
{
	gy_assert(other != NULL || where == GYRE_WHERE_LAST || where == GYRE_WHERE_FIRST);
	switch (where) {
	case GYRE_WHERE_LAST:
		return pipeline->tail.previous;
	case GYRE_WHERE_FIRST:
		return &pipeline->head;
	case GYRE_WHERE_BEFORE:
		return other->previous;
	default: /* GYRE_WHERE_AFTER, GYRE_WHERE_REPLACE */
		return other;
	}
}

int gy_pipeline_add(struct gyre_channel *channel, const struct gyre_position *position,
		    const struct gyre_handler *handler, const void *arg)
{
	struct gy_context *other = NULL;
	struct gy_context *replaced;
	int r = gy_sized_reserved(&position->reserved, sizeof(position->reserved),
				  "struct gyre_position", log_of(channel));

	if (r == 0) {
		r = find_other(channel, position, &other);
	}
	if (r == 0 && gy_channel_is_closed(channel)) {
		r = -EPIPE;
	}
	if (r < 0) {
		return r;
	}
	replaced = position->where == GYRE_WHERE_REPLACE ? other : NULL;
	r = add(place_of(&channel->pipeline, position->where, other), replaced, position->name,
		handler, arg);
	if (r == 0 && replaced != NULL) {
		gyre_context_remove(&replaced->head);
	}
	return r;
}

int gyre_pipeline_add_sized(struct gyre_channel *channel, struct gyre_position position,
			    const struct gyre_handler *handler, size_t handler_bytes,
			    const void *arg)
{
	const struct gy_home *home;
	int r;

	if (channel == NULL || handler == NULL) {
		return -EINVAL;
	}
	home = channel->channels->home;
	r = GY_SIZED_TABLE(gyre_handler, &gy_homes_of(home->options.system)->tables, &handler,
			   handler_bytes, log_of(channel));
	return r < 0 ? r : gy_pipeline_add(channel, &position, handler, arg);
}

int gyre_pipeline_remove(struct gyre_channel *channel, const char *name)
{
	struct gy_context *place;

	if (channel == NULL || name == NULL) {
		return -EINVAL;
	}
	place = find(&channel->pipeline, name);
	if (place == NULL) {
		return -ENOENT;
	}
	remove_context(&channel->pipeline, place);
	return 0;
}

void gyre_context_remove(struct gyre_handler_context *ctx)
{
	struct gy_context *context = gy_context_of(ctx);
	struct gy_pipeline *pipeline = &ctx->channel->pipeline;

	if (!context->removed && context != &pipeline->head && context != &pipeline->tail) {
		remove_context(pipeline, context);
	}
}

struct gyre_handler_context *gyre_pipeline_get(struct gyre_channel *channel, const char *name)
{
	struct gy_context *context;

	if (channel == NULL || name == NULL) {
		return NULL;
	}
	context = find(&channel->pipeline, name);
	return context == NULL ? NULL : &context->head;
}
