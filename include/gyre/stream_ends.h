/*
 * Ends of streams that are not functions: actors, files, channels, and graphs elsewhere.
 *
 * A graph offers a stream by gyre_stream_offer(), and another one, of the same system or of another
 * node, accepts it by gyre_stream_accept(). Between two nodes elements travel as messages of their
 * type do: as their bytes, or by its encoding. What a broken link may have lost fails the stream on
 * both sides, with -ECONNRESET; no element is lost unnoticed, and none comes twice.
 *
 * Bytes travel as struct gyre_chunk, blocks that are shared and not copied on their way from a file
 * or a socket to another.
 */
#ifndef GYRE_STREAM_ENDS_H
#define GYRE_STREAM_ENDS_H

#include <gyre/bytes.h>
#include <gyre/file.h>
#include <gyre/pipeline.h>
#include <gyre/stream.h>

GYRE_BEGIN_DECLS

/**
 * struct gyre_stream_ref - names an end of a stream, for messages to other actors and nodes
 * @at: the actor of the graph
 * @port: which of its ends
 * @reserved: 0
 */
struct gyre_stream_ref {
	struct gyre_address at;
	uint32_t port;
	uint32_t reserved;
};

/**
 * struct gyre_window - how much may be on its way; all zero is the default
 * @elements_max: how many elements, up to 2^20; 0 for 4096
 * @bytes_max: how many bytes they may have together, up to 2^30, though one element passes in any
 *   case; 0 for 1 MiB
 * @reserved: 0, for what comes later
 */
struct gyre_window {
	uint32_t elements_max;
	uint32_t bytes_max;
	uint64_t reserved;
};

/* ---- between graphs ---- */

/** GYRE_STREAM_ACCEPT_NS - how long an offer waits to be accepted if nothing is said */
#define GYRE_STREAM_ACCEPT_NS GYRE_SECONDS(30)

/**
 * gyre_stream_offer() - a sink: another graph takes the elements
 * @from: the stream
 * @accept_ns: how long to wait until it is accepted; then the sink fails with -ETIMEDOUT. 0 for
 *   GYRE_STREAM_ACCEPT_NS, GYRE_FOREVER for no limit
 *
 * Nothing is produced until the stream is accepted, and no more than the other graph has asked for.
 * When that ends or cancels, so does the sink; if it fails or is lost, the sink fails.
 *
 * Return: the port, by which gyre_stream_ref_of() names the end once the graph runs.
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API uint32_t gyre_stream_offer(struct gyre_stream from, uint64_t accept_ns);

/** gyre_stream_ref_of() - names an end: graph is what gyre_graph_start() tells */
static inline struct gyre_stream_ref gyre_stream_ref_of(struct gyre_address graph, uint32_t port)
{
	struct gyre_stream_ref ref = { graph, port, 0 };

	return ref;
}

/**
 * gyre_stream_accept() - a source: a stream that another graph offers
 * @graph: the graph
 * @type: of the elements, as &gyre_type_NAME; between nodes one that can travel
 * @ref: names the offer
 * @window: how much may be on its way; NULL for the defaults
 *
 * The stream fails with -ESRCH where there is no such offer (any more), with -EALREADY when another
 * graph has accepted it, with -EPROTO where it has other elements, with the reason for which the
 * other graph has failed, -ECANCELED when that was stopped, and for one of another node as
 * gyre_ask() does.
 *
 * Return: the stream.
 * Ownership: @window stays the caller's.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_accept(struct gyre_graph *graph,
					       const struct gyre_type *type,
					       struct gyre_stream_ref ref,
					       const struct gyre_window *window);

/* ---- actors ---- */

/**
 * struct gyre_stream_demand - the notice to a producer that it may send elements
 * @stream: the stream, for gyre_stream_push()
 * @tag: as given to gyre_stream_from_actor()
 * @elements: so many more than before
 * @bytes: of so many more bytes; what an actor sends is counted, but not refused for its bytes
 */
struct gyre_stream_demand {
	struct gyre_stream_ref stream;
	uint64_t tag;
	uint64_t elements;
	uint64_t bytes;
};
GYRE_OWN_MESSAGE_(gyre_stream_demand, 0x83);

/**
 * struct gyre_stream_cancelled - the notice to a producer that no more elements are wanted
 * @stream: the stream
 * @tag: as given to gyre_stream_from_actor()
 * @reason: 0, or the negative errno for which
 */
struct gyre_stream_cancelled {
	struct gyre_stream_ref stream;
	uint64_t tag;
	int reason;
};
GYRE_OWN_MESSAGE_(gyre_stream_cancelled, 0x84);

