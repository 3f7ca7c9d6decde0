/* Files: what is written is read again, what is refused is told, and nothing is left open. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/file.h>
#include <gyre/move.h>

#include "fixture.h"

#include "../rig.h"

TestSuite(file, .timeout = 60);

enum { BYTES_MAX = 3 << 20 };

struct frame {
	struct gyre_future future;
	struct gyre_future other;
	struct gyre_file *file;
	struct gyre_buffer *got;
	uint64_t at;
	uint32_t round;
};

static char path[64];
static unsigned char bytes[BYTES_MAX];
static unsigned char memory[BYTES_MAX];
static int fds[2];

static const struct gyre_file_options to_create = { .flags = O_RDWR | O_CREAT | O_TRUNC };
static const struct gyre_file_options to_write = { .flags = O_WRONLY };

static struct frame *frame_of(struct gyre_stack *stack)
{
	_Static_assert(sizeof(struct frame) <= FIXTURE_FRAME_BYTES, "it fits");
	return (struct frame *)gyre_frame(stack);
}

static void make_path(void)
{
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/gyre-file-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	(void)close(fd);
	rig_fill(bytes, sizeof(bytes), 0);
}

static void remove_path(void)
{
	(void)unlink(path);
}

static int take_file(struct frame *frame)
{
	struct gyre_file_opened opened = { 0 };

	expect(gyre_future_error(&frame->future) == 0);
	expect(gyre_future_move(&frame->future, gyre_file_opened, &opened) == 0);
	expect(opened.file != NULL);
	frame->file = opened.file;
	return 0;
}

static struct gyre_buffer *buffer_of(struct gyre_stack *stack, uint64_t from, size_t count)
{
	struct gyre_buffer *buffer = gyre_buffer_create(stack);

	expect(gyre_buffer_append(buffer, bytes + from, count) == 0);
	return buffer;
}

static bool holds(const struct gyre_buffer *buffer, uint64_t from)
{
	static unsigned char copy[BYTES_MAX];
	size_t count = gyre_buffer_copy(buffer, 0, copy, sizeof(copy));

	return rig_check(copy, count, from);
}

static uint64_t written(const struct frame *frame)
{
	const struct gyre_file_done *done = gyre_future_get(&frame->future, gyre_file_done);

	expect(gyre_future_error(&frame->future) == 0 && done != NULL && done->error == 0);
	return done == NULL ? 0 : done->count;
}

/* ---- round trips ---- */

static const size_t sizes[] = { 1,    4095,  4096,   4097,	    8192,
				8193, 65537, 300000, (1 << 20) - 1, 1 << 20 };
static size_t size;

static int round_trip(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_file_data data = { 0 };

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, &to_create, 0, &frame->future));
	take_file(frame);
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, 0, buffer_of(stack, 0, size), 0,
					  &frame->future));
	expect(written(frame) == size);
	GYRE_AWAIT(stack, gyre_file_sync(stack, frame->file, true, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	GYRE_AWAIT(stack, gyre_file_sync(stack, frame->file, false, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	GYRE_AWAIT(stack, gyre_file_stat(stack, frame->file, 0, &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_status)->bytes == size);
	expect(S_ISREG(gyre_future_get(&frame->future, gyre_file_status)->mode));
	GYRE_AWAIT(stack,
		   gyre_file_read(stack, frame->file, &GYRE_VALUE(gyre_file_part, .bytes = 1 << 20),
				  0, &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_data)->count == size);
	expect(gyre_future_move(&frame->future, gyre_file_data, &data) == 0);
	expect(gyre_buffer_bytes(data.buffer) == size && holds(data.buffer, 0));
	gyre_buffer_destroy(data.buffer);
	GYRE_AWAIT(stack, gyre_file_read(stack, frame->file,
					 &GYRE_VALUE(gyre_file_part, .offset = size / 2,
						     .bytes = sizeof(memory) / 4, .memory = memory),
					 0, &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_data)->count == size - size / 2);
	expect(gyre_future_get(&frame->future, gyre_file_data)->buffer == NULL);
	expect(rig_check(memory, size - size / 2, size / 2));
	GYRE_AWAIT(stack, gyre_file_read(stack, frame->file,
					 &GYRE_VALUE(gyre_file_part, .offset = size, .bytes = 100),
					 0, &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_data)->count == 0);
	expect(gyre_future_get(&frame->future, gyre_file_data)->buffer == NULL);
	gyre_file_close(frame->file);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, gives_back_what_was_written_for_sizes_around_the_borders_of_pages)
{
	make_path();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = sizes[i];
		play(1, round_trip);
	}
	remove_path();
}

static int write_at_places(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, &to_create, 0, &frame->future));
	take_file(frame);
	GYRE_AWAIT(stack, gyre_file_write_memory(stack, frame->file,
						 &GYRE_VALUE(gyre_file_part, .bytes = sizeof(bytes),
							     .memory = bytes),
						 0, &frame->future));
	expect(written(frame) == sizeof(bytes));
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, 5000, buffer_of(stack, 0, 5000), 0,
					  &frame->future));
	GYRE_AWAIT(stack, gyre_file_truncate(stack, frame->file, 10001, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == 0);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, is_written_at_the_offset_and_cut_to_the_length_that_was_given)
{
	FILE *stream;

	make_path();
	play(1, write_at_places);
	stream = fopen(path, "r");
	cr_assert_eq(fread(memory, 1, sizeof(memory), stream), 10001);
	(void)fclose(stream);
	cr_assert(rig_check(memory, 5000, 0));
	cr_assert(rig_check(memory + 5000, 5000, 0));
	cr_assert(rig_check(memory + 10000, 1, 10000));
	remove_path();
}

