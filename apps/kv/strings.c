/*
 * Strings, and numbers that are strings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kv.h"

/* Puts more behind the first bytes of the value; what is no string is replaced. Its time stays. */
static bool put(struct call *call, size_t before, struct slice more)
{
	size_t bytes = before + more.count;

	if (call->item != NULL && call->item->type != STRING) {
		item_clear(call->item);
	}
	call->item = call->item == NULL ? shard_add(call->shard, call->hash, call->args[1], bytes)
					: item_resize(call->link, bytes);
	if (call->item == NULL) {
		return call_refuse(call, OUT_OF_MEMORY);
	}
	call->item->type = STRING;
	memcpy(call->item->bytes + call->item->key_bytes + before, more.bytes, more.count);
	return true;
}

static void get(struct call *call)
{
	reply_bulk(call->out, item_value(call->item));
}

static void get_range(struct call *call)
{
	struct slice value = call->item == NULL ? SLICE("") : item_value(call->item);
	int64_t ends[2] = { 0 };
	size_t first;
	size_t end;

	if (call_range(call, 2, value.count, &first, &end)) {
		(void)slice_integer(call->args[2], &ends[0]);
		(void)slice_integer(call->args[3], &ends[1]);
		/* Unlike in lists, what ends before the first byte ends with it. */
		if (ends[1] < -(int64_t)value.count && first == 0 && value.count > 0 &&
		    (ends[0] >= 0 || ends[0] <= ends[1])) {
			end = 1;
		}
		reply_bulk(call->out,
			   (struct slice){ value.bytes + (first < end ? first : 0), end - first });
	}
}

struct set {
	bool if_missing;
	bool if_there;
	bool get;
	bool keep_time;
	int64_t expires_ms;
};

static bool parse_time(struct call *call, size_t index, struct set *set)
{
	static const char *const names[] = { "ex", "px", "exat", "pxat" };
	size_t name = 0;

	while (name < 4 && !slice_is(call->args[index], names[name])) {
		name++;
	}
	if (name == 4 || index + 1 == call->count || set->expires_ms != 0) {
		return call_refuse(call, SYNTAX_ERROR);
	}
	return call_time(call, index + 1, name % 2 == 0 ? 1000 : 1,
			 name < 2 ? call->shard->now_ms : 0, false, &set->expires_ms);
}

static bool parse_set(struct call *call, struct set *set)
{
	for (size_t i = 3; i < call->count; i++) {
		struct slice word = call->args[i];
		bool *option = slice_is(word, "nx")	   ? &set->if_missing
			       : slice_is(word, "xx")	   ? &set->if_there
			       : slice_is(word, "get")	   ? &set->get
			       : slice_is(word, "keepttl") ? &set->keep_time
							   : NULL;

		if (option != NULL) {
			*option = true;
		} else if (!parse_time(call, i++, set)) {
			return false;
		}
	}
	return (!set->if_missing || !set->if_there) && (!set->keep_time || set->expires_ms == 0)
		       ? true
		       : call_refuse(call, SYNTAX_ERROR);
}

static void set_by(struct call *call, const struct set *set, struct slice value)
{
	bool applies;

	call->link = shard_find(call->shard, call->hash, call->args[1]);
	call->item = *call->link;
	applies = call->item == NULL ? !set->if_there : !set->if_missing;
	if (set->get && call->item != NULL && call->item->type != STRING) {
		(void)call_refuse(call, WRONG_TYPE);
		return;
	}
	if (set->get && call->item != NULL) {
		get(call);
	} else if (set->get || !applies) {
		reply_null(call->out);
	}
	if (applies && put(call, 0, value)) {
		if (!set->keep_time) {
			shard_set_expiry(call->shard, call->item, (uint64_t)set->expires_ms);
		}
		if (!set->get) {
			reply_text(call->out, "+OK\r\n");
		}
	}
}

