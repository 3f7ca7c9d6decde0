/*
 * The envelope: header and payload in one allocation that is itself the node of every queue it
 * stands in. The header and a payload of 8 bytes fill one cache line.
 */
#ifndef GY_ACTOR_MAIL_MAIL_H
#define GY_ACTOR_MAIL_MAIL_H

#include <errno.h>
#include <string.h>

#include <gyre/address.h>
#include <gyre/message.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/table.h"
#include "loop/loop.h"

struct gy_home;

/* The lane of a mailbox that mail stands in, in the order of dispatch. Its kind is the lane,
 * counted on. */
enum gy_lane {
	GY_LANE_REPLY,
	GY_LANE_EXCEPTION,
	GY_LANE_ASK,
	GY_LANE_NOTICE,
	GY_LANE_EVENT,
	GY_LANES,
};

enum gy_mail_kind {
	GY_MAIL_REPLY = GY_NODE_KINDS,
	GY_MAIL_EXCEPTION,
	GY_MAIL_ASK,
	GY_MAIL_NOTICE,
	GY_MAIL_EVENT,
	GY_MAIL_PUBLISHED, /* an event too; its ask id is for the system floor */
	GY_MAIL_MOVED,	   /* in a batch: its payload is the handler's */
	/* For a home rather than a house: */
	GY_MAIL_SPAWN,		 /* mount what was reserved */
	GY_MAIL_STOP_CHILDREN,	 /* of the sender */
	GY_MAIL_CHILDREN_GONE,	 /* the same mail, on its way back */
	GY_MAIL_DECIDE_CHILDREN, /* of the sender: see supervise.c */
	GY_MAIL_PROBE,		 /* see ask_cycle.c */
	GY_MAIL_HOME,		 /* a stolen house is back */
	GY_MAIL_REMOTE,		 /* its payload is for another node */
	/* For its owner: */
	GY_MAIL_NEW_TAIL, /* was not sent; its slot is the number of elements it was made for */
};

/*
 * An address as it stands in mail and in a house: without the life of its node, for which there is
 * no room. Of an actor of another node the upper bits of the slot say which life it is, by a number
 * that the remote floor gives; they are 0 for one of this node, whose life does not matter here.
 */
enum { GY_LIFE_SHIFT = 26, GY_LIVES = 1 << (32 - GY_LIFE_SHIFT) };

static const uint32_t gy_slot_mask = (UINT32_C(1) << GY_LIFE_SHIFT) - 1;

struct gy_origin {
	uint32_t slot;
	uint32_t cookie;
	uint16_t loop;
	uint16_t node;
};

_Static_assert(offsetof(struct gy_origin, cookie) == offsetof(struct gyre_address, cookie) &&
		       offsetof(struct gy_origin, loop) == offsetof(struct gyre_address, loop) &&
		       offsetof(struct gy_origin, node) == offsetof(struct gyre_address, node) &&
		       offsetof(struct gyre_address, life) == sizeof(struct gy_origin),
	       "an address begins with an origin");

static inline struct gyre_address gy_origin_address(struct gy_origin origin)
{
	return (struct gyre_address){ .slot = origin.slot,
				      .cookie = origin.cookie,
				      .loop = origin.loop,
				      .node = origin.node };
}

static inline struct gy_origin gy_origin_of(struct gyre_address address)
{
	struct gy_origin origin;

	memcpy(&origin, &address, sizeof(origin)); /* else it is taken apart, and put together */
	return origin;
}

static inline bool gy_origin_equal(struct gy_origin a, struct gy_origin b)
{
	return a.slot == b.slot && a.cookie == b.cookie && a.loop == b.loop && a.node == b.node;
}

/* Compares two addresses of this node, one of which may be of its former life. */
static inline bool gy_address_same(struct gyre_address a, struct gyre_address b)
{
	return gy_origin_equal(gy_origin_of(a), gy_origin_of(b));
}

/* A key for tables; two origins may have the same. */
static inline uint64_t gy_origin_key(struct gy_origin origin)
{
	return gy_table_mix(((uint64_t)origin.cookie << 32 | origin.slot) ^ (uint64_t)origin.loop
										    << 48);
}

