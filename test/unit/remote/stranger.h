/*
 * A peer made of a plain socket, which says whatever a test wants it to, to the node of the
 * fixture.
 */
#ifndef GY_TEST_STRANGER_H
#define GY_TEST_STRANGER_H

#include <gyre/node.h>

#include "fixture.h"
#include "remote/wire.h"

enum {
	STRANGER_ID = 7,
	STRANGER_NODE = 1,
	STRANGER_LIFE = 1000,
	STRANGER_FRAME_BYTES = 1 << 17,
	STRANGER_TEXT_BYTES = 64
};

struct stranger {
	int fd;
	int listener; /* -1 for none */
	struct gy_hello mine;
	struct gy_hello theirs;
	unsigned char bytes[STRANGER_FRAME_BYTES]; /* the last frame */
	struct gy_frame frame;
	struct gy_frame heads[GY_WIRE_HEADS]; /* the last in full; their bodies are gone */
	bool literal;			      /* AGAIN is heard as what it is */
};

/* Makes the fixture a node with those options, and id STRANGER_NODE, that listens and runs; it is
 * patient where they say nothing. */
void stranger_open(const struct gyre_node_options *options);
/* The same with an actor on loop 0. */
struct gyre_address stranger_open_with(const struct gyre_node_options *options,
				       const struct gyre_class *class);
/* The same with that many loops. */
struct gyre_address stranger_open_on(uint32_t loops, const struct gyre_node_options *options,
				     const struct gyre_class *class);

/* The same with options of the system, which get those of the node. */
struct gyre_address stranger_open_system(struct gyre_system_options *options,
					 const struct gyre_node_options *its_node,
					 const struct gyre_class *class);

/* Until that actor has answered. */
void stranger_await_answer(struct gyre_address local);

/* A connection to the node. */
void stranger_dial(struct stranger *stranger);
/* A socket that the node may dial, and what it is told of it. */
void stranger_listen(struct stranger *stranger);
/* The same, but the node is told nothing; where it is. */
void stranger_listen_unheard(struct stranger *stranger, char text[STRANGER_TEXT_BYTES]);
void stranger_accept(struct stranger *stranger);
void stranger_close(struct stranger *stranger);

/* A hello that the node takes. */
struct gy_hello stranger_hello(void);
void stranger_say_hello(struct stranger *stranger, const struct gy_hello *hello);
void stranger_say(struct stranger *stranger, enum gy_wire_kind kind, const void *body,
		  uint32_t bytes);
void stranger_say_frame(struct stranger *stranger, const struct gy_frame *frame);
void stranger_say_bytes(struct stranger *stranger, const void *bytes, size_t count);
/* It has taken so much, of all that was said since the link opened. */
void stranger_credit(struct stranger *stranger, uint64_t bytes, uint64_t frames);
/* The next frame that is no PING; false at the end of the connection. */
bool stranger_hear(struct stranger *stranger);
/* Expects that the next one is of that kind. */
void stranger_expect(struct stranger *stranger, enum gy_wire_kind kind);
/* Expects a refusal for that reason, and the end. */
void stranger_expect_refusal(struct stranger *stranger, enum gy_refusal refusal);
void stranger_expect_end(struct stranger *stranger);
/* Dials and greets. */
void stranger_meet(struct stranger *stranger);
/* Accepts the next connection that the node makes, and greets. */
void stranger_welcome(struct stranger *stranger);

/* Waits until the node has heard of it: it may be down again by then, if it is to be. */
void stranger_await_known(void);

/* Does all that it is to do soon; what a test does not set does not run out, see patience.c. */
extern const struct gyre_node_options stranger_quick;
/* The same, and a stranger that says nothing is down soon: at any time, so between two lines of the
 * test as well. */
extern const struct gyre_node_options stranger_brief;

#endif
