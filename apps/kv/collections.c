/*
 * Lists, sets, hashes and sorted sets. All have members: those of a list stand by rank alone, the
 * others by their hashes. The value of a hash's member is what the field holds, that of a sorted
 * set's its score; a sorted set has its members a second time, in the order of their scores. All
 * ranges are ranges of ranks.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "kv.h"

#define NO_FLOAT "-ERR value is not a valid float\r\n"

enum { FRONT = 0, BACK = 1, RANDOM = 2, BY_SCORE = 4, OPTIONS = 8 }; /* for what has an order */
enum { NAMES = 1, VALUES = 2, SCORES = 4 };			     /* what is replied of items */

static struct item *find(const struct call *call, struct slice name)
{
	return call->item == NULL ? NULL
				  : tree_find(call->item->members, (double)hash_of(name), name);
}

static bool put(const struct call *call, struct slice name, struct slice value)
{
	return tree_put(&call->item->members, (double)hash_of(name), name, value) ||
	       call_refuse(call, OUT_OF_MEMORY);
}

/* Reads a score. What is too large or too small for one is none, though it may bound a range. */
static bool parse_score(struct slice text, double *ret_score)
{
	errno = 0;
	return slice_double(text, ret_score) &&
	       (errno != ERANGE || (isfinite(*ret_score) && *ret_score != 0));
}

static double score_of(const struct item *member)
{
	double score;

	memcpy(&score, item_value(member).bytes, sizeof(score));
	return score;
}

static size_t rank_of(const struct call *call, const struct item *member)
{
	return tree_rank(call->item->order, score_of(member), item_key(member), false);
}

/* Sets the score of a member, which may be there with another. */
static bool put_score(const struct call *call, struct slice name, double score)
{
	struct item **order = &call->item->order;
	const struct item *member = find(call, name);
	struct item *element = member == NULL ? item_create(score, name, 0)
					      : tree_take(order, rank_of(call, member));

	if (element == NULL) {
		return call_refuse(call, OUT_OF_MEMORY);
	}
	if (!put(call, name, (struct slice){ (const char *)&score, sizeof(score) })) {
		item_destroy(element);
		return false;
	}
	element->score = score;
	tree_insert(order, tree_rank(*order, score, name, false), element);
	return true;
}

static void reply_name(struct item *item, void *arg)
{
	(void)reply_bulk(((const struct call *)arg)->out, item_key(item));
}

static void reply_item(struct item *item, void *arg)
{
	const struct call *call = (const struct call *)arg;
	struct text *out = call->out;
	int shown = call->shown;

	if ((shown & SCORES) != 0 && out->resp3) {
		(void)reply_head(out, '*', 2);
	}
	if ((shown & NAMES) != 0) {
		(void)reply_bulk(out, item_key(item));
	}
	if ((shown & VALUES) != 0) {
		(void)reply_bulk(out, item_value(item));
	}
	if ((shown & SCORES) != 0) {
		(void)reply_double(out, item->score);
	}
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
		return SYNTAX_ERROR;
	}
	for (size_t i = 2; has_scores && i < call->count; i += width) {
		if (!parse_score(call->args[i], &score)) {
			return NO_FLOAT;
		}
	}
	for (size_t i = 2; i < call->count; i += width) {
		const struct slice *name = &call->args[i + has_scores];

		(void)(has_scores && parse_score(call->args[i], &score));
		if (has_scores ? !put_score(call, *name, score)
			       : !put(call, *name, width == 1 ? SLICE("") : name[1])) {
			return NULL;
		}
	}
	return reply_head(call->out, ':', (int64_t)(item_length(call->item) - before));
}

static const char *increment(struct call *call)
{
	const struct item *member = find(call, call->args[3]);
	double score;

	if (!parse_score(call->args[2], &score)) {
		return NO_FLOAT;
	}
	score += member == NULL ? 0 : score_of(member);
	if (isnan(score)) {
		return "-ERR resulting score is not a number (NaN)\r\n";
	}
	return put_score(call, call->args[3], score) ? reply_double(call->out, score) : NULL;
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
	return reply_head(call->out, ':', (int64_t)(before - item_length(call->item)));
}

/* How many of a collection are popped; without a count, one that is no array. */
static void reply_popped(const struct call *call, size_t count)
{
	bool is_one = call->count == 2;
	struct text *out = call->out;

	if (call->command->type == SORTED_SET && (!is_one || !out->resp3)) {
		(void)reply_head(out, '*', (int64_t)(out->resp3 ? count : 2 * count));
	} else if (call->command->type == LIST && call->item == NULL) {
		(void)reply_text(out, out->resp3 ? "_\r\n" : is_one ? "$-1\r\n" : "*-1\r\n");
	} else if (!is_one) {
		(void)reply_list(out, call->command->type == SET ? '~' : '*', count);
	} else if (count == 0) {
		(void)reply_bulk(out, NOTHING);
	}
}

