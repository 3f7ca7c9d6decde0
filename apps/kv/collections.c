/*
 * Lists, sets, hashes and sorted sets. All have members: those of a list stand by rank alone, the
 * others by their hashes. The value of a hash's member is what the field holds, that of a sorted
 * set's its score; a sorted set has its members a second time, in the order of their scores. All
 * ranges are ranges of ranks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"

enum { FRONT = 0, BACK = 1, ROOT = 2 }; /* where is pushed or popped; at the root, any is */

static struct item *find(const struct call *call, struct slice name)
{
	return tree_find(call->item->members, (double)hash_of(name), name);
}

static bool put(const struct call *call, struct slice name, struct slice value)
{
	return tree_put(&call->item->members, (double)hash_of(name), name, value);
}

/* Reads a score. What is too large or too small for one is none. */
static bool parse_score(struct slice slice, double *ret_score)
{
	char text[128];
	char *end;

	if (slice.count == 0 || slice.count >= sizeof(text) ||
	    strchr(" \t\n\v\f\r", *slice.bytes)) {
		return false;
	}
	memcpy(text, slice.bytes, slice.count);
	text[slice.count] = '\0';
	errno = 0;
	*ret_score = strtod(text, &end);
	return end == text + slice.count && !isnan(*ret_score) &&
	       (errno != ERANGE || (isfinite(*ret_score) && *ret_score != 0));
}

static double score_of(const struct item *member)
{
	double score;

	memcpy(&score, item_value(member).bytes, sizeof(score));
	return score;
}

/* Sets the score of a member, which may be there with another. */
static bool put_score(const struct call *call, struct slice name, double score)
{
	struct item **order = &call->item->order;
	const struct item *member = find(call, name);
	struct item *element =
		member == NULL ? item_create(score, name, 0)
			       : tree_take(order, tree_rank(*order, score_of(member), name));

	if (element == NULL) {
		return false;
	}
	if (!put(call, name, (struct slice){ (const char *)&score, sizeof(score) })) {
		item_destroy(element);
		return false;
	}
	element->score = score;
	tree_insert(order, tree_rank(*order, score, name), element);
	return true;
}

static void reply_name(struct item *item, void *out)
{
	(void)reply_bulk((struct text *)out, item_key(item));
}

static void reply_field(struct item *item, void *out)
{
	(void)reply_bulk((struct text *)out, item_key(item));
	(void)reply_bulk((struct text *)out, item_value(item));
}

static void reply_scored(struct item *item, void *out)
{
	if (((struct text *)out)->resp3) {
		(void)reply_head((struct text *)out, '*', 2);
	}
	(void)reply_bulk((struct text *)out, item_key(item));
	(void)reply_double((struct text *)out, item->score);
}

/* ---- what is added and removed ---- */

/* LPUSH, whose variant is FRONT, and RPUSH. */
static const char *push(struct call *call)
{
	struct item **list = &call->item->members;

	for (size_t i = 2; i < call->count; i++) {
		struct item *element = item_create(0, call->args[i], 0);

		if (element == NULL) {
			return OUT_OF_MEMORY;
		}
		tree_insert(list, call->command->variant == FRONT ? 0 : tree_count(*list), element);
	}
	return get_length(call);
}

/* SADD; HSET, where each member has a value; and ZADD, where it has a score. */
static const char *add(struct call *call)
{
	size_t before = item_length(call->item);
	size_t width = call->item->type == SET ? 1 : 2;
	bool has_scores = call->item->type == SORTED_SET;
	double score = 0;

	if ((call->count - 2) % width != 0) {
		return has_scores ? SYNTAX_ERROR : refuse_count(call);
	}
	for (size_t i = 2; has_scores && i < call->count; i += width) {
		if (!parse_score(call->args[i], &score)) {
			return "-ERR value is not a valid float\r\n";
		}
	}
	for (size_t i = 2; i < call->count; i += width) {
		const struct slice *name = &call->args[i + has_scores];

		(void)(has_scores && parse_score(call->args[i], &score));
		if (has_scores ? !put_score(call, *name, score)
			       : !put(call, *name, width == 1 ? SLICE("") : name[1])) {
			return OUT_OF_MEMORY;
		}
	}
	return reply_number(call->out, item_length(call->item) - before);
}

static const char *remove_members(struct call *call)
{
	size_t before = item_length(call->item);

	for (size_t i = 2; i < call->count; i++) {
		const struct item *member = find(call, call->args[i]);

		if (member != NULL && call->item->type == SORTED_SET) {
			tree_remove(&call->item->order, score_of(member), call->args[i]);
		}
		tree_remove(&call->item->members, (double)hash_of(call->args[i]), call->args[i]);
	}
	return reply_number(call->out, before - item_length(call->item));
}

