/*
 * A rig for tests of the orders that a client's handlers pass on: two handlers that write down what
 * they hear, of which the one nearer to the tail does what a test has planned for it.
 */
#ifndef TEST_UNIT_NET_ORDER_RIG_H
#define TEST_UNIT_NET_ORDER_RIG_H

#include "net/client_rig.h"

enum { ORDER_TEXT_BYTES = 300 };

/*
 * What is to be done at a call; all zero passes everything on. The handler nearer to the head, with
 * @is_traced, traces
 *
 *	r registered, b bind, c connect, a active, i inactive, u unregistered, x removed
 */
struct order_plan {
	void (*registered)(struct gyre_handler_context *ctx);
	gyre_bind_fn bind;
	gyre_connect_fn connect;
	void (*active)(struct gyre_handler_context *ctx);
	void (*timer)(struct gyre_handler_context *ctx);
	void (*event)(struct gyre_handler_context *ctx);
	int init; /* what the initialiser returns, when the handlers are there */
};

/* What was heard, by the handler nearer to the head. */
struct order_heard {
	char to[ORDER_TEXT_BYTES];
	char local[ORDER_TEXT_BYTES];
	char bound[ORDER_TEXT_BYTES]; /* by @bind */
	int reason;		      /* at unregistered */
	uint32_t pipelines;
	struct gyre_address channel; /* of the last one; under no lock: read when all is quiet */
};

extern struct order_plan order_plan;
extern struct order_heard order_heard;

/* Begins and ends a test, with a system that runs. */
void order_begin(void);
void order_end(void);
/* Gives a channel the two handlers, and one that echoes behind them. */
int order_init_channel(struct gyre_channel *channel, void *arg);
/* Options to connect to this port of 127.0.0.1 with the two handlers. */
struct gyre_connect_options order_options(uint16_t port);
/* Ends the system, before what the handlers have written down is looked at. */
void order_finish(void);
/* The same, and looks at what was traced. */
void order_expect(const char *traced_then);
/* Connects to the listener @fd, has it close, and waits until all is over. */
void order_connect_once(const struct gyre_connect_options *options, int fd);
/* A port where nobody listens; @ret_fd keeps it from others. */
uint16_t order_closed_port(int *ret_fd);
/* Connects, and expects that the only round fails so. */
void order_expect_failure(const struct gyre_connect_options *options, int reason);
/* The next connection of the listener @fd, which is closed then, comes from there. */
void order_expect_from(int fd, const char *address);
/* "tcp://ADDRESS:PORT"; good until four more are asked for. */
const char *order_address(const char *address, uint16_t port);

#endif
