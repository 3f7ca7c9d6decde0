/*
 * Trees of items: treaps, search trees that are balanced because they are heaps of random
 * priorities too. Each item knows how many are below it, so that lists are trees by rank; in all
 * other trees items stand in the order of their scores and keys.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "kv.h"

_Thread_local uint64_t memory_used; /* by the items of this thread */
static uint64_t seed[2]; /* the same for all loops: which shard has a key follows from it */

/* Once for all servers of a process, as in a simulation: nobody may move keys that others have. */
void tree_init(void)
{
	if (seed[0] == 0 && getrandom(seed, sizeof(seed), 0) != sizeof(seed)) {
		abort();
	}
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_of(struct slice key)
{
	uint64_t hash = seed[0] ^ key.count;
	uint64_t word = 0;

	for (; key.count > 8; key.count -= 8, key.bytes += 8) {
		memcpy(&word, key.bytes, 8);
		hash = fold(hash ^ word, seed[1] | 1);
	}
	word = 0;
	memcpy(&word, key.bytes, key.count);
	return fold(fold(hash ^ word, seed[1] | 1), UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t random_number(void)
{
	static _Thread_local uint64_t state;

	state += UINT64_C(0x9e3779b97f4a7c15);
	return fold(state ^ seed[0], seed[1] | 1);
}

/* ---- items ---- */

/* Memory of another size, or the same where that fits; NULL without memory. */
static struct item *resize(struct item *item, size_t bytes)
{
	size_t room = malloc_usable_size(item);
	struct item *resized = item;

	if (bytes > room || bytes < room / 2) {
		resized = (struct item *)realloc(item, bytes);
		memory_used += resized == NULL ? 0 : malloc_usable_size(resized) - room;
	}
	return resized;
}

/* An item in no tree, with room for a value; NULL without memory. */
struct item *item_create(double score, struct slice key, size_t value_bytes)
{
	struct item *item = resize(NULL, sizeof(*item) + key.count + value_bytes);

	if (item != NULL) {
		*item = (struct item){ .score = score,
				       .priority = (uint32_t)random_number(),
				       .count = 1,
				       .key_bytes = (uint32_t)key.count,
				       .value_bytes = (uint32_t)value_bytes };
		memcpy(item->bytes, key.bytes, key.count);
	}
	return item;
}

/* Frees what a key holds beside bytes. */
void item_clear(struct item *item)
{
	tree_destroy(item->members);
	tree_destroy(item->order);
	item->members = item->order = NULL;
}

void item_destroy(struct item *item)
{
	item_clear(item);
	memory_used -= malloc_usable_size(item);
	free(item);
}

void tree_destroy(struct item *tree)
{
	if (tree != NULL) {
		tree_destroy(tree->left);
		tree_destroy(tree->right);
		item_destroy(tree);
	}
}

/* ---- trees ---- */

static int order_of(const struct item *item, double score, struct slice key)
{
	size_t common = item->key_bytes < key.count ? item->key_bytes : key.count;
	int order = item->score < score ? -1 : item->score > score;

	order = order != 0 ? order : memcmp(item->bytes, key.bytes, common);
	return order != 0 ? order : (item->key_bytes > key.count) - (item->key_bytes < key.count);
}

static struct item **find_link(struct item **tree, double score, struct slice key)
{
	int order;

	while (*tree != NULL && (order = order_of(*tree, score, key)) != 0) {
		tree = order < 0 ? &(*tree)->right : &(*tree)->left;
	}
	return tree;
}

struct item *tree_find(struct item *tree, double score, struct slice key)
{
	return *find_link(&tree, score, key);
}

/* How many items are before a score and key. */
size_t tree_rank(const struct item *tree, double score, struct slice key)
{
	size_t rank = 0;

	while (tree != NULL) {
		bool is_before = order_of(tree, score, key) < 0;

		rank += is_before ? tree_count(tree->left) + 1 : 0;
		tree = is_before ? tree->right : tree->left;
	}
	return rank;
}

static struct item *counted(struct item *tree)
{
	tree->count = (uint32_t)(1 + tree_count(tree->left) + tree_count(tree->right));
	return tree;
}

/* Divides a tree into the first @rank items and the rest. */
static void split(struct item *tree, size_t rank, struct item **ret_first, struct item **ret_rest)
{
	if (tree == NULL) {
		*ret_first = *ret_rest = NULL;
	} else if (tree_count(tree->left) < rank) {
		split(tree->right, rank - tree_count(tree->left) - 1, &tree->right, ret_rest);
		*ret_first = counted(tree);
	} else {
		split(tree->left, rank, ret_first, &tree->left);
		*ret_rest = counted(tree);
	}
}

static struct item *join(struct item *first, struct item *rest)
{
	if (first == NULL || rest == NULL) {
		return first == NULL ? rest : first;
	}
	if (first->priority > rest->priority) {
		first->right = join(first->right, rest);
		return counted(first);
	}
	rest->left = join(first, rest->left);
	return counted(rest);
}

void tree_insert(struct item **tree, size_t rank, struct item *item)
{
	struct item *first;
	struct item *rest;

	split(*tree, rank, &first, &rest);
	*tree = join(join(first, item), rest);
}

/* Takes the item of a rank out. */
struct item *tree_take(struct item **tree, size_t rank)
{
	struct item *item;

	while (rank != tree_count((*tree)->left)) {
		size_t left = tree_count((*tree)->left);

		(*tree)->count--;
		tree = rank < left ? &(*tree)->left : &(*tree)->right;
		rank -= rank < left ? 0 : left + 1;
	}
	item = *tree;
	*tree = join(item->left, item->right);
	item->left = item->right = NULL;
	item->count = 1;
	return item;
}

/* Adds an item, or finds it and gives its value another size; what it holds stays. NULL without
 * memory. */
struct item *tree_make(struct item **tree, double score, struct slice key, size_t value_bytes)
{
	struct item **link = find_link(tree, score, key);
	struct item *item = *link;

	if (item == NULL) {
		item = item_create(score, key, value_bytes);
		if (item != NULL) {
			tree_insert(tree, tree_rank(*tree, score, key), item);
		}
		return item;
	}
	item = resize(item, sizeof(*item) + key.count + value_bytes);
	if (item != NULL) {
		item->value_bytes = (uint32_t)value_bytes;
		*link = item;
	}
	return item;
}

bool tree_put(struct item **tree, double score, struct slice key, struct slice value)
{
	struct item *item = tree_make(tree, score, key, value.count);

	if (item != NULL) {
		memcpy(item->bytes + item->key_bytes, value.bytes, value.count);
	}
	return item != NULL;
}

void tree_remove(struct item **tree, double score, struct slice key)
{
	if (tree_find(*tree, score, key) != NULL) {
		item_destroy(tree_take(tree, tree_rank(*tree, score, key)));
	}
}

/* Removes the items whose time is over, and returns what is left. */
struct item *tree_expire(struct item *tree, uint64_t now_ms)
{
	struct item *rest;

	if (tree == NULL) {
		return NULL;
	}
	tree->left = tree_expire(tree->left, now_ms);
	tree->right = tree_expire(tree->right, now_ms);
	if (!item_is_over(tree, now_ms)) {
		return counted(tree);
	}
	rest = join(tree->left, tree->right);
	item_destroy(tree);
	return rest;
}

/* Visits the items of ranks from @first up to @end. */
void tree_visit(struct item *tree, ssize_t first, ssize_t end, item_fn visit, void *arg)
{
	if (tree != NULL && first < end && end > 0 && first < (ssize_t)tree->count) {
		ssize_t middle = (ssize_t)tree_count(tree->left);

		tree_visit(tree->left, first, end, visit, arg);
		if (first <= middle && middle < end) {
			visit(tree, arg);
		}
		tree_visit(tree->right, first - middle - 1, end - middle - 1, visit, arg);
	}
}