/* LPOP, RPOP, SPOP, ZPOPMIN and ZPOPMAX; the variant says which of them. */
static const char *pop(struct call *call)
{
	size_t there = call->item == NULL ? 0 : item_length(call->item);
	int end = call->command->variant;
	int64_t count = 1;

	if (call->count > 3) {
		return SYNTAX_ERROR;
	}
	if (call->count == 3 && (!slice_integer(call->args[2], &count) || count < 0)) {
		return "-ERR value is out of range, must be positive\r\n";
	}
	count = (uint64_t)count > there ? (int64_t)there : count;
	reply_popped(call, (size_t)count);
	call->shown = call->command->type == SORTED_SET ? NAMES | SCORES : NAMES;
	for (; count > 0; count--, there--) {
		bool has_order = call->item->type == SORTED_SET;
		size_t rank = end == FRONT ? 0 : end == BACK ? there - 1 : random_number() % there;
		struct item **members = &call->item->members;
		struct item *item = tree_take(has_order ? &call->item->order : members, rank);

		reply_item(item, call);
		if (has_order) {
			tree_remove(members, (double)hash_of(item_key(item)), item_key(item));
		}
		item_destroy(item);
	}
	return NULL;
}

/* ---- what is read ---- */

/* HEXISTS and SISMEMBER. */
static const char *has_member(struct call *call)
{
	return reply_head(call->out, ':', find(call, call->args[2]) != NULL);
}

/* HGET, and HMGET, whose reply is an array. */
static const char *get_values(struct call *call)
{
	if (call->command->variant == '*') {
		(void)reply_head(call->out, '*', (int64_t)call->count - 2);
	}
	for (size_t i = 2; i < call->count; i++) {
		(void)reply_bulk(call->out, item_value(find(call, call->args[i])));
	}
	return NULL;
}

/* HGETALL, HKEYS, HVALS and SMEMBERS. */
static const char *get_all(struct call *call)
{
	size_t count = item_length(call->item);

	call->shown = call->command->variant;
	(void)reply_list(call->out, (char)call->command->missing,
			 call->shown == (NAMES | VALUES) ? 2 * count : count);
	tree_visit(call->item->members, 0, SSIZE_MAX, false, reply_item, call);
	return NULL;
}

static const char *get_index(struct call *call)
{
	int64_t count = (int64_t)item_length(call->item);
	int64_t index;

	if (!call_integer(call, 2, &index)) {
		return NULL;
	}
	index += index < 0 ? count : 0;
	if (index < 0 || index >= count) {
		return reply_bulk(call->out, NOTHING);
	}
	tree_visit(call->item->members, index, index + 1, false, reply_name, call);
	return NULL;
}

/* ZSCORE, ZRANK and ZREVRANK. */
static const char *get_place(struct call *call)
{
	const struct item *member = find(call, call->args[2]);
	size_t rank;

	if (member == NULL) {
		return reply_bulk(call->out, NOTHING);
	}
	if (call->command->variant == BY_SCORE) {
		return reply_double(call->out, score_of(member));
	}
	rank = rank_of(call, member);
	rank = call->command->variant == BACK ? item_length(call->item) - 1 - rank : rank;
	return reply_head(call->out, ':', (int64_t)rank);
}

/* The scores from one argument to another, each of which may be left out by '(', as ranks. */
static bool find_scores(const struct call *call, bool back, size_t *ret_first, size_t *ret_end)
{
	size_t ranks[2];

	for (size_t i = 0; i < 2; i++) {
		struct slice text = call->args[back ? 3 - i : 2 + i];
		bool excluded = text.count > 0 && *text.bytes == '(';
		double score;

		text.bytes += excluded;
		text.count -= excluded;
		if (!slice_double(text, &score)) {
			return call_refuse(call, "-ERR min or max is not a float\r\n");
		}
		ranks[i] = tree_rank(call->item->order, score, NOTHING, (i == 0) == excluded);
	}
	*ret_first = ranks[0];
	*ret_end = ranks[1] < ranks[0] ? ranks[0] : ranks[1];
	return true;
}

static const char *count_scores(struct call *call)
{
	size_t first = 0;
	size_t end = 0;

	return find_scores(call, false, &first, &end)
		       ? reply_head(call->out, ':', (int64_t)(end - first))
		       : NULL;
}

