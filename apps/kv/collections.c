/*
 * Hashes and sets: both are dictionaries, one with values and one without.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kv.h"

static struct dict *members_of(const struct call *call)
{
	return &((struct collection *)call->item->object)->members;
}

static struct item *find_member(const struct call *call, struct slice name)
{
	return dict_get(members_of(call), hash_of(name), name);
}

static void reply_value(struct call *call, const struct item *member)
{
	if (member == NULL) {
		reply_null(call->reply);
	} else {
		reply_bulk(call->reply, item_value(member));
	}
}

/* SADD, and HSET where each has a value. */
static void add(struct call *call)
{
	bool has_values = call->item->type == TYPE_HASH;
	size_t before = members_of(call)->count;

	for (size_t i = 2; i < call->count; i += 1 + has_values) {
		struct slice value = has_values ? call->args[i + 1] : (struct slice){ "", 0 };

		if (dict_put(members_of(call), call->args[i], value) == NULL) {
			call_no_memory(call);
			return;
		}
	}
	if (call->command->variant == 'm') {
		reply_ok(call->reply);
	} else {
		reply_integer(call->reply, (int64_t)(members_of(call)->count - before));
	}
}

static void add_if_missing(struct call *call)
{
	bool missing = find_member(call, call->args[2]) == NULL;

	if (missing && dict_put(members_of(call), call->args[2], call->args[3]) == NULL) {
		call_no_memory(call);
	} else {
		reply_integer(call->reply, missing);
	}
}

static void remove_members(struct call *call)
{
	int64_t removed = 0;

	for (size_t i = 2; i < call->count; i++) {
		struct item *member = find_member(call, call->args[i]);

		if (member != NULL) {
			dict_remove(members_of(call), member);
			removed++;
		}
	}
	reply_integer(call->reply, removed);
}

static void has_member(struct call *call)
{
	reply_integer(call->reply, find_member(call, call->args[2]) != NULL);
}

static void get_value(struct call *call)
{
	reply_value(call, find_member(call, call->args[2]));
}

static void get_values(struct call *call)
{
	reply_array(call->reply, call->count - 2);
	for (size_t i = 2; i < call->count; i++) {
		reply_value(call, call->item == NULL ? NULL : find_member(call, call->args[i]));
	}
}

static void increment(struct call *call)
{
	const struct item *member = find_member(call, call->args[2]);
	int64_t number = 0;
	int64_t by;
	char text[24];
	int count;

	if (!call_integer(call, 3, &by)) {
		return;
	}
	if (member != NULL && !slice_integer(item_value(member), &number)) {
		reply_text(call->reply, "-ERR hash value is not an integer\r\n");
		return;
	}
	if (__builtin_add_overflow(number, by, &number)) {
		reply_text(call->reply, "-ERR increment or decrement would overflow\r\n");
		return;
	}
	count = snprintf(text, sizeof(text), "%" PRId64, number);
	if (dict_put(members_of(call), call->args[2], (struct slice){ text, (size_t)count }) ==
	    NULL) {
		call_no_memory(call);
	} else {
		reply_integer(call->reply, number);
	}
}

static void get_length(struct call *call)
{
	reply_integer(call->reply, (int64_t)members_of(call)->count);
}

/* ---- all members ---- */

enum { KEYS_ = 1, VALUES = 2 };

static void reply_member(struct item *member, void *arg)
{
	const struct call *call = (const struct call *)arg;

	if ((call->command->variant & 1) != 0) {
		reply_bulk(call->reply, item_key(member));
	}
	if ((call->command->variant & 2) != 0) {
		reply_bulk(call->reply, item_value(member));
	}
}

static void get_all(struct call *call)
{
	size_t count = members_of(call)->count;

	if (call->item->type == TYPE_SET) {
		reply_set(call->reply, count);
	} else if (call->command->variant == 3) {
		reply_map(call->reply, count);
	} else {
		reply_array(call->reply, count);
	}
	dict_visit(members_of(call), reply_member, call);
}

static void pop(struct call *call)
{
	int64_t count = 1;

	if (call->count > 3) {
		call_syntax_error(call);
		return;
	}
	if (call->count == 3 && (!slice_integer(call->args[2], &count) || count < 0)) {
		reply_text(call->reply, "-ERR value is out of range, must be positive\r\n");
		return;
	}
	if (call->item == NULL || call->count == 3) {
		size_t there = call->item == NULL ? 0 : members_of(call)->count;

		count = (uint64_t)count > there ? (int64_t)there : count;
		if (call->count == 3) {
			reply_set(call->reply, (size_t)count);
		} else {
			reply_null(call->reply);
		}
	}
	for (; count > 0; count--) {
		struct item *member = dict_random(members_of(call));

		reply_bulk(call->reply, item_key(member));
		dict_remove(members_of(call), member);
	}
}

const struct command collection_commands[] = {
	{ "hset", add, -4, GROWS | PAIRS, 1, TYPE_HASH, ADD, 0 },
	{ "hget", get_value, 3, 0, 1, TYPE_HASH, NIL, 0 },
	{ "hdel", remove_members, -3, 0, 1, TYPE_HASH, ZERO, 0 },
	{ "hexists", has_member, 3, 0, 1, TYPE_HASH, ZERO, 0 },
	{ "hgetall", get_all, 2, 0, 1, TYPE_HASH, NO_MAP, 3 },
	{ "hincrby", increment, 4, GROWS, 1, TYPE_HASH, ADD, 0 },
	{ "hkeys", get_all, 2, 0, 1, TYPE_HASH, NO_ARRAY, 1 },
	{ "hlen", get_length, 2, 0, 1, TYPE_HASH, ZERO, 0 },
	{ "hmget", get_values, -3, 0, 1, TYPE_HASH, RUN, 0 },
	{ "hmset", add, -4, GROWS | PAIRS, 1, TYPE_HASH, ADD, 'm' },
	{ "hsetnx", add_if_missing, 4, GROWS, 1, TYPE_HASH, ADD, 0 },
	{ "hvals", get_all, 2, 0, 1, TYPE_HASH, NO_ARRAY, 2 },
	{ "sadd", add, -3, GROWS, 1, TYPE_SET, ADD, 0 },
	{ "scard", get_length, 2, 0, 1, TYPE_SET, ZERO, 0 },
	{ "sismember", has_member, 3, 0, 1, TYPE_SET, ZERO, 0 },
	{ "smembers", get_all, 2, 0, 1, TYPE_SET, NO_SET, 1 },
	{ "spop", pop, -2, 0, 1, TYPE_SET, RUN, 0 },
	{ "srem", remove_members, -3, 0, 1, TYPE_SET, ZERO, 0 },
	{ 0 },
};
