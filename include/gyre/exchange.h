/*
 * Exchanges: requests and answers on a channel, in both directions.
 *
 * A protocol is one handler of the pipeline: its @read decodes messages, and the functions of
 * struct gyre_exchange_options encode them. The handler passes each decoded message to the
 * exchange, which does the rest:
 *
 *	peer -> gyre_exchange_receive() -> pending -> @request, a stack of the owner
 *	peer <- @reply, or @fail        <- what the request's handler returned
 *
 *	actor -> gyre_ask() -> pending -> @ask -> peer
 *	actor <- gyre_exchange_answer()        <- peer
 *
 * A request of the peer becomes a message of the actor that owns the channel: @request handles it
 * with a stack like any other, and may answer at once, ask others, or wait. Actors, on whatever
 * loop, ask the peer by asking the channel's address, with time-outs and errors as between actors.
 *
 * Each direction has a limit of messages in flight; further ones are pending. Answers to the peer
 * are written in the order of its requests, unless the protocol has ids and @any_order is set.
 *
 * Messages are written while the channel is writable (see gyre_channel_is_writable()) and no part
 * of a file is queued in it. Until then answers keep their places in flight, and no request begins.
 * So a peer that reads slowly makes the channel hold its high mark, one message, and the answers in
 * flight. The hard cap of the channel does not apply to a message, which may be longer; up to 2^30
 * bytes may be queued. The limit on all channels together (channel_bytes_max of struct
 * gyre_system_options) does apply: a message that is longer than a quarter of a loop's share may
 * close its channel.
 */
#ifndef GYRE_EXCHANGE_H
#define GYRE_EXCHANGE_H

#include <gyre/channel.h>

GYRE_BEGIN_DECLS

/**
 * gyre_exchange_encode_fn - writes a message to the peer, by gyre_context_write()
 * @ctx: the place of the protocol's handler
 * @id: for an answer, the id that gyre_exchange_receive() was given with the request; for an ask,
 *   the id that the exchange has given it, or 0 without ids
 * @type: the type of the message
 * @message: its payload; valid during the call
 *
 * Runs in phase 2, on the channel's loop. It is not re-entered, and the last call comes before
 * @inactive of the handlers.
 *
 * Returns 0, or a negative errno if the message cannot be written, and then nothing must have been
 * written. An ask fails with the errno, and an answer becomes that error: see
 * gyre_exchange_fail_fn.
 */
typedef int (*gyre_exchange_encode_fn)(struct gyre_handler_context *ctx, uint64_t id,
				       const struct gyre_type *type, const void *message);

/**
 * gyre_exchange_fail_fn - writes to the peer that its request has failed
 * @ctx: the place of the protocol's handler
 * @id: the id that gyre_exchange_receive() was given with the request
 * @error: the negative errno that the request's handler returned; -ENOMSG if it did not answer
 *
 * Runs in phase 2, on the channel's loop, in the place of @reply. It is not re-entered, and the
 * last call comes before @inactive of the handlers.
 */
typedef void (*gyre_exchange_fail_fn)(struct gyre_handler_context *ctx, uint64_t id, int error);

/** GYRE_ASK_STALL_NEVER - wait for answers however long they take */
#define GYRE_ASK_STALL_NEVER UINT64_MAX

