/*
 * What the ends of a stream on two nodes tell each other. All of it are asks, so that whoever sends
 * knows whether it has come: what only says where one is may be said again, and elements that may
 * be lost fail the stream.
 *
 * The graph that takes the elements attaches itself, then grants credit; the other sends frames of
 * elements, up to the credit, and the end. Numbers of elements and bytes count from the begin of
 * the stream.
 *
 * The bytes of a frame are its elements one behind the other, as their bytes; or each as 32 bits
 * for its length, little-endian, and so many bytes, where the type has an encoding or is a chunk.
 */
#ifndef GY_REMOTE_MESSAGE_STREAM_WIRE_H
#define GY_REMOTE_MESSAGE_STREAM_WIRE_H

#include <gyre/address.h>
#include <gyre/tail.h>

/* The answer to all of them: the actor that has the end, which attaching finds. */
struct gy_stream_receipt {
	struct gyre_address at;
};
GYRE_OWN_MESSAGE_(gy_stream_receipt, 0x8d);

struct gy_stream_attach {
	uint32_t port;	    /* which offer */
	uint32_t from_port; /* of who attaches */
	uint32_t type_id;
	uint32_t layout;
};
GYRE_OWN_MESSAGE_(gy_stream_attach, 0x8c);

enum gy_stream_order {
	GY_STREAM_CREDIT,  /* @elements and @bytes may be sent, all together */
	GY_STREAM_CANCEL,  /* no more is wanted, for @reason */
	GY_STREAM_END,	   /* there are @elements, all together; then it ends for @reason */
	GY_STREAM_REQUEST, /* @elements more are wanted: of a consumer in the same system */
};

/* As a number of elements: those that have come. */
#define GY_ALL_ELEMENTS UINT64_MAX

struct gy_stream_control {
	uint64_t elements;
	uint64_t bytes;
	uint32_t port; /* of the receiver */
	uint32_t order;
	int32_t reason;
	uint32_t reserved;
};
GYRE_OWN_MESSAGE_(gy_stream_control, 0x8f);

struct gy_stream_frame {
	uint64_t first; /* how many elements came before */
	uint32_t port;	/* of the receiver */
	uint32_t count;
	uint32_t reserved;
	uint32_t bytes;
	unsigned char body[];
};
GYRE_OWN_MESSAGE_TAIL_(gy_stream_frame, 0x8e, body, bytes);

#endif
