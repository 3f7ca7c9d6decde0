/* Parts of files in a channel's output: in order, byte by byte, and what ends them early. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gyre/codec.h>
#include <gyre/idle.h>

#include "actor/stack/stack.h"
#include "channel/file/file.h"

#include "../rig.h"
#include "actor/mail/mailbox.h"

TestSuite(send_file, .timeout = 60);

enum { FILE_BYTES = 10 << 20, PIECE = 100000 };

static struct rig rig;
static struct gyre_channel *channel;
static struct gyre_file *file;
static unsigned char *bytes;
static char path[64];
static int peer;
static uint32_t told;
static int result;
static uint32_t inactive;
static uint32_t told_at_end;

static void on_inactive(struct gyre_handler_context *ctx)
{
	(void)ctx;
	inactive++;
	told_at_end = told;
}

static const struct gyre_handler quiet = { .name = "quiet", .inactive = on_inactive };
static const struct gyre_handler *const quiet_only[] = { &quiet, NULL };

static void sent(struct gyre_channel *of, void *arg, int what)
{
	cr_assert_eq(of, channel);
	cr_assert_eq(arg, &told);
	told++;
	result = what;
}

static int file_of(size_t count)
{
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/gyre-send-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, count), (ssize_t)count);
	return fd;
}

static void begin(void)
{
	(void)signal(SIGPIPE, SIG_IGN); /* a thread of a loop has it blocked */
	bytes = malloc(FILE_BYTES);
	rig_fill(bytes, FILE_BYTES, 0);
	rig_init(&rig, NULL);
	peer = rig_open_tcp(&rig, quiet_only, NULL, NULL, &channel);
	rig_settle(&rig);
	cr_assert_eq(gyre_file_adopt(&rig_stack(&rig)->head, file_of(FILE_BYTES), &file), 0);
}

static void end(void)
{
	(void)close(peer);
	rig_fini(&rig);
	(void)unlink(path);
	free(bytes);
}

static int send_part(uint64_t offset, uint64_t count)
{
	const struct gyre_file_region what = {
		.offset = offset, .bytes = count, .sent = sent, .arg = &told
	};

	return gyre_context_send_file(gyre_channel_tail(channel), file, &what);
}

static void write_part(uint64_t offset, size_t count)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes + offset, count), 0);
	cr_assert_eq(gyre_context_write(gyre_channel_tail(channel), buffer), 0);
}

/* ---- the far end ---- */

struct reader {
	uint64_t got;
	uint64_t wanted;
	size_t piece;
	uint64_t checked; /* only so many bytes from the begin; 0: all */
	bool wrong;
	bool ended;
};

static bool reads(struct rig *of, void *arg)
{
	static unsigned char piece[1 << 17];
	struct reader *reader = (struct reader *)arg;
	ssize_t got = recv(peer, piece, reader->piece, MSG_DONTWAIT);

	(void)of;
	if (got > 0) {
		size_t count = (size_t)got;

		if (reader->checked > 0) {
			uint64_t left =
				reader->checked > reader->got ? reader->checked - reader->got : 0;

			count = count < left ? count : (size_t)left;
		}
		reader->wrong |= !rig_check(piece, count, reader->got);
		reader->got += (uint64_t)got;
	}
	reader->ended |= got == 0 || (got < 0 && errno != EAGAIN);
	return reader->got >= reader->wanted || reader->ended;
}

static bool is_told(struct rig *of, void *arg)
{
	(void)of;
	return told == *(const uint32_t *)arg;
}

static bool is_inactive(struct rig *of, void *arg)
{
	(void)of;
	(void)arg;
	return inactive > 0;
}

/* ---- order and bytes ---- */

