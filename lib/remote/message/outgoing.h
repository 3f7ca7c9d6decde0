/*
 * What a link has to send: mail that waits for it, and frames; see outgoing.c.
 */
#ifndef GY_REMOTE_MESSAGE_OUTGOING_H
#define GY_REMOTE_MESSAGE_OUTGOING_H

#include "actor/home.h"

struct gy_link;
struct gy_peer;

/* Queues mail on an open link, which is flushed at the end of the job. Takes @mail; 0, or as
 * gy_mail_loss(). */
int gy_outgoing_send(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail);
/* Keeps mail until the link is open; likewise. */
int gy_outgoing_wait(struct gy_link *link, struct gyre_address to, struct gyre_mail *mail);
/* The share of one waiting mail in link->waiting_bytes. */
uint64_t gy_outgoing_waiting_bytes(const struct gy_node *node);
/* Where mail goes that waits stands in fields that nobody else reads now: notes that, but for the
 * node, and reads it, with which the mail is as before. */
void gy_outgoing_note_receiver(struct gyre_mail *mail, struct gyre_address to);
struct gyre_address gy_outgoing_take_receiver(struct gyre_mail *mail, uint16_t own_node);
/* The link is open: mail that waits for it is sent. */
void gy_outgoing_send_waiting(struct gy_link *link);

/* Which of the waiting mail is lost. */
enum gy_waiting {
	GY_WAITING_ALL,
	GY_WAITING_BUT_EVENTS, /* all but events, the ends of watches among them */
	GY_WAITING_ASKS,
	GY_WAITING_OVER, /* mail for lives that are over, or for none that was named */
};

void gy_outgoing_drop_waiting(struct gy_link *link, int error, enum gy_waiting which);
/* Whether a life is not known here, so that the end of the former one says nothing about it. */
bool gy_outgoing_is_unmet(const struct gy_peer *peer, uint32_t life);

/* Tells an actor of the peer, when the link is open, that its ask is not answered; -ENOMEM. */
int gy_outgoing_fail_answer(struct gy_link *link, struct gyre_address asker, uint64_t ask_id,
			    int error);
/* Takes the mail that tells so, which has been counted as sent. */
void gy_outgoing_send_failure(struct gy_link *link, struct gyre_address asker,
			      struct gyre_mail *mail);
/* The connection has ended: forgets all frames, sent or not, and counts those that the peer has not
 * credited as lost. Asks and answers among them fail; see in_flight.c. Waiting mail stays. */
void gy_outgoing_reset(struct gy_link *link);

#endif
