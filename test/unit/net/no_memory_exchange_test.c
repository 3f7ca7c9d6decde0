/*
 * Exchanges while there is no memory, from each allocation on: pipelined requests are answered in
 * order, or their channel is closed; an ask is answered, or has failed.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/exchange.h>
#include <gyre/request.h>

#include "actor/life/lifecycle.h"
#include "actor/stack/stack.h"
#include "net/no_memory_rig.h"

TestSuite(no_memory_exchange, .timeout = 120);

enum { REQUESTS = 20, ANSWER = 50000 };

struct part {
	uint64_t number;
};
GYRE_MESSAGE(part, 0x2011);

struct wish {
	uint64_t number;
};
GYRE_REQUEST(wish, 0x2012, part);

/* ---- requests of the peer ---- */

static int serve(struct gyre_stack *stack)
{
	return gyre_reply(stack,
			  gyre_new(stack, part, .number = gyre_message(stack, wish)->number));
}

/* The stream of all answers is that of the rig. */
static int write_part(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		      const void *message)
{
	static unsigned char bytes[ANSWER];
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)id;
	(void)type;
	rig_fill(bytes, ANSWER, ((const struct part *)message)->number * ANSWER);
	if (gyre_buffer_append(buffer, bytes, ANSWER) < 0) {
		gyre_buffer_destroy(buffer);
		return -ENOMEM;
	}
	return gyre_context_write(ctx, buffer);
}

static void take_wish(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char number;

	while (gyre_buffer_read(data, &number, 1) == 1) {
		(void)gyre_exchange_receive(
			ctx, 0, gyre_new(gyre_context_stack(ctx), wish, .number = number));
	}
	gyre_buffer_destroy(data);
}

static int begin_exchange(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(ctx, (const struct gyre_exchange_options *)gyre_context_arg(ctx));
}

static const struct gyre_handler server = { .name = "server",
					    .added = begin_exchange,
					    .read = take_wish };
static const struct gyre_handler *const server_only[] = { &server, NULL };

static bool has_come(struct rig *rig, void *arg)
{
	struct rig_stream *stream = (struct rig_stream *)arg;

	(void)rig;
	rig_stream_receive(stream);
	return stream->received == stream->total || stream->wrong || stream->ended;
}

static bool answer_many(const struct lean_round *round)
{
	static struct gyre_exchange_options options = { .request = serve,
							.reply = write_part,
							.requests_max = 8 };
	struct rig_stream stream = { .total = REQUESTS * ANSWER };
	unsigned char numbers[REQUESTS];
	bool lacked;

	stream.fd = rig_open(&lean_rig, server_only, &options, NULL, NULL);
	for (unsigned char i = 0; i < REQUESTS; i++) {
		numbers[i] = i;
	}
	rig_settle(&lean_rig);
	lean_begin(round);
	cr_assert_eq(send(stream.fd, numbers, REQUESTS, MSG_NOSIGNAL), REQUESTS);
	lacked = lean_recover();
	cr_expect(rig_until_later(&lean_rig, has_come, &stream), "round %u", round->number);
	cr_expect_not(stream.wrong);
	cr_expect(lacked || stream.received == stream.total);
	(void)close(stream.fd);
	return lacked;
}

Test(no_memory_exchange, is_answered_in_order_or_closed)
{
	lean_play(answer_many);
}

/* ---- asks of actors ---- */

static struct gyre_address peer;
static int asked; /* 1 while it waits */

struct asking_frame {
	struct gyre_future future;
};

static int ask_it(struct gyre_stack *stack)
{
	struct asking_frame *frame = (struct asking_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	asked = 1;
	GYRE_AWAIT(stack,
		   gyre_ask(stack, peer, gyre_new(stack, wish, .number = 3), 0, &frame->future));
	asked = gyre_future_error(&frame->future);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct asking_frame),
						.behaviour = { .notice = ask_it } };

static int write_wish(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		      const void *message)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)id;
	(void)type;
	(void)message;
	if (gyre_buffer_append(buffer, "?", 1) < 0) {
		gyre_buffer_destroy(buffer);
		return -ENOMEM;
	}
	return gyre_context_write(ctx, buffer);
}

static void take_part(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char byte;

	while (gyre_buffer_read(data, &byte, 1) == 1) {
		(void)gyre_exchange_answer(ctx,
					   gyre_new(gyre_context_stack(ctx), part, .number = byte));
	}
	gyre_buffer_destroy(data);
}

static const struct gyre_handler client = { .name = "client",
					    .added = begin_exchange,
					    .read = take_part };
static const struct gyre_handler *const client_only[] = { &client, NULL };

/* The far end answers what comes. */
static bool has_ended(struct rig *rig, void *arg)
{
	int fd = *(const int *)arg;
	char byte;

	(void)rig;
	if (recv(fd, &byte, 1, MSG_DONTWAIT) == 1) {
		(void)send(fd, "!", 1, MSG_NOSIGNAL);
	}
	return asked != 1;
}

static bool ask_once(const struct lean_round *round)
{
	static struct gyre_exchange_options options = { .ask = write_wish };
	struct gyre_address asker;
	struct gyre_channel *channel;
	struct gyre_mail *mail;
	bool lacked;
	int fd = rig_open(&lean_rig, client_only, &options, NULL, &channel);

	peer = gyre_channel_address(channel);
	cr_assert_eq(gy_spawn(&lean_rig.home, &(struct gy_spawn_order){ .class = &asking_class }, 0,
			      &asker),
		     0);
	rig_settle(&lean_rig);
	mail = gyre_new(&rig_stack(&lean_rig)->head, part, .number = 1);
	asked = 1;
	lean_begin(round);
	cr_assert_eq(gyre_notify(&rig_stack(&lean_rig)->head, asker, mail), 0);
	lacked = lean_recover();
	if (lean_rig.home.counters.dropped[GYRE_DROP_NO_MEMORY] == 0) {
		cr_expect(rig_until_later(&lean_rig, has_ended, &fd), "round %u", round->number);
		cr_expect(lacked || asked == 0);
	}
	(void)close(fd);
	return lacked;
}

Test(no_memory_exchange, is_asked_and_answers_or_fails)
{
	lean_play(ask_once);
}
