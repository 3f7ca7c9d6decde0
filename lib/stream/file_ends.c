/*
 * Files and channels as ends: sources and sinks whose operations take a while. Each operation runs
 * in a stack of its own, which is a step of work; when it ends the actor takes a turn.
 *
 * A file is read into the block of shared bytes that goes on, and chunks are written from where
 * they are. The memory of an operation is the stage's, which is freed after the actor's files have
 * closed.
 */
#include <errno.h>
#include <fcntl.h>

#include <gyre/channel.h>
#include <gyre/move.h>
#include <gyre/stream_ends.h>

#include "base/memory/memory.h"
#include "base/sized.h"
#include "buffer/shared_bytes.h"
#include "stream/island.h"

enum { PATH_BYTES_MAX = 4096, SENDS_MAX = 2 };

enum { STEP_OPEN = 1, STEP_MOVE }; /* of a work: what it waits for */

/* ---- reading files ---- */

struct reader {
	struct gy_stage stage;
	char *path;
	struct gyre_read_file_options options;
	struct gyre_file *file;
	struct gyre_bytes *filling; /* what is read into */
	struct gyre_bytes *ready;
	bool is_busy;
	int32_t ended; /* what pull() returns when nothing is ready; 0 while there may be more */
};

static struct reader *reader_of(struct gy_stage *stage)
{
	return (struct reader *)(void *)stage;
}

/* Of what can seek the next chunk is read while this one goes on: at most one more than was asked
 * for, and nothing is lost if it is not wanted. */
static int32_t pull_file(struct gy_stage *stage, uint32_t outlet, void *out, uint32_t max)
{
	struct reader *reader = reader_of(stage);

	gy_assert(outlet == 0 && max > 0);
	if (reader->ready != NULL) {
		struct gyre_chunk chunk = { reader->ready };

		memcpy(out, &chunk, sizeof(chunk));
		reader->ready = NULL;
		if (reader->ended == 0 && reader->options.offset != GYRE_FILE_AT_POSITION) {
			reader->is_busy = gy_island_work(stage) == 0; /* if not, when asked */
		}
		return 1;
	}
	if (reader->ended != 0 || reader->is_busy) {
		return reader->ended;
	}
	if (gy_island_work(stage) < 0) {
		reader->ended = -ENOMEM;
		return -ENOMEM;
	}
	reader->is_busy = true;
	return GY_PULL_WAIT;
}

/* How many bytes the next chunk may have. */
static uint32_t next_bytes(const struct reader *reader)
{
	uint32_t bytes = reader->options.chunk_bytes;
	uint64_t left = reader->options.bytes_max;

	return left < bytes ? (uint32_t)left : bytes;
}

/* The next operation: true if there is one to wait for. */
static bool go_on_reading(struct reader *reader, struct gy_work *work)
{
	struct gyre_file_part part = { .offset = reader->options.offset };
	int r;

	if (reader->file == NULL) {
		work->step = STEP_OPEN;
		r = gyre_file_open(work->stack, reader->path, NULL, GYRE_FOREVER, &work->future);
	} else {
		work->step = STEP_MOVE;
		part.bytes = next_bytes(reader);
		reader->filling = gy_bytes_make(part.bytes);
		part.memory = gy_bytes_memory(reader->filling);
		r = reader->filling == NULL ? -ENOMEM
					    : gyre_file_read(work->stack, reader->file, &part,
							     GYRE_FOREVER, &work->future);
	}
	reader->ended = r;
	return r == 0;
}

/* The bytes that were read: in a block that fits if they are few, since one that waits is weighed
 * by what it has, not by what it could have. */
static struct gyre_bytes *keep_read(struct gyre_bytes *filling, uint32_t room, size_t count)
{
	struct gyre_bytes *fitting =
		count < room / 2 ? gyre_bytes_create(gyre_bytes_data(filling), count) : NULL;

	if (fitting == NULL) { /* also without memory for another */
		gy_bytes_shorten(filling, count);
		return filling;
	}
	gyre_bytes_unref(filling);
	return fitting;
}

