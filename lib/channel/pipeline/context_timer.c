/*
 * Timers of handlers, by keys. A channel has a short list of the running ones; a timer that fires
 * leaves it before its handler is called, which may start it again.
 */
#include "channel/pipeline/context_timer.h"

#include <errno.h>

#include "channel/channel.h"

struct gy_context_timer {
	struct gy_deferred_timer timer;
	struct gy_context_timer *next; /* of the channel */
	struct gy_context *context;
	uint64_t key;
};

/* Where the pointer to it stands; to NULL when there is none. */
static struct gy_context_timer **find(const struct gy_context *context, uint64_t key)
{
	struct gy_context_timer **place = &context->head.channel->timers;

	while (*place != NULL && ((*place)->context != context || (*place)->key != key)) {
		place = &(*place)->next;
	}
	return place;
}

static void end(struct gy_context_timer **place)
{
	struct gy_context_timer *timer = *place;

	*place = timer->next;
	gy_deferred_timer_stop(&timer->timer);
	gy_sizes_delete(&timer->timer.channel->channels->home->parts, timer, sizeof(*timer));
}

static void run(struct gy_deferred *deferred)
{
	struct gy_context_timer *timer =
		gy_container_of(deferred, struct gy_context_timer, timer.deferred);
	struct gy_context *context = timer->context;
	uint64_t key = timer->key;

	end(find(context, key));
	if ((context->head.channel->state & GY_CHANNEL_ENDING) == 0) {
		context->handler->timer(&context->head, key);
	}
}

void gy_context_timers_end(const struct gy_context *context)
{
	struct gy_context_timer **place = &context->head.channel->timers;

	while (*place != NULL) {
		if ((*place)->context == context) {
			end(place);
		} else {
			place = &(*place)->next;
		}
	}
}

/* ---- the public calls ---- */

int gyre_context_timer_start(struct gyre_handler_context *ctx, uint64_t key, uint64_t delay_ns)
{
	struct gy_context *context = ctx == NULL ? NULL : gy_context_of(ctx);
	struct gy_context_timer **place;
	struct gy_context_timer *timer;

	if (context == NULL || context->handler->timer == NULL) {
		return -EINVAL;
	}
	if (context->removed || (ctx->channel->state & GY_CHANNEL_ENDING) != 0) {
		return -EPIPE;
	}
	place = find(context, key);
	timer = *place;
	if (timer == NULL) {
		timer = (struct gy_context_timer *)gy_sizes_new(
			&ctx->channel->channels->home->parts, sizeof(*timer));
		if (timer == NULL) {
			return -ENOMEM;
		}
		*timer = (struct gy_context_timer){ .context = context, .key = key };
		gy_deferred_timer_init(&timer->timer, ctx->channel, run);
		*place = timer;
	}
	gy_deferred_timer_start(&timer->timer, delay_ns);
	return 0;
}

int gyre_context_timer_stop(struct gyre_handler_context *ctx, uint64_t key)
{
	struct gy_context_timer **place;

	if (ctx == NULL) {
		return -EINVAL;
	}
	place = find(gy_context_of(ctx), key);
	if (*place == NULL) {
		return -ENOENT;
	}
	end(place);
	return 0;
}
