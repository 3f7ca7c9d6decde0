/*
 * TLS: an encrypted echo server, which greets with the version and the cipher.
 *
 *	gyre-example-tls CHAIN.pem KEY.pem [ADDRESS]
 *
 * The handler of TLS stands next to the head; those behind it see plain bytes. Try it with openssl
 * s_client.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

static void greet(struct gyre_handler_context *ctx, const struct gyre_type *type, const void *event)
{
	const struct gyre_tls_session *session = event;
	struct gyre_buffer *line = gyre_context_buffer(ctx);
	char text[128];
	int bytes;

	if (type->id != GYRE_ID(gyre_tls_session)) {
		gyre_buffer_destroy(line);
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	bytes = snprintf(text, sizeof(text), "hello by TLS 1.%d, %s\n", (int)session->version,
			 session->cipher);
	if (gyre_buffer_append(line, text, (size_t)bytes) < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
	}
	(void)gyre_context_write(ctx, line);
}

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)gyre_context_write(ctx, data);
}

static const struct gyre_handler handler = { .read = echo, .event = greet };

static int init_channel(struct gyre_channel *channel, void *tls)
{
	int r = gyre_tls_server_add(channel, GYRE_FIRST, tls);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, NULL);
}

/* Of @tls all channels know, so it must outlive the system. */
static int serve(struct gyre_system *system, char **arguments, struct gyre_tls_options *tls)
{
	const struct gyre_tls_context_options files = { .certificate = arguments[0],
							.key = arguments[1] };
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = arguments[2] != NULL ? arguments[2] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.init_arg = tls,
		.ret_port = &port,
	};
	int r = gyre_tls_context_create(system, &files, &tls->context);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct gyre_tls_options tls = { 0 };
	struct gyre_system *system = NULL;
	int r;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: gyre-example-tls CHAIN.pem KEY.pem [ADDRESS]\n");
		return EXIT_FAILURE;
	}
	r = gyre_system_create(NULL, &system);
	r = r < 0 ? r : serve(system, argv + 1, &tls);
	gyre_system_destroy(system);
	gyre_tls_context_unref(tls.context);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
