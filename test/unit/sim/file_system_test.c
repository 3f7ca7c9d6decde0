/*
 * An actor of gyre that works with files on a simulated host: what it has awaited a sync for
 * outlives a crash.
 */
#include <gyre/file.h>

#include "disk_rig.h"

enum { RECORDS = 20, RECORD_BYTES = 3000, FRAME_BYTES = 512 };

/* What a host has been told, which outlives its crashes. */
struct seen {
	uint32_t synced; /* records */
	uint32_t lives;
	bool ended;
	int error;
};

static struct seen *seen;

struct frame {
	struct gyre_future future;
	struct gyre_file *file;
	uint64_t place; /* of the record, or in the file */
};

static struct frame *frame_of(struct gyre_stack *stack)
{
	return (struct frame *)gyre_frame(stack);
}

static char byte_of(uint64_t place)
{
	return (char)('a' + place % 20);
}

static void take_file(struct frame *frame)
{
	struct gyre_file_opened opened = { 0 };

	cr_assert_eq(gyre_future_error(&frame->future), 0);
	cr_assert_eq(gyre_future_move(&frame->future, gyre_file_opened, &opened), 0);
	frame->file = opened.file;
}

static uint64_t written(const struct frame *frame)
{
	const struct gyre_file_done *done = gyre_future_get(&frame->future, gyre_file_done);

	cr_assert_eq(gyre_future_error(&frame->future), 0);
	cr_assert(done != NULL && done->error == 0);
	return done->count;
}

static struct gyre_buffer *record_of(struct gyre_stack *stack, uint64_t place)
{
	struct gyre_buffer *buffer = gyre_buffer_create(stack);

	cr_assert_eq(
		gyre_buffer_append(buffer, disk_fill(byte_of(place), RECORD_BYTES), RECORD_BYTES),
		0);
	return buffer;
}

static void end(struct gyre_stack *stack)
{
	gyre_system_stop(gyre_system_of(stack));
}

static int run_system(gyre_handler_fn script)
{
	const struct gyre_system_options options = { .loops = 2 };
	const struct gyre_class class = { .name = "script",
					  .frame_bytes = FRAME_BYTES,
					  .mount = script };
	struct gyre_address address;
	struct gyre_system *system;

	cr_assert_eq(gyre_system_create(&options, &system), 0);
	cr_assert_eq(gyre_system_spawn(system, &class, GYRE_NO_ARGUMENT, NULL, &address), 0);
	cr_assert_eq(gyre_system_start(system), 0);
	cr_assert_eq(gyre_system_wait(system), 0);
	gyre_system_destroy(system);
	seen->ended = true;
	return 0;
}

/* ---- a log ---- */

/* Whether the bytes are those that records have from @offset on. */
static bool are_right(const char *bytes, uint64_t count, uint64_t offset)
{
	for (uint64_t i = 0; i < count; i++) {
		if (bytes[i] != byte_of((offset + i) / RECORD_BYTES)) {
			return false;
		}
	}
	return true;
}

static int check_records(struct gyre_stack *stack)
{
	static char memory[RECORD_BYTES];
	struct frame *frame = frame_of(stack);
	const struct gyre_file_data *data;
	uint64_t bytes;

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/log", NULL, GYRE_FOREVER, &frame->future));
	take_file(frame);
	while (frame->place < (uint64_t)seen->synced * RECORD_BYTES) {
		bytes = (uint64_t)seen->synced * RECORD_BYTES - frame->place;
		bytes = bytes < RECORD_BYTES ? bytes : RECORD_BYTES;
		GYRE_AWAIT(stack, gyre_file_read(stack, frame->file,
						 &GYRE_VALUE(gyre_file_part, .offset = frame->place,
							     .bytes = bytes, .memory = memory),
						 GYRE_FOREVER, &frame->future));
		cr_assert_eq(gyre_future_error(&frame->future), 0);
		data = gyre_future_get(&frame->future, gyre_file_data);
		cr_assert(data->count > 0 && are_right(memory, data->count, frame->place));
		frame->place += data->count;
	}
	gyre_file_close(frame->file);
	end(stack);
	GYRE_END(stack);
}

static int write_records(struct gyre_stack *stack)
{
	static const struct gyre_file_options options = { .flags = O_RDWR | O_CREAT };
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/log", &options, GYRE_FOREVER, &frame->future));
	take_file(frame);
	for (frame->place = 0; frame->place < RECORDS; frame->place++) {
		GYRE_AWAIT(stack, gyre_file_write(stack, frame->file, frame->place * RECORD_BYTES,
						  record_of(stack, frame->place), GYRE_FOREVER,
						  &frame->future));
		cr_assert_eq(written(frame), RECORD_BYTES);
		GYRE_AWAIT(stack,
			   gyre_file_sync(stack, frame->file, true, GYRE_FOREVER, &frame->future));
		cr_assert_eq(gyre_future_error(&frame->future), 0);
		seen->synced++;
	}
	gyre_file_close(frame->file);
	end(stack);
	GYRE_END(stack);
}

static int keep_a_log(void *arg)
{
	seen = (struct seen *)arg;
	return run_system(seen->lives++ == 0 ? write_records : check_records);
}

