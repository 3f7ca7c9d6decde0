/*
 * In libuv: actors live inside a program of that library, turned by its loop.
 *
 * A uv_poll_t waits for the descriptor of the system, and turns it. A timer of libuv asks an actor
 * three times; the answers are heard on the thread of libuv's loop. After the last one the system
 * is stopped, and when it has ended nothing holds libuv's loop any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <gyre/gyre.h>

enum { ASKS = 3, PERIOD_MS = 10 };

struct count {
	uint32_t value;
};
GYRE_MESSAGE(count, 0x100);

struct count_on {
	char nothing;
};
GYRE_REQUEST(count_on, 0x101, count);

static int count_on(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, count_on, ++((struct count *)gyre_state(stack))->value);
}

static const struct gyre_class counter_class = { .name = "counter",
						 .state_bytes = sizeof(struct count),
						 .behaviour.ask = count_on };

static struct gyre_system *the_system;
static struct gyre_address counter;

static void hear(struct gyre_mail *answer, int error, void *arg)
{
	uint32_t count = error == 0 ? gyre_mail_answer_to(answer, count_on)->value : ASKS;

	(void)arg;
	printf("libuv's timer, %s %u\n", error == 0 ? "number" : strerror(-error), count);
	if (count == ASKS) {
		gyre_system_stop(the_system);
	}
}

static void on_timer(uv_timer_t *timer)
{
	if (gyre_system_ask_callback(the_system, counter, gyre_system_new(the_system, count_on, 0),
				     0, hear, NULL) < 0) {
		uv_timer_stop(timer); /* the system is stopping */
	}
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	if (gyre_system_turn(the_system, 0) == -ESHUTDOWN) {
		uv_poll_stop(poll);
		uv_timer_stop(poll->data);
	}
}

/* Both are stopped when it returns: the loop has nothing else to wait for. */
static int run(uv_loop_t *loop)
{
	static uv_poll_t poll;
	static uv_timer_t timer;
	int r = uv_poll_init(loop, &poll, gyre_system_descriptor(the_system));

	poll.data = &timer;
	r = r < 0 ? r : uv_timer_init(loop, &timer);
	r = r < 0 ? r : uv_poll_start(&poll, UV_READABLE, on_readable);
	r = r < 0 ? r : uv_timer_start(&timer, on_timer, PERIOD_MS, PERIOD_MS);
	return r < 0 ? r : uv_run(loop, UV_RUN_DEFAULT);
}

int main(void)
{
	const struct gyre_system_options options = { .loops = 1, .embedded = true };
	int r = gyre_system_create(&options, &the_system);

	r = r < 0 ? r
		  : gyre_system_spawn(the_system, &counter_class, GYRE_NO_ARGUMENT, NULL, &counter);
	r = r < 0 ? r : gyre_system_start(the_system);
	r = r < 0 ? r : run(uv_default_loop());
	gyre_system_destroy(the_system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
