#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct codec_rig rig;
static bool rig_is_ready;

struct fuzz fuzz_begin(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = { .bytes = data, .count = size };

	fuzz.random = UINT64_C(0x9e3779b97f4a7c15) * (1 + (uint64_t)fuzz_byte(&fuzz));
	return fuzz;
}

uint8_t fuzz_byte(struct fuzz *fuzz)
{
	if (fuzz->count == 0) {
		return 0;
	}
	fuzz->count--;
	return *fuzz->bytes++;
}

size_t fuzz_below(struct fuzz *fuzz, size_t limit)
{
	fuzz->random ^= fuzz->random << 13;
	fuzz->random ^= fuzz->random >> 7;
	fuzz->random ^= fuzz->random << 17;
	return (size_t)(fuzz->random >> 20) % limit;
}

void fuzz_require(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "fuzz: %s\n", what);
		abort();
	}
}

struct codec_rig *fuzz_rig(void)
{
	if (!rig_is_ready) {
		codec_rig_init(&rig);
		rig_is_ready = true;
	}
	codec_rig_reset(&rig);
	return &rig;
}

static struct fuzz *holder;

/* Now and then reading stops. */
static void hold_sometimes(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	if (fuzz_below(holder, 4) == 0) {
		codec_rig_flags(r, GY_CHANNEL_PAUSED, 0);
	}
}

static void read_on(struct codec_rig *r)
{
	while ((r->channel.flags & GY_CHANNEL_PAUSED) != 0) {
		codec_rig_flags(r, 0, GY_CHANNEL_PAUSED);
		codec_rig_run(r);
	}
}

static void report(const char *name, const struct codec_log *log)
{
	(void)fprintf(stderr, "%s:", name);
	for (size_t i = 0; i < log->events_count; i++) {
		(void)fprintf(stderr, " %zu/%d", log->events[i].count, log->events[i].error);
	}
	(void)fprintf(stderr, "\n");
}

void fuzz_codec(struct fuzz *fuzz, const struct gyre_handler *handler, const void *options,
		const struct codec_log *expected)
{
	struct codec_rig *r = fuzz_rig();
	size_t pieces = 1 + fuzz_below(fuzz, 40);

	fuzz_require(codec_rig_add(r, handler, options) == 0, "the options were refused");
	holder = fuzz;
	r->on_frame = fuzz_below(fuzz, 2) == 0 ? hold_sometimes : NULL;
	for (size_t at = 0; at < fuzz->count;) {
		size_t count = 1 + fuzz_below(fuzz, pieces);

		count = count < fuzz->count - at ? count : fuzz->count - at;
		codec_rig_feed(r, fuzz->bytes + at, count, 1 + fuzz_below(fuzz, count));
		at += count;
		if (fuzz_below(fuzz, 2) == 0) {
			read_on(r);
		}
	}
	read_on(r);
	if (!codec_log_equal(&r->log, expected)) {
		report("expected", expected);
		report("found", &r->log);
		abort();
	}
}
