/*
 * A node that listens where nobody can dial it: what it says arrives, and what is answered has no
 * way back. It hears so over the link that it has dialled itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/name.h>
#include <gyre/outside.h>
#include <gyre/watch.h>

#include "base/atomic.h"
#include "remote/pair.h"

enum { SOCKETS = 3, ADDRESS_BYTES = 64 };

static struct gyre_address other;
static int sockets[SOCKETS];
static char back[ADDRESS_BYTES]; /* where the second is told that the first is */
static const struct gyre_node_peer peers[] = { { 1, back }, { 0, NULL } };

/* ---- addresses that do not lead back ---- */

static int bind_any(struct sockaddr_in *ret_at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t bytes = sizeof(*ret_at);

	*ret_at = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(bind(fd, (const struct sockaddr *)ret_at, sizeof(*ret_at)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)ret_at, &bytes), 0);
	(void)snprintf(back, sizeof(back), "tcp://127.0.0.1:%u", ntohs(ret_at->sin_port));
	return fd;
}

/* A port that is taken, and nobody listens at. */
static void make_one_that_refuses(void)
{
	struct sockaddr_in at;

	sockets[0] = bind_any(&at);
	sockets[1] = -1;
	sockets[2] = -1;
}

/* A listener whose queue is full: the kernel does not answer who connects. */
static void make_one_that_is_silent(void)
{
	struct sockaddr_in at;

	sockets[0] = bind_any(&at);
	cr_assert_eq(listen(sockets[0], 0), 0);
	for (int i = 1; i < SOCKETS; i++) {
		sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(sockets[i], (const struct sockaddr *)&at, sizeof(at));
	}
}

static void close_sockets(void)
{
	for (int i = 0; i < SOCKETS; i++) {
		if (sockets[i] >= 0) {
			cr_assert_eq(close(sockets[i]), 0);
		}
	}
}

static void play_back(struct pair pair)
{
	pair.second.peers = peers;
	pair.second.redial_min_ns = GYRE_MILLISECONDS(1);
	pair.second.redial_max_ns = GYRE_MILLISECONDS(10);
	pair_play(&pair);
	close_sockets();
}

/* ---- asks ---- */

/* The first is handled, and nobody can be told; the others are not sent. */
static int asks_in_vain(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	other = pair_find("adder");
	GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	expect(strstr(fixture.line, "node 2 cannot dial this node") != NULL);
	expect(strstr(fixture.line, back) != NULL);
	GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	GYRE_AWAIT(stack, gyre_stop_gracefully(stack, other, GYRE_SECONDS(1000), &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	other = pair_find("other");
	expect(gyre_notify(stack, other, gyre_new(stack, number, 1)) == 0);
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
	} while (gy_load_acquire(&pair_heard) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(one_way, fails_asks_of_a_node_that_is_refused_where_it_says_it_is)
{
	make_one_that_refuses();
	play_back((struct pair){ .script = asks_in_vain, .class = &pair_hearer_class });
	cr_expect_eq(fixture.warnings, 1, "it is said once");
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_NODE_DOWN], 3, "the first has left");
	cr_expect_eq(pair_heard, 1);
}

Test(one_way, fails_asks_of_a_node_that_is_not_answered_where_it_says_it_is)
{
	make_one_that_is_silent();
	play_back((struct pair){ .script = asks_in_vain,
				 .class = &pair_hearer_class,
				 .second.away_ns = GYRE_MILLISECONDS(20) });
	cr_expect_eq(fixture.warnings, 1, "it is said once");
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_NODE_DOWN], 3, "the first has left");
}

Test(one_way, fails_asks_on_each_loop)
{
	make_one_that_refuses();
	play_back((struct pair){ .script = asks_in_vain, .class = &pair_hearer_class, .loops = 3 });
	cr_expect_eq(fixture.warnings, 1, "it is said once");
}

/* ---- a way back ---- */

