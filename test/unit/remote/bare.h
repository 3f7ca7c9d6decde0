/*
 * A node with one link and no network, no thread and no clock that runs by itself: bytes are fed to
 * the link as if they had been received, what it says is taken out of its channel, and time passes
 * when a test says so. Unit tests and fuzzers share it, so it knows nothing of either; what is
 * wrong with it itself aborts.
 */
#ifndef TEST_UNIT_REMOTE_BARE_H
#define TEST_UNIT_REMOTE_BARE_H

#include "../channel/codec/codec_rig.h"
#include "remote/link/link.h"
#include "remote/wire.h"

#include <gyre/tail.h>

/* A notice with a text that begins with BARE_FAILS ends the actor, for that cause. */
enum { BARE_NODE = 1, BARE_PEER = 7, BARE_FAILS = '!' };

/* What it may be sent, and answers with the number after it. */
struct bare_number {
	uint64_t value;
};
GYRE_MESSAGE(bare_number, 0x1400);

/* Has a tail, and is answered with the sum of its values. */
struct bare_values {
	uint64_t serial;
	uint32_t count;
	uint16_t values[];
};
GYRE_MESSAGE_TAIL(bare_values, 0x1402, values, count);

/* Has a text of its own, and so an encoding. */
struct bare_text {
	char *text;
};
extern const struct gyre_type gyre_type_bare_text;

struct bare {
	struct gy_homes homes; /* first, as in a system */
	struct gy_loops *loops;
	struct gy_log log;
	struct gy_later later; /* so that a turn does not wait */
	uint64_t now_ns;
	uint32_t warnings;
	struct gyre_address adder; /* which answers numbers and values */
	uint64_t sum;		   /* of all values in notices */
	struct gy_link *link;
	struct codec_rig rig; /* last, for it is large */
};

/* Sums over the life of the node. */
struct bare_sums {
	uint64_t sent;
	uint64_t handled;
	uint64_t dropped[GYRE_DROP_COUNT];
	uint64_t to_nodes;
	uint64_t waiting; /* for a link; not a sum */
	uint64_t bytes;	  /* of the link that is open: consumed */
	uint64_t frames;  /* likewise */
};

void bare_init(struct bare *bare, const struct gyre_node_options *options);
/* Aborts if anything is left. */
void bare_fini(struct bare *bare);
/* A connection that another node has made, or that this one has dialled. */
void bare_accept(struct bare *bare);
void bare_dial(struct bare *bare);
/* Ends it; aborts if anything of it is left, or a message has vanished. */
void bare_hang_up(struct bare *bare);
/* Nothing was ever heard of another node, and nothing waits for one. */
void bare_forget(struct bare *bare);
/* What connections from now on are to share, and to prove; "" for nothing. */
void bare_share(struct bare *bare, const char *secret);
/* The proof that the peer has it. */
void bare_prove(const struct bare *bare, const char *secret, const struct gy_hello *hello,
		unsigned char proof[GY_PROOF_BYTES]);

/* One read, in slices of so many bytes at most. */
void bare_feed(struct bare *bare, const void *bytes, size_t count, size_t slice_bytes);
/* What it has said since the last time. */
size_t bare_hear(struct bare *bare, void *to, size_t bytes_max);
/* The same: how many frames of that kind are of messages of one type. */
uint32_t bare_count_said(struct bare *bare, enum gy_wire_kind kind, uint32_t type);
/* Whether it still takes bytes. */
bool bare_is_alive(const struct bare *bare);
void bare_wait(struct bare *bare, uint64_t time_ns);

/* The hello of the peer, and what it says for it; how many bytes. */
struct gy_hello bare_hello(void);
uint32_t bare_greeting(unsigned char bytes[GY_HELLO_BYTES_MAX]);
/* Feeds what makes a new connection an open link. */
void bare_greet(struct bare *bare);

/* Sends an actor here a number, from nobody. */
void bare_tell(struct bare *bare, struct gyre_address to, uint64_t value);
/* Sends the peer a number. */
int bare_notify(struct bare *bare, uint64_t value);
struct bare_sums bare_sums(const struct bare *bare);

#endif
