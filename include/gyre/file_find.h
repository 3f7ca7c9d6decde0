/*
 * Files that are found at once: for servers of files, whose handlers cannot wait.
 *
 *	static void answer(struct gyre_handler_context *ctx, const char *path)
 *	{
 *		const struct gyre_file_keeping keeping = { .files_max = 1000 };
 *		struct gyre_file_found found;
 *		int r = gyre_file_find(gyre_context_stack(ctx), path, &keeping, &found);
 *
 *		if (r == 0) {
 *			send_head(ctx, 200, found.status.bytes);
 *			r = gyre_context_send_file(ctx, found.file,
 *						   &GYRE_VALUE(gyre_file_region,
 *							       .bytes = found.status.bytes));
 *			gyre_file_close(found.file);
 *		}
 *	}
 *
 * Where folders and inode are in memory, a file is opened without an operation of the ring and
 * without a worker thread of the kernel. Each loop can keep the descriptors of files, so that a
 * file that is asked for again costs no system call.
 *
 * A kept file is looked at again when @valid_ns have passed since the last time: if another file
 * has its path, or the file was changed, it is opened anew. Until then a path gives the file that
 * it named, with the length that it had: a server sends a deleted file on, a replaced one in its
 * old form, and a region of a file that was cut off aborts its channel with -ENODATA. Programs
 * should replace files by rename(2). Errors are not kept: a file that comes into being is found at
 * once.
 *
 * Kept descriptors are closed when they were not used for @idle_ns, when there are more than
 * @files_max and than an eighth of RLIMIT_NOFILE, when the process or the system has no descriptor
 * left for another file, and when the loop ends or retires.
 */
#ifndef GYRE_FILE_FIND_H
#define GYRE_FILE_FIND_H

#include <gyre/file.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_file_keeping - how a loop keeps the files that are found; all zero keeps none
 * @files_max: how many files the loop keeps; 0 for none, and then kept ones are not used either.
 *   All calls on a loop share the files: the call that adds one heeds its own bound
 * @valid_ns: a kept file is used unseen for so long after it was looked at; 0 for a second
 * @idle_ns: a file that the call opens is closed so long after its last use; 0 for a minute
 */
struct gyre_file_keeping {
	uint32_t files_max;
	uint64_t valid_ns;
	uint64_t idle_ns;
};

/**
 * struct gyre_file_found - a file that was found
 * @file: the file, opened for reading; the actor closes it by gyre_file_close(), also at once after
 *   gyre_context_send_file()
 * @status: its length, type and date when it was looked at
 */
struct gyre_file_found {
	struct gyre_file *file;
	struct gyre_file_status status;
};

/** gyre_file_find_sized() - gyre_file_find() with the sizes of @keeping and @ret_found */
GYRE_API int gyre_file_find_sized(struct gyre_stack *stack, const char *path,
				  const struct gyre_file_keeping *keeping, size_t keeping_bytes,
				  struct gyre_file_found *ret_found, size_t found_bytes);

/**
 * gyre_file_find() - opens a regular file for reading, if that takes no wait
 * @stack: the running stack; in a pipeline, that of gyre_context_stack()
 * @path: its path, of at most 4095 bytes; a relative one is relative to the process's folder
 * @keeping: whether and how the loop keeps it; NULL for not
 * @ret_found: the file and what is known of it; untouched on failure
 *
 * -EAGAIN says that the kernel would have to read folders from a disk, or ask a server. An actor
 * then awaits gyre_file_open(), which brings them into memory: afterwards the call succeeds, but on
 * network file systems that never do without their server. A path that names nothing is mostly
 * answered so too, for the kernel remembers few names that do not exist.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EAGAIN  opening it would take a wait, or the actor was stolen and another loop runs it
 *   -EINVAL  @stack, @path or @ret_found is NULL
 *   -EISDIR  it is a folder
 *   -ENAMETOOLONG  @path is too long
 *   -ENOMEM  there is no memory
 *   -EOPNOTSUPP  it is neither a regular file nor a folder
 *   others  what the kernel refused with: -ENOENT, -EACCES, -EMFILE and so on
 * Ownership: @path and @keeping stay the caller's. The file is the actor's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_file_find(struct gyre_stack *stack, const char *path,
				 const struct gyre_file_keeping *keeping,
				 struct gyre_file_found *ret_found)
{
	return gyre_file_find_sized(stack, path, keeping, sizeof(*keeping), ret_found,
				    sizeof(*ret_found));
}

GYRE_END_DECLS

#endif
