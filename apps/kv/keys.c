/*
 * Keys of any type: their time, their type, and which there are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kv.h"

static const char *const type_names[] = { "none", "string", "list", "set", "zset", "hash" };

/* STRLEN, LLEN, HLEN, SCARD and ZCARD. */
void get_length(struct call *call)
{
	reply_head(call->out, ':', (int64_t)item_length(call->item));
}

/* EXISTS; and DEL, whose variant is 1. */
static void count_keys(struct call *call)
{
	int64_t found = 0;

	for (size_t i = 1; i < call->count; i++) {
		struct slice key = call->args[i];
		struct item *item = *shard_find(call->shard, hash_of(key), key);

		found += item != NULL;
		if (item != NULL && call->command->variant == 1) {
			shard_remove(call->shard, item);
		}
	}
	reply_head(call->out, ':', found);
}

static struct item *find(struct call *call)
{
	return *shard_find(call->shard, call->hash, call->args[1]);
}

static void get_type(struct call *call)
{
	const struct item *item = find(call);

	reply_text(call->out, "+");
	reply_text(call->out, type_names[item == NULL ? NONE : item->type]);
	reply_text(call->out, "\r\n");
}

/* EXPIRE and PEXPIRE, whose variant is a unit in milliseconds. */
static void set_time(struct call *call)
{
	struct item *item = find(call);
	int64_t expires_ms;

	if (call->count > 3) {
		(void)call_refuse(call, SYNTAX_ERROR);
	} else if (call_time(call, 2, call->command->variant, call->shard->now_ms, true,
			     &expires_ms)) {
		if (item != NULL && expires_ms <= (int64_t)call->shard->now_ms) {
			shard_remove(call->shard, item);
		} else if (item != NULL) {
			shard_set_expiry(call->shard, item, (uint64_t)expires_ms);
		}
		reply_head(call->out, ':', item != NULL);
	}
}

static void get_time(struct call *call)
{
	const struct item *item = find(call);
	uint64_t unit = (uint64_t)call->command->variant;

	reply_head(call->out, ':',
		   item == NULL ? -2
		   : item->expires_ms == 0
			   ? -1
			   : (int64_t)((item->expires_ms - call->shard->now_ms + unit / 2) / unit));
}

static void persist(struct call *call)
{
	struct item *item = find(call);
	bool applies = item != NULL && item->expires_ms != 0;

	if (applies) {
		shard_set_expiry(call->shard, item, 0);
	}
	reply_head(call->out, ':', applies);
}

static void count_all(struct call *call)
{
	reply_head(call->out, ':', (int64_t)call->shard->counts[KEYS]);
}

static void flush_all(struct call *call)
{
	shard_clear(call->shard);
	reply_text(call->out, "+OK\r\n");
}

/* ---- SCAN ---- */

struct scan {
	const struct call *call;
	struct slice pattern; /* without bytes for none */
	struct slice type;
	struct text found;
	int64_t count; /* of what was found */
	int64_t seen;
};

static void found_key(struct item *item, void *arg)
{
	struct scan *scan = (struct scan *)arg;

	scan->seen++;
	if ((item->expires_ms == 0 || item->expires_ms > scan->call->shard->now_ms) &&
	    (scan->pattern.bytes == NULL || glob_match(scan->pattern, item_key(item))) &&
	    (scan->type.bytes == NULL || slice_is(scan->type, type_names[item->type]))) {
		reply_bulk(&scan->found, item_key(item));
		scan->count++;
	}
}

static bool parse_scan(const struct call *call, struct scan *scan, int64_t *count)
{
	for (size_t i = 2; i < call->count; i += 2) {
		if (i + 1 < call->count && slice_is(call->args[i], "match")) {
			scan->pattern = call->args[i + 1];
		} else if (i + 1 < call->count && slice_is(call->args[i], "type")) {
			scan->type = call->args[i + 1];
		} else if (i + 1 == call->count || !slice_is(call->args[i], "count")) {
			return call_refuse(call, SYNTAX_ERROR);
		} else if (!call_integer(call, i + 1, count)) {
			return false;
		}
	}
	return true;
}

/* A cursor is a tree of a shard, times the number of shards, plus the number of that shard. */
static void scan_keys(struct call *call)
{
	struct scan scan = { .call = call };
	struct shard *shard = call->shard;
	int64_t loops = (int64_t)shard->kv->loops;
	int64_t wanted = 10;
	int64_t cursor;
	char text[24];

	if (!slice_integer(call->args[1], &cursor) || cursor < 0) {
		(void)call_refuse(call, "-ERR invalid cursor\r\n");
		return;
	}
	if (!parse_scan(call, &scan, &wanted)) {
		return;
	}
	cursor /= loops;
	while (scan.seen < wanted && cursor < SHARD_TREES) {
		struct item *tree = shard->trees[cursor++];

		tree_visit(tree, 0, tree_count(tree), false, found_key, &scan);
	}
	cursor = cursor < SHARD_TREES ? cursor * loops + shard->index : (shard->index + 1) % loops;
	(void)snprintf(text, sizeof(text), "%lld", (long long)cursor);
	reply_head(call->out, '*', 2);
	reply_string(call->out, text);
	reply_head(call->out, '*', scan.count);
	text_add(call->out, scan.found.count == 0 ? "" : scan.found.bytes, scan.found.count);
	call->out->failed |= scan.found.failed;
	free(scan.found.bytes);
}

const struct command key_commands[] = {
	{ "dbsize", count_all, 1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "del", count_keys, -2, ADD_UP, 1, NONE, RUN, 1 },
	{ "exists", count_keys, -2, ADD_UP, 1, NONE, RUN, 0 },
	{ "expire", set_time, -3, 0, 1, NONE, RUN, 1000 },
	{ "flushall", flush_all, -1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "flushdb", flush_all, -1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "persist", persist, 2, 0, 1, NONE, RUN, 0 },
	{ "pexpire", set_time, -3, 0, 1, NONE, RUN, 1 },
	{ "pttl", get_time, 2, 0, 1, NONE, RUN, 1 },
	{ "scan", scan_keys, -2, BY_CURSOR, 0, NONE, RUN, 0 },
	{ "ttl", get_time, 2, 0, 1, NONE, RUN, 1000 },
	{ "type", get_type, 2, 0, 1, NONE, RUN, 0 },
	{ "unlink", count_keys, -2, ADD_UP, 1, NONE, RUN, 1 },
	{ 0 },
};