/* A buffer of many more slices than one write takes. */
static int write_many_slices(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, &to_create, 0, &frame->future));
	take_file(frame);
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, 0, buffer_of(stack, 0, sizeof(bytes)),
					  0, &frame->future));
	expect(written(frame) == sizeof(bytes));
	for (; frame_of(stack)->at < sizeof(bytes); frame_of(stack)->at += 1 << 20) {
		GYRE_AWAIT(stack,
			   gyre_file_read(stack, frame_of(stack)->file,
					  &GYRE_VALUE(gyre_file_part, .offset = frame_of(stack)->at,
						      .bytes = 1 << 20),
					  0, &frame_of(stack)->future));
		frame = frame_of(stack);
		expect(gyre_future_get(&frame->future, gyre_file_data)->count == 1 << 20);
		expect(holds(gyre_future_get(&frame->future, gyre_file_data)->buffer, frame->at));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, takes_all_of_a_write_that_needs_many_steps)
{
	make_path();
	play(1, write_many_slices);
	remove_path();
}

/* ---- in hooks ---- */

enum { STATS = 500, ENTRIES = 64 };

/* More operations than the ring has entries: the rest of them is begun by runs of the house. */
static int stat_often(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/dev/null", NULL, 0, &frame->future));
	take_file(frame);
	for (uint32_t i = 0; i < STATS; i++) {
		expect(gyre_file_stat(stack, frame->file, 0, &frame->future) == 0);
	}
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_get(&frame->future, gyre_file_status) != NULL);
	gyre_file_close(frame->file);
	return fixture_end(stack);
	GYRE_END(stack);
}

static int fail(struct gyre_stack *stack)
{
	return gyre_throw(stack, -EIO);
}

Test(file, serves_a_restart_hook_that_waits_for_more_operations_than_the_ring_holds)
{
	const struct gyre_system_options options = { .loops = 1, .ring_entries = ENTRIES };
	const struct gyre_class class = { .name = "hook",
					  .frame_bytes = FIXTURE_FRAME_BYTES,
					  .restart = stat_often,
					  .behaviour.notice = fail };

	fixture_open_with(&options);
	(void)notify_outside(spawn_outside(&class, 0), 1);
	fixture_run();
	fixture_close();
}

/* ---- refusals ---- */

static const char *refused_path;
static struct gyre_file_options refused_options;
static int refusal;

static int open_in_vain(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, refused_path, &refused_options, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == refusal);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_missing_is_enoent)
{
	refused_path = "/tmp/gyre-there-is-no-such-file";
	refusal = -ENOENT;
	play(1, open_in_vain);
}

