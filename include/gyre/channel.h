/*
 * Channels: each is a socket, connected or about to be, that a channels actor owns and the ring of
 * its loop serves.
 *
 * A call with a struct gyre_handler_context goes through the pipeline, from that place towards the
 * head, so that outbound functions of a handler see the calls of handlers nearer to the tail.
 * gyre_channel_tail() is the place from which a call goes through the whole pipeline. A call with a
 * channel is for the channel itself.
 *
 * A channel pointer is valid from the initialiser until @removed of its last handler has returned;
 * its descriptor is open until @unregistered has. Everybody else, on whatever loop or thread, uses
 * the channel's address: see gyre_channel_address(). Reports of listeners, clients and sockets for
 * datagrams, which may be sent on, name it in a field. Events of a pipeline, such as struct
 * gyre_input_closed, and callbacks have none: they come with the handler's place, or the channel.
 * Answers have none: who asks has named the channel.
 */
#ifndef GYRE_CHANNEL_H
#define GYRE_CHANNEL_H

#include <gyre/address.h>
#include <gyre/bytes.h>
#include <gyre/file.h>
#include <gyre/pipeline.h>
#include <gyre/stack.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_input_closed - the event of a channel with @allow_half_close: no more will be read
 * @draining: 0 when the peer sends no more; 1 when the channel closes after the event, because its
 *   actor or the system stops; bytes that are written during the event are still sent
 */
struct gyre_input_closed {
	uint32_t draining;
};
GYRE_OWN_MESSAGE_(gyre_input_closed, 0x10);

/**
 * struct gyre_channel_options - how a channel behaves; all zero is the default
 * @allow_half_close: when the peer sends no more, tell the handlers by gyre_input_closed and go on
 *   writing until gyre_context_close(); by default the channel sends what is queued and closes
 * @keep_reading: read on while queued output is above the high mark; by default reading stops then
 * @manual_read: read only what gyre_context_read() asks for
 * @no_linger: close as soon as the kernel has the queued bytes, though a peer that still sends may
 *   lose them; by default wait for the peer as gyre_context_close() says
 * @allow_delay: let the kernel gather small writes (Nagle's algorithm); by default it does not
 * @handshake_ns: how long the peer has, from the connection on, to show that it speaks the
 *   protocol; then the channel is closed with -ETIMEDOUT. 0 for no limit. The handlers say when the
 *   peer has shown it: see gyre_channel_handshake_begin()
 * @keep_alive_ns: the silence after which the kernel asks the peer of a TCP connection whether it
 *   is still there, up to 32767 s, rounded up to whole seconds. A peer that does not answer 10 such
 *   questions, a second apart, ends the channel with -ETIMEDOUT. 0 for never
 * @write_low_bytes: queued output below which the channel is writable again, 1 to 2^30; 0 for the
 *   value of the system, as for the next two
 * @write_high_bytes: queued output above which the channel is not writable, 1024 to 2^30, at least
 *   @write_low_bytes
 * @write_max_bytes: queued output over which the channel is closed, at least @write_high_bytes, up
 *   to 2^30; messages of an exchange may pass it, see exchange.h. The order of the three must hold
 *   as well where some are those of the system
 * @receive_buffer_bytes: the most that the kernel keeps of bytes that were not received, up to 2^31
 *   - 1 and to net.core.rmem_max; it takes twice as much, for its own needs. 0 for the kernel's
 *   choice, which for TCP grows with the rate and the distance of the peer (autotuning, up to
 *   net.ipv4.tcp_rmem). A fixed size does not grow, so that a fast peer that is far away may be
 *   slower. The window that TCP can announce follows from it
 * @send_buffer_bytes: likewise for bytes that the peer has not acknowledged, with net.core.wmem_max
 *   and net.ipv4.tcp_wmem. Bytes beyond it are queued in the channel and count for the marks
 * @reserved: 0, for what comes later
 */
struct gyre_channel_options {
	bool allow_half_close;
	bool keep_reading;
	bool manual_read;
	bool no_linger;
	bool allow_delay;
	uint64_t handshake_ns;
	uint64_t keep_alive_ns;
	uint32_t write_low_bytes;
	uint32_t write_high_bytes;
	uint32_t write_max_bytes;
	uint32_t receive_buffer_bytes;
	uint32_t send_buffer_bytes;
	uint64_t reserved[4];
};

