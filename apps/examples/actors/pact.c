/*
 * Pacts: a reader ends together with the writer that it works for, and for the same reason.
 *
 * The reader makes the pact; no handler of it is called when the writer fails, it just stops. The
 * pact binds the reader alone: its own end would leave the writer as it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

enum { ROOM = 3 };

struct line {
	uint32_t number;
};
GYRE_MESSAGE(line, 0x100);

struct partner {
	struct gyre_address actor;
};
GYRE_MESSAGE(partner, 0x101);

/* The disk is full after some lines. */
static int write_line(struct gyre_stack *stack)
{
	uint32_t number = gyre_message(stack, line)->number;

	if (number > ROOM) {
		return gyre_throw(stack, -ENOSPC);
	}
	printf("line %" PRIu32 " is written\n", number);
	return gyre_notify(stack, gyre_sender(stack), gyre_new(stack, line, number));
}

static const struct gyre_class writer_class = { .name = "writer",
						.behaviour.notice = write_line,
						.strategy = GYRE_STRATEGY_STOP };

static int begin(struct gyre_stack *stack)
{
	struct gyre_address writer = gyre_message(stack, partner)->actor;
	int r = gyre_watch_pact(stack, writer);

	return r < 0 ? r : gyre_notify(stack, writer, gyre_new(stack, line, 1));
}

/* Reads the next line when one is written: without the pact it would wait for ever. */
static int read_line(struct gyre_stack *stack)
{
	return gyre_notify(stack, gyre_sender(stack),
			   gyre_new(stack, line, gyre_message(stack, line)->number + 1));
}

static void close_file(void *state)
{
	(void)state;
	printf("the reader closes its file\n");
}

static const struct gyre_class reader_class = { .name = "reader",
						.mount = begin,
						.clean = close_file,
						.behaviour.notice = read_line,
						.strategy = GYRE_STRATEGY_STOP };

static int run(struct gyre_stack *stack)
{
	struct gyre_address writer;
	struct gyre_address reader;
	int r = gyre_spawn(stack, &writer_class, GYRE_NO_ARGUMENT, NULL, &writer);

	r = r < 0 ? r
		  : gyre_spawn(stack, &reader_class, gyre_new(stack, partner, writer), NULL,
			       &reader);
	return r < 0 ? r : gyre_watch(stack, reader);
}

static int see_end(struct gyre_stack *stack)
{
	int reason = gyre_message(stack, gyre_terminated)->reason;

	printf("the reader has ended: %s\n", strerror(-reason));
	return gyre_stop(stack, gyre_self(stack));
}

static const struct gyre_route events[] = {
	GYRE_ROUTE(gyre_terminated, see_end),
	GYRE_ROUTE_END,
};

static const struct gyre_class main_class = { .name = "main",
					      .mount = run,
					      .behaviour.event_routes = events };

int main(int argc, char **argv)
{
	/* The failure of the writer is a warning in the log; here it is wanted. */
	const struct gyre_system_options options = { .loops = 1, .log_level = GYRE_LOG_ERROR };

	return gyre_main(&main_class, argc, argv, &options);
}