Test(file, that_may_not_be_read_is_eacces)
{
	if (geteuid() == 0) {
		cr_skip_test("root may read everything");
	}
	make_path();
	cr_assert_eq(chmod(path, 0), 0);
	refused_path = path;
	refusal = -EACCES;
	play(1, open_in_vain);
	remove_path();
}

Test(file, that_is_a_folder_cannot_be_written)
{
	refused_path = "/tmp";
	refused_options = to_write;
	refusal = -EISDIR;
	play(1, open_in_vain);
}

static int misuse(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	static char long_path[5000];
	const struct gyre_file_part large = { .bytes = GYRE_FILE_READ_BYTES_MAX + 1 };
	const struct gyre_file_part small = { .bytes = 1 };
	const struct gyre_file_part none = { 0 };

	GYRE_BEGIN(stack);
	memset(long_path, 'x', sizeof(long_path) - 1);
	expect(gyre_file_open(stack, NULL, NULL, 0, &frame->future) == -EINVAL);
	expect(gyre_future_error(&frame->future) == -EINVAL);
	expect(gyre_file_open(stack, long_path, NULL, 0, &frame->future) == -ENAMETOOLONG);
	expect(gyre_file_adopt(stack, -1, &frame->file) == -EINVAL);
	expect(gyre_file_read(stack, NULL, &small, 0, &frame->future) == -EINVAL);
	expect(gyre_file_adopt(stack, open("/dev/null", O_RDWR), &frame->file) == 0);
	expect(gyre_file_read(stack, frame->file, NULL, 0, &frame->future) == -EINVAL);
	expect(gyre_file_read(stack, frame->file, &none, 0, &frame->future) == -EINVAL);
	expect(gyre_file_read(stack, frame->file, &large, 0, &frame->future) == -EMSGSIZE);
	expect(gyre_file_write(stack, frame->file, 0, NULL, 0, &frame->future) == -ENOMEM);
	expect(gyre_file_write(stack, frame->file, 0, gyre_buffer_create(stack), 0,
			       &frame->future) == -EINVAL);
	expect(gyre_file_write_memory(stack, frame->file, &small, 0, &frame->future) == -EINVAL);
	expect(gyre_file_truncate(stack, frame->file, UINT64_MAX, 0, &frame->future) == -EINVAL);
	expect(gyre_future_error(&frame->future) == -EINVAL);
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, 0, buffer_of(stack, 0, 10), 0,
					  &frame->future));
	frame = frame_of(stack);
	gyre_file_close(frame->file);
	expect(gyre_file_read(stack, frame->file, &small, 0, &frame->future) == -EBADF);
	gyre_file_close(NULL);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, answers_misuse_with_an_errno)
{
	play(1, misuse);
}

static int fill_device(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/dev/full", &to_write, 0, &frame->future));
	take_file(frame);
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, 0, buffer_of(stack, 0, 10), 0,
					  &frame->future));
	expect(gyre_future_error(&frame->future) == -ENOSPC);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, on_a_full_device_fails_with_enospc)
{
	play(1, fill_device);
}

static int fill_partly(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	const struct gyre_file_done *done;

	GYRE_BEGIN(stack);
	expect(gyre_file_adopt(stack, fds[1], &frame->file) == 0);
	GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, GYRE_FILE_AT_POSITION,
					  buffer_of(stack, 0, 200000), GYRE_MILLISECONDS(50),
					  &frame->future));
	done = gyre_future_get(&frame->future, gyre_file_done);
	expect(done != NULL && done->count == 65536 && done->error == -ETIMEDOUT);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, of_which_only_a_part_could_be_written_tells_how_much_and_why)
{
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	fixture_open(1);
	fixture.descriptors--; /* the one that the file takes */
	(void)spawn_outside(&(const struct gyre_class){ .name = "script",
							.frame_bytes = FIXTURE_FRAME_BYTES,
							.mount = fill_partly },
			    0);
	fixture_run();
	fixture_close();
	(void)close(fds[0]);
}

static int read_folder(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/tmp", NULL, 0, &frame->future));
	take_file(frame);
	GYRE_AWAIT(stack,
		   gyre_file_read(stack, frame->file, &GYRE_VALUE(gyre_file_part, .bytes = 10), 0,
				  &frame->future));
	expect(gyre_future_error(&frame->future) == -EISDIR);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, fails_with_what_the_kernel_refuses_a_read_with)
{
	play(1, read_folder);
}

