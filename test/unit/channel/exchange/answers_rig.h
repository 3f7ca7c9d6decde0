/*
 * A rig for tests of how an exchange writes: a peer asks for answers of so many bytes, by a number
 * each, and reads as fast as the test says. What it gets is checked byte by byte, and so is what
 * waits on the other side meanwhile.
 */
#ifndef TEST_UNIT_CHANNEL_ANSWERS_RIG_H
#define TEST_UNIT_CHANNEL_ANSWERS_RIG_H

#include <gyre/exchange.h>
#include <gyre/request.h>

#include "../rig.h"
#include "../tls/tls_rig.h"
#include "actor/stack/stack.h"

enum { ANSWERS_MAX = 1000, ANSWER_BYTES_MAX = 4 << 20, ANSWERS_GATES = 8 };

enum answer_how {
	ANSWER_PLAIN,  /* written in one piece */
	ANSWER_PIECES, /* in pieces of some KiB */
	ANSWER_FILE,   /* as a part of a file, behind the head */
	ANSWER_FAIL,   /* the handler fails, and @fail writes as many bytes */
	ANSWER_ALONE,  /* a barrier */
	ANSWER_GATE,   /* written when the test opens the gate that its number modulo 8 is */
};

struct answers_setup {
	struct rig_options marks;
	struct gyre_exchange_options exchange;
	struct gyre_channel_options channel;
	bool tcp;
	bool tls;
	size_t reads_bytes; /* of the peer in a turn; 0 for all there is */
};

struct answers_rig {
	struct rig rig;
	struct gyre_channel *channel;
	struct gyre_handler_context *ctx;
	struct gyre_file *file;
	int fd;
	size_t reads_bytes;
	uint64_t bytes[ANSWERS_MAX + 1]; /* that each is to have */
	enum answer_how how[ANSWERS_MAX + 1];
	uint32_t asked;		   /* numbers 1 to this */
	size_t asked_bytes;	   /* that the socket has taken of these requests */
	uint32_t got[ANSWERS_MAX]; /* numbers in the order of their coming */
	uint32_t got_count;
	uint64_t got_bytes;
	unsigned char head[16]; /* of the answer that comes */
	uint64_t at;		/* bytes of it that have come, with the head */
	bool wrong;
	bool ended; /* the channel has closed, or was reset */
	int inactive;
	int reason;
	int input_closed;
	uint32_t begun; /* requests whose handler was called */
	uint32_t alone_wrong;
	size_t queued_most; /* bytes in the channel after an answer was written */
	uint32_t requests_most;
	uint64_t region_bytes_most;
	/* With TLS. */
	struct tls_certs certs;
	struct gyre_tls_options tls_options;
	struct tls_raw raw;
	bool tls;
};

extern struct answers_rig a;

void answers_begin(const struct answers_setup *setup);
void answers_end(void);
/* The peer asks for one more. */
void answers_want(uint64_t bytes, enum answer_how how);
void answers_open_gate(uint32_t gate);
/* The peer sends and reads once. */
void answers_pump(void);
/* All that were asked for have come; or the channel has ended. The peer sends and reads. */
bool answers_have_come(struct rig *rig, void *arg);
/* Turns until all have come, and expects them in order, byte-exact, and the channel open. */
void answers_expect_all(void);
/* The channel has closed; nothing is read meanwhile. */
bool answers_are_inactive(struct rig *rig, void *arg);

#endif
