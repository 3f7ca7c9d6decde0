/*
 * A hash table that grows by linear hashing: with each item that is too many, one bucket is divided
 * in two, and with each that is too few, two become one. So no call takes long, however many items
 * there are, and nothing is kept twice.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "kv.h"

/* ---- memory ---- */

static _Thread_local uint64_t used_bytes;

void *memory_resize(void *memory, size_t bytes)
{
	size_t before = malloc_usable_size(memory);
	void *resized = realloc(memory, bytes);

	if (resized != NULL) {
		used_bytes += malloc_usable_size(resized) - before;
	}
	return resized;
}

void memory_put(void *memory)
{
	used_bytes -= malloc_usable_size(memory);
	free(memory);
}

uint64_t memory_used(void)
{
	return used_bytes;
}

/* ---- hashes ---- */

static uint64_t seed[2]; /* the same for all loops: which shard has a key follows from it */

__attribute__((constructor)) static void choose_seed(void)
{
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed)) {
		abort();
	}
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *bytes, size_t count)
{
	uint64_t value = 0;

	memcpy(&value, bytes, count);
	return value;
}

uint64_t hash_of(struct slice key)
{
	uint64_t hash = seed[0] ^ key.count;

	for (; key.count > 8; key.count -= 8, key.bytes += 8) {
		hash = fold(hash ^ load(key.bytes, 8), seed[1] | 1);
	}
	return fold(fold(hash ^ load(key.bytes, key.count), seed[1] | 1),
		    UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t random_number(void)
{
	static _Thread_local uint64_t state;

	state += UINT64_C(0x9e3779b97f4a7c15);
	return fold(state ^ seed[0], seed[1] | 1);
}

/* ---- buckets ---- */

/* The least power of two that is no less than the number of buckets, less one. */
static size_t mask_of(const struct dict *dict)
{
	return dict->buckets_count < 2 ? 0 : SIZE_MAX >> __builtin_clzl(dict->buckets_count - 1);
}

static struct item **bucket_of(const struct dict *dict, uint32_t hash)
{
	size_t mask = mask_of(dict);
	size_t bucket = hash & mask;

	return &dict->buckets[bucket < dict->buckets_count ? bucket : bucket & (mask >> 1)];
}

static bool make_room(struct dict *dict)
{
	size_t room = dict->buckets_room == 0 ? 4 : 2 * dict->buckets_room;
	struct item **buckets;

	if (dict->buckets_count < dict->buckets_room) {
		return true;
	}
	buckets = (struct item **)memory_resize(dict->buckets, room * sizeof(struct item *));
	if (buckets == NULL) {
		return false;
	}
	dict->buckets = buckets;
	dict->buckets_room = room;
	return true;
}

/* Divides a bucket in two. Without memory the buckets stay as they are, and only get longer. */
static bool grow(struct dict *dict)
{
	struct item **link;

	if (!make_room(dict)) {
		return false;
	}
	dict->buckets[dict->buckets_count++] = NULL;
	link = &dict->buckets[(dict->buckets_count - 1) & (mask_of(dict) >> 1)];
	while (*link != NULL) {
		struct item *item = *link;
		struct item **bucket = bucket_of(dict, item->hash);

		if (bucket != &dict->buckets[dict->buckets_count - 1]) {
			link = &item->next;
			continue;
		}
		*link = item->next;
		item->next = *bucket;
		*bucket = item;
	}
	return true;
}

/* Two buckets become one. */
static void shrink(struct dict *dict)
{
	struct item **last = &dict->buckets[dict->buckets_count - 1];
	struct item **link = &dict->buckets[(dict->buckets_count - 1) & (mask_of(dict) >> 1)];

	while (*link != NULL) {
		link = &(*link)->next;
	}
	*link = *last;
	dict->buckets_count--;
	if (dict->buckets_count < dict->buckets_room / 4) {
		void *less = memory_resize(dict->buckets,
					   dict->buckets_room / 2 * sizeof(struct item *));

		dict->buckets = less == NULL ? dict->buckets : (struct item **)less;
		dict->buckets_room /= less == NULL ? 1 : 2;
	}
}

/* ---- items ---- */

struct item *dict_get(const struct dict *dict, uint64_t hash, struct slice key)
{
	struct item *item = dict->count == 0 ? NULL : *bucket_of(dict, (uint32_t)hash);

	while (item != NULL &&
	       (item->hash != (uint32_t)hash || !slice_equal(item_key(item), key))) {
		item = item->next;
	}
	return item;
}

/* An item that is not there yet, whose value is not written yet; NULL without memory. */
struct item *dict_add(struct dict *dict, uint64_t hash, struct slice key, size_t value_bytes)
{
	struct item *item;
	struct item **bucket;

	if (dict->count == dict->buckets_count && !grow(dict) && dict->buckets_count == 0) {
		return NULL;
	}
	item = (struct item *)memory_resize(NULL, sizeof(*item) + key.count + value_bytes);
	if (item == NULL) {
		return NULL;
	}
	bucket = bucket_of(dict, (uint32_t)hash);
	*item = (struct item){ .next = *bucket,
			       .hash = (uint32_t)hash,
			       .key_bytes = (uint32_t)key.count,
			       .value_bytes = (uint32_t)value_bytes };
	memcpy(item->bytes, key.bytes, key.count);
	*bucket = item;
	dict->count++;
	return item;
}

static struct item **link_of(const struct dict *dict, const struct item *item)
{
	struct item **link = bucket_of(dict, item->hash);

	while (*link != item) {
		link = &(*link)->next;
	}
	return link;
}

/* Gives the value of an item another size; what it holds stays. NULL without memory. */
struct item *dict_resize_value(struct dict *dict, struct item *item, size_t value_bytes)
{
	size_t bytes = sizeof(*item) + item->key_bytes + value_bytes;
	size_t room = malloc_usable_size(item);

	if (bytes > room || bytes < room / 2) {
		struct item **link = link_of(dict, item);

		item = (struct item *)memory_resize(item, bytes);
		if (item == NULL) {
			return NULL;
		}
		*link = item;
	}
	item->value_bytes = (uint32_t)value_bytes;
	return item;
}

/* Sets the value of a key that may be there; NULL without memory. */
struct item *dict_put(struct dict *dict, struct slice key, struct slice value)
{
	uint64_t hash = hash_of(key);
	struct item *item = dict_get(dict, hash, key);

	item = item == NULL ? dict_add(dict, hash, key, value.count)
			    : dict_resize_value(dict, item, value.count);
	if (item != NULL && value.count > 0) {
		memcpy(item->bytes + item->key_bytes, value.bytes, value.count);
	}
	return item;
}

void dict_remove(struct dict *dict, struct item *item)
{
	*link_of(dict, item) = item->next;
	memory_put(item);
	dict->count--;
	for (int i = 0; i < 4 && dict->buckets_count > 4 && dict->count < dict->buckets_count / 4;
	     i++) {
		shrink(dict);
	}
}

/* Any item of a dictionary that is not empty. */
struct item *dict_random(const struct dict *dict)
{
	struct item *item;
	size_t length = 0;

	do {
		item = dict->buckets[random_number() % dict->buckets_count];
	} while (item == NULL);
	for (const struct item *other = item; other != NULL; other = other->next) {
		length++;
	}
	for (size_t skip = random_number() % length; skip > 0; skip--) {
		item = item->next;
	}
	return item;
}

/* ---- visits ---- */

static void visit_bucket(struct item *item, visit_fn visit, void *arg)
{
	while (item != NULL) {
		struct item *next = item->next;

		visit(item, arg);
		item = next;
	}
}

/*
 * Visits the items of some buckets, and says where to go on; 0 at the end. The cursor counts from
 * its highest bit down, so that what was visited stays visited when buckets are divided or united.
 * A bucket that was taken into another since the last call is visited there.
 */
size_t dict_scan(const struct dict *dict, size_t cursor, size_t buckets, visit_fn visit, void *arg)
{
	size_t mask = mask_of(dict);

	for (size_t i = 0; i < buckets && dict->buckets_count > 0; i++) {
		size_t bit = (mask + 1) >> 1;

		cursor &= mask;
		if (cursor < dict->buckets_count) {
			visit_bucket(dict->buckets[cursor], visit, arg);
		} else if (i == 0) {
			visit_bucket(dict->buckets[cursor & (mask >> 1)], visit, arg);
		}
		for (; (cursor & bit) != 0; bit >>= 1) {
			cursor ^= bit;
		}
		cursor |= bit;
		if (bit == 0) {
			return 0;
		}
	}
	return dict->buckets_count == 0 ? 0 : cursor;
}

void dict_visit(const struct dict *dict, visit_fn visit, void *arg)
{
	for (size_t i = 0; i < dict->buckets_count; i++) {
		visit_bucket(dict->buckets[i], visit, arg);
	}
}

static void put_item(struct item *item, void *arg)
{
	(void)arg;
	memory_put(item);
}

/* Frees all items, but not their objects. */
void dict_clear(struct dict *dict)
{
	dict_visit(dict, put_item, NULL);
	memory_put(dict->buckets);
	*dict = (struct dict){ 0 };
}
