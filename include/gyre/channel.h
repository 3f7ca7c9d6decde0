/*
 * Channels: one connected socket each, owned by a channels actor and served by its loop's ring.
 *
 * The calls with a struct gyre_handler_context go through the pipeline from there towards the head,
 * so that a handler's outbound functions see what handlers nearer to the tail do.
 * gyre_channel_tail() gives a place from which they go through all of it. The calls with a channel
 * are for the channel itself.
 *
 * A channel pointer is valid from the initialiser until @unregistered of its handlers has returned.
 */
#ifndef GYRE_CHANNEL_H
#define GYRE_CHANNEL_H

#include <gyre/file.h>
#include <gyre/pipeline.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_input_closed - the event of a channel with @allow_half_close: the peer sends no more
 * @reserved: 0
 */
struct gyre_input_closed {
	uint32_t reserved;
};
GYRE_MESSAGE(gyre_input_closed, 0x10);

/**
 * struct gyre_channel_options - how a channel behaves; all zero is the default
 * @allow_half_close: when the peer sends no more, tell the handlers by gyre_input_closed and go on
 *   writing until gyre_channel_close(); by default the channel sends what is queued and closes
 * @keep_reading: read on while queued output is above the high mark; by default reading stops then
 * @manual_read: read only what gyre_channel_read() asks for
 * @no_linger: close as soon as the kernel has what was queued, though the peer may lose it when it
 *   still sends; by default wait for the peer as gyre_channel_close() says
 * @allow_delay: let the kernel gather small writes (Nagle's algorithm); by default it does not
 */
struct gyre_channel_options {
	bool allow_half_close;
	bool keep_reading;
	bool manual_read;
	bool no_linger;
	bool allow_delay;
};

/**
 * gyre_file_sent_fn - hears what has become of a part of a file
 * @channel: the channel
 * @arg: the one of struct gyre_file_region
 * @result: 0 when the kernel has taken all of it, else why not: a negative errno, -ECANCELED when
 *   the channel was closed before for no other reason
 *
 * Runs once for each gyre_channel_send_file() that returned 0, which is the last call for that
 * part, in phase 2, before @inactive of the channel's handlers, and is not re-entered. It may use
 * the channel as a handler may.
 */
typedef void (*gyre_file_sent_fn)(struct gyre_channel *channel, void *arg, int result);

/**
 * struct gyre_file_region - a part of a file that is to be sent
 * @offset: where it begins, in bytes
 * @bytes: its length, not 0
 * @sent: hears the result; NULL for nobody
 * @arg: for @sent
 */
struct gyre_file_region {
	uint64_t offset;
	uint64_t bytes;
	gyre_file_sent_fn sent;
	void *arg;
};

/* ---- through the pipeline ---- */

