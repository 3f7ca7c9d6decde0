/*
 * Files, read and written by the ring of the actor's loop: each operation is a promise like any
 * other, and the loop goes on meanwhile.
 *
 *	GYRE_AWAIT(stack, gyre_file_open(stack, "words", NULL, 0, &frame->future));
 *	if (gyre_future_move(&frame->future, gyre_file_opened, &opened) < 0)
 *		return gyre_throw(stack, gyre_future_error(&frame->future));
 *	state->file = opened.file;
 *	GYRE_AWAIT(stack, gyre_file_read(stack, state->file,
 *					 &GYRE_VALUE(gyre_file_part, .bytes = 4096), 0,
 *					 &frame->future));
 *
 * A file belongs to the actor that opened it and is closed with it: operations under way are
 * cancelled and waited for first. A restart leaves it open. An actor that has opened a file is not
 * stolen by other loops any more. Operations on one file run side by side, in no order; an actor
 * that needs an order waits for the operation before.
 *
 * A time-out cancels an operation. Its future completes when the kernel no longer uses the memory
 * of the operation: at once for files that wait (pipes, terminals, FIFOs); for a disk that has the
 * operation already, when it is done. The end of a stack does not end its operations, whose answers
 * are then dropped and counted as late.
 */
#ifndef GYRE_FILE_H
#define GYRE_FILE_H

#include <gyre/buffer.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

struct gyre_file;

/** GYRE_FILE_READ_BYTES_MAX - the most that one gyre_file_read() reads */
#define GYRE_FILE_READ_BYTES_MAX (UINT32_C(1) << 20)
/** GYRE_FILE_AT_POSITION - as an offset: the position of the file, which moves on; for pipes too */
#define GYRE_FILE_AT_POSITION UINT64_MAX

/**
 * struct gyre_file_options - how a file is opened; all zero opens it for reading
 * @flags: as for open(2): O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_APPEND and so on; it is always
 *   closed on exec, and O_NONBLOCK is left out, since nothing blocks here
 * @mode: the permissions of a file that is created; 0 for 0666, less the umask
 */
struct gyre_file_options {
	int flags;
	uint32_t mode;
};

/**
 * struct gyre_file_part - a part of a file, and the memory for it
 * @offset: its offset in the file, in bytes
 * @bytes: its length
 * @memory: where the bytes go to, or come from. The memory must stay in place until the future
 *   completes, also after the end of the stack: it must not be in a frame, but may be in the
 *   actor's state. NULL in a read for a new buffer
 */
struct gyre_file_part {
	uint64_t offset;
	size_t bytes;
	void *memory;
};

/**
 * struct gyre_file_opened - the answer to gyre_file_open(), to be moved out by gyre_future_move()
 * @file: the file, which is closed unless it is moved out
 */
struct gyre_file_opened {
	struct gyre_file *file;
};

/**
 * struct gyre_file_data - the answer to gyre_file_read(), to be moved out by gyre_future_move()
 * @buffer: the bytes, freed unless they are moved out; NULL if there are none, or if they were read
 *   into memory
 * @count: how many bytes were read; 0 at the end of the file
 */
struct gyre_file_data {
	struct gyre_buffer *buffer;
	size_t count;
};

/**
 * struct gyre_file_done - the answer to a write, a sync or a change of length
 * @count: how many bytes were written
 * @error: 0, or a negative errno: why not all was written
 */
struct gyre_file_done {
	uint64_t count;
	int error;
};

/**
 * struct gyre_file_status - the answer to gyre_file_stat()
 * @bytes: its length
 * @mode: type and permissions, as in stat(2)
 * @modified_ns: when it was last changed, in nanoseconds of the calendar clock (CLOCK_REALTIME)
 */
struct gyre_file_status {
	uint64_t bytes;
	uint32_t mode;
	int64_t modified_ns;
};

/**
 * gyre_file_opened_fini() - closes an opened file that nobody has moved out
 * @opened: the answer
 *
 * Ownership: the file in @opened is taken.
 * Context: loop thread, phases 2 and 3, on the loop of the file's actor.
 * Since: 0.1
 */
GYRE_API void gyre_file_opened_fini(struct gyre_file_opened *opened);

/**
 * gyre_file_data_fini() - frees bytes that were read and that nobody has moved out
 * @data: the answer
 *
 * Ownership: the buffer in @data is taken.
 * Context: loop thread, phases 2 and 3, on the loop of the file's actor.
 * Since: 0.1
 */
