/*
 * The open files that a loop keeps, by their paths, so that a file that is asked for again is not
 * opened again. A handle of an actor refers to one: a kept file is closed when neither the loop nor
 * a handle needs it.
 */
#ifndef GY_CHANNEL_FILE_KEPT_H
#define GY_CHANNEL_FILE_KEPT_H

#include <gyre/file_find.h>

#include "base/table.h"
#include "channel/channels.h"

struct statx;

struct gy_kept_file {
	struct gy_table_item item; /* by the hash of its path */
	struct gy_list recent;	   /* in the order of use; empty: the loop has let it go */
	uint32_t references;	   /* of handles, and one of the loop that keeps it */
	int fd;
	uint64_t checked_ns;
	uint64_t used_ns;
	uint64_t idle_ns;
	uint64_t inode;
	uint64_t device;
	int64_t changed_ns; /* the inode: also by a rename or a change of rights */
	struct gyre_file_status status;
	/* What was found in memory, and in which turn of the loop: see gy_kept_is_in_memory(). */
	uint64_t seen_turn;
	uint64_t seen_from;
	uint64_t seen_to;  /* 0: nothing yet */
	size_t path_bytes; /* with its end */
	char path[];
};

/* The kept file of @path, which counts as used; NULL if there is none. */
struct gy_kept_file *gy_kept_find(struct gy_channels *channels, const char *path);
/* Whether a kept file is what was found in its place now. */
bool gy_kept_is_same(const struct gy_kept_file *kept, const struct statx *now);
/* Keeps @fd, which is taken if that succeeds, as the file of @path; NULL without memory. */
struct gy_kept_file *gy_kept_add(struct gy_channels *channels, const char *path, int fd,
				 const struct statx *status,
				 const struct gyre_file_keeping *keeping);
/* The loop lets it go. */
void gy_kept_drop(struct gy_channels *channels, struct gy_kept_file *kept);
/* A handle that was closed needs it no more. */
void gy_kept_unref(struct gy_channels *channels, struct gy_kept_file *kept);

/*
 * Whether a part of a kept file is in memory. What a loop has found there it does not look for
 * again in the same turn: of many requests for one file, which arrive together, the first one
 * looks.
 */
bool gy_kept_is_in_memory(const struct gy_channels *channels, struct gy_kept_file *kept,
			  uint64_t offset, uint64_t bytes);

void gy_file_status_of(const struct statx *status, struct gyre_file_status *ret_status);

#endif
