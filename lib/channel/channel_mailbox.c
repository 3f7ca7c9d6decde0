/*
 * How mail comes to a channel. Mail may arrive at any moment, also in the middle of a handler of
 * the same pipeline; so it is only queued, and the channel is made ready. When the channel is
 * processed the mail becomes events of its pipeline, from the head, one after the other.
 *
 * A channel that is ending takes no mail, and waiting mail is dropped: its handlers get nothing
 * more, as with bytes.
 */
#include "channel/channel_mailbox.h"

#include <errno.h>

#include "actor/address_text.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"
#include "base/memory/memory.h"
#include "channel/channel.h"
#include "channel/channel_log.h"

enum { SLOTS_FIRST = 64 };

/* ---- slots ---- */

static int grow(struct gy_channel_mailboxes *mailboxes)
{
	uint32_t size = mailboxes->size == 0 ? SLOTS_FIRST : mailboxes->size * 2;
	struct gy_channel_mailbox_slot *slots = (struct gy_channel_mailbox_slot *)gy_memory_resize(
		mailboxes->slots, mailboxes->size * sizeof(*slots), size * sizeof(*slots));

	if (slots == NULL) {
		return -ENOMEM;
	}
	mailboxes->slots = slots;
	mailboxes->size = size;
	return 0;
}

/* A new slot is better than one that was free for a short time only: see the reuse of houses. */
static int reserve(struct gy_channel_mailboxes *mailboxes, uint32_t seed, uint32_t *ret_slot)
{
	uint32_t slot = mailboxes->first_free;

	if (mailboxes->free_count > 0) {
		mailboxes->first_free = mailboxes->slots[slot].next_free;
		mailboxes->free_count--;
		*ret_slot = slot;
		return 0;
	}
	if (mailboxes->used >= gy_slot_mask - GY_CHANNEL_SLOTS ||
	    (mailboxes->used == mailboxes->size && grow(mailboxes) < 0)) {
		return -ENOMEM;
	}
	slot = mailboxes->used++;
	mailboxes->slots[slot] =
		(struct gy_channel_mailbox_slot){ .generation = seed == 0 ? 1 : seed };
	*ret_slot = slot;
	return 0;
}

static void release(struct gy_channel_mailboxes *mailboxes, uint32_t slot)
{
	struct gy_channel_mailbox_slot *at = &mailboxes->slots[slot];

	gy_assert(slot < mailboxes->used && at->mailbox != NULL);
	at->mailbox = NULL;
	at->generation = at->generation == UINT32_MAX ? 1 : at->generation + 1;
	if (mailboxes->free_count++ == 0) {
		mailboxes->first_free = slot;
	} else {
		mailboxes->slots[mailboxes->last_free].next_free = slot;
	}
	mailboxes->last_free = slot;
}

void gy_channel_mailboxes_fini(struct gy_channel_mailboxes *mailboxes)
{
	gy_memory_put(mailboxes->slots);
}

/* @slot counts from 0. */
static struct gy_channel_mailbox *find(const struct gy_home *home, uint32_t slot, uint32_t cookie)
{
	const struct gy_channel_mailboxes *mailboxes = &gy_channels_of(home)->mailboxes;

	return slot < mailboxes->used && mailboxes->slots[slot].generation == cookie
		       ? mailboxes->slots[slot].mailbox
		       : NULL;
}

struct gy_channel_mailbox *gy_channel_mailbox_find(const struct gy_home *home,
						   struct gyre_address address)
{
	return !gy_is_of_node(home->node, address) || address.loop != home->loop.index ||
			       address.slot < GY_CHANNEL_SLOTS
		       ? NULL
		       : find(home, address.slot - GY_CHANNEL_SLOTS, address.cookie);
}

/* ---- the mailbox of one channel ---- */

