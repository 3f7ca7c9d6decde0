/*
 * The actor that accepts connections from one listening socket; see acceptor.c.
 */
#ifndef GY_NET_LISTEN_ACCEPTOR_H
#define GY_NET_LISTEN_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/actor.h>

#include "actor/house.h"

struct gy_acceptor_socket;

/* The stages of an acceptor; acceptor.c has the steps that are allowed. */
enum gy_acceptor_stage {
	GY_ACCEPTOR_SERVING,	 /* accepts, unless there are obstacles */
	GY_ACCEPTOR_MOVING,	 /* its socket is to go to another loop */
	GY_ACCEPTOR_HANDED_OVER, /* another process has the socket: what was accepted is served */
	GY_ACCEPTOR_LEFT,	 /* the socket is elsewhere, and the actor stops */
	GY_ACCEPTOR_CLOSING,	 /* the socket is being closed; connections are dropped */
	GY_ACCEPTOR_STAGES,
};

/* Why an acceptor that serves does not accept, as bits. */
enum gy_obstacle {
	GY_OBSTACLE_MEMORY = 1 << 0, /* the system is short of memory */
	GY_OBSTACLE_LIMIT = 1 << 1,  /* the first connection that was accepted waits for room */
	GY_OBSTACLE_RETRY = 1 << 2,  /* the accept is to be ended and begun again */
	GY_OBSTACLE_CANCEL = 1 << 3, /* the accept has been cancelled, and has not ended */
	GY_OBSTACLE_KERNEL = 1 << 4, /* the kernel lacked descriptors or memory: a pause */
};

enum { GY_OBSTACLES = 5, GY_OBSTACLES_TEXT_BYTES = 160 };

bool gy_acceptor_stage_is_allowed(enum gy_acceptor_stage from, enum gy_acceptor_stage to);
const char *gy_acceptor_stage_name(enum gy_acceptor_stage stage);
/* For logs: "memory is short, a limit is reached", or "none". */
const char *gy_obstacles_describe(uint32_t obstacles, char text[GY_OBSTACLES_TEXT_BYTES]);

/* An acceptor that is mounted goes where its socket is to stand now. On its loop. */
void gy_acceptor_leave(struct gy_house *house);
/* An acceptor that is mounted begins its accept again, which finds what waits in the backlog. */
void gy_acceptor_retry(struct gy_house *house);

/* The argument of an acceptor's mount. */
struct gy_acceptor_argument {
	struct gy_acceptor_socket *listen_socket;
};
void gy_acceptor_argument_destroy(struct gy_acceptor_argument *argument);
GYRE_OWN_MESSAGE_OWNING_(gy_acceptor_argument, 0x14, gy_acceptor_argument_destroy);

extern const struct gyre_class gy_acceptor_class;

#endif