Test(send_file, brings_ten_megabytes_to_a_slow_peer_as_they_are, .init = begin, .fini = end)
{
	struct reader reader = { .wanted = FILE_BYTES, .piece = 1 << 17 };
	uint32_t once = 1;

	cr_assert_eq(send_part(0, FILE_BYTES), 0);
	cr_assert(gyre_channel_is_writable(channel));
	rig_settle(&rig);
	cr_assert_eq(told, 0);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
	cr_assert_eq(reader.got, FILE_BYTES);
	cr_assert(rig_until(&rig, is_told, &once));
	cr_assert_eq(result, 0);
}

Test(send_file, stands_in_the_output_in_the_order_of_the_calls, .init = begin, .fini = end)
{
	struct reader reader = { .wanted = 12 * (uint64_t)PIECE, .piece = 70000 };
	uint32_t six = 6;

	for (uint32_t i = 0; i < 12; i++) {
		if (i % 2 == 0) {
			write_part(i * (uint64_t)PIECE, i == 4 ? 10 : PIECE);
			if (i == 4) {
				write_part(i * (uint64_t)PIECE + 10, PIECE - 10);
			}
		} else {
			cr_assert_eq(send_part(i * (uint64_t)PIECE, PIECE), 0);
		}
	}
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
	cr_assert(rig_until(&rig, is_told, &six));
	cr_assert_eq(gyre_channel_queued_bytes(channel), 0);
}

Test(send_file, is_sent_before_a_channel_that_closes_does, .init = begin, .fini = end)
{
	struct reader reader = { .wanted = UINT64_MAX, .piece = 1 << 16 };

	cr_assert_eq(send_part(0, 3 * (uint64_t)PIECE), 0);
	gyre_file_close(file); /* which waits for it */
	gyre_context_close(gyre_channel_tail(channel));
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert(reader.ended && !reader.wrong);
	cr_assert_eq(reader.got, 3 * PIECE);
	cr_assert_eq(told, 1);
	cr_assert_eq(result, 0);
}

Test(send_file, is_sent_before_its_actor_ends, .init = begin, .fini = end)
{
	struct reader reader = { .wanted = UINT64_MAX, .piece = 1 << 16 };

	cr_assert_eq(send_part(0, FILE_BYTES), 0);
	gy_house_request_stop(rig.house, 0);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert(reader.ended && !reader.wrong);
	cr_assert_eq(reader.got, FILE_BYTES);
}

/* ---- small parts, from the page cache and not ---- */

/* So that calls on the socket take but a part of what they are given. */
static void narrow(void)
{
	const int little = 16384;
	int fd = channel->endpoint.fd;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)), 0);
	cr_assert_eq(setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
}

/* A head, and a part of the file behind it, again and again. */
static void send_answers(uint64_t head, uint64_t body, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		write_part(i * (head + body), head);
		cr_assert_eq(send_part(i * (head + body) + head, body), 0);
	}
}

static void expect_answers(uint64_t head, uint64_t body, uint32_t count)
{
	struct reader reader = { .wanted = count * (head + body), .piece = 3000 };

	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
	cr_assert(rig_until(&rig, is_told, &count));
	cr_assert_eq(result, 0);
	cr_assert_eq(gyre_channel_queued_bytes(channel), 0);
	cr_assert_eq(channel->region_bytes, 0);
}

Test(send_file, goes_out_with_the_head_before_it, .init = begin, .fini = end)
{
	const uint64_t sent_before = rig_channels(&rig)->counters.bytes_sent;

	send_answers(200, 16384, 1);
	gyre_context_flush(gyre_channel_tail(channel));
	cr_expect_eq(rig_channels(&rig)->counters.bytes_sent - sent_before, 16584, "at once");
	expect_answers(200, 16384, 1);
}

Test(send_file, brings_small_parts_to_a_slow_peer_in_order, .init = begin, .fini = end)
{
	narrow();
	send_answers(5000, 20000, 20);
	expect_answers(5000, 20000, 20);
}

Test(send_file, brings_large_parts_to_a_slow_peer_in_order, .init = begin, .fini = end)
{
	narrow();
	send_answers(5000, 200000, 5);
	expect_answers(5000, 200000, 5);
}

