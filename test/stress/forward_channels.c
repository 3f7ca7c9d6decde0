/*
 * Asks and notices that actors of all loops pass on to channels of all loops, while channels close
 * and others open. Many of the addresses that they know are stale. What one of them passes on to
 * one channel must come there in order, and be destroyed once wherever it gets lost. The asks go to
 * the peers; each has one outcome, which is its own, and comes straight to the asker, who may have
 * given up.
 */
#include <errno.h>

#include <gyre/codec.h>
#include <gyre/connect.h>
#include <gyre/exchange.h>
#include <gyre/listen.h>

#include "asking.h"
#include "board.h"

enum {
	LOOPS = 3,
	RELAYS = 2 * LOOPS,
	CONNECTIONS = 6,
	STACKS = 10, /* that ask, on each loop */
	ASKS = 300,
	PARCELS = 6000, /* for each relay */
};

static struct board board = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct gyre_address relays[RELAYS];
static uint32_t unfinished = RELAYS + LOOPS * STACKS;
static uint64_t came;  /* atomic: parcels, to a channel */
static uint64_t ended; /* atomic: parcels, there or elsewhere */

/* ---- what is passed on ---- */

struct parcel {
	uint64_t *values; /* of the heap: the relay, and the number among the parcels for it */
};

static void parcel_destroy(struct parcel *parcel)
{
	if (parcel->values != NULL) {
		free(parcel->values);
		(void)gy_fetch_add(&ended, 1);
	}
}
GYRE_MESSAGE_OWNING(parcel, 0x2131, parcel_destroy);

struct task {
	uint64_t random;
	uint32_t relay;
};
GYRE_MESSAGE(task, 0x2132);

/* What goes over the wire. */
struct frame {
	uint64_t id;
	uint64_t value;
};

static struct gyre_mail *parcel_new(struct gyre_stack *stack, uint64_t relay, uint64_t number)
{
	struct parcel parcel = { .values = (uint64_t *)malloc(2 * sizeof(uint64_t)) };

	check(parcel.values != NULL);
	parcel.values[0] = relay;
	parcel.values[1] = number;
	return gyre_new(stack, parcel, parcel.values);
}

/* ---- the channels ---- */

struct end {
	uint64_t last[RELAYS]; /* number of the latest parcel of each */
	uint64_t random;
};

static void write_frame(struct gyre_handler_context *ctx, uint64_t id, uint64_t value)
{
	const struct frame frame = { id, value };
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	check(gyre_buffer_append(buffer, &frame, sizeof(frame)) == 0);
	(void)gyre_context_write(ctx, buffer);
}

static struct frame take_frame(struct gyre_buffer *data)
{
	struct frame frame;

	check(gyre_buffer_read(data, &frame, sizeof(frame)) == sizeof(frame));
	gyre_buffer_destroy(data);
	return frame;
}

static int write_ask(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		     const void *message)
{
	check(type->id == GYRE_ID(load));
	write_frame(ctx, id, load_check((const struct load *)message));
	return 0;
}

static int begin(struct gyre_handler_context *ctx)
{
	static const struct gyre_exchange_options exchange = { .ask = write_ask,
							       .asks_max = 16,
							       .ids = true };

	return gyre_exchange_open(ctx, &exchange);
}

static void forget(struct gyre_handler_context *ctx)
{
	free(gyre_context_arg(ctx));
}

static void show(struct gyre_handler_context *ctx)
{
	board_put(&board, gyre_channel_address(gyre_context_channel(ctx)));
}

/* Some are the last of their channel. */
static void take_parcel(struct gyre_handler_context *ctx, const struct gyre_type *type,
			const void *event)
{
	struct end *end = (struct end *)gyre_context_arg(ctx);
	const uint64_t *values;

	if (type->id != GYRE_ID(parcel)) {
		gyre_context_fire_event(ctx, type, event);
		return;
	}
	values = ((const struct parcel *)event)->values;
	check(values[0] < RELAYS && values[1] > end->last[values[0]]);
	end->last[values[0]] = values[1];
	(void)gy_fetch_add(&came, 1);
	switch (stress_random(&end->random, 600)) {
	case 0:
		gyre_context_close(ctx);
		break;
	case 1:
		gyre_channel_abort(gyre_context_channel(ctx), -ECONNABORTED);
		break;
	default:
		break;
	}
}

static void take_answer(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct frame frame = take_frame(data);
	struct gyre_stack *stack = gyre_context_stack(ctx);

	check(gyre_exchange_answer_id(ctx, frame.id, load_new(stack, frame.value)) == 0);
}

static int init_end(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_fixed_options frames = { .frame_bytes = sizeof(struct frame) };
	static const struct gyre_handler handler = { .name = "end",
						     .added = begin,
						     .removed = forget,
						     .active = show,
						     .event = take_parcel,
						     .read = take_answer };
	struct end *end = (struct end *)calloc(1, sizeof(*end));

	(void)arg;
	check(end != NULL);
	end->random = (uint64_t)(uintptr_t)end;
	check(gyre_fixed_codec_add(channel, GYRE_LAST, &frames) == 0);
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, end);
}

static void answer(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct frame frame = take_frame(data);

	write_frame(ctx, frame.id, frame.value + 1);
}