/* Two lives, with a crash after @crash_ns between them. How many records were synced. */
static uint32_t keep_log(const struct gyre_sim_options *options, uint64_t crash_ns,
			 uint64_t *ret_digest)
{
	struct seen mine = { 0 };
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(options, &sim), 0);
	(void)sim_add(sim, "alpha", keep_a_log, &mine);
	cr_assert_eq(gyre_sim_run(sim, crash_ns), 0);
	if (!mine.ended) {
		cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	}
	if (gyre_sim_disk_read(sim, 0, "/log", NULL, 0) < 0) {
		cr_assert_eq(mine.synced, 0);
		cr_assert_eq(gyre_sim_disk_write(sim, 0, "/log", NULL, 0), 0);
	}
	mine.ended = false;
	cr_assert_eq(gyre_sim_restart(sim, 0), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert(mine.ended);
	*ret_digest = gyre_sim_digest(sim);
	gyre_sim_destroy(sim);
	return mine.synced;
}

Test(sim_files, are_written_and_read_by_actors)
{
	const struct gyre_sim_options options = { .seed = 1 };
	uint64_t digest;

	cr_assert_eq(keep_log(&options, GYRE_SECONDS(10), &digest), RECORDS);
}

Test(sim_files, have_what_was_synced_after_a_crash)
{
	uint32_t in_between = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		const struct gyre_sim_options options = { .seed = seed, .faults = 50000 };
		uint64_t digests[2];
		uint32_t synced = keep_log(&options, GYRE_MILLISECONDS(seed) / 4, &digests[0]);

		cr_assert_eq(keep_log(&options, GYRE_MILLISECONDS(seed) / 4, &digests[1]), synced);
		cr_assert_eq(digests[0], digests[1], "seed %u", (unsigned)seed);
		in_between += synced > 0 && synced < RECORDS;
	}
	cr_assert(in_between > 5, "%u", in_between);
}

/* ---- a slow disk ---- */

static int lose_patience(struct gyre_stack *stack)
{
	struct frame *frame = frame_of(stack);

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/log", NULL, GYRE_SECONDS(1), &frame->future));
	seen->error = gyre_future_error(&frame->future);
	end(stack);
	GYRE_END(stack);
}

static int open_slowly(void *arg)
{
	seen = (struct seen *)arg;
	return run_system(lose_patience);
}

Test(sim_files, are_waited_for_no_longer_than_was_asked_for)
{
	const struct gyre_sim_disk slow = { .delay_ns = GYRE_SECONDS(3) };
	struct gyre_sim *sim = sim_make(3);
	struct seen mine = { 0 };

	(void)sim_add(sim, "alpha", open_slowly, &mine);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &slow), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(2)), 0);
	cr_assert(mine.ended);
	cr_assert_eq(mine.error, -ETIMEDOUT);
	gyre_sim_destroy(sim);
}

/* ---- many at once ---- */

enum { READS = 8 };

struct reading {
	struct gyre_future futures[READS];
	struct gyre_file *file;
};

static char read_memory[READS][RECORD_BYTES];

static int ask_for_all(struct gyre_stack *stack, struct reading *reading)
{
	for (uint64_t i = 0; i < READS; i++) {
		cr_assert_eq(
			gyre_file_read(stack, reading->file,
				       &GYRE_VALUE(gyre_file_part, .offset = i * RECORD_BYTES,
						   .bytes = RECORD_BYTES, .memory = read_memory[i]),
				       GYRE_FOREVER, &reading->futures[i]),
			0);
	}
	return 0;
}

static int read_many(struct gyre_stack *stack)
{
	struct reading *reading = (struct reading *)gyre_frame(stack);
	struct gyre_file_opened opened = { 0 };

	GYRE_BEGIN(stack);
	GYRE_AWAIT(stack, gyre_file_open(stack, "/log", NULL, GYRE_FOREVER, &reading->futures[0]));
	cr_assert_eq(gyre_future_move(&reading->futures[0], gyre_file_opened, &opened), 0);
	reading->file = opened.file;
	GYRE_AWAIT(stack, ask_for_all(stack, reading));
	for (uint64_t i = 0; i < READS; i++) {
		cr_assert_eq(gyre_future_error(&reading->futures[i]), 0);
		cr_assert_eq(disk_run(read_memory[i], RECORD_BYTES, byte_of(i)), RECORD_BYTES);
	}
	gyre_file_close(reading->file);
	end(stack);
	GYRE_END(stack);
}

static int read_at_once(void *arg)
{
	seen = (struct seen *)arg;
	return run_system(read_many);
}

Test(sim_files, have_several_operations_at_once)
{
	static char bytes[READS * RECORD_BYTES];

	for (uint64_t i = 0; i < READS; i++) {
		memset(bytes + i * RECORD_BYTES, byte_of(i), RECORD_BYTES);
	}
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct gyre_sim *sim = sim_make(seed);
		struct seen mine = { 0 };

		(void)sim_add(sim, "alpha", read_at_once, &mine);
		cr_assert_eq(gyre_sim_disk_write(sim, 0, "/log", bytes, sizeof(bytes)), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
		cr_assert(mine.ended);
		gyre_sim_destroy(sim);
	}
}