/* ---- time-outs, cancellation and ends ---- */

/* On the first of two descriptors, which the system closes. */
static void play_on_ends(gyre_handler_fn script)
{
	fixture_open(1);
	fixture.descriptors--;
	(void)spawn_outside(&(const struct gyre_class){ .name = "script",
							.frame_bytes = FIXTURE_FRAME_BYTES,
							.mount = script },
			    0);
	fixture_run();
	fixture_close();
	(void)close(fds[1]);
}

static void play_on_pipe(gyre_handler_fn script)
{
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	play_on_ends(script);
}

/* The first descriptor is the end that is written to, and has no room. */
static void play_on_full_pipe(gyre_handler_fn script)
{
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], bytes, sizeof(bytes)) > 0) {
	}
	cr_assert_eq(fcntl(ends[1], F_SETFL, 0), 0);
	fds[0] = ends[1];
	fds[1] = ends[0];
	play_on_ends(script);
}

static int begin_read(struct gyre_stack *stack, uint64_t timeout_ns, struct gyre_future *future)
{
	const struct gyre_file_part part = { .offset = GYRE_FILE_AT_POSITION, .bytes = 10 };

	return gyre_file_read(stack, frame_of(stack)->file, &part, timeout_ns, future);
}

static int read_until_timeout(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_file_adopt(stack, fds[0], &frame->file) == 0);
	GYRE_AWAIT(stack, begin_read(stack, GYRE_MILLISECONDS(20), &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	expect(write(fds[1], "abc", 3) == 3);
	GYRE_AWAIT(stack, begin_read(stack, 0, &frame->future));
	expect(gyre_future_get(&frame->future, gyre_file_data)->count == 3);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_times_out_is_cancelled_and_takes_nothing)
{
	play_on_pipe(read_until_timeout);
}

static int close_meanwhile(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_file_adopt(stack, fds[0], &frame->file) == 0);
	expect(begin_read(stack, GYRE_FOREVER, &frame->other) == 0);
	expect(begin_read(stack, GYRE_MILLISECONDS(20), &frame->future) == 0);
	gyre_file_close(frame->file);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->future) == -ECANCELED);
	expect(gyre_future_error(&frame->other) == -ECANCELED);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_closed_cancels_what_is_under_way)
{
	play_on_pipe(close_meanwhile);
}

static int begin_write(struct gyre_stack *stack, uint64_t timeout_ns, struct gyre_future *future)
{
	return gyre_file_write(stack, frame_of(stack)->file, GYRE_FILE_AT_POSITION,
			       buffer_of(stack, 0, 5000), timeout_ns, future);
}