GYRE_API void gyre_file_data_fini(struct gyre_file_data *data);

GYRE_OWN_MESSAGE_OWNING_(gyre_file_opened, 0x40, gyre_file_opened_fini);
GYRE_OWN_MESSAGE_OWNING_(gyre_file_data, 0x41, gyre_file_data_fini);
GYRE_OWN_MESSAGE_(gyre_file_done, 0x42);
GYRE_OWN_MESSAGE_(gyre_file_status, 0x43);

/** gyre_file_open_sized() - gyre_file_open() with the size of @options */
GYRE_API int gyre_file_open_sized(struct gyre_stack *stack, const char *path,
				  const struct gyre_file_options *options, size_t options_bytes,
				  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_file_open() - opens a file
 * @stack: the running stack, which will own the promise
 * @path: its path, of at most 4095 bytes; a relative one is relative to the process's folder
 * @options: how; NULL for reading
 * @timeout_ns: how long it may take; 0 as for gyre_ask(), which may fail with -ETIMEDOUT at once;
 *   GYRE_FOREVER for no limit
 * @ret_future: where the answer will be, a gyre_file_opened; in the frame of @stack, or the state
 *   of its actor
 *
 * The future may fail with an error of the kernel (-ENOENT, -EACCES, -EMFILE and so on), with
 * -ETIMEDOUT, and with -ECANCELED when the actor stops. Opening a FIFO does not wait: for reading
 * it succeeds at once, and for writing it fails without a reader (-ENXIO).
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @path or @ret_future is NULL
 *   -ENAMETOOLONG  @path is too long
 *   -ENOMEM  there is no memory
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left
 * Ownership: @path and @options stay the caller's. The file is the actor's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_file_open(struct gyre_stack *stack, const char *path,
				 const struct gyre_file_options *options, uint64_t timeout_ns,
				 struct gyre_future *ret_future)
{
	return gyre_file_open_sized(stack, path, options, sizeof(*options), timeout_ns, ret_future);
}

/**
 * gyre_file_adopt() - makes a file of an open descriptor
 * @stack: the running stack; in a pipeline, that of gyre_context_stack()
 * @fd: the descriptor, not negative
 * @ret_file: the file
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EAGAIN  the actor was stolen, and another loop runs it just now
 *   -EINVAL  @fd is negative, or @ret_file is NULL
 *   -ENOMEM  there is no memory
 * Ownership: @fd is taken, whatever is returned. The file is the actor's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_file_adopt(struct gyre_stack *stack, int fd, struct gyre_file **ret_file);

/** gyre_file_read_sized() - gyre_file_read() with the size of @part */
GYRE_API int gyre_file_read_sized(struct gyre_stack *stack, struct gyre_file *file,
				  const struct gyre_file_part *part, size_t part_bytes,
				  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_file_read() - reads once
 * @stack: the running stack, which will own the promise
 * @file: the file
 * @part: the part, at most GYRE_FILE_READ_BYTES_MAX bytes, and the memory for it
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_data; in the frame of @stack, or the state
 *   of its actor
 *
 * The answer has the bytes that there are, which may be fewer than were asked for, and none at the
 * end of the file.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EBADF  @file has been closed
 *   -EINVAL  @file, @part or @ret_future is NULL, the file is another actor's, or no byte is asked
 *            for
 *   -EMSGSIZE  more than GYRE_FILE_READ_BYTES_MAX bytes are asked for
 *   -ENOMEM  there is no memory
 * Ownership: the memory of @part stays the caller's, but is the kernel's until the future
 *   completes. A buffer in the answer is the answer's until it is moved out.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_file_read(struct gyre_stack *stack, struct gyre_file *file,
				 const struct gyre_file_part *part, uint64_t timeout_ns,
				 struct gyre_future *ret_future)
{
	return gyre_file_read_sized(stack, file, part, sizeof(*part), timeout_ns, ret_future);
}

/**
 * gyre_file_write() - writes all the bytes of a buffer
 * @stack: the running stack, which will own the promise
 * @file: the file
 * @offset: the offset in the file, in bytes; ignored for a file opened with O_APPEND
 * @data: the bytes
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_done; in the frame of @stack, or the state
 *   of its actor
 *
 * Bytes that the kernel does not take at once are written in further steps. The future fails if
 * nothing was written. If only some bytes were written, it succeeds with the count, and tells why
 * the rest was not.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EBADF  @file has been closed
 *   -EINVAL  @file or @ret_future is NULL, the file is another actor's, or @data is empty
 *   -ENOMEM  there is no memory, or @data is NULL
 * Ownership: @data is taken, whatever is returned.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_file_write(struct gyre_stack *stack, struct gyre_file *file, uint64_t offset,
			     struct gyre_buffer *data, uint64_t timeout_ns,
			     struct gyre_future *ret_future);

/** gyre_file_write_memory_sized() - gyre_file_write_memory() with the size of @part */
GYRE_API int gyre_file_write_memory_sized(struct gyre_stack *stack, struct gyre_file *file,
					  const struct gyre_file_part *part, size_t part_bytes,
					  uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_file_write_memory() - writes memory, otherwise as gyre_file_write()
 * @stack: the running stack, which will own the promise
 * @file: the file
 * @part: the bytes, and where to
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_done; in the frame of @stack, or the state
 *   of its actor
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EBADF  @file has been closed
 *   -EINVAL  @file, @part, its memory or @ret_future is NULL, the file is another actor's, or there
 *            is no byte
 *   -ENOMEM  there is no memory
 * Ownership: the memory of @part stays the caller's, but is the kernel's until the future
 *   completes.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
static inline int gyre_file_write_memory(struct gyre_stack *stack, struct gyre_file *file,
					 const struct gyre_file_part *part, uint64_t timeout_ns,
					 struct gyre_future *ret_future)
{
	return gyre_file_write_memory_sized(stack, file, part, sizeof(*part), timeout_ns,
					    ret_future);
}

/**
 * gyre_file_sync() - waits until written bytes are on the disk
 * @stack: the running stack, which will own the promise
 * @file: the file
 * @data_only: sync only what is needed to read the bytes again, as fdatasync(2)
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_done; in the frame of @stack, or the state
 *   of its actor
 *
 * The answer covers the writes whose futures had completed before the call.
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EBADF  @file has been closed
 *   -EINVAL  @file or @ret_future is NULL, or the file is another actor's
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_file_sync(struct gyre_stack *stack, struct gyre_file *file, bool data_only,
			    uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_file_stat() - asks for the length, type and date of a file
 * @stack: the running stack, which will own the promise
 * @file: the file
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_status; in the frame of @stack, or the state
 *   of its actor
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EBADF  @file has been closed
 *   -EINVAL  @file or @ret_future is NULL, or the file is another actor's
 *   -ENOMEM  there is no memory
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_file_stat(struct gyre_stack *stack, struct gyre_file *file, uint64_t timeout_ns,
			    struct gyre_future *ret_future);

/**
 * gyre_file_truncate() - sets the length of a file
 * @stack: the running stack, which will own the promise
 * @file: the file, opened for writing
 * @bytes: the new length; added bytes are zero
 * @timeout_ns: how long it may take, as for gyre_file_open()
 * @ret_future: where the answer will be, a gyre_file_done; in the frame of @stack, or the state
 *   of its actor
 *
 * Return: 0, or a negative errno, which the future then shows too.
 * Errors:
 *   -EBADF  @file has been closed
 *   -EINVAL  @file or @ret_future is NULL, the file is another actor's, or @bytes is larger than
 *            INT64_MAX
 *   -ENOMEM  there is no memory
 *   -EOPNOTSUPP  the kernel's rings cannot do it: that takes Linux 6.9
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_file_truncate(struct gyre_stack *stack, struct gyre_file *file, uint64_t bytes,
				uint64_t timeout_ns, struct gyre_future *ret_future);

/**
 * gyre_file_close() - closes a file
 * @file: the file, or NULL
 *
 * Operations under way are cancelled, and their futures complete; the descriptor is closed when the
 * last has. Parts that gyre_context_send_file() has queued are sent before.
 *
 * Errors:
 * none; gyre_file_sync() tells of bytes that a disk could not keep
 * Ownership: @file is taken.
 * Context: loop thread, phases 2 and 3, inside a handler of the file's actor.
 * Since: 0.1
 */
GYRE_API void gyre_file_close(struct gyre_file *file);

GYRE_END_DECLS

#endif
