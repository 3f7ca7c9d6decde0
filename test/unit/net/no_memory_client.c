/*
 * Clients that connect without memory.
 */
#include "net/no_memory_client.h"

#include <errno.h>
#include <sys/socket.h>

#include "buffer/socket_address.h"

struct lean_reports lean_reports;

void lean_hear(struct gyre_stack *stack, const struct gyre_connection *connection,
	       struct gyre_channel *channel, void *arg)
{
	(void)stack;
	(void)arg;
	lean_reports.opened += connection->step == GYRE_CONNECTION_OPEN;
	if (connection->step == GYRE_CONNECTION_GIVEN_UP) {
		lean_reports.given_up++;
		lean_reports.reason = connection->reason;
	}
	cr_expect((channel != NULL) == (connection->step == GYRE_CONNECTION_OPEN ||
					connection->step == GYRE_CONNECTION_CLOSED));
}

int lean_listen(struct gyre_socket_address *address, char *text)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&address->storage, address->bytes), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_assert_eq(gy_socket_address_of(fd, address), 0);
	cr_assert_gt(gyre_socket_address_format(address, GYRE_SOCKET_ADDRESS_TEXT_MAX, text), 0);
	return fd;
}

void lean_check_client(const struct lean_round *round, int r, bool lacked)
{
	cr_expect(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round->number, r);
	cr_expect(lacked || lean_reports.opened == 1);
	cr_expect(lean_reports.given_up == 0 || lean_reports.reason == -ENOMEM, "round %u: %d",
		  round->number, lean_reports.reason);
	lean_rig.opened += lean_reports.opened;
}
