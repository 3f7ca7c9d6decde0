/*
 * Clients that connect without memory: where to, what their reports say, and what must hold.
 */
#ifndef TEST_UNIT_NET_NO_MEMORY_CLIENT_H
#define TEST_UNIT_NET_NO_MEMORY_CLIENT_H

#include <gyre/connect.h>

#include "net/no_memory_rig.h"

/* What the reports of a round have said. */
struct lean_reports {
	uint32_t opened;
	uint32_t given_up;
	int reason;
};
extern struct lean_reports lean_reports;

/* A report for the options. */
void lean_hear(struct gyre_stack *stack, const struct gyre_connection *connection,
	       struct gyre_channel *channel, void *arg);
/* A socket that listens at the address, which is parsed; where that is then, also as a text. */
int lean_listen(struct gyre_socket_address *address, char *text);
/* Of a connect that has returned @r and been reported. */
void lean_check_client(const struct lean_round *round, int r, bool lacked);

#endif