static void set(struct call *call)
{
	struct set set = { 0 };

	if (call->count == 3 || parse_set(call, &set)) {
		set_by(call, &set, call->args[2]);
	}
}

/* SETEX and PSETEX, by their units. */
static void set_for(struct call *call)
{
	struct set set = { 0 };

	if (call_time(call, 2, call->command->variant, call->shard->now_ms, false,
		      &set.expires_ms)) {
		set_by(call, &set, call->args[3]);
	}
}

static void append(struct call *call)
{
	size_t before = call->item == NULL ? 0 : call->item->value_bytes;

	if (before + call->args[2].count > call->shard->kv->value_max) {
		(void)call_refuse(call, "-ERR string exceeds maximum allowed size "
					"(proto-max-bulk-len)\r\n");
	} else if (put(call, before, call->args[2])) {
		reply_head(call->out, ':', call->item->value_bytes);
	}
}

/* The variant of INCR and INCRBY is 1, that of the others -1. */
static void increment(struct call *call)
{
	char text[24];
	int64_t by = 1;
	int64_t number = 0;
	int count;

	if (call->count == 3 && !call_integer(call, 2, &by)) {
		return;
	}
	if (call->command->variant < 0 && by == INT64_MIN) {
		(void)call_refuse(call, "-ERR decrement would overflow\r\n");
	} else if (call->item != NULL && !slice_integer(item_value(call->item), &number)) {
		(void)call_refuse(call, NO_INTEGER);
	} else if (__builtin_add_overflow(number, by * call->command->variant, &number)) {
		(void)call_refuse(call, "-ERR increment or decrement would overflow\r\n");
	} else {
		count = snprintf(text, sizeof(text), "%" PRId64, number);
		if (put(call, 0, (struct slice){ text, (size_t)count })) {
			reply_head(call->out, ':', number);
		}
	}
}

static void get_many(struct call *call)
{
	reply_head(call->out, '*', (int64_t)call->count - 1);
	for (size_t i = 1; i < call->count; i++) {
		struct slice key = call->args[i];
		const struct item *item = *shard_find(call->shard, hash_of(key), key);

		if (item == NULL || item->type != STRING) {
			reply_null(call->out);
		} else {
			reply_bulk(call->out, item_value(item));
		}
	}
}

static void set_many(struct call *call)
{
	for (size_t i = 1; i < call->count; i += 2) {
		struct call one = *call;

		one.args = call->args + i - 1;
		one.hash = hash_of(one.args[1]);
		one.link = shard_find(call->shard, one.hash, one.args[1]);
		one.item = *one.link;
		if (!put(&one, 0, one.args[2])) {
			return;
		}
		shard_set_expiry(call->shard, one.item, 0);
	}
	reply_text(call->out, "+OK\r\n");
}

const struct command string_commands[] = {
	{ "get", get, 2, 0, 1, STRING, NIL, 0 },
	{ "set", set, -3, GROWS, 1, NONE, RUN, 0 },
	{ "append", append, 3, GROWS, 1, STRING, RUN, 0 },
	{ "decr", increment, 2, GROWS, 1, STRING, RUN, -1 },
	{ "decrby", increment, 3, GROWS, 1, STRING, RUN, -1 },
	{ "getrange", get_range, 4, 0, 1, STRING, RUN, 0 },
	{ "incr", increment, 2, GROWS, 1, STRING, RUN, 1 },
	{ "incrby", increment, 3, GROWS, 1, STRING, RUN, 1 },
	{ "mget", get_many, -2, LIST_UP, 1, NONE, RUN, 0 },
	{ "mset", set_many, -3, GROWS | ADD_UP, 2, NONE, RUN, 0 },
	{ "psetex", set_for, 4, GROWS, 1, NONE, RUN, 1 },
	{ "setex", set_for, 4, GROWS, 1, NONE, RUN, 1000 },
	{ "strlen", get_length, 2, 0, 1, STRING, ZERO, 0 },
	{ 0 },
};
