/*
 * A shard: the keys of a loop, which all handlers of that loop reach as the data of the loop, and
 * the actor that runs commands which come from other loops. The keys are spread over many small
 * trees. A key whose time is over is removed when a command finds it, or by the timer of the actor,
 * which looks at some of the trees each time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv.h"

enum { TICK_MS = 100, TICK_ITEMS = 20000 };

/* ---- keys ---- */

/* A key, or NULL. */
struct item *shard_find(struct shard *shard, uint64_t hash, struct slice key)
{
	struct item *item = tree_find(shard->trees[hash % SHARD_TREES], (double)hash, key);

	if (item != NULL && item_is_over(item, shard->now_ms)) {
		shard_count(shard, EXPIRED, 1);
		shard_remove(shard, item);
		item = NULL;
	}
	return item;
}

/* Adds a key, or finds it and gives its value another size; NULL without memory. */
struct item *shard_make(struct shard *shard, uint64_t hash, struct slice key, size_t value_bytes)
{
	struct item **tree = &shard->trees[hash % SHARD_TREES];
	size_t before = tree_count(*tree);
	struct item *item = tree_make(tree, (double)hash, key, value_bytes);

	shard_count(shard, KEYS, tree_count(*tree) - before);
	return item;
}

void shard_remove(struct shard *shard, struct item *item)
{
	uint64_t hash = hash_of(item_key(item));

	shard_set_expiry(shard, item, 0);
	tree_remove(&shard->trees[hash % SHARD_TREES], (double)hash, item_key(item));
	shard_count(shard, KEYS, UINT64_MAX);
}

void shard_set_expiry(struct shard *shard, struct item *item, uint64_t expires_ms)
{
	shard_count(shard, EXPIRING, (expires_ms != 0) - (uint64_t)(item->expires_ms != 0));
	item->expires_ms = expires_ms;
}

void shard_clear(struct shard *shard)
{
	for (size_t i = 0; i < SHARD_TREES; i++) {
		tree_destroy(shard->trees[i]);
		shard->trees[i] = NULL;
	}
	shard->counts[KEYS] = shard->counts[EXPIRING] = 0;
}

/* As in clusters of Redis, what stands in braces chooses the shard, so that keys can be kept
 * together. */
uint32_t shard_of(const struct kv *kv, struct slice key, uint64_t hash)
{
	const char *open = (const char *)memchr(key.bytes, '{', key.count);
	size_t rest = open == NULL ? 0 : key.count - (size_t)(open + 1 - key.bytes);
	const char *close = open == NULL ? NULL : (const char *)memchr(open + 1, '}', rest);

	if (close != NULL && close > open + 1) {
		hash = hash_of((struct slice){ open + 1, (size_t)(close - open) - 1 });
	}
	return (uint32_t)((hash >> 32) * kv->loops >> 32);
}

/* ---- the loop and the actor ---- */

/* Over all shards, as they are at the moment. */
size_t kv_sum(const struct kv *kv, enum figure figure)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < kv->loops; i++) {
		sum += kv->shards[i]->counts[figure];
	}
	return (size_t)sum;
}

void shard_look_at_clock(struct shard *shard)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	shard->now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int tick(struct gyre_stack *stack)
{
	struct shard *shard = (struct shard *)gyre_loop_data(stack);
	size_t end = shard->cursor + SHARD_TREES;

	shard_look_at_clock(shard);
	for (size_t seen = 0;
	     seen < TICK_ITEMS && shard->counts[EXPIRING] > 0 && shard->cursor < end;
	     shard->cursor++) {
		struct item **tree = &shard->trees[shard->cursor % SHARD_TREES];
		size_t before = tree_count(*tree);
		size_t over;

		*tree = tree_expire(*tree, shard->now_ms);
		over = before - tree_count(*tree);
		shard_count(shard, EXPIRED, over);
		shard_count(shard, KEYS, 0 - over);
		shard_count(shard, EXPIRING, 0 - over);
		seen += before;
	}
	shard->counts[MEMORY] = memory_used;
	return gyre_return(stack);
}

static int begin(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .delay_ns = GYRE_MILLISECONDS(TICK_MS),
						  .period_ns = GYRE_MILLISECONDS(TICK_MS) };

	return gyre_timer_start(stack, 0, &often);
}

static const struct gyre_route notices[] = { GYRE_ROUTE(travel, round_visit), GYRE_ROUTE_END };
static const struct gyre_route events[] = { GYRE_ROUTE(gyre_timeout, tick), GYRE_ROUTE_END };

const struct gyre_class shard_class = {
	.name = "shard",
	.behaviour = { .notice_routes = notices, .event_routes = events },
	.mount = begin,
};

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
	free(shard->out.bytes);
	while (shard->spares_count > 0) {
		round_destroy(shard->spares[--shard->spares_count]);
	}
	free(shard);
}
