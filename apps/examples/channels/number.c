/*
 * Numbers: a binary protocol, whose frames are read and written number by number.
 *
 *	request   u16 length, u16 sensor, f64 value      all of them big-endian
 *	answer    u16 length, u16 sensor, varint count, f64 mean of all values so far
 *
 * One handler takes the length off each frame that is read, and another puts it before each that is
 * written. The argument is where to listen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

struct mean {
	uint64_t count;
	double sum;
};

static void write_mean(struct gyre_handler_context *ctx, uint16_t sensor, const struct mean *mean)
{
	struct gyre_buffer *answer = gyre_context_buffer(ctx);
	int r = gyre_buffer_append_u16be(answer, sensor);

	r = r < 0 ? r : gyre_buffer_append_varint(answer, mean->count);
	r = r < 0 ? r : gyre_buffer_append_f64be(answer, mean->sum / (double)mean->count);
	if (r < 0) {
		gyre_channel_abort(gyre_context_channel(ctx), r);
	}
	(void)gyre_context_write(ctx, answer);
}

static void read_value(struct gyre_handler_context *ctx, struct gyre_buffer *frame)
{
	struct mean *mean = gyre_context_arg(ctx);
	uint16_t sensor = 0;
	double value = 0;

	if (gyre_buffer_read_u16be(frame, &sensor) < 0 ||
	    gyre_buffer_read_f64be(frame, &value) < 0 || gyre_buffer_bytes(frame) > 0) {
		gyre_context_fire_exception(ctx, -EPROTO); /* which closes the channel */
	} else {
		mean->count++;
		mean->sum += value;
		write_mean(ctx, sensor, mean);
	}
	gyre_buffer_destroy(frame);
}

static void free_mean(struct gyre_handler_context *ctx)
{
	free(gyre_context_arg(ctx));
}

static const struct gyre_handler means = { .read = read_value, .removed = free_mean };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	const struct gyre_length_options in = { .length_field_bytes = 2,
						.initial_bytes_to_strip = 2 };
	const struct gyre_prepender_options out = { .length_field_bytes = 2 };
	struct mean *mean = calloc(1, sizeof(*mean));
	int r = mean == NULL ? -ENOMEM : gyre_length_codec_add(channel, GYRE_LAST, &in);

	(void)arg;
	r = r < 0 ? r : gyre_length_prepender_add(channel, GYRE_LAST, &out);
	r = r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &means, mean);
	if (r < 0) {
		free(mean);
	}
	return r;
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	const struct gyre_acceptor_options options = {
		.bind = argc > 1 ? argv[1] : "tcp://127.0.0.1:0",
		.init_channel = init_channel,
		.ret_port = &port,
	};
	struct gyre_system *system = NULL;
	int r = gyre_system_create(NULL, &system);

	r = r < 0 ? r : gyre_system_listen(system, &options, NULL);
	if (r == 0) {
		printf("listening on port %u\n", port);
		(void)fflush(stdout);
		r = gyre_system_run(system);
	}
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