/**
 * struct gyre_exchange_options - how a channel exchanges messages
 * @request: handles a request of the peer, as a message of the actor that owns the channel, whose
 *   state belongs to the library; NULL if the peer may send none
 * @frame_bytes: the size of each request's frame, zeroed at first, at most 8 KiB
 * @reply: writes an answer; needed with @request
 * @fail: writes that a request has failed; NULL to close the channel, by
 *   gyre_context_fire_exception()
 * @request_barrier: chooses requests that are handled alone: when all requests before have been
 *   answered, and before those behind begin; NULL for none
 * @requests_max: requests of the peer in flight: begun, and not answered in writing; 0 for 1
 * @requests_pending_max: how many requests may wait for their turn before the channel stops
 *   reading; 0 for 64
 * @any_order: write answers as requests finish, not in the order of the requests
 * @ask: writes a question of an actor; NULL if actors may not ask
 * @ask_barrier: chooses questions that are written alone: when all questions before have been
 *   answered, and before those behind; NULL for none
 * @asks_max: questions in flight; 0 for 1
 * @asks_pending_max: how many questions may wait for their turn; one more fails with -ENOBUFS. 0
 *   for 1024
 * @ask_stall_ns: how long the oldest question in flight may stay unanswered, from 1 ms to 86400 s;
 *   then the channel is closed with -ETIMEDOUT, and all questions fail with that. 0 for 30 s,
 *   GYRE_ASK_STALL_NEVER for no limit. Without this, all answers behind one that the peer left out
 *   would be taken for answers to earlier questions. With @ids the channel is closed if no answer
 *   at all has come for so long behind a question. A question that is asked with GYRE_FOREVER may
 *   take its time. The time counts from the connection on, but not while the channel itself holds
 *   reading back: with @manual_read, for lack of memory, or because too many requests are pending
 * @ids: give each question an id, so that answers may come in any order
 * @id_max: the largest id, at least @asks_max; the next one is 1 again. 0 for 2^32 - 1
 */
struct gyre_exchange_options {
	gyre_handler_fn request;
	size_t frame_bytes;
	gyre_exchange_encode_fn reply;
	gyre_exchange_fail_fn fail;
	gyre_filter_fn request_barrier;
	uint32_t requests_max;
	uint32_t requests_pending_max;
	bool any_order;

	gyre_exchange_encode_fn ask;
	gyre_filter_fn ask_barrier;
	uint32_t asks_max;
	uint32_t asks_pending_max;
	uint64_t ask_stall_ns;
	bool ids;
	uint64_t id_max;
};

/**
 * struct gyre_exchange_load - the load of an exchange
 * @requests: requests of the peer in flight, including those whose answers wait to be written
 * @requests_pending: requests that wait for their turn
 * @asks: questions written and not answered
 * @asks_pending: questions that wait for their turn
 */
struct gyre_exchange_load {
	uint32_t requests;
	uint32_t requests_pending;
	uint32_t asks;
	uint32_t asks_pending;
};

/** gyre_exchange_open_sized() - gyre_exchange_open() with the size of @options */
GYRE_API int gyre_exchange_open_sized(struct gyre_handler_context *ctx,
				      const struct gyre_exchange_options *options,
				      size_t options_bytes);

/**
 * gyre_exchange_open() - lets a channel exchange messages
 * @ctx: the place of the protocol's handler, mostly inside its @added
 * @options: how messages are exchanged
 *
 * A channel has one exchange at a time. The exchange ends with the channel, or when the handler is
 * removed from the pipeline. Then asks that are pending or in flight fail with the reason of the
 * channel, or -EPIPE if it has none. Requests that are being handled run on, and their answers are
 * dead letters.
 *
 * When the peer sends no more, or the system drains, the requests that have come are still answered
 * before the channel closes or handlers hear of gyre_input_closed.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -E2BIG  the program was built for a newer library: see gyre/version.h
 *   -EEXIST  the channel has one
 *   -EINVAL  @ctx or @options is NULL, or a field is out of its bounds
 *   -ENOMEM  there is no memory
 *   -EPIPE   the channel is closed or closing
 * Ownership: @options is copied, and stays the caller's.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
static inline int gyre_exchange_open(struct gyre_handler_context *ctx,
				     const struct gyre_exchange_options *options)
{
	return gyre_exchange_open_sized(ctx, options, sizeof(*options));
}

/**
 * gyre_exchange_receive() - has a request of the peer handled
 * @ctx: where in the pipeline it was decoded
 * @id: passed on to @reply or @fail; without a meaning for the exchange
 * @mail: the request, made with gyre_context_stack()
 *
 * The request is handled after this call. @request sees the channel as the sender: see
 * gyre_exchange_context().
 *
 * Return: 0, or a negative errno, and then the request is lost.
 * Errors:
 *   -EINVAL  the channel has no exchange that takes requests
 *   -ENOMEM  @mail is NULL, or there is no memory; the channel is closed with that as its reason,
 *            for the peer would wait without end
 *   -EPIPE   the channel is closed or closing
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phase 2, on the channel's loop, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_receive(struct gyre_handler_context *ctx, uint64_t id,
				   struct gyre_mail *mail);

/**
 * gyre_exchange_context() - the place of the protocol's handler, for the handler of a request
 * @stack: the stack of @request, also after it was suspended
 *
 * Return: the place, for gyre_context_arg() and gyre_context_channel(); or NULL.
 * Errors:
 *   NULL  the channel has closed meanwhile, or this is no such stack (the errno for it is -ESRCH)
 * Ownership: stays the pipeline's; valid until the handler returns or suspends.
 * Context: loop thread, phase 2, inside @request.
 * Since: 0.1
 */
