/*
 * Actors on every loop, and a foreign thread, send to channels of all loops while these open and
 * close: messages that own something, asks to the peer, and bytes; and they close channels. The
 * addresses they know are mostly stale. Each message must be destroyed once, and those of one
 * sender must come in order; each ask must end. The peers send back what they get: that answers
 * asks, and all else comes as requests, of which some wait and some fail.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>

#include <gyre/exchange.h>
#include <gyre/listen.h>

#include "board.h"

enum { LOOPS = 3, LANES = 6, STEPS = 6000, CLIENTS = 4, SENDERS = LOOPS * LANES + 1 };

/* ---- what is sent ---- */

struct goods {
	uint64_t *values; /* of the heap: the sender, and the number of the message */
};

static int64_t goods_alive; /* atomic */

static void goods_destroy(struct goods *goods)
{
	if (goods->values != NULL) {
		free(goods->values);
		(void)gy_fetch_add(&goods_alive, -1);
	}
}
GYRE_MESSAGE_OWNING(goods, 0x2121, goods_destroy);

struct echoed {
	uint64_t value;
};
GYRE_MESSAGE(echoed, 0x2122);

struct lane {
	uint32_t index;
};
GYRE_MESSAGE(lane, 0x2123);

#define ANSWERED UINT64_MAX

/* What goes over the wire. */
struct frame {
	uint64_t id; /* of an ask; 0 for a request of the peer, ANSWERED for the answer to one */
	uint64_t value;
};

static struct goods goods_of(uint64_t sender, uint64_t number)
{
	struct goods goods = { .values = (uint64_t *)malloc(2 * sizeof(uint64_t)) };

	check(goods.values != NULL);
	goods.values[0] = sender;
	goods.values[1] = number;
	(void)gy_fetch_add(&goods_alive, 1);
	return goods;
}

/* ---- the addresses that are known ---- */

static struct board board = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* ---- channels ---- */

struct peer {
	uint64_t last[SENDERS]; /* number of the latest message of each */
	struct frame frame;
	size_t frame_bytes;
	uint64_t requests;
};

static uint64_t came;	  /* atomic: messages that reached a handler */
static uint64_t handled;  /* atomic: requests */
static uint64_t answered; /* atomic: asks that a peer has answered */

static struct peer *peer_of(const struct gyre_handler_context *ctx)
{
	return *(struct peer **)gyre_context_arg(ctx);
}

static int write_ask(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		     const void *message)
{
	const struct frame frame = { id, ((const struct echoed *)message)->value };
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	check(type->id == GYRE_ID(echoed));
	check(gyre_buffer_append(buffer, &frame, sizeof(frame)) == 0);
	return gyre_context_write(ctx, buffer);
}

struct request_frame {
	struct gyre_future future;
};

/* Answers at once, later, or not at all. */
static int handle(struct gyre_stack *stack)
{
	struct request_frame *frame = (struct request_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	if (gyre_message(stack, echoed)->value % 4 == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, 1000000, &frame->future));
		if (gyre_exchange_context(stack) == NULL) {
			return gyre_throw(stack, -EPIPE);
		}
	}
	(void)gy_fetch_add(&handled, 1);
	if (gyre_message(stack, echoed)->value % 7 == 0) {
		return gyre_throw(stack, -EIO);
	}
	return gyre_reply(stack, gyre_new(stack, echoed, .value = 1));
	GYRE_END(stack);
}

static int write_answer(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
			const void *message)
{
	(void)id;
	return write_ask(ctx, ANSWERED, type, message);
}

static void write_failure(struct gyre_handler_context *ctx, uint64_t id, int error)
{
	const struct echoed nothing = { 0 };

	check(error == -EIO || error == -EPIPE);
	(void)write_answer(ctx, id, &gyre_type_echoed, &nothing);
}

static const struct gyre_exchange_options exchange = {
	.request = handle,
	.frame_bytes = sizeof(struct request_frame),
	.reply = write_answer,
	.fail = write_failure,
	.requests_max = 4,
	.any_order = true,
	.ask = write_ask,
	.asks_max = 16,
	.ids = true,
};

