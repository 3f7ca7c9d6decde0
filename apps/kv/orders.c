/*
 * What has an order: lists, whose elements stand by rank alone, and the scores of sorted sets. All
 * ranges are ranges of ranks.
 */
#include <math.h>
#include <string.h>

#include "kv.h"

#define NO_FLOAT "-ERR value is not a valid float\r\n"

enum { LEFT = 0, RIGHT = 1, BY_SCORE = 1, BACK = 2, OPTIONS = 4 };

static void reply_element(struct item *element, void *arg)
{
	const struct call *call = (const struct call *)arg;

	reply_bulk(call->out, item_key(element));
}

/* Under RESP3 a member and its score are an array. */
static void reply_score(struct item *element, void *arg)
{
	const struct call *call = (const struct call *)arg;

	if (call->out->resp3) {
		reply_head(call->out, '*', 2);
	}
	reply_bulk(call->out, item_key(element));
	reply_double(call->out, element->score);
}

/* ---- lists ---- */

static void push(struct call *call)
{
	struct item **list = &call->item->order;

	for (size_t i = 2; i < call->count; i++) {
		struct item *element = item_create(0, call->args[i], 0);

		if (element == NULL) {
			(void)call_refuse(call, OUT_OF_MEMORY);
			return;
		}
		tree_insert(list, call->command->variant == LEFT ? 0 : tree_count(*list), element);
	}
	reply_head(call->out, ':', (int64_t)tree_count(*list));
}

static void pop(struct call *call)
{
	size_t count;

	if (!call_pop_count(call, &count)) {
		return;
	}
	if (call->item == NULL) {
		reply_text(call->out, call->out->resp3	 ? "_\r\n"
				      : call->count == 3 ? "*-1\r\n"
							 : "$-1\r\n");
		return;
	}
	if (call->count == 3) {
		reply_head(call->out, '*', (int64_t)count);
	}
	for (; count > 0; count--) {
		struct item **list = &call->item->order;
		struct item *element =
			tree_take(list, call->command->variant == LEFT ? 0 : tree_count(*list) - 1);

		reply_element(element, call);
		item_destroy(element);
	}
}

static void get_range(struct call *call)
{
	size_t first;
	size_t end;

	if (call_range(call, 2, tree_count(call->item->order), &first, &end)) {
		reply_head(call->out, '*', (int64_t)(end - first));
		tree_visit(call->item->order, first, end, false, reply_element, call);
	}
}

static void get_index(struct call *call)
{
	int64_t count = (int64_t)item_length(call->item);
	int64_t index;

	if (call_integer(call, 2, &index)) {
		index += index < 0 ? count : 0;
		if (index < 0 || index >= count) {
			reply_null(call->out);
		} else {
			tree_visit(call->item->order, (size_t)index, (size_t)index + 1, false,
				   reply_element, call);
		}
	}
}

/* ---- sorted sets ---- */

static struct item *find(const struct call *call, struct slice name)
{
	return *tree_find(&call->item->members, (double)hash_of(name), name);
}

static size_t rank_of(const struct call *call, const struct item *member)
{
	return tree_rank(call->item->order, score_of(member), item_key(member), false);
}

/* Sets the score of a member, which may be there with another. */
static bool put(const struct call *call, struct slice name, double score)
{
	struct item **order = &call->item->order;
	const struct item *member = find(call, name);
	struct item *element = member == NULL ? item_create(score, name, 0)
					      : tree_take(order, rank_of(call, member));

	if (element == NULL) {
		return call_refuse(call, OUT_OF_MEMORY);
	}
	if (!member_put(call, name, (struct slice){ (const char *)&score, sizeof(score) })) {
		item_destroy(element);
		return false;
	}
	element->score = score;
	tree_insert(order, tree_rank(*order, score, name, false), element);
	return true;
}

static void add(struct call *call)
{
	size_t before = item_length(call->item);
	double score;

	if (call->count % 2 != 0) {
		(void)call_refuse(call, SYNTAX_ERROR);
		return;
	}
	for (size_t i = 2; i < call->count; i += 2) {
		if (!slice_double(call->args[i], &score)) {
			(void)call_refuse(call, NO_FLOAT);
			return;
		}
	}
	for (size_t i = 2; i < call->count; i += 2) {
		(void)slice_double(call->args[i], &score);
		if (!put(call, call->args[i + 1], score)) {
			return;
		}
	}
	reply_head(call->out, ':', (int64_t)(item_length(call->item) - before));
}

static void increment(struct call *call)
{
	const struct item *member = find(call, call->args[3]);
	double score;

	if (!slice_double(call->args[2], &score)) {
		(void)call_refuse(call, NO_FLOAT);
		return;
	}
	score += member == NULL ? 0 : score_of(member);
	if (isnan(score)) {
		(void)call_refuse(call, "-ERR resulting score is not a number (NaN)\r\n");
	} else if (put(call, call->args[3], score)) {
		reply_double(call->out, score);
	}
}

/* ZSCORE, ZRANK and ZREVRANK. */
static void get_place(struct call *call)
{
	const struct item *member = find(call, call->args[2]);
	size_t rank = member == NULL ? 0 : rank_of(call, member);

	if (member == NULL) {
		reply_null(call->out);
	} else if (call->command->variant == BY_SCORE) {
		reply_double(call->out, score_of(member));
	} else {
		reply_head(call->out, ':',
			   (int64_t)(call->command->variant == BACK
					     ? item_length(call->item) - 1 - rank
					     : rank));
	}
}

