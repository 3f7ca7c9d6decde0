#include "fuzz.h"

#include <errno.h>
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

int fuzz_cut_off(struct codec_log *log, int error, bool ended, bool told)
{
	if (ended && !told) {
		codec_log_error(log, error);
	}
	return error;
}

int fuzz_unterminated(const struct fuzz_rest *rest, bool ended, struct codec_log *log)
{
	if (ended && rest->count > rest->frame_bytes_max) {
		codec_log_error(log, -EMSGSIZE);
	} else if (ended && rest->unterminated == GYRE_UNTERMINATED_DELIVER) {
		codec_log_frame(log, rest->bytes, rest->count);
	} else if (ended && rest->unterminated == GYRE_UNTERMINATED_FAIL) {
		codec_log_error(log, -EPROTO);
	}
	return -EPROTO;
}

static struct fuzz *holder;

/* Now and then reading stops. */
static void hold_sometimes(struct codec_rig *r, struct gyre_handler_context *ctx)
{
	(void)ctx;
	if (fuzz_below(holder, 4) == 0) {
		codec_rig_flags(r, GY_NO_READ_PAUSED, 0);
	}
}

static void read_on(struct codec_rig *r)
{
	while ((r->channel.state & GY_NO_READ_PAUSED) != 0) {
		codec_rig_flags(r, 0, GY_NO_READ_PAUSED);
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

/* One is heard of once at most that something is wrong with it. */
static void expect_datagram(const void *options, const uint8_t *bytes, size_t count,
			    fuzz_model_fn model, struct codec_log *log)
{
	size_t before = log->events_count;
	int error = count == 0 ? 0 : model(options, bytes, count, false, log);

	for (size_t i = before; i < log->events_count; i++) {
		if (log->events[i].error != 0) {
			return;
		}
	}
	if (error != 0) {
		codec_log_error(log, error);
	}
}

static void feed(struct codec_rig *r, struct fuzz *fuzz, const uint8_t *bytes, size_t count)
{
	codec_rig_feed(r, bytes, count, count == 0 ? 1 : 1 + fuzz_below(fuzz, count));
	if (fuzz_below(fuzz, 2) == 0) {
		read_on(r);
	}
}

/* Reading may have stopped by then, and be stopped by the last frame. */
static void end_stream(struct codec_rig *r)
{
	if (fuzz_below(holder, 2) == 0) {
		codec_rig_flags(r, GY_NO_READ_PAUSED, 0);
	}
	codec_rig_end(r);
	read_on(r);
	fuzz_require(r->read_ends == 1 && r->ended_at == r->log.events_count,
		     "the end is told once, behind all frames");
}

static const struct gyre_handler *added_handler;

static int add_handler(struct codec_rig *r, const void *options)
{
	return codec_rig_add(r, added_handler, options);
}

void fuzz_codec(struct fuzz *fuzz, const struct gyre_handler *handler, const void *options,
		fuzz_model_fn model)
{
	added_handler = handler;
	fuzz_stream(fuzz, add_handler, options, model);
}

void fuzz_stream(struct fuzz *fuzz, fuzz_add_fn add, const void *options, fuzz_model_fn model)
{
	static struct codec_log expected;
	struct codec_rig *r = fuzz_rig();
	size_t pieces = 1 + fuzz_below(fuzz, 40);
	bool datagrams = fuzz_below(fuzz, 2) == 0;
	bool ended = !datagrams && fuzz_below(fuzz, 4) != 0;

	expected.events_count = 0;
	expected.bytes_count = 0;
	if (datagrams) {
		codec_rig_take_datagrams(r);
	} else if (fuzz->count > 0) {
		(void)model(options, fuzz->bytes, fuzz->count, ended, &expected);
	}
	fuzz_require(add(r, options) == 0, "the options were refused");
	holder = fuzz;
	r->on_frame = fuzz_below(fuzz, 2) == 0 ? hold_sometimes : NULL;
	for (size_t at = 0; at < fuzz->count;) {
		size_t count = fuzz_below(fuzz, pieces + 1);

		count = count < fuzz->count - at ? count : fuzz->count - at;
		if (datagrams) {
			expect_datagram(options, fuzz->bytes + at, count, model, &expected);
		}
		feed(r, fuzz, fuzz->bytes + at, count);
		at += count;
	}
	read_on(r);
	if (ended) {
		end_stream(r);
	}
	if (!codec_log_equal(&r->log, &expected)) {
		report(datagrams ? "expected of datagrams" : "expected", &expected);
		report("found", &r->log);
		abort();
	}
}
