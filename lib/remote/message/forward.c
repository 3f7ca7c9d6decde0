/*
 * Messages that actors of this node forward to other nodes.
 *
 * A frame names a sender of the node that it comes from. So a notice of this node goes like any
 * other, and one of a third node goes in a wrapper, which names its sender in full.
 *
 * An ask has to be answered, whatever is lost on its way. But the node that it goes to may never
 * have met the node of the asker, nor be able to reach it. So an actor of this loop asks in its
 * place, and hands the answer, or the error with its cause, to the asker. It keeps no more of the
 * ask than its head, so that its stacks end like those of any actor: by an answer, a time-out, the
 * loss of a node, or its own end.
 */
#include "remote/message/forward.h"

#include <gyre/move.h>

#include <errno.h>

#include "actor/life/lifecycle.h"
#include "actor/mail/send.h"
#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "remote/link/link.h"
#include "remote/message/mail_loss.h"
#include "remote/message/route.h"
#include "remote/node.h"
#include "remote/peer/peer.h"
#include "remote/peer/peer_life.h"
#include "remote/types.h"

/* ---- notices of a third node ---- */

struct forwarded {
	struct gyre_address sender;
	struct gyre_mail *notice; /* from the heap, owned */
};

static void destroy_forwarded(void *payload)
{
	gyre_mail_destroy(NULL, ((struct forwarded *)payload)->notice);
}

const struct gyre_type gy_type_forwarded = { .name = "forwarded",
					     .id = GY_ID_FORWARDED,
					     .bytes = sizeof(struct forwarded),
					     .destroy = destroy_forwarded };

static const struct forwarded *forwarded_of(const struct gyre_mail *mail)
{
	return mail->type == &gy_type_forwarded
		       ? (const struct forwarded *)(const void *)mail->payload
		       : NULL;
}

void gy_forwarded_describe(const struct gyre_mail *mail, const struct gyre_type **type,
			   struct gyre_address *sender)
{
	const struct forwarded *forwarded = forwarded_of(mail);

	if (forwarded != NULL && forwarded->notice != NULL) {
		*type = forwarded->notice->type;
		*sender = forwarded->sender;
	}
}

int gy_forwarded_encode(const struct gyre_mail *mail, struct gyre_encoder *out)
{
	const struct forwarded *forwarded = forwarded_of(mail);
	const struct gyre_mail *notice = forwarded->notice;
	const struct gyre_type *type = notice->type;

	if (type->id < GY_IDS_OF_GYRE) {
		return -EOPNOTSUPP;
	}
	if (!gy_type_travels(type)) {
		return -EPROTO;
	}
	gyre_encode_u32(out, (uint32_t)forwarded->sender.node << 16 | forwarded->sender.loop);
	gyre_encode_u32(out, forwarded->sender.slot);
	gyre_encode_u32(out, forwarded->sender.cookie);
	gyre_encode_u32(out, forwarded->sender.life);
	gyre_encode_u32(out, type->id);
	gyre_encode_u32(out, gy_type_layout(type));
	if (gy_type_is_encoded(type)) {
		return gy_type_encoding(type)->encode(notice->payload, out);
	}
	gyre_encode_bytes(out, notice->payload, gy_mail_bytes(notice));
	return 0;
}

/* The sender as mail has it here; nobody, if the life that it is of is not known here. */
static struct gy_origin origin_of(const struct gy_links *links, struct gyre_address sender)
{
	const struct gy_peer *peer;
	uint32_t number;

	if (sender.cookie == 0 || sender.slot > gy_slot_mask) {
		return (struct gy_origin){ 0 };
	}
	if (sender.node == links->home->node) {
		return sender.life == gy_load_relaxed(&links->home->life) ? gy_origin_of(sender)
									  : (struct gy_origin){ 0 };
	}
	peer = gy_peer_find(links->nodes, sender.node);
	number = peer == NULL ? 0 : gy_lives_find(&peer->lives, sender.life);
	if (number == 0) {
		return (struct gy_origin){ 0 };
	}
	sender.slot |= gy_life_code(number) << GY_LIFE_SHIFT;
	return gy_origin_of(sender);
}

