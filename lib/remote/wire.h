/*
 * What nodes say to each other: frames, one after the other on a connection, of TCP or of a Unix
 * socket, that one loop of one node has dialled to another node. Messages go from the dialler; both
 * sides send the rest.
 *
 * All numbers are little-endian. A frame begins with a word: the bytes of its body in the lower 17
 * bits, then the lower 7 bits of the index of its head, its kind in 5 bits, and the upper 3 bits of
 * the index, which is 0 where a kind has none. Then come the head that its kind has, and the body.
 *
 *	kind                        head       body
 *	HELLO                       -          see struct gy_hello
 *	PROOF                       -          32 bytes: see secret.c
 *	REFUSE                      -          1 byte: enum gy_refusal
 *	PING                        -          -
 *	CREDIT                      -          8 bytes: of frames consumed; 8 bytes: frames
 *	NOTICE                      28 bytes   the message
 *	ASK REPLY EXCEPTION LOOKUP  36 bytes   the message, an errno, a name
 *	EVENT                       36 bytes   the message
 *	FRAGMENT                    8 bytes    a piece of a larger frame
 *	CLOSE                       -          -; the link is closed in good order
 *	REPEAT                      -          the message of a notice
 *	REACH                       -          see struct gy_reach
 *	REPEAT_ID                   8 bytes    the message of an ask or a reply
 *
 * The head of a message: 16 bits each for the receiver's loop and the sender's; 32 bits each for
 * the receiver's slot and cookie, the sender's, and the type's id; 16 bits each for the type's
 * layout and the time an ask has left; and for those kinds that have it the ask's id. A fragment's
 * head is the number of its stream and the bytes that are still to come with it.
 *
 * NOTICE, ASK and REPLY have an index, below 1,023 if their head may be named again, else 1,023. A
 * REPEAT is a notice whose head is that of the last NOTICE with its index on this connection, but
 * for the length; a REPEAT_ID is an ask or a reply whose head is that of the last ASK or REPLY with
 * its index, but for the length and the ask's id, which it has itself. Frames that came in
 * fragments do not count. So what one actor sends to another takes a head only once, unless the
 * head of another message has taken its place.
 *
 * The EVENT that asks for a watch has the number of a round, 32 bits, as has the one that says that
 * a round of the sender's loop is over, which is to no actor: see peer/rounds.c.
 *
 * Failures carry their causes. The body of an EXCEPTION is an errno, and where the type in its head
 * is none of gyre's own, a message of that type. The EVENT of an end is four words, which are the
 * slot, the cookie and the loop of the actor and the reason, and where there is a cause its type,
 * its layout in a word, and the message; it comes in one frame.
 *
 * REACH comes from the side that was dialled: whether it can dial the other one back, over links of
 * its own, on which all that it answers has to go.
 */
#ifndef GY_REMOTE_WIRE_H
#define GY_REMOTE_WIRE_H

#include <endian.h>
#include <errno.h>

#include <gyre/encode.h>
#include <gyre/node.h>
#include <gyre/socket_address.h>

#include "actor/mail/mail.h"

enum gy_wire_kind {
	GY_WIRE_HELLO = 1,
	GY_WIRE_PROOF,
	GY_WIRE_REFUSE,
	GY_WIRE_PING,
	GY_WIRE_CREDIT,
	GY_WIRE_NOTICE,
	GY_WIRE_EVENT,
	GY_WIRE_ASK,
	GY_WIRE_REPLY,
	GY_WIRE_EXCEPTION,
	GY_WIRE_LOOKUP,
	GY_WIRE_FRAGMENT,
	GY_WIRE_CLOSE,
	GY_WIRE_REPEAT,
	GY_WIRE_REACH,
	GY_WIRE_REPEAT_ID,
	GY_WIRE_KINDS,
};

