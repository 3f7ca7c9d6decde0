/* A socket for datagrams at rest: its loop sleeps. */
#include <unistd.h>

#include "net/datagram_rig.h"

TestSuite(datagram_rest, .timeout = 60, .init = datagram_begin, .fini = datagram_end);

/* Whether the loop, which is idle, would wake up once more to free memory, however often it did. */
static bool wakes_again(void)
{
	struct gy_loop *loop = &datagram_rig.home.loop;
	bool again = true;

	for (uint32_t i = 0; i < 10 && again; i++) {
		again = loop->options.ops->trim(loop, 16);
	}
	return again;
}

Test(datagram_rest, wakes_its_loop_no_more_though_it_remembers_its_last_sender)
{
	struct gyre_socket_address at = datagram_open_at("udp://127.0.0.1:0");
	int fd = datagram_client(&at, NULL);

	datagrams.silent = true;
	datagram_send(fd, "x", 1);
	datagram_until_reads(1);
	rig_settle(&datagram_rig);
	cr_assert_eq(rig_channels(&datagram_rig)->pools.addresses.used, 1);
	cr_expect(!wakes_again());
	datagram_send(fd, "x", 1);
	datagram_until_reads(2);
	(void)close(fd);
}
