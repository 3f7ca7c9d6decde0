/*
 * A shard: the keys of a loop, which handlers of that loop reach as the data of the loop, and the
 * actor that runs the commands which come from other loops. A key whose time is over is removed
 * when a command finds it, or by the timer of the actor, which looks at some keys each time. An
 * actor with a timer stays on its loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv.h"

enum {
	PIECE_BYTES_MAX = 1 << 20, /* of replies in one mail */
	TICK_MS = 100,
	TICK_SCANS = 256, /* each of a few buckets */
	SCAN_BUCKETS = 16,
	DUE_MAX = 64,
};

/* ---- keys ---- */

void shard_look_at_clock(struct shard *shard)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	shard->now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct item *shard_find(struct shard *shard, uint64_t hash, struct slice key)
{
	struct item *item = dict_get(&shard->keys, hash, key);

	if (item != NULL && item->expires_ms != 0 && item->expires_ms <= shard->now_ms) {
		shard->counts[EXPIRED]++;
		shard_remove(shard, item);
		item = NULL;
	}
	return item;
}

void shard_remove(struct shard *shard, struct item *item)
{
	shard_set_expiry(shard, item, 0);
	object_destroy(item);
	dict_remove(&shard->keys, item);
}

static void destroy_object(struct item *item, void *arg)
{
	(void)arg;
	object_destroy(item);
}

void shard_clear(struct shard *shard)
{
	dict_visit(&shard->keys, destroy_object, NULL);
	dict_clear(&shard->keys);
	shard->counts[EXPIRING] = 0;
}

void shard_set_expiry(struct shard *shard, struct item *item, uint64_t expires_ms)
{
	shard->counts[EXPIRING] += (expires_ms != 0) - (uint64_t)(item->expires_ms != 0);
	item->expires_ms = expires_ms;
}

/* ---- time ---- */

struct due {
	uint64_t now_ms;
	size_t count;
	struct item *items[DUE_MAX];
};

static void note_due(struct item *item, void *arg)
{
	struct due *due = (struct due *)arg;

	if (item->expires_ms != 0 && item->expires_ms <= due->now_ms && due->count < DUE_MAX) {
		due->items[due->count++] = item;
	}
}

void shard_show_figures(struct shard *shard)
{
	shard->counts[KEYS] = shard->keys.count;
	shard->counts[MEMORY] = memory_used();
	for (size_t i = 0; i < FIGURES; i++) {
		atomic_store_explicit(&shard->figures[i], shard->counts[i], memory_order_relaxed);
	}
}

static int tick(struct gyre_stack *stack)
{
	struct shard *shard = (struct shard *)gyre_loop_data(stack);

	shard_look_at_clock(shard);
	for (int i = 0; i < TICK_SCANS && shard->counts[EXPIRING] > 0; i++) {
		struct due due = { .now_ms = shard->now_ms };

		shard->expiry_cursor =
			dict_scan(&shard->keys, shard->expiry_cursor, SCAN_BUCKETS, note_due, &due);
		shard->counts[EXPIRED] += due.count;
		while (due.count > 0) {
			shard_remove(shard, due.items[--due.count]);
		}
		if (shard->expiry_cursor == 0) {
			break;
		}
	}
	shard_show_figures(shard);
	return gyre_return(stack);
}

/* ---- commands of other loops ---- */

static int send_replies(struct gyre_stack *stack, struct gyre_address channel,
			struct gyre_buffer *buffer, const struct replies *end)
{
	int r = 0;

	while (r == 0 && gyre_buffer_bytes(buffer) > 0) {
		size_t left = gyre_buffer_bytes(buffer);
		size_t bytes = left < PIECE_BYTES_MAX ? left : PIECE_BYTES_MAX;
		struct gyre_mail *mail = gyre_new_tail(stack, replies, bytes, .shard = end->shard);

		if (mail != NULL) {
			struct replies *piece = (struct replies *)gyre_payload(mail);

			(void)gyre_buffer_read(buffer, piece->data, bytes);
			piece->count = bytes == left ? end->count : 0;
			piece->consumed = bytes == left ? end->consumed : 0;
		}
		r = gyre_notify(stack, channel, mail);
	}
	return r;
}

/* Runs commands until there are enough replies to be sent; the client sends the rest again. */
static int serve(struct gyre_stack *stack)
{
	const struct requests *requests = gyre_message(stack, requests);
	struct shard *shard = (struct shard *)gyre_loop_data(stack);
	struct reply reply = { .buffer = gyre_buffer_create(stack), .resp3 = requests->resp3 };
	struct call call = { .shard = shard, .reply = &reply, .stack = stack };
	struct slice rest = { requests->data, requests->bytes };
	struct replies end = { .shard = shard->index };
	int r = reply.buffer == NULL ? -ENOMEM : 0;

	shard_look_at_clock(shard);
	while (r == 0 && rest.count > 0 && gyre_buffer_bytes(reply.buffer) < PENDING_BYTES_MAX &&
	       call_run_next(&call, &rest, true)) {
		end.count++;
	}
	if (r == 0) {
		reply_commit(&reply);
		end.consumed = requests->bytes - (uint32_t)rest.count;
		r = reply.failed ? -ENOMEM
				 : send_replies(stack, requests->channel, reply.buffer, &end);
	}
	gyre_buffer_destroy(reply.buffer);
	if (r < 0) {
		(void)gyre_stop(stack, requests->channel); /* rather than leave it waiting */
	}
	return gyre_return(stack);
}

static int mount(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .delay_ns = TICK_MS * UINT64_C(1000000),
						  .period_ns = TICK_MS * UINT64_C(1000000) };

	return gyre_timer_start(stack, 0, &often);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(requests, serve), GYRE_ROUTE_END };
static const struct gyre_route events[] = { GYRE_ROUTE(gyre_timeout, tick), GYRE_ROUTE_END };

const struct gyre_class shard_class = {
	.name = "shard",
	.behaviour = { .notice_routes = notices, .event_routes = events },
	.mount = mount,
};

/* ---- the data of a loop ---- */

int shard_init(struct gyre_system *system, uint32_t loop, void *kv, void **ret_shard)
{
	struct shard *shard = (struct shard *)calloc(1, sizeof(*shard));

	(void)system;
	if (shard == NULL) {
		return -ENOMEM;
	}
	shard->kv = (struct kv *)kv;
	shard->index = loop;
	shard->kv->shards[loop] = shard;
	*ret_shard = shard;
	return 0;
}

void shard_fini(struct gyre_system *system, uint32_t loop, void *data, void *kv)
{
	struct shard *shard = (struct shard *)data;

	(void)system;
	(void)loop;
	(void)kv;
	shard_clear(shard);
	dict_clear(&shard->channels);
	dict_clear(&shard->patterns);
	free(shard->args.list);
	free(shard);
}
