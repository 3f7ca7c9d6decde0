/* Reading pipes on kernels whose multishot reads fail: see pipe.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../rig.h"
#include "channel/file/pipe.h"

TestSuite(pipe_read, .timeout = 60);

static struct rig rig;
static struct gyre_channel *channel;
static int fds[2];
static uint64_t received;
static bool wrong;
static int inactive;
static int reason;
static gy_op_complete_fn complete;

static void on_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	unsigned char bytes[4096];
	size_t count;

	(void)ctx;
	while ((count = gyre_buffer_read(data, bytes, sizeof(bytes))) > 0) {
		wrong = wrong || !rig_check(bytes, count, received);
		received += count;
	}
	gyre_buffer_destroy(data);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	inactive++;
	reason = gyre_channel_reason(gyre_context_channel(ctx));
}

static const struct gyre_handler reader = { .name = "reader",
					    .read = on_read,
					    .inactive = on_inactive };

static int init(struct gyre_channel *of, void *arg)
{
	int r = gy_pipe_attach(of, GY_PIPE_INPUT, -1);

	channel = of;
	return r < 0 ? r : gyre_pipeline_add(of, GYRE_LAST, (const struct gyre_handler *)arg, NULL);
}

static void begin(void)
{
	const struct gyre_channel_options options = { 0 };
	struct gy_channel_opening opening = { .options = &options,
					      .init = init,
					      .init_arg = (void *)(uintptr_t)&reader };

	rig_init(&rig, NULL);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	opening.fd = fds[0];
	rig.opened++;
	cr_assert_eq(gy_channel_open(rig.house, rig_stack(&rig), &opening), 0);
	rig_settle(&rig);
}

static void end(void)
{
	(void)close(fds[1]);
	rig_fini(&rig);
}

static bool has_all(struct rig *of, void *arg)
{
	(void)of;
	return received == *(const uint64_t *)arg;
}

static void write_and_expect(size_t count)
{
	unsigned char bytes[4096];
	uint64_t wanted = received + count;

	rig_fill(bytes, count, received);
	cr_assert_eq(write(fds[1], bytes, count), (ssize_t)count);
	cr_assert(rig_until(&rig, has_all, &wanted), "%lu of %lu", received, wanted);
	cr_assert_not(wrong);
}

/* The end of the read under way, as such a kernel tells of it. */
static void refused(struct gy_op *op, const struct gy_completion *completion)
{
	struct gy_completion refusal = { .result = -EINVAL };

	cr_assert_not(completion->more);
	complete(op, &refusal);
}

static void refuse_the_read(void)
{
	complete = channel->receive.complete;
	cr_assert(channel->receive.armed);
	channel->receive.complete = refused;
	cr_assert_eq(gy_ring_cancel(rig_channels(&rig)->pools.ring, &channel->receive), 0);
	rig_settle(&rig);
}

static bool is_inactive(struct rig *of, void *arg)
{
	(void)of;
	(void)arg;
	return inactive > 0;
}

Test(pipe_read, goes_on_one_by_one_where_multishot_reads_are_refused)
{
	begin();
	if (!channel->pipe->multishot) {
		end();
		cr_skip_test("this kernel's rings cannot");
	}
	write_and_expect(1000);
	refuse_the_read();
	cr_expect_not(channel->pipe->multishot);
	for (int i = 0; i < 10; i++) {
		write_and_expect(3000);
	}
	cr_expect_eq(inactive, 0);
	(void)close(fds[1]);
	cr_expect(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(reason, 0);
	fds[1] = -1;
	end();
}

Test(pipe_read, fails_where_single_reads_are_refused_too)
{
	begin();
	if (channel->pipe->multishot) {
		refuse_the_read();
	}
	refuse_the_read();
	cr_expect(rig_until(&rig, is_inactive, NULL));
	cr_expect_eq(reason, -EINVAL);
	end();
}
