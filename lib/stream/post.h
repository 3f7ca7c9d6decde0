/*
 * How parts of streams send each other messages within a system: as events, which are never refused
 * by a mailbox, and which wait where there is no memory to handle them. A notice would be lost
 * then, and with it the credit or the end that it brings.
 */
#ifndef GY_STREAM_POST_H
#define GY_STREAM_POST_H

#include <errno.h>

#include <gyre/stack.h>

#include "actor/mail/mail_pool.h"
#include "actor/mail/send.h"
#include "actor/stack/stack.h"

/* In the order of the calls, for each sender and receiver. @mail is taken; -ENOMEM if it is NULL,
 * -ESRCH as for gyre_notify(). */
static inline int gy_stream_post(struct gyre_stack *stack, struct gyre_address to,
				 struct gyre_mail *mail)
{
	const struct gy_stack *s = gy_stack_of(stack);

	if (mail == NULL) {
		return -ENOMEM;
	}
	mail = gy_mail_given(s->home, mail);
	mail->node.kind = GY_MAIL_EVENT;
	gy_mail_from(mail, s->house);
	return gy_send(s->home, to, mail, GY_LANE_EVENT);
}

#endif