/**
 * gyre_file_sent_fn - is told that a part of a file was sent, or why not
 * @channel: the channel
 * @arg: @arg of struct gyre_file_region
 * @result: 0 when the kernel has taken all of it, else a negative errno: -ECANCELED if the channel
 *   was closed before for no other reason
 *
 * Runs once for each gyre_context_send_file() that returned 0, which is the last call for that
 * part, in phase 2, before @inactive of the channel's handlers, and is not re-entered. It may use
 * the channel as a handler may.
 */
typedef void (*gyre_file_sent_fn)(struct gyre_channel *channel, void *arg, int result);

/**
 * struct gyre_file_region - a part of a file that is to be sent
 * @offset: where it begins, in bytes
 * @bytes: its length, not 0
 * @sent: is told the result; NULL for nobody
 * @arg: for @sent
 */
struct gyre_file_region {
	uint64_t offset;
	uint64_t bytes;
	gyre_file_sent_fn sent;
	void *arg;
};

/**
 * struct gyre_sent - the answer to gyre_send_bytes()
 * @bytes: how many bytes the kernel has taken: all of them
 */
struct gyre_sent {
	uint64_t bytes;
};
GYRE_OWN_MESSAGE_(gyre_sent, 0x39);

/* ---- through the pipeline ---- */

/**
 * gyre_context_bind() - passes on the order to bind a channel to a local address
 * @ctx: the place of the handler whose @bind was called
 * @local: the address, as text without a name, of the same kind as the channel's sockets
 *
 * Only for an order that has come: call it from inside of @bind, or later. After a failure the
 * order may be passed on again, with another address.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    an argument is NULL, no such order has come, or @local cannot be understood or is of
 *              another kind
 *   -EALREADY  the head has had the order
 *   -EISCONN   the channel is connected
 *   -EPIPE     it is closed
 *   -EAFNOSUPPORT  a socket for datagrams cannot become a Unix socket, nor one of those another
 *   -EADDRINUSE, -EADDRNOTAVAIL, -EACCES  of datagrams: as gyre_system_datagram_open(); a
 *              client hears of these when it tries to connect
 *   -ENAMETOOLONG, -ENODEV, -ENOENT  as gyre_socket_address_parse()
 *   others why a handler in between, or the kernel, refused
 * Ownership: @local stays the caller's.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_bind(struct gyre_handler_context *ctx, const char *local);

/**
 * gyre_context_connect() - passes on the order to connect a channel
 * @ctx: the place of the handler whose @connect was called
 * @to: where to, as text, of the same kind as the channel's sockets; for datagrams without a name
 * @local: where from, as text without a name; NULL for any, or for datagrams the address that the
 *   socket is bound to
 *
 * Only for an order that has come: call it from inside of @connect, or later. After a failure the
 * order may be passed on again, with another address. 0 means that the attempt is under way:
 * @active tells of its success, @unregistered of its failure.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    @ctx or @to is NULL, no such order has come, or an address cannot be understood or
 *              is of another kind
 *   -EALREADY  the head has had the order
 *   -EISCONN   the channel is connected
 *   -EPIPE     it is closed
 *   -ENAMETOOLONG, -ENODEV, -ENOENT  as gyre_socket_address_parse(), but that @to of a stream may
 *              have a name
 *   others     what a handler in between refused with; of datagrams also what the kernel did, and
 *              as gyre_context_bind()
 * Ownership: @to and @local stay the caller's.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_connect(struct gyre_handler_context *ctx, const char *to,
				  const char *local);

/**
 * gyre_context_write() - queues bytes to be sent
 * @ctx: where in the pipeline it begins
 * @data: the bytes
 *
 * Queued bytes are sent when the run of the actor ends, in one call with those queued before; bytes
 * written before the channel is connected are sent when it is. Pages are not copied, except for a
 * small piece behind others. Queued bytes over the high mark make the channel unwritable; over the
 * hard cap (@write_max_bytes of its options) they close it with reason -ENOBUFS.
 *
 * Return: 0, or a negative errno, which may be ignored: handlers are told of the channel's end.
 * Errors:
 *   -EINVAL   @ctx is NULL
 *   -ENOBUFS  the hard cap, or channel_bytes_max of the system: the channel is being closed
 *   -ENOMEM   @data is NULL: there was no memory to make it
 *   -EPIPE    the channel is closed, or shut down for writing
 *   -EDESTADDRREQ, -EMSGSIZE  see gyre/datagram.h
 *   others    what a handler in between refused with
 * Ownership: @data is taken, whatever is returned.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_write(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_context_try_write() - queues bytes if the channel is writable
 * @ctx: where in the pipeline it begins
 * @data: the bytes
 *
 * Return: 0, or a negative errno, and then nothing has happened.
 * Errors:
 *   -EAGAIN    the channel is not writable: @writability of the handlers tells when it is again
 *   -EINVAL    @ctx is NULL
 *   -EMSGSIZE  @data is larger than the hard cap, or than half of what all channels of the loop may
 *              hold; where a handler has a @write, 64 bytes that it may add are counted too
 *   -ENOMEM    @data is NULL: there was no memory to make it
 *   -EPIPE     the channel is closed, or shut down for writing
 * Ownership: @data is taken when 0 is returned, and stays the caller's otherwise.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_try_write(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/** gyre_context_send_file_sized() - gyre_context_send_file() with the size of @what */
