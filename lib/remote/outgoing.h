/*
 * Mail for other nodes: where it goes, and what becomes of it if it cannot; see outgoing.c.
 */
#ifndef GY_REMOTE_OUTGOING_H
#define GY_REMOTE_OUTGOING_H

#include "actor/home.h"

struct gy_link;

/* The last notice that was said in full. */
struct gy_last_sent {
	const struct gyre_type *type; /* NULL: the next one is said in full */
	uint32_t type_id;
	uint32_t bytes;
	struct gyre_address to; /* as it was given */
	struct gy_origin from;
};

extern const struct gy_remote_ops gy_remote_ops;

/* Mail is lost for that reason, and who has to know is told. Returns @error, or 0 where it ends in
 * another way. */
int gy_outgoing_drop(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail,
		     int error);

/* A mail from the heap that takes another one, from the heap too, to the loop that is to send it;
 * NULL without memory, and then @mail stays the caller's. */
struct gyre_mail *gy_relay_create(struct gyre_address to, struct gyre_mail *mail);

enum gy_waiting {
	GY_WAITING_ALL,
	GY_WAITING_BUT_EVENTS, /* which are the ends of watches, too */
	GY_WAITING_ASKS,
	GY_WAITING_OVER, /* what is for lives that are over, or for none that was named */
};

/* Mail that has waited for the link is sent, or lost for that reason. */
void gy_outgoing_send_waiting(struct gy_link *link);
void gy_outgoing_drop_waiting(struct gy_link *link, int error, enum gy_waiting which);
/* Forgets what was on its way; counted as lost. */
void gy_outgoing_reset(struct gy_link *link);
/* Tells an actor of the peer that its ask is not answered, when the link is open; -ENOMEM. */
int gy_outgoing_fail_answer(struct gy_link *link, struct gyre_address asker, uint64_t ask_id,
			    int error);

#endif
