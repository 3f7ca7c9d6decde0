/*
 * What the tests of several floors share about servers: channels that send back what they get, and
 * how a client sees that.
 */
#ifndef GY_TEST_ECHO_H
#define GY_TEST_ECHO_H

#include <stdbool.h>

#include <gyre/channel.h>
#include <gyre/pipeline.h>

/* For handlers that do more than this. */
void echo_read(struct gyre_handler_context *ctx, struct gyre_buffer *data);

extern const struct gyre_handler echo_handler;

/* An initialiser: a channel with that handler. */
int init_echo(struct gyre_channel *channel, void *arg);

/* Whether a byte that a client sends comes back; for sockets that block. */
bool echoes(int fd);

#endif
