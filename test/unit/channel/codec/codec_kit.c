#include "codec_kit.h"

#include <stdio.h>
#include <string.h>

#include "channel/codec/codec_error.h"

/* So long a read takes to come, at most. */
static const uint64_t moment_ns = GYRE_MICROSECONDS(100);

/* ---- slices ---- */

/* Bytes in memory of their own, which none can be added to any more. */
static struct gyre_buffer *make_slice(struct gyre_handler_context *ctx, const char *bytes,
				      size_t count)
{
	struct gyre_buffer *page = gyre_context_buffer(ctx);
	struct gyre_buffer *slice = NULL;

	cr_assert_eq(gyre_buffer_append(page, bytes, count), 0);
	cr_assert_eq(gyre_buffer_append(page, "", 1), 0);
	cr_assert_eq(gyre_buffer_split(page, count, &slice), 0);
	gyre_buffer_destroy(page);
	return slice;
}

static struct gyre_buffer *make_slices(struct gyre_handler_context *ctx, const char *bytes,
				       size_t count, size_t slice_bytes)
{
	struct gyre_buffer *slices = gyre_context_buffer(ctx);

	for (size_t at = 0; at < count; at += slice_bytes) {
		size_t part = slice_bytes < count - at ? slice_bytes : count - at;

		cr_assert_eq(gyre_buffer_join(slices, make_slice(ctx, bytes + at, part)), 0);
	}
	return slices;
}

static void slice_read(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct codec_kit *kit = (struct codec_kit *)gyre_context_arg(ctx);
	static char bytes[CODEC_KIT_BYTES];
	size_t count = gyre_buffer_copy(data, 0, bytes, sizeof(bytes));

	cr_assert_eq(count, gyre_buffer_bytes(data));
	gyre_buffer_destroy(data);
	kit->reads++;
	gyre_context_fire_read(ctx, make_slices(ctx, bytes, count, kit->slice_bytes));
}

/* ---- behind the tap ---- */

static void end_frame(struct gyre_handler_context *ctx, struct gyre_buffer *frame)
{
	struct codec_kit *kit = (struct codec_kit *)gyre_context_arg(ctx);

	gyre_buffer_destroy(frame);
	if (kit->on_frame != NULL) {
		kit->on_frame(kit, ctx);
	}
}

static void count_complete(struct gyre_handler_context *ctx)
{
	((struct codec_kit *)gyre_context_arg(ctx))->completes++;
}

static void end_exception(struct gyre_handler_context *ctx, int error)
{
	if (((const struct codec_kit *)gyre_context_arg(ctx))->pass_errors) {
		gyre_context_fire_exception(ctx, error);
	}
}

static int init_pipeline(struct gyre_channel *channel, void *arg)
{
	static const struct gyre_handler slices = { .name = "slices", .read = slice_read };
	static const struct gyre_handler last = { .name = "last",
						  .read = end_frame,
						  .read_complete = count_complete,
						  .exception = end_exception };
	struct codec_kit *kit = (struct codec_kit *)arg;
	int r = gyre_pipeline_add(channel, GYRE_LAST, &slices, kit);

	r = r < 0 ? r : gyre_tap_add(channel, GYRE_LAST, kit->tap);
	return r < 0 ? r : gyre_pipeline_add(channel, GYRE_LAST, &last, kit);
}

void codec_kit_open_with(struct codec_kit *kit, struct gyre_test *test,
			 const struct gyre_channel_options *channel)
{
	const struct gyre_acceptor_options options = { .channel = *channel,
						       .init_channel = init_pipeline,
						       .init_arg = kit };

	memset(kit, 0, sizeof(*kit));
	kit->test = test;
	kit->tap = gyre_tap_create(test);
	kit->peer = gyre_test_channel_open(test, &options);
}

void codec_kit_open(struct codec_kit *kit, struct gyre_test *test)
{
	const struct gyre_channel_options none = { 0 };

	codec_kit_open_with(kit, test, &none);
}

/* ---- the codec ---- */

struct adding {
	codec_kit_add_fn add;
	const void *options;
};

static int add_tested(struct gyre_handler_context *ctx, void *arg)
{
	const struct adding *adding = (const struct adding *)arg;
	struct gyre_position position = GYRE_BEFORE("tap");

	position.name = "tested";
	return adding->add(gyre_context_channel(ctx), position, adding->options);
}

int codec_kit_try(struct codec_kit *kit, codec_kit_add_fn add, const void *options)
{
	struct adding adding = { add, options };

	return gyre_tap_do(kit->tap, add_tested, &adding);
}

void codec_kit_add(struct codec_kit *kit, codec_kit_add_fn add, const void *options)
{
	cr_assert_eq(codec_kit_try(kit, add, options), 0);
}

