/*
 * Connections that have an actor each: a server of requests, which are answered by the handler of
 * the pipeline, or by the connection's actor, to which the handler sends each. Both
 * change the same state, of 64 bytes, and answer with the request's bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

#include "common/options.h"
#include "server.h"

struct settings {
	struct perf_server server;
	const char *answer;
	int64_t bytes;
};

struct session {
	uint64_t requests;
	uint64_t bytes;
	uint64_t rest[6];
};

struct request {
	uint32_t bytes;
	char data[];
};
GYRE_MESSAGE_TAIL(request, 0x100, data, bytes);

static const struct settings *current;

static void answer(struct session *session, struct gyre_handler_context *ctx, const void *bytes,
		   size_t count)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	session->requests++;
	session->bytes += count;
	if (gyre_buffer_append(buffer, bytes, count) < 0) {
		gyre_buffer_destroy(buffer);
		gyre_channel_abort(gyre_context_channel(ctx), -ENOMEM);
		return;
	}
	(void)gyre_context_write(ctx, buffer);
}

static int take_request(struct gyre_stack *stack)
{
	const struct request *request = gyre_message(stack, request);
	struct gyre_channel *channel = gyre_actor_channel(stack);

	if (channel != NULL) {
		answer(gyre_state(stack), gyre_channel_tail(channel), request->data,
		       request->bytes);
	}
	return gyre_return(stack);
}

static const struct gyre_class session_class = { .name = "session",
						 .state_bytes = sizeof(struct session),
						 .behaviour.notice = take_request };

static void answer_here(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	size_t count = gyre_buffer_bytes(data);
	const void *bytes;

	if (gyre_buffer_linear(data, count, &bytes) == 0) {
		answer(gyre_channel_actor_state(gyre_context_channel(ctx)), ctx, bytes, count);
	}
	gyre_buffer_destroy(data);
}

static void pass_on(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	size_t count = gyre_buffer_bytes(data);
	struct gyre_mail *mail = gyre_new_tail(stack, request, count);

	if (mail != NULL) {
		(void)gyre_buffer_copy(data, 0, ((struct request *)gyre_payload(mail))->data,
				       count);
	}
	gyre_buffer_destroy(data);
	(void)gyre_notify(stack, gyre_self(stack), mail);
}

static int init_channel(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler here = { .name = "session", .read = answer_here };
	static const struct gyre_handler there = { .name = "session", .read = pass_on };
	const struct gyre_fixed_options requests = { .frame_bytes = (size_t)current->bytes };
	int r = current->bytes == 0 ? 0 : gyre_fixed_codec_add(channel, GYRE_LAST, &requests);

	return r < 0 ? r
		     : gyre_pipeline_add(channel, GYRE_LAST,
					 strcmp(current->answer, "actor") == 0 ? &there : &here,
					 arg);
}

int main(int argc, char **argv)
{
	static struct settings settings = { .server = { .bind = "tcp://127.0.0.1:7000",
							.loops = 1 },
					    .answer = "pipeline",
					    .bytes = 64 };
	struct perf_option options[] = {
		[PERF_SERVER_OPTIONS] = { .name = "answer",
					  .kind = PERF_OPTION_CHOICE,
					  .help = "who answers",
					  .value = &settings.answer,
					  .choices = "pipeline|actor" },
		{ .name = "size",
		  .kind = PERF_OPTION_NUMBER,
		  .help = "bytes of a request; 0: each read is one",
		  .value = &settings.bytes,
		  .min = 0,
		  .max = 32768 },
	};
	const struct gyre_acceptor_options acceptor = { .init_channel = init_channel,
							.actor_class = &session_class };
	struct gyre_counters counters = { 0 };
	int status;

	perf_server_options(&settings.server, options);
	perf_options_parse(argc, argv, "A server whose connections have an actor each.", options,
			   sizeof(options) / sizeof(*options));
	current = &settings;
	status = perf_serve(&settings.server, &acceptor, &counters);
	(void)printf("{\"io_uring_enters\": %llu, \"allocations\": %llu}\n",
		     (unsigned long long)counters.enters, (unsigned long long)counters.allocations);
	return status;
}
