/*
 * A rig for tests of channels: one home that the test itself turns, a channels actor in it, and
 * channels on socket pairs whose far ends the test holds. A turn never waits longer than a moment,
 * so a test can say what is to become true and turn until it is.
 *
 * The home's clock stands still, and moves on when the test says so: nothing times out before that,
 * however slow the machine is.
 */
#ifndef TEST_UNIT_CHANNEL_RIG_H
#define TEST_UNIT_CHANNEL_RIG_H

#include "channel/channel.h"
#include "net/net_state.h"

/* It does not run out, however fast time goes by. */
#define RIG_LINGER_WITHOUT_END_NS GYRE_SECONDS(3600000)

enum { RIG_TRACE_BYTES = 4096, RIG_LOG_BYTES = 1024, RIG_LOG_LINES_MAX = 5 };

struct rig_options {
	uint32_t buffer_count;		/* 64 */
	uint32_t buffer_bytes;		/* 4096 */
	bool whole_buffers;		/* as the build says */
	uint32_t datagram_buffer_count; /* 16 */
	uint32_t datagram_buffer_bytes; /* 65536 */
	uint32_t low_bytes;		/* 64 KiB */
	uint32_t high_bytes;		/* 256 KiB */
	uint32_t max_bytes;		/* 1 MiB */
	uint64_t linger_ns;		/* without end */
	uint64_t channel_bytes_max;	/* none */
	uint64_t zero_copy_bytes;	/* never */
};

struct rig {
	struct gy_homes homes; /* first, as in a system */
	struct gy_net net;     /* homes.net, for tests of the net floor */
	struct gy_home home;
	struct gy_loops *loops;
	struct gy_log log;
	struct gy_house *house; /* of the actor that owns the channels */
	struct gy_timer moment;
	uint32_t logged;
	char last_log[RIG_LOG_BYTES];
	int descriptors; /* open before the rig was */
	uint64_t opened; /* channels that were not accepted */
	uint32_t warnings_expected;
	bool clock_free;
	uint64_t now_ns;   /* of a clock that stands still */
	uint64_t ahead_ns; /* of the machine's clock, when it is free */
};

typedef bool (*rig_condition_fn)(struct rig *rig, void *arg);

void rig_init(struct rig *rig, const struct rig_options *options);
/* Drains, stops the actors, and sees that no channel, page, buffer, or descriptor is left. */
void rig_fini(struct rig *rig);
void rig_turn(struct rig *rig);
/* Moves the home's clock on, and fires what is due then. */
void rig_pass(struct rig *rig, uint64_t ns);

/* The clock moves on, and no turn is made before. */
void rig_skip(struct rig *rig, uint64_t ns);
/* Makes the home's clock go with the machine's. */
void rig_free_clock(struct rig *rig);
/* False when it has not become true in thirty seconds of the machine's clock. */
bool rig_until(struct rig *rig, rig_condition_fn condition, void *arg);
/* The same, while the home's clock goes on by a millisecond with each turn. */
bool rig_until_later(struct rig *rig, rig_condition_fn condition, void *arg);
/* A few turns, for what must not happen. */
void rig_settle(struct rig *rig);

struct gy_channels *rig_channels(struct rig *rig);
/* The stack that calls from a test may be made with. */
struct gy_stack *rig_stack(struct rig *rig);
int rig_open_descriptors(void);

/* A channel with the handlers of a list that ends in NULL, all with @arg; the far end is returned.
 */
int rig_open(struct rig *rig, const struct gyre_handler *const *handlers, void *arg,
	     const struct gyre_channel_options *options, struct gyre_channel **ret_channel);
/* The same on a connected TCP socket. */
int rig_open_tcp(struct rig *rig, const struct gyre_handler *const *handlers, void *arg,
		 const struct gyre_channel_options *options, struct gyre_channel **ret_channel);

/* ---- the far end ---- */

/* A stream of bytes that is sent and expected back: what was sent, what came back. */
struct rig_stream {
	int fd;
	uint64_t sent;
	uint64_t received;
	uint64_t total;
	size_t piece; /* of a send, at most; 0 for 16 KiB */
	bool wrong;
	bool ended; /* the channel has closed */
	int error;  /* or reset */
};

void rig_stream_send(struct rig_stream *stream);
void rig_stream_receive(struct rig_stream *stream);
/* Conditions: all came back; the end came. They send and receive. */
bool rig_streamed(struct rig *rig, void *stream);
bool rig_stream_ended(struct rig *rig, void *stream);

/* Sends back what it gets. */
extern const struct gyre_handler *const rig_echo_only[];

/* Bytes that tell where they stand in a stream. */
void rig_fill(unsigned char *bytes, size_t count, uint64_t position);
bool rig_check(const unsigned char *bytes, size_t count, uint64_t position);

#endif
