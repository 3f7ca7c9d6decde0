/*
 * Random actor programs: actors of channels. A link is one end of a connection, or the socket for
 * datagrams of one loop, with the channel and the actor that was spawned with it. No record of one
 * is used again.
 */
#ifndef TEST_RANDOM_LINKING_H
#define TEST_RANDOM_LINKING_H

#include "random.h"

enum { ACCEPTORS = 2, DIALS_MAX = 24, LINKS_MAX = 56 };

enum link_stage {
	LINK_NONE,
	LINK_MADE, /* its handler is in the pipeline */
	LINK_REGISTERED,
	LINK_ACTIVE,
	LINK_INACTIVE,
	LINK_UNREGISTERED,
	LINK_REMOVED,
};

/* What an acceptor or a connector was told. */
struct dial {
	struct world *world;
	uint64_t random;
	uint32_t draws; /* atomic */
	uint8_t class;
	uint8_t bond; /* of enum gyre_channel_bond */
};

/* What is atomic is read by other loops. */
struct link {
	struct world *world;
	struct self *self; /* the state of its actor */
	uint64_t random;
	uint8_t class;
	uint8_t bond;
	bool accepted; /* else it has connected, or is for datagrams */
	bool datagrams;
	bool parted;	  /* its channel goes on alone */
	uint32_t stage;	  /* atomic, of enum link_stage */
	uint32_t life;	  /* atomic; 0 until its actor is mounted */
	uint32_t cleaned; /* atomic; the last call of its actor was made */
	uint32_t written; /* atomic; bytes, or datagrams */
	uint32_t read;	  /* bytes */
	uint32_t hello;	  /* of these the first, which are the number of the other end */
	uint32_t peer;	  /* atomic; that number when it is whole, 0 before */
};

struct links {
	uint32_t count;	      /* atomic */
	uint32_t dials_count; /* likewise */
	struct dial socket;   /* for datagrams */
	struct gyre_socket_address socket_address;
	struct dial acceptors[ACCEPTORS];
	char addresses[ACCEPTORS][GYRE_SOCKET_ADDRESS_TEXT_MAX];
	struct dial dials[DIALS_MAX];
	struct link links[LINKS_MAX]; /* 0 is none */
};

static inline uint32_t link_number(const struct link *link)
{
	return (uint32_t)(link - link->world->links->links);
}

/* ---- linked_bytes.c ---- */

/* @ctx: of its pipeline. */
void link_write(struct link *link, struct gyre_handler_context *ctx);
/* Takes the bytes. */
void link_read(struct link *link, struct gyre_buffer *data);

#endif