static int write_until_timeout_and_close(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	expect(gyre_file_adopt(stack, fds[0], &frame->file) == 0);
	GYRE_AWAIT(stack, begin_write(stack, GYRE_MILLISECONDS(20), &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	expect(begin_write(stack, GYRE_FOREVER, &frame->other) == 0);
	expect(begin_write(stack, GYRE_MILLISECONDS(20), &frame->future) == 0);
	gyre_file_close(frame->file);
	GYRE_AWAIT(stack, 0);
	expect(gyre_future_error(&frame->future) == -ECANCELED);
	expect(gyre_future_error(&frame->other) == -ECANCELED);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_closed_or_times_out_cancels_writes_for_which_there_is_no_room)
{
	play_on_full_pipe(write_until_timeout_and_close);
}

static int leave_read(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	expect(gyre_file_adopt(stack, fds[0], &frame->file) == 0);
	expect(begin_read(stack, GYRE_MILLISECONDS(10), &frame->future) == 0);
	return gyre_return(stack); /* nobody waits for it any more */
}

static int end_later(struct gyre_stack *stack)
{
	return fixture_end(stack);
}

static int leave_and_end(struct gyre_stack *stack)
{
	const struct gyre_timer_options options = { .delay_ns = GYRE_MILLISECONDS(50) };

	expect(gyre_timer_start(stack, 1, &options) == 0);
	return leave_read(stack);
}

Test(file, answers_late_when_its_stack_has_ended)
{
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	fixture_open_with(&(struct gyre_system_options){ .loops = 1, .spin_ns = GYRE_SPIN_NEVER });
	fixture_steady(); /* the time of the read is over first */
	fixture.descriptors--;
	(void)spawn_outside(&(const struct gyre_class){ .name = "script",
							.frame_bytes = FIXTURE_FRAME_BYTES,
							.mount = leave_and_end,
							.behaviour.event = end_later },
			    0);
	fixture_run();
	fixture_close();
	(void)close(fds[1]);
	cr_assert_eq(fixture.counters.dropped[GYRE_DROP_LATE], 1);
}

/* An actor that is stopped with an operation under way; each stage one of these. */
static uint32_t stage;

static int begin_and_stop(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_file_opened opened = { 0 };

	GYRE_BEGIN(stack);
	if (stage == 0) {
		expect(gyre_file_open(stack, path, &to_create, 0, &frame->future) == 0);
		(void)fixture_end(stack);
		return gyre_await(stack, 1);
	}
	GYRE_AWAIT(stack, gyre_file_open(stack, path, &to_create, 0, &frame->future));
	if (stage == 1) { /* opened, and not taken */
		expect(gyre_sleep(stack, GYRE_FOREVER, &frame->other) == 0);
		(void)fixture_end(stack);
		return gyre_suspend(stack, gyre_stack_state(stack));
	}
	expect(gyre_future_move(&frame->future, gyre_file_opened, &opened) == 0);
	frame->file = opened.file;
	if (stage == 2) { /* taken, and nothing under way */
		return fixture_end(stack);
	}
	expect(gyre_file_adopt(stack, fds[0], &opened.file) == 0);
	frame->file = opened.file;
	expect(begin_read(stack, GYRE_FOREVER, &frame->future) == 0);
	(void)fixture_end(stack);
	GYRE_AWAIT(stack, 0);
	expect(false); /* it stops before */
	GYRE_END(stack);
}

Test(file, is_closed_with_its_actor_at_each_stage)
{
	make_path();
	for (stage = 0; stage < 3; stage++) {
		fixture = (struct fixture){ 0 };
		play(1, begin_and_stop);
	}
	fixture = (struct fixture){ 0 };
	play_on_pipe(begin_and_stop);
	remove_path();
}

static int open_fifo(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, &to_write, 0, &frame->future));
	expect(gyre_future_error(&frame->future) == -ENXIO);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, NULL, 0, &frame->future));
	take_file(frame);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_a_fifo_without_anybody_at_its_other_end_is_opened_at_once_or_not_at_all)
{
	make_path();
	remove_path();
	cr_assert_eq(mkfifo(path, 0600), 0);
	play(1, open_fifo);
	remove_path();
}

