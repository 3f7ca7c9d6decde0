/*
 * How mail comes to a channel. It may arrive at any moment, also in the middle of a handler of the
 * same pipeline; so it only queues, and makes the channel ready. When that is processed the mail
 * becomes events of its pipeline, from the head, one after the other.
 *
 * A channel that is ending takes none, and what waits then is lost: its handlers hear nothing more,
 * as with bytes.
 */
#include "channel/post.h"

#include <errno.h>

#include "actor/stack.h"
#include "base/memory.h"
#include "channel/channel.h"

enum { SLOTS_FIRST = 64 };

/* ---- slots ---- */

static int grow(struct gy_posts *posts)
{
	uint32_t size = posts->size == 0 ? SLOTS_FIRST : posts->size * 2;
	struct gy_post_slot *slots = (struct gy_post_slot *)gy_memory_resize(
		posts->slots, posts->size * sizeof(*slots), size * sizeof(*slots));

	if (slots == NULL) {
		return -ENOMEM;
	}
	posts->slots = slots;
	posts->size = size;
	return 0;
}

/* A new slot is better than one that was free for a short time only: see the reuse of houses. */
static int reserve(struct gy_posts *posts, uint32_t seed, uint32_t *ret_slot)
{
	uint32_t slot = posts->first_free;

	if (posts->free_count > 0) {
		posts->first_free = posts->slots[slot].next_free;
		posts->free_count--;
		*ret_slot = slot;
		return 0;
	}
	if (posts->used >= gy_slot_mask - GY_CHANNEL_SLOTS ||
	    (posts->used == posts->size && grow(posts) < 0)) {
		return -ENOMEM;
	}
	slot = posts->used++;
	posts->slots[slot] = (struct gy_post_slot){ .generation = seed == 0 ? 1 : seed };
	*ret_slot = slot;
	return 0;
}

static void release(struct gy_posts *posts, uint32_t slot)
{
	struct gy_post_slot *at = &posts->slots[slot];

	at->post = NULL;
	at->generation = at->generation == UINT32_MAX ? 1 : at->generation + 1;
	if (posts->free_count++ == 0) {
		posts->first_free = slot;
	} else {
		posts->slots[posts->last_free].next_free = slot;
	}
	posts->last_free = slot;
}

void gy_posts_fini(struct gy_posts *posts)
{
	gy_memory_put(posts->slots);
}

/* @slot counts from 0. */
static struct gy_post *find(const struct gy_home *home, uint32_t slot, uint32_t cookie)
{
	const struct gy_posts *posts = &gy_channels_of(home)->posts;

	return slot < posts->used && posts->slots[slot].generation == cookie
		       ? posts->slots[slot].post
		       : NULL;
}

struct gy_post *gy_post_find(const struct gy_home *home, struct gyre_address address)
{
	return address.node != 0 || address.loop != home->loop.index ||
			       address.slot < GY_CHANNEL_SLOTS
		       ? NULL
		       : find(home, address.slot - GY_CHANNEL_SLOTS, address.cookie);
}

/* ---- the post of one channel ---- */

struct gy_post *gy_post_of(struct gyre_channel *channel)
{
	struct gy_channels *channels = channel->channels;
	struct gy_home *home = channels->home;
	struct gy_post *post = channel->post;
	uint32_t slot;

	if (post != NULL) {
		return post;
	}
	post = (struct gy_post *)gy_sizes_new(&home->parts, sizeof(*post));
	if (post == NULL) {
		return NULL;
	}
	if (reserve(&channels->posts, home->options.cookie_seed, &slot) < 0) {
		gy_sizes_delete(&home->parts, post, sizeof(*post));
		return NULL;
	}
	*post = (struct gy_post){ .channel = channel, .slot = slot };
	channels->posts.slots[slot].post = post;
	channel->post = post;
	return post;
}

struct gyre_address gy_post_address(const struct gy_post *post)
{
	const struct gy_channels *channels = post->channel->channels;

	return (struct gyre_address){ .slot = GY_CHANNEL_SLOTS + post->slot,
				      .cookie = channels->posts.slots[post->slot].generation,
				      .loop = channels->home->loop.index,
				      .node = channels->home->node };
}

