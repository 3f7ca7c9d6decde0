/*
 * Keys of any type: their time, their type, and which there are.
 */
#include <stdio.h>

#include "kv.h"

enum { SCAN_BUCKETS_MAX = 1000 };

static void destroy_node(struct item *member, void *arg)
{
	(void)arg;
	memory_put(member->object);
}

/* Frees a list or a collection. */
void object_destroy(struct item *item)
{
	if (item->object == NULL) {
		return;
	}
	if (item->type == TYPE_LIST) {
		list_clear((struct list *)item->object);
	} else {
		dict_visit(&((struct collection *)item->object)->members, destroy_node, NULL);
		dict_clear(&((struct collection *)item->object)->members);
	}
	memory_put(item->object);
	item->object = NULL;
}

size_t object_count(const struct item *item)
{
	return item->type == TYPE_LIST ? ((struct list *)item->object)->count
				       : ((struct collection *)item->object)->members.count;
}

/* DEL, and EXISTS. */
static void count_keys(struct call *call)
{
	int64_t found = 0;

	for (size_t i = 1; i < call->count; i++) {
		struct item *item = shard_find(call->shard, hash_of(call->args[i]), call->args[i]);

		found += item != NULL;
		if (item != NULL && call->command->variant == 'd') {
			shard_remove(call->shard, item);
		}
	}
	reply_integer(call->reply, found);
}

static const char *const type_names[] = { "none", "string", "list", "set", "zset", "hash" };

static void get_type(struct call *call)
{
	const struct item *item = shard_find(call->shard, call->hash, call->args[1]);

	reply_text(call->reply, "+");
	reply_text(call->reply, type_names[item == NULL ? TYPE_NONE : item->type]);
	reply_text(call->reply, "\r\n");
}

/* ---- time ---- */

/* EXPIRE and PEXPIRE, whose variant is a unit in milliseconds. */
static void set_time(struct call *call)
{
	struct item *item = shard_find(call->shard, call->hash, call->args[1]);
	int64_t now_ms = (int64_t)call->shard->now_ms;
	int64_t unit = call->command->variant;
	int64_t time;

	if (call->count > 3) {
		call_syntax_error(call);
	} else if (!call_integer(call, 2, &time)) {
		return;
	} else if (time > (INT64_MAX - now_ms) / unit || time < INT64_MIN / unit) {
		reply_error(call->reply, "ERR invalid expire time in '%s' command",
			    call->command->name);
	} else {
		if (item != NULL && time <= 0) {
			shard_remove(call->shard, item);
		} else if (item != NULL) {
			shard_set_expiry(call->shard, item, (uint64_t)(now_ms + time * unit));
		}
		reply_integer(call->reply, item != NULL);
	}
}

static void get_time(struct call *call)
{
	const struct item *item = shard_find(call->shard, call->hash, call->args[1]);
	uint64_t unit = (uint64_t)call->command->variant;

	if (item == NULL || item->expires_ms == 0) {
		reply_integer(call->reply, item == NULL ? -2 : -1);
	} else {
		reply_integer(
			call->reply,
			(int64_t)((item->expires_ms - call->shard->now_ms + unit / 2) / unit));
	}
}

static void persist(struct call *call)
{
	struct item *item = shard_find(call->shard, call->hash, call->args[1]);
	bool applies = item != NULL && item->expires_ms != 0;

	if (applies) {
		shard_set_expiry(call->shard, item, 0);
	}
	reply_integer(call->reply, applies);
}

/* ---- all of them ---- */

static void count_all(struct call *call)
{
	reply_integer(call->reply, (int64_t)call->shard->keys.count);
}

static void flush_all(struct call *call)
{
	shard_clear(call->shard);
	reply_ok(call->reply);
}

struct scan {
	struct call *call;
	struct slice pattern; /* without bytes for none */
	struct slice type;
	struct reply found;
	size_t count;
};

