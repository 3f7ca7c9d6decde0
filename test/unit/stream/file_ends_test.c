/*
 * Files as sources and sinks.
 */
#include "graph_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1000003 };

static char from_path[] = "/tmp/gyre-stream-XXXXXX";
static char to_path[] = "/tmp/gyre-stream-XXXXXX";
static unsigned char before[FILE_BYTES];
static unsigned char after[FILE_BYTES + 1];
static struct gyre_read_file_options part;
static bool crosses;

static void make_files(void)
{
	int fd = mkstemp(from_path);

	for (size_t i = 0; i < FILE_BYTES; i++) {
		before[i] = (unsigned char)(i * 7 + i / 256);
	}
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, before, FILE_BYTES), FILE_BYTES);
	cr_assert_eq(close(fd), 0);
	fd = mkstemp(to_path);
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, "old", 3), 3);
	cr_assert_eq(close(fd), 0);
}

static size_t read_copy(void)
{
	int fd = open(to_path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = read(fd, after, sizeof(after));

	cr_assert(fd >= 0 && bytes >= 0);
	cr_assert_eq(close(fd), 0);
	return (size_t)bytes;
}

static void remove_files(void)
{
	(void)unlink(from_path);
	(void)unlink(to_path);
}

static void build_copy(struct gyre_graph *graph)
{
	static const struct gyre_boundary_options next = { .place = GYRE_PLACE_ROUND_ROBIN };
	struct gyre_stream s = gyre_stream_read_file(graph, from_path, &part);

	gyre_stream_write_file(crosses ? gyre_stream_boundary(s, &next) : s, to_path, NULL);
}

Test(file_ends, copy_a_file, .init = make_files, .fini = remove_files)
{
	run_graph(1, build_copy);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(read_copy(), FILE_BYTES);
	cr_assert_arr_eq(before, after, FILE_BYTES);
	cr_assert_eq(got.elements, (FILE_BYTES + GYRE_CHUNK_BYTES - 1) / GYRE_CHUNK_BYTES);
}

Test(file_ends, copy_a_file_from_loop_to_loop, .init = make_files, .fini = remove_files)
{
	crosses = true;
	part.chunk_bytes = 1000;
	run_graph(2, build_copy);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(read_copy(), FILE_BYTES);
	cr_assert_arr_eq(before, after, FILE_BYTES);
}

Test(file_ends, copy_a_part_of_a_file, .init = make_files, .fini = remove_files)
{
	part = (struct gyre_read_file_options){ .offset = 1234,
						.bytes_max = 77777,
						.chunk_bytes = 5000 };
	run_graph(1, build_copy);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(read_copy(), 77777);
	cr_assert_arr_eq(before + 1234, after, 77777);
}

Test(file_ends, fail_where_there_is_no_such_file, .init = make_files, .fini = remove_files)
{
	from_path[10] = '/';
	run_graph(1, build_copy);
	from_path[10] = '-';
	cr_assert_eq(got.result, -ENOENT);
	cr_assert_eq(read_copy(), 0);
}

static void build_write_nowhere(struct gyre_graph *graph)
{
	gyre_stream_write_file(gyre_stream_read_file(graph, from_path, NULL), "/tmp/none/none",
			       NULL);
}

Test(file_ends, fail_where_a_file_cannot_be_written, .init = make_files, .fini = remove_files)
{
	run_graph(1, build_write_nowhere);
	cr_assert_eq(got.result, -ENOENT);
}

static void build_write_full(struct gyre_graph *graph)
{
	static const struct gyre_file_options options = { .flags = O_WRONLY };

	gyre_stream_write_file(gyre_stream_read_file(graph, from_path, NULL), "/dev/full",
			       &options);
}

Test(file_ends, fail_where_a_disk_is_full, .init = make_files, .fini = remove_files)
{
	run_graph(1, build_write_full);
	cr_assert_eq(got.result, -ENOSPC);
}

static void build_write_numbers(struct gyre_graph *graph)
{
	gyre_stream_write_file(count_from(graph, 0, 3), "/dev/null", NULL);
}

Test(file_ends, take_nothing_but_chunks)
{
	cr_assert_eq(refuse_graph(build_write_numbers), -EINVAL);
}

/* ---- beside the path ---- */

static int drop_some(void *arg, const void *in)
{
	uint32_t *count = (uint32_t *)arg;

	(void)in;
	return (*count)++ % 5 == 4;
}

static void build_filtered(struct gyre_graph *graph)
{
	static const struct gyre_read_file_options small = { .chunk_bytes = 1000 };
	static uint32_t count;

	gyre_stream_write_file(gyre_stream_filter(gyre_stream_read_file(graph, from_path, &small),
						  drop_some, &count),
			       to_path, NULL);
}

Test(file_ends, write_what_a_filter_has_left, .init = make_files, .fini = remove_files)
{
	run_graph(1, build_filtered);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(read_copy(), FILE_BYTES / 5000 * 1000);
	cr_assert_arr_eq(before + 4000, after, 1000);
}

static char pipe_folder[] = "/tmp/gyre-stream-XXXXXX";
static char pipe_path[64];

static int no_chunk(void *arg, void *in, void *out)
{
	(void)arg;
	(void)in;
	((struct gyre_chunk *)out)->bytes = NULL;
	return 0;
}

static void build_idle_pipe(struct gyre_graph *graph)
{
	static const struct gyre_read_file_options from_pipe = { .offset = GYRE_FILE_AT_POSITION };
	struct gyre_stream both[2] = {
		gyre_stream_read_file(graph, pipe_path, &from_pipe),
		gyre_stream_map(count_on(graph), &gyre_type_gyre_chunk, no_chunk, NULL),
	};

	gyre_stream_each(gyre_stream_take(gyre_stream_merge(both, 2), 300), NULL, NULL);
}

Test(file_ends, end_though_a_read_of_a_pipe_still_waits)
{
	int fd;
	int length;

	cr_assert_not_null(mkdtemp(pipe_folder));
	length = snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", pipe_folder);
	cr_assert_gt(length, 0);
	cr_assert_eq(mkfifo(pipe_path, 0600), 0);
	fd = open(pipe_path, O_RDWR | O_CLOEXEC);
	cr_assert(fd >= 0);
	run_graph(1, build_idle_pipe);
	cr_assert_eq(got.result, 0);
	cr_assert_eq(got.elements, 300);
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(unlink(pipe_path), 0);
	cr_assert_eq(rmdir(pipe_folder), 0);
}
