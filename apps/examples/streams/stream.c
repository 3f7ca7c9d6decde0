/*
 * Stream: readings go through stages to a sink, and no more are made than that takes.
 *
 * A sensor is read, readings that cannot be right are dropped, and the others are averaged three by
 * three. All of it runs in one actor, one stage after the other. Then the sensor breaks down: what
 * came before is averaged still, and a stage replaces the failure by an element that says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gyre/gyre.h>

struct reading {
	double degrees;
	int count; /* of the readings that it is the mean of */
	int error; /* with which the sensor has failed; else 0 */
};
GYRE_MESSAGE(reading, 0x100);

static int read_sensor(void *arg, void *out)
{
	int *reads = arg;

	if (++*reads == 10) {
		return -EIO; /* it breaks down */
	}
	((struct reading *)out)->degrees = *reads % 5 == 0 ? 999 : 20 + *reads;
	return 1;
}

static int is_plausible(void *arg, const void *in)
{
	return ((const struct reading *)in)->degrees < *(const int *)arg;
}

static int average(void *arg, void *in, uint32_t count, void *out)
{
	const struct reading *readings = in;
	struct reading *mean = out;

	(void)arg;
	*mean = (struct reading){ .count = (int)count };
	for (uint32_t i = 0; i < count; i++) {
		mean->degrees += readings[i].degrees;
	}
	mean->degrees /= mean->count;
	return 0;
}

static int replace_failure(void *arg, int error, void *out)
{
	(void)arg;
	((struct reading *)out)->error = error;
	return 1;
}

static int print_mean(void *arg, void *in)
{
	const struct reading *mean = in;

	(void)fprintf(arg, "%.1f degrees, of %d readings: %s\n", mean->degrees, mean->count,
		      strerror(-mean->error));
	return 0;
}

static struct gyre_graph *build(int *reads)
{
	static const struct gyre_batch_options three = { .count_max = 3 };
	static int too_hot = 100;
	struct gyre_graph *graph = gyre_graph_create();
	struct gyre_stream s = gyre_stream_generate(graph, &gyre_type_reading, read_sensor, reads);

	s = gyre_stream_filter(s, is_plausible, &too_hot);
	s = gyre_stream_batch(s, &gyre_type_reading, &three, average, NULL);
	gyre_stream_each(gyre_stream_recover(s, replace_failure, NULL), print_mean, stdout);
	return graph; /* what was wrong is told when it is run */
}

static int observe(struct gyre_stack *stack)
{
	struct gyre_future *done = gyre_frame(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_graph_run(stack, build(gyre_state(stack)), NULL, done));
	return gyre_future_failed(done) ? gyre_throw(stack, gyre_future_error(done))
					: gyre_stop(stack, gyre_self(stack));
	GYRE_END(stack);
}

static const struct gyre_class main_class = { .name = "observer",
					      .state_bytes = sizeof(int),
					      .frame_bytes = sizeof(struct gyre_future),
					      .mount = observe };

int main(int argc, char **argv)
{
	return gyre_main(&main_class, argc, argv, &(struct gyre_system_options){ .loops = 1 });
}