int gy_forwarded_take_apart(const struct gy_link *link, const struct gy_frame *frame,
			    struct gy_frame *ret_inner, struct gy_origin *ret_sender)
{
	struct gyre_decoder in = { .at = frame->body, .left = frame->bytes };
	uint32_t node_and_loop = gyre_decode_u32(&in);
	struct gyre_address sender = { .node = (uint16_t)(node_and_loop >> 16),
				       .loop = (uint16_t)node_and_loop };

	sender.slot = gyre_decode_u32(&in);
	sender.cookie = gyre_decode_u32(&in);
	sender.life = gyre_decode_u32(&in);
	*ret_inner = *frame;
	ret_inner->type = gyre_decode_u32(&in);
	ret_inner->layout = (uint16_t)gyre_decode_u32(&in);
	if (in.error != 0) {
		return -EPROTO;
	}
	ret_inner->body = frame->body + (frame->bytes - in.left);
	ret_inner->bytes = (uint32_t)in.left;
	*ret_sender = origin_of(link->links, sender);
	return 0;
}

static void forward_notice(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	struct gyre_mail *wrapper;
	struct gyre_mail *notice;

	if (mail->from.cookie == 0 || mail->from.node == home->node) {
		(void)gy_route_counted(home, to, mail);
		return;
	}
	wrapper = gy_mail_get(home, &gy_type_forwarded);
	notice = wrapper == NULL ? NULL : gy_mail_try_carry_out(home, mail);
	if (notice == NULL) {
		if (wrapper != NULL) {
			gy_mail_put(home, wrapper);
		}
		(void)gy_mail_loss(home, to, mail, -ENOMEM);
		return;
	}
	*(struct forwarded *)gyre_payload(wrapper) =
		(struct forwarded){ gy_sender_shown(home, notice), notice };
	wrapper->node.kind = GY_MAIL_NOTICE;
	wrapper->ask_id = 0;
	wrapper->deadline = 0;
	gy_mail_from_nobody(wrapper);
	(void)gy_route_counted(home, to, wrapper);
}

/* ---- asks ---- */

struct deputy_frame {
	struct gyre_future answer;
};

static bool is_answer_to(const struct gyre_type *question, const struct gyre_mail *answer)
{
	return question->answer == NULL || answer == NULL ||
	       question->answer->id == answer->type->id;
}

/* The promise of an ask that has failed keeps a mail only if that is the cause. */
static int hand_back_error(struct gyre_stack *stack, const struct gyre_future *future, int error)
{
	struct gy_stack *s = gy_stack_of(stack);
	struct gy_promise *promise = future->promise;
	struct gyre_mail *cause = promise == NULL ? NULL : promise->answer;

	s->owed = 0;
	if (cause == NULL) {
		return gy_answer_error(s, s->mail, error);
	}
	promise->answer = NULL;
	gy_mail_renew(cause);
	(void)gyre_throw_with(stack, error, cause);
	return 0;
}

/* What the peer has answered, be it of a wrong type, is no fault of this program. */
static int hand_back(struct gyre_stack *stack)
{
	const struct deputy_frame *frame = (const struct deputy_frame *)gyre_frame(stack);
	struct gy_stack *s = gy_stack_of(stack);
	int error = gyre_future_error(&frame->answer);
	struct gyre_mail *answer = error < 0 ? NULL : gyre_future_take(&frame->answer);

	if (error < 0) {
		return hand_back_error(stack, &frame->answer, error);
	}
	if (!is_answer_to(s->mail->type, answer)) {
		gy_mail_put(s->home, answer);
		s->owed = 0;
		return gy_answer_error(s, s->mail, -EPROTO);
	}
	return gyre_reply(stack, answer);
}