struct gy_channel_mailbox *gy_channel_mailbox_get(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;
	struct gy_home *home = channels->home;
	struct gy_channel_mailbox *mailbox = channel->mailbox;
	uint32_t slot;

	if (mailbox != NULL) {
		return mailbox;
	}
	mailbox = (struct gy_channel_mailbox *)gy_sizes_new(&home->parts, sizeof(*mailbox));
	if (mailbox == NULL) {
		return NULL;
	}
	if (reserve(&channels->mailboxes, home->options.cookie_seed, &slot) < 0) {
		gy_sizes_delete(&home->parts, mailbox, sizeof(*mailbox));
		return NULL;
	}
	*mailbox = (struct gy_channel_mailbox){ .channel = channel, .slot = slot };
	channels->mailboxes.slots[slot].mailbox = mailbox;
	channel->mailbox = mailbox;
	return mailbox;
}

struct gyre_address gy_channel_mailbox_address(const struct gy_channel_mailbox *mailbox)
{
	const struct gy_channels *channels = mailbox->channel->channels;

	return (struct gyre_address){ .slot = GY_CHANNEL_SLOTS + mailbox->slot,
				      .cookie = channels->mailboxes.slots[mailbox->slot].generation,
				      .loop = channels->home->loop.index,
				      .node = channels->home->node };
}

struct gyre_address gyre_channel_address(struct gyre_channel *channel)
{
	const struct gy_channel_mailbox *mailbox = gy_channel_mailbox_get(channel);

	return mailbox == NULL ? GYRE_NOBODY
			       : gy_address_shown(channel->channels->home,
						  gy_channel_mailbox_address(mailbox));
}

void gy_channel_mailbox_ready(struct gyre_channel *channel)
{
	gy_channel_set_events(channel, GY_EVENT_MAILBOX, 0);
	gy_channel_ready(channel);
}

static void drop_all(struct gy_channel_mailbox *mailbox, struct gy_mails *mails)
{
	struct gy_home *home = mailbox->channel->channels->home;
	struct gyre_mail *mail;

	while ((mail = gy_mails_pop(mails)) != NULL) {
		gy_drop(home, mail, gy_channel_mailbox_address(mailbox), GYRE_DROP_STOPPED,
			gy_channel_failure(mailbox->channel));
	}
}

void gy_channel_mailbox_end(struct gyre_channel *channel)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	if (mailbox != NULL) {
		drop_all(mailbox, &mailbox->mails);
		drop_all(mailbox, &mailbox->answers);
		drop_all(mailbox, &mailbox->sends);
		if (mailbox->exchange != NULL) {
			mailbox->exchange_ops->end(mailbox->exchange);
		}
	}
}

bool gy_channel_mailbox_owes_answers(const struct gyre_channel *channel)
{
	const struct gy_channel_mailbox *mailbox = channel->mailbox;

	return mailbox != NULL && mailbox->exchange != NULL &&
	       (channel->state & GY_INPUT_FAILED) == 0 &&
	       mailbox->exchange_ops->owes(mailbox->exchange);
}

void gy_channel_mailbox_connected(struct gyre_channel *channel)
{
	const struct gy_channel_mailbox *mailbox = channel->mailbox;

	if (mailbox != NULL && mailbox->exchange != NULL) {
		mailbox->exchange_ops->connected(mailbox->exchange);
	}
}

void gy_channel_mailbox_note_reads(struct gyre_channel *channel)
{
	const struct gy_channel_mailbox *mailbox = channel->mailbox;

	if (mailbox != NULL && mailbox->exchange != NULL) {
		mailbox->exchange_ops->note_reads(mailbox->exchange);
	}
}

void gy_channel_mailbox_handler_left(struct gyre_channel *channel,
				     const struct gyre_handler_context *ctx)
{
	const struct gy_channel_mailbox *mailbox = channel->mailbox;

	if (mailbox != NULL && mailbox->exchange != NULL) {
		mailbox->exchange_ops->left(mailbox->exchange, ctx);
	}
}

void gy_channel_mailbox_fini(struct gyre_channel *channel)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	if (mailbox != NULL) {
		/* An exchange that was opened at the tail, which does not leave by itself. */
		gy_channel_mailbox_handler_left(channel, gyre_channel_tail(channel));
		gy_assert(mailbox->exchange == NULL);
		release(&channel->channels->mailboxes, mailbox->slot);
		channel->mailbox = NULL;
		gy_sizes_delete(&channel->channels->home->parts, mailbox, sizeof(*mailbox));
	}
}

