/*
 * Strings, numbers that are strings, and what all keys have: a time and a type.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

static const char *const type_names[] = { "none", "string", "list", "set", "zset", "hash" };

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
		return call_refuse(call, OUT_OF_MEMORY);
	}
	call->item->type = STRING;
	memcpy(call->item->bytes + call->item->key_bytes + before, more.bytes, more.count);
	return true;
}

static const char *get(struct call *call)
{
	return reply_bulk(call->out, item_value(call->item));
}

static const char *get_range(struct call *call)
{
	struct slice value = call->item == NULL ? SLICE("") : item_value(call->item);
	size_t first;
	size_t end;

	if (!call_range(call, value.count, &first, &end)) {
		return NULL;
	}
	return reply_bulk(call->out, (struct slice){ value.bytes + first, end - first });
}

enum { IF_MISSING = 1, IF_THERE = 2, GET = 4, KEEP_TIME = 8, FLAGS = 4, NAMES = 6 };

static bool parse_set(struct call *call, uint32_t *flags, int64_t *expires_ms)
{
	static const char *const names[NAMES] = { "nx", "xx", "get", "keepttl", "ex", "px" };

	for (size_t i = 3; i < call->count; i++) {
		size_t name = slice_among(call->args[i], names, NAMES);

		if (name < FLAGS) {
			*flags |= 1U << name;
		} else if (name == NAMES || *expires_ms != 0 || ++i == call->count) {
			return call_refuse(call, SYNTAX_ERROR);
		} else if (!call_time(call, i, name == FLAGS ? 1000 : 1, 1, expires_ms)) {
			return false;
		}
	}
	return ((*flags & IF_MISSING) == 0 || (*flags & IF_THERE) == 0) &&
			       ((*flags & KEEP_TIME) == 0 || *expires_ms == 0)
		       ? true
		       : call_refuse(call, SYNTAX_ERROR);
}

/* SET; and SETEX and PSETEX, whose variants are their units in milliseconds. */
static const char *set(struct call *call)
{
	int64_t unit = call->command->variant;
	int64_t expires_ms = 0;
	uint32_t flags = 0;
	size_t from = call->out->count;
	bool applies;
	bool is_got;

	if (unit == 0 ? !parse_set(call, &flags, &expires_ms)
		      : !call_time(call, 2, unit, 1, &expires_ms)) {
		return NULL;
	}
	is_got = (flags & GET) != 0;
	if (is_got && call->item != NULL && call->item->type != STRING) {
		return WRONG_TYPE;
	}
	applies = (flags & (call->item == NULL ? IF_THERE : IF_MISSING)) == 0;
	if (is_got || !applies) {
		(void)reply_bulk(call->out, is_got ? item_value(call->item) : NOTHING);
	}
	if (applies && !put(call, 0, call->args[unit == 0 ? 2 : 3])) {
		call->out->count = from; /* without the old value */
		return OUT_OF_MEMORY;
	}
	if (applies && (flags & KEEP_TIME) == 0) {
		shard_set_expiry(call->shard, call->item, (uint64_t)expires_ms);
	}
	return is_got || !applies ? NULL : OK;
}

static const char *append(struct call *call)
{
	size_t before = call->item == NULL ? 0 : call->item->value_bytes;

	if (before + call->args[2].count > call->shard->kv->value_max) {
		return "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
	}
	return put(call, before, call->args[2])
		       ? reply_head(call->out, ':', call->item->value_bytes)
		       : NULL;
}

