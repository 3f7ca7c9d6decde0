/*
 * A rig for tests of exchanges: a protocol of frames of 16 bytes on a socket pair, whose far end
 * the test holds, an actor at whose gates messages wait until the test opens them, and one that
 * asks the peer.
 */
#ifndef TEST_UNIT_CHANNEL_EXCHANGE_RIG_H
#define TEST_UNIT_CHANNEL_EXCHANGE_RIG_H

#include <gyre/exchange.h>
#include <gyre/request.h>

#include "../rig.h"
#include "actor/stack/stack.h"

enum { GATES = 64, BEGUN_MAX = 4096, ASKED_MAX = 4096 };

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

struct exchange_rig {
	struct rig rig;
	struct gyre_channel *channel;
	struct gyre_handler_context *ctx;
	struct gyre_address address;
	int fd;
	struct gyre_buffer *partial;
	struct frame frame; /* that the far end has received in part */
	size_t frame_bytes;
	bool serves; /* frames are requests, else answers */
	bool by_id;
	int64_t begun[BEGUN_MAX]; /* values of requests whose handler was called */
	uint32_t begun_count;
	int64_t written[BEGUN_MAX]; /* values of asks */
	uint32_t written_count;
	struct gyre_address asker;
	struct asked asked[ASKED_MAX];
	uint32_t asked_count;
	uint32_t ended; /* of those */
	uint32_t running;
	uint32_t running_max;
	uint32_t depth; /* of calls of users' functions within each other */
	uint32_t depth_max;
	uint32_t events;
	uint32_t inactive;
	int reason;
	uint32_t input_closed;
	int received; /* what the last call of the exchange has returned */
	int exception;
};

extern struct exchange_rig x;

/* Opens the channel with a protocol of these options, to which the functions are added. */
void x_serve(struct gyre_exchange_options *options);
void x_ask(struct gyre_exchange_options *options);
void x_end(void);
/* Another protocol, with an exchange of its own, takes the place of the present one. */
void x_upgrade(struct gyre_exchange_options *options);
/* After x_ask(): has an actor ask the peer. The record is good until there are ASKED_MAX more. */
struct asked *x_ask_for(int64_t value, uint64_t timeout_ns);

/* For handlers: a promise that is kept when the gate is open. */
int x_wait(struct gyre_stack *stack, uint32_t gate, struct gyre_future *ret_future);
void x_open_gate(uint32_t gate);
/* What the exchange has copied, to be changed. */
struct gyre_exchange_options *x_options(void);
struct gyre_exchange_load x_load(void);
/* The far end. */
void x_send(uint64_t id, int64_t value);
/* False when there is none. */
bool x_receive(struct frame *ret_frame);
/* The next frame, for which the rig is turned. */
struct frame x_expect(void);
void x_expect_none(void);

bool x_is_inactive(struct rig *rig, void *arg);

#endif