/*
 * The header of a mail: its size is part of the ABI, since programs read payloads behind it. With a
 * payload of 8 bytes it fills a cache line, so it is full, and grows no more. What is to come has
 * room in fields that other mail, or other moments of its life, need:
 *
 *   node.next    the queue or the chain that it stands in
 *   node.ahead   in a chain between loops, a hint for its reader; else free. Reserved for the
 *                reference of a trace, 4 bytes: a chain that leaves it alone lacks a hint, and one
 *                that is taken for a hint prefetches in vain
 *   node.owner, size_class, kind
 *                where its memory goes back to, and what it is; the kind is GY_NODE_NEW until it is
 *                sent
 *   type         also read by handlers
 *   to           on the way to another loop or node, and while new of one with a tail. In a lane
 *                nobody reads it: see @reserved_since
 *   from         who sent it, and is answered
 *   deadline     of asks alone
 *   ask_id       of asks and answers; of events what they are about, and of published ones the
 *                subscription
 */
struct gyre_mail {
	struct gy_node node;
	const struct gyre_type *type;
	union {
		struct {
			uint32_t to_slot;
			uint32_t to_cookie;
		};
		/* Since when it waits in its lane, 8 bytes; not set yet. */
		uint64_t reserved_since;
	};
	struct gy_origin from;
	uint32_t deadline; /* of an ask, or the time it has, in units of their own; 0 for none */
	uint64_t ask_id;   /* of an ask and of what answers it */
	unsigned char payload[];
};

_Static_assert(sizeof(struct gyre_mail) == GYRE_MAIL_HEADER_BYTES, "the public header says so");
_Static_assert(offsetof(struct gyre_mail, payload) == GYRE_MAIL_HEADER_BYTES, "no padding");
_Static_assert(GYRE_MAIL_HEADER_BYTES + GYRE_MAIL_SMALL_BYTES == GY_CACHE_LINE,
	       "small mail is a cache line, and the smallest node");
_Static_assert(1 << GY_SIZES_SHIFT == GY_CACHE_LINE, "likewise");

static inline struct gyre_mail *gy_mail_of(struct gy_node *node)
{
	return gy_container_of(node, struct gyre_mail, node);
}

static inline enum gy_lane gy_mail_lane(const struct gyre_mail *mail)
{
	return mail->node.kind == GY_MAIL_PUBLISHED
		       ? GY_LANE_EVENT
		       : (enum gy_lane)(mail->node.kind - GY_MAIL_REPLY);
}

/* Ids below GY_IDS_OF_GYRE are gyre's own. These are of orders to a house itself, see send.c. */
enum {
	GY_ID_STOP = 0x03,
	GY_ID_WATCH = 0x0a,
	GY_ID_UNWATCH = 0x0b,
	GY_ID_GRACEFUL_STOP = 0x0d,
	GY_ID_FAILURE = 0x70,
	GY_ID_DECISION = 0x71,
	GY_ID_WATCH_VISIT = 0x1c,
	GY_ID_NODE_LOSS = 0x4c,
	GY_ID_UNANSWERED = 0x4d,
	GY_IDS_OF_GYRE = 0x100,
};

_Static_assert(GY_NODE_BYTES_MAX == GYRE_MAIL_HEADER_BYTES + GYRE_MESSAGE_BYTES_MAX,
	       "the largest message has a node");

/* A mail of @bytes with its header, for threads without a loop: any thread may free it. NULL when
 * there is no memory. */
struct gyre_mail *gy_mail_get_sized_outside(const struct gyre_type *type, size_t bytes);
/* The same for a type without a tail; with one, it has no elements. */
struct gyre_mail *gy_mail_get_outside(const struct gyre_type *type);
/* Moves the message to a mail that any thread may free; NULL when there is no memory. Takes the
 * mail in any case. */