static const struct gyre_class deputy_class = {
	.name = "gyre deputy",
	.frame_bytes = sizeof(struct deputy_frame),
};

/* The one of this loop. It counts as a channels actor, which never leaves its loop. */
static int find_deputy(struct gy_home *home, struct gy_house **ret_house)
{
	const struct gy_spawn_order order = { .class = &deputy_class, .channels_actor = true };
	struct gyre_address *deputy = &gy_links_of(home)->deputy;
	struct gy_house *house = gy_house_find_occupied(home, deputy->slot, deputy->cookie);
	int r = 0;

	if (deputy->cookie == 0 || house == NULL || gy_house_is_stopped(house)) {
		r = gy_spawn(home, &order, home->loop.index, deputy);
		house = r < 0 ? NULL : gy_house_find(home, deputy->slot, deputy->cookie);
	}
	*ret_house = house;
	return r;
}

/* The head of an ask, in a mail of its own, to be answered. Its type is for that alone. */
static struct gyre_mail *copy_head(struct gy_home *home, const struct gyre_mail *ask)
{
	static const struct gyre_type type_head = { .name = "forwarded ask",
						    .id = GY_ID_FORWARDED_ASK };
	struct gyre_mail *head = gy_mail_get(home, &type_head);

	if (head != NULL) {
		head->node.kind = GY_MAIL_ASK;
		head->type = ask->type;
		head->from = ask->from;
		head->ask_id = ask->ask_id;
		head->deadline = 0;
	}
	return head;
}

/* A stack of the deputy that waits for the answer to what the ask with that head is about. */
static struct gy_stack *make_stack(struct gy_home *home, struct gy_house *house,
				   struct gyre_mail *head)
{
	struct gy_stack *stack = gy_stack_make_kept(home, house, sizeof(struct deputy_frame));

	if (stack != NULL) {
		gy_stack_set_message(stack, head, hand_back);
		stack->head.message = NULL; /* it goes on to the other node */
		stack->head.type = NULL;
		stack->owed = ENOMSG;
	}
	return stack;
}

static uint64_t timeout_of(const struct gyre_mail *ask)
{
	return ask->deadline == 0 ? GYRE_FOREVER : (uint64_t)ask->deadline << GY_DEADLINE_SHIFT;
}

static void forward_ask(struct gy_home *home, struct gyre_address to, struct gyre_mail *ask)
{
	struct gy_house *house;
	int error = find_deputy(home, &house);
	struct gyre_mail *head = error < 0 ? NULL : copy_head(home, ask);
	struct gy_stack *stack = head == NULL ? NULL : make_stack(home, house, head);
	struct deputy_frame *frame;

	if (stack == NULL) {
		if (head != NULL) {
			gy_mail_put(home, head);
		}
		(void)gy_mail_loss(home, to, ask, error < 0 ? error : -ENOMEM);
		return;
	}
	gy_count(&home->counters.handled, 1); /* what follows is an ask of its own */
	frame = (struct deputy_frame *)gyre_frame(&stack->head);
	gy_mail_renew(ask);
	error = gyre_ask(&stack->head, to, ask, timeout_of(ask), &frame->answer);
	if (error < 0) {
		gy_stack_abort(stack, error);
	} else {
		(void)gy_stack_suspend(stack, 1, 0);
		stack->suspending = false;
	}
}

/* ---- both ---- */

void gy_forward_counted(struct gy_home *home, struct gyre_address to, struct gyre_mail *mail)
{
	if (mail->node.kind == GY_MAIL_ASK) {
		forward_ask(home, to, mail);
	} else {
		forward_notice(home, to, mail);
	}
}

void gy_forward(struct gy_home *home, uint16_t loop, struct gyre_address to, struct gyre_mail *mail)
{
	gy_count(&home->counters.sent, 1);
	if (loop == home->loop.index) {
		gy_forward_counted(home, to, mail);
	} else {
		gy_forward_by_loop(home, loop, to, mail);
	}
}