/* LRANGE, ZRANGE, ZREVRANGE and ZRANGEBYSCORE. */
static const char *get_range(struct call *call)
{
	static const char *const names[] = { "withscores", "rev", "byscore" };
	static const int bits[] = { 0, BACK, BY_SCORE };
	size_t count = item_length(call->item);
	int how = call->command->variant;
	size_t names_count = (how & OPTIONS) != 0 ? 3 : 1;
	struct item *tree = call->item->type == LIST ? call->item->members : call->item->order;
	size_t first = 0;
	size_t end = 0;

	call->shown = NAMES;
	for (size_t i = 4; i < call->count; i++) {
		size_t name = slice_among(call->args[i], names, names_count);

		if (name == names_count) {
			return SYNTAX_ERROR;
		}
		call->shown |= name == 0 ? SCORES : 0;
		how |= bits[name];
	}
	if ((how & BY_SCORE) != 0 ? !find_scores(call, (how & BACK) != 0, &first, &end)
				  : !call_range(call, count, &first, &end)) {
		return NULL;
	}
	if ((how & (BY_SCORE | BACK)) == BACK) { /* the ranks are from the end */
		size_t last = count - first;

		first = count - end;
		end = last;
	}
	count = end - first;
	(void)reply_head(call->out, '*',
			 (int64_t)(call->shown != NAMES && !call->out->resp3 ? 2 * count : count));
	tree_visit(tree, (ssize_t)first, (ssize_t)end, (how & BACK) != 0,
		   call->shown == NAMES ? reply_name : reply_item, call);
	return NULL;
}

const struct command collection_commands[] = {
	{ "hset", add, -4, GROWS | PAIRS, 1, HASH, MAKE, 0 },
	{ "hdel", remove_members, -3, 0, 1, HASH, ZERO, 0 },
	{ "hexists", has_member, 3, 0, 1, HASH, ZERO, 0 },
	{ "hget", get_values, 3, 0, 1, HASH, NIL, 0 },
	{ "hgetall", get_all, 2, 0, 1, HASH, NO_MAP, NAMES | VALUES },
	{ "hkeys", get_all, 2, 0, 1, HASH, NO_LIST, NAMES },
	{ "hlen", get_length, 2, 0, 1, HASH, ZERO, 0 },
	{ "hmget", get_values, -3, 0, 1, HASH, RUN, '*' },
	{ "hvals", get_all, 2, 0, 1, HASH, NO_LIST, VALUES },
	{ "lindex", get_index, 3, 0, 1, LIST, NIL, 0 },
	{ "llen", get_length, 2, 0, 1, LIST, ZERO, 0 },
	{ "lpop", pop, -2, 0, 1, LIST, RUN, FRONT },
	{ "lpush", push, -3, GROWS, 1, LIST, MAKE, FRONT },
	{ "lrange", get_range, 4, 0, 1, LIST, NO_LIST, 0 },
	{ "rpop", pop, -2, 0, 1, LIST, RUN, BACK },
	{ "rpush", push, -3, GROWS, 1, LIST, MAKE, BACK },
	{ "sadd", add, -3, GROWS, 1, SET, MAKE, 0 },
	{ "scard", get_length, 2, 0, 1, SET, ZERO, 0 },
	{ "sismember", has_member, 3, 0, 1, SET, ZERO, 0 },
	{ "smembers", get_all, 2, 0, 1, SET, NO_SET, NAMES },
	{ "spop", pop, -2, 0, 1, SET, RUN, RANDOM },
	{ "srem", remove_members, -3, 0, 1, SET, ZERO, 0 },
	{ "zadd", add, -4, GROWS, 1, SORTED_SET, MAKE, 0 },
	{ "zcard", get_length, 2, 0, 1, SORTED_SET, ZERO, 0 },
	{ "zcount", count_scores, 4, 0, 1, SORTED_SET, ZERO, 0 },
	{ "zincrby", increment, 4, GROWS, 1, SORTED_SET, MAKE, 0 },
	{ "zpopmax", pop, -2, 0, 1, SORTED_SET, NO_LIST, BACK },
	{ "zpopmin", pop, -2, 0, 1, SORTED_SET, NO_LIST, FRONT },
	{ "zrange", get_range, -4, 0, 1, SORTED_SET, NO_LIST, OPTIONS },
	{ "zrangebyscore", get_range, -4, 0, 1, SORTED_SET, NO_LIST, BY_SCORE },
	{ "zrank", get_place, 3, 0, 1, SORTED_SET, NIL, 0 },
	{ "zrem", remove_members, -3, 0, 1, SORTED_SET, ZERO, 0 },
	{ "zrevrange", get_range, -4, 0, 1, SORTED_SET, NO_LIST, BACK },
	{ "zrevrank", get_place, 3, 0, 1, SORTED_SET, NIL, BACK },
	{ "zscore", get_place, 3, 0, 1, SORTED_SET, NIL, BY_SCORE },
	{ 0 },
};