/* The variant of INCR and INCRBY is 1, that of the others -1. */
static const char *increment(struct call *call)
{
	char text[24];
	int64_t by = 1;
	int64_t number = 0;
	int count;

	if (call->count == 3 && !call_integer(call, 2, &by)) {
		return NULL;
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
		       : NULL;
}

static const char *get_many(struct call *call)
{
	(void)reply_head(call->out, '*', (int64_t)call->count - 1);
	for (size_t i = 1; i < call->count; i++) {
		struct item *item = shard_find(call->shard, hash_of(call->args[i]), call->args[i]);

		(void)reply_bulk(call->out,
				 item_value(item != NULL && item->type == STRING ? item : NULL));
	}
	return NULL;
}

static const char *set_many(struct call *call)
{
	struct call one = *call;

	for (; one.count > 1; one.args += 2, one.count -= 2) {
		one.hash = hash_of(one.args[1]);
		one.item = shard_find(one.shard, one.hash, one.args[1]);
		if (!put(&one, 0, one.args[2])) {
			return NULL;
		}
		shard_set_expiry(one.shard, one.item, 0);
	}
	return OK;
}

/* ---- keys of any type ---- */

/* EXISTS; and DEL, whose variant is 1. */
static const char *count_keys(struct call *call)
{
	int64_t found = 0;

	for (size_t i = 1; i < call->count; i++) {
		struct item *item = shard_find(call->shard, hash_of(call->args[i]), call->args[i]);

		found += item != NULL;
		if (item != NULL && call->command->variant == 1) {
			shard_remove(call->shard, item);
		}
	}
	return reply_head(call->out, ':', found);
}

static const char *get_type(struct call *call)
{
	return reply_format(call->out, "+%s",
			    type_names[call->item == NULL ? NONE : call->item->type]);
}

/* EXPIRE and PEXPIRE, whose variant is a unit in milliseconds. */
static const char *set_time(struct call *call)
{
	struct item *item = call->item;
	int64_t expires_ms;

	if (!call_time(call, 2, call->command->variant, INT64_MIN, &expires_ms)) {
		return NULL;
	}
	if (item != NULL && expires_ms <= (int64_t)call->shard->now_ms) {
		shard_remove(call->shard, item);
		call->item = NULL;
	} else if (item != NULL) {
		shard_set_expiry(call->shard, item, (uint64_t)expires_ms);
	}
	return reply_head(call->out, ':', item != NULL);
}

static const char *get_time(struct call *call)
{
	uint64_t unit = (uint64_t)call->command->variant;

	if (call->item == NULL || call->item->expires_ms == 0) {
		return reply_head(call->out, ':', call->item == NULL ? -2 : -1);
	}
	return reply_head(
		call->out, ':',
		(int64_t)((call->item->expires_ms - call->shard->now_ms + unit / 2) / unit));
}

static const char *persist(struct call *call)
{
	bool applies = call->item != NULL && call->item->expires_ms != 0;

	if (applies) {
		shard_set_expiry(call->shard, call->item, 0);
	}
	return reply_head(call->out, ':', applies);
}

/* STRLEN, LLEN, HLEN, SCARD and ZCARD. */
const char *get_length(struct call *call)
{
	return reply_head(call->out, ':', (int64_t)item_length(call->item));
}

static const char *count_all(struct call *call)
{
	return reply_head(call->out, ':', (int64_t)call->shard->counts[KEYS]);
}

static const char *flush_all(struct call *call)
{
	shard_clear(call->shard);
	return OK;
}

/* ---- SCAN ---- */

enum { PATTERN = 0, TYPE = 1, COUNT = 2, OPTIONS = 3 };

struct scan {
	struct slice options[OPTIONS]; /* NOTHING for those that were not given */
	uint64_t now_ms;
	int64_t seen;
	int64_t count; /* of what was found */
	struct text found;
};

static void look_at_key(struct item *item, void *arg)
{
	struct scan *scan = (struct scan *)arg;
	struct slice pattern = scan->options[PATTERN];
	struct slice type = scan->options[TYPE];

	scan->seen++;
	if ((item->expires_ms == 0 || item->expires_ms > scan->now_ms) &&
	    (pattern.bytes == NULL || glob_match(pattern, item_key(item))) &&
	    (type.bytes == NULL || slice_is(type, type_names[item->type]))) {
		(void)reply_bulk(&scan->found, item_key(item));
		scan->count++;
	}
}

/* A cursor is a tree of a shard, times the number of shards, plus the number of that shard. */
static const char *scan_keys(struct call *call)
{
	static const char *const names[OPTIONS] = { "match", "type", "count" };
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
		size_t name = slice_among(call->args[i], names, OPTIONS);

		if (name == OPTIONS || i + 1 == call->count) {
			return SYNTAX_ERROR;
		}
		scan.options[name] = call->args[i + 1];
		if (name == COUNT && !call_integer(call, i + 1, &wanted)) {
			return NULL;
		}
	}
	if (wanted < 1) {
		return SYNTAX_ERROR;
	}
	for (cursor /= loops; scan.seen < wanted && cursor < SHARD_TREES; cursor++) {
		tree_visit(shard->trees[cursor], 0, SSIZE_MAX, false, look_at_key, &scan);
	}
	cursor = cursor < SHARD_TREES ? cursor * loops + shard->index : (shard->index + 1) % loops;
	(void)snprintf(text, sizeof(text), "%" PRId64, cursor);
	(void)reply_head(call->out, '*', 2);
	(void)reply_string(call->out, text);
	(void)reply_head(call->out, '*', scan.count);
	text_add(call->out, scan.found.bytes, scan.found.count);
	call->out->failed |= scan.found.failed;
	free(scan.found.bytes);
	return NULL;
}

const struct command value_commands[] = {
	{ "get", get, 2, 0, 1, STRING, NIL, 0 },
	{ "set", set, -3, GROWS, 1, ANY, RUN, 0 },
	{ "append", append, 3, GROWS, 1, STRING, RUN, 0 },
	{ "dbsize", count_all, 1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "decr", increment, 2, GROWS, 1, STRING, RUN, -1 },
	{ "decrby", increment, 3, GROWS, 1, STRING, RUN, -1 },
	{ "del", count_keys, -2, ADD_UP, 1, NONE, RUN, 1 },
	{ "exists", count_keys, -2, ADD_UP, 1, NONE, RUN, 0 },
	{ "expire", set_time, 3, 0, 1, ANY, RUN, 1000 },
	{ "flushall", flush_all, -1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "flushdb", flush_all, -1, EVERYWHERE | ADD_UP, 0, NONE, RUN, 0 },
	{ "getrange", get_range, 4, 0, 1, STRING, RUN, 0 },
	{ "incr", increment, 2, GROWS, 1, STRING, RUN, 1 },
	{ "incrby", increment, 3, GROWS, 1, STRING, RUN, 1 },
	{ "mget", get_many, -2, LIST_UP, 1, NONE, RUN, 0 },
	{ "mset", set_many, -3, GROWS | ADD_UP, 2, NONE, RUN, 0 },
	{ "persist", persist, 2, 0, 1, ANY, RUN, 0 },
	{ "pexpire", set_time, 3, 0, 1, ANY, RUN, 1 },
	{ "psetex", set, 4, GROWS, 1, ANY, RUN, 1 },
	{ "pttl", get_time, 2, 0, 1, ANY, RUN, 1 },
	{ "scan", scan_keys, -2, BY_CURSOR, 0, NONE, RUN, 0 },
	{ "setex", set, 4, GROWS, 1, ANY, RUN, 1000 },
	{ "strlen", get_length, 2, 0, 1, STRING, ZERO, 0 },
	{ "ttl", get_time, 2, 0, 1, ANY, RUN, 1000 },
	{ "type", get_type, 2, 0, 1, ANY, RUN, 0 },
	{ "unlink", count_keys, -2, ADD_UP, 1, NONE, RUN, 1 },
	{ 0 },
};