static int init_peer(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_fixed_options frames = { .frame_bytes = sizeof(struct frame) };
	static const struct gyre_handler handler = { .name = "peer", .read = answer };

	check(gyre_fixed_codec_add(channel, GYRE_LAST, &frames) == 0);
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

/* ---- those who pass on ---- */

struct relay {
	uint64_t random;
	struct gyre_address to; /* of the latest parcels */
};

struct napping_frame {
	struct gyre_future nap;
};

static int mount_relay(struct gyre_stack *stack)
{
	((struct relay *)gyre_state(stack))->random = gyre_message(stack, task)->random;
	return gyre_return(stack);
}

static int pass_parcel(struct gyre_stack *stack)
{
	struct relay *relay = (struct relay *)gyre_state(stack);

	check(gyre_message(stack, parcel) != NULL);
	if (stress_random(&relay->random, 8) == 0) {
		relay->to = board_pick(&board, &relay->random);
	}
	if (stress_random(&relay->random, 500) == 0) {
		(void)gyre_stop(stack, relay->to);
	}
	return gyre_forward(stack, relay->to);
}

/* At once, after a wait, or by another relay. */
static int pass_ask(struct gyre_stack *stack)
{
	struct napping_frame *frame = (struct napping_frame *)gyre_frame(stack);
	struct relay *relay = (struct relay *)gyre_state(stack);

	GYRE_BEGIN(stack);
	if (stress_random(&relay->random, 4) == 0) {
		return gyre_forward(stack, relays[stress_random(&relay->random, RELAYS)]);
	}
	if (stress_random(&relay->random, 4) == 0) {
		GYRE_AWAIT(stack,
			   gyre_sleep(stack, GYRE_MICROSECONDS(stress_random(&relay->random, 500)),
				      &frame->nap));
	}
	return gyre_forward(stack, board_pick(&board, &relay->random));
	GYRE_END(stack);
}

static const struct gyre_class relay_class = {
	.name = "relay",
	.state_bytes = sizeof(struct relay),
	.frame_bytes = sizeof(struct napping_frame),
	.mount = mount_relay,
	.behaviour = { .notice = pass_parcel, .ask = pass_ask },
};

/* ---- those who send and ask ---- */

struct sender {
	uint64_t random;
	uint32_t relay;
	uint64_t number;
};

/* All the parcels of one relay, a few at a time. */
static int send_parcels(struct gyre_stack *stack)
{
	struct napping_frame *frame = (struct napping_frame *)gyre_frame(stack);
	struct sender *sender = (struct sender *)gyre_state(stack);

	GYRE_BEGIN(stack);
	sender->random = gyre_message(stack, task)->random;
	sender->relay = gyre_message(stack, task)->relay;
	while (sender->number < PARCELS) {
		for (int i = 0; i < 10; i++) {
			check(gyre_notify(stack, relays[sender->relay],
					  parcel_new(stack, sender->relay, ++sender->number)) == 0);
		}
		GYRE_AWAIT(stack,
			   gyre_sleep(stack, GYRE_MICROSECONDS(stress_random(&sender->random, 900)),
				      &frame->nap));
	}
	stress_finish(stack, &unfinished);
	GYRE_END(stack);
}

static const struct gyre_class sender_class = {
	.name = "sender",
	.state_bytes = sizeof(struct sender),
	.frame_bytes = sizeof(struct napping_frame),
	.mount = send_parcels,
};

static bool may_fail(int error)
{
	return error == -EPIPE || error == -ECONNABORTED || error == -ECONNRESET;
}

static struct asking asking = { .relays = relays,
				.relays_count = RELAYS,
				.stacks = STACKS,
				.asks = ASKS,
				.may_fail = may_fail,
				.unfinished = &unfinished };

/* ---- the system ---- */

static void open_channels(struct gyre_system *system)
{
	char text[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address address;
	const struct gyre_acceptor_options ends = { .bind = "tcp://127.0.0.1:0",
						    .init_channel = init_end,
						    .ret_address = &address };
	const struct gyre_connect_options peers = { .to = text,
						    .init_channel = init_peer,
						    .connections = CONNECTIONS,
						    .retries_max = GYRE_RETRIES_UNLIMITED,
						    .retry_min_ns = GYRE_MICROSECONDS(100),
						    .retry_max_ns = GYRE_MILLISECONDS(1) };

	check(gyre_system_listen(system, &ends, NULL) == 0);
	check(gyre_socket_address_format(&address, sizeof(text), text) > 0);
	check(gyre_system_connect(system, &peers, NULL) == 0);
}

static void spawn_actors(struct gyre_system *system, uint64_t *random)
{
	for (uint32_t i = 0; i < RELAYS; i++) {
		relays[i] = stress_spawn(
			system, &relay_class, i % LOOPS,
			gyre_system_new(system, task, .random = gy_random_next(random)));
	}
	for (uint32_t i = 0; i < RELAYS; i++) {
		(void)stress_spawn(system, &sender_class, (i + 1) % LOOPS,
				   gyre_system_new(system, task, .random = gy_random_next(random),
						   .relay = i));
	}
	asking_spawn(system, LOOPS, random);
}

int main(int argc, char **argv)
{
	uint64_t random = stress_begin(argc, argv);
	struct gyre_system *system = stress_create(LOOPS);
	struct gyre_counters counters;

	open_channels(system);
	spawn_actors(system, &random);
	check(gyre_system_start(system) == 0);
	counters = stress_end(system);
	check(gy_load_acquire(&ended) == RELAYS * PARCELS);
	check(came > 0 && asking.answered > 0);
	check(counters.accepted == counters.closed - counters.connected);
	(void)printf("%llu of %d parcels came, %llu of %d asks were answered, on %llu channels\n",
		     (unsigned long long)came, RELAYS * PARCELS,
		     (unsigned long long)asking.answered, LOOPS * STACKS * ASKS,
		     (unsigned long long)counters.accepted);
	return 0;
}
