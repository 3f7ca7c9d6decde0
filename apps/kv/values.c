/*
 * Strings, numbers that are strings, and what all keys have: a time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

/* ---- strings ---- */

/* Puts more behind the first bytes of the value; what is no string is replaced. Its time stays. */
static bool put(struct call *call, size_t before, struct slice more)
{
	if (call->item != NULL && call->item->type != STRING) {
		item_clear(call->item);
		call->item->type = STRING;
	}
	call->item = shard_make(call->shard, call->hash, call->args[1], before + more.count);
	if (call->item == NULL) {
		return false;
	}
	call->item->type = STRING;
	memcpy(call->item->bytes + call->item->key_bytes + before, more.bytes, more.count);
	return true;
}

/* GET, and a key of MGET, for which all others than strings are none. */
static const char *get(struct call *call)
{
	bool is_string = call->item != NULL && call->item->type == STRING;

	return reply_bulk(call->out, item_value(is_string ? call->item : NULL));
}

static const char *get_range(struct call *call)
{
	struct slice value = call->item == NULL ? SLICE("") : item_value(call->item);
	size_t first;
	size_t end;

	return call_range(call, value.count, &first, &end)
		       ? reply_bulk(call->out, (struct slice){ value.bytes + first, end - first })
		       : NO_INTEGER;
}

enum { IF_MISSING = 1, IF_THERE = 2 };

static const char *set(struct call *call)
{
	int64_t expires_ms = 0;
	int conditions = 0;

	for (size_t i = 3; i < call->count; i++) {
		int64_t unit = slice_is(call->args[i], "ex")   ? 1000
			       : slice_is(call->args[i], "px") ? 1
							       : 0;

		if (slice_is(call->args[i], "nx")) {
			conditions |= IF_MISSING;
		} else if (slice_is(call->args[i], "xx")) {
			conditions |= IF_THERE;
		} else if (unit == 0 || expires_ms != 0 || ++i == call->count) {
			return SYNTAX_ERROR;
		} else if (!call_time(call, i, unit, 1, &expires_ms)) {
			return NULL;
		}
	}
	if (conditions == (IF_MISSING | IF_THERE)) {
		return SYNTAX_ERROR;
	}
	if ((conditions & (call->item == NULL ? IF_THERE : IF_MISSING)) != 0) {
		return reply_bulk(call->out, NOTHING);
	}
	if (!put(call, 0, call->args[2])) {
		return OUT_OF_MEMORY;
	}
	shard_set_expiry(call->shard, call->item, (uint64_t)expires_ms);
	return OK;
}

static const char *append(struct call *call)
{
	size_t before = call->item == NULL ? 0 : call->item->value_bytes;

	if (before + call->args[2].count > call->shard->kv->value_max) {
		return TOO_LONG;
	}
	return put(call, before, call->args[2]) ? get_length(call) : OUT_OF_MEMORY;
}

/* The variant of INCR and INCRBY is 1, that of the others -1. */
static const char *increment(struct call *call)
{
	char text[24];
	int64_t by = 1;
	int64_t number = 0;
	int count;

	if (call->count == 3 && !slice_integer(call->args[2], &by)) {
		return NO_INTEGER;
	}
	if (call->command->variant < 0 && by == INT64_MIN) {
		return "-ERR decrement would overflow\r\n";
	}
	if (call->item != NULL && !slice_integer(item_value(call->item), &number)) {
		return NO_INTEGER;
	}
	if (__builtin_add_overflow(number, by * call->command->variant, &number)) {
		return "-ERR increment or decrement would overflow\r\n";
	}
	count = snprintf(text, sizeof(text), "%" PRId64, number);
	return put(call, 0, (struct slice){ text, (size_t)count })
		       ? reply_head(call->out, ':', number)
		       : OUT_OF_MEMORY;
}

/* ---- keys of any type ---- */

/* A key of EXISTS; or of DEL, whose variant is 1. */
static const char *count_key(struct call *call)
{
	call->sum += call->item != NULL;
	if (call->item != NULL && call->command->variant == 1) {
		shard_remove(call->shard, call->item);
		call->item = NULL;
	}
	return NULL;
}

static const char *set_time(struct call *call)
{
	struct item *item = call->item;
	int64_t expires_ms;

	if (!call_time(call, 2, 1000, INT64_MIN, &expires_ms)) {
		return NULL;
	}
	if (item != NULL && expires_ms <= (int64_t)call->shard->now_ms) {
		shard_remove(call->shard, item);
		call->item = NULL;
	} else if (item != NULL) {
		shard_set_expiry(call->shard, item, (uint64_t)expires_ms);
	}
	return reply_number(call->out, item != NULL);
}