GYRE_API int gyre_context_send_file_sized(struct gyre_handler_context *ctx, struct gyre_file *file,
					  const struct gyre_file_region *what, size_t what_bytes);

/**
 * gyre_context_send_file() - queues a part of a file
 * @ctx: where in the pipeline it begins; a handler from there to the head that has a @write must
 *   have a @send_file too
 * @file: the file, of the same actor
 * @what: the part
 *
 * The part is sent in the order of the writes, as fast as the peer reads. It takes no memory, and
 * counts neither for the marks nor for the hard cap. The bytes are those that the file holds when
 * they are sent; of a large part, when the peer gets them. A file that ends before the part does,
 * or cannot be read, aborts the channel with -ENODATA or the kernel's error. @file may be closed at
 * once: its descriptor stays until the part has been sent.
 *
 * A handler of a pipeline cannot await gyre_file_open(), but gyre_file_find() may do. The handler
 * of a request of an exchange can (see exchange.h), and its actor owns the channel too.
 *
 * Return: 0, or a negative errno, and then nothing has happened.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EBADF  @file has been closed
 *   -EINVAL  an argument is NULL, @file is another actor's, or there is no such part
 *   -ENOMEM  there is no memory
 *   -EOPNOTSUPP  a handler on the way has a @write and no @send_file, and would have to see the
 *     bytes; or it is a channel of datagrams
 *   -EPIPE  the channel is closed, or shut down for writing
 *   others  what a handler in between refused with
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
static inline int gyre_context_send_file(struct gyre_handler_context *ctx, struct gyre_file *file,
					 const struct gyre_file_region *what)
{
	return gyre_context_send_file_sized(ctx, file, what, sizeof(*what));
}

/**
 * gyre_written_fn - is told that a write has ended
 * @channel: the channel
 * @error: 0 when the kernel has taken all of the bytes, else a negative errno: the reason of a
 *   channel that closed before (-EPIPE if it has none); for a datagram, why it was not sent; under
 *   TLS, why the handshake failed, or -ECANCELED if its handler was removed before
 * @arg: what was given with the write
 *
 * Runs in phase 2, on the channel's loop, in the order of the writes, before @inactive of the
 * handlers. It is not re-entered, and is the last call for its @arg.
 */
typedef void (*gyre_written_fn)(struct gyre_channel *channel, int error, void *arg);