static void take_read(struct reader *reader, const struct gyre_file_data *data)
{
	size_t count = data == NULL ? 0 : data->count;

	if (count == 0) {
		reader->ended = GY_PULL_END;
		return;
	}
	reader->ready = keep_read(reader->filling, next_bytes(reader), count);
	reader->filling = NULL;
	reader->options.bytes_max -= count;
	if (reader->options.offset != GYRE_FILE_AT_POSITION) {
		reader->options.offset += count;
	}
	if (reader->options.bytes_max == 0) {
		reader->ended = GY_PULL_END;
	}
}

static void drop_file(struct reader *reader)
{
	gyre_file_close(reader->file);
	reader->file = NULL;
}

static enum gy_work_state read_file(struct gy_stage *stage, struct gy_work *work)
{
	struct reader *reader = reader_of(stage);
	int r = work->step == 0 ? 0 : gyre_future_error(&work->future);
	bool opened = false;

	if (r < 0) {
		reader->ended = r;
	} else if (work->step == STEP_OPEN) {
		struct gyre_file_opened answer;

		opened = gyre_future_move(&work->future, gyre_file_opened, &answer) == 0;
		reader->file = opened ? answer.file : NULL;
	} else if (work->step == STEP_MOVE) {
		take_read(reader, gyre_future_get(&work->future, gyre_file_data));
	}
	if (reader->ended == 0 && (work->step == 0 || opened) && go_on_reading(reader, work)) {
		return GY_WORK_WAITS;
	}
	reader->is_busy = false;
	if (reader->filling != NULL) {
		gyre_bytes_unref(reader->filling);
		reader->filling = NULL;
	}
	if (reader->ended != 0) {
		drop_file(reader);
	}
	return GY_WORK_DONE;
}

static void cancel_file(struct gy_stage *stage, uint32_t outlet, int reason)
{
	struct reader *reader = reader_of(stage);

	(void)outlet;
	(void)reason;
	gyre_bytes_unref(reader->ready);
	reader->ready = NULL;
	reader->ended = GY_PULL_END;
	drop_file(reader); /* which cancels what is under way */
}

/* The actor's files are closed by then. */
static void fini_reader(struct gy_stage *stage)
{
	struct reader *reader = reader_of(stage);

	gyre_bytes_unref(reader->filling);
	gyre_bytes_unref(reader->ready);
	gy_memory_put(reader->path);
}

static const struct gy_stage_ops reader_ops = {
	.name = "read file",
	.pull = pull_file,
	.cancel = cancel_file,
	.work = read_file,
	.fini = fini_reader,
};

/* NULL, and the graph has failed, if there is none or no memory. */
static char *copy_path(struct gyre_graph *graph, const char *path)
{
	size_t bytes = path == NULL ? 0 : strnlen(path, PATH_BYTES_MAX) + 1;
	char *copy = NULL;

	if (bytes == 0 || bytes > PATH_BYTES_MAX) {
		gy_graph_fail(graph, bytes == 0 ? -EINVAL : -ENAMETOOLONG);
		return NULL;
	}
	copy = (char *)gy_memory_get(bytes);
	if (copy == NULL) {
		gy_graph_fail(graph, -ENOMEM);
		return NULL;
	}
	memcpy(copy, path, bytes);
	return copy;
}

struct gyre_stream gyre_stream_read_file_sized(struct gyre_graph *graph, const char *path,
					       const struct gyre_read_file_options *options,
					       size_t options_bytes)
{
	struct reader *reader = (struct reader *)gy_graph_add(graph, &reader_ops, sizeof(*reader),
							      &gyre_type_gyre_chunk, NULL, 0);
	struct gyre_read_file_options read = { 0 };
	int r = GY_SIZED_READ(gyre_read_file_options, &read, options, options_bytes, NULL);

	if (r == 0 && read.chunk_bytes > GYRE_FILE_READ_BYTES_MAX) {
		r = -EINVAL;
	}
	if (r < 0) {
		gy_graph_fail(graph, r);
	}
	read.bytes_max = read.bytes_max == 0 ? UINT64_MAX : read.bytes_max;
	read.chunk_bytes = read.chunk_bytes == 0 ? GYRE_CHUNK_BYTES : read.chunk_bytes;
	if (reader != NULL) {
		reader->options = read;
		reader->path = copy_path(graph, path);
	}
	return gy_graph_stream(graph, reader, 0);
}

/* ---- sinks that write ---- */

/*
 * Writes to a file or a channel. Chunks are pulled into a queue, and works take them from there: so
 * they are written in the order in which they came, whichever work is the first to run.
 */
