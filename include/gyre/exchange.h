/*
 * Exchanges: requests and their answers on a channel, in both directions.
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
 * Each direction has a number of messages in flight, beyond which they are pending. Answers to the
 * peer are written in the order of its requests, unless the protocol has ids and @any_order is set.
 *
 * Messages are written while the channel is writable (see gyre_channel_is_writable()) and no part
 * of a file is queued in it. Until then answers keep their places in flight, and no request begins.
 * So a peer that reads slowly makes the channel hold its high mark and one message, and besides
 * these the answers in flight. A message may be longer than the hard cap of the channel, which is
 * not for it; up to 2^30 bytes may be queued. What bounds all channels together (channel_bytes_max
 * of struct gyre_system_options) holds for messages too: one that is longer than a quarter of a
 * loop's share may close its channel.
 */
#ifndef GYRE_EXCHANGE_H
#define GYRE_EXCHANGE_H

#include <gyre/channel.h>

GYRE_BEGIN_DECLS

/**
 * gyre_exchange_encode_fn - writes a message to the peer, by gyre_context_write()
 * @ctx: the place of the protocol's handler
 * @id: of an answer: what gyre_exchange_receive() was given for the request; of an ask: the one it
 *   has been given, or 0 where there are no ids
 * @type: of the message
 * @message: its payload; valid during the call
 *
 * Runs in phase 2, on the channel's loop. It is not re-entered, and the last call comes before
 * @inactive of the handlers.
 *
 * Returns 0, or a negative errno when the message cannot be written, and then nothing must have
 * been: an ask fails with it, and an answer becomes that error; see gyre_exchange_fail_fn.
 */
typedef int (*gyre_exchange_encode_fn)(struct gyre_handler_context *ctx, uint64_t id,
				       const struct gyre_type *type, const void *message);

/**
 * gyre_exchange_fail_fn - writes to the peer that its request has failed
 * @ctx: the place of the protocol's handler
 * @id: what gyre_exchange_receive() was given for the request
 * @error: a negative errno: what the request's handler returned; -ENOMSG when it did not answer
 *
 * Runs in phase 2, on the channel's loop, in the place of @reply. It is not re-entered, and the
 * last call comes before @inactive of the handlers.
 */
typedef void (*gyre_exchange_fail_fn)(struct gyre_handler_context *ctx, uint64_t id, int error);

/** GYRE_ASK_STALL_NEVER - wait for answers however long they take */
#define GYRE_ASK_STALL_NEVER UINT64_MAX

/**
 * struct gyre_exchange_options - how a channel exchanges messages; must outlive it
 * @request: handles a request of the peer, as a message of the actor that owns the channel, whose
 *   state is the library's; NULL when the peer may send none
 * @frame_bytes: of each request's frame, zeroed at first, at most 8 KiB
 * @reply: writes an answer; needed with @request
 * @fail: writes that a request has failed; NULL to close the channel, by
 *   gyre_context_fire_exception()
 * @request_barrier: chooses requests that are handled alone: after all before them were answered,
 *   and before all behind them begin; NULL for none
 * @requests_max: requests of the peer in flight: begun, and not answered in writing; 0 for 1
 * @requests_pending_max: that wait for their turn, before the channel stops reading; 0 for 64
 * @any_order: write answers as requests finish, and not in the order of these
 * @ask: writes a question of an actor; NULL when they may ask none
 * @ask_barrier: chooses questions that are written alone: after all before them were answered, and
 *   before all behind them; NULL for none
 * @asks_max: questions in flight; 0 for 1
 * @asks_pending_max: that wait for their turn; one more fails with -ENOBUFS. 0 for 1024
 * @ask_stall_ns: how long the oldest question in flight may be the oldest and have no answer, from
 *   1 ms to 86400 s; then the channel is closed with -ETIMEDOUT, and all questions fail with that.
 *   0 for 30 s, GYRE_ASK_STALL_NEVER for no limit. A peer that leaves out one answer would else
 *   have all later ones taken for those before them, or for none. With @ids it closes a channel on
 *   which no answer at all has come for so long behind a question. A question that is asked with
 *   GYRE_FOREVER may take its time. It counts from the connection on, and not while the channel
 *   does not read by its own will: with @manual_read, for lack of memory, or since too many
 *   requests are pending
 * @ids: give each question an id, so that answers may come in any order
 * @id_max: the largest id, at least @asks_max; after it they begin again with 1. 0 for 2^32 - 1
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
 * struct gyre_exchange_load - how much an exchange has to do
 * @requests: of the peer, in flight, with those whose answers wait to be written
 * @requests_pending: that wait for their turn
 * @asks: written, and not answered
 * @asks_pending: that wait for their turn
 */