enum {
	GY_WIRE_WORD_BYTES = 4,
	GY_WIRE_INDEX_SHIFT = 17,
	GY_WIRE_KIND_SHIFT = 24,
	GY_WIRE_KIND_BITS = 5,
	GY_WIRE_KIND_MASK = (1 << GY_WIRE_KIND_BITS) - 1,
	GY_WIRE_INDEX_LOW_BITS = GY_WIRE_KIND_SHIFT - GY_WIRE_INDEX_SHIFT,
	GY_WIRE_INDEX_LOW_MASK = (1 << GY_WIRE_INDEX_LOW_BITS) - 1,
	GY_WIRE_INDEX_HIGH_SHIFT = GY_WIRE_KIND_SHIFT + GY_WIRE_KIND_BITS,
	GY_WIRE_INDEX_MAX = (1 << (32 - GY_WIRE_INDEX_HIGH_SHIFT + GY_WIRE_INDEX_LOW_BITS)) - 1,
	GY_WIRE_BODY_MASK = (1 << GY_WIRE_INDEX_SHIFT) - 1,
	GY_WIRE_HEADS_SHIFT = 10,
	GY_WIRE_HEADS = (1 << GY_WIRE_HEADS_SHIFT) - 1, /* as an index: a head that is not kept */
	GY_WIRE_HEAD_BYTES = 32,			/* of a message, the word included */
	GY_WIRE_HEAD_BYTES_MAX = 40,			/* with the id of an ask */
	GY_WIRE_REPEAT_ID_BYTES = 12,
	GY_WIRE_BODY_BYTES_MAX = 1 << 16,
	GY_WIRE_END_BYTES = 16, /* of the end of an actor, before its cause */
	GY_WIRE_VERSION_MIN = 8,
	GY_WIRE_VERSION = 8,
	GY_NONCE_BYTES = 32,
	GY_PROOF_BYTES = 32,
	GY_HELLO_BYTES_MAX = 320,
	GY_LINK_HANDSHAKE_BYTES_MAX =
		1024,		      /* of a frame before the link is open; more than there are */
	GY_PARTIAL_MESSAGES_MAX = 64, /* messages in fragments that a receiver keeps */
	GY_REACH_TEXT_BYTES_MAX = 255,
	GY_REACH_BYTES_MAX = GY_WIRE_WORD_BYTES + 8 + GY_REACH_TEXT_BYTES_MAX,
};

enum gy_refusal {
	GY_REFUSED_MALFORMED = 1,
	GY_REFUSED_VERSION,
	GY_REFUSED_CLUSTER,
	GY_REFUSED_ID,	     /* not the one that was dialled, or the own one of another process */
	GY_REFUSED_OVER,     /* that life was declared down */
	GY_REFUSED_REPLACED, /* another process has come with that id since */
	GY_REFUSED_SECRET,
	GY_REFUSED_BUSY,
	GY_REFUSED_SELF,
	GY_REFUSALS,
};

/* A frame as it is sent or was received; the body stays where it is. */
struct gy_frame {
	enum gy_wire_kind kind;
	uint32_t bytes; /* of the body */
	const unsigned char *body;
	uint16_t to_loop;
	uint16_t from_loop;
	uint32_t to_slot;
	uint32_t to_cookie;
	uint32_t from_slot;
	uint32_t from_cookie;
	uint32_t type;
	uint16_t layout;
	uint16_t left; /* gy_wire_left_encode() */
	uint16_t index;
	uint64_t ask_id;
};

/* The head of a message as it stands on the wire; what has no ask id ends before it. */
struct gy_wire_head {
	uint32_t word;
	uint16_t to_loop;
	uint16_t from_loop;
	uint32_t to_slot;
	uint32_t to_cookie;
	uint32_t from_slot;
	uint32_t from_cookie;
	uint32_t type;
	uint16_t layout;
	uint16_t left;
	uint64_t ask_id;
};

_Static_assert(GY_WIRE_KINDS <= GY_WIRE_KIND_MASK + 1, "each kind has its number");
_Static_assert(GY_WIRE_HEADS == GY_WIRE_INDEX_MAX, "each index is that of a head, or of none");
_Static_assert(sizeof(struct gy_wire_head) == GY_WIRE_HEAD_BYTES_MAX, "no padding");
_Static_assert(offsetof(struct gy_wire_head, ask_id) == GY_WIRE_HEAD_BYTES, "the shorter head");

/* By kind, of the bits that stand on the wire; 0 for what is none. */
extern const uint8_t gy_wire_heads[GY_WIRE_KIND_MASK + 1];

/* The bytes before the body, the word included; 0 for what is no kind. */
static inline uint32_t gy_wire_head_bytes(enum gy_wire_kind kind)
{
	return gy_wire_heads[(uint32_t)kind & GY_WIRE_KIND_MASK];
}

/* The word that every frame begins with. */
static inline uint32_t gy_wire_word(const unsigned char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return le32toh(word);
}

/* The kinds whose words have the index of a head, a bit each. */
static const uint32_t gy_wire_indexed = 1U << GY_WIRE_NOTICE | 1U << GY_WIRE_ASK |
					1U << GY_WIRE_REPLY | 1U << GY_WIRE_REPEAT |
					1U << GY_WIRE_REPEAT_ID;