struct writer {
	struct gy_stage stage;
	char *path; /* NULL: a channel */
	struct gyre_file_options options;
	struct gyre_file *file;
	struct gyre_address channel;
	uint64_t written;
	struct gyre_bytes *queue[SENDS_MAX];
	uint32_t first;
	uint32_t count;
	struct gyre_bytes *moving[SENDS_MAX]; /* what each work moves */
	uint32_t works;			      /* that run, or will */
	uint32_t works_max;
	int32_t ended; /* the stream has, or the writer has failed; 0 while neither */
};

static struct writer *writer_of(struct gy_stage *stage)
{
	return (struct writer *)(void *)stage;
}

static void end_writer(struct writer *writer, int32_t ended)
{
	if (writer->ended == 0 || writer->ended == GY_PULL_END) {
		writer->ended = ended;
	}
	if (gy_pull_reason(ended) < 0) {
		gy_stage_cancel_inputs(&writer->stage, ended);
	}
}

/* What comes next: 1 with a chunk, else as pull(), and a stream that is over has ended. */
static int32_t pull_chunk(struct writer *writer, struct gyre_bytes **ret_bytes)
{
	struct gyre_chunk chunk = { NULL };
	int32_t pulled = gy_edge_pull(&writer->stage.in[0], &chunk, 1);

	if (gy_pull_is_over(pulled)) {
		end_writer(writer, pulled);
	} else if (pulled == 1 && gyre_bytes_count(chunk.bytes) == 0) {
		gyre_chunk_fini(&chunk); /* nothing to write */
		writer->stage.counted++;
		pulled = GY_PULL_AGAIN;
	} else if (pulled == 1) {
		*ret_bytes = chunk.bytes;
	}
	return pulled;
}

/* The next chunk for a work; NULL if there is none now. */
static struct gyre_bytes *take_chunk(struct writer *writer)
{
	struct gyre_bytes *bytes = NULL;

	if (writer->count > 0) {
		bytes = writer->queue[writer->first];
		writer->first = (writer->first + 1) % SENDS_MAX;
		writer->count--;
	} else if (writer->ended == 0) {
		(void)pull_chunk(writer, &bytes);
	}
	return bytes;
}

static bool may_pull(const struct writer *writer)
{
	return writer->ended == 0 && writer->works < writer->works_max &&
	       (writer->path == NULL || writer->file != NULL);
}

static enum gy_sink_state run_writer(struct gy_stage *stage)
{
	struct writer *writer = writer_of(stage);
	struct gyre_bytes *bytes = NULL;
	int32_t pulled = may_pull(writer) ? pull_chunk(writer, &bytes) : GY_PULL_WAIT;

	if (pulled == 1) {
		gy_assert(writer->count < SENDS_MAX);
		writer->queue[(writer->first + writer->count++) % SENDS_MAX] = bytes;
		if (gy_island_work(stage) == 0) {
			writer->works++;
			return GY_SINK_MOVES;
		}
		end_writer(writer, -ENOMEM);
	}
	if (writer->ended != 0 && writer->works == 0) {
		gyre_file_close(writer->file);
		writer->file = NULL;
		return gy_sink_end(stage, gy_pull_reason(writer->ended));
	}
	return pulled == GY_PULL_AGAIN ? GY_SINK_MOVES : GY_SINK_WAITS;
}

/* A file is opened by the first work. */
static void start_writer(struct gy_stage *stage)
{
	struct writer *writer = writer_of(stage);

	if (writer->path == NULL) {
		return;
	}
	if (gy_island_work(stage) < 0) {
		end_writer(writer, -ENOMEM);
		return;
	}
	writer->works = 1;
}

static int move_chunk(struct writer *writer, struct gy_work *work, struct gyre_bytes *bytes)
{
	size_t count = gyre_bytes_count(bytes);
	int r;

	writer->moving[work->slot] = bytes;
	work->step = STEP_MOVE;
	if (writer->path == NULL) {
		return gyre_send_shared(work->stack, writer->channel, bytes, GYRE_FOREVER,
					&work->future);
	}
	r = gyre_file_write_memory(work->stack, writer->file,
				   &(struct gyre_file_part){ .offset = writer->written,
							     .bytes = count,
							     .memory = gy_bytes_memory(bytes) },
				   GYRE_FOREVER, &work->future);
	writer->written += count;
	return r;
}

