/*
 * The mailbox of a channel: what it has once somebody knows its address. Mail to it waits here
 * until the channel is processed, as do the writes whose end somebody wants to hear of.
 *
 * A channel's address is one like an actor's, with a slot beyond those of actors. So all that sends
 * mail reaches channels too, and what finds no house looks here. Slots and generations are the
 * loop's; a channel that nobody addresses has neither, and costs a pointer.
 */
#ifndef GY_CHANNEL_CHANNEL_MAILBOX_H
#define GY_CHANNEL_CHANNEL_MAILBOX_H

#include "actor/home.h"
#include "base/list.h"

struct gyre_channel;
struct gyre_handler_context;
struct gy_channels;
struct gy_exchange;

/* Mail in the order of its coming. */
struct gy_mails {
	struct gy_node *first;
	struct gy_node *last; /* undefined while @first is NULL */
};

static inline void gy_mails_push(struct gy_mails *mails, struct gyre_mail *mail)
{
	mail->node.next = NULL;
	if (mails->first == NULL) {
		mails->first = &mail->node;
	} else {
		mails->last->next = &mail->node;
	}
	mails->last = &mail->node;
}

/* NULL when there is none. */
static inline struct gyre_mail *gy_mails_pop(struct gy_mails *mails)
{
	struct gy_node *node = mails->first;

	if (node == NULL) {
		return NULL;
	}
	mails->first = node->next;
	return gy_mail_of(node);
}

/* The functions of an exchange that its mailbox calls; exchange/exchange.c has them. */
struct gy_exchange_ops {
	/* Whether an ask goes to the peer; then it is taken. */
	bool (*takes)(struct gy_exchange *exchange, struct gyre_mail *ask);
	/* Does what can be done; the exchange may be gone after that. */
	void (*run)(struct gy_exchange *exchange);
	/* Whether the last run could have done more. */
	bool (*is_due)(const struct gy_exchange *exchange);
	/* Whether it waits for output to be welcome. */
	bool (*is_blocked)(const struct gy_exchange *exchange);
	/* Whether the peer has requests that will be answered. */
	bool (*owes)(const struct gy_exchange *exchange);
	/* The channel has been connected. */
	void (*connected)(struct gy_exchange *exchange);
	/* The channel reads no more, or again. */
	void (*note_reads)(struct gy_exchange *exchange);
	/* The channel ends: fails what is pending and in flight. */
	void (*end)(struct gy_exchange *exchange);
	/* @ctx leaves the pipeline; if it is the protocol's handler the exchange goes. */
	void (*left)(struct gy_exchange *exchange, const struct gyre_handler_context *ctx);
};

struct gy_channel_mailbox {
	struct gyre_channel *channel;
	uint32_t slot;		      /* counted from GY_CHANNEL_SLOTS */
	bool stopped;		      /* by an order that overtakes the mail */
	struct gy_mails mails;	      /* notices and asks */
	struct gy_mails answers;      /* of the owner's stacks, to requests of the peer */
	struct gy_fifo written;	      /* what tells when it has been sent */
	uint64_t taken_bytes;	      /* that were sent since there is anything of that */
	struct gy_mails sends;	      /* asks that are to be written */
	uint64_t requests;	      /* of the peer, by all exchanges that the channel has had */
	uint32_t sends_kept;	      /* of these by the last search for those that ran out */
	uint32_t sends_since;	      /* so many came after it, and had to wait */
	uint32_t exchanges;	      /* that the channel has had */
	struct gy_exchange *exchange; /* NULL for none; else @exchange_ops is set */
	const struct gy_exchange_ops *exchange_ops;
};

/* A free slot has no mailbox, and is in the list. */
struct gy_channel_mailbox_slot {
	struct gy_channel_mailbox *mailbox;
	uint32_t generation;
	uint32_t next_free;
};