static void lead_back(void)
{
	char text[ADDRESS_BYTES];

	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
		       gyre_system_node_port(fixture.system));
	expect(gyre_system_node_add_peer(pair_other, &(struct gyre_node_peer){ 1, text }) == 0);
}

static int asks_until_it_is_answered(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	other = pair_find("adder");
	GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	lead_back();
	do {
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &frame->future));
		GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 6), GYRE_FOREVER,
					   &frame->future));
	} while (gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_get(&frame->future, number)->value == 7);
	GYRE_AWAIT(stack, gyre_node_lookup(stack, 2, "adder", GYRE_FOREVER, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(one_way, has_asks_answered_again_when_there_is_a_way_back_and_none_twice)
{
	make_one_that_refuses();
	play_back((struct pair){ .script = asks_until_it_is_answered });
	cr_expect_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1,
		     "the answer to the first, which had failed");
}

/* ---- watches ---- */

static uint32_t times_told;

static int told_of_no_end(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, other));
	expect(terminated->reason == -EADDRNOTAVAIL);
	(void)gy_fetch_add(&times_told, 1);
	return gyre_return(stack);
}

static int watch_other(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, other) == 0);
	return gyre_return(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = watch_other,
						 .behaviour.event = told_of_no_end };

#define UNTIL_TOLD(stack, frame, times)                                                       \
	do {                                                                                  \
		GYRE_AWAIT(stack, gyre_sleep(stack, GYRE_MILLISECONDS(1), &(frame)->future)); \
	} while (gy_load_relaxed(&times_told) < (times))

static int watches_in_vain(struct gyre_stack *stack)
{
	struct pair_frame *frame = pair_frame_of(stack);

	GYRE_BEGIN(stack);
	other = pair_find("adder");
	(void)spawn_here(stack, &watcher_class);
	GYRE_AWAIT(stack, gyre_ask(stack, other, gyre_new(stack, number, 1), GYRE_FOREVER,
				   &frame->future));
	expect(gyre_future_error(&frame->future) == -EADDRNOTAVAIL);
	UNTIL_TOLD(stack, frame, 1);
	(void)spawn_here(stack, &watcher_class);
	UNTIL_TOLD(stack, frame, 2);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(one_way, ends_watches_when_that_has_lasted)
{
	make_one_that_refuses();
	play_back((struct pair){ .script = watches_in_vain,
				 .first.away_ns = GYRE_SECONDS(2),
				 .first.heartbeat_ns = GYRE_MILLISECONDS(100) });
	cr_expect_eq(times_told, 2);
}

/* ---- from outside ---- */

static struct gyre_address here;

static void hear_error(struct gyre_mail *answer, int error, void *arg)
{
	(void)arg;
	expect(answer == NULL && error == -EADDRNOTAVAIL);
	expect(gyre_system_notify(fixture.system, here,
				  gyre_system_new(fixture.system, number, 0)) == 0);
}

static int ask_again_or_end(struct gyre_stack *stack)
{
	if (gy_fetch_add(&pair_heard, 1) == 2) {
		return fixture_end(stack);
	}
	expect(gyre_system_ask_callback(fixture.system, other,
					gyre_system_new(fixture.system, number, 1), GYRE_FOREVER,
					hear_error, NULL) == 0);
	return gyre_return(stack);
}

static const struct gyre_class asker_class = { .name = "asker",
					       .behaviour.notice = ask_again_or_end };

static int is_asked_from_outside(struct gyre_stack *stack)
{
	other = pair_find("adder");
	here = spawn_here(stack, &asker_class);
	expect(gyre_notify(stack, here, gyre_new(stack, number, 0)) == 0);
	return gyre_return(stack);
}

Test(one_way, fails_asks_from_outside_likewise)
{
	make_one_that_refuses();
	play_back((struct pair){ .script = is_asked_from_outside });
	cr_expect_eq(pair_heard, 3);
}
