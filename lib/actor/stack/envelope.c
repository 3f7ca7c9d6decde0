/*
 * Answers between loops that go home in the envelope of their question. The envelope is of the
 * asker's loop and has to go back there in any case, and the lines that it stands in are in this
 * core's cache by now. So half as many nodes cross as would for an answer in a mail of its own, and
 * the mail that the handler has filled stays here, for the next answer.
 *
 * The handler may read its question until it returns, so that is when the answer leaves; it waits
 * in the @next of its question, which is in no queue. If the handler suspends instead, or sends
 * something more to the asker's loop, which must not overtake the answer, then the answer leaves at
 * once in its own mail.
 */
#include "actor/stack/envelope.h"

#include <string.h>

#include "actor/mail/send.h"
#include "actor/mail/tail.h"

/* Up to 256 bytes are copied: more costs as much as the way back of a mail. */
enum { SIZE_CLASS_MAX = 2 };

/* Whether @mail, the answer to @ask, may leave in the envelope of @ask. */
static bool fits(const struct gy_stack *stack, const struct gyre_mail *ask,
		 const struct gyre_mail *mail)
{
	const struct gy_home *home = stack->home;

	return ask == stack->mail && ask->from.loop != home->loop.index &&
	       ask->from.node == home->node && ask->node.owner == ask->from.loop &&
	       ask->node.size_class <= SIZE_CLASS_MAX &&
	       mail->node.size_class <= ask->node.size_class && !gy_mail_holds(mail);
}

static struct gyre_mail *kept_answer(const struct gy_stack *stack)
{
	return gy_mail_of(stack->mail->node.next);
}

void gy_envelope_answer(struct gy_stack *stack, const struct gyre_mail *ask, struct gyre_mail *mail)
{
	if (fits(stack, ask, mail)) {
		gy_assert(stack->owed == 0 && stack->home->envelope == NULL);
		stack->owed = GY_OWES_ENVELOPE;
		stack->home->envelope = stack;
		stack->mail->node.next = &mail->node;
	} else {
		(void)gy_send_away(stack->home, gy_mail_sender(ask), mail);
	}
}

bool gy_envelope_end(struct gy_stack *stack)
{
	if (stack->owed != GY_OWES_ENVELOPE) {
		return false;
	}
	stack->owed = 0;
	stack->home->envelope = NULL;
	return true;
}

void gy_envelope_open(struct gy_stack *stack, uint16_t loop)
{
	if (loop == stack->mail->from.loop && gy_envelope_end(stack)) {
		gy_envelope_send_apart(stack);
	}
}

void gy_envelope_send(struct gy_stack *stack)
{
	struct gyre_mail *mail = kept_answer(stack);
	struct gyre_mail *envelope = stack->mail;
	struct gyre_address asker = gy_mail_sender(envelope);
	const size_t bytes = GYRE_MAIL_HEADER_BYTES + gy_mail_bytes(mail);

	stack->mail = NULL;
	gy_unpoison(envelope, bytes);
	envelope->node.kind = GY_MAIL_REPLY;
	memcpy(&envelope->type, &mail->type, bytes - offsetof(struct gyre_mail, type));
	gy_mail_put(stack->home, mail);
	(void)gy_send_away(stack->home, asker, envelope);
}

void gy_envelope_send_apart(struct gy_stack *stack)
{
	(void)gy_send_away(stack->home, gy_mail_sender(stack->mail), kept_answer(stack));
}