static const char *get_time(struct call *call)
{
	if (call->item == NULL || call->item->expires_ms == 0) {
		return call->item == NULL ? ":-2\r\n" : ":-1\r\n";
	}
	return reply_number(call->out, (call->item->expires_ms - call->shard->now_ms + 500) / 1000);
}

/* STRLEN, LLEN, HLEN, SCARD and ZCARD. */
const char *get_length(struct call *call)
{
	return reply_number(call->out, item_length(call->item));
}

static const char *count_all(struct call *call)
{
	return reply_number(call->out, call->shard->counts[KEYS]);
}

static const char *flush_all(struct call *call)
{
	shard_clear(call->shard);
	return OK;
}

/* ---- SCAN ---- */

struct scan {
	struct slice pattern; /* NOTHING for all */
	uint64_t now_ms;
	size_t seen;
	size_t count; /* of what was found */
	struct text found;
};

static void look_at_key(struct item *item, void *arg)
{
	struct scan *scan = (struct scan *)arg;

	scan->seen++;
	if (!item_is_over(item, scan->now_ms) &&
	    (scan->pattern.bytes == NULL || glob_match(scan->pattern, item_key(item)))) {
		(void)reply_bulk(&scan->found, item_key(item));
		scan->count++;
	}
}

/* A cursor is a tree of a shard, times the number of shards, plus the number of that shard. */
static const char *scan_keys(struct call *call)
{
	struct shard *shard = call->shard;
	struct scan scan = { .now_ms = shard->now_ms };
	int64_t loops = (int64_t)shard->kv->loops;
	int64_t wanted = 10;
	int64_t cursor;
	char text[24];

	if (!slice_integer(call->args[1], &cursor) || cursor < 0) {
		return "-ERR invalid cursor\r\n";
	}
	for (size_t i = 2; i < call->count; i += 2) {
		if (i + 1 < call->count && slice_is(call->args[i], "match")) {
			scan.pattern = call->args[i + 1];
		} else if (i + 1 == call->count || !slice_is(call->args[i], "count")) {
			return SYNTAX_ERROR;
		} else if (!slice_integer(call->args[i + 1], &wanted)) {
			return NO_INTEGER;
		}
	}
	if (wanted < 1) {
		return SYNTAX_ERROR;
	}
	for (cursor /= loops; scan.seen < (size_t)wanted && cursor < SHARD_TREES; cursor++) {
		tree_visit(shard->trees[cursor], 0, SSIZE_MAX, look_at_key, &scan);
	}
	cursor = cursor < SHARD_TREES ? cursor * loops + shard->index : (shard->index + 1) % loops;
	(void)snprintf(text, sizeof(text), "%" PRId64, cursor);
	(void)reply_head(call->out, '*', 2);
	(void)reply_string(call->out, text);
	(void)reply_list(call->out, '*', scan.count);
	text_add(call->out, scan.found.bytes, scan.found.count);
	call->out->failed |= scan.found.failed;
	free(scan.found.bytes);
	return NULL;
}

const struct command value_commands[] = {
	{ "get", get, 2, 0, STRING, NIL, 0 },
	{ "set", set, -3, GROWS, ANY, RUN, 0 },
	{ "append", append, 3, GROWS, STRING, RUN, 0 },
	{ "dbsize", count_all, 1, EVERYWHERE, NONE, RUN, 0 },
	{ "decr", increment, 2, GROWS, STRING, RUN, -1 },
	{ "decrby", increment, 3, GROWS, STRING, RUN, -1 },
	{ "del", count_key, -2, EACH_KEY, ANY, RUN, 1 },
	{ "exists", count_key, -2, EACH_KEY, ANY, RUN, 0 },
	{ "expire", set_time, 3, 0, ANY, RUN, 0 },
	{ "flushall", flush_all, -1, EVERYWHERE, NONE, RUN, 0 },
	{ "getrange", get_range, 4, 0, STRING, RUN, 0 },
	{ "incr", increment, 2, GROWS, STRING, RUN, 1 },
	{ "incrby", increment, 3, GROWS, STRING, RUN, 1 },
	{ "mget", get, -2, EACH_KEY | LIST_UP, ANY, RUN, 0 },
	{ "mset", set, -3, GROWS | EACH_PAIR, ANY, RUN, 0 },
	{ "scan", scan_keys, -2, BY_CURSOR, NONE, RUN, 0 },
	{ "strlen", get_length, 2, 0, STRING, ZERO, 0 },
	{ "ttl", get_time, 2, 0, ANY, RUN, 0 },
	{ 0 },
};