/**
 * gyre_context_write_then() - writes as gyre_context_write(), and tells when the bytes have gone
 * @ctx: where in the pipeline it begins
 * @data: the bytes
 * @callback: is told of the end
 * @arg: for @callback
 *
 * Bytes that a handler on the way to the head keeps for later are not waited for, except those that
 * TLS keeps until its handshake is done: see gyre/tls.h. Writes without a callback do not pay for
 * those with one.
 *
 * Return: 0, and then @callback runs exactly once, after this call; or a negative errno, and then
 *   it never does.
 * Errors:
 *   -EINVAL   @ctx or @callback is NULL
 *   -ENOMEM   @data is NULL, or there is no memory
 *   others    as gyre_context_write()
 * Ownership: @data is taken, whatever is returned. @arg stays the caller's.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_write_then(struct gyre_handler_context *ctx, struct gyre_buffer *data,
				     gyre_written_fn callback, void *arg);

/**
 * gyre_context_flush() - begins at once to send the queued bytes
 * @ctx: where in the pipeline it begins
 *
 * Needed only to send before the run of the actor ends.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_context_flush(struct gyre_handler_context *ctx);

/**
 * gyre_context_read() - asks for one more read, on a channel that does not read by itself
 * @ctx: where in the pipeline it begins
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_context_read(struct gyre_handler_context *ctx);

/**
 * gyre_context_shutdown() - ends writing when all queued bytes have been sent; reading goes on
 * @ctx: where in the pipeline it begins
 *
 * If the peer has ended too, the channel is closed.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_context_shutdown(struct gyre_handler_context *ctx);

/**
 * gyre_context_close() - closes the channel when all queued bytes have been sent
 * @ctx: where in the pipeline it begins
 *
 * Nothing more is delivered or may be written. Bytes that the peer still sends are received and
 * thrown away until it ends too, because a socket that is closed earlier would answer with a reset,
 * which takes from the peer what it has not read. A peer that takes none of the queued bytes for
 * linger_ns of the system ends the channel with -ETIMEDOUT; a peer that has them all and does not
 * close is waited for as long. @inactive comes when the descriptor is about to be closed.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_context_close(struct gyre_handler_context *ctx);

/* ---- the channel itself ---- */

/**
 * gyre_channel_address() - the address of a channel, for actors, other channels and threads
 * @channel: the channel
 *
 * The address is used like that of an actor, and is stale as soon as the channel begins to close.
 *
 * - gyre_notify() and gyre_system_notify() bring the message to the pipeline as an event, from the
 *   head, in the order in which a sender sends. During the event gyre_sender() tells who sent it,
 *   and gyre_move() takes its payload out, both with gyre_context_stack(). Where no handler has
 *   @event the message is a dead letter (GYRE_DROP_UNHANDLED).
 * - gyre_ask() and gyre_system_ask() ask the peer where the channel has an exchange that takes
 *   asks (see exchange.h), and fail with -ENOSYS elsewhere.
 * - gyre_stop() closes the channel as gyre_context_close() does; waiting messages are dead letters.
 * - gyre_poison() closes the channel behind the messages that wait.
 * - gyre_stop_gracefully() does the same, and tells nobody when the channel is gone: with a future
 *   it fails with -ENOSYS and does nothing.
 * - gyre_watch() is for actors: it says at once that the channel has terminated.
 *
 * A channel whose address nobody has asked for pays nothing for this.
 *
 * Return: the address, always the same; GYRE_NOBODY if there is no memory for it.
 * Errors:
 *   GYRE_NOBODY  there is no memory (the errno for it is -ENOMEM)
 * Ownership: a value.
 * Context: loop thread, phase 2, on the channel's loop; from the initialiser until @removed of its
 *   handlers has returned.
 * Since: 0.1
 */
GYRE_API struct gyre_address gyre_channel_address(struct gyre_channel *channel);