static void found_key(struct item *item, void *arg)
{
	struct scan *scan = (struct scan *)arg;

	if ((item->expires_ms != 0 && item->expires_ms <= scan->call->shard->now_ms) ||
	    (scan->pattern.bytes != NULL && !glob_match(scan->pattern, item_key(item))) ||
	    (scan->type.bytes != NULL && !slice_is(scan->type, type_names[item->type]))) {
		return;
	}
	reply_bulk(&scan->found, item_key(item));
	scan->count++;
}

static bool parse_scan(struct call *call, struct scan *scan, int64_t *buckets)
{
	for (size_t i = 2; i < call->count; i += 2) {
		bool has_value = i + 1 < call->count;

		if (has_value && slice_is(call->args[i], "match")) {
			scan->pattern = call->args[i + 1];
		} else if (has_value && slice_is(call->args[i], "type")) {
			scan->type = call->args[i + 1];
		} else if (has_value && slice_is(call->args[i], "count")) {
			if (!call_integer(call, i + 1, buckets)) {
				return false;
			}
		} else {
			call_syntax_error(call);
			return false;
		}
	}
	*buckets = *buckets < 1 ? 1 : *buckets > SCAN_BUCKETS_MAX ? SCAN_BUCKETS_MAX : *buckets;
	return true;
}

/* A cursor is a place in a shard, times the number of shards, plus the number of that shard. */
static void scan_keys(struct call *call)
{
	struct scan scan = { .call = call, .found = { .resp3 = call->reply->resp3 } };
	struct shard *shard = call->shard;
	uint64_t loops = shard->kv->loops;
	int64_t buckets = 10;
	int64_t cursor;
	size_t place;
	char text[24];

	if (!slice_integer(call->args[1], &cursor) || cursor < 0) {
		reply_text(call->reply, "-ERR invalid cursor\r\n");
		return;
	}
	scan.found.buffer = gyre_buffer_create(call->stack);
	if (scan.found.buffer == NULL || !parse_scan(call, &scan, &buckets)) {
		call->reply->failed |= scan.found.buffer == NULL;
		gyre_buffer_destroy(scan.found.buffer);
		return;
	}
	place = dict_scan(&shard->keys, (uint64_t)cursor / loops, (size_t)buckets, found_key,
			  &scan);
	place = place != 0 ? place * loops + shard->index : (shard->index + 1) % loops;
	(void)snprintf(text, sizeof(text), "%zu", place);
	reply_array(call->reply, 2);
	reply_string(call->reply, text);
	reply_array(call->reply, scan.count);
	reply_commit(&scan.found);
	reply_commit(call->reply);
	call->reply->failed |=
		scan.found.failed || gyre_buffer_join(call->reply->buffer, scan.found.buffer) < 0;
}

const struct command key_commands[] = {
	{ "dbsize", count_all, 1, EVERYWHERE | MERGE_SUM, 0, TYPE_NONE, RUN, 0 },
	{ "del", count_keys, -2, MERGE_SUM, 1, TYPE_NONE, RUN, 'd' },
	{ "exists", count_keys, -2, MERGE_SUM, 1, TYPE_NONE, RUN, 0 },
	{ "expire", set_time, -3, 0, 1, TYPE_NONE, RUN, 1000 },
	{ "flushall", flush_all, -1, EVERYWHERE | MERGE_SAME, 0, TYPE_NONE, RUN, 0 },
	{ "flushdb", flush_all, -1, EVERYWHERE | MERGE_SAME, 0, TYPE_NONE, RUN, 0 },
	{ "persist", persist, 2, 0, 1, TYPE_NONE, RUN, 0 },
	{ "pexpire", set_time, -3, 0, 1, TYPE_NONE, RUN, 1 },
	{ "pttl", get_time, 2, 0, 1, TYPE_NONE, RUN, 1 },
	{ "scan", scan_keys, -2, BY_CURSOR, 0, TYPE_NONE, RUN, 0 },
	{ "ttl", get_time, 2, 0, 1, TYPE_NONE, RUN, 1000 },
	{ "type", get_type, 2, 0, 1, TYPE_NONE, RUN, 0 },
	{ "unlink", count_keys, -2, MERGE_SUM, 1, TYPE_NONE, RUN, 'd' },
	{ 0 },
};
