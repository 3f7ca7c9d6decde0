/*
 * The two ends of a stream, which need not come together; see half_close.c.
 */
#ifndef GY_CHANNEL_HALF_CLOSE_H
#define GY_CHANNEL_HALF_CLOSE_H

struct gyre_channel;

/* ---- the end of the input ---- */

/* The peer has ended its side. Phase 1. */
void gy_half_close_peer_ended(struct gyre_channel *channel);
/* The input ended by an error: what came before it is still delivered. Phase 1. */
void gy_half_close_input_failed(struct gyre_channel *channel, int reason);
/* Tells the handlers of the end, once they have had all that came before it. Phase 2. */
void gy_half_close_notify(struct gyre_channel *channel);

/* ---- the end of the output ---- */

/* Nothing more is taken; the peer is told behind what is queued. Any phase. */
void gy_half_close_shut_down(struct gyre_channel *channel);
/* Tells the peer, if nothing is queued any more and it has not been told. Phase 2. */
void gy_half_close_send_end(struct gyre_channel *channel);
/* After a shutdown: sends the end, or closes the channel when both ends have come. Phase 2. */
void gy_half_close_update(struct gyre_channel *channel);

#endif