static int begin(struct gyre_handler_context *ctx)
{
	struct peer **peer = (struct peer **)gyre_context_arg(ctx);

	*peer = (struct peer *)calloc(1, sizeof(**peer));
	check(*peer != NULL);
	return gyre_exchange_open(ctx, &exchange);
}

static void end(struct gyre_handler_context *ctx)
{
	free(peer_of(ctx));
	free(gyre_context_arg(ctx));
}

static void active(struct gyre_handler_context *ctx)
{
	board_put(&board, gyre_channel_address(gyre_context_channel(ctx)));
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	const struct frame frame = { 0 };
	struct gyre_buffer *buffer;
	const uint64_t *values;
	struct peer *peer = peer_of(ctx);

	if (type->id != GYRE_ID(goods)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	values = ((const struct goods *)event)->values;
	check(values[0] < SENDERS && values[1] > peer->last[values[0]]);
	peer->last[values[0]] = values[1];
	(void)gy_fetch_add(&came, 1);
	buffer = gyre_context_buffer(ctx);
	check(gyre_buffer_append(buffer, &frame, sizeof(frame)) == 0);
	(void)gyre_context_write(ctx, buffer);
}

static void on_frame(struct gyre_handler_context *ctx, struct peer *peer)
{
	struct gyre_stack *stack = gyre_context_stack(ctx);
	int r = 0;

	if (peer->frame.id == 0) {
		r = gyre_exchange_receive(ctx, 0,
					  gyre_new(stack, echoed, .value = ++peer->requests));
	} else if (peer->frame.id != ANSWERED) {
		r = gyre_exchange_answer_id(ctx, peer->frame.id,
					    gyre_new(stack, echoed, .value = peer->frame.value));
	}
	check(r == 0);
}

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct peer *peer = peer_of(ctx);
	size_t count;

	do {
		count = gyre_buffer_read(data, (char *)&peer->frame + peer->frame_bytes,
					 sizeof(peer->frame) - peer->frame_bytes);
		peer->frame_bytes += count;
		if (peer->frame_bytes == sizeof(peer->frame)) {
			peer->frame_bytes = 0;
			on_frame(ctx, peer);
		}
	} while (count > 0);
	gyre_buffer_destroy(data);
}

static const struct gyre_handler handler = { .name = "handler",
					     .added = begin,
					     .removed = end,
					     .active = active,
					     .event = on_event,
					     .read = on_read };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	struct peer **peer = (struct peer **)calloc(1, sizeof(*peer));

	(void)arg;
	check(peer != NULL);
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, peer);
}

/* ---- those who send ---- */

struct sender {
	uint32_t steps[LANES];
	uint64_t random;
	uint32_t index;
};

static sem_t lanes_done;
static uint64_t seed;

static int mount_sender(struct gyre_stack *stack)
{
	struct sender *sender = (struct sender *)gyre_state(stack);

	sender->index = (uint32_t)gyre_message(stack, lane)->index;
	sender->random = seed + sender->index + 1;
	for (uint32_t i = 0; i < LANES; i++) {
		(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, lane, i));
	}
	return gyre_return(stack);
}

struct step_frame {
	struct gyre_future future;
	uint32_t lane;
	uint64_t value;
	bool asks;
};

static int act(struct gyre_stack *stack, struct sender *sender, struct step_frame *frame)
{
	static const unsigned char zeros[64 * sizeof(struct frame)];
	struct gyre_address to = board_pick(&board, &sender->random);
	uint32_t what = stress_random(&sender->random, 100);
	uint64_t timeout_ns = 1 + stress_random(&sender->random, 20000000);

	frame->value = sender->steps[frame->lane] + 1;
	if (what < 50) {
		uint64_t number = sender->index * LANES + frame->lane;

		(void)gyre_notify(stack, to,
				  gyre_fill_goods(gyre_mail_create(stack, &gyre_type_goods),
						  goods_of(number, frame->value)));
		return -EAGAIN; /* nothing to wait for */
	}
	if (what < 75) {
		frame->asks = true;
		return gyre_ask(stack, to, gyre_new(stack, echoed, frame->value), timeout_ns,
				&frame->future);
	}
	if (what < 99) {
		size_t count = stress_random(&sender->random, 64) * sizeof(struct frame);

		return gyre_send_bytes(stack, to, zeros, count, timeout_ns, &frame->future);
	}
	(void)(what % 2 == 0 ? gyre_stop(stack, to) : gyre_poison(stack, to));
	return -EAGAIN;
}

