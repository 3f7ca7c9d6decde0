/* Pipes: channels on pipes, FIFOs, files and sockets, from their opening to the end of their actor.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/buffer.h>
#include <gyre/channel.h>
#include <gyre/pipe.h>
#include <gyre/watch.h>

#include "channel/rig.h"
#include "fixture.h"

#include "base/atomic.h"

TestSuite(pipe, .timeout = 60);

enum { STREAM_BYTES = 3 << 20, MUCH_BYTES = 500000 };

static unsigned char bytes[STREAM_BYTES];
static unsigned char back[STREAM_BYTES];
static int in[2];
static int out[2];
static int source; /* a file that is sent */
static uint64_t received;
static uint32_t wrong;
static uint32_t ended;
static int reason;

/* ---- handlers ---- */

static void send_back(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	received += gyre_buffer_bytes(data);
	(void)gyre_context_write(ctx, data);
}

static void check(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	const void *at;
	size_t count;

	(void)ctx;
	while ((count = gyre_buffer_peek(data, 0, &at)) > 0) {
		wrong += !rig_check(at, count, received);
		received += count;
		(void)gyre_buffer_skip(data, count);
	}
	gyre_buffer_destroy(data);
}

static void on_inactive(struct gyre_handler_context *ctx)
{
	reason = gyre_channel_reason(gyre_context_channel(ctx));
	gy_store_release(&ended, 1);
	gyre_system_stop(fixture.system);
}

static void say_hello(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);
	struct gyre_socket_address address;

	expect(gyre_channel_local_address(gyre_context_channel(ctx), &address) == -ENOTSOCK);
	expect(gyre_channel_peer_address(gyre_context_channel(ctx), &address) == -ENOTSOCK);
	expect(gyre_buffer_append(buffer, "hello", 5) == 0);
	expect(gyre_context_write(ctx, buffer) == 0);
	gyre_context_close(ctx);
}

static void write_in_vain(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, "hello", 5) == 0);
	expect(gyre_context_write(ctx, buffer) == -EPIPE);
}

static void shut_down_and_read(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, "last", 4) == 0);
	expect(gyre_context_write(ctx, buffer) == 0);
	gyre_context_shutdown(ctx);
}

/* More than a pipe has room for. */
static struct gyre_buffer *much(struct gyre_handler_context *ctx)
{
	struct gyre_buffer *buffer = gyre_context_buffer(ctx);

	expect(gyre_buffer_append(buffer, bytes, MUCH_BYTES) == 0);
	return buffer;
}

static void write_much_and_close(struct gyre_handler_context *ctx)
{
	expect(gyre_context_write(ctx, much(ctx)) == 0);
	gyre_context_close(ctx);
}

static void write_much_and_stop(struct gyre_handler_context *ctx)
{
	expect(gyre_context_write(ctx, much(ctx)) == 0);
	gyre_system_stop(fixture.system);
}

static void send_a_file_and_close(struct gyre_handler_context *ctx)
{
	const struct gyre_file_region what = { .bytes = MUCH_BYTES };
	struct gyre_file *file;

	expect(gyre_file_adopt(gyre_context_stack(ctx), source, &file) == 0);
	expect(gyre_context_send_file(ctx, file, &what) == 0);
	gyre_file_close(file);
	gyre_context_close(ctx);
}

static const struct gyre_handler echo = { .read = send_back, .inactive = on_inactive };
static const struct gyre_handler checker = { .read = check, .inactive = on_inactive };
static const struct gyre_handler greeter = { .active = say_hello, .inactive = on_inactive };
static const struct gyre_handler mute = { .active = write_in_vain,
					  .read = check,
					  .inactive = on_inactive };
static const struct gyre_handler half = { .active = shut_down_and_read,
					  .read = check,
					  .inactive = on_inactive };

static const struct gyre_handler closer = { .active = write_much_and_close,
					    .inactive = on_inactive };
