/* Asks through TLS: longer than the cap, and written before the two sides have agreed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/exchange.h>
#include <gyre/request.h>

#include "../rig.h"
#include "../tls/tls_rig.h"
#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"

TestSuite(exchange_tls, .timeout = 60);

enum { QUESTION = 3 << 20, PIECE = 1 << 16 }; /* the cap is a third of it */

struct digit {
	int64_t value;
};
GYRE_MESSAGE(digit, 0x1081);

struct which {
	int64_t value;
};
GYRE_REQUEST(which, 0x1082, digit);

static struct rig rig;
static struct tls_certs certs;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static int wires[2];
static struct gyre_address channel;
static uint64_t received; /* by the server */
static bool wrong;
static int asked; /* 1 while it waits */

/* ---- the client ---- */

static int write_question(struct gyre_handler_context *ctx, uint64_t id,
			  const struct gyre_type *type, const void *message)
{
	static unsigned char bytes[QUESTION];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)id;
	(void)type;
	(void)message;
	rig_fill(bytes, QUESTION, 0);
	cr_assert_eq(gyre_buffer_append(buffer, bytes, QUESTION), 0);
	return gyre_context_write(ctx, buffer);
}

static const struct gyre_exchange_options exchange = { .ask = write_question };

static int begin_exchange(struct gyre_handler_context *ctx)
{
	channel = gyre_channel_address(gyre_context_channel(ctx));
	return gyre_exchange_open(ctx, &exchange);
}

static void take_answer(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gyre_buffer_destroy(data);
	cr_assert_eq(
		gyre_exchange_answer(ctx, gyre_new(gyre_context_stack(ctx), digit, .value = 7)), 0);
}

static const struct gyre_handler client = { .name = "client",
					    .added = begin_exchange,
					    .read = take_answer };
static const struct gyre_handler *const client_only[] = { &client, NULL };

struct asking_frame {
	struct gyre_future future;
};

static int ask(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	asked = 1;
	GYRE_AWAIT(stack, gyre_ask(stack, channel, gyre_new(stack, which, .value = 1), GYRE_FOREVER,
				   &frame->future));
	asked = gyre_future_error(&frame->future);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct asking_frame),
						.mount = ask };

/* ---- the server ---- */

static void take_question(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char bytes[4096];
	struct gyre_buffer *answer;
	size_t count;

	while ((count = gyre_buffer_read(data, bytes, sizeof(bytes))) > 0) {
		wrong = wrong || !rig_check(bytes, count, received);
		received += count;
	}
	gyre_buffer_destroy(data);
	if (received == QUESTION) {
		answer = gyre_context_buffer(ctx);
		cr_assert_eq(gyre_buffer_append(answer, "!", 1), 0);
		(void)gyre_context_write(ctx, answer);
	}
}

static const struct gyre_handler server = { .name = "server", .read = take_question };
static const struct gyre_handler *const server_only[] = { &server, NULL };

/* No more than the other wire takes. */
static void carry(int from, int to)
{
	static unsigned char bytes[PIECE];
	ssize_t got = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK);
	ssize_t sent = got <= 0 ? 0 : send(to, bytes, (size_t)got, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent > 0) {
		cr_assert_eq(recv(from, bytes, (size_t)sent, MSG_DONTWAIT), sent);
	}
}

static bool has_ended(struct rig *of, void *arg)
{
	(void)of;
	(void)arg;
	carry(wires[0], wires[1]);
	carry(wires[1], wires[0]);
	return asked != 1;
}

Test(exchange_tls, brings_a_question_that_is_longer_than_the_cap_and_waits_for_the_handshake)
{
	struct gyre_address asker;
	struct gyre_channel *of;

	rig_init(&rig, NULL);
	tls_certs_open(&certs);
	server_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&certs.server, NULL) };
	client_options = (struct gyre_tls_options){ .context = tls_rig_context(NULL, &certs.ca),
						    .server_name = "localhost" };
	wires[0] = rig_open(&rig, server_only, NULL, NULL, &of);
	cr_assert_eq(gyre_tls_server_add(of, GYRE_FIRST, &server_options), 0);
	wires[1] = rig_open(&rig, client_only, NULL, NULL, &of);
	cr_assert_eq(gyre_tls_client_add(of, GYRE_FIRST, &client_options), 0);
	cr_assert_eq(
		gy_spawn(&rig.home, &(struct gy_spawn_order){ .class = &asking_class }, 0, &asker),
		0);
	rig_settle(&rig);
	cr_assert_eq(asked, 1);
	cr_expect_geq(gyre_channel_queued_bytes(of), QUESTION, "it waits for the handshake");
	cr_assert(rig_until(&rig, has_ended, NULL), "%lu came", received);
	cr_expect_eq(asked, 0, "%d", asked);
	cr_expect_eq(received, QUESTION);
	cr_expect_not(wrong);
	(void)close(wires[0]);
	(void)close(wires[1]);
	rig_fini(&rig);
	gyre_tls_context_unref(server_options.context);
	gyre_tls_context_unref(client_options.context);
	tls_certs_close(&certs);
}