/**
 * gyre_send_bytes() - writes to a channel from any actor, and tells when the bytes have gone
 * @stack: the stack of the running handler
 * @channel: the address of the channel, on whatever loop; a stale one is allowed
 * @bytes: the bytes; may be NULL when @count is 0
 * @count: how many bytes
 * @timeout_ns: how long it may take; 0 as for gyre_ask(), GYRE_FOREVER for no limit
 * @ret_future: the answer, a struct gyre_sent, or the failure; in the frame of @stack, or the state
 *   of its actor
 *
 * This is an ask like any other: the stack resumes when the kernel has taken all of the bytes. They
 * go through the whole pipeline, from the tail. While the channel is not writable they wait, in the
 * order of the calls, so that an actor which awaits each send cannot flood the channel. After a
 * time-out they may have been written, or not, or in part.
 *
 * Return: 0, or a negative errno, and then nothing was sent.
 * Errors:
 *   -EINVAL  @bytes is NULL and @count is not 0, or @ret_future is NULL
 *   -ENOMEM  there is no memory
 *   -ETIMEDOUT  @timeout_ns is 0, and the asker of the running message has no time left
 * Later, by gyre_future_error():
 *   -EMSGSIZE  @count is over what gyre_context_try_write() takes
 *   -EPIPE   the channel was closed or shut down for writing before
 *   -ESRCH   the address is stale
 *   -ETIMEDOUT  it took longer
 *   others   the reason for which the channel was closed, or a datagram was not sent
 * Ownership: @bytes stays the caller's: they are copied.
 * Context: loop thread, phases 2 and 3, inside a handler of an actor.
 * Since: 0.1
 */
GYRE_API int gyre_send_bytes(struct gyre_stack *stack, struct gyre_address channel,
			     const void *bytes, size_t count, uint64_t timeout_ns,
			     struct gyre_future *ret_future);

/**
 * gyre_send_shared() - gyre_send_bytes() for shared bytes, which are not copied
 * @stack: the stack of the running handler
 * @channel: the address of the channel, on whatever loop; a stale one is allowed
 * @bytes: the block; see bytes.h
 * @timeout_ns: as for gyre_send_bytes()
 * @ret_future: likewise
 *
 * Return: 0, or a negative errno, and then nothing was sent.
 * Errors:
 *   -EINVAL  @bytes or @ret_future is NULL
 *   others   as gyre_send_bytes()
 * Ownership: the call takes a reference of its own; the caller's stays.
 * Context: loop thread, phases 2 and 3, inside a handler of an actor.
 * Since: 0.1
 */
GYRE_API int gyre_send_shared(struct gyre_stack *stack, struct gyre_address channel,
			      struct gyre_bytes *bytes, uint64_t timeout_ns,
			      struct gyre_future *ret_future);

