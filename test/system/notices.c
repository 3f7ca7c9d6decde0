/*
 * A node that sends another one notices as fast as it takes them, and that other one. The notices
 * of a sender are numbered without a gap: one that the link has no room for is sent again later,
 * and the receiver sees whether each comes once and in order.
 *
 * usage: system-notices take LISTEN
 *        system-notices send LISTEN PEER NOTICES   and tells after so many what has come
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gyre/gyre.h>

enum { TAKER = 1, SENDER = 2, LINK_BYTES = 1 << 20, AT_ONCE = 64, FULL_TIMES = 20 };

struct parcel {
	uint64_t number;
	unsigned char bytes[4000];
};
GYRE_MESSAGE(parcel, 0x3001);

struct question {
	char nothing;
};
GYRE_MESSAGE(question, 0x3002);

/* How many came, and how many not in their turn. */
struct count {
	uint64_t taken;
	uint64_t wrong;
};
GYRE_MESSAGE(count, 0x3003);

/* To itself: a round has ended. */
struct report {
	struct gyre_address taker;
	uint64_t sent;
};
GYRE_MESSAGE(report, 0x3004);

static const struct gyre_type *const types[] = { &gyre_type_parcel, &gyre_type_question,
						 &gyre_type_count, NULL };

/* ---- the taker ---- */

static int take(struct gyre_stack *stack)
{
	struct count *self = (struct count *)gyre_state(stack);
	const struct parcel *parcel = gyre_message(stack, parcel);

	self->wrong += parcel == NULL || parcel->number != self->taken;
	self->taken++;
	return gyre_return(stack);
}

static int tell(struct gyre_stack *stack)
{
	const struct count *self = (const struct count *)gyre_state(stack);

	return gyre_reply(stack, gyre_new(stack, count, self->taken, self->wrong));
}

static int take_name(struct gyre_stack *stack)
{
	int r = gyre_name_register(stack, "taker");

	return r < 0 ? gyre_throw(stack, r) : gyre_return(stack);
}

static const struct gyre_class taker_class = { .name = "taker",
					       .state_bytes = sizeof(struct count),
					       .behaviour = { .notice = take, .ask = tell },
					       .mount = take_name };

/* ---- the sender ---- */

static uint64_t notices_of_round;

struct sender {
	struct gyre_address taker;
	struct gyre_address reporter;
	uint64_t sent;
	uint32_t refused; /* in a row */
};

struct frame {
	struct gyre_future future;
};

/* At the end of each round: asks what has come, while the sender goes on. */
static int report(struct gyre_stack *stack)
{
	const struct report *report = gyre_message(stack, report);
	struct frame *frame = (struct frame *)gyre_frame(stack);
	const struct count *count;

	GYRE_BEGIN(stack);
	do { /* for which there may be no room at first */
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		GYRE_AWAIT(stack, gyre_ask(stack, report->taker, gyre_new(stack, question, 0),
					   GYRE_FOREVER, &frame->future));
	} while (gyre_future_error(&frame->future) == -EAGAIN);
	if (gyre_future_error(&frame->future) < 0) {
		return gyre_throw(stack, gyre_future_error(&frame->future));
	}
	count = gyre_future_get(&frame->future, count);
	(void)printf("%" PRIu64 " sent, %" PRIu64 " taken, %" PRIu64 " wrong\n", report->sent,
		     count->taken, count->wrong);
	(void)fflush(stdout);
	return gyre_return(stack);
	GYRE_END(stack);
}

static const struct gyre_class reporter_class = { .name = "reporter",
						  .frame_bytes = sizeof(struct frame),
						  .behaviour.notice = report,
						  .strategy = GYRE_STRATEGY_SHUT_DOWN };

static void refused(struct sender *self)
{
	if (++self->refused == FULL_TIMES) {
		(void)puts("full");
		(void)fflush(stdout);
	}
}

/* As many as may go, up to some. */
static int send_some(struct gyre_stack *stack, struct sender *self)
{
	for (uint32_t i = 0; i < AT_ONCE; i++) {
		struct gyre_mail *mail = gyre_mail_create(stack, &gyre_type_parcel);

		if (mail != NULL) {
			struct parcel *parcel = (struct parcel *)gyre_payload(mail);

			memset(parcel, 1, sizeof(*parcel));
			parcel->number = self->sent;
		}
		if (gyre_notify(stack, self->taker, mail) < 0) {
			refused(self);
			return 0;
		}
		self->refused = 0;
		if (++self->sent % notices_of_round == 0) {
			return gyre_notify(stack, self->reporter,
					   gyre_new(stack, report, self->taker, self->sent));
		}
	}
	return 0;
}

static int send_all(struct gyre_stack *stack)
{
	struct sender *self = (struct sender *)gyre_state(stack);
	struct frame *frame = (struct frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	do {
		GYRE_AWAIT(stack, gyre_node_lookup(stack, TAKER, "taker", 0, &frame->future));
	} while (gyre_future_error(&frame->future) < 0);
	self->taker = gyre_future_get(&frame->future, gyre_node_found)->address;
	if (gyre_spawn(stack, &reporter_class, GYRE_NO_ARGUMENT, NULL, &self->reporter) < 0) {
		return gyre_throw(stack, -ENOMEM);
	}
	while (send_some(stack, self) == 0) {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	}
	return gyre_throw(stack, -ENOMEM);
	GYRE_END(stack);
}

static const struct gyre_class sender_class = { .name = "sender",
						.state_bytes = sizeof(struct sender),
						.frame_bytes = sizeof(struct frame),
						.behaviour.notice = send_all,
						.strategy = GYRE_STRATEGY_SHUT_DOWN };

/* ---- the process ---- */

static int run(struct gyre_system *system, bool sends)
{
	struct gyre_address actor;
	int r = gyre_system_spawn(system, sends ? &sender_class : &taker_class, GYRE_NO_ARGUMENT,
				  NULL, &actor);

	if (r == 0 && sends) {
		r = gyre_system_notify(system, actor, gyre_system_new(system, question, 0));
	}
	if (r == 0) {
		(void)puts("ready");
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	return r;
}

int main(int argc, char **argv)
{
	bool sends = argc == 5 && strcmp(argv[1], "send") == 0;
	const struct gyre_node_peer peers[] = { { TAKER, sends ? argv[3] : NULL }, { 0, NULL } };
	/* Nobody is missed, however long he halts. */
	const struct gyre_node_options node = { .id = sends ? SENDER : TAKER,
						.listen = argc > 2 ? argv[2] : NULL,
						.peers = sends ? peers : NULL,
						.types = types,
						.link_bytes_max = LINK_BYTES,
						.suspect_ns = GYRE_SECONDS(3000),
						.down_ns = GYRE_SECONDS(3600) };
	const struct gyre_system_options options = { .loops = 1, .node = &node };
	struct gyre_system *system = NULL;
	int r;

	if (!sends && (argc != 3 || strcmp(argv[1], "take") != 0)) {
		return 2;
	}
	notices_of_round = sends ? strtoull(argv[4], NULL, 0) : 0;
	r = gyre_system_create(&options, &system);
	if (r == 0) {
		r = run(system, sends);
	}
	gyre_system_destroy(system);
	return r == 0 ? 0 : 1;
}
