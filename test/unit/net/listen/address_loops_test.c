/* Channels that are reached by their addresses from other loops, and from threads without one. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/exchange.h>
#include <gyre/listen.h>
#include <gyre/outside.h>

#include "fixture.h"

TestSuite(address_loops, .timeout = 60);

enum { LOOPS = 3, CHANNELS = 12, MESSAGES = 100, SENDERS = LOOPS + 1 };

/* A message that owns something: so many are alive. */
struct parcel {
	uint32_t sender;
	uint32_t value;
};

static uint32_t parcels;

static void parcel_destroy(struct parcel *parcel)
{
	if (parcel->value != 0) {
		(void)__atomic_sub_fetch(&parcels, 1, __ATOMIC_RELAXED);
	}
}
GYRE_MESSAGE_OWNING(parcel, 0x1081, parcel_destroy);

static struct gyre_address addresses[CHANNELS];
static uint32_t opened;
static int fds[CHANNELS];
static uint16_t port;

static struct parcel parcel_of(uint32_t sender, uint32_t value)
{
	(void)__atomic_add_fetch(&parcels, 1, __ATOMIC_RELAXED);
	return (struct parcel){ .sender = sender, .value = value };
}

/* ---- the channels: each tells its peer what it is sent ---- */

static int write_bytes(struct gyre_handler_context *ctx, const void *bytes, size_t count)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	(void)gyre_buffer_append(buffer, bytes, count);
	return gyre_context_write(ctx, buffer);
}

static void on_event(struct gyre_handler_context *ctx, const struct gyre_type *type,
		     const void *event)
{
	if (type->id == GYRE_ID(parcel)) {
		(void)write_bytes(ctx, event, sizeof(struct parcel));
	}
}

static void on_active(struct gyre_handler_context *ctx)
{
	uint32_t index = __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);

	addresses[index] = gyre_channel_address(gyre_context_channel(ctx));
	/* Its peer knows it by that byte from then on, so that the address may be read. */
	(void)write_bytes(ctx, "!", 1);
}

static int write_ask(struct gyre_handler_context *ctx, uint64_t id, const struct gyre_type *type,
		     const void *message)
{
	(void)id;
	(void)type;
	return write_bytes(ctx, message, sizeof(struct number));
}

/* Peers answer with 8 bytes, and nothing is in flight but one ask. */
static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	uint64_t value = 0;

	(void)gyre_buffer_read(data, &value, sizeof(value));
	gyre_buffer_destroy(data);
	(void)gyre_exchange_answer(ctx, gyre_new(gyre_context_stack(ctx), number, .value = value));
}

static const struct gyre_exchange_options exchange = { .ask = write_ask };

static int on_added(struct gyre_handler_context *ctx)
{
	return gyre_exchange_open(ctx, &exchange);
}

static const struct gyre_handler handler = { .name = "handler",
					     .added = on_added,
					     .active = on_active,
					     .read = on_read,
					     .event = on_event };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

/* ---- begin and end ---- */

static int connect_there(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(recv(fd, &byte, 1, 0), 1);
	return fd;
}

static void begin(void)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_channel,
						       .ret_port = &port };

	fixture_open(LOOPS);
	cr_assert_eq(gyre_system_listen(fixture.system, &options, NULL), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	for (int i = 0; i < CHANNELS; i++) {
		fds[i] = connect_there(); /* the addresses are in this order: one at a time */
	}
}

static uint64_t dropped(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < GYRE_DROP_COUNT; i++) {
		sum += fixture.counters.dropped[i];
	}
	return sum;
}

static void end(void)
{
	for (int i = 0; i < CHANNELS; i++) {
		(void)close(fds[i]);
	}
	gyre_system_stop(fixture.system);
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	(void)gyre_system_counters(fixture.system, &fixture.counters);
	gyre_system_destroy(fixture.system);
	cr_expect_eq(fixture.counters.sent, fixture.counters.handled + dropped());
	cr_expect_eq(fixture.errors, 0, "%s", fixture.line);
	cr_expect_eq(parcels, 0);
	cr_expect_eq(descriptors_open(), fixture.descriptors);
}

/* ---- messages ---- */

static int send_to_all(struct gyre_stack *stack)
{
	uint32_t sender = gyre_self(stack).loop;

	for (uint32_t value = 1; value <= MESSAGES; value++) {
		for (int i = 0; i < CHANNELS; i++) {
			struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_parcel);

			(void)gyre_notify(stack, addresses[i],
					  gyre_fill_parcel(mail, parcel_of(sender, value)));
		}
	}
	return gyre_return(stack);
}

static const struct gyre_class sending_class = { .name = "sending", .mount = send_to_all };