struct gyre_mail *gy_mail_carry_out(struct gy_home *home, struct gyre_mail *mail);
/* The same, but without memory @mail stays the caller's. */
struct gyre_mail *gy_mail_try_carry_out(struct gy_home *home, struct gyre_mail *mail);
/* Calls the destructor that is due. */
GY_COLD void gy_mail_destroy(struct gyre_mail *mail);

/* Whether the payload must be destroyed where the mail ends. */
static inline bool gy_mail_holds(const struct gyre_mail *mail)
{
	return (mail->node.owner & GY_NODE_HOLDS) != 0;
}

/* The payload owns nothing from here on: something else does, or nothing is to be destroyed. */
static inline void gy_mail_disown(struct gyre_mail *mail)
{
	mail->node.owner &= (uint16_t)~GY_NODE_HOLDS;
}

/* Makes the payload plain memory, for something else to stand there. */
static inline void gy_mail_release(struct gyre_mail *mail)
{
	if (gy_unlikely(gy_mail_holds(mail))) {
		gy_mail_destroy(mail);
	}
}

/* The payload becomes the caller's, and the mail plain; -EMSGSIZE for one with a tail. */
int gy_mail_move_out(struct gyre_mail *mail, void *ret_payload);

/*
 * Whether two types are the same. Each file of a program has types of its own, so the id decides;
 * that they agree in the rest can only be hoped for, and is asserted in part.
 */
static inline bool gy_type_equal(const struct gyre_type *a, const struct gyre_type *b)
{
	if (a == b) {
		return true; /* in one file, as often */
	}
	gy_assert(a->id != b->id || a->bytes == b->bytes);
	return a->id == b->id;
}

/* Whether payloads of the type have a tail, and each its own size; see tail.h. */
static inline bool gy_type_varies(const struct gyre_type *type)
{
	return type->bytes == GYRE_BYTES_VARY;
}

/* What makes a copy of a payload own something itself; NULL for none. The type of an older program
 * may end before it. */
static inline gyre_copy_fn gy_type_copy(const struct gyre_type *type)
{
	return type->type_bytes - 1 < offsetof(struct gyre_type, copy) ? NULL : type->copy;
}

static inline bool gy_type_can_be_copied(const struct gyre_type *type)
{
	return type->destroy == NULL || gy_type_copy(type) != NULL;
}

/* How many elements a payload of a type with a tail says that it has. */
static inline uint32_t gy_tail_count(const struct gyre_type *type, const void *payload)
{
	uint32_t count;

	memcpy(&count, (const char *)payload + type->tail.count_at, sizeof(count));
	return count;
}

/* The payload of a mail that fails an ask. */
struct gy_exception {
	int error;
};
extern const struct gyre_type gy_type_exception;
/* Orders to an actor to end; what answers a graceful one is gy_type_stopped. */
extern const struct gyre_type gy_type_stop;
extern const struct gyre_type gy_type_poison;
/* The ask id of a poison that lets suspended stacks end; that of any other is 0. */
enum { GY_POISON_GRACEFUL = 1 };
extern const struct gyre_type gy_type_graceful_stop;
extern const struct gyre_type gy_type_stopped; /* what answers it */

/*
 * Whether what a public call was given is no mail: NULL, which could not be made, or
 * GYRE_NO_ARGUMENT, which is not to be sent. One comparison tells both.
 */
static inline bool gy_mail_is_missing(const struct gyre_mail *mail)
{
	return gy_unlikely((uintptr_t)mail <= (uintptr_t)GYRE_NO_ARGUMENT);
}

/* The errno for a call that was given no mail. */
static inline int gy_mail_report_no_memory(const struct gyre_mail *mail)
{
	return mail == NULL ? -ENOMEM : -EINVAL;
}

/* Ends the program: the mail was sent before, or counts more elements than it has. */
_Noreturn GY_COLD void gy_mail_refuse(const struct gy_home *home, const struct gyre_mail *mail);

/*
 * Whether a mail was not sent that has a tail, and no more elements than it was made for. Its kind
 * is read anew, so that who has found it not to be GY_NODE_NEW compared memory, and kept no copy.
 */