/**
 * gyre_channel_handshake_begin() - announces a handshake, whose end the handler will tell
 * @channel: the channel
 *
 * For @added of a handler that finds out whether the peer speaks the protocol: by a handshake of
 * its own, as TLS has, or by a first message that it understands, such as a greeting. The codecs of
 * the library announce one that is done with the first whole frame. If several handlers announce
 * one, all have to be done; if none does, the first bytes end the handshake.
 *
 * Return: true if the channel has a limit for it (@handshake_ns of its options) which is not over
 *   yet.
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API bool gyre_channel_handshake_begin(struct gyre_channel *channel);

/**
 * gyre_channel_handshake_done() - tells that an announced handshake is done
 * @channel: the channel; nothing happens when its handshake is over already
 *
 * Call it once for each gyre_channel_handshake_begin(), also when the handler leaves before. If
 * none was announced, this ends the handshake at once.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_handshake_done(struct gyre_channel *channel);

/**
 * gyre_channel_abort() - closes a channel at once; bytes queued or on their way may be lost
 * @channel: the channel
 * @reason: a negative errno for gyre_channel_reason(), or 0
 *
 * The call does not go through the pipeline. @inactive comes after the present call of a handler
 * has returned.
 *
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
 * Ownership: stays the channel's; valid as long as the channel.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API struct gyre_handler_context *gyre_channel_tail(struct gyre_channel *channel);

/**
 * gyre_channel_set_auto_read() - lets a channel read by itself, or only on gyre_context_read()
 * @channel: the channel
 * @auto_read: whether by itself
 *
 * Bytes that have been received already are kept, in order. A peer that resets the connection
 * meanwhile is noticed: the bytes that it sent before are still read when they are asked for, and
 * the end comes behind them.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API void gyre_channel_set_auto_read(struct gyre_channel *channel, bool auto_read);

/**
 * gyre_channel_is_writable() - whether output is welcome
 * @channel: the channel
 *
 * Output is unwelcome from the time that queued output crosses the high mark until it is below the
 * low one, and while the channels of the loop hold too much together: see channel_bytes_max of
 * struct gyre_system_options.
 *
 * Return: true while it is welcome; false on a channel that is closed or closing.
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API bool gyre_channel_is_writable(const struct gyre_channel *channel);

/**
 * gyre_channel_queued_bytes() - how much output the kernel has not taken yet
 * @channel: the channel
 *
 * Return: the number of bytes.
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API size_t gyre_channel_queued_bytes(const struct gyre_channel *channel);

/**
 * gyre_channel_reason() - why a channel is closed or closing
 * @channel: the channel
 *
 * Return: 0 if it closes in good order, or is open; else a negative errno.
 * Errors:
 *   -ECANCELED   it was closed before it was connected
 *   -ECONNRESET  the peer has reset the connection
 *   -ENOBUFS     queued output went over the hard cap, or over what all channels may hold
 *   -ENOMEM      there was no memory for what had come
 *   -ESHUTDOWN   the system would not wait any longer, or the channel was not connected when its
 *                actor or the system stopped
 *   -ETIMEDOUT   it was not connected in time, the peer took none of the output for linger_ns, was
 *                not through with its handshake after handshake_ns, left a question of an exchange
 *                unanswered for ask_stall_ns, or the kernel hears nothing of it any more
 *   others       what the kernel, gyre_channel_abort() or gyre_context_fire_exception() said
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_reason(const struct gyre_channel *channel);

/**
 * gyre_channel_local_address() - the address of a channel's own end
 * @channel: the channel
 * @ret_address: the address
 *
 * Each call asks the kernel, by a system call.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    an argument is NULL
 *   -ENOTCONN  it is a client's that is not connected yet
 *   -ENOTSOCK  its descriptor is that of a pipe or a file
 *   others     what the kernel says of a socket that has been given away
 * Ownership: @ret_address is a value.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_local_address(const struct gyre_channel *channel,
					struct gyre_socket_address *ret_address);

/**
 * gyre_channel_peer_address() - the address of a channel's peer
 * @channel: the channel
 * @ret_address: the address. An IPv4 peer of "tcp://[::]:PORT" has a mapped one, such as
 *   [::ffff:127.0.0.1]; most Unix sockets that connect have one without a name
 *
 * Each call asks the kernel, by a system call. The kernel knows the address while it has the
 * connection: a program that needs it at the end of the channel asks before.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL    an argument is NULL
 *   -ENOTCONN  it is not connected yet, or gone, as after a reset; or datagrams have many, see
 *              gyre_buffer_peer()
 *   -ENOTSOCK  its descriptor is that of a pipe or a file
 *   others     what the kernel says of a socket that has been given away
 * Ownership: @ret_address is a value.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_peer_address(const struct gyre_channel *channel,
				       struct gyre_socket_address *ret_address);

/**
 * gyre_channel_descriptor() - the descriptor of a channel, for what there is no call for
 * @channel: the channel
 *
 * For getsockopt(2) and setsockopt(2), for example with TCP_INFO, SO_PEERCRED, TCP_CONGESTION or
 * SO_PRIORITY, and for calls that only look. Settings that the kernel needs before a connection is
 * made belong in the options of the channel or the listener.
 *
 * The descriptor must not be read from, written to, shut down, connected, closed, replaced by
 * dup2(2) or made non-blocking: operations of the channel would fail. Its timeouts, SO_LINGER,
 * SO_ZEROCOPY and UDP_GRO are the channel's own and must not be changed. A duplicate keeps the
 * connection open when the channel is closed.
 *
 * Return: the descriptor, for a pipe that of its input if it has one; or a negative errno.
 * Errors:
 *   -EINVAL    @channel is NULL
 *   -ENOTCONN  it is a client's that is not connected yet, and has none
 * Ownership: stays the channel's; it is open until @unregistered of its handlers has returned, and
 *   may belong to something else after that.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_channel_descriptor(const struct gyre_channel *channel);

GYRE_END_DECLS

#endif