static int send_outside(struct gyre_address to, uint32_t value)
{
	struct gyre_mail *mail = gyre_system_mail_create(fixture.system, &gyre_type_parcel);

	return gyre_system_notify(fixture.system, to,
				  gyre_fill_parcel(mail, parcel_of(LOOPS, value)));
}

/* Each sender's in their order, and all of them. */
static void expect_all(int fd)
{
	uint32_t last[SENDERS] = { 0 };

	for (int i = 0; i < SENDERS * MESSAGES; i++) {
		struct parcel parcel;

		cr_assert_eq(recv(fd, &parcel, sizeof(parcel), MSG_WAITALL), sizeof(parcel));
		cr_assert_lt(parcel.sender, SENDERS);
		cr_assert_eq(parcel.value, ++last[parcel.sender]);
	}
}

Test(address_loops, bring_what_each_sender_sends_in_its_order)
{
	begin();
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		(void)spawn_outside(&sending_class, loop);
	}
	for (uint32_t value = 1; value <= MESSAGES; value++) {
		for (int i = 0; i < CHANNELS; i++) {
			cr_assert_eq(send_outside(addresses[i], value), 0);
		}
	}
	for (int i = 0; i < CHANNELS; i++) {
		expect_all(fds[i]);
	}
	end();
}

Test(address_loops, are_stale_on_all_loops_when_the_channel_is_gone)
{
	struct gyre_counters counters = { 0 };

	begin();
	for (int i = 0; i < CHANNELS; i++) {
		cr_assert_eq(shutdown(fds[i], SHUT_RDWR), 0);
	}
	while (counters.closed < CHANNELS) {
		(void)gyre_system_counters(fixture.system, &counters);
		(void)sched_yield();
	}
	for (int i = 0; i < CHANNELS; i++) {
		cr_assert_eq(send_outside(addresses[i], 1), 0);
		cr_expect_eq(gyre_system_ask(fixture.system, addresses[i],
					     gyre_system_new(fixture.system, number, .value = 1), 0,
					     NULL),
			     -ESRCH);
	}
	end();
	cr_expect_geq(fixture.counters.dropped[GYRE_DROP_NO_ACTOR], 2 * CHANNELS);
}

/* ---- asks ---- */

static void *answer_one(void *arg)
{
	const int *fd = (const int *)arg;
	uint64_t value = 0;

	if (recv(*fd, &value, sizeof(value), MSG_WAITALL) == sizeof(value)) {
		value *= 2;
		(void)send(*fd, &value, sizeof(value), MSG_NOSIGNAL);
	}
	return NULL;
}

Test(address_loops, let_a_thread_ask_the_peer)
{
	begin();
	for (int i = 0; i < CHANNELS; i++) {
		struct gyre_mail *reply = NULL;
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, answer_one, &fds[i]), 0);
		cr_assert_eq(gyre_system_ask(fixture.system, addresses[i],
					     gyre_system_new(fixture.system, number, .value = 21),
					     0, &reply),
			     0);
		cr_expect_eq(gyre_mail_get(reply, number)->value, 42);
		gyre_mail_destroy(NULL, reply);
		(void)pthread_join(thread, NULL);
	}
	end();
}

static int outcomes[LOOPS];

struct outcome_frame {
	struct gyre_future future;
};

/* The peers do not answer: their channels are closed meanwhile. */
static int ask_all(struct gyre_stack *stack)
{
	struct outcome_frame *frame = (struct outcome_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack,
		   gyre_ask(stack, addresses[gyre_self(stack).loop],
			    gyre_new(stack, number, .value = 1), GYRE_FOREVER, &frame->future));
	__atomic_store_n(&outcomes[gyre_self(stack).loop], gyre_future_error(&frame->future),
			 __ATOMIC_RELEASE);
	GYRE_END(stack);
}

static const struct gyre_class asking_class = { .name = "asking",
						.frame_bytes = sizeof(struct outcome_frame),
						.mount = ask_all };

Test(address_loops, fail_what_is_in_flight_when_the_channel_ends)
{
	begin();
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		uint64_t value;

		(void)spawn_outside(&asking_class, loop);
		cr_assert_eq(recv(fds[loop], &value, sizeof(value), MSG_WAITALL), sizeof(value));
		cr_assert_eq(shutdown(fds[loop], SHUT_WR), 0);
	}
	for (uint32_t loop = 0; loop < LOOPS; loop++) {
		while (__atomic_load_n(&outcomes[loop], __ATOMIC_ACQUIRE) == 0) {
			(void)sched_yield();
		}
		cr_expect_eq(outcomes[loop], -EPIPE);
	}
	end();
}
