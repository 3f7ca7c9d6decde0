/*
 * Strings, and numbers that are strings.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kv.h"

/* Sets the value of the key, whatever it was; its time stays. */
static bool set_value(struct call *call, struct slice value)
{
	struct dict *keys = &call->shard->keys;

	if (call->item == NULL) {
		call->item = dict_add(keys, call->hash, call->args[1], value.count);
	} else {
		object_destroy(call->item);
		call->item = dict_resize_value(keys, call->item, value.count);
	}
	if (call->item == NULL) {
		call_no_memory(call);
		return false;
	}
	call->item->type = TYPE_STRING;
	memcpy(call->item->bytes + call->item->key_bytes, value.bytes, value.count);
	return true;
}

static void get(struct call *call)
{
	reply_bulk(call->reply, item_value(call->item));
	if (call->command->variant == 'd') {
		shard_remove(call->shard, call->item);
		call->item = NULL;
	}
}

static void get_length(struct call *call)
{
	reply_integer(call->reply, call->item->value_bytes);
}

static void get_range(struct call *call)
{
	struct slice value = call->item == NULL ? (struct slice){ "", 0 } : item_value(call->item);
	size_t first;
	size_t count;

	if (call_range(call, 2, value.count, &first, &count)) {
		reply_bulk(call->reply,
			   (struct slice){ value.bytes + (count == 0 ? 0 : first), count });
	}
}

/* ---- setting ---- */

struct set_options {
	bool if_missing;
	bool if_there;
	bool get;
	bool keep_time;
	uint64_t expires_ms;
};

static bool set_time(struct call *call, size_t index, char unit, bool is_date,
		     uint64_t *ret_expires_ms)
{
	int64_t base = is_date ? 0 : (int64_t)call->shard->now_ms;
	int64_t factor = unit == 's' ? 1000 : 1;
	int64_t time;

	if (!call_integer(call, index, &time)) {
		return false;
	}
	if (time <= 0 || time > (INT64_MAX - base) / factor) {
		reply_error(call->reply, "ERR invalid expire time in '%s' command",
			    call->command->name);
		return false;
	}
	*ret_expires_ms = (uint64_t)(base + time * factor);
	return true;
}

static bool parse_set(struct call *call, struct set_options *options)
{
	static const struct {
		const char *name;
		char unit;
		bool is_date;
	} times[] = { { "ex", 's', false },
		      { "px", 'm', false },
		      { "exat", 's', true },
		      { "pxat", 'm', true } };

	for (size_t i = 3; i < call->count; i++) {
		struct slice word = call->args[i];
		size_t time = 0;

		options->if_missing |= slice_is(word, "nx");
		options->if_there |= slice_is(word, "xx");
		options->get |= slice_is(word, "get");
		options->keep_time |= slice_is(word, "keepttl");
		if (slice_is(word, "nx") || slice_is(word, "xx") || slice_is(word, "get") ||
		    slice_is(word, "keepttl")) {
			continue;
		}
		while (time < 4 && !slice_is(word, times[time].name)) {
			time++;
		}
		if (time == 4 || i + 1 == call->count || options->expires_ms != 0) {
			call_syntax_error(call);
			return false;
		}
		if (!set_time(call, ++i, times[time].unit, times[time].is_date,
			      &options->expires_ms)) {
			return false;
		}
	}
	if ((options->if_missing && options->if_there) ||
	    (options->keep_time && options->expires_ms != 0)) {
		call_syntax_error(call);
		return false;
	}
	return true;
}

static void set_by(struct call *call, const struct set_options *options, struct slice value)
{
	struct item *item = shard_find(call->shard, call->hash, call->args[1]);
	bool applies = item == NULL ? !options->if_there : !options->if_missing;

	call->item = item;
	if (options->get && item != NULL && item->type != TYPE_STRING) {
		reply_text(call->reply, WRONG_TYPE);
		return;
	}
	if (options->get && item != NULL) {
		reply_bulk(call->reply, item_value(item));
	} else if (options->get || !applies) {
		reply_null(call->reply);
	}
	if (applies && set_value(call, value)) {
		if (!options->keep_time) {
			shard_set_expiry(call->shard, call->item, options->expires_ms);
		}
		if (!options->get) {
			reply_ok(call->reply);
		}
	}
}

static void set(struct call *call)
{
	struct set_options options = { 0 };

	if (call->count == 3 || parse_set(call, &options)) {
		set_by(call, &options, call->args[2]);
	}
}

/* SETEX and PSETEX, with the value behind the time. */
static void set_for(struct call *call)
{
	struct set_options options = { 0 };

	if (set_time(call, 2, (char)call->command->variant, false, &options.expires_ms)) {
		set_by(call, &options, call->args[3]);
	}
}

