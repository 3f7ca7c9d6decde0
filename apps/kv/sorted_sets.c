/*
 * Sorted sets: a dictionary of the members, and a treap of them in the order of their scores. A
 * treap is a search tree that is balanced because it is also a heap of random priorities. The
 * number of nodes below each gives ranks, and every range is one of ranks.
 */
#include <math.h>
#include <string.h>

#include "kv.h"

struct node {
	struct node *left;
	struct node *right;
	struct item *member;
	double score;
	size_t count; /* of nodes, with those below */
	uint64_t priority;
};

static size_t count_of(const struct node *node)
{
	return node == NULL ? 0 : node->count;
}

static struct node *counted(struct node *node)
{
	node->count = 1 + count_of(node->left) + count_of(node->right);
	return node;
}

/* ---- the treap ---- */

static bool is_before(const struct node *node, double score, struct slice name)
{
	struct slice own = item_key(node->member);
	size_t common = own.count < name.count ? own.count : name.count;
	int order = memcmp(own.bytes, name.bytes, common);

	if (node->score != score) {
		return node->score < score;
	}
	return order < 0 || (order == 0 && own.count < name.count);
}

/* Divides a tree in what is before a place, and the rest. */
static void split(struct node *tree, double score, struct slice name, struct node **ret_before,
		  struct node **ret_rest)
{
	if (tree == NULL) {
		*ret_before = NULL;
		*ret_rest = NULL;
	} else if (is_before(tree, score, name)) {
		split(tree->right, score, name, &tree->right, ret_rest);
		*ret_before = counted(tree);
	} else {
		split(tree->left, score, name, ret_before, &tree->left);
		*ret_rest = counted(tree);
	}
}

static struct node *join(struct node *before, struct node *rest)
{
	if (before == NULL || rest == NULL) {
		return before == NULL ? rest : before;
	}
	if (before->priority > rest->priority) {
		before->right = join(before->right, rest);
		return counted(before);
	}
	rest->left = join(before, rest->left);
	return counted(rest);
}

static void insert(struct collection *set, struct node *node)
{
	struct node *before;
	struct node *rest;

	split(set->root, node->score, item_key(node->member), &before, &rest);
	node->left = NULL;
	node->right = NULL;
	set->root = join(join(before, counted(node)), rest);
}

static void take_out(struct collection *set, struct node *node)
{
	struct node **link = &set->root;

	while (*link != node) {
		(*link)->count--;
		link = is_before(*link, node->score, item_key(node->member)) ? &(*link)->right
									     : &(*link)->left;
	}
	*link = join(node->left, node->right);
}

static struct node *at(const struct collection *set, size_t rank)
{
	struct node *node = set->root;

	while (rank != count_of(node->left)) {
		bool is_left = rank < count_of(node->left);

		rank -= is_left ? 0 : count_of(node->left) + 1;
		node = is_left ? node->left : node->right;
	}
	return node;
}

/* How many members have a lower score, or with @inclusive also those of that score. */
static size_t count_below(const struct collection *set, double score, bool inclusive)
{
	size_t count = 0;

	for (const struct node *node = set->root; node != NULL;) {
		bool is_below = node->score < score || (inclusive && node->score == score);

		count += is_below ? count_of(node->left) + 1 : 0;
		node = is_below ? node->right : node->left;
	}
	return count;
}

static size_t rank_of(const struct collection *set, const struct node *of)
{
	size_t rank = 0;

	for (const struct node *node = set->root; node != of;) {
		bool is_before_it = is_before(node, of->score, item_key(of->member));

		rank += is_before_it ? count_of(node->left) + 1 : 0;
		node = is_before_it ? node->right : node->left;
	}
	return rank + count_of(of->left);
}

/* ---- members ---- */

static struct collection *set_of(const struct call *call)
{
	return (struct collection *)call->item->object;
}

static struct node *find(const struct call *call, struct slice name)
{
	const struct item *member = dict_get(&set_of(call)->members, hash_of(name), name);

	return member == NULL ? NULL : (struct node *)member->object;
}

