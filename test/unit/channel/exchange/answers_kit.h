/*
 * What tests of how an exchange writes share: a peer asks for answers of so many bytes, by a number
 * each, and reads as fast as the test says. What it gets is checked byte by byte, and so is what
 * waits on the other side meanwhile. All of it is made of the testkit: a protocol in front of a
 * tap, and the test is the peer, behind TLS too.
 */
#ifndef TEST_UNIT_CHANNEL_ANSWERS_KIT_H
#define TEST_UNIT_CHANNEL_ANSWERS_KIT_H

#include <openssl/ssl.h>

#include <gyre/exchange.h>
#include <gyre/file.h>
#include <gyre/tap.h>
#include <gyre/tls.h>

#include "../tls/tls_certs.h"
#include "kit_test.h"

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
	struct gyre_exchange_options exchange;
	struct gyre_channel_options channel;
	bool tls;
	size_t reads_bytes; /* of the peer at a time; 0 for all there is */
};

struct answers_kit {
	struct gyre_test *test;
	struct gyre_test_channel *peer;
	struct gyre_tap *tap;	/* behind the protocol */
	struct gyre_probe *key; /* opens gates, and stops actors */
	struct gyre_exchange_options options;
	struct gyre_channel *channel;
	struct gyre_handler_context *ctx;
	struct gyre_address owner; /* of the channel */
	struct gyre_buffer *part;  /* of a request that comes in parts */
	int fd;			   /* of a file of all that answers may have */
	struct gyre_file *file;	   /* of that descriptor */
	void (*on_read)(void);	   /* called before the requests of a read are, if not NULL */
	size_t reads_bytes;
	uint64_t bytes[ANSWERS_MAX + 1]; /* that each is to have */
	enum answer_how how[ANSWERS_MAX + 1];
	uint32_t asked;		   /* numbers 1 to this */
	size_t asked_bytes;	   /* that the peer has sent of these requests */
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
	uint32_t begun;	  /* requests whose handler was called */
	uint32_t written; /* answers */
	uint32_t alone_wrong;
	size_t queued_most; /* bytes in the channel after an answer was written */
	uint32_t requests_most;
	uint64_t written_bytes;
	uint64_t sent_before;	    /* bytes, when the channel was opened */
	uint64_t region_bytes_most; /* of the file in the channel, after a part was written */
	/* With TLS. */
	bool tls;
	struct tls_certs certs;
	struct gyre_tls_options tls_options;
	SSL_CTX *context; /* of the peer */
	SSL *ssl;
	BIO *in;
	BIO *out;
};

extern struct answers_kit kit;

/* The marks of channels, and that no warning is logged. */
extern const struct gyre_system_options answers_system;

void answers_open(struct gyre_test *test, const struct answers_setup *setup);
/* The peer closes, and the channel ends. */
void answers_close(void);
/* The peer asks for one more. */
void answers_want(uint64_t bytes, enum answer_how how);
void answers_open_gate(uint32_t gate);
/* Has the owner of the channel stop. */
void answers_stop_owner(void);
/* The peer sends and reads once, and what comes of it comes. */
void answers_turn(void);
/* The peer sends and reads until all that were asked for have come, or the channel has ended; false
 * when nothing comes any more. */
bool answers_come(void);
/* The same, and they are in order, byte-exact, and the channel is open. */
void answers_expect_all(void);
/* The requests that are not answered are dead letters: those that wait, and answers that do. */
void answers_expect_lost(void);

#endif
