/*
 * Payloads with destructors. The mail's head has a mark that the destructor of its payload is still
 * due. The mark goes with the payload wherever that is copied or moved to, and is taken off before
 * the destructor runs. So the destructor runs once, wherever the mail ends; for mail that nobody
 * handles, that is gy_drop() in send.c.
 */
#include <stdio.h>
#include <string.h>

#include "actor/mail/tail.h"
#include "actor/stack/stack.h"
#include "loop/foreign_nodes.h"

enum { TEXT_BYTES = 256 };

/* Marks a new mail whose type has a destructor: the destructor is due. */
static GY_COLD void hold(struct gyre_mail *mail, size_t bytes)
{
	/* The mail may end before its payload is filled. */
	memset(mail->payload, 0, bytes - GYRE_MAIL_HEADER_BYTES);
	mail->node.owner |= GY_NODE_HOLDS;
}

static struct gyre_mail *make(struct gy_node *node, const struct gyre_type *type, size_t bytes)
{
	struct gyre_mail *mail;

	if (node == NULL) {
		return NULL;
	}
	mail = gy_mail_of(node);
	mail->type = type;
	if (type->destroy != NULL) {
		hold(mail, bytes);
	}
	return mail;
}

struct gyre_mail *gy_mail_get_slow(struct gy_home *home, const struct gyre_type *type, size_t bytes)
{
	if (bytes == GYRE_MAIL_HEADER_BYTES + (size_t)GYRE_BYTES_VARY) {
		return gy_mail_get_tail(home, type, 0);
	}
	return make(gy_loop_node_get(&home->loop, bytes), type, bytes);
}

void gy_mail_destroy(struct gyre_mail *mail)
{
	gy_assert(gy_mail_holds(mail));
	gy_mail_disown(mail);
	mail->type->destroy(mail->payload);
}

struct gyre_mail *gy_mail_get_sized_outside(const struct gyre_type *type, size_t bytes)
{
	return make(gy_foreign_node_get(bytes), type, bytes);
}

struct gyre_mail *gy_mail_get_outside(const struct gyre_type *type)
{
	return gy_type_varies(type) ? gy_mail_get_tail(NULL, type, 0)
				    : gy_mail_get_sized_outside(type, GYRE_MAIL_HEADER_BYTES +
									      (size_t)type->bytes);
}

struct gyre_mail *gy_mail_try_carry_out(struct gy_home *home, struct gyre_mail *mail)
{
	const size_t bytes = GYRE_MAIL_HEADER_BYTES + (size_t)gy_mail_bytes(mail);
	struct gyre_mail *copy;
	struct gy_node node;

	if (!gy_node_is_of_loop(&mail->node)) {
		return mail;
	}
	copy = gy_mail_get_sized_outside(mail->type, bytes);
	if (copy == NULL) {
		return NULL;
	}
	node = copy->node;
	memcpy(copy, mail, bytes);
	copy->node.owner = node.owner | (mail->node.owner & GY_NODE_HOLDS);
	copy->node.size_class = node.size_class;
	gy_mail_disown(mail);
	gy_mail_put(home, mail);
	return copy;
}

struct gyre_mail *gy_mail_carry_out(struct gy_home *home, struct gyre_mail *mail)
{
	struct gyre_mail *carried = gy_mail_try_carry_out(home, mail);

	if (carried == NULL) {
		gy_mail_put(home, mail);
	}
	return carried;
}

int gy_mail_move_out(struct gyre_mail *mail, void *ret_payload)
{
	if (gy_type_varies(mail->type)) {
		return -EMSGSIZE; /* nobody can tell how much room there is */
	}
	memcpy(ret_payload, mail->payload, mail->type->bytes);
	gy_mail_disown(mail);
	return 0;
}

void gyre_mail_destroy(struct gyre_stack *stack, struct gyre_mail *mail)
{
	if (gy_mail_is_missing(mail)) {
		return;
	}
	if (stack != NULL) {
		gy_mail_put(gy_stack_of(stack)->home, mail);
		return;
	}
	gy_mail_release(mail);
	gy_assert(!gy_node_is_of_loop(&mail->node));
	gy_foreign_node_put(&mail->node);
}

/* ---- poison ---- */

/* The type of a mail that was sent; at assertions=full the mail is poisoned. */
static const char *type_of_sent(const struct gyre_mail *mail)
{
#if GY_ASSERT_LEVEL >= 2
	(void)mail;
	return "(poisoned)";
#else
	return mail->type->name;
#endif
}

void gy_mail_refuse(const struct gy_home *home, const struct gyre_mail *mail)
{
	const struct gy_house *sender = home == NULL ? NULL : home->running;
	const char *name = sender == NULL ? "(none)" : sender->class_info->name;
	char text[TEXT_BYTES];

	if (mail->node.kind == GY_MAIL_NEW_TAIL) {
		(void)snprintf(text, sizeof(text),
			       "actor %s gives away a mail that counts %u elements but was made "
			       "for %u, of type %s: tell gyre_new_tail() how many there will be",
			       name, gy_tail_count(mail->type, mail->payload), mail->to_slot,
			       mail->type->name);
	} else {
		(void)snprintf(text, sizeof(text),
			       "actor %s gives away a mail that was given away before, of type %s: "
			       "a call that takes a mail owns it; make another one",
			       name, type_of_sent(mail));
	}
	gy_assert_failed(text, __FILE__, __LINE__);
}

#if GY_ASSERT_LEVEL >= 2

static struct gyre_mail *get_like(struct gy_home *home, const struct gyre_mail *mail)
{
	size_t bytes = GYRE_MAIL_HEADER_BYTES + (size_t)gy_mail_bytes(mail);
	struct gy_node *node = NULL;

	if (home != NULL) {
		node = gy_loop_node_get(&home->loop, bytes);
	} else if (!gy_node_is_of_loop(&mail->node)) {
		node = gy_foreign_node_get(bytes);
	}
	return node == NULL ? NULL : gy_mail_of(node);
}

struct gyre_mail *gy_mail_given(struct gy_home *home, struct gyre_mail *mail)
{
	struct gyre_mail *moved;
	struct gy_node node;
	uint32_t bytes;

	gy_mail_expect_new(home, mail);
	moved = gy_mail_is_missing(mail) ? NULL : get_like(home, mail);
	if (moved == NULL) {
		return mail; /* it is a check, not a service */
	}
	bytes = gy_mail_bytes(mail);
	node = moved->node;
	memcpy(moved, mail, GYRE_MAIL_HEADER_BYTES + (size_t)bytes);
	moved->node.owner = node.owner | (mail->node.owner & GY_NODE_HOLDS);
	moved->node.size_class = node.size_class;
	gy_mail_disown(mail);
	mail->node.kind = GY_MAIL_MOVED;
	if (mail->node.size_class == GY_SIZES_HEAP) {
		memset(mail->payload, GY_POISON_BYTE, bytes);
	}
	if (home == NULL) {
		gy_foreign_node_put(&mail->node);
	} else {
		gy_mail_put(home, mail);
	}
	return moved;
}

#endif