static const struct gyre_handler stopper = { .active = write_much_and_stop,
					     .inactive = on_inactive };
static const struct gyre_handler sender = { .active = send_a_file_and_close,
					    .inactive = on_inactive };

static int init_channel(struct gyre_channel *channel, void *arg)
{
	return gyre_pipeline_add(channel, GYRE_LAST, (const struct gyre_handler *)arg, NULL);
}

static int refuse(struct gyre_channel *channel, void *arg)
{
	(void)channel;
	(void)arg;
	return -EBADMSG;
}

/* ---- rigs ---- */

static void begin(void)
{
	rig_fill(bytes, sizeof(bytes), 0);
	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
}

/* How many of the test's descriptors the pipe takes. */
static void open_system(int taken)
{
	fixture_open(2);
	fixture.descriptors -= taken;
}

static struct gyre_pipe_options options_for(const struct gyre_handler *handler)
{
	return (struct gyre_pipe_options){
		.init_channel = init_channel,
		.init_arg = (void *)(uintptr_t)handler,
		.input_fd = in[0],
		.output_fd = out[1],
		.loop = 1,
	};
}

static void open_pipe(const struct gyre_pipe_options *options)
{
	struct gyre_address address;

	cr_assert_eq(gyre_system_pipe_open(fixture.system, options, &address), 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
}

static void close_system(void)
{
	cr_assert_eq(gyre_system_wait(fixture.system), 0);
	fixture_close();
}

/* Writes @count bytes to @to and reads as many from @from, both as far as they go. */
static void pump(int to, int from, size_t count)
{
	size_t sent = 0;
	size_t got = 0;

	(void)fcntl(to, F_SETFL, O_NONBLOCK);
	while (got < count) {
		struct pollfd fds[2] = { { .fd = from, .events = POLLIN },
					 { .fd = sent < count ? to : -1, .events = POLLOUT } };
		ssize_t moved;

		cr_assert_gt(poll(fds, 2, 20000), 0);
		if (sent < count && (moved = write(to, bytes + sent, count - sent)) > 0) {
			sent += (size_t)moved;
		}
		if ((fds[0].revents & POLLIN) != 0) {
			moved = read(from, back + got, count - got);
			cr_assert_gt(moved, 0);
			got += (size_t)moved;
		}
	}
	cr_assert(memcmp(bytes, back, count) == 0);
}

/* ---- both ways ---- */

Test(pipe, carries_what_is_read_and_written_as_it_is, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	open_system(2);
	open_pipe(&options);
	pump(in[1], out[0], sizeof(bytes));
	(void)close(in[1]);
	cr_assert_eq(read(out[0], back, 1), 0); /* the end of input closes it */
	fixture.descriptors--;
	close_system();
	cr_assert_eq(received, sizeof(bytes));
	cr_assert_eq(reason, 0);
}

Test(pipe, leaves_descriptors_alone_that_others_have_made_nonblocking, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	options.keep = true;
	open_system(0);
	cr_assert_eq(fcntl(in[0], F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(fcntl(out[1], F_SETFL, O_NONBLOCK), 0);
	open_pipe(&options);
	pump(in[1], out[0], sizeof(bytes));
	(void)close(in[1]);
	fixture.descriptors--;
	close_system();
	cr_assert_neq(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	cr_assert_neq(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
}

Test(pipe, may_be_one_descriptor_for_both_directions, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	options.input_fd = options.output_fd = fds[0];
	open_system(1);
	open_pipe(&options);
	pump(fds[1], fds[1], 100000);
	(void)close(fds[1]);
	fixture.descriptors--;
	close_system();
}

Test(pipe, is_read_from_a_file_to_its_end, .init = begin)
{
	struct gyre_pipe_options options = options_for(&checker);
	FILE *stream = tmpfile();

	cr_assert_eq(fwrite(bytes, 1, sizeof(bytes), stream), sizeof(bytes));
	rewind(stream);
	cr_assert_eq(fflush(stream), 0);
	options.input_fd = fileno(stream);
	options.keep = true;
	options.no_output = true;
	open_system(0);
	open_pipe(&options);
	close_system();
	cr_assert_eq(received, sizeof(bytes));
	cr_assert_eq(wrong, 0);
	(void)fclose(stream);
}

Test(pipe, writes_to_a_file_where_its_descriptor_stands, .init = begin)
{
	struct gyre_pipe_options options = options_for(&greeter);
	FILE *stream = tmpfile();

	cr_assert_eq(write(fileno(stream), "say ", 4), 4);
	options.output_fd = fileno(stream);
	options.keep = true;
	options.no_input = true;
	open_system(0);
	open_pipe(&options);
	close_system();
	cr_assert_eq(pread(fileno(stream), back, 100, 0), 9);
	cr_assert(memcmp(back, "say hello", 9) == 0);
	(void)fclose(stream);
}

/* ---- one way, and ends ---- */

Test(pipe, without_output_refuses_writes_and_ends_with_its_input, .init = begin)
{
	struct gyre_pipe_options options = options_for(&mute);

	options.no_output = true;
	open_system(1);
	cr_assert_eq(write(in[1], bytes, 5000), 5000);
	open_pipe(&options);
	(void)close(in[1]);
	fixture.descriptors--;
	close_system();
	cr_assert_eq(received, 5000);
	cr_assert_eq(wrong, 0);
}

Test(pipe, without_input_lives_until_it_is_closed, .init = begin)
{
	struct gyre_pipe_options options = options_for(&greeter);

	options.no_input = true;
	open_system(1);
	open_pipe(&options);
	cr_assert_eq(read(out[0], back, 100), 5);
	cr_assert_eq(read(out[0], back, 100), 0);
	close_system();
}

/* All that was written, and then the end. */
static void expect_much(void)
{
	size_t count = 0;
	ssize_t got;

	while ((got = read(out[0], back + count, sizeof(back) - count)) > 0) {
		count += (size_t)got;
	}
	cr_assert_eq(got, 0);
	cr_expect_eq(count, MUCH_BYTES);
	cr_expect(rig_check(back, count, 0));
}

static void expect_much_without_input(const struct gyre_handler *handler)
{
	struct gyre_pipe_options options = options_for(handler);

	options.no_input = true;
	open_system(1);
	open_pipe(&options);
	expect_much();
	close_system();
	cr_expect_eq(reason, 0);
}

Test(pipe, without_input_sends_all_before_it_closes, .init = begin)
{
	expect_much_without_input(&closer);
}

Test(pipe, without_input_sends_all_before_the_system_stops, .init = begin)
{
	expect_much_without_input(&stopper);
}

Test(pipe, that_closes_leaves_the_input_to_others, .init = begin)
{
	struct gyre_pipe_options options = options_for(&closer);
	FILE *stream = tmpfile();

	cr_assert_not_null(stream);
	cr_assert_eq(write(fileno(stream), bytes, 100000), 100000);
	cr_assert_eq(lseek(fileno(stream), 0, SEEK_SET), 0);
	options.input_fd = dup(fileno(stream));
	options.channel.manual_read = true;
	open_system(2);
	open_pipe(&options);
	expect_much();
	close_system();
	cr_expect_eq(lseek(fileno(stream), 0, SEEK_CUR), 0);
	(void)fclose(stream);
}

Test(pipe, is_sent_a_file_before_it_closes, .init = begin)
{
	struct gyre_pipe_options options = options_for(&sender);
	char path[] = "/tmp/gyre-pipe-XXXXXX";

	source = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(source, 0);
	(void)unlink(path);
	cr_assert_eq(write(source, bytes, MUCH_BYTES), MUCH_BYTES);
	options.no_input = true;
	open_system(2);
	open_pipe(&options);
	expect_much();
	close_system();
	cr_expect_eq(reason, 0);
}

Test(pipe, that_is_shut_down_closes_its_output_and_reads_on, .init = begin)
{
	struct gyre_pipe_options options = options_for(&half);

	open_system(2);
	open_pipe(&options);
	cr_assert_eq(read(out[0], back, 100), 4);
	cr_assert_eq(read(out[0], back, 100), 0);
	cr_assert_eq(write(in[1], bytes, 3000), 3000);
	(void)close(in[1]);
	fixture.descriptors--;
	close_system();
	cr_assert_eq(received, 3000);
}

Test(pipe, whose_reader_has_gone_ends_with_epipe, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	(void)close(out[0]);
	open_system(2);
	open_pipe(&options);
	cr_assert_eq(write(in[1], bytes, 10), 10);
	close_system();
	cr_assert_eq(reason, -EPIPE);
}

Test(pipe, that_is_idle_ends_with_the_system, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	open_system(2);
	open_pipe(&options);
	gyre_system_stop(fixture.system);
	close_system();
	cr_assert_eq(gy_load_acquire(&ended), 1);
}

Test(pipe, that_its_initialiser_refuses_is_closed, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	options.init_channel = refuse;
	open_system(2);
	open_pipe(&options);
	cr_assert_eq(read(out[0], back, 1), 0);
	gyre_system_stop(fixture.system);
	close_system();
	cr_assert_eq(ended, 0);
}

Test(pipe, is_closed_when_its_system_ends_without_a_start, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);
	struct gyre_address address;

	open_system(2);
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, &address), 0);
	fixture_close();
}

/* ---- its actor ---- */

static struct gyre_address watched;

static int watch(struct gyre_stack *stack)
{
	expect(gyre_watch(stack, watched) == 0);
	return gyre_return(stack);
}

static int hear(struct gyre_stack *stack)
{
	const struct gyre_terminated *terminated = gyre_message(stack, gyre_terminated);

	expect(terminated != NULL && gyre_address_equal(terminated->actor, watched));
	return fixture_end(stack);
}

static const struct gyre_class watcher_class = { .name = "watcher",
						 .mount = watch,
						 .behaviour.event = hear };
static const struct gyre_handler plain = { .read = check };

Test(pipe, has_an_actor_that_ends_with_it, .init = begin)
{
	struct gyre_pipe_options options = options_for(&plain);

	open_system(2);
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, &watched), 0);
	(void)spawn_outside(&watcher_class, 0);
	cr_assert_eq(gyre_system_start(fixture.system), 0);
	(void)close(in[1]);
	fixture.descriptors--;
	close_system();
}

