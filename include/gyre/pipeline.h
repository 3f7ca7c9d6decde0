/*
 * The pipeline of a channel: handlers between head and tail. Inbound events come from the socket:
 * they begin at the head and are passed from handler to handler towards the tail. Outbound calls go
 * to the socket: they begin where a handler calls gyre_context_write() and its like, and are passed
 * towards the head.
 *
 *	head  ->  codec  ->  logic  ->  tail        read, active, exception ...
 *	head  <-  codec  <-  logic  <-  tail        connect, write, flush, close ...
 *
 * The pipeline of a client is made before its channel is connected. A channel that was accepted or
 * inherited, or is a pipe, is connected already. Handlers are told, in this order,
 *
 *	accepted, inherited, pipe    registered, active ... inactive, unregistered
 *	client                       registered, bind, connect, active ... inactive, unregistered
 *	datagrams                    the same
 *	not connected                registered, bind, connect, unregistered
 *	closed before it was active  registered, inactive, unregistered
 *
 * with @bind if there is a local address, and with @connect if there is a peer. The last is closed
 * by its initialiser, its actor or @registered, and was connected all the same. @bind and @connect
 * are orders on their way from the tail to the head, which carries them out: see gyre_connect_fn.
 * Bytes that are written before @active are kept, and sent then.
 *
 * A handler is a const table of functions. Where a function is NULL, the event passes on untouched;
 * a function that is given passes on what it does not keep, by gyre_context_fire_read() and its
 * like. Handlers may be added, removed and replaced at any time, also from inside themselves.
 */
#ifndef GYRE_PIPELINE_H
#define GYRE_PIPELINE_H

#include <gyre/buffer.h>
#include <gyre/message.h>

GYRE_BEGIN_DECLS

struct gyre_channel;
struct gyre_file;
struct gyre_file_region;

/**
 * struct gyre_handler_context - a handler's place in one pipeline; read with the accessors below
 * @channel: the channel
 * @arg: the argument that the handler was added with
 */
struct gyre_handler_context {
	struct gyre_channel *channel;
	void *arg;
};

/**
 * gyre_context_fn - an event of a channel that carries nothing
 * @ctx: the handler's place
 *
 * Runs in phase 2, on the channel's loop. It is re-entered only by what the handler itself calls in
 * the pipeline. The last call is @removed of struct gyre_handler, before it @unregistered.
 */
typedef void (*gyre_context_fn)(struct gyre_handler_context *ctx);

/**
 * gyre_added_fn - begins the life of a handler in a pipeline
 * @ctx: the handler's place
 *
 * Runs in phase 2, once, before anything else of this place; it is not re-entered. Any other call
 * may follow; the last call is @removed of struct gyre_handler. A negative errno refuses: the
 * handler is out again, without a call of @removed, and whoever added it gets the errno.
 */
typedef int (*gyre_added_fn)(struct gyre_handler_context *ctx);

/**
 * gyre_read_fn - handles bytes that have come
 * @ctx: the handler's place
 * @data: the bytes, which the handler owns and writes, passes on, keeps or frees. They are empty
 *   only as a datagram, or as a frame of a codec
 *
 * Runs in phase 2, on the channel's loop. It is re-entered only by what the handler itself calls in
 * the pipeline. The last call comes before @inactive of struct gyre_handler.
 */
