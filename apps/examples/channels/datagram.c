/*
 * Datagrams: a UDP server that answers each sender with its address, as a STUN server does.
 *
 * The peer of a buffer that was read is its sender; a buffer that is written goes to its peer. Each
 * loop has a socket, and each socket an actor, whose state counts the answers: no two loops write
 * to one number. The argument is where to listen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct stun {
	uint64_t answers;
};

static const struct gyre_class stun_class = { .name = "stun", .state_bytes = sizeof(struct stun) };

static void answer(struct gyre_handler_context *ctx, struct gyre_buffer *datagram)
{
	struct stun *stun = gyre_channel_actor_state(gyre_context_channel(ctx));
	const struct gyre_socket_address *peer = gyre_buffer_peer(datagram);
	struct gyre_buffer *reply = gyre_context_buffer(ctx);
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];

	if (gyre_socket_address_format(peer, sizeof(text), text) > 0 &&
	    gyre_buffer_printf(reply, "answer %" PRIu64 ": %s", ++stun->answers, text) >= 0 &&
	    gyre_buffer_set_peer(reply, peer) == 0) {
		(void)gyre_context_write(ctx, reply);
	} else {
		gyre_buffer_destroy(reply);
	}
	gyre_buffer_destroy(datagram);
}

static const struct gyre_handler handler = { .read = answer };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_datagram_options options = {
		.bind = argc > 1 ? argv[1] : "udp://127.0.0.1:0",
		.init_channel = init_channel,
		.actor_class = &stun_class,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_datagram_open(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