/* The word of a frame, as a number. */
static inline uint32_t gy_wire_make_word(enum gy_wire_kind kind, uint32_t index, uint32_t bytes)
{
	return (uint32_t)kind << GY_WIRE_KIND_SHIFT |
	       index >> GY_WIRE_INDEX_LOW_BITS << GY_WIRE_INDEX_HIGH_SHIFT |
	       (index & GY_WIRE_INDEX_LOW_MASK) << GY_WIRE_INDEX_SHIFT | bytes;
}

static inline enum gy_wire_kind gy_wire_word_kind(uint32_t word)
{
	return (enum gy_wire_kind)(word >> GY_WIRE_KIND_SHIFT & GY_WIRE_KIND_MASK);
}

static inline uint32_t gy_wire_index(uint32_t word)
{
	return word >> GY_WIRE_INDEX_HIGH_SHIFT << GY_WIRE_INDEX_LOW_BITS |
	       (word >> GY_WIRE_INDEX_SHIFT & GY_WIRE_INDEX_LOW_MASK);
}

/* Whether the index in a word of that kind may be there. */
static inline bool gy_wire_index_is_valid(uint32_t word)
{
	uint32_t index = gy_wire_index(word);

	return index == 0 || (gy_wire_indexed >> gy_wire_word_kind(word) & 1U) != 0;
}

static inline enum gy_wire_kind gy_wire_kind(const unsigned char *bytes)
{
	return gy_wire_word_kind(gy_wire_word(bytes));
}

/* Whether a frame that begins there carries a message. */
static inline bool gy_wire_is_message(const unsigned char *bytes)
{
	return gy_wire_heads[gy_wire_kind(bytes)] >= GY_WIRE_HEAD_BYTES;
}

/* Two fields of a head, one behind the other, with one store. */
static inline void gy_wire_put_two(unsigned char *out, uint32_t first, uint32_t second)
{
	uint64_t both = htole64((uint64_t)second << 32 | first);

	memcpy(out, &both, sizeof(both));
}

static inline void gy_wire_put_id(unsigned char *out, uint64_t ask_id)
{
	ask_id = htole64(ask_id);
	memcpy(out, &ask_id, sizeof(ask_id));
}

/*
 * Writes word and head of a message, but for the id of an ask. A struct that is built first and
 * then copied would be read back in wider pieces than it was written in, for which the processor
 * has to wait.
 */
static inline void gy_wire_put_head(unsigned char *out, uint32_t word, const struct gy_frame *frame)
{
	gy_wire_put_two(out, word, frame->to_loop | (uint32_t)frame->from_loop << 16);
	gy_wire_put_two(out + 8, frame->to_slot, frame->to_cookie);
	gy_wire_put_two(out + 16, frame->from_slot, frame->from_cookie);
	gy_wire_put_two(out + 24, frame->type, frame->layout | (uint32_t)frame->left << 16);
}

/* Writes word and head, of as many bytes as its kind has. How many. */
static inline uint32_t gy_wire_put(const struct gy_frame *frame, unsigned char *out)
{
	uint32_t word = gy_wire_make_word(frame->kind, frame->index, frame->bytes);
	uint32_t count = gy_wire_head_bytes(frame->kind);

	if (gy_unlikely(count < GY_WIRE_HEAD_BYTES)) {
		uint32_t little = htole32(word);

		memcpy(out, &little, sizeof(little));
		if (frame->kind == GY_WIRE_REPEAT_ID) {
			gy_wire_put_id(out + GY_WIRE_WORD_BYTES, frame->ask_id);
		}
		return count;
	}
	gy_wire_put_head(out, word, frame);
	if (count == GY_WIRE_HEAD_BYTES_MAX) {
		gy_wire_put_id(out + GY_WIRE_HEAD_BYTES, frame->ask_id);
	}
	return count;
}

/*
 * How long the frame is that begins at @bytes, which has @count of them: 0 if that cannot be told
 * yet; -EPROTO for what is no frame.
 */
static inline int64_t gy_wire_bytes(const unsigned char *bytes, size_t count)
{
	uint32_t word;
	uint32_t head;
	uint32_t body;

	if (gy_unlikely(count < GY_WIRE_WORD_BYTES)) {
		return 0;
	}
	word = gy_wire_word(bytes);
	head = gy_wire_heads[gy_wire_word_kind(word)];
	body = word & GY_WIRE_BODY_MASK;
	return head == 0 || body > GY_WIRE_BODY_BYTES_MAX || !gy_wire_index_is_valid(word)
		       ? -EPROTO
		       : (int64_t)head + body;
}