/* The slots of a loop. */
struct gy_channel_mailboxes {
	struct gy_shared_options *options; /* of exchanges; see shared_options.h */
	struct gy_channel_mailbox_slot *slots;
	uint32_t size;
	uint32_t used; /* slots that were ever given out */
	uint32_t first_free;
	uint32_t last_free; /* the one free longest is first */
	uint32_t free_count;
};

void gy_channel_mailboxes_fini(struct gy_channel_mailboxes *mailboxes);

/* The mailbox of a channel, which is made if need be; NULL when there is no memory. */
struct gy_channel_mailbox *gy_channel_mailbox_get(struct gyre_channel *channel);
struct gyre_address gy_channel_mailbox_address(const struct gy_channel_mailbox *mailbox);
/* The mailbox that an address names; NULL when it is stale, or of another loop. */
struct gy_channel_mailbox *gy_channel_mailbox_find(const struct gy_home *home,
						   struct gyre_address address);
/* Mail has come to a slot of this loop; see gy_channel_ops. */
int gy_channel_mailbox_put(struct gy_home *home, uint32_t slot, uint32_t cookie,
			   struct gyre_mail *mail);
/* Schedules a run for the mailbox. Any phase. */
void gy_channel_mailbox_ready(struct gyre_channel *channel);

/*
 * Answers an ask that the channel was sent, with @answer or for NULL with -ENOMEM. Takes both.
 * -EPROTO when the ask demands another type, of which the asker is told.
 */
int gy_channel_mailbox_answer(struct gyre_channel *channel, struct gyre_mail *ask,
			      struct gyre_mail *answer);

/* ---- write_promise.c ---- */

/* Whether a write has ended that somebody is to hear of. */
bool gy_write_promises_are_due(const struct gy_channel_mailbox *mailbox);
/* Tells of those that have. */
void gy_write_promises_complete(struct gy_channel_mailbox *mailbox);
/* The datagrams at @position, in its low bits, that count @cost have failed. */
void gy_write_promises_fail(struct gy_channel_mailbox *mailbox, uint32_t position, size_t cost,
			    int error);
/*
 * Withheld bytes have been queued, or with @error will not be. Promises keep the first error, and
 * get their numbers when nothing is withheld any more. Any channel.
 */
void gy_write_promises_release(struct gyre_channel *channel, int error);
/* The channel is closed: completes all promises. It need not have a mailbox. */
void gy_write_promises_end(struct gyre_channel *channel);
/* Whether an ask was one to write bytes; then it is taken. */
bool gy_send_arrived(struct gy_channel_mailbox *mailbox, struct gyre_mail *ask);
/* Writes what may be written now. */
void gy_sends_run(struct gy_channel_mailbox *mailbox);
/* Whether something may. */
bool gy_sends_are_due(const struct gy_channel_mailbox *mailbox);

/* ---- the whole ---- */

/* Whether requests of the peer are to be answered before the end of its input is dealt with. */
bool gy_channel_mailbox_owes_answers(const struct gyre_channel *channel);
/* The channel has been connected. */
void gy_channel_mailbox_connected(struct gyre_channel *channel);
/* The channel reads no more, or again. */
void gy_channel_mailbox_note_reads(struct gyre_channel *channel);
/* A handler leaves the pipeline. */
void gy_channel_mailbox_handler_left(struct gyre_channel *channel,
				     const struct gyre_handler_context *ctx);

/* Does all that waits. Phase 2, while the channel, which has a mailbox, is processed. */
void gy_channel_mailbox_run(struct gyre_channel *channel);
/* After the handlers have returned: what they have left is for another run, or for none. */
void gy_channel_mailbox_reschedule(struct gyre_channel *channel);
/* The channel ends: fails what still waits. Handlers may still ask for the address. */
void gy_channel_mailbox_end(struct gyre_channel *channel);
/* Frees the mailbox, if there is one; from then on the address finds nobody. */
void gy_channel_mailbox_fini(struct gyre_channel *channel);

#endif