struct gyre_address gyre_channel_address(struct gyre_channel *channel)
{
	const struct gy_post *post = gy_post_of(channel);

	return post == NULL ? GYRE_NOBODY
			    : gy_address_shown(channel->channels->home, gy_post_address(post));
}

void gy_post_ready(struct gyre_channel *channel)
{
	gy_channel_set(channel, GY_CHANNEL_POSTED, 0);
}

static void drop_all(struct gy_post *post, struct gy_mails *mails)
{
	struct gy_home *home = post->channel->channels->home;
	struct gyre_mail *mail;

	while ((mail = gy_mails_pop(mails)) != NULL) {
		gy_drop(home, mail, gy_post_address(post), GYRE_DROP_STOPPED,
			gy_channel_failure(post->channel));
	}
}

void gy_post_end(struct gyre_channel *channel)
{
	struct gy_post *post = channel->post;

	if (post != NULL) {
		drop_all(post, &post->mails);
		drop_all(post, &post->answers);
		drop_all(post, &post->sends);
		gy_exchange_end(post);
	}
}

void gy_post_fini(struct gyre_channel *channel)
{
	struct gy_post *post = channel->post;

	if (post != NULL) {
		if (post->exchange != NULL) {
			/* It was opened at the tail, which does not leave. */
			gy_exchange_left(post, gyre_channel_tail(channel));
		}
		release(&channel->channels->posts, post->slot);
		channel->post = NULL;
		gy_sizes_delete(&channel->channels->home->parts, post, sizeof(*post));
	}
}

/* ---- arrival, any phase ---- */

static int refuse(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	struct gyre_address to = { .slot = GY_CHANNEL_SLOTS + slot,
				   .cookie = cookie,
				   .loop = home->loop.index };

	gy_drop(home, mail, to, GYRE_DROP_NO_ACTOR, -ESRCH);
	return -ESRCH;
}

int gy_post_put(struct gy_home *home, uint32_t slot, uint32_t cookie, struct gyre_mail *mail)
{
	struct gy_post *post = find(home, slot - GY_CHANNEL_SLOTS, cookie);

	if (post == NULL || (post->channel->flags & GY_CHANNEL_ENDING) != 0) {
		return refuse(home, slot - GY_CHANNEL_SLOTS, cookie, mail);
	}
	if (mail->type == &gy_type_stop) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
		post->stopped = true;
	} else if (mail->node.kind == GY_MAIL_NOTICE || mail->node.kind == GY_MAIL_ASK) {
		gy_mails_push(&post->mails, mail);
	} else if (mail->node.kind == GY_MAIL_REPLY || mail->node.kind == GY_MAIL_EXCEPTION) {
		gy_mails_push(&post->answers, mail);
	} else {
		gy_drop(home, mail, gy_post_address(post), GYRE_DROP_UNHANDLED, 0);
		return 0;
	}
	gy_post_ready(post->channel);
	return 0;
}

