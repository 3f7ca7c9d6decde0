/*
 * Random actor programs: what their actors send each other, and how they answer.
 */
#ifndef TEST_RANDOM_MESSAGES_H
#define TEST_RANDOM_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <gyre/gyre.h>

struct world;

enum kind { KIND_NOTICE, KIND_ASK, KINDS };

/* What one life sends or forwards to another is in order for each kind and line. */
enum line { LINE_SENT, LINE_FORWARDED, LINE_URGENT, LINE_URGENT_FORWARDED, LINES };

enum mark {
	MARK_BATCH = 1,	  /* for the filters of batches */
	MARK_BARRIER = 2, /* for the filter of barriers */
	MARK_COPIED = 4,  /* each member of a group may get one */
	MARK_FIRST = 8,	  /* went before all that waited */
	MARK_SETTLE = 16, /* only calms down who gets it */
	MARK_TIMED = 32,  /* a timer sends it */
	MARK_URGENT = 64, /* for the filters of what is urgent */
};

/* What every message begins with. */
struct head {
	uint32_t mail;	 /* its record */
	uint32_t from;	 /* the life that sent it */
	uint32_t number; /* counted by the sender, for each kind */
	uint16_t marks;
	uint8_t group; /* that it was sent to, counted from 1; 0 for none */
	uint8_t reserved;
};

/* Something that must be given back exactly once. */
struct token;

struct letter {
	struct head head;
};
GYRE_MESSAGE(letter, 0x3001);

struct parcel {
	struct head head;
	struct token *token;
};
void parcel_destroy(struct parcel *parcel);
GYRE_MESSAGE_OWNING(parcel, 0x3002, parcel_destroy);

enum { BULK_WORDS = 400, HUGE_WORDS = 2500 };

struct bulk {
	struct head head;
	uint64_t words[BULK_WORDS];
};
GYRE_MESSAGE(bulk, 0x3003);

/* Too large for the pools. */
struct huge {
	struct head head;
	uint64_t words[HUGE_WORDS];
};
GYRE_MESSAGE(huge, 0x3004);

/* Answers repeat the promise that they are for. */
struct verdict {
	uint32_t pledge;
	uint32_t by; /* the life that answers; 0 when it is none */
};
GYRE_MESSAGE(verdict, 0x3005);

struct present {
	uint32_t pledge;
	uint32_t by;
	struct token *token;
};
void present_destroy(struct present *present);
GYRE_MESSAGE_OWNING(present, 0x3006, present_destroy);

/* What an ask fails with, that of a wish owns something. */
struct complaint {
	uint32_t pledge;
	uint32_t by;
};
GYRE_MESSAGE(complaint, 0x300c);

struct grievance {
	uint32_t pledge;
	uint32_t by;
	struct token *token;
};
void grievance_destroy(struct grievance *grievance);
GYRE_MESSAGE_OWNING(grievance, 0x300d, grievance_destroy);

struct question {
	struct head head;
	uint32_t pledge;
};
GYRE_REQUEST(question, 0x3007, verdict);

struct wish {
	struct head head;
	uint32_t pledge;
	struct token *token;
};
void wish_destroy(struct wish *wish);
GYRE_REQUEST_OWNING(wish, 0x3008, present, wish_destroy);

struct birth {
	struct world *world;
	uint64_t random;
	uint32_t life; /* 0: the actor takes one itself */
	uint32_t parent;
	uint8_t depth;
	uint8_t class;
	uint8_t group; /* it is spawned into */
	bool keeper;
	uint8_t place; /* of enum gyre_place */
	uint8_t name;  /* its first, counted from 1; 0 for none */
	uint16_t loop; /* it was to be on */
};
GYRE_MESSAGE(birth, 0x3009);

/* What is published. */
struct rumour {
	uint32_t topic;
	uint32_t from;
	uint32_t number; /* counted by that life */
};
GYRE_MESSAGE(rumour, 0x300a);

/* An element of a stream. */
struct drop {
	uint32_t number;
};
GYRE_MESSAGE(drop, 0x300b);

#endif
