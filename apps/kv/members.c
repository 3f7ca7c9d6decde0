/*
 * Hashes, sets and sorted sets, which all have members: a tree by their hashes. The value of a
 * hash's member is what the field holds, that of a sorted set's its score; a sorted set has a
 * second tree, by score.
 */
#include <string.h>

#include "kv.h"

enum { NAMES = 1, VALUES = 2 };

static struct item *find(const struct call *call, struct slice name)
{
	return *tree_find(&call->item->members, (double)hash_of(name), name);
}

bool member_put(const struct call *call, struct slice name, struct slice value)
{
	return tree_put(&call->item->members, (double)hash_of(name), name, value) != NULL ||
	       call_refuse(call, OUT_OF_MEMORY);
}

double score_of(const struct item *member)
{
	double score;

	memcpy(&score, item_value(member).bytes, sizeof(score));
	return score;
}

/* SADD, and HSET, where each member has a value. */
static void add(struct call *call)
{
	bool has_values = call->item->type == HASH;
	size_t before = item_length(call->item);

	for (size_t i = 2; i < call->count; i += 1 + has_values) {
		if (!member_put(call, call->args[i], has_values ? call->args[i + 1] : SLICE(""))) {
			return;
		}
	}
	reply_head(call->out, ':', (int64_t)(item_length(call->item) - before));
}

static void remove_members(struct call *call)
{
	int64_t removed = 0;

	for (size_t i = 2; i < call->count; i++) {
		struct item *member = find(call, call->args[i]);

		removed += member != NULL;
		if (member != NULL && call->item->type == SORTED_SET) {
			tree_remove(&call->item->order, score_of(member), call->args[i]);
		}
		if (member != NULL) {
			tree_remove(&call->item->members, member->score, call->args[i]);
		}
	}
	reply_head(call->out, ':', removed);
}

static void has_member(struct call *call)
{
	reply_head(call->out, ':', find(call, call->args[2]) != NULL);
}

/* HGET, and HMGET, whose reply is an array. */
static void get_values(struct call *call)
{
	if (call->command->variant == '*') {
		reply_head(call->out, '*', (int64_t)call->count - 2);
	}
	for (size_t i = 2; i < call->count; i++) {
		const struct item *member = call->item == NULL ? NULL : find(call, call->args[i]);

		if (member == NULL) {
			reply_null(call->out);
		} else {
			reply_bulk(call->out, item_value(member));
		}
	}
}

static void reply_member(struct item *member, void *arg)
{
	const struct call *call = (const struct call *)arg;

	if ((call->command->variant & NAMES) != 0) {
		reply_bulk(call->out, item_key(member));
	}
	if ((call->command->variant & VALUES) != 0) {
		reply_bulk(call->out, item_value(member));
	}
}

static void get_all(struct call *call)
{
	size_t count = item_length(call->item);

	reply_list(call->out, (char)call->command->missing,
		   call->command->variant == (NAMES | VALUES) ? 2 * count : count);
	tree_visit(call->item->members, 0, count, false, reply_member, call);
}

static void pop(struct call *call)
{
	size_t count;

	if (!call_pop_count(call, &count)) {
		return;
	}
	if (call->count == 3) {
		reply_list(call->out, '~', count);
	} else if (count == 0) {
		reply_null(call->out);
	}
	for (; count > 0; count--) {
		struct item **members = &call->item->members;
		struct item *member = tree_take(members, random_number() % (*members)->count);

		reply_bulk(call->out, item_key(member));
		item_destroy(member);
	}
}

const struct command member_commands[] = {
	{ "hset", add, -4, GROWS | PAIRS, 1, HASH, MAKE, 0 },
	{ "hdel", remove_members, -3, 0, 1, HASH, ZERO, 0 },
	{ "hexists", has_member, 3, 0, 1, HASH, ZERO, 0 },
	{ "hget", get_values, 3, 0, 1, HASH, NIL, 0 },
	{ "hgetall", get_all, 2, 0, 1, HASH, NO_MAP, NAMES | VALUES },
	{ "hkeys", get_all, 2, 0, 1, HASH, NO_LIST, NAMES },
	{ "hlen", get_length, 2, 0, 1, HASH, ZERO, 0 },
	{ "hmget", get_values, -3, 0, 1, HASH, RUN, '*' },
	{ "hvals", get_all, 2, 0, 1, HASH, NO_LIST, VALUES },
	{ "sadd", add, -3, GROWS, 1, SET, MAKE, 0 },
	{ "scard", get_length, 2, 0, 1, SET, ZERO, 0 },
	{ "sismember", has_member, 3, 0, 1, SET, ZERO, 0 },
	{ "smembers", get_all, 2, 0, 1, SET, NO_SET, NAMES },
	{ "spop", pop, -2, 0, 1, SET, RUN, 0 },
	{ "srem", remove_members, -3, 0, 1, SET, ZERO, 0 },
	{ "zcard", get_length, 2, 0, 1, SORTED_SET, ZERO, 0 },
	{ "zrem", remove_members, -3, 0, 1, SORTED_SET, ZERO, 0 },
	{ 0 },
};