typedef void (*gyre_read_fn)(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_event_fn - handles an event, from a handler nearer to the head or from the channel
 * @ctx: the handler's place
 * @type: the type, to be compared by `type->id == GYRE_ID(NAME)`, since there may be several
 *   structs for one type. gyre_input_closed is the channel's own event; others were sent to its
 *   address, or raised by handlers
 * @event: the struct that the type stands for; valid during the call
 *
 * Runs in phase 2, on the channel's loop. It is re-entered only by what the handler itself calls in
 * the pipeline. The last call comes before @unregistered of struct gyre_handler.
 */
typedef void (*gyre_event_fn)(struct gyre_handler_context *ctx, const struct gyre_type *type,
			      const void *event);

/**
 * gyre_writability_fn - is told that output is unwelcome, or welcome again
 * @ctx: the handler's place
 * @writable: what gyre_channel_is_writable() says from now on: false when queued output has crossed
 *   the high water mark, or the channels of the loop hold too much
 *
 * Runs in phase 2, after the handler that crossed the mark has returned. It is re-entered only by
 * what the handler itself calls in the pipeline. The last call comes before @inactive of struct
 * gyre_handler.
 */
typedef void (*gyre_writability_fn)(struct gyre_handler_context *ctx, bool writable);

/**
 * gyre_exception_fn - handles the failure of a handler nearer to the head
 * @ctx: the handler's place
 * @error: the negative errno
 *
 * Runs in phase 2, on the channel's loop. It is re-entered only by what the handler itself calls in
 * the pipeline. The last call comes before @unregistered of struct gyre_handler. An exception that
 * no handler keeps closes the channel with @error as its reason, except for a channel of datagrams.
 */
typedef void (*gyre_exception_fn)(struct gyre_handler_context *ctx, int error);

/**
 * gyre_bind_fn - handles the order to bind a channel to a local address
 * @ctx: the handler's place
 * @local: the address, as text: see gyre/socket_address.h; valid during the call
 *
 * The order is passed on, refused or kept as gyre_connect_fn says, with gyre_context_bind(). The
 * head of a client keeps the address and connects from it. A socket for datagrams is bound to
 * @local already, with the port that it got, by the call that opened it. For another address, a new
 * socket with the same options takes its place, in the groups that the channel is in by then; the
 * order fails if the new socket cannot join one of them, as a socket of IPv4 cannot join groups of
 * IPv6. Datagrams that wait in the first socket are lost with it, and so are settings of its
 * descriptor: make those when the channel is active.
 *
 * Runs in phase 2, on the channel's loop, after @registered of struct gyre_handler; it is not
 * re-entered. It is called once, unless another handler passes it on again after the head has
 * refused; the last call comes before @connect and @active. What it returns is returned to the one
 * who passed it on.
 */
typedef int (*gyre_bind_fn)(struct gyre_handler_context *ctx, const char *local);

/**
 * gyre_connect_fn - handles the order to connect a channel
 * @ctx: the handler's place
 * @to: where to, as text: "tcp://HOST:PORT" and the like, see gyre/socket_address.h; HOST may be a
 *   name, which is looked up when the head is reached; valid during the call
 * @local: where from, likewise but without a name; NULL for any; valid during the call
 *
 * The order comes once for each channel, and so once for each round of gyre_connect(), which may
 * try several addresses of one name: the channel gets the first connection that is made. A handler
 * passes the order on with gyre_context_connect(), unchanged or with another @to or @local; it may
 * do so later, when a timer or a message tells it how. A negative errno refuses: the channel ends
 * with that as its reason. A channel that is closed before it is connected ends too, and the
 * attempts under way are given up.
 *
 * A handler that passes on another @to takes the connection over, as a handler for a proxy does: in
 * its @active it talks to the peer that it has chosen, keeps the event and the bytes that are
 * written meanwhile, and passes @active on when the handlers behind it can talk to the peer that
 * they wanted. Only then does the connection count as open, for the report of struct
 * gyre_connect_options, its retries and its time. A handler that never passes on @active need not
 * pass on @inactive.
 *
 * Runs in phase 2, on the channel's loop, after @registered of struct gyre_handler and after @bind;
 * it is not re-entered. It is called once, unless another handler passes it on again after the head
 * has refused; the last call comes before @active. What it returns is returned to the one who
 * passed it on.
 */
typedef int (*gyre_connect_fn)(struct gyre_handler_context *ctx, const char *to, const char *local);

/**
 * gyre_write_fn - handles bytes on their way out
 * @ctx: the handler's place
 * @data: the bytes; the handler's own, to be passed on with gyre_context_write(), kept or freed
 *
 * Runs in phase 2, on the channel's loop, inside the call of gyre_context_write() by another
 * handler. It is re-entered only by what the handler itself calls in the pipeline. The last call
 * may come after
 * @inactive of struct gyre_handler, from another handler, and before @removed. What it returns is
 * returned to the writer.
 */
typedef int (*gyre_write_fn)(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_send_file_fn - handles a part of a file on its way out
 * @ctx: the handler's place
 * @file: the file
 * @what: which part; valid during the call
 *
 * For a handler whose @write only observes what is written, so that it can let bytes pass without
 * seeing them: it passes the part on with gyre_context_send_file(). Runs in phase 2, on the
 * channel's loop, inside the call of that function by another handler; it is re-entered only by
 * what the handler itself calls in the pipeline. The last call may come after @inactive of struct
 * gyre_handler, from another handler, and before @removed. What it returns is returned to the
 * caller.
 */
typedef int (*gyre_send_file_fn)(struct gyre_handler_context *ctx, struct gyre_file *file,
				 const struct gyre_file_region *what);

/**
 * gyre_context_timer_fn - handles a timer of the handler that has fired
 * @ctx: the handler's place
 * @key: the key of the timer, which does not run any more and may be started again
 *
 * Runs in phase 2, on the channel's loop, in a run of the channel and before its input. It is
 * re-entered only by what the handler itself calls in the pipeline. The last call comes before
 * @inactive of struct gyre_handler, and before @removed.
 */
typedef void (*gyre_context_timer_fn)(struct gyre_handler_context *ctx, uint64_t key);

/**
 * struct gyre_handler - the functions of a handler, each of which may be NULL
 * @name: the name by which it is found in a pipeline; may be NULL
 * @added: the handler has come into a pipeline
 * @removed: the handler has left it, or the channel is gone: the last call
 * @registered: the channel belongs to its actor
 * @active: the channel is open for reading and writing
 * @read: bytes have come
 * @read_complete: there are no more bytes for now
 * @event: another handler or the channel tells something
 * @writability: output is unwelcome, or welcome again
 * @exception: a handler has failed
 * @inactive: the channel is closed for reading and writing; gyre_channel_reason() says why. Not
 *   called for a channel that was never connected
 * @unregistered: the channel no longer belongs to its actor
 * @timer: a timer of gyre_context_timer_start() has fired
 * @bind: outbound: the channel is to be bound to a local address
 * @connect: outbound: the channel is to be connected
 * @write: outbound: bytes are to be queued
 * @flush: outbound: queued bytes are to be sent now
 * @read_request: outbound: one more read is wanted, for channels that do not read by themselves
 * @shutdown: outbound: writing is to end
 * @close: outbound: the channel is to be closed when all is sent
 * @send_file: outbound: a part of a file is to be queued. Where this is NULL, a handler with a
 *   @write refuses the part, and others pass it on
 * @read_end: the peer has ended its side, and this handler has had every @read of what came before:
 *   the moment to pass on what it has kept, and then the event. It comes at most once, also without
 *   @allow_half_close, and before struct gyre_input_closed. It does not come where the end is not
 *   the peer's, so that bytes may be missing: after an error, a drain, an end without the
 *   close_notify of TLS, or a close by this side; nor for datagrams
 */
struct gyre_handler {
	const char *name;
	gyre_added_fn added;
	gyre_context_fn removed;

	gyre_context_fn registered;
	gyre_context_fn active;
	gyre_read_fn read;
	gyre_context_fn read_complete;
	gyre_event_fn event;
	gyre_writability_fn writability;
	gyre_exception_fn exception;
	gyre_context_fn inactive;
	gyre_context_fn unregistered;
	gyre_context_timer_fn timer;

	gyre_bind_fn bind;
	gyre_connect_fn connect;
	gyre_write_fn write;
	gyre_context_fn flush;
	gyre_context_fn read_request;
	gyre_context_fn shutdown;
	gyre_context_fn close;
	gyre_send_file_fn send_file;
	gyre_context_fn read_end;
};

/* ---- a handler's place ---- */

/** gyre_context_channel() - the channel that a handler is called for */
static inline struct gyre_channel *gyre_context_channel(const struct gyre_handler_context *ctx)
{
	return ctx->channel;
}

/** gyre_context_arg() - the argument that the handler was added with */
static inline void *gyre_context_arg(const struct gyre_handler_context *ctx)
{
	return ctx->arg;
}

/**
 * gyre_context_stack() - the stack that a pipeline runs with, to notify, to spawn and to make mail
 * @ctx: the handler's place
 *
 * A handler of a pipeline cannot suspend, and the answer to an ask made with this stack is dropped.
 * Such a handler fails by gyre_context_fire_exception(), not by gyre_throw(); a message that it
 * gives to gyre_throw_with() is destroyed. Where a handler of the channel's actor has called into
 * the pipeline, the stack is that handler's.
 *
 * Return: the stack, or NULL.
 * Errors:
 *   NULL  no pipeline of this loop is running (misuse, elsewhere -EINVAL)
 * Ownership: stays the runtime's, and is valid until the handler returns.
 * Context: loop thread, phase 2, inside a handler of a pipeline.
 * Since: 0.1
 */
GYRE_API struct gyre_stack *gyre_context_stack(const struct gyre_handler_context *ctx);

/**
 * gyre_context_buffer() - an empty buffer: gyre_buffer_create() for a handler of a pipeline
 * @ctx: the handler's place
 *
 * Return: the buffer, or NULL.
 * Errors:
 *   NULL  there is no memory (the errno for it is -ENOMEM)
 * Ownership: the caller's, until it is written or gyre_buffer_destroy() takes it.
 * Context: loop thread, phase 2, inside a handler of a pipeline.
 * Since: 0.1
 */
GYRE_API struct gyre_buffer *gyre_context_buffer(const struct gyre_handler_context *ctx);

/**
 * gyre_context_remove() - takes a handler out of its pipeline
 * @ctx: the handler's place; nothing happens when it is out already
 *
 * @removed of the handler is called at once. Events that the handler still passes on during the
 * running call go to its former neighbours.
 *
 * Ownership: @ctx is not to be used any more when the running call of the handler has returned.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
GYRE_API void gyre_context_remove(struct gyre_handler_context *ctx);

/**
 * gyre_context_timer_start() - starts or restarts a timer of a handler
 * @ctx: the handler's place; the handler has a @timer
 * @key: names the timer within this place
 * @delay_ns: when it fires, once; never early, on an idle loop at most a timer tick late
 *
 * The timer stops when the handler leaves the pipeline, and does not fire on a channel that closes.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @ctx is NULL, or its handler has no @timer
 *   -ENOMEM  there is no memory
 *   -EPIPE   the channel is closed or closing, or the handler has left it
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_timer_start(struct gyre_handler_context *ctx, uint64_t key,
				      uint64_t delay_ns);

/**
 * gyre_context_timer_stop() - stops a timer of a handler
 * @ctx: the handler's place
 * @key: names the timer within this place
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @ctx is NULL
 *   -ENOENT  no timer of that key runs
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_context_timer_stop(struct gyre_handler_context *ctx, uint64_t key);

/* ---- the list of handlers ---- */

/**
 * enum gyre_where - on which side of a pipeline, or of another handler
 * @GYRE_WHERE_LAST: next to the tail
 * @GYRE_WHERE_FIRST: next to the head
 * @GYRE_WHERE_BEFORE: next to another handler, on the head's side
 * @GYRE_WHERE_AFTER: next to another handler, on the tail's side
 * @GYRE_WHERE_REPLACE: in the place of another handler, which is removed when the new one is there
 */
enum gyre_where {
	GYRE_WHERE_LAST = 0,
	GYRE_WHERE_FIRST = 1,
	GYRE_WHERE_BEFORE = 2,
	GYRE_WHERE_AFTER = 3,
	GYRE_WHERE_REPLACE = 4,
};

/**
 * struct gyre_position - where in a pipeline a handler goes; made by GYRE_LAST and its like
 * @where: the side
 * @reserved: 0, for what comes later
 * @other: the name of the other handler; NULL where there is none
 * @name: another name for the handler, which must outlive the pipeline; NULL for its own. So a
 *   pipeline may have two handlers of a kind
 */
struct gyre_position {
	enum gyre_where where;
	uint32_t reserved;
	const char *other;
	const char *name;
};

/** GYRE_LAST - the position next to the tail */
#define GYRE_LAST GYRE_VALUE(gyre_position, GYRE_WHERE_LAST, 0, NULL, NULL)
/** GYRE_FIRST - the position next to the head */
#define GYRE_FIRST GYRE_VALUE(gyre_position, GYRE_WHERE_FIRST, 0, NULL, NULL)
/** GYRE_BEFORE() - the position next to the handler OTHER, on the head's side */
#define GYRE_BEFORE(OTHER) GYRE_VALUE(gyre_position, GYRE_WHERE_BEFORE, 0, (OTHER), NULL)
/** GYRE_AFTER() - the position next to the handler OTHER, on the tail's side */
#define GYRE_AFTER(OTHER) GYRE_VALUE(gyre_position, GYRE_WHERE_AFTER, 0, (OTHER), NULL)
/** GYRE_REPLACE() - the position of the handler OTHER, which is removed when the new one is there
 */
#define GYRE_REPLACE(OTHER) GYRE_VALUE(gyre_position, GYRE_WHERE_REPLACE, 0, (OTHER), NULL)

/** gyre_pipeline_add_sized() - gyre_pipeline_add() with the size of @handler */
GYRE_API int gyre_pipeline_add_sized(struct gyre_channel *channel, struct gyre_position position,
				     const struct gyre_handler *handler, size_t handler_bytes,
				     const void *arg);

/**
 * gyre_pipeline_add() - puts a handler into a pipeline
 * @channel: the channel
 * @position: where it goes: GYRE_FIRST, GYRE_LAST, GYRE_BEFORE("name"), GYRE_AFTER("name") or
 *   GYRE_REPLACE("name")
 * @handler: the handler, which must outlive the pipeline
 * @arg: for gyre_context_arg(); const for options that the handler only copies
 *
 * For handlers of the program. Those of the library have calls of their own, which take their
 * options, such as gyre_line_codec_add(). One that replaces another is added before that is
 * removed, and may have its name.
 *
 * Return: 0, or a negative errno, and then the pipeline is as it was.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EINVAL  @channel or @handler is NULL, or @position is none: a side that is unknown, another
 *            handler that is lacking or too much, or @reserved that is not 0
 *   -ENOENT  no handler has the name in @position
 *   -EEXIST  a handler of that name is there
 *   -ENOMEM  there is no memory
 *   -EPIPE   the channel is closed
 *   others   what @added of the handler refused with
 * Ownership: @handler and @arg stay the caller's.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
static inline int gyre_pipeline_add(struct gyre_channel *channel, struct gyre_position position,
				    const struct gyre_handler *handler, const void *arg)
{
	return gyre_pipeline_add_sized(channel, position, handler, sizeof(*handler), arg);
}

/**
 * gyre_pipeline_remove() - takes a handler out of a pipeline
 * @channel: the channel
 * @name: the name of the handler
 *
 * Does what gyre_context_remove() does.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL
 *   -ENOENT  no handler has @name
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
GYRE_API int gyre_pipeline_remove(struct gyre_channel *channel, const char *name);

/**
 * gyre_pipeline_get() - finds a handler's place by its name
 * @channel: the channel
 * @name: the name of the handler
 *
 * Return: the place, or NULL.
 * Errors:
 *   NULL  no handler has @name (the errno for it is -ENOENT)
 * Ownership: stays the pipeline's; valid until the handler is removed.
 * Context: loop thread, phase 2.
 * Since: 0.1
 */
GYRE_API struct gyre_handler_context *gyre_pipeline_get(struct gyre_channel *channel,
							const char *name);

/* ---- passing on, towards the tail ---- */

/**
 * gyre_context_fire_registered() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_registered(struct gyre_handler_context *ctx);

/**
 * gyre_context_fire_active() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_active(struct gyre_handler_context *ctx);

/**
 * gyre_context_fire_read() - passes bytes on to the next handler; the tail frees them
 * @ctx: the handler's place
 * @data: the bytes; nothing happens when it is NULL
 *
 * Ownership: @data is taken.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_read(struct gyre_handler_context *ctx, struct gyre_buffer *data);

/**
 * gyre_context_fire_read_complete() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_read_complete(struct gyre_handler_context *ctx);

/**
 * gyre_context_fire_read_end() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_read_end(struct gyre_handler_context *ctx);

/**
 * gyre_context_fire_event() - passes an event of any type to the next handler
 * @ctx: the handler's place
 * @type: the type of the event
 * @event: a struct of that type
 *
 * Ownership: @event stays the caller's.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_event(struct gyre_handler_context *ctx,
				      const struct gyre_type *type, const void *event);

/**
 * gyre_context_fire_writability() - passes the event on to the next handler
 * @ctx: the handler's place
 * @writable: whether output is welcome
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_writability(struct gyre_handler_context *ctx, bool writable);

/**
 * gyre_context_fire_exception() - tells the next handler that this handler has failed
 * @ctx: the handler's place
 * @error: a negative errno
 *
 * If no handler keeps the exception, the tail closes the channel with @error as its reason.
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_exception(struct gyre_handler_context *ctx, int error);

/**
 * gyre_context_fire_inactive() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_inactive(struct gyre_handler_context *ctx);

/**
 * gyre_context_fire_unregistered() - passes the event on to the next handler
 * @ctx: the handler's place
 *
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API void gyre_context_fire_unregistered(struct gyre_handler_context *ctx);

GYRE_END_DECLS

#endif