static void remove_node(struct collection *set, struct node *node)
{
	take_out(set, node);
	dict_remove(&set->members, node->member);
	memory_put(node);
}

static void move(struct collection *set, struct node *node, double score)
{
	take_out(set, node);
	node->score = score;
	insert(set, node);
}

static struct node *add_node(struct collection *set, struct slice name, double score)
{
	struct node *node = (struct node *)memory_resize(NULL, sizeof(*node));
	struct item *member = node == NULL ? NULL : dict_add(&set->members, hash_of(name), name, 0);

	if (member == NULL) {
		memory_put(node);
		return NULL;
	}
	*node = (struct node){ .member = member, .score = score, .priority = random_number() };
	member->object = node;
	insert(set, node);
	return node;
}

struct add_options {
	bool if_missing;
	bool if_there;
	bool if_greater;
	bool if_less;
	bool changed; /* count those that changed, too */
	bool increment;
};

/* Adds a member, or changes its score. Returns 0, 1 if it was added, 2 if it has changed, or -1. */
static int add_member(struct call *call, const struct add_options *options, struct slice name,
		      double *score)
{
	struct node *node = find(call, name);

	if (node == NULL) {
		if (options->if_there) {
			*score = (double)NAN;
			return 0;
		}
		if (add_node(set_of(call), name, *score) == NULL) {
			call_no_memory(call);
			return -1;
		}
		return 1;
	}
	*score += options->increment ? node->score : 0;
	if (isnan(*score)) {
		reply_text(call->reply, "-ERR resulting score is not a number (NaN)\r\n");
		return -1;
	}
	if (options->if_missing || (options->if_greater && *score <= node->score) ||
	    (options->if_less && *score >= node->score)) {
		*score = (double)NAN;
		return 0;
	}
	if (*score == node->score) {
		return 0;
	}
	move(set_of(call), node, *score);
	return 2;
}

/* Reads the words before the scores, and checks that they go together. */
static bool parse_add(struct call *call, struct add_options *options, size_t *first)
{
	const struct {
		const char *name;
		bool *option;
	} words[] = { { "nx", &options->if_missing }, { "xx", &options->if_there },
		      { "gt", &options->if_greater }, { "lt", &options->if_less },
		      { "ch", &options->changed },    { "incr", &options->increment } };
	size_t word;

	do {
		for (word = 0; word < 6 && *first < call->count; word++) {
			if (slice_is(call->args[*first], words[word].name)) {
				*words[word].option = true;
				++*first;
				break;
			}
		}
	} while (word < 6 && *first < call->count);
	if (*first == call->count || (call->count - *first) % 2 != 0) {
		call_syntax_error(call);
	} else if (options->if_missing && options->if_there) {
		reply_text(call->reply, "-ERR XX and NX options at the same time are not "
					"compatible\r\n");
	} else if (options->if_missing + options->if_greater + options->if_less > 1) {
		reply_text(call->reply, "-ERR GT, LT, and/or NX options at the same time are not "
					"compatible\r\n");
	} else if (options->increment && call->count - *first > 2) {
		reply_text(call->reply, "-ERR INCR option supports a single increment-element "
					"pair\r\n");
	} else {
		return true;
	}
	return false;
}

static void reply_not_a_float(struct call *call)
{
	reply_text(call->reply, "-ERR value is not a valid float\r\n");
}

/* ZADD, and ZINCRBY, which is ZADD INCR without a word. */
static void add(struct call *call)
{
	struct add_options options = { .increment = call->command->variant == 'i' };
	int64_t counted = 0;
	size_t first = 2;
	double score = 0;
	int r = 0;

	if (!options.increment && !parse_add(call, &options, &first)) {
		return;
	}
	for (size_t i = first; i < call->count; i += 2) {
		if (!slice_double(call->args[i], &score)) {
			reply_not_a_float(call);
			return;
		}
	}
	for (size_t i = first; i < call->count; i += 2) {
		(void)slice_double(call->args[i], &score);
		r = add_member(call, &options, call->args[i + 1], &score);
		if (r < 0) {
			return;
		}
		counted += r == 1 || (r == 2 && options.changed);
	}
	if (!options.increment) {
		reply_integer(call->reply, counted);
	} else if (isnan(score)) {
		reply_null(call->reply);
	} else {
		reply_double(call->reply, score);
	}
}