GYRE_API struct gyre_handler_context *gyre_exchange_context(struct gyre_stack *stack);

/**
 * gyre_exchange_answer() - gives the oldest ask in flight its answer
 * @ctx: where in the pipeline it was decoded
 * @mail: the answer, made with gyre_context_stack()
 *
 * For protocols that answer in order. An ask keeps its place after its time-out: its answer is
 * dropped and counted (GYRE_DROP_LATE). An answer that never comes closes the channel: see
 * @ask_stall_ns.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  the channel has no exchange
 *   -ENOMEM  @mail is NULL: it could not be made; the ask has failed with -ENOMEM
 *   -EPROTO  nothing is in flight: the handlers of the channel get this exception, and if none
 *            keeps it, the channel is closed; or the ask demands another type of answer, and has
 *            failed
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phase 2, on the channel's loop, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_answer(struct gyre_handler_context *ctx, struct gyre_mail *mail);

/**
 * gyre_exchange_answer_id() - gives the ask with an id its answer
 * @ctx: where in the pipeline it was decoded
 * @id: of the ask
 * @mail: the answer, made with gyre_context_stack()
 *
 * An ask whose time-out has passed gives up its place in flight when another ask needs it. Its
 * answer, if it comes after all, is dropped and counted (GYRE_DROP_LATE); the latest 1024 of such
 * asks are remembered.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  the channel has no exchange with ids
 *   -ENOMEM  @mail is NULL: it could not be made; the ask has failed with -ENOMEM
 *   -EPROTO  no ask has that id: as for gyre_exchange_answer()
 * Ownership: @mail is taken, whatever is returned.
 * Context: loop thread, phase 2, on the channel's loop, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_answer_id(struct gyre_handler_context *ctx, uint64_t id,
				     struct gyre_mail *mail);

/**
 * gyre_exchange_refuse() - fails the oldest ask in flight, which the peer has answered by an error
 * @ctx: where in the pipeline it was decoded
 * @error: a negative errno, for the asker
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @error is no errno, or the channel has no exchange
 *   -EPROTO  nothing is in flight: as for gyre_exchange_answer()
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_refuse(struct gyre_handler_context *ctx, int error);

/**
 * gyre_exchange_refuse_id() - fails the ask with an id, which the peer has answered by an error
 * @ctx: where in the pipeline it was decoded
 * @id: of the ask
 * @error: a negative errno, for the asker
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  @error is no errno, or the channel has no exchange with ids
 *   -EPROTO  no ask has that id: as for gyre_exchange_answer()
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop, inside a handler of the pipeline.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_refuse_id(struct gyre_handler_context *ctx, uint64_t id, int error);

/** gyre_exchange_look_sized() - gyre_exchange_look() with the size of @ret_load */
GYRE_API int gyre_exchange_look_sized(const struct gyre_handler_context *ctx,
				      struct gyre_exchange_load *ret_load, size_t ret_load_bytes);

/**
 * gyre_exchange_look() - the load of a channel's exchange
 * @ctx: a place in its pipeline
 * @ret_load: the load
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL, or the channel has no exchange
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
static inline int gyre_exchange_look(const struct gyre_handler_context *ctx,
				     struct gyre_exchange_load *ret_load)
{
	return gyre_exchange_look_sized(ctx, ret_load, sizeof(*ret_load));
}

GYRE_END_DECLS

#endif