struct gyre_exchange_load {
	uint32_t requests;
	uint32_t requests_pending;
	uint32_t asks;
	uint32_t asks_pending;
};

/**
 * gyre_exchange_open() - lets a channel exchange messages
 * @ctx: the place of the protocol's handler, mostly inside its @added
 * @options: what and how; not copied
 *
 * A channel has one exchange at a time. It ends with the channel, or when the handler is removed
 * from the pipeline. Then all that is pending or in flight fails: asks with the reason of the
 * channel, or -EPIPE when it has none. Requests that are being handled run on, and their answers
 * are dead letters.
 *
 * When the peer sends no more, or the system drains, the requests that have come are still answered
 * before the channel closes or handlers hear of gyre_input_closed.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EEXIST  the channel has one
 *   -EINVAL  @ctx or @options is NULL, or a field is out of its bounds
 *   -ENOMEM  there is no memory
 *   -EPIPE   the channel is closed or closing
 * Ownership: @options stays the caller's, and must outlive the channel.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_open(struct gyre_handler_context *ctx,
				const struct gyre_exchange_options *options);

/**
 * gyre_exchange_receive() - has a request of the peer handled
 * @ctx: where in the pipeline it was decoded
 * @id: for @reply or @fail; of no meaning to the exchange
 * @mail: the request, made with gyre_context_stack()
 *
 * It is handled after this call. @request sees the channel as the sender: see
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
 * gyre_exchange_context() - the place of the protocol's handler, for what handles a request
 * @stack: the stack of @request, also after it was suspended
 *
 * Return: the place, for gyre_context_arg() and gyre_context_channel(); or NULL.
 * Errors:
 *   NULL  the channel has closed meanwhile, or this is no such stack (the errno for it is -ESRCH)
 * Ownership: stays the pipeline's; valid until the handler returns or suspends.
 * Context: loop thread, phase 2, inside @request.
 * Since: 0.1
 */
GYRE_API struct gyre_handler_context *gyre_exchange_context(const struct gyre_stack *stack);

/**
 * gyre_exchange_answer() - gives the oldest ask in flight its answer
 * @ctx: where in the pipeline it was decoded
 * @mail: the answer, made with gyre_context_stack()
 *
 * For protocols that answer in order. An asker whose time-out has passed does not see it: it is
 * dropped there and counted (GYRE_DROP_LATE), for the ask has kept its place. One that never comes
 * closes the channel: see @ask_stall_ns.
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  the channel has no exchange
 *   -ENOMEM  @mail is NULL: it could not be made; the ask has failed with -ENOMEM
 *   -EPROTO  nothing is in flight: the channel's handlers, and if none keeps it the channel's end,
 *            have that for a reason; or the ask demands another type of answer, and has failed
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
 * An ask whose time-out has passed gives up its place in flight when another one needs that. Its
 * answer, if it comes after all, is dropped and counted (GYRE_DROP_LATE); of such, the latest 1024
 * are known.
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
 * gyre_exchange_refuse() - fails the oldest ask in flight, as the peer has answered with an error
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
 * gyre_exchange_refuse_id() - fails the ask with an id, as the peer has answered with an error
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

/**
 * gyre_exchange_look() - how much a channel's exchange has to do
 * @ctx: a place in its pipeline
 * @ret_load: how much
 *
 * Return: 0, or a negative errno.
 * Errors:
 *   -EINVAL  an argument is NULL, or the channel has no exchange
 * Ownership: nothing changes hands.
 * Context: loop thread, phase 2, on the channel's loop.
 * Since: 0.1
 */
GYRE_API int gyre_exchange_look(const struct gyre_handler_context *ctx,
				struct gyre_exchange_load *ret_load);

GYRE_END_DECLS

#endif
