/*
 * How a pipeline's list changes. Whatever changes it works out the masks and the short cuts for
 * read and write anew, by one pass each way: pipelines are short, and change seldom.
 */
#include "channel/pipeline.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sized.h"
#include "channel/channel.h"
#include "channel/context_timer.h"

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
		handler->unregistered != NULL, handler->write != NULL,
		handler->flush != NULL,	       handler->read_request != NULL,
		handler->shutdown != NULL,     handler->close != NULL,
		handler->send_file != NULL,
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

static struct gy_context *find(struct gy_pipeline *pipeline, const char *name)
{
	for (struct gy_context *context = pipeline->head.next; context != &pipeline->tail;
	     context = context->next) {
		if (context->handler->name != NULL && strcmp(context->handler->name, name) == 0) {
			return context;
		}
	}
	return NULL;
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
static int add(struct gy_context *place, const struct gyre_handler *handler, const void *arg,
	       const struct gy_context *instead)
{
	struct gyre_channel *channel = place->head.channel;
	const struct gy_context *same;
	struct gy_context *context;
	int r;

	if (gy_channel_is_closed(channel)) {
		return -EPIPE;
	}
	same = handler->name == NULL ? NULL : find(&channel->pipeline, handler->name);
	if (same != NULL && same != instead) {
		return -EEXIST;
	}
	context = (struct gy_context *)gy_pool_get(&channel->channels->contexts);
	if (context == NULL) {
		return -ENOMEM;
	}
	*context = (struct gy_context){
		.head = { .channel = channel, .arg = (void *)(uintptr_t)arg },
		.handler = handler,
		.next = place->next,
		.previous = place,
		.mask = mask_of(handler),
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
		gy_pool_put(&channel->channels->contexts, context);
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

/* The table to keep for a handler of a program; see base/sized.h. */
static int take_handler(const struct gyre_channel *channel, const struct gyre_handler **handler,
			size_t handler_bytes)
{
	const struct gy_home *home;

	if (channel == NULL || *handler == NULL) {
		return -EINVAL;
	}
	home = channel->channels->home;
	return GY_SIZED_TABLE(gyre_handler, &gy_homes_of(home->options.system)->tables, handler,
			      handler_bytes, home->loop.options.log);
}

int gyre_pipeline_add_first_sized(struct gyre_channel *channel, const struct gyre_handler *handler,
				  size_t handler_bytes, const void *arg)
{
	int r = take_handler(channel, &handler, handler_bytes);

	return r < 0 ? r : add(&channel->pipeline.head, handler, arg, NULL);
}

int gyre_pipeline_add_last_sized(struct gyre_channel *channel, const struct gyre_handler *handler,
				 size_t handler_bytes, const void *arg)
{
	int r = take_handler(channel, &handler, handler_bytes);

	return r < 0 ? r : add(channel->pipeline.tail.previous, handler, arg, NULL);
}

/* The place of @name, for the calls that take a name and a handler. */
static int find_place(struct gyre_channel *channel, const char *name,
		      const struct gyre_handler **handler, size_t handler_bytes,
		      struct gy_context **ret_place)
{
	struct gy_context *place;
	int r = name == NULL ? -EINVAL : take_handler(channel, handler, handler_bytes);

	if (r < 0) {
		return r;
	}
	place = find(&channel->pipeline, name);
	if (place == NULL) {
		return -ENOENT;
	}
	*ret_place = place;
	return 0;
}

int gyre_pipeline_add_before_sized(struct gyre_channel *channel, const char *name,
				   const struct gyre_handler *handler, size_t handler_bytes,
				   const void *arg)
{
	struct gy_context *place;
	int r = find_place(channel, name, &handler, handler_bytes, &place);

	return r < 0 ? r : add(place->previous, handler, arg, NULL);
}

int gyre_pipeline_add_after_sized(struct gyre_channel *channel, const char *name,
				  const struct gyre_handler *handler, size_t handler_bytes,
				  const void *arg)
{
	struct gy_context *place;
	int r = find_place(channel, name, &handler, handler_bytes, &place);

	return r < 0 ? r : add(place, handler, arg, NULL);
}

int gyre_pipeline_replace_sized(struct gyre_channel *channel, const char *name,
				const struct gyre_handler *handler, size_t handler_bytes,
				const void *arg)
{
	struct gy_context *place;
	int r = find_place(channel, name, &handler, handler_bytes, &place);

	if (r < 0) {
		return r;
	}
	r = add(place, handler, arg, place);
	if (r == 0) {
		gyre_context_remove(&place->head);
	}
	return r;
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
