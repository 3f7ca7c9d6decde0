/*
 * The envelope: header and payload in one allocation that is itself the node of every queue it
 * stands in. The header and a payload of 8 bytes fill one cache line.
 */
#ifndef GY_ACTOR_MAIL_H
#define GY_ACTOR_MAIL_H

#include <gyre/address.h>
#include <gyre/message.h>

#include "loop/loop.h"

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
	GY_MAIL_SPAWN, /* to a loop rather than a house: mount what was reserved */
};

/* An address without its padding, as it stands in mail and in a house. */
struct gy_origin {
	uint32_t slot;
	uint32_t cookie;
	uint16_t loop;
	uint16_t node;
};

struct gyre_mail {
	struct gy_node node; /* next, ahead, owner, size class, kind */
	const struct gyre_type *type;
	uint32_t to_slot;
	uint32_t to_cookie;
	struct gy_origin from;
	uint32_t deadline_ms; /* of an ask, in wrapping milliseconds; 0 for none */
	uint64_t ask_id;      /* of an ask and of what answers it */
	unsigned char payload[];
};

_Static_assert(sizeof(struct gyre_mail) == GYRE_MAIL_HEADER_BYTES, "the public header says so");
_Static_assert(offsetof(struct gyre_mail, payload) == GYRE_MAIL_HEADER_BYTES, "no padding");

static inline struct gyre_mail *gy_mail_of(struct gy_node *node)
{
	return gy_container_of(node, struct gyre_mail, node);
}

static inline enum gy_lane gy_mail_lane(const struct gyre_mail *mail)
{
	return (enum gy_lane)(mail->node.kind - GY_MAIL_REPLY);
}

/* What fails an ask: its payload. */
struct gy_exception {
	int error;
};
extern const struct gyre_type gy_type_exception;
/* A sleep that is over; an event of a timer has gyre_timeout. */
extern const struct gyre_type gy_type_stop;
extern const struct gyre_type gy_type_poison;

static inline struct gyre_address gy_mail_sender(const struct gyre_mail *mail)
{
	return (struct gyre_address){ .slot = mail->from.slot,
				      .cookie = mail->from.cookie,
				      .loop = mail->from.loop,
				      .node = mail->from.node };
}

/*
 * Deadlines in mail are hints that save work: the promise keeps the exact one. Milliseconds that
 * wrap after 49 days serve for any time-out of less than 24; a longer one is not carried at all.
 */
#define GY_DEADLINE_SPAN_NS (UINT64_C(24) * 24 * 3600 * UINT64_C(1000000000))

static inline uint32_t gy_deadline_ms(uint64_t now_ns, uint64_t timeout_ns)
{
	uint32_t ms;

	if (timeout_ns > GY_DEADLINE_SPAN_NS) {
		return 0;
	}
	ms = (uint32_t)((now_ns + timeout_ns) >> 20);
	return ms == 0 ? 1 : ms;
}

static inline bool gy_deadline_passed(uint32_t deadline_ms, uint64_t now_ns)
{
	return deadline_ms != 0 && (int32_t)((uint32_t)(now_ns >> 20) - deadline_ms) > 0;
}

#endif