/**
 * gyre_stream_from_actor() - a source: what an actor sends when it is asked
 * @graph: the graph
 * @type: of the elements, as &gyre_type_NAME
 * @producer: the actor, of this system
 * @tag: a number by which the actor knows the stream
 * @window: how much may be on its way; NULL for the defaults
 *
 * The actor gets a struct gyre_stream_demand, answers with gyre_stream_push(), and ends the stream
 * by gyre_stream_finish(). It is watched: the stream fails with its reason if it ends before, with
 * -ECANCELED if it was stopped. Its mailbox is to have no limit: demand that it refuses on another
 * loop is lost, and the stream stands still.
 *
 * Return: the stream.
 * Ownership: @window stays the caller's.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_from_actor(struct gyre_graph *graph,
						   const struct gyre_type *type,
						   struct gyre_address producer, uint64_t tag,
						   const struct gyre_window *window);

/**
 * gyre_stream_push() - sends elements that a stream has asked the running actor for
 * @stack: the stack of the running handler
 * @stream: as struct gyre_stream_demand names it
 * @type: of the elements
 * @elements: the elements, one behind the other; may be NULL when @count is 0
 * @count: how many, at most as many as were asked for and not sent yet
 *
 * The stream fails with -ENOBUFS if there are more, and with -EPROTO if they are of another type.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @type cannot be an element, or @elements is NULL
 *   -ENOMEM  there is no memory, and the elements are destroyed
 *   -ESRCH   the stream has ended (known at once only on the same loop)
 * Ownership: the elements are moved: what they own is taken, whatever is returned; the array stays
 *   the caller's.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stream_push(struct gyre_stack *stack, struct gyre_stream_ref stream,
			      const struct gyre_type *type, void *elements, uint32_t count);

/**
 * gyre_stream_finish() - ends a stream for which the running actor is the producer
 * @stack: the stack of the running handler
 * @stream: as struct gyre_stream_demand names it
 * @reason: 0 to complete it, or a negative errno to fail it, behind what was pushed
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @reason is no negative errno
 *   -ENOMEM  there is no memory
 *   -ESRCH   the stream has ended (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stream_finish(struct gyre_stack *stack, struct gyre_stream_ref stream,
				int reason);

/**
 * struct gyre_stream_opened - the notice to a consumer that a stream waits for its requests
 * @stream: the stream, for gyre_stream_request()
 * @tag: as given to gyre_stream_to_actor()
 */
struct gyre_stream_opened {
	struct gyre_stream_ref stream;
	uint64_t tag;
};
GYRE_OWN_MESSAGE_(gyre_stream_opened, 0x90);

/**
 * struct gyre_stream_ended - the notice to a consumer that a stream has ended, behind its elements
 * @stream: the stream
 * @tag: as given to gyre_stream_to_actor()
 * @elements: how many were sent
 * @reason: 0, or the negative errno that it has failed with
 *
 * Of a graph that is cut off, as by gyre_stop() or its time-out, the last elements may come after
 * this, with -ECANCELED; @elements counts them.
 */
struct gyre_stream_ended {
	struct gyre_stream_ref stream;
	uint64_t tag;
	uint64_t elements;
	int reason;
};
GYRE_OWN_MESSAGE_(gyre_stream_ended, 0x85);

/**
 * gyre_stream_to_actor() - a sink: an actor gets each element that it has requested as a notice
 * @from: the stream
 * @consumer: the actor, of this system
 * @tag: a number by which the actor knows the stream
 *
 * The actor gets a struct gyre_stream_opened, then as many elements as it asks for by
 * gyre_stream_request(), each a notice of its type, and a struct gyre_stream_ended. It is watched:
 * the sink fails with -ESRCH when it ends before. Its mailbox is to have no limit: elements that it
 * refuses on another loop are lost.
 *
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_stream_to_actor(struct gyre_stream from, struct gyre_address consumer,
				   uint64_t tag);

/**
 * gyre_stream_request() - asks a stream for elements, for the running actor
 * @stack: the stack of the running handler
 * @stream: as struct gyre_stream_opened names it
 * @elements: so many more than were asked for before; any number
 *
 * From then on no notice to the actor is lost for lack of memory to handle it: they wait, in their
 * order.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -ENOMEM  there is no memory
 *   -ESRCH   the stream has ended (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stream_request(struct gyre_stack *stack, struct gyre_stream_ref stream,
				 uint64_t elements);

/**
 * gyre_stream_cancel() - tells a stream that the running actor wants no more elements
 * @stack: the stack of the running handler
 * @stream: as struct gyre_stream_opened names it
 * @reason: 0, or a negative errno, with which the sink fails
 *
 * Elements that are on their way still come, and then a struct gyre_stream_ended.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @reason is no negative errno
 *   -ENOMEM  there is no memory
 *   -ESRCH   the stream has ended (known at once only on the same loop)
 * Ownership: nothing changes hands.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API int gyre_stream_cancel(struct gyre_stack *stack, struct gyre_stream_ref stream,
				int reason);

/* ---- bytes ---- */