static int remove_tested(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	return gyre_pipeline_remove(gyre_context_channel(ctx), "tested");
}

void codec_kit_remove(struct codec_kit *kit)
{
	cr_assert_eq(gyre_tap_do(kit->tap, remove_tested, NULL), 0);
}

void codec_kit_feed(struct codec_kit *kit, const void *bytes, size_t count, size_t slice_bytes)
{
	uint32_t reads = kit->reads;

	cr_assert_leq(count, CODEC_KIT_BYTES);
	kit->slice_bytes = slice_bytes;
	(void)gyre_test_channel_write(kit->peer, bytes, count, 0);
	gyre_test_advance(kit->test, moment_ns);
	cr_assert_eq(kit->reads, reads + 1, "%u reads", kit->reads - reads);
}

void codec_kit_feed_unread(struct codec_kit *kit, const char *text)
{
	uint32_t reads = kit->reads;

	kit->slice_bytes = strlen(text);
	(void)gyre_test_channel_write_text(kit->peer, text);
	gyre_test_advance(kit->test, moment_ns);
	cr_assert_eq(kit->reads, reads);
}

void codec_kit_end(struct codec_kit *kit)
{
	cr_assert_eq(gyre_test_channel_half_close(kit->peer), 0);
	gyre_test_advance(kit->test, moment_ns);
}

static int set_auto_read(struct gyre_handler_context *ctx, void *arg)
{
	gyre_channel_set_auto_read(gyre_context_channel(ctx), *(const bool *)arg);
	return 0;
}

void codec_kit_read_by_itself(struct codec_kit *kit, bool whether)
{
	cr_assert_eq(gyre_tap_do(kit->tap, set_auto_read, &whether), 0);
	gyre_test_advance(kit->test, moment_ns);
}

static int request_read(struct gyre_handler_context *ctx, void *arg)
{
	(void)arg;
	gyre_context_read(ctx);
	return 0;
}

void codec_kit_ask(struct codec_kit *kit)
{
	cr_assert_eq(gyre_tap_do(kit->tap, request_read, NULL), 0);
	gyre_test_advance(kit->test, moment_ns);
}

void codec_kit_fill_output(struct codec_kit *kit)
{
	static const char bytes[1 << 16];
	int welcome = 1;

	while (welcome == 1) {
		const struct gyre_tapped *seen;

		cr_assert_eq(gyre_tap_write(kit->tap, bytes, sizeof(bytes)), 0);
		while ((seen = gyre_tap_take(kit->tap, moment_ns)) != NULL) {
			cr_assert_eq(seen->kind, GYRE_TAPPED_WRITABILITY);
			welcome = seen->error;
		}
	}
}

void codec_kit_drain_output(struct codec_kit *kit)
{
	static char bytes[1 << 16];

	while (gyre_test_channel_read(kit->peer, bytes, sizeof(bytes), moment_ns) > 0) {
		continue;
	}
}

struct writing {
	const char *bytes;
	size_t count;
	size_t slice_bytes;
};

static int write_slices(struct gyre_handler_context *ctx, void *arg)
{
	const struct writing *what = (const struct writing *)arg;

	return gyre_context_write(ctx,
				  make_slices(ctx, what->bytes, what->count, what->slice_bytes));
}

int codec_kit_write(struct codec_kit *kit, const char *text, size_t slice_bytes)
{
	struct writing writing = { text, strlen(text), slice_bytes };

	return gyre_tap_do(kit->tap, write_slices, &writing);
}

/* ---- what is seen ---- */

static int print(char *to, size_t room, const struct gyre_tapped *it)
{
	switch (it->kind) {
	case GYRE_TAPPED_READ:
		return snprintf(to, room, "[%.*s]", (int)it->count, (const char *)it->bytes);
	case GYRE_TAPPED_EXCEPTION:
		return snprintf(to, room, "!%s", codec_error_text(it->error));
	case GYRE_TAPPED_READ_END:
		return snprintf(to, room, ".");
	default:
		return 0;
	}
}

const char *codec_kit_seen(struct codec_kit *kit)
{
	const struct gyre_tapped *it;

	while ((it = gyre_tap_take(kit->tap, 0)) != NULL) {
		size_t room = sizeof(kit->text) - kit->text_bytes;
		int count = print(kit->text + kit->text_bytes, room, it);

		cr_assert(count >= 0 && (size_t)count < room, "too much for a text");
		kit->text_bytes += (size_t)count;
	}
	return kit->text;
}

void codec_kit_forget(struct codec_kit *kit)
{
	(void)codec_kit_seen(kit);
	kit->text_bytes = 0;
	kit->text[0] = '\0';
}
