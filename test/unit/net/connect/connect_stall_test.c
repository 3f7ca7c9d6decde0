/* A server that leaves out an answer: its client connects anew, and asks go on. */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/exchange.h>
#include <gyre/outside.h>
#include <gyre/request.h>

#include "net/client_rig.h"

TestSuite(connect_stall, .timeout = 60, .init = client_begin, .fini = client_end);

struct digit {
	unsigned char value;
};
GYRE_MESSAGE(digit, 0x2001);

struct which {
	unsigned char value;
};
GYRE_REQUEST(which, 0x2002, digit);

static struct gyre_address channel; /* read by the test behind the report of its opening */

static int write_question(struct gyre_handler_context *ctx, uint64_t id,
			  const struct gyre_type *type, const void *message)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)id;
	expect(type->id == GYRE_ID(which));
	expect(gyre_buffer_append(buffer, &((const struct which *)message)->value, 1) == 0);
	return gyre_context_write(ctx, buffer);
}

/* Only the first connection is impatient: on a busy machine the server's thread may take long. */
static const struct gyre_exchange_options exchanges[2] = {
	{ .ask = write_question, .ask_stall_ns = GYRE_MILLISECONDS(50) },
	{ .ask = write_question, .ask_stall_ns = GYRE_SECONDS(30) },
};

static int begin_exchange(struct gyre_handler_context *ctx)
{
	static uint32_t connections; /* all are of one loop */

	channel = gyre_channel_address(gyre_context_channel(ctx));
	return gyre_exchange_open(ctx, &exchanges[connections++ > 0]);
}

static void take_answer(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char value;

	while (gyre_buffer_read(data, &value, 1) == 1) {
		expect(gyre_exchange_answer(
			       ctx, gyre_new(gyre_context_stack(ctx), digit, .value = value)) == 0);
	}
	gyre_buffer_destroy(data);
}

static const struct gyre_handler protocol = { .name = "protocol",
					      .added = begin_exchange,
					      .read = take_answer };

static int init(struct gyre_channel *of, void *arg)
{
	(void)arg;
	return gyre_pipeline_add(of, GYRE_LAST, &protocol, NULL);
}

/* A server's thread: takes one question, and answers with the value after it. */
static void *serve_one(void *arg)
{
	int fd = *(const int *)arg;
	unsigned char value;

	expect(recv(fd, &value, 1, MSG_WAITALL) == 1);
	value++;
	expect(send(fd, &value, 1, MSG_NOSIGNAL) == 1);
	return NULL;
}

static int ask(unsigned char value, unsigned char *ret_value)
{
	struct gyre_mail *answer = NULL;
	int r = gyre_system_ask(fixture.system, channel,
				gyre_system_new(fixture.system, which, .value = value), 0, &answer);

	if (r == 0) {
		*ret_value = gyre_mail_get(answer, digit)->value;
		gyre_mail_destroy(NULL, answer);
	}
	return r;
}

Test(connect_stall, ends_the_connection_and_the_next_one_serves)
{
	uint16_t port;
	int fd = client_listen(&port);
	struct gyre_connect_options options = client_options(port);
	unsigned char value = 0;
	pthread_t server;
	int connections[2];

	options.init_channel = init;
	options.retries_max = GYRE_RETRIES_UNLIMITED;
	options.retry_min_ns = GYRE_MILLISECONDS(1);
	(void)client_connect(&options);
	connections[0] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	(void)client_until(GYRE_CONNECTION_OPEN);
	cr_expect_eq(ask(1, &value), -ETIMEDOUT);
	cr_expect_eq(client_until(GYRE_CONNECTION_CLOSED).reason, -ETIMEDOUT);
	connections[1] = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	(void)client_until(GYRE_CONNECTION_OPEN);
	cr_assert_eq(pthread_create(&server, NULL, serve_one, &connections[1]), 0);
	cr_expect_eq(ask(5, &value), 0);
	cr_expect_eq(value, 6);
	(void)pthread_join(server, NULL);
	(void)close(fd);
	(void)close(connections[0]);
	(void)close(connections[1]);
}
