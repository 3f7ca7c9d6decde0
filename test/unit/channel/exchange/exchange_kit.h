/*
 * What the tests of exchanges share: a protocol of frames of 16 bytes on a channel whose peer is
 * the test, an actor at whose gates messages wait until the test opens them, and one that asks the
 * peer. All of it is made of the testkit.
 */
#ifndef TEST_UNIT_CHANNEL_EXCHANGE_KIT_H
#define TEST_UNIT_CHANNEL_EXCHANGE_KIT_H

#include <errno.h>

#include <gyre/connect.h>
#include <gyre/exchange.h>
#include <gyre/request.h>
#include <gyre/tap.h>
#include <gyre/watch.h>

#include "kit_test.h"

enum { GATES = 64, ASKED_MAX = 4096 };

struct frame {
	uint64_t id;
	int64_t value;
};

struct answer {
	int64_t value;
};
GYRE_MESSAGE(answer, 0x1062);

struct question {
	int64_t value;
};
GYRE_REQUEST(question, 0x1061, answer);

/* What a request of the peer has its handler do; a negative value is what it fails with. */
enum {
	AT_ONCE = 0,	  /* and up: answer with one more */
	WAIT = 100,	  /* and up: at a gate, then answer */
	ALONE = 200,	  /* and up: a barrier that answers at once */
	ALONE_WAIT = 300, /* and up: a barrier that waits at a gate */
	SILENT = 1000,	  /* return without an answer */
	UNWRITABLE,	  /* an answer that the protocol cannot write */
	TO_THE_CHANNEL,	  /* send the channel a message, then answer */
	STASH,		  /* answer with the result of gyre_stash() and one more */
	FORWARD = 3000,	  /* and up: forward to a gate, which stashes it until it is open */
};

/* What an answer of the peer is taken for; a negative value is its error. */
enum {
	NO_MEMORY = 2000, /* none that there was memory for */
	WRONG_TYPE,	  /* one of another type */
};

/* An ask of the peer, and how it has ended. */
struct asked {
	int error; /* 1 while it waits */
	int64_t value;
};

struct exchange_kit {
	struct gyre_test *test;
	struct gyre_probe *probe;
	struct gyre_test_channel *peer;
	struct gyre_tap *tap; /* behind the protocol */
	struct gyre_handler_context *ctx;
	struct gyre_handler_context *keeping; /* the place of what keeps the order to connect */
	const char *server;
	struct gyre_address address;
	struct gyre_address gates;
	struct gyre_buffer *partial;
	struct frame frame; /* that the peer has received in part */
	size_t frame_bytes;
	bool serves; /* frames are requests, else answers */
	bool by_id;
	uint32_t begun_count;	/* requests whose handler was called */
	uint32_t written_count; /* asks, to the peer */
	struct gyre_address asker;
	struct asked asked[ASKED_MAX];
	uint32_t asked_count;
	uint32_t ended;			  /* of those */
	struct gyre_exchange_load at_end; /* when the handlers hear of the end */
	uint32_t running;
	uint32_t running_max;
	uint32_t depth; /* of calls of users' functions within each other */
	uint32_t depth_max;
	int received; /* what the last call of the exchange has returned */
	uint32_t warnings;
	uint32_t warnings_expected;
};

extern struct exchange_kit x;

/* For @log of a system: fails the test where a warning is not expected. */
void x_log(const struct gyre_log_line *line, void *arg);
#define EXCHANGE_KIT_LOG .log = x_log, .log_buffer_bytes = GYRE_LOG_UNBUFFERED

extern const struct gyre_system_options exchange_kit_system; /* of these alone */

#define EXCHANGE_TEST(SUITE, NAME) KIT_TEST_WITH(SUITE, NAME, &exchange_kit_system)

/* Set the functions of the options, for requests of the peer and for asks. */
void x_complete_serving(struct gyre_exchange_options *options);
void x_complete_asking(struct gyre_exchange_options *options);
/* Opens the channel with a protocol of these options, which are completed unless they are. */
void x_serve(struct gyre_test *test, struct gyre_exchange_options *options);
void x_ask(struct gyre_test *test, struct gyre_exchange_options *options);
void x_ask_with(struct gyre_test *test, struct gyre_exchange_options *options,
		const struct gyre_channel_options *channel);
/* Asks the server at @to, to which the channel is connected only by x_go_on(). */
void x_ask_server(struct gyre_test *test, struct gyre_exchange_options *options, const char *to);
void x_go_on(void);
/* Takes the protocol out of the pipeline. */
void x_remove(void);
/* Another protocol, with an exchange of its own, takes the place of the present one. */
void x_upgrade(struct gyre_exchange_options *options);
/* Closes the channel at once. */
void x_abort(int reason);
/* Stops an actor; and that which owns the channel, of whose end the probe hears. */
void x_stop(struct gyre_address actor);
void x_stop_owner(void);
/* After x_ask(): has an actor ask the peer. The record is good until there are ASKED_MAX more. */
struct asked *x_ask_for(int64_t value, uint64_t timeout_ns);
/* The same for so many values from @value on, at once. */
void x_ask_for_many(int64_t value, uint32_t count, uint64_t timeout_ns);

/* For handlers: a promise that is kept when the gate is open. */
int x_wait(struct gyre_stack *stack, uint32_t gate, struct gyre_future *ret_future);
void x_open_gate(uint32_t gate);
struct gyre_exchange_load x_load(void);
/* Lets all be done that can be. */
void x_settle(void);
/* The peer. */
void x_send(uint64_t id, int64_t value);
void x_send_all(const struct frame *frames, size_t count);
/* False when there is none. */
bool x_receive(struct frame *ret_frame);
/* The next frame, which comes within a second. */
struct frame x_expect(void);
void x_expect_none(void);

/* So many messages of a type have been lost for a reason; those that a test does not expect fail
 * it. */
void x_expect_dropped_at(const struct gyre_type *type, enum gyre_drop reason, uint32_t count,
			 const char *place);
#define x_expect_dropped(NAME, REASON, COUNT) \
	x_expect_dropped_at(&gyre_type_##NAME, (REASON), (COUNT), GYRE_TEST_HERE)

#endif
