/*
 * Buffers that are lost in pipelines: the log names the handler that had them last, and the class
 * of the actor of its channel.
 */
#include <criterion/criterion.h>

#include <string.h>
#include <unistd.h>

#include "../channel/rig.h"
#include "buffer/buffer.h"
#include "channel/channel.h"

static struct rig rig;
static struct gyre_buffer *kept[2];
static uint32_t kept_count;

static void keep(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	(void)ctx;
	kept[kept_count++] = data;
}

static void pass(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gyre_context_fire_read(ctx, data);
}

/* Keeps the first byte and the rest, a buffer each. */
static void split(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	struct gyre_buffer *front = NULL;

	(void)ctx;
	cr_assert_eq(gyre_buffer_split(data, 1, &front), 0);
	kept[kept_count++] = data;
	kept[kept_count++] = front;
}

static void make(struct gyre_handler_context *ctx, struct gyre_buffer *data)
{
	gyre_buffer_destroy(data);
	kept[kept_count++] = gyre_context_buffer(ctx);
}

static const struct gyre_handler passing = { .name = "passing", .read = pass };
static const struct gyre_handler keeping = { .name = "keeping", .read = keep };
static const struct gyre_handler splitting = { .name = "splitting", .read = split };
static const struct gyre_handler making = { .name = "making", .read = make };

static bool is_kept(struct rig *r, void *arg)
{
	(void)r;
	(void)arg;
	return kept_count > 0;
}

/* The line is that of the end; then what was lost is found again. */
static void loses(const struct gyre_handler *handler, const char *words)
{
	const struct gyre_handler *const handlers[] = { &passing, handler, NULL };
	int fd;

	rig_init(&rig, NULL);
	rig.warnings_expected = 1;
	fd = rig_open(&rig, handlers, NULL, NULL, NULL);
	cr_assert_eq(write(fd, "a bit", 5), 5);
	cr_assert(rig_until(&rig, is_kept, NULL));
	gy_buffer_leaks_log(&rig_channels(&rig)->pools);
#if GY_ASSERT_LEVEL >= 2
	cr_expect_not_null(strstr(rig.last_log, words), "\"%s\" is not in: %s", words,
			   rig.last_log);
#else
	(void)words;
	cr_expect_not_null(strstr(rig.last_log, "buffers were never freed by the handlers"));
#endif
	while (kept_count > 0) {
		gyre_buffer_destroy(kept[--kept_count]);
	}
	(void)close(fd);
	rig_fini(&rig);
}

Test(buffer_leaks, buffer_names_the_handler_that_read_it_last)
{
	loses(&keeping, "loop 0: 1 buffers that handler keeping of a channel of actor owner had "
			"last were never freed: pass a buffer on, write it, or call "
			"gyre_buffer_destroy()");
}

Test(buffer_leaks, parts_of_a_buffer_name_the_handler_that_has_split_it)
{
	loses(&splitting, "2 buffers that handler splitting of a channel of actor owner had last");
}

Test(buffer_leaks, buffer_names_the_handler_that_made_it)
{
	loses(&making, "1 buffers that handler making of a channel of actor owner had last");
}