/**
 * gyre_channel_write() - queues bytes to be sent
 * @ctx: where in the pipeline it begins
 * @data: the bytes
 *
 * What is queued is sent when the actor's run ends, in one call with what was queued before. Pages
 * are not copied, except of a small piece behind others. Queued bytes over the high mark make the
 * channel unwritable; over the hard cap (write_max_bytes of the system) they close it with reason
 * -ENOBUFS.
 *
 * Return: 0, or a negative errno, which may be ignored: handlers hear of the channel's end.
 * Errors:
 *   -EINVAL   @ctx is NULL
 *   -ENOBUFS  the hard cap: the channel is being closed
 *   -ENOMEM   @data is NULL: there was no memory to make it
 *   -EPIPE    the channel is closed, or shut down for writing
 *   -EDESTADDRREQ, -EMSGSIZE  see gyre/datagram.h
 *   others    what a handler in between refused with
 * Ownership: @data is taken, whatever is returned.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_write(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_channel_try_write() - queues bytes if the channel is writable
 * @ctx: where in the pipeline it begins
 * @data: the bytes
 *
 * Return: 0, or a negative errno, and then nothing has happened.
 * Errors:
 *   -EAGAIN    the channel is not writable: @writability of the handlers says when it is
 *   -EINVAL    @ctx is NULL
 *   -EMSGSIZE  @data is larger than the hard cap
 *   -ENOMEM    @data is NULL: there was no memory to make it
 *   -EPIPE     the channel is closed, or shut down for writing
 * Ownership: @data is taken when 0 is returned, and stays the caller's otherwise.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_try_write(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_channel_send_file() - queues a part of a file to be sent, without copying it
 * @ctx: where in the pipeline it begins; no handler from there to the head may have a @write
 * @file: the file, of the same actor
 * @what: which part
 *
 * It is sent behind what is queued, and what is written afterwards comes behind it. It counts
 * neither for the marks nor for the hard cap, for it takes no memory; it goes as fast as the peer
 * reads. What the file holds when it is sent is sent. A file that ends before the part does, or
 * cannot be read, aborts the channel with -ENODATA or the kernel's error. @file may be closed at
 * once: its descriptor stays until the part has been sent.
 *
 * Return: 0, or a negative errno, and then nothing has happened.
 * Errors:
 *   -EBADF  @file has been closed
 *   -EINVAL  an argument is NULL, @file is another actor's, or there is no such part
 *   -ENOMEM  there is no memory
 *   -EOPNOTSUPP  a handler on the way has a @write, and would have to see the bytes
 *   -EPIPE  the channel is closed, or shut down for writing
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
				    const struct gyre_file_region *what);

/**
 * gyre_channel_flush() - begins at once to send what is queued
 * @ctx: where in the pipeline it begins
 *
 * Needed only to send before the actor's run ends.
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_flush(struct gyre_handler_context *ctx);

/**
 * gyre_channel_read() - asks for one more @read, on a channel that does not read by itself
 * @ctx: where in the pipeline it begins
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_read(struct gyre_handler_context *ctx);

/**
 * gyre_channel_shutdown() - ends writing when all that is queued has been sent; reading goes on
 * @ctx: where in the pipeline it begins
 *
 * A channel whose peer has ended too is closed.
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_shutdown(struct gyre_handler_context *ctx);

/**
 * gyre_channel_close() - closes the channel when all that is queued has been sent
 * @ctx: where in the pipeline it begins
 *
 * Nothing more is delivered or may be written. What the peer still sends is received and thrown
 * away until it ends too, because a socket closed before would answer with a reset, which takes
 * from the peer what it has not read. A peer that takes none of what is queued for linger_ns of the
 * system ends the channel with -ETIMEDOUT; one that has it all and does not close is waited for as
 * long. @inactive comes when the descriptor is about to be closed.
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_close(struct gyre_handler_context *ctx);

/* ---- the channel itself ---- */

/**
 * gyre_channel_abort() - closes a channel at once; what is queued or on its way may be lost
 * @channel: the channel
 * @reason: a negative errno for gyre_channel_reason(), or 0
 *
 * Goes past the handlers. @inactive comes after the present call of a handler has returned.
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_abort(struct gyre_channel *channel, int reason);

/**
 * gyre_channel_tail() - the place behind the last handler
 * @channel: the channel
 *
 * Return: the place.
 * Errors:
 *   none
 * Ownership: stays the channel's; valid as long as it.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API struct gyre_handler_context *gyre_channel_tail(struct gyre_channel *channel);

/**
 * gyre_channel_set_auto_read() - lets a channel read by itself, or only on gyre_channel_read()
 * @channel: the channel
 * @auto_read: whether by itself
 *
 * What has been received already is kept, in order.
 *
 * Return: nothing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_set_auto_read(struct gyre_channel *channel, bool auto_read);

/**
 * gyre_channel_is_writable() - whether output is welcome
 * @channel: the channel
 *
 * It is not from when queued output crosses the high mark until it is below the low one.
 *
 * Return: true while it is; false on a channel that is closed or closing.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API bool gyre_channel_is_writable(const struct gyre_channel *channel);

/**
 * gyre_channel_queued_bytes() - how much output waits, with what the kernel has not taken
 * @channel: the channel
 *
 * Return: the number of bytes.
 * Errors:
 *   none
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API size_t gyre_channel_queued_bytes(const struct gyre_channel *channel);

/**
 * gyre_channel_reason() - why a channel is closed or closing
 * @channel: the channel
 *
 * Return: 0 in good order or while it is open; else the negative errno.
 * Errors:
 *   -ECONNRESET  the peer has reset the connection
 *   -ENOBUFS     queued output went over the hard cap
 *   -ENOMEM      there was no memory for what had come
 *   -ESHUTDOWN   the system would not wait any longer
 *   -ETIMEDOUT   the peer took none of the output for linger_ns
 *   others       what the kernel, gyre_channel_abort() or gyre_fire_exception() said
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_reason(const struct gyre_channel *channel);

GYRE_END_DECLS

#endif
