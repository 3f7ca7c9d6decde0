/*
 * A rig for codecs, without a socket or a ring: a channel that is only a pipeline, into which bytes
 * are fed as if they had been received, and a last handler that writes down what reaches it. It is
 * for fuzzers, which need the code compiled for them, and for unit tests that set a channel's state
 * by hand; others use the testkit (codec_kit.h). What is wrong with the rig itself aborts.
 */
#ifndef TEST_UNIT_CHANNEL_CODEC_RIG_H
#define TEST_UNIT_CHANNEL_CODEC_RIG_H

#include <gyre/codec.h>

#include "channel/channel.h"
#include "channel/codec/codec.h"

enum {
	CODEC_RIG_BYTES = 1 << 17,
	CODEC_RIG_EVENTS = 1 << 14,
	CODEC_RIG_RING_PAGES = 8,
	CODEC_RIG_TEXT_BYTES = 4096,
};

/* A frame, or an exception. */
struct codec_event {
	int error; /* 0 of a frame */
	size_t count;
};

/* What came out: events, and the bytes of all frames one after another. */
struct codec_log {
	size_t events_count;
	size_t bytes_count;
	struct codec_event events[CODEC_RIG_EVENTS];
	unsigned char bytes[CODEC_RIG_BYTES];
};

struct codec_rig {
	struct gy_home home;
	struct gy_channels channels;
	struct gyre_channel channel;
	struct gy_homes homes; /* and an actor, whose class stands in the log */
	struct gy_class_info class_info;
	struct gy_house house;
	struct gy_endpoints owner;
	uint32_t completes; /* read_complete */
	uint32_t read_ends;
	size_t ended_at; /* of the events in the log, when the last of these came */
	/* Called for each frame after it was written down, if it is not NULL. */
	void (*on_frame)(struct codec_rig *rig, struct gyre_handler_context *ctx);
	bool pass_errors; /* to the tail */
	void *arg;
	struct codec_log log; /* last, for it is large */
};

void codec_log_frame(struct codec_log *log, const void *bytes, size_t count);
void codec_log_error(struct codec_log *log, int error);
/* As text, in a buffer of its own: frames in brackets, errors as exclamations. */
const char *codec_log_text(const struct codec_log *log);
bool codec_log_equal(const struct codec_log *a, const struct codec_log *b);

void codec_rig_init(struct codec_rig *rig);
/* Empties the pipeline, as a channel that ends does, and aborts if anything is still out. */
void codec_rig_fini(struct codec_rig *rig);
/* The part of that which is to be done by whoever ends the rest in another way. */
void codec_rig_end_owner(struct codec_rig *rig);
/* Takes all handlers out but the one that writes down, and aborts if anything is still out. */
void codec_rig_reset(struct codec_rig *rig);
/* Adds a handler before the one that writes down, which is "last". */
int codec_rig_add(struct codec_rig *rig, const struct gyre_handler *handler, const void *options);
/* A buffer of so many bytes in slices of @slice_bytes. */
struct gyre_buffer *codec_rig_buffer(struct codec_rig *rig, const void *bytes, size_t count,
				     size_t slice_bytes);
/* One read. */
void codec_rig_feed(struct codec_rig *rig, const void *bytes, size_t count, size_t slice_bytes);
/* The peer has ended its side: handlers hear of it. */
void codec_rig_end(struct codec_rig *rig);
/* A run of the channel: what waited goes on if it may. */
void codec_rig_run(struct codec_rig *rig);
/* The channel goes to @stage, from any other. */
void codec_rig_stage(struct codec_rig *rig, enum gy_channel_stage stage);
/* Each read is a datagram from now on, until the next reset. */
void codec_rig_take_datagrams(struct codec_rig *rig);
/* Sets and clears flags of the channel, and reasons not to read. */
void codec_rig_flags(struct codec_rig *rig, uint32_t set, uint32_t clear);
/* Lets time go by, millisecond by millisecond, with a run of the channel in each. */
void codec_rig_wait(struct codec_rig *rig, uint64_t time_ns);
/* Takes what is queued for output into @to. */
size_t codec_rig_output(struct codec_rig *rig, void *to, size_t bytes_max);

#endif