/* ---- refusals ---- */

Test(pipe, takes_its_descriptors_also_when_it_is_refused, .init = begin)
{
	struct gyre_pipe_options options = options_for(&echo);

	open_system(0);
	cr_assert_eq(gyre_system_pipe_open(NULL, &options, NULL), -EINVAL);
	cr_assert_eq(gyre_system_pipe_open(fixture.system, NULL, NULL), -EINVAL);
	options.loop = 2;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EINVAL);
	cr_assert_eq(fcntl(in[0], F_GETFD), -1);
	cr_assert_eq(fcntl(out[1], F_GETFD), -1);
	fixture.descriptors -= 2;
	options.loop = 0;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EBADF);
	options.input_fd = in[1];
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EBADF);
	cr_assert_eq(fcntl(in[1], F_GETFD), -1);
	fixture.descriptors--;
	options.input_fd = -1;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EINVAL);
	options.no_input = options.no_output = true;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EINVAL);
	options.no_input = false;
	options.input_fd = 0;
	options.channel.write_high_bytes = 1023;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EINVAL);
	options.channel.write_high_bytes = 0;
	options.init_channel = NULL;
	cr_assert_eq(gyre_system_pipe_open(fixture.system, &options, NULL), -EINVAL);
	cr_assert_geq(fcntl(0, F_GETFD), 0);
	fixture_close();
}
