/*
 * Copying structures between a program's size and ours, and keeping the tables of older programs.
 *
 * Copies of tables are found by what is in them, so that a program which makes the same table
 * again, or another one at the same address, gets the right one. There are as many as the program
 * has tables; the list of a system only grows while the system lives, and needs no lock.
 */
#include "base/sized.h"

#include <errno.h>
#include <string.h>

#include <gyre/version.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/log/log.h"
#include "base/memory/memory.h"

enum { BYTES_MAX = 4096 }; /* no structure of ours comes near; a size above it is a stray value */

struct gy_table_copy {
	struct gy_table_copy *next;
	size_t bytes;
	max_align_t content[];
};

static bool is_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] != 0) {
			return false;
		}
	}
	return true;
}

/* What is behind our end, in a larger structure than ours, must not have been set. */
static int check_rest(size_t ours_bytes, const void *given, size_t given_bytes, const char *name,
		      const struct gy_log *log)
{
	if (given == NULL || given_bytes <= ours_bytes) {
		return 0;
	}
	if (given_bytes <= BYTES_MAX &&
	    is_zero((const unsigned char *)given + ours_bytes, given_bytes - ours_bytes)) {
		return 0;
	}
	gy_log(log, GYRE_LOG_ERROR,
	       "%s has %zu bytes in the program and %zu in this library, gyre %s, and a member "
	       "that the library does not know is set: the program was built for a newer gyre, "
	       "which must be installed, or the member left out",
	       name, given_bytes, ours_bytes, gyre_version_text());
	return -E2BIG;
}

int gy_sized_read(void *ours, size_t ours_bytes, const void *given, size_t given_bytes,
		  const char *name, const struct gy_log *log)
{
	size_t known = given == NULL ? 0 : given_bytes < ours_bytes ? given_bytes : ours_bytes;

	gy_assert(ours != NULL && ours_bytes <= BYTES_MAX);
	if (known > 0) {
		memcpy(ours, given, known);
	}
	memset((unsigned char *)ours + known, 0, ours_bytes - known);
	return check_rest(ours_bytes, given, given_bytes, name, log);
}

void gy_sized_write(void *given, size_t given_bytes, const void *ours, size_t ours_bytes)
{
	size_t known = given_bytes < ours_bytes ? given_bytes : ours_bytes;

	gy_assert(given != NULL && ours != NULL && given_bytes <= BYTES_MAX);
	memcpy(given, ours, known);
	memset((unsigned char *)given + known, 0, given_bytes - known);
}

static struct gy_table_copy *find_copy(struct gy_table_copy *copy, const void *given,
				       size_t given_bytes, size_t ours_bytes)
{
	for (; copy != NULL; copy = copy->next) {
		if (copy->bytes == ours_bytes && memcmp(copy->content, given, given_bytes) == 0 &&
		    is_zero((const unsigned char *)copy->content + given_bytes,
			    ours_bytes - given_bytes)) {
			return copy;
		}
	}
	return NULL;
}

static struct gy_table_copy *make_copy(const void *given, size_t given_bytes, size_t ours_bytes)
{
	struct gy_table_copy *copy =
		(struct gy_table_copy *)gy_memory_get(sizeof(*copy) + ours_bytes);

	if (copy != NULL) {
		copy->bytes = ours_bytes;
		memcpy(copy->content, given, given_bytes);
	}
	return copy;
}

/* The copy of a table, made if there is none: of several threads that bring it at once, by one. */
static const struct gy_table_copy *get_copy(struct gy_table_copies *copies, const void *given,
					    size_t given_bytes, size_t ours_bytes)
{
	struct gy_table_copy *newest = gy_load_acquire(&copies->newest);
	struct gy_table_copy *found = find_copy(newest, given, given_bytes, ours_bytes);
	struct gy_table_copy *copy;

	if (found != NULL) {
		return found;
	}
	copy = make_copy(given, given_bytes, ours_bytes);
	if (copy == NULL) {
		return NULL;
	}
	copy->next = newest;
	while (!gy_compare_exchange(&copies->newest, &copy->next, copy)) {
		newest = gy_load_acquire(&copies->newest);
		found = find_copy(newest, given, given_bytes, ours_bytes);
		if (found != NULL) {
			gy_memory_put(copy);
			return found;
		}
		copy->next = newest;
	}
	return copy;
}

void gy_table_copies_fini(struct gy_table_copies *copies)
{
	while (copies->newest != NULL) {
		struct gy_table_copy *copy = copies->newest;

		copies->newest = copy->next;
		gy_memory_put(copy);
	}
}

int gy_sized_table(struct gy_table_copies *copies, const void **table, size_t given_bytes,
		   size_t ours_bytes, const char *name, const struct gy_log *log)
{
	const struct gy_table_copy *copy;

	gy_assert(ours_bytes <= BYTES_MAX);
	if (*table == NULL || given_bytes >= ours_bytes) {
		return check_rest(ours_bytes, *table, given_bytes, name, log);
	}
	copy = get_copy(copies, *table, given_bytes, ours_bytes);
	if (copy == NULL) {
		return -ENOMEM;
	}
	*table = copy->content;
	return 0;
}

int gy_sized_refuse_reserved(const char *name, const struct gy_log *log)
{
	gy_log(log, GYRE_LOG_ERROR,
	       "reserved members of %s are set, which this library, gyre %s, does not know: the "
	       "program was built for a newer gyre, which must be installed, or has not zeroed the "
	       "structure",
	       name, gyre_version_text());
	return -EINVAL;
}
