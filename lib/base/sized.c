/*
 * Copying structures between a program's size and ours, and keeping the tables of older programs.
 *
 * Copies of tables are found by what is in them, so that a program which makes the same table
 * again, or another one at the same address, gets the right one. There are as many as the program
 * has tables; the list only grows, and is read without a lock.
 */
#include "base/sized.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <gyre/version.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/memory.h"

enum { BYTES_MAX = 4096 }; /* no structure of ours comes near; a size above it is a stray value */

struct table_copy {
	struct table_copy *next;
	size_t bytes;
	max_align_t content[];
};

static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static struct table_copy *copies;

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

static const struct table_copy *find_copy(const struct table_copy *copy, const void *given,
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

static const struct table_copy *add_copy(const void *given, size_t given_bytes, size_t ours_bytes)
{
	const struct table_copy *found;
	struct table_copy *copy;

	(void)pthread_mutex_lock(&adding);
	found = find_copy(copies, given, given_bytes, ours_bytes);
	if (found == NULL) {
		copy = (struct table_copy *)gy_memory_get(sizeof(*copy) + ours_bytes);
		if (copy != NULL) {
			copy->bytes = ours_bytes;
			memcpy(copy->content, given, given_bytes);
			copy->next = copies;
			gy_store_release(&copies, copy);
		}
		found = copy;
	}
	(void)pthread_mutex_unlock(&adding);
	return found;
}

int gy_sized_table(const void *given, size_t given_bytes, size_t ours_bytes, const char *name,
		   const struct gy_log *log, const void **ret_table)
{
	const struct table_copy *copy;
	int r;

	gy_assert(ret_table != NULL && ours_bytes <= BYTES_MAX);
	if (given == NULL || given_bytes >= ours_bytes) {
		r = check_rest(ours_bytes, given, given_bytes, name, log);
		if (r == 0) {
			*ret_table = given;
		}
		return r;
	}
	copy = find_copy(gy_load_acquire(&copies), given, given_bytes, ours_bytes);
	if (copy == NULL) {
		copy = add_copy(given, given_bytes, ours_bytes);
	}
	if (copy == NULL) {
		return -ENOMEM;
	}
	*ret_table = copy->content;
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