static void remove_members(struct call *call)
{
	int64_t removed = 0;

	for (size_t i = 2; i < call->count; i++) {
		struct node *node = find(call, call->args[i]);

		if (node != NULL) {
			remove_node(set_of(call), node);
			removed++;
		}
	}
	reply_integer(call->reply, removed);
}

static void get_score(struct call *call)
{
	const struct node *node = find(call, call->args[2]);

	if (node == NULL) {
		reply_null(call->reply);
	} else {
		reply_double(call->reply, node->score);
	}
}

static void get_rank(struct call *call)
{
	const struct node *node = find(call, call->args[2]);
	size_t rank = node == NULL ? 0 : rank_of(set_of(call), node);

	if (node == NULL) {
		reply_null(call->reply);
	} else {
		reply_integer(call->reply, (int64_t)(call->command->variant == 'r'
							     ? set_of(call)->root->count - 1 - rank
							     : rank));
	}
}

static void get_length(struct call *call)
{
	reply_integer(call->reply, (int64_t)count_of(set_of(call)->root));
}

/* ---- ranges ---- */

enum { BY_SCORE = 1, REVERSE = 2, ANY_OPTION = 4 };

struct range {
	bool by_score;
	bool reverse;
	bool with_scores;
	bool limited;
	int64_t skip;
	int64_t limit;
	size_t first; /* ranks, from the end if @reverse */
	size_t count;
};

/* The scores from one argument to another, each of which may be left out by '(', as ranks. */
static bool find_scores(struct call *call, size_t from, size_t to, size_t *ret_first,
			size_t *ret_count)
{
	size_t past[2];

	for (int i = 0; i < 2; i++) {
		struct slice text = call->args[i == 0 ? from : to];
		bool excluded = text.count > 0 && *text.bytes == '(';
		double score;

		if (!slice_double((struct slice){ text.bytes + excluded, text.count - excluded },
				  &score)) {
			reply_text(call->reply, "-ERR min or max is not a float\r\n");
			return false;
		}
		past[i] = count_below(set_of(call), score, (i == 0) == excluded);
	}
	*ret_first = past[0];
	*ret_count = past[1] > past[0] ? past[1] - past[0] : 0;
	return true;
}

static bool parse_range(struct call *call, struct range *range)
{
	bool any = (call->command->variant & ANY_OPTION) != 0;

	range->by_score = (call->command->variant & BY_SCORE) != 0;
	range->reverse = (call->command->variant & REVERSE) != 0;
	range->limit = -1;
	for (size_t i = 4; i < call->count; i++) {
		if (slice_is(call->args[i], "withscores")) {
			range->with_scores = true;
		} else if (any && slice_is(call->args[i], "byscore")) {
			range->by_score = true;
		} else if (any && slice_is(call->args[i], "rev")) {
			range->reverse = true;
		} else if (slice_is(call->args[i], "limit") && i + 2 < call->count &&
			   (any || range->by_score)) {
			if (!call_integer(call, i + 1, &range->skip) ||
			    !call_integer(call, i + 2, &range->limit)) {
				return false;
			}
			range->limited = true;
			i += 2;
		} else {
			call_syntax_error(call);
			return false;
		}
	}
	if (range->limited && !range->by_score) {
		reply_text(call->reply, "-ERR syntax error, LIMIT is only supported in combination "
					"with either BYSCORE or BYLEX\r\n");
		return false;
	}
	return true;
}