/* What may create or cut a file is opened by another way of the kernel's. */
static int open_fifo_otherwise(struct gyre_stack *stack)
{
	static const int flags[] = { O_CREAT, O_TRUNC, O_CREAT | O_TRUNC };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	for (frame->round = 0; frame->round < 3; frame->round++) {
		GYRE_AWAIT(stack,
			   gyre_file_open(stack, path,
					  &GYRE_VALUE(gyre_file_options,
						      .flags = O_WRONLY | flags[frame->round]),
					  GYRE_FOREVER, &frame->future));
		expect(gyre_future_error(&frame->future) == -ENXIO);
		GYRE_AWAIT(stack, gyre_file_open(stack, path,
						 &GYRE_VALUE(gyre_file_options, .flags = O_CREAT),
						 GYRE_FOREVER, &frame->future));
		take_file(frame);
		gyre_file_close(frame->file);
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_a_fifo_is_not_waited_for_either_when_it_might_have_been_created_or_cut)
{
	make_path();
	remove_path();
	cr_assert_eq(mkfifo(path, 0600), 0);
	play(1, open_fifo_otherwise);
	remove_path();
}

/* Whether what is open at @path would answer at once that there is nothing, instead of waiting. */
static bool is_non_blocking(void)
{
	struct stat wanted;
	struct stat found;

	expect(stat(path, &wanted) == 0);
	for (int fd = 0; fd < 256; fd++) {
		if (fstat(fd, &found) == 0 && found.st_ino == wanted.st_ino &&
		    found.st_dev == wanted.st_dev) {
			return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
		}
	}
	expect(false); /* it is not open */
	return false;
}

static int open_and_wait(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_file_data data = { 0 };

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path,
					 &GYRE_VALUE(gyre_file_options, .flags = O_RDWR | O_CREAT),
					 0, &frame->future));
	take_file(frame);
	expect(!is_non_blocking());
	GYRE_AWAIT(stack, gyre_file_read(stack, frame->file,
					 &GYRE_VALUE(gyre_file_part, .bytes = 10,
						     .offset = GYRE_FILE_AT_POSITION),
					 GYRE_MILLISECONDS(5), &frame->other));
	expect(gyre_future_error(&frame->other) == -ETIMEDOUT);
	expect(gyre_file_read(
		       stack, frame->file,
		       &GYRE_VALUE(gyre_file_part, .bytes = 10, .offset = GYRE_FILE_AT_POSITION),
		       GYRE_FOREVER, &frame->other) == 0);
	GYRE_AWAIT(stack,
		   gyre_file_write_memory(stack, frame->file,
					  &GYRE_VALUE(gyre_file_part, .bytes = 10, .memory = bytes,
						      .offset = GYRE_FILE_AT_POSITION),
					  GYRE_FOREVER, &frame->future));
	expect(written(frame) == 10);
	expect(gyre_future_move(&frame->other, gyre_file_data, &data) == 0);
	expect(data.count == 10 && holds(data.buffer, 0));
	gyre_file_data_fini(&data);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_is_a_fifo_is_waited_for_by_what_reads_it)
{
	make_path();
	remove_path();
	cr_assert_eq(mkfifo(path, 0600), 0);
	play(1, open_and_wait);
	remove_path();
}

/* Somebody has a lease of the file, which the kernel asks back: that is waited for. */
static int open_leased(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, NULL, GYRE_MILLISECONDS(20), &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	GYRE_AWAIT(stack,
		   gyre_file_open(stack, path, &to_create, GYRE_MILLISECONDS(20), &frame->future));
	expect(gyre_future_error(&frame->future) == -ETIMEDOUT);
	expect(fcntl(fds[0], F_SETLEASE, F_UNLCK) == 0);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, NULL, 0, &frame->future));
	take_file(frame);
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, that_others_hold_back_fails_with_the_end_of_the_time_and_no_errno_of_the_kernels_own)
{
	make_path();
	cr_assert_neq(signal(SIGIO, SIG_IGN), SIG_ERR);
	fds[0] = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_geq(fds[0], 0);
	if (fcntl(fds[0], F_SETLEASE, F_WRLCK) == 0) { /* not all file systems have it */
		play(1, open_leased);
	}
	(void)close(fds[0]);
	remove_path();
}

/* ---- side by side ---- */

enum { SIDE_BY_SIDE = FIXTURE_STATE_BYTES / sizeof(struct gyre_future) };

static int read_side_by_side(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);
	struct gyre_future *futures = (struct gyre_future *)gyre_state(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, path, NULL, 0, &frame->future));
	take_file(frame);
	for (uint32_t i = 0; i < SIDE_BY_SIDE; i++) {
		expect(gyre_file_read(stack, frame->file,
				      &GYRE_VALUE(gyre_file_part, .offset = i * UINT64_C(5000),
						  .bytes = 5000),
				      0, &futures[i]) == 0);
	}
	GYRE_AWAIT(stack, 0);
	for (uint32_t i = 0; i < SIDE_BY_SIDE; i++) {
		const struct gyre_file_data *data = gyre_future_get(&futures[i], gyre_file_data);

		expect(data != NULL && data->count == 5000);
		expect(holds(data->buffer, i * UINT64_C(5000)));
	}
	return fixture_end(stack);
	GYRE_END(stack);
}

Test(file, serves_more_operations_at_once_than_the_ring_has_entries)
{
	const struct gyre_system_options options = { .loops = 1, .ring_entries = 64 };
	FILE *stream;

	make_path();
	stream = fopen(path, "w");
	cr_assert_eq(fwrite(bytes, 1, sizeof(bytes), stream), sizeof(bytes));
	(void)fclose(stream);
	play_with(&options, read_side_by_side);
	remove_path();
}
