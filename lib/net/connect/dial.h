/*
 * What the files of connecting share: the order that an actor got, and each of its connections,
 * which is an endpoint from its first attempt to its last.
 */
#ifndef GY_NET_CONNECT_DIAL_H
#define GY_NET_CONNECT_DIAL_H

#include <gyre/connect.h>
#include <gyre/move.h>

#include "buffer/socket_address.h"
#include "channel/connector.h"
#include "net/connect/happy_eyeballs.h"
#include "net/connect/resolve.h"

/* ---- connect.c ---- */

/*
 * Called where there was no memory for an actor that was ordered, on its loop and in no handler, so
 * without a stack: the report is not called then. @arg is that of the report. Programs hear of the
 * end of the actor instead, whose address they have.
 */
typedef void (*gy_connect_lost_fn)(void *arg, int error);

/* An order to connect, from the heap; @options has its defaults filled in, and text of its own. */
struct gy_connect_order {
	struct gy_home *home; /* of the loop that it goes to, until it is mounted */
	struct gyre_connect_options options;
	gy_connect_lost_fn lost; /* or NULL */
	struct gy_socket_text to;
	struct gyre_socket_address local; /* of 0 bytes for any */
	bool awaited; /* an ask comes, which is answered when a connection is open or all are lost
		       */
	bool answered;
	struct gyre_connected connected; /* of the first that was open; of nobody before */
	char texts[];			 /* of the options */
};

/* The argument of the mount. */
struct gy_connect_argument {
	struct gy_connect_order *order;
};
void gy_connect_argument_destroy(struct gy_connect_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_connect_argument, 0x29, gy_connect_argument_destroy);

/* The order found no memory on its loop: says so, and whoever wants to know is told. */
void gy_connect_order_lost(const struct gy_home *home, const struct gy_connect_order *order);
/* gyre_system_connect() with all its options filled in, for callers inside gyre. */
int gy_connect_or_lose(struct gyre_system *system, const struct gyre_connect_options *options,
		       gy_connect_lost_fn lost, struct gyre_address *ret_socket);

/* ---- socket.c ---- */

struct gy_dial;

/* The state of the actor. */
struct gy_socket {
	struct gy_connect_order *order;
	struct gy_channels *channels;
	struct gy_house *house;
	struct gy_dial *dials;
	uint32_t count;
	uint32_t given_up;
	uint32_t drained; /* these try no more, for the actor or the system stops */
	int reason;	  /* for which the last one was given up */
	bool connected;	  /* there has been a connection that was open */
	uint64_t random;
};

extern const struct gyre_class gy_socket_class;

/* The ask of who awaits the first connection. */
struct gy_await_connection {
	char nothing;
};
GYRE_OWN_MESSAGE_(gy_await_connection, 0x2c);

/* A connection is open: who awaits the first is told. */
void gy_socket_connected(struct gy_socket *socket, const struct gyre_connected *connected);
/* One is given up; with the last one the actor stops for that reason. */
void gy_socket_gave_up(struct gy_socket *socket, int reason);
/* One ends because all channels do: with the last, who awaits one is told. */
void gy_socket_drained(struct gy_socket *socket);

/* ---- dial.c ---- */

enum gy_dial_stage {
	GY_DIAL_START,
	GY_DIAL_ORDERED, /* the channel is made, and its handlers have the order to connect */
	GY_DIAL_RESOLVING,
	GY_DIAL_CONNECTING,
	GY_DIAL_CONNECTED, /* and not open, as long as a handler has taken that over */
	GY_DIAL_FAILING,   /* the channel has been told to end */
	GY_DIAL_OPEN,
	GY_DIAL_PAUSED,
	GY_DIAL_GIVEN_UP,
	GY_DIAL_STAGES,
};

/* The end of its endpoint, whatever the stage. */
enum gy_dial_end {
	GY_DIAL_RUNNING,
	GY_DIAL_ENDING, /* cancels what is under way, and waits for it */
	GY_DIAL_ENDED,
};

struct gy_dial {
	struct gy_endpoint endpoint;
	struct gy_socket *socket;
	struct gyre_channel *channel; /* NULL when there is none */
	enum gy_dial_stage stage;
	uint32_t index;
	uint32_t failures;
	uint32_t brief; /* connections in a row that were lost sooner than they were waited for */
	int reason;	/* why the channel is gone */
	enum gy_dial_end end;
	bool expired; /* the timer has fired */
	bool ordered; /* an actor of the program is being made that is to open the channel */
	struct gy_connector connector;
	struct gy_socket_text to; /* as ordered in this round */
	char local[GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct gyre_socket_address peer; /* of 0 bytes before there is one */
	uint64_t opened_ns;		 /* the clock when the channel became active */
	uint64_t pause_ns;		 /* the last */
	struct gy_timer timer;		 /* the end of the round, or of the pause */
	struct gy_resolve resolve;
	struct gy_happy_eyeballs_options race_options; /* of this round */
	struct gy_happy_eyeballs happy_eyeballs;
};

bool gy_dial_stage_is_allowed(enum gy_dial_stage from, enum gy_dial_stage to);
/* Begins, in phase 2; -ENOMEM. */
int gy_dial_init(struct gy_dial *dial, struct gy_socket *socket, struct gy_house *house,
		 uint32_t index);

#endif
