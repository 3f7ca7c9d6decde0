/*
 * Files: endpoints of their actor, with any number of operations under way. A file ends when it has
 * been told to and neither an operation nor a channel that sends it needs it any more.
 *
 * An operation owns what the kernel uses for it, and the mail that will answer it, so that it can
 * always be answered. It lives from its call to its final completion.
 */
#ifndef GY_CHANNEL_FILE_FILE_H
#define GY_CHANNEL_FILE_FILE_H

#include <gyre/file.h>

#include "channel/endpoint.h"

struct gy_gather;
struct gy_kept_file;

struct gyre_file {
	struct gy_endpoint endpoint; /* its descriptor is -1 until the file is open */
	struct gy_house *house;
	struct gy_kept_file *kept; /* that the descriptor is of; NULL: it is the file's own */
	struct gy_op close;
	struct gy_list operations; /* struct gy_file_operation */
	uint32_t holds;		   /* by regions of channels' output, and while it is looked at */
	bool ending;
	bool closed; /* only its memory is left */
};

enum gy_file_kind {
	GY_FILE_OPEN,
	GY_FILE_READ,
	GY_FILE_WRITE,
	GY_FILE_SYNC,
	GY_FILE_STAT,
	GY_FILE_TRUNCATE,
	GY_FILE_POLL,  /* of a descriptor that is not ours; then the file ends */
	GY_FILE_WATCH, /* the same, again and again: see descriptor.c */
};

struct gy_file_operation {
	struct gy_op op;
	struct gy_list item; /* in file->operations */
	struct gyre_file *file;
	struct gyre_mail *mail; /* the answer; its ask id is set */
	struct gy_timer timer;
	uint64_t timeout_ns;
	enum gy_file_kind kind;
	int cancelled; /* why, or 0 */
	bool told;     /* the kernel knows of that */
	bool data_only;
	int flags;     /* of an open */
	int polled_fd; /* of a poll or a watch, with the next */
	uint32_t events;
	uint32_t mode;

	uint64_t offset;				  /* or a new length */
	uint64_t done;					  /* bytes */
	uint64_t left;					  /* bytes to be written */
	struct gyre_buffer *buffer;			  /* owned: what is written */
	struct gy_page *page;				  /* owned: what is read into */
	struct gy_gather *gather;			  /* owned */
	struct iovec memory;				  /* what is read into or written */
	size_t total_bytes;				  /* of this object */
	unsigned char tail[] __attribute__((aligned(8))); /* a path, or a struct statx */
};

/* A file without a descriptor, of @house; NULL without memory. */
struct gyre_file *gy_file_make(struct gy_house *house);
/* Does an operation, which has all it needs; @file is its own. */
void gy_file_start(struct gy_file_operation *operation);
/* Frees an operation that was not started, with all it has but the mail. */
void gy_file_operation_free(struct gy_home *home, struct gy_file_operation *operation);
/* Closes it as soon as nothing needs it. Any phase. */
void gy_file_end(struct gyre_file *file, int reason);
static inline void gy_file_hold(struct gyre_file *file)
{
	file->holds++;
}

/* Any phase. */
void gy_file_release(struct gyre_file *file);

/* The watch that an endpoint is made for; NULL for every other one. */
struct gy_file_operation *gy_file_watch_of(struct gy_endpoint *endpoint);

/* ---- file_calls.c ---- */

/* An operation with @tail_bytes of room, and the mail that answers it; NULL without memory. */
struct gy_file_operation *gy_file_operation_make(struct gy_stack *stack, enum gy_file_kind kind,
						 const struct gyre_type *type, size_t tail_bytes);
/* Starts it with a promise for its answer: 0, or -ENOMEM, and then it is freed. */
int gy_file_operation_begin(struct gy_stack *stack, struct gyre_file *file,
			    struct gy_file_operation *operation, uint64_t timeout_ns,
			    struct gyre_future *ret_future);

/* ---- descriptor.c ---- */

/* The descriptor of a watch is ready, or cannot be watched for @result: puts the event into the
 * house. Whether the watch goes on, later. */
bool gy_descriptor_report(struct gy_file_operation *operation, int result);
/* Whether a watch may go on now: its event was handled. */
bool gy_descriptor_is_handled(const struct gy_file_operation *operation);

#endif
