/*
 * Tests: a light that goes out after a minute, and a pipeline of lines, in no time.
 *
 * Time is virtual, so the minute costs nothing. The program links with gyre-sim in the place of
 * gyre. Whatever is not as expected prints its place and ends the program by abort().
 */
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>
#include <gyre/test_channel.h>

struct movement {
	int room;
};
GYRE_MESSAGE(movement, 0x100);

struct light {
	bool on;
};
GYRE_MESSAGE(light, 0x101);

struct sensor {
	struct gyre_address panel;
};

static int turn(struct gyre_stack *stack, bool on)
{
	const struct sensor *sensor = gyre_state(stack);

	return gyre_notify(stack, sensor->panel, gyre_new(stack, light, on));
}

static int see(struct gyre_stack *stack)
{
	const struct gyre_timer_options minute = { .delay_ns = GYRE_SECONDS(60) };
	int r = gyre_timer_start(stack, 1, &minute);

	((struct sensor *)gyre_state(stack))->panel = gyre_sender(stack);
	return r < 0 ? r : turn(stack, true);
}

static int stop_seeing(struct gyre_stack *stack)
{
	return turn(stack, false);
}

static const struct gyre_class sensor_class = {
	.name = "sensor",
	.state_bytes = sizeof(struct sensor),
	.behaviour = { .notice = see, .event = stop_seeing },
};

static void echo(struct gyre_handler_context *ctx, struct gyre_buffer *line)
{
	(void)gyre_context_write(ctx, line);
}

static int init_lines(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	static const struct gyre_handler handler = { .name = "echo", .read = echo };
	int r = gyre_line_codec_add(channel, GYRE_LAST, &lines);

	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &handler, arg);
}

static void goes_out(struct gyre_test *test, void *arg)
{
	struct gyre_probe *panel = gyre_probe_create(test);
	struct gyre_address sensor = gyre_test_spawn(test, &sensor_class, GYRE_NO_ARGUMENT);

	(void)arg;
	gyre_probe_notify(panel, sensor, gyre_test_new(test, movement, .room = 1));
	gyre_test_check(test, gyre_probe_expect(panel, light, GYRE_SECONDS(1))->on);
	gyre_probe_expect_none(panel, GYRE_SECONDS(59));
	gyre_test_check(test, !gyre_probe_expect(panel, light, GYRE_SECONDS(2))->on);
}

static void cuts_lines(struct gyre_test *test, void *arg)
{
	const struct gyre_acceptor_options options = { .init_channel = init_lines };
	struct gyre_test_channel *peer = gyre_test_channel_open(test, &options);

	(void)arg;
	gyre_test_channel_write_text(peer, "one\ntw");
	gyre_test_channel_expect_text(peer, "one\n");
	gyre_test_channel_expect_none(peer, GYRE_SECONDS(60));
}

int main(void)
{
	int r = gyre_test_run(NULL, goes_out, NULL);

	r = r < 0 ? r : gyre_test_run(NULL, cuts_lines, NULL);
	printf("%s\n", r == 0 ? "the light goes out, and lines are cut" : "a test has failed");
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