/* Takes apart a frame that is there as a whole. */
static inline void gy_wire_get(const unsigned char *bytes, struct gy_frame *ret_frame)
{
	uint32_t word = gy_wire_word(bytes);
	enum gy_wire_kind kind = gy_wire_word_kind(word);
	uint32_t count = gy_wire_heads[kind];
	struct gy_wire_head head = { 0 };

	if (gy_likely(count >= GY_WIRE_HEAD_BYTES)) {
		memcpy(&head, bytes, GY_WIRE_HEAD_BYTES);
	}
	if (count == GY_WIRE_HEAD_BYTES_MAX) {
		memcpy(&head.ask_id, bytes + GY_WIRE_HEAD_BYTES, sizeof(head.ask_id));
	} else if (kind == GY_WIRE_REPEAT_ID) {
		memcpy(&head.ask_id, bytes + GY_WIRE_WORD_BYTES, sizeof(head.ask_id));
	}
	*ret_frame = (struct gy_frame){
		.kind = kind,
		.bytes = word & GY_WIRE_BODY_MASK,
		.body = bytes + count,
		.to_loop = le16toh(head.to_loop),
		.from_loop = le16toh(head.from_loop),
		.to_slot = le32toh(head.to_slot),
		.to_cookie = le32toh(head.to_cookie),
		.from_slot = le32toh(head.from_slot),
		.from_cookie = le32toh(head.from_cookie),
		.type = le32toh(head.type),
		.layout = le16toh(head.layout),
		.left = le16toh(head.left),
		.index = (uint16_t)gy_wire_index(word),
		.ask_id = le64toh(head.ask_id),
	};
}

/* ---- fragments: the head of one, beside its word ---- */

struct gy_fragment {
	uint32_t stream;
	uint32_t left; /* bytes of the whole frame from this body on */
};

void gy_wire_put_fragment(const struct gy_fragment *fragment, uint32_t bytes, unsigned char *out);
struct gy_fragment gy_wire_get_fragment(const struct gy_frame *frame);

/* ---- times: units of 2^20 ns in 16 bits, with 11 significant ones, rounded up; 0 is none ---- */

uint16_t gy_wire_left_encode(uint64_t units);
uint64_t gy_wire_left_decode(uint16_t left);

/* ---- the hello ---- */

struct gy_hello {
	uint16_t version_min;
	uint16_t version_max;
	uint16_t node;
	uint16_t expected; /* the id of the node that was dialled; of the dialler in the answer */
	uint64_t incarnation;
	uint32_t over; /* the life of the other that this side has declared down last; or 0 */
	uint16_t loop;
	uint16_t port; /* where it listens; 0 for nowhere */
	bool proves;   /* a secret, and wants it proved */
	uint32_t message_bytes_max;
	uint32_t window_bytes;
	uint64_t dial; /* counts those of that loop to that node; 0 in the answer */
	unsigned char nonce[GY_NONCE_BYTES];
	char cluster[GYRE_NODE_NAME_BYTES_MAX + 1];
	/* Where it listens, over a Unix socket, whose own address tells nothing; "" otherwise. */
	char address[GYRE_SOCKET_ADDRESS_TEXT_MAX];
};

/* A whole frame, of at most GY_HELLO_BYTES_MAX bytes. How many. */
uint32_t gy_hello_put(const struct gy_hello *hello, unsigned char *out);
/* 0, or -EPROTO. What a later version appends is not looked at. */
int gy_hello_get(const unsigned char *body, size_t count, struct gy_hello *ret_hello);

/* ---- errnos ---- */

enum { GY_WIRE_ERRNO_MAX = 4095 };

/* What a peer says to be a negative errno; -EPROTO if it is none. */
static inline int gy_wire_errno(uint32_t said)
{
	int32_t error = (int32_t)said;

	return error < 0 && error >= -GY_WIRE_ERRNO_MAX ? error : -EPROTO;
}

/* ---- windows ---- */

/* The least that a node may have, by its options. */
enum { GY_WINDOW_BYTES_MIN = 1 << 16 };

/* ---- whether the dialler can be dialled ---- */

struct gy_reach {
	int error;				   /* a negative errno: why it cannot; 0: it can */
	uint32_t left_ms;			   /* how long that holds, unless more is said */
	char address[GY_REACH_TEXT_BYTES_MAX + 1]; /* that was tried; cut off if it is longer */
};

/* A whole frame, of at most GY_REACH_BYTES_MAX bytes. How many. */
uint32_t gy_reach_put(const struct gy_reach *reach, unsigned char *out);
/* 0, or -EPROTO. What cannot be printed is no part of an address, and heard as a question mark. */
int gy_reach_get(const unsigned char *body, size_t count, struct gy_reach *ret_reach);

#endif