static int step(struct gyre_stack *stack)
{
	struct sender *sender = (struct sender *)gyre_state(stack);
	struct step_frame *frame = (struct step_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	frame->lane = gyre_message(stack, lane)->index;
	GYRE_AWAIT(stack, act(stack, sender, frame));
	if (frame->asks && gyre_future_error(&frame->future) == 0) {
		check(gyre_future_get(&frame->future, echoed)->value == frame->value);
		(void)gy_fetch_add(&answered, 1);
	}
	if (++sender->steps[frame->lane] == STEPS) {
		(void)sem_post(&lanes_done);
		return gyre_return(stack);
	}
	(void)gyre_notify(stack, gyre_self(stack), gyre_new(stack, lane, frame->lane));
	GYRE_END(stack);
}

static const struct gyre_class sender_class = { .name = "sender",
						.state_bytes = sizeof(struct sender),
						.frame_bytes = sizeof(struct step_frame),
						.mount = mount_sender,
						.behaviour = { .notice = step } };

static uint32_t may_run = 1;

static void *send_from_outside(void *arg)
{
	struct gyre_system *system = (struct gyre_system *)arg;
	uint64_t random = seed + 1000;
	uint64_t number = 0;

	while (gy_load_acquire(&may_run) != 0) {
		struct goods goods = goods_of(SENDERS - 1, ++number);
		struct gyre_address to = board_pick(&board, &random);

		(void)gyre_system_notify(
			system, to,
			gyre_fill_goods(gyre_system_mail_create(system, &gyre_type_goods), goods));
		stress_dawdle(&random, 20000);
	}
	return NULL;
}

/* ---- peers ---- */

static uint16_t port;

static int connect_there(void)
{
	const struct timeval patience = { .tv_usec = 20000 };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* Sends back what it gets for a while; half of the connections end with a reset. */
static void *be_peers(void *arg)
{
	uint64_t random = seed + 2000 + (uint64_t)(uintptr_t)arg;

	while (gy_load_acquire(&may_run) != 0) {
		const struct linger reset = { .l_onoff = 1 };
		uint32_t rounds = stress_random(&random, 200);
		int fd = connect_there();
		char bytes[4096];
		ssize_t r = 1;

		while (fd >= 0 && rounds-- > 0 && r != 0) {
			r = recv(fd, bytes, sizeof(bytes), 0);
			if (r > 0 && send(fd, bytes, (size_t)r, MSG_NOSIGNAL) != r) {
				break; /* what follows would be out of step */
			}
			r = r < 0 && errno != EAGAIN ? 0 : r < 0 ? 1 : r;
		}
		if (stress_random(&random, 2) == 0) {
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		}
		(void)close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_channel,
						       .ret_port = &port };
	struct gyre_system *system;
	pthread_t threads[CLIENTS + 1];

	seed = stress_begin(argc, argv);
	check(sem_init(&lanes_done, 0, 0) == 0);
	system = stress_create(LOOPS);
	check(gyre_system_listen(system, &options, NULL) == 0);
	check(gyre_system_start(system) == 0);
	for (uintptr_t i = 0; i < CLIENTS; i++) {
		check(pthread_create(&threads[i], NULL, be_peers, (void *)i) == 0);
	}
	check(pthread_create(&threads[CLIENTS], NULL, send_from_outside, system) == 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		(void)stress_spawn(system, &sender_class, i,
				   gyre_system_new(system, lane, .index = i));
	}
	for (uint32_t i = 0; i < LOOPS * LANES; i++) {
		while (sem_wait(&lanes_done) < 0) {
		}
	}
	gyre_system_stop(system);
	gy_store_release(&may_run, 0);
	for (uint32_t i = 0; i < CLIENTS + 1; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)stress_end(system);
	check(goods_alive == 0);
	check(came > 0 && answered > 0 && handled > 0);
	(void)printf("%llu messages came, %llu asks were answered, %llu requests were handled\n",
		     (unsigned long long)came, (unsigned long long)answered,
		     (unsigned long long)handled);
	return 0;
}