static int open_file(const struct writer *writer, struct gy_work *work)
{
	work->step = STEP_OPEN;
	return gyre_file_open(work->stack, writer->path, &writer->options, GYRE_FOREVER,
			      &work->future);
}

/* What the step has come to: 0 or a negative errno. */
static int settle(struct writer *writer, struct gy_work *work)
{
	const struct gyre_file_done *done;
	struct gyre_file_opened opened;
	int r = gyre_future_error(&work->future);

	if (work->step == STEP_OPEN) {
		r = r < 0 ? r : gyre_future_move(&work->future, gyre_file_opened, &opened);
		writer->file = r == 0 ? opened.file : NULL;
		return r;
	}
	gyre_bytes_unref(writer->moving[work->slot]);
	writer->moving[work->slot] = NULL;
	if (r < 0) {
		return r;
	}
	done = gyre_future_get(&work->future, gyre_file_done);
	writer->stage.counted++;
	return done == NULL ? 0 : done->error;
}

/* A place for what the work moves: there are as many as works. */
static void find_place(struct writer *writer, struct gy_work *work)
{
	work->slot = 0;
	while (writer->moving[work->slot] != NULL) {
		work->slot++;
		gy_assert(work->slot < writer->works_max);
	}
}

static enum gy_work_state write_chunks(struct gy_stage *stage, struct gy_work *work)
{
	struct writer *writer = writer_of(stage);
	bool opens = work->step == 0 && writer->path != NULL && writer->file == NULL;
	struct gyre_bytes *bytes;
	int r = 0;

	if (work->step == 0) {
		find_place(writer, work);
		r = opens ? open_file(writer, work) : 0;
	} else {
		r = settle(writer, work);
	}
	bytes = r == 0 && !opens ? take_chunk(writer) : NULL;
	if (bytes != NULL) {
		r = move_chunk(writer, work, bytes);
	}
	if (r == 0 && (opens || bytes != NULL)) {
		return GY_WORK_WAITS;
	}
	if (r < 0) {
		end_writer(writer, r);
		gyre_bytes_unref(writer->moving[work->slot]);
		writer->moving[work->slot] = NULL;
	}
	writer->works--;
	return GY_WORK_DONE;
}

static void fini_writer(struct gy_stage *stage)
{
	struct writer *writer = writer_of(stage);

	while (writer->count > 0) {
		gyre_bytes_unref(take_chunk(writer));
	}
	for (uint32_t i = 0; i < SENDS_MAX; i++) {
		gyre_bytes_unref(writer->moving[i]);
	}
	gy_memory_put(writer->path);
}

static const struct gy_stage_ops writer_ops = {
	.name = "write",
	.start = start_writer,
	.run = run_writer,
	.work = write_chunks,
	.fini = fini_writer,
};

static struct writer *add_writer(const struct gyre_stream *from, uint32_t works_max)
{
	const struct gyre_type *type = gy_stream_type(from);
	struct writer *writer = (struct writer *)gy_graph_add(from->graph, &writer_ops,
							      sizeof(*writer), NULL, from, 1);

	if (type != NULL && type->id != GYRE_ID(gyre_chunk)) {
		gy_graph_fail(from->graph, -EINVAL);
	}
	if (writer != NULL) {
		writer->works_max = works_max;
	}
	return writer;
}

void gyre_stream_write_file_sized(struct gyre_stream from, const char *path,
				  const struct gyre_file_options *options, size_t options_bytes)
{
	static const struct gyre_file_options create = { .flags = O_WRONLY | O_CREAT | O_TRUNC };
	struct writer *writer = add_writer(&from, 1);
	struct gyre_file_options read = create;
	int r = options == NULL
			? 0
			: GY_SIZED_READ(gyre_file_options, &read, options, options_bytes, NULL);

	if (r < 0) {
		gy_graph_fail(from.graph, r);
	}
	if (writer != NULL) {
		writer->options = read;
		writer->path = copy_path(from.graph, path);
	}
}

void gyre_stream_write_channel(struct gyre_stream from, struct gyre_address channel)
{
	struct writer *writer = add_writer(&from, SENDS_MAX);

	if (writer != NULL) {
		writer->channel = channel;
	}
}