/* ---- arrival, any phase ---- */

static int refuse(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	struct gyre_address to = { .slot = GY_CHANNEL_SLOTS + slot,
				   .cookie = cookie,
				   .loop = home->loop.index,
				   .node = home->node };

	gy_drop(home, mail, to, GYRE_DROP_NO_ACTOR, -ESRCH);
	return -ESRCH;
}

int gy_channel_mailbox_put(struct gy_home *home, uint32_t slot, uint32_t cookie,
			   struct gyre_mail *mail)
{
	struct gy_channel_mailbox *mailbox = find(home, slot - GY_CHANNEL_SLOTS, cookie);

	if (mailbox == NULL || (mailbox->channel->state & GY_CHANNEL_ENDING) != 0) {
		return refuse(home, slot - GY_CHANNEL_SLOTS, cookie, mail);
	}
	if (mail->type == &gy_type_stop) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
		mailbox->stopped = true;
	} else if (mail->node.kind == GY_MAIL_NOTICE || mail->node.kind == GY_MAIL_ASK) {
		gy_mails_push(&mailbox->mails, mail);
	} else if (mail->node.kind == GY_MAIL_REPLY || mail->node.kind == GY_MAIL_EXCEPTION) {
		gy_mails_push(&mailbox->answers, mail);
	} else {
		gy_drop(home, mail, gy_channel_mailbox_address(mailbox), GYRE_DROP_UNHANDLED, 0);
		return 0;
	}
	gy_channel_mailbox_ready(mailbox->channel);
	return 0;
}

int gy_channel_mailbox_answer(struct gyre_channel *channel, struct gyre_mail *ask,
			      struct gyre_mail *answer)
{
	struct gy_stack *stack = channel->channels->stack;
	int error;

	if (gy_mail_is_missing(answer)) {
		error = gy_mail_report_no_memory(answer);
	} else if (ask->type->answer != NULL && ask->type->answer->id != answer->type->id) {
		gy_mail_put(stack->home, answer);
		error = -EPROTO; /* and no fault of the program: the peer has chosen it */
	} else {
		(void)gy_answer(stack, ask, gy_mail_given(stack->home, answer));
		gy_mail_put(stack->home, ask);
		return 0;
	}
	gy_fail_ask(stack->home, ask, error);
	return error;
}

/* ---- delivery, phase 2 ---- */

static GY_COLD void warn_unhandled(struct gy_channel_mailbox *mailbox, const struct gyre_mail *mail,
				   const char *taker)
{
	char from[GYRE_ADDRESS_TEXT_MAX];

	gy_channel_warn(
		mailbox->channel,
		"is sent the %s %s from %s, which is dropped: no handler of its pipeline %s",
		mail->node.kind == GY_MAIL_ASK ? "ask" : "notice", mail->type->name,
		gy_address_text(gy_mail_sender(mail), from), taker);
}

/* As an event of the pipeline, whose stack shows it meanwhile. */
static void deliver_notice(struct gy_channel_mailbox *mailbox, struct gyre_mail *mail)
{
	struct gyre_channel *channel = mailbox->channel;
	struct gy_home *home = channel->channels->home;
	struct gy_stack *stack = channel->channels->stack;

	gy_assert(stack != NULL && stack->home == home);
	if ((channel->pipeline.mask & GY_ON_EVENT) == 0) {
		warn_unhandled(mailbox, mail, "has .event");
		gy_drop(home, mail, gy_channel_mailbox_address(mailbox), GYRE_DROP_UNHANDLED, 0);
		return;
	}
	gy_count(&home->counters.handled, 1);
	home->steps++;
	/* The actor must not take, stash or answer this mail. */
	mail->node.kind = GY_MAIL_EVENT;
	stack->mail = mail;
	stack->head.message = mail->payload;
	stack->head.type = mail->type;
	gyre_context_fire_event(&channel->pipeline.head.head, mail->type, mail->payload);
	stack->mail = NULL;
	stack->head.message = NULL;
	stack->head.type = NULL;
	gy_mail_put(home, mail);
}