int gy_post_answer(struct gyre_channel *channel, struct gyre_mail *ask, struct gyre_mail *answer)
{
	struct gy_stack *stack = channel->channels->stack;
	int error;

	if (gy_mail_is_missing(answer)) {
		error = gy_mail_lack(answer);
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

/* Of the actor that owns the channel, since a channel has no name. */
static GY_COLD void warn_unhandled(struct gy_post *post, const struct gyre_mail *mail,
				   const char *taker)
{
	gy_kind_warn(post->channel->channels->home, post->channel->endpoint.owner->house->kind,
		     "its channel is sent the %s %s from [%u:%u], which is dropped: no handler of "
		     "its pipeline %s",
		     mail->node.kind == GY_MAIL_ASK ? "ask" : "notice", mail->type->name,
		     (unsigned)mail->from.loop, (unsigned)mail->from.slot, taker);
}

/* As an event of the pipeline, whose stack shows it meanwhile. */
static void deliver_notice(struct gy_post *post, struct gyre_mail *mail)
{
	struct gyre_channel *channel = post->channel;
	struct gy_home *home = channel->channels->home;
	struct gy_stack *stack = channel->channels->stack;

	if ((channel->pipeline.mask & GY_ON_EVENT) == 0) {
		warn_unhandled(post, mail, "has .event");
		gy_drop(home, mail, gy_post_address(post), GYRE_DROP_UNHANDLED, 0);
		return;
	}
	gy_count(&home->counters.handled, 1);
	home->steps++;
	/* It is not the actor's, to take, to stash or to answer. */
	mail->node.kind = GY_MAIL_EVENT;
	stack->mail = mail;
	stack->head.message = mail->payload;
	stack->head.type = mail->type;
	gyre_fire_event(&channel->pipeline.head.head, mail->type, mail->payload);
	stack->mail = NULL;
	stack->head.message = NULL;
	stack->head.type = NULL;
	gy_mail_put(home, mail);
}

static void deliver(struct gy_post *post, struct gyre_mail *mail)
{
	struct gyre_channel *channel = post->channel;
	struct gy_home *home = channel->channels->home;

	if (mail->node.kind == GY_MAIL_ASK) {
		if (gy_send_arrived(post, mail) || gy_exchange_takes(post->exchange, mail)) {
			return;
		}
		warn_unhandled(post, mail, "takes asks, as an exchange does");
		gy_drop(home, mail, gy_post_address(post), GYRE_DROP_UNHANDLED, -ENOSYS);
	} else if (mail->type == &gy_type_poison || mail->type == &gy_type_retire) {
		gy_count(&home->counters.handled, 1);
		gy_mail_put(home, mail);
		gyre_channel_close(gyre_channel_tail(channel));
	} else {
		deliver_notice(post, mail);
	}
}

/* What comes meanwhile has the next run. */
static void deliver_all(struct gy_post *post)
{
	struct gy_mails mails = post->mails;
	struct gyre_mail *mail;

	post->mails.first = NULL;
	while ((post->channel->flags & GY_CHANNEL_ENDING) == 0 &&
	       (mail = gy_mails_pop(&mails)) != NULL) {
		deliver(post, mail);
	}
	drop_all(post, &mails);
}

/* What stacks answer to requests of an exchange that is no more. */
static void drop_answers(struct gy_post *post)
{
	struct gyre_mail *mail;

	while ((mail = gy_mails_pop(&post->answers)) != NULL) {
		gy_drop(post->channel->channels->home, mail, gy_post_address(post), GYRE_DROP_LATE,
			0);
	}
}

/* Whether something came after the last run, or was left by it. */
static bool is_due(const struct gy_post *post)
{
	return post->stopped || post->mails.first != NULL || post->answers.first != NULL ||
	       gy_written_is_due(post) || gy_sends_are_due(post) ||
	       (post->exchange != NULL && gy_exchange_is_due(post->exchange));
}

/* Whether something is to go on when output is welcome again, which only a run tells. */
static bool is_blocked(const struct gy_post *post)
{
	return post->sends.first != NULL ||
	       (post->exchange != NULL && gy_exchange_is_blocked(post->exchange));
}

void gy_post_settle(struct gyre_channel *channel)
{
	if ((channel->flags & GY_CHANNEL_ENDING) != 0) {
		gy_post_end(channel);
	} else if (is_due(channel->post)) {
		gy_endpoint_ready(&channel->endpoint);
	}
}

void gy_post_run(struct gyre_channel *channel)
{
	struct gy_post *post = channel->post;

	channel->flags &= ~(uint32_t)GY_CHANNEL_POSTED;
	if (post->stopped) {
		post->stopped = false;
		gyre_channel_close(gyre_channel_tail(channel));
	}
	gy_written_run(post);
	deliver_all(post);
	gy_sends_run(post);
	if (post->exchange != NULL) {
		gy_exchange_run(post->exchange);
	} else {
		drop_answers(post);
	}
	if (!gy_fifo_empty(&post->written) || is_blocked(post) || is_due(post)) {
		channel->flags |= GY_CHANNEL_POSTED;
	}
}