Test(send_file, goes_behind_a_head_too_long_to_go_with_it, .init = begin, .fini = end)
{
	send_answers(50000, 1000, 5);
	expect_answers(50000, 1000, 5);
}

/* The pages of the file leave the memory, where the file system lets them. */
static void forget_pages(void)
{
	int fd = file->endpoint.fd;

	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

Test(send_file, waits_for_a_disk_without_the_loop, .init = begin, .fini = end)
{
	forget_pages();
	send_answers(100, 300000, 3);
	expect_answers(100, 300000, 3);
}

Test(send_file, of_a_small_part_waits_for_a_disk_too, .init = begin, .fini = end)
{
	forget_pages();
	send_answers(100, 30000, 3);
	expect_answers(100, 30000, 3);
}

Test(send_file, of_a_small_part_behind_the_end_aborts_the_channel, .init = begin, .fini = end)
{
	struct reader reader = { .wanted = UINT64_MAX, .piece = 1 << 16 };

	write_part(0, 10);
	cr_assert_eq(send_part(FILE_BYTES - 10, 30), 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_eq(result, -ENODATA);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_eq(told_at_end, 1);
}

/* ---- ends ---- */

Test(send_file, that_is_cut_short_meanwhile_aborts_the_channel, .init = begin, .fini = end)
{
	/* Pages on their way lose what is cut off. */
	struct reader reader = { .wanted = UINT64_MAX, .piece = 1 << 16, .checked = 1 << 20 };

	cr_assert_eq(send_part(0, FILE_BYTES), 0);
	rig_settle(&rig);
	cr_assert_eq(truncate(path, 1 << 20), 0);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
	cr_assert_lt(reader.got, FILE_BYTES);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_eq(told_at_end, 1);
	cr_assert_eq(result, -ENODATA);
}

Test(send_file, that_cannot_be_read_aborts_the_channel_with_the_reason, .init = begin, .fini = end)
{
	struct gyre_file *folder;
	const struct gyre_file_region what = { .bytes = 10, .sent = sent, .arg = &told };

	cr_assert_eq(gyre_file_adopt(&rig_stack(&rig)->head,
				     open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &folder),
		     0);
	cr_assert_eq(gyre_context_send_file(gyre_channel_tail(channel), folder, &what), 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_lt(result, 0);
	cr_assert_neq(result, -ECANCELED);
}

Test(send_file, to_a_peer_that_has_gone_is_given_up, .init = begin, .fini = end)
{
	cr_assert_eq(send_part(0, FILE_BYTES), 0);
	cr_assert_eq(send_part(0, 100), 0);
	rig_settle(&rig);
	(void)shutdown(peer, SHUT_RDWR);
	(void)close(peer);
	peer = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_eq(told_at_end, 2);
	cr_assert_lt(result, 0);
}

Test(send_file, that_is_under_way_ends_with_an_abort, .init = begin, .fini = end)
{
	cr_assert_eq(send_part(0, FILE_BYTES), 0);
	rig_settle(&rig);
	gyre_channel_abort(channel, -EBADMSG);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_eq(told_at_end, 1);
	cr_assert_eq(result, -EBADMSG);
}

/* ---- in a run that ends the channel, or tells of another ---- */

static gyre_file_sent_fn answer_sent;

static int send_answer(void)
{
	const struct gyre_file_region what = { .bytes = PIECE, .sent = answer_sent, .arg = &told };

	return gyre_context_send_file(gyre_channel_tail(channel), file, &what);
}

/* The peer has ended, and has nothing to be waited for when it has the answer. */
static void answer_the_end(struct gyre_handler_context *ctx, const struct gyre_type *type,
			   const void *event)
{
	(void)event;
	cr_assert_eq(type->id, GYRE_ID(gyre_input_closed));
	cr_assert_eq(send_answer(), 0);
	gyre_file_close(file);
	gyre_context_close(ctx);
}

static const struct gyre_handler answering = { .name = "answering",
					       .inactive = on_inactive,
					       .event = answer_the_end };
static const struct gyre_handler *const answering_only[] = { &answering, NULL };

Test(send_file, is_told_of_before_the_channel_that_it_ends_is_gone, .init = begin, .fini = end)
{
	const struct gyre_channel_options half_close = { .allow_half_close = true };
	struct reader reader = { .wanted = PIECE, .piece = 1 << 16 };

	gyre_channel_abort(channel, 0);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	(void)close(peer);
	inactive = 0;
	peer = rig_open_tcp(&rig, answering_only, NULL, &half_close, &channel);
	rig_settle(&rig);
	answer_sent = sent;
	cr_assert_eq(shutdown(peer, SHUT_WR), 0);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert(!reader.wrong && reader.got == PIECE);
	cr_assert(rig_until(&rig, is_inactive, NULL));
	cr_assert_eq(told_at_end, 1);
	cr_assert_eq(result, 0);
}

/* And goes out within the call. */
static void send_next(struct gyre_channel *of, void *arg, int what)
{
	told++;
	result = what;
	answer_sent = sent;
	cr_assert_eq(send_answer(), 0);
	gyre_context_flush(gyre_channel_tail(of));
	cr_assert_eq(of->region_bytes, 0);
	cr_assert_eq(told, *(const uint32_t *)arg, "not within the call");
	cr_assert_eq(told, 1);
}

Test(send_file, that_goes_out_while_another_is_told_of_is_told_of_in_the_next_run, .init = begin,
     .fini = end)
{
	uint32_t two = 2;

	answer_sent = send_next;
	cr_assert_eq(send_answer(), 0);
	cr_assert(rig_until(&rig, is_told, &two));
	cr_assert_eq(result, 0);
}

static void send_behind(struct gyre_channel *of, int error, void *arg)
{
	cr_assert_eq(error, 0);
	cr_assert_eq(arg, &told);
	cr_assert_neq(gyre_channel_queued_bytes(of), 0, "there are bytes to go with the file");
	answer_sent = sent;
	cr_assert_eq(send_answer(), 0);
	gyre_context_flush(gyre_channel_tail(of));
	cr_assert_eq(gyre_channel_queued_bytes(of), 0);
}

static bool promise_kept;

static void keep_promise(struct gyre_channel *of, int error, void *arg)
{
	(void)of;
	(void)arg;
	cr_assert_eq(error, 0);
	promise_kept = true;
}

static int write_then(gyre_written_fn callback)
{
	struct gyre_buffer *buffer = gy_buffer_get(&rig_channels(&rig)->pools);

	cr_assert_eq(gyre_buffer_append(buffer, bytes, 100), 0);
	return gyre_context_write_then(gyre_channel_tail(channel), buffer, callback, &told);
}

Test(send_file, that_takes_written_bytes_along_keeps_the_promise_for_them, .init = begin,
     .fini = end)
{
	uint32_t once = 1;

	cr_assert_eq(write_then(send_behind), 0);
	gyre_context_flush(gyre_channel_tail(channel));
	cr_assert(channel->send.armed);
	cr_assert_eq(write_then(keep_promise), 0);
	cr_assert(rig_until(&rig, is_told, &once));
	cr_expect(promise_kept);
}

/* ---- handlers on the way ---- */

static uint64_t seen; /* bytes that the observer let pass */
static int refusal;

static int observe_write(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	seen += gyre_buffer_bytes(data);
	return gyre_context_write(ctx, data);
}

static int observe_file(struct gyre_handler_context *ctx, struct gyre_file *of,
			const struct gyre_file_region *what)
{
	int r = refusal < 0 ? refusal : gyre_context_send_file(ctx, of, what);

	seen += r == 0 ? what->bytes : 0;
	return r;
}

static const struct gyre_handler observer = { .name = "observer",
					      .write = observe_write,
					      .send_file = observe_file };

Test(send_file, passes_handlers_that_only_observe, .init = begin, .fini = end)
{
	const struct gyre_idle_options idle = { .write_ns = GYRE_SECONDS(3600) };
	struct reader reader = { .wanted = 2 * PIECE, .piece = 1 << 16 };

	cr_assert_eq(gyre_pipeline_add(channel, GYRE_FIRST, &observer, NULL), 0);
	cr_assert_eq(gyre_idle_add(channel, GYRE_FIRST, &idle), 0);
	write_part(0, PIECE);
	cr_assert_eq(send_part(PIECE, PIECE), 0);
	cr_assert_eq(seen, 2 * PIECE);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
}

Test(send_file, passes_codecs_that_put_nothing_behind_it, .init = begin, .fini = end)
{
	static const struct gyre_span bar = { "|", 1 };
	const struct gyre_line_options lines = { .append = GYRE_APPEND_LF };
	struct gyre_delimiter_options bars = { .delimiters = &bar, .delimiters_count = 1 };
	struct reader reader = { .wanted = PIECE, .piece = 1 << 16 };

	cr_assert_eq(gyre_line_codec_add(channel, GYRE_FIRST, &lines), 0);
	cr_expect_eq(send_part(0, PIECE), -EOPNOTSUPP);
	cr_assert_eq(gyre_line_codec_add(channel, GYRE_REPLACE("line"), NULL), 0);
	bars.append = true;
	cr_assert_eq(gyre_delimiter_codec_add(channel, GYRE_FIRST, &bars), 0);
	cr_expect_eq(send_part(0, PIECE), -EOPNOTSUPP);
	bars.append = false;
	cr_assert_eq(gyre_delimiter_codec_add(channel, GYRE_REPLACE("delimiter"), &bars), 0);
	cr_assert_eq(send_part(0, PIECE), 0);
	cr_assert(rig_until(&rig, reads, &reader));
	cr_assert_not(reader.wrong);
}

Test(send_file, may_be_refused_by_a_handler_on_the_way, .init = begin, .fini = end)
{
	refusal = -EPERM;
	cr_assert_eq(gyre_pipeline_add(channel, GYRE_FIRST, &observer, NULL), 0);
	cr_assert_eq(send_part(0, 1), -EPERM);
	refusal = 0;
	cr_assert_eq(send_part(0, 0), -EINVAL, "the head looks at it as ever");
	cr_assert_eq(seen, 0);
}

/* ---- refusals ---- */

static int pass_on(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	return gyre_context_write(ctx, data);
}

static const struct gyre_handler writer = { .name = "writer", .write = pass_on };

Test(send_file, answers_misuse_with_an_errno, .init = begin, .fini = end)
{
	struct gyre_handler_context *tail = gyre_channel_tail(channel);
	const struct gyre_file_region what = { .bytes = 1 };

	cr_assert_eq(gyre_context_send_file(NULL, file, &what), -EINVAL);
	cr_assert_eq(gyre_context_send_file(tail, NULL, &what), -EINVAL);
	cr_assert_eq(gyre_context_send_file(tail, file, NULL), -EINVAL);
	cr_assert_eq(send_part(0, 0), -EINVAL);
	cr_assert_eq(send_part(INT64_MAX, 2), -EINVAL);
	cr_assert_eq(send_part(0, UINT64_MAX), -EINVAL);
	cr_assert_eq(gyre_pipeline_add(channel, GYRE_FIRST, &writer, NULL), 0);
	cr_assert_eq(send_part(0, 1), -EOPNOTSUPP);
	cr_assert_eq(gyre_pipeline_add(channel, GYRE_LAST, &observer, NULL), 0);
	cr_assert_eq(send_part(0, 1), -EOPNOTSUPP, "one of two that cannot is enough");
	cr_assert_eq(gyre_pipeline_remove(channel, "observer"), 0);
	cr_assert_eq(gyre_pipeline_remove(channel, "writer"), 0);
	gyre_file_close(file);
	cr_assert_eq(send_part(0, 1), -EBADF);
	gyre_context_shutdown(tail);
	cr_assert_eq(told, 0);
}