/**
 * struct gyre_chunk - an element: some bytes
 * @bytes: the bytes; a reference that the element owns
 */
struct gyre_chunk {
	struct gyre_bytes *bytes;
};

/**
 * gyre_chunk_fini() - drops the reference of a chunk
 * @chunk: the chunk
 *
 * Ownership: the reference in @chunk is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_chunk_fini(struct gyre_chunk *chunk);

/**
 * gyre_chunk_copy() - adds the reference that a copy of a chunk owns
 * @chunk: the copy
 *
 * Return: 0.
 * Errors: none: it is an int as gyre_copy_fn is.
 * Ownership: the copy has a reference of its own.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API int gyre_chunk_copy(struct gyre_chunk *chunk);

GYRE_OWN_MESSAGE_COPIED_(gyre_chunk, 0x87, gyre_chunk_fini, gyre_chunk_copy);

/** GYRE_CHUNK_BYTES - how many bytes of a file make a chunk if nothing is said */
#define GYRE_CHUNK_BYTES 65536

/**
 * struct gyre_read_file_options - which part of a file is read; all zero is the whole
 * @offset: where it begins, in bytes; GYRE_FILE_AT_POSITION for what cannot seek
 * @bytes_max: how many bytes at most; 0 for no limit
 * @chunk_bytes: how many at a time, up to GYRE_FILE_READ_BYTES_MAX; 0 for GYRE_CHUNK_BYTES
 */
struct gyre_read_file_options {
	uint64_t offset;
	uint64_t bytes_max;
	uint32_t chunk_bytes;
};

/** gyre_stream_read_file_sized() - gyre_stream_read_file() with the size of @options */
GYRE_API struct gyre_stream
gyre_stream_read_file_sized(struct gyre_graph *graph, const char *path,
			    const struct gyre_read_file_options *options, size_t options_bytes);

/**
 * gyre_stream_read_file() - a source: the bytes of a file, as struct gyre_chunk
 * @graph: the graph
 * @path: the path of the file
 * @options: which part; NULL for the whole
 *
 * The file is opened when the first chunk is asked for. Where it can seek, one chunk more than was
 * asked for is read in advance. The stream completes at the end of the file, and fails with what
 * gyre_file_open() and gyre_file_read() fail with.
 *
 * Return: the stream.
 * Ownership: @path and @options stay the caller's.
 * Context: any thread, any phase.
 * Since: 0.1
 */
static inline struct gyre_stream gyre_stream_read_file(struct gyre_graph *graph, const char *path,
						       const struct gyre_read_file_options *options)
{
	return gyre_stream_read_file_sized(graph, path, options, sizeof(*options));
}

/** gyre_stream_write_file_sized() - gyre_stream_write_file() with the size of @options */
GYRE_API void gyre_stream_write_file_sized(struct gyre_stream from, const char *path,
					   const struct gyre_file_options *options,
					   size_t options_bytes);

/**
 * gyre_stream_write_file() - a sink: writes chunks to a file, one after the other
 * @from: the stream, of struct gyre_chunk
 * @path: the path of the file
 * @options: how it is opened; NULL to create it, or to empty it if it exists
 *
 * The file is opened when the graph starts, and closed when the stream has ended. What was written
 * is with the kernel then, and not necessarily on the disk.
 *
 * Ownership: @from is taken. @path and @options stay the caller's.
 * Context: any thread, any phase.
 * Since: 0.1
 */
static inline void gyre_stream_write_file(struct gyre_stream from, const char *path,
					  const struct gyre_file_options *options)
{
	gyre_stream_write_file_sized(from, path, options, sizeof(*options));
}

/**
 * gyre_stream_read_channel() - a source: what a channel receives, as struct gyre_chunk
 * @graph: the graph, which is to be started before the running handler returns
 * @channel: the channel
 *
 * A handler at the end of the pipeline takes the bytes from then on, and has the channel read only
 * what was asked for. The stream completes when the peer has ended its side, and fails with the
 * reason of the channel, or with -ECANCELED if it was closed by this side. When the stream is
 * cancelled, the handler leaves the pipeline, and the channel does not read by itself.
 *
 * Return: the stream.
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API struct gyre_stream gyre_stream_read_channel(struct gyre_graph *graph,
						     struct gyre_channel *channel);

/**
 * gyre_stream_write_channel() - a sink: writes chunks to a channel
 * @from: the stream, of struct gyre_chunk
 * @channel: the address of the channel, on whatever loop
 *
 * Chunks go through the whole pipeline. Two are on their way at a time; the sink has ended when the
 * kernel has taken all. The channel stays open. It fails as gyre_send_shared() does.
 *
 * Ownership: @from is taken.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API void gyre_stream_write_channel(struct gyre_stream from, struct gyre_address channel);

GYRE_END_DECLS

#endif