static bool find_range(struct call *call, struct range *range)
{
	size_t total = count_of(set_of(call)->root);

	if (!range->by_score) {
		return call_range(call, 2, total, &range->first, &range->count);
	}
	if (!find_scores(call, range->reverse ? 3 : 2, range->reverse ? 2 : 3, &range->first,
			 &range->count)) {
		return false;
	}
	if (range->reverse) {
		range->first = total - range->first - range->count;
	}
	if (range->skip < 0 || (uint64_t)range->skip >= range->count) {
		range->count = 0;
	} else {
		range->first += (size_t)range->skip;
		range->count -= (size_t)range->skip;
	}
	if (range->limit >= 0 && (uint64_t)range->limit < range->count) {
		range->count = (size_t)range->limit;
	}
	return true;
}

/* Under RESP3 a member and its score are an array where there are several. */
static void reply_node(struct call *call, const struct node *node, bool with_score, bool paired)
{
	if (with_score && paired && call->reply->resp3) {
		reply_array(call->reply, 2);
	}
	reply_bulk(call->reply, item_key(node->member));
	if (with_score) {
		reply_double(call->reply, node->score);
	}
}

static void get_range(struct call *call)
{
	struct range range = { 0 };
	size_t total = count_of(set_of(call)->root);

	if (!parse_range(call, &range) || !find_range(call, &range)) {
		return;
	}
	reply_array(call->reply, range.count * (range.with_scores && !call->reply->resp3 ? 2 : 1));
	for (size_t i = range.first; i < range.first + range.count; i++) {
		reply_node(call, at(set_of(call), range.reverse ? total - 1 - i : i),
			   range.with_scores, true);
	}
}

static void count_range(struct call *call)
{
	size_t first;
	size_t count;

	if (find_scores(call, 2, 3, &first, &count)) {
		reply_integer(call->reply, (int64_t)count);
	}
}

static void pop(struct call *call)
{
	size_t there = count_of(set_of(call)->root);
	int64_t count = 1;

	if (call->count > 3) {
		call_syntax_error(call);
		return;
	}
	if (call->count == 3 && (!slice_integer(call->args[2], &count) || count < 0)) {
		reply_text(call->reply, "-ERR value is out of range, must be positive\r\n");
		return;
	}
	count = (uint64_t)count > there ? (int64_t)there : count;
	reply_array(call->reply, (size_t)count * (call->reply->resp3 && call->count == 3 ? 1 : 2));
	for (; count > 0; count--) {
		struct node *node = at(set_of(call), call->command->variant == 'r' ? --there : 0);

		reply_node(call, node, true, call->count == 3);
		remove_node(set_of(call), node);
	}
}

const struct command sorted_set_commands[] = {
	{ "zadd", add, -4, GROWS, 1, TYPE_SORTED_SET, ADD, 0 },
	{ "zcard", get_length, 2, 0, 1, TYPE_SORTED_SET, ZERO, 0 },
	{ "zcount", count_range, 4, 0, 1, TYPE_SORTED_SET, ZERO, 0 },
	{ "zincrby", add, 4, GROWS, 1, TYPE_SORTED_SET, ADD, 'i' },
	{ "zpopmax", pop, -2, 0, 1, TYPE_SORTED_SET, NO_ARRAY, 'r' },
	{ "zpopmin", pop, -2, 0, 1, TYPE_SORTED_SET, NO_ARRAY, 0 },
	{ "zrange", get_range, -4, 0, 1, TYPE_SORTED_SET, NO_ARRAY, ANY_OPTION },
	{ "zrangebyscore", get_range, -4, 0, 1, TYPE_SORTED_SET, NO_ARRAY, BY_SCORE },
	{ "zrank", get_rank, 3, 0, 1, TYPE_SORTED_SET, NIL, 0 },
	{ "zrem", remove_members, -3, 0, 1, TYPE_SORTED_SET, ZERO, 0 },
	{ "zrevrange", get_range, -4, 0, 1, TYPE_SORTED_SET, NO_ARRAY, REVERSE },
	{ "zrevrangebyscore", get_range, -4, 0, 1, TYPE_SORTED_SET, NO_ARRAY, BY_SCORE | REVERSE },
	{ "zrevrank", get_rank, 3, 0, 1, TYPE_SORTED_SET, NIL, 'r' },
	{ "zscore", get_score, 3, 0, 1, TYPE_SORTED_SET, NIL, 0 },
	{ 0 },
};