/* The scores from one argument to another, each of which may be left out by '(', as ranks. */
static bool find_scores(const struct call *call, size_t from, size_t to, size_t ret_ranks[2])
{
	for (int i = 0; i < 2; i++) {
		struct slice text = call->args[i == 0 ? from : to];
		bool excluded = text.count > 0 && *text.bytes == '(';
		double score;

		text.bytes += excluded;
		text.count -= excluded;
		if (!slice_double(text, &score)) {
			return call_refuse(call, "-ERR min or max is not a float\r\n");
		}
		ret_ranks[i] = tree_rank(call->item->order, score, (struct slice){ 0 },
					 (i == 0) == excluded);
	}
	return true;
}

static void get_scores(struct call *call)
{
	size_t count = item_length(call->item);
	bool with_scores = false;
	int how = call->command->variant;
	size_t ranks[2] = { 0 };

	for (size_t i = 4; i < call->count; i++) {
		if (slice_is(call->args[i], "withscores")) {
			with_scores = true;
		} else if ((how & OPTIONS) != 0 && slice_is(call->args[i], "byscore")) {
			how |= BY_SCORE;
		} else if ((how & OPTIONS) != 0 && slice_is(call->args[i], "rev")) {
			how |= BACK;
		} else {
			(void)call_refuse(call, SYNTAX_ERROR);
			return;
		}
	}
	if ((how & BY_SCORE) != 0
		    ? !find_scores(call, (how & BACK) ? 3 : 2, (how & BACK) ? 2 : 3, ranks)
		    : !call_range(call, 2, count, &ranks[0], &ranks[1])) {
		return;
	}
	if ((how & (BY_SCORE | BACK)) == BACK) { /* the ranks are from the end */
		size_t first = ranks[0];

		ranks[0] = count - ranks[1];
		ranks[1] = count - first;
	}
	count = ranks[0] < ranks[1] ? ranks[1] - ranks[0] : 0;
	reply_head(call->out, '*', (int64_t)(with_scores && !call->out->resp3 ? 2 * count : count));
	tree_visit(call->item->order, ranks[0], ranks[1], (how & BACK) != 0,
		   with_scores ? reply_score : reply_element, call);
}

static void count_scores(struct call *call)
{
	size_t ranks[2] = { 0 };

	if (find_scores(call, 2, 3, ranks)) {
		reply_head(call->out, ':',
			   ranks[1] > ranks[0] ? (int64_t)(ranks[1] - ranks[0]) : 0);
	}
}

/* ZPOPMIN, and ZPOPMAX, whose variant is BACK. */
static void pop_scores(struct call *call)
{
	size_t count;

	if (!call_pop_count(call, &count)) {
		return;
	}
	if (!call->out->resp3 || call->count == 3) {
		reply_head(call->out, '*', (int64_t)(call->out->resp3 ? count : 2 * count));
	}
	for (; count > 0; count--) {
		struct item **order = &call->item->order;
		size_t rank = call->command->variant == BACK ? tree_count(*order) - 1 : 0;
		struct item *element = tree_take(order, rank);
		struct slice name = item_key(element);

		reply_score(element, call);
		tree_remove(&call->item->members, (double)hash_of(name), name);
		item_destroy(element);
	}
}

const struct command order_commands[] = {
	{ "lpush", push, -3, GROWS, 1, LIST, MAKE, LEFT },
	{ "rpush", push, -3, GROWS, 1, LIST, MAKE, RIGHT },
	{ "lpop", pop, -2, 0, 1, LIST, RUN, LEFT },
	{ "rpop", pop, -2, 0, 1, LIST, RUN, RIGHT },
	{ "lindex", get_index, 3, 0, 1, LIST, NIL, 0 },
	{ "llen", get_length, 2, 0, 1, LIST, ZERO, 0 },
	{ "lrange", get_range, 4, 0, 1, LIST, NO_LIST, 0 },
	{ "zadd", add, -4, GROWS, 1, SORTED_SET, MAKE, 0 },
	{ "zcount", count_scores, 4, 0, 1, SORTED_SET, ZERO, 0 },
	{ "zincrby", increment, 4, GROWS, 1, SORTED_SET, MAKE, 0 },
	{ "zpopmax", pop_scores, -2, 0, 1, SORTED_SET, NO_LIST, BACK },
	{ "zpopmin", pop_scores, -2, 0, 1, SORTED_SET, NO_LIST, 0 },
	{ "zrange", get_scores, -4, 0, 1, SORTED_SET, NO_LIST, OPTIONS },
	{ "zrangebyscore", get_scores, -4, 0, 1, SORTED_SET, NO_LIST, BY_SCORE },
	{ "zrank", get_place, 3, 0, 1, SORTED_SET, NIL, 0 },
	{ "zrevrange", get_scores, -4, 0, 1, SORTED_SET, NO_LIST, BACK },
	{ "zrevrank", get_place, 3, 0, 1, SORTED_SET, NIL, BACK },
	{ "zscore", get_place, 3, 0, 1, SORTED_SET, NIL, BY_SCORE },
	{ 0 },
};