static inline bool gy_mail_is_new_tail(const struct gyre_mail *mail)
{
	return gy_load_relaxed(&mail->node.kind) == GY_MAIL_NEW_TAIL &&
	       gy_tail_count(mail->type, mail->payload) <= mail->to_slot;
}

/* Ends the program if the mail was sent before: a sent mail has a kind, also when it is back in the
 * pool. */
static inline void gy_mail_expect_new(const struct gy_home *home, const struct gyre_mail *mail)
{
#if GY_ASSERT_LEVEL >= 1
	if (!gy_mail_is_missing(mail) && gy_unlikely(mail->node.kind != GY_NODE_NEW) &&
	    !gy_mail_is_new_tail(mail)) {
		gy_mail_refuse(home, mail);
	}
#else
	(void)home;
	(void)mail;
#endif
}

/* Converts the argument of a public spawn; in orders NULL is no argument. */
static inline int gy_take_argument(struct gyre_mail *given, struct gyre_mail **ret_argument)
{
	if (given == NULL) {
		return -ENOMEM;
	}
	*ret_argument = given == GYRE_NO_ARGUMENT ? NULL : given;
	return 0;
}

/* The address to answer to; users get it from gy_address_shown(). */
static inline struct gyre_address gy_mail_sender(const struct gyre_mail *mail)
{
	return gy_origin_address(mail->from);
}

/* Clears the whole sender: other nodes are sent all of it, and nothing old may be read from it. */
static inline void gy_mail_from_nobody(struct gyre_mail *mail)
{
	mail->from = (struct gy_origin){ 0 };
}

/*
 * Deadlines in mail save work that nobody waits for; the promise keeps the exact time-out. On its
 * way a mail carries the time that its asker gives it, which counts from when it is with the loop
 * of its receiver: then it becomes a deadline by the clock of that loop, and is never compared with
 * another. It may be late, never early: see gy_loop_read_clock().
 *
 * Its unit is 2^20 ns, about a millisecond; 32 bits wrap after 52 days, which serves for any
 * time-out of less than 20. A longer one is not carried at all.
 */
enum { GY_DEADLINE_SHIFT = 20 };
#define GY_DEADLINE_SPAN_NS (UINT64_C(20) * 24 * 3600 * UINT64_C(1000000000))

/* The time-out as a mail carries it; 0 for none. */
static inline uint32_t gy_patience(uint64_t timeout_ns)
{
	return gy_unlikely(timeout_ns > GY_DEADLINE_SPAN_NS)
		       ? 0
		       : (uint32_t)((timeout_ns + (1U << GY_DEADLINE_SHIFT) - 1) >>
				    GY_DEADLINE_SHIFT);
}

/* How far from the last reading of the clock the deadline is that a time-out leads to; 0 for none.
 */
static inline uint32_t gy_patience_span(uint32_t patience)
{
	return patience == 0 ? 0 : patience + (patience >> GY_LAG_DECAY_SHIFT) + 1;
}

/* The deadline of an ask on the loop of the receiver, whose last reading of the clock is @now_ns.
 * One that is odd is late by no more than a unit, and never 0. */
static inline uint32_t gy_deadline_at(uint64_t now_ns, uint32_t span)
{
	return ((uint32_t)(now_ns >> GY_DEADLINE_SHIFT) + span) | 1;
}

/* Converts the time-out of an ask to a deadline, likewise. */
static inline void gy_mail_set_deadline(struct gyre_mail *mail, uint64_t now_ns)
{
	uint32_t span = gy_patience_span(mail->deadline);

	mail->deadline = span == 0 ? 0 : gy_deadline_at(now_ns, span);
}

/* Whether a deadline is past at @sure, in its units; the second question is seldom asked. */
static inline bool gy_deadline_is_past(uint32_t deadline, uint32_t sure)
{
	return gy_unlikely((int32_t)(sure - deadline) > 0) && deadline != 0;
}

/* @sure_ns is that of the loop that has set the deadline. */
static inline bool gy_deadline_passed(uint32_t deadline, uint64_t sure_ns)
{
	return gy_deadline_is_past(deadline, (uint32_t)(sure_ns >> GY_DEADLINE_SHIFT));
}

#endif