static bool exchange_takes(const struct gy_channel_mailbox *mailbox, struct gyre_mail *ask)
{
	return mailbox->exchange != NULL && mailbox->exchange_ops->takes(mailbox->exchange, ask);
}

static void deliver(struct gy_channel_mailbox *mailbox, struct gyre_mail *mail)
{
	struct gyre_channel *channel = mailbox->channel;
	struct gy_home *home = channel->channels->home;

	if (mail->node.kind == GY_MAIL_ASK) {
		if (gy_send_arrived(mailbox, mail) || exchange_takes(mailbox, mail)) {
			return;
		}
		warn_unhandled(mailbox, mail, "takes asks, as an exchange does");
		gy_drop(home, mail, gy_channel_mailbox_address(mailbox), GYRE_DROP_UNHANDLED,
			-ENOSYS);
	} else if (mail->type == &gy_type_poison || mail->type == &gy_type_graceful_stop) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
		gyre_context_close(gyre_channel_tail(channel));
	} else {
		deliver_notice(mailbox, mail);
	}
}

/* Mail that comes meanwhile is for the next run. */
static void deliver_all(struct gy_channel_mailbox *mailbox)
{
	struct gy_mails mails = mailbox->mails;
	struct gyre_mail *mail;

	mailbox->mails.first = NULL;
	while ((mailbox->channel->state & GY_CHANNEL_ENDING) == 0 &&
	       (mail = gy_mails_pop(&mails)) != NULL) {
		deliver(mailbox, mail);
	}
	drop_all(mailbox, &mails);
}

/* Drops answers of stacks to requests of an exchange that is gone. */
static void drop_answers(struct gy_channel_mailbox *mailbox)
{
	struct gyre_mail *mail;

	while ((mail = gy_mails_pop(&mailbox->answers)) != NULL) {
		gy_drop(mailbox->channel->channels->home, mail, gy_channel_mailbox_address(mailbox),
			GYRE_DROP_LATE, 0);
	}
}

/* Whether something came after the last run, or was left by it. */
static bool is_due(const struct gy_channel_mailbox *mailbox)
{
	return mailbox->stopped || mailbox->mails.first != NULL || mailbox->answers.first != NULL ||
	       gy_write_promises_are_due(mailbox) || gy_sends_are_due(mailbox) ||
	       (mailbox->exchange != NULL && mailbox->exchange_ops->is_due(mailbox->exchange));
}

/* Whether something is to go on when output is welcome again, which only a run tells. */
static bool is_blocked(const struct gy_channel_mailbox *mailbox)
{
	return mailbox->sends.first != NULL ||
	       (mailbox->exchange != NULL && mailbox->exchange_ops->is_blocked(mailbox->exchange));
}

void gy_channel_mailbox_reschedule(struct gyre_channel *channel)
{
	if ((channel->state & GY_CHANNEL_ENDING) != 0) {
		gy_channel_mailbox_end(channel);
	} else if (is_due(channel->mailbox)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

void gy_channel_mailbox_run(struct gyre_channel *channel)
{
	struct gy_channel_mailbox *mailbox = channel->mailbox;

	gy_channel_set_events(channel, 0, GY_EVENT_MAILBOX);
	if (mailbox->stopped) {
		mailbox->stopped = false;
		gyre_context_close(gyre_channel_tail(channel));
	}
	gy_write_promises_complete(mailbox);
	deliver_all(mailbox);
	gy_sends_run(mailbox);
	if (mailbox->exchange != NULL) {
		mailbox->exchange_ops->run(mailbox->exchange);
	} else {
		drop_answers(mailbox);
	}
	if (!gy_fifo_empty(&mailbox->written) || is_blocked(mailbox) || is_due(mailbox)) {
		gy_channel_set_events(channel, GY_EVENT_MAILBOX, 0);
	}
}
