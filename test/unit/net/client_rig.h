/*
 * A rig for tests of clients: a system whose socket actors report to the test, which waits for what
 * is to be reported; and sockets of the test's own that listen, or that seem to.
 */
#ifndef TEST_UNIT_NET_CLIENT_RIG_H
#define TEST_UNIT_NET_CLIENT_RIG_H

#include <gyre/connect.h>

#include "fixture.h"

/* Connects with the rig's report, from outside; 0 for the errors of the call. */
struct gyre_address client_connect(const struct gyre_connect_options *options);
/* Options to echo to this port of 127.0.0.1; the text of @to is good until the next call. */
struct gyre_connect_options client_options(uint16_t port);
/* Waits for the next report, and expects it to be of that step. */
struct gyre_connection client_next(enum gyre_connection_step step);
/* Waits for a report of that step, whatever comes before it. */
struct gyre_connection client_until(enum gyre_connection_step step);
void client_report(struct gyre_stack *stack, const struct gyre_connection *connection,
		   struct gyre_channel *channel, void *arg);
/* Stops an actor from inside of the system. */
void client_stop(struct gyre_address actor);

/* A system of two loops that has started, and its end: no descriptor of it or the test is left. */
void client_begin(void);
void client_end(void);

/* ---- the other side ---- */

/* A TCP socket on a free port of 127.0.0.1, or of @address, bound but not listening. */
int client_bind(const char *address, uint16_t *ret_port);
int client_listen(uint16_t *ret_port);
/* Takes a connection, and fails the test if its peer does not echo. */
int client_accept(int fd);
/* A listener that answers nobody any more, and those that fill its queue. */
struct client_hole {
	int fd;
	int clients[8];
};
void client_hole_open(struct client_hole *hole, int fd);
void client_hole_close(struct client_hole *hole);

#endif
