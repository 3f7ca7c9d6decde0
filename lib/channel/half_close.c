/*
 * Half-closing. A stream has two directions, and each ends by itself: a peer that has sent all of
 * its request may go on reading the answer, and so may we.
 *
 *              it ends                               the other side of the channel
 *   input      a receive finds the end (input.c),    hears of it when everything before the end
 *              the connection is gone                has been delivered, deferred calls have run
 *              (reset_watch.c), TLS got a            and requests are answered: handlers get
 *              close_notify (tls.c), or a drain      gyre_input_closed (GY_INPUT_END_TOLD)
 *              ended it (GY_INPUT_ENDED)
 *   output     gyre_context_shutdown() was called    hears of it when everything that was written
 *              (GY_OUTPUT_SHUTDOWN)                  before has been sent: the peer reads the end
 *                                                    (GY_OUTPUT_SHUTDOWN_DONE)
 *
 * By default the end of the input is the end of the channel: it closes in good order, which means
 * that queued output is still sent; see linger.c. With allow_half_close it goes on writing until
 * its handlers close it, or shut its output down: when both ends have come it closes by itself. A
 * drain gives handlers the event for their last words, and then closes the channel in either case.
 *
 * An error ends the input too, but is no half-closing: the channel is aborted, after bytes that
 * came before the error have been delivered.
 *
 * Handlers that keep bytes until a frame is complete hear of the peer's end before all that, by
 * @read_end, and may deliver what they have kept. What they do then may keep the end from others as
 * bytes do: a last frame that waits to be read, a request that is to be answered. An end that is
 * not the peer's is none of what it has sent: there bytes may be missing, and @read_end is not
 * called.
 *
 * A handler that shuts its output down first goes on reading. A pipe with one end only begins with
 * the other direction ended: see file/pipe.c.
 */
#include "channel/half_close.h"

#include <errno.h>
#include <sys/socket.h>

#include "channel/channel.h"
#include "channel/channel_mailbox.h"

/* ---- the end of the input ---- */

void gy_half_close_peer_ended(struct gyre_channel *channel)
{
	gy_channel_set_input(channel, GY_INPUT_ENDED | GY_INPUT_PEER_ENDED, 0);
}

/* Handlers that know of an end do not know of the error. */
void gy_half_close_input_failed(struct gyre_channel *channel, int reason)
{
	gy_assert(reason < 0);
	gy_channel_set_reason(channel, reason);
	gy_channel_set_input(channel, GY_INPUT_ENDED | GY_INPUT_FAILED, GY_INPUT_END_TOLD);
}

/* Whether the input has ended, handlers do not know, and have had all that came before. */
static bool is_end_due(const struct gyre_channel *channel)
{
	return (channel->state & (GY_INPUT_ENDED | GY_INPUT_END_TOLD)) == GY_INPUT_ENDED &&
	       channel->input.first == NULL && gy_list_empty(&channel->deferred_list) &&
	       !gy_channel_mailbox_owes_answers(channel);
}

/* Whether handlers are to hear of @read_end, and have not. */
static bool is_read_end_due(const struct gyre_channel *channel)
{
	return !channel->told_read_end &&
	       (channel->state & (GY_INPUT_FAILED | GY_INPUT_DRAINED)) == 0;
}

/* Returns whether the end is still due afterwards. */
static bool tell_read_end(struct gyre_channel *channel)
{
	channel->told_read_end = true;
	gyre_context_fire_read_end(&channel->pipeline.head.head);
	return !gy_channel_is_ending(channel) && is_end_due(channel);
}

void gy_half_close_notify(struct gyre_channel *channel)
{
	struct gyre_input_closed event;

	gy_assert(!gy_channel_is_ending(channel));
	if (!is_end_due(channel) || (is_read_end_due(channel) && !tell_read_end(channel))) {
		return;
	}
	event.draining = (channel->state & GY_INPUT_DRAINED) != 0;
	gy_channel_set_input(channel, GY_INPUT_END_TOLD, 0);
	if ((channel->state & GY_INPUT_FAILED) != 0) {
		gy_channel_raise_stage(channel, GY_CHANNEL_ABORTED);
		return;
	}
	if (channel->half_close) {
		gyre_context_fire_event(&channel->pipeline.head.head, &gyre_type_gyre_input_closed,
					&event);
	}
	if (!channel->half_close || event.draining != 0) {
		gy_channel_raise_stage(channel, GY_CHANNEL_CLOSING);
	}
}

/* ---- the end of the output ---- */

void gy_half_close_shut_down(struct gyre_channel *channel)
{
	gy_channel_set_output(channel, GY_OUTPUT_SHUTDOWN, 0);
	gy_channel_ready(channel);
}

static void sent_end(struct gy_op *op, const struct gy_completion *completion)
{
	struct gyre_channel *channel = gy_container_of(op, struct gyre_channel, control);

	if (completion->result < 0 && completion->result != -ENOTCONN) {
		gy_channel_fail(channel, completion->result);
	}
	gy_assert(channel->output.first == NULL);
	gy_channel_set_output(channel, GY_OUTPUT_SHUTDOWN_DONE, 0);
	gy_channel_ready(channel);
}

void gy_half_close_send_end(struct gyre_channel *channel)
{
	int r;

	if ((channel->state & GY_OUTPUT_SHUTDOWN_DONE) != 0 || channel->output.first != NULL ||
	    channel->control.armed) {
		return;
	}
	gy_op_init(&channel->control, sent_end);
	if (channel->kind->shutdown != NULL) {
		r = channel->kind->shutdown(channel);
	} else {
		r = gy_ring_shutdown(channel->channels->pools.ring, &channel->control,
				     channel->endpoint.fd, SHUT_WR);
	}
	if (r < 0) {
		gy_endpoint_ready(&channel->endpoint); /* to be tried again */
	}
}

void gy_half_close_update(struct gyre_channel *channel)
{
	const uint32_t both = GY_OUTPUT_SHUTDOWN_DONE | GY_INPUT_END_TOLD;

	gy_assert((channel->state & GY_OUTPUT_SHUTDOWN) != 0);
	if ((channel->state & both) == both) {
		gy_channel_end_in_order(channel);
	} else {
		gy_half_close_send_end(channel);
	}
}
