/*
 * Finding an actor of another node by its name: an ask that the node's loop answers itself.
 */
#include <errno.h>

#include <gyre/name.h>

#include "actor/mail/send.h"
#include "actor/stack/budget.h"
#include "actor/stack/stack.h"
#include "remote/link/links.h"
#include "remote/message/runtime_messages.h"
#include "remote/node.h"

_Static_assert(sizeof(struct gyre_node_found) <= GYRE_NAME_BYTES_MAX &&
		       sizeof(struct gy_exception) <= GYRE_NAME_BYTES_MAX,
	       "the question becomes the answer");

/* On this node nobody has to be asked; the answer comes as any other. It is the mail of the
 * question, so that it needs no memory. */
static void answer_here(struct gy_stack *stack, const struct gy_nodes *nodes,
			struct gyre_mail *mail, uint64_t ask_id)
{
	struct gy_home *home = stack->home;
	struct gyre_address found;
	int r = nodes->look_up(home->options.system, (const char *)mail->payload, &found);

	mail->type = r == 0 ? &gyre_type_gyre_node_found : &gy_type_exception;
	mail->node.kind = r == 0 ? GY_MAIL_REPLY : GY_MAIL_EXCEPTION;
	mail->ask_id = ask_id;
	gy_mail_from_nobody(mail);
	if (r == 0) {
		*(struct gyre_node_found *)gyre_payload(mail) = (struct gyre_node_found){ found };
	} else {
		((struct gy_exception *)gyre_payload(mail))->error = r;
	}
	(void)gy_send_away(home, gy_house_address(stack->house), mail);
}

static void ask_there(struct gy_stack *stack, uint16_t node, struct gyre_mail *mail,
		      uint64_t ask_id)
{
	mail->node.kind = GY_MAIL_ASK;
	mail->ask_id = ask_id;
	mail->deadline = 0;
	gy_mail_from(mail, stack->house);
	(void)gy_send_away(stack->home, (struct gyre_address){ .node = node }, mail);
}

int gyre_node_lookup(struct gyre_stack *stack, uint16_t node, const char *name, uint64_t timeout_ns,
		     struct gyre_future *ret_future)
{
	struct gy_stack *s = gy_stack_of(stack);
	const struct gy_links *links = gy_links_of(s->house->home);
	size_t bytes = name == NULL ? 0 : strnlen(name, GYRE_NAME_BYTES_MAX + 1);
	struct gyre_mail *mail;
	uint64_t ask_id;
	int r;

	if (ret_future == NULL) {
		return -EINVAL;
	}
	if (links == NULL || node == 0 || bytes == 0 || bytes > GYRE_NAME_BYTES_MAX) {
		*ret_future = (struct gyre_future){ .error = -EINVAL };
		return -EINVAL;
	}
	r = gy_budget_timeout(s, &timeout_ns);
	if (r < 0) {
		*ret_future = (struct gyre_future){ .error = r };
		return r;
	}
	mail = gy_mail_get(s->home, &gy_type_lookup);
	ask_id = mail == NULL ? 0 : gy_promise_open(s, timeout_ns, ret_future);
	if (ask_id == 0) {
		gyre_mail_destroy(stack, mail);
		*ret_future = (struct gyre_future){ .error = -ENOMEM };
		return -ENOMEM;
	}
	memset(gyre_payload(mail), 0, gy_type_lookup.bytes);
	memcpy(gyre_payload(mail), name, bytes);
	if (node == s->home->node) {
		answer_here(s, links->nodes, mail, ask_id);
	} else {
		gy_promise_of_node(ret_future, node);
		ask_there(s, node, mail, ask_id);
	}
	return 0;
}