static void get_and_set(struct call *call)
{
	const struct set_options options = { .get = true };

	set_by(call, &options, call->args[2]);
}

static void set_if_missing(struct call *call)
{
	bool missing = shard_find(call->shard, call->hash, call->args[1]) == NULL;

	if (!missing || set_value(call, call->args[2])) {
		reply_integer(call->reply, missing);
	}
}

static bool append_to(struct call *call, struct slice more)
{
	size_t end = call->item->key_bytes + call->item->value_bytes;
	struct item *item = dict_resize_value(&call->shard->keys, call->item,
					      call->item->value_bytes + more.count);

	if (item == NULL) {
		call_no_memory(call);
		return false;
	}
	memcpy(item->bytes + end, more.bytes, more.count);
	call->item = item;
	return true;
}

static void append(struct call *call)
{
	size_t before = call->item == NULL ? 0 : call->item->value_bytes;
	struct slice more = call->args[2];

	if (before + more.count > call->shard->kv->value_max) {
		reply_text(call->reply, "-ERR string exceeds maximum allowed size "
					"(proto-max-bulk-len)\r\n");
	} else if (call->item == NULL ? set_value(call, more) : append_to(call, more)) {
		reply_integer(call->reply, call->item->value_bytes);
	}
}

/* ---- numbers ---- */

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
		reply_text(call->reply, "-ERR decrement would overflow\r\n");
		return;
	}
	if (call->item != NULL && !slice_integer(item_value(call->item), &number)) {
		reply_text(call->reply, "-ERR value is not an integer or out of range\r\n");
		return;
	}
	if (__builtin_add_overflow(number, by * call->command->variant, &number)) {
		reply_text(call->reply, "-ERR increment or decrement would overflow\r\n");
		return;
	}
	count = snprintf(text, sizeof(text), "%" PRId64, number);
	if (set_value(call, (struct slice){ text, (size_t)count })) {
		reply_integer(call->reply, number);
	}
}

/* ---- several ---- */

static void get_many(struct call *call)
{
	reply_array(call->reply, call->count - 1);
	for (size_t i = 1; i < call->count; i++) {
		const struct item *item =
			shard_find(call->shard, hash_of(call->args[i]), call->args[i]);

		if (item == NULL || item->type != TYPE_STRING) {
			reply_null(call->reply);
		} else {
			reply_bulk(call->reply, item_value(item));
		}
	}
}

static void set_many(struct call *call)
{
	const struct slice *args = call->args;

	for (size_t i = 1; i < call->count; i += 2) {
		call->args = args + i - 1;
		call->hash = hash_of(args[i]);
		call->item = shard_find(call->shard, call->hash, args[i]);
		if (!set_value(call, args[i + 1])) {
			return;
		}
		shard_set_expiry(call->shard, call->item, 0);
	}
	reply_ok(call->reply);
}

const struct command string_commands[] = {
	{ "get", get, 2, 0, 1, TYPE_STRING, NIL, 0 },
	{ "set", set, -3, GROWS, 1, TYPE_NONE, RUN, 0 },
	{ "append", append, 3, GROWS, 1, TYPE_STRING, RUN, 0 },
	{ "decr", increment, 2, GROWS, 1, TYPE_STRING, RUN, -1 },
	{ "decrby", increment, 3, GROWS, 1, TYPE_STRING, RUN, -1 },
	{ "getdel", get, 2, 0, 1, TYPE_STRING, NIL, 'd' },
	{ "getrange", get_range, 4, 0, 1, TYPE_STRING, RUN, 0 },
	{ "getset", get_and_set, 3, GROWS, 1, TYPE_NONE, RUN, 0 },
	{ "incr", increment, 2, GROWS, 1, TYPE_STRING, RUN, 1 },
	{ "incrby", increment, 3, GROWS, 1, TYPE_STRING, RUN, 1 },
	{ "mget", get_many, -2, MERGE_JOIN, 1, TYPE_NONE, RUN, 0 },
	{ "mset", set_many, -3, GROWS | MERGE_SAME, 2, TYPE_NONE, RUN, 0 },
	{ "psetex", set_for, 4, GROWS, 1, TYPE_NONE, RUN, 'm' },
	{ "setex", set_for, 4, GROWS, 1, TYPE_NONE, RUN, 's' },
	{ "setnx", set_if_missing, 3, GROWS, 1, TYPE_NONE, RUN, 0 },
	{ "strlen", get_length, 2, 0, 1, TYPE_STRING, ZERO, 0 },
	{ 0 },
};
