/*
 * An actor that listens while the system runs: it has the call made off the loops, since that may
 * block, and ends the listening when it wants.
 */
#include <gyre/listen.h>
#include <gyre/offload.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actor/parcel_rig.h"
#include "echo.h"

TestSuite(listening_actor, .timeout = 60);

struct listening_frame {
	struct gyre_future future;
	struct gyre_address acceptor;
};

static uint16_t port;

/* ---- off the loops ---- */

static int listen_there(struct gyre_work *work)
{
	const struct gyre_acceptor_options options = { .bind = "tcp://127.0.0.1:0",
						       .init_channel = init_echo,
						       .ret_port = &port };
	struct gyre_address acceptor;
	int r = gyre_system_listen(gyre_work_system(work), &options, &acceptor);

	return r < 0 ? r : gyre_work_reply(work, gyre_work_new(work, place, acceptor));
}

/* A connected client's socket, or -1. */
static int knock(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static int visit(struct gyre_work *work)
{
	int fd = knock();
	bool served = fd >= 0 && echoes(fd);

	if (fd >= 0) {
		(void)close(fd);
	}
	return gyre_work_reply(work, gyre_work_new(work, number, served));
}

static int await_refusal(struct gyre_work *work)
{
	int fd;

	while ((fd = knock()) >= 0) {
		(void)close(fd);
		(void)sched_yield();
	}
	return gyre_work_reply(work, gyre_work_new(work, number, 1));
}

/* ---- the actor ---- */

static int listen_for_a_while(struct gyre_stack *stack)
{
	struct listening_frame *frame = (struct listening_frame *)gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_offload(stack, listen_there, gyre_new(stack, number, 0),
				       GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	frame->acceptor = gyre_future_get(&frame->future, place)->address;
	GYRE_AWAIT(stack, gyre_offload(stack, visit, gyre_new(stack, number, 0), GYRE_FOREVER,
				       &frame->future));
	expect(gyre_future_get(&frame->future, number)->value == 1);
	expect(gyre_stop(stack, frame->acceptor) == 0);
	GYRE_AWAIT(stack, gyre_offload(stack, await_refusal, gyre_new(stack, number, 0),
				       GYRE_FOREVER, &frame->future));
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(listening_actor, listens_off_the_loops_and_ends_it_by_a_stop)
{
	play(2, listen_for_a_while);
	cr_expect_eq(fixture.counters.closed, fixture.counters.accepted);
	cr_expect_geq(fixture.counters.accepted, 1);
}