/* LPOP, RPOP, SPOP and ZPOPMIN. Each is as likely as the others to be the root of its tree. */
static const char *pop(struct call *call)
{
	struct item **members = &call->item->members;
	bool has_scores = call->item->type == SORTED_SET;
	struct item **tree = has_scores ? &call->item->order : members;
	int place = call->command->variant;
	struct item *item = tree_take(tree, place == FRONT  ? 0
					    : place == BACK ? tree_count(*tree) - 1
							    : tree_count((*tree)->left));

	if (has_scores && !call->out->resp3) {
		(void)reply_head(call->out, '*', 2);
	}
	if (has_scores) {
		reply_scored(item, call->out);
		tree_remove(members, (double)hash_of(item_key(item)), item_key(item));
	} else {
		reply_name(item, call->out);
	}
	item_destroy(item);
	return NULL;
}

/* ---- what is read ---- */

static const char *has_member(struct call *call)
{
	return reply_number(call->out, find(call, call->args[2]) != NULL);
}

static const char *get_value(struct call *call)
{
	return reply_bulk(call->out, item_value(find(call, call->args[2])));
}

static const char *get_score(struct call *call)
{
	const struct item *member = find(call, call->args[2]);

	return member == NULL ? reply_bulk(call->out, NOTHING)
			      : reply_double(call->out, score_of(member));
}

static const char *get_index(struct call *call)
{
	int64_t count = (int64_t)item_length(call->item);
	int64_t index;

	if (!slice_integer(call->args[2], &index)) {
		return NO_INTEGER;
	}
	index += index < 0 ? count : 0;
	if (index < 0 || index >= count) {
		return reply_bulk(call->out, NOTHING);
	}
	tree_visit(call->item->members, index, index + 1, reply_name, call->out);
	return NULL;
}

/* HGETALL and SMEMBERS. */
static const char *get_all(struct call *call)
{
	size_t count = item_length(call->item);
	bool has_values = call->item->type == HASH;

	(void)reply_list(call->out, (char)call->command->missing, has_values ? 2 * count : count);
	tree_visit(call->item->members, 0, SSIZE_MAX, has_values ? reply_field : reply_name,
		   call->out);
	return NULL;
}

/* LRANGE, and ZRANGE, which may be told to reply scores. */
static const char *get_range(struct call *call)
{
	bool has_scores = call->count == 5 && slice_is(call->args[4], "withscores");
	size_t first;
	size_t end;

	if (call->count > 4 && !has_scores) {
		return SYNTAX_ERROR;
	}
	if (!call_range(call, item_length(call->item), &first, &end)) {
		return NO_INTEGER;
	}
	(void)reply_list(call->out, '*',
			 has_scores && !call->out->resp3 ? 2 * (end - first) : end - first);
	tree_visit(call->item->type == LIST ? call->item->members : call->item->order,
		   (ssize_t)first, (ssize_t)end, has_scores ? reply_scored : reply_name, call->out);
	return NULL;
}

const struct command collection_commands[] = {
	{ "hset", add, -4, GROWS, HASH, MAKE, 0 },
	{ "hdel", remove_members, -3, 0, HASH, ZERO, 0 },
	{ "hget", get_value, 3, 0, HASH, NIL, 0 },
	{ "hgetall", get_all, 2, 0, HASH, NO_MAP, 0 },
	{ "hlen", get_length, 2, 0, HASH, ZERO, 0 },
	{ "lindex", get_index, 3, 0, LIST, NIL, 0 },
	{ "llen", get_length, 2, 0, LIST, ZERO, 0 },
	{ "lpop", pop, 2, 0, LIST, NIL, FRONT },
	{ "lpush", push, -3, GROWS, LIST, MAKE, FRONT },
	{ "lrange", get_range, 4, 0, LIST, NO_LIST, 0 },
	{ "rpop", pop, 2, 0, LIST, NIL, BACK },
	{ "rpush", push, -3, GROWS, LIST, MAKE, BACK },
	{ "sadd", add, -3, GROWS, SET, MAKE, 0 },
	{ "scard", get_length, 2, 0, SET, ZERO, 0 },
	{ "sismember", has_member, 3, 0, SET, ZERO, 0 },
	{ "smembers", get_all, 2, 0, SET, NO_SET, 0 },
	{ "spop", pop, 2, 0, SET, NIL, ROOT },
	{ "srem", remove_members, -3, 0, SET, ZERO, 0 },
	{ "zadd", add, -4, GROWS, SORTED_SET, MAKE, 0 },
	{ "zcard", get_length, 2, 0, SORTED_SET, ZERO, 0 },
	{ "zpopmin", pop, 2, 0, SORTED_SET, NO_LIST, FRONT },
	{ "zrange", get_range, -4, 0, SORTED_SET, NO_LIST, 0 },
	{ "zrem", remove_members, -3, 0, SORTED_SET, ZERO, 0 },
	{ "zscore", get_score, 3, 0, SORTED_SET, NIL, 0 },
	{ 0 },
};
