/*
 * Making mail with a tail, and copies of any mail.
 */
#include "actor/mail/tail.h"

#include <gyre/tail.h>

#include "actor/mail/mail_pool.h"
#include "actor/stack/stack.h"

uint32_t gy_mail_tail_bytes(const struct gyre_mail *mail)
{
	uint64_t bytes = gy_tail_bytes(mail->type, gy_tail_count(mail->type, mail->payload));

	gy_assert(bytes <= GYRE_MESSAGE_BYTES_MAX);
	return (uint32_t)bytes;
}

static struct gyre_mail *get(struct gy_home *home, const struct gyre_type *type, size_t bytes)
{
	return home == NULL ? gy_mail_get_sized_outside(type, bytes)
			    : gy_mail_get_of_class(home, type, bytes, gy_sizes_class(bytes));
}

struct gyre_mail *gy_mail_get_tail(struct gy_home *home, const struct gyre_type *type, size_t count)
{
	struct gyre_mail *mail;
	uint64_t bytes = count > UINT32_MAX ? UINT64_MAX : gy_tail_bytes(type, (uint32_t)count);

	if (bytes > GYRE_MESSAGE_BYTES_MAX) {
		return NULL;
	}
	mail = get(home, type, GYRE_MAIL_HEADER_BYTES + (size_t)bytes);
	if (mail != NULL) {
		const uint32_t elements = (uint32_t)count;

		memcpy(mail->payload + type->tail.count_at, &elements, sizeof(elements));
		gy_mail_renew(mail);
	}
	return mail;
}

struct gyre_mail *gy_mail_copy(struct gy_home *home, const struct gyre_mail *mail)
{
	const uint32_t bytes = gy_mail_bytes(mail);
	struct gyre_mail *copy = get(home, mail->type, GYRE_MAIL_HEADER_BYTES + (size_t)bytes);

	gy_assert(!gy_mail_holds(mail) || gy_type_can_be_copied(mail->type));
	if (copy == NULL) {
		return NULL;
	}
	memcpy(copy->payload, mail->payload, bytes);
	if (!gy_mail_holds(mail)) {
		gy_mail_disown(copy);
	} else if (gy_type_copy(mail->type)(copy->payload) < 0) {
		gy_mail_disown(copy);
		gy_mail_put_anywhere(home, copy);
		return NULL;
	}
	return copy;
}

void gy_mail_renew(struct gyre_mail *mail)
{
	mail->node.kind = GY_NODE_NEW;
	if (gy_type_varies(mail->type)) {
		mail->node.kind = GY_MAIL_NEW_TAIL;
		mail->to_slot = gy_tail_count(mail->type, mail->payload);
	}
}

static bool has_tail(const struct gyre_type *type)
{
	return type != NULL && gy_type_varies(type);
}

struct gyre_mail *gyre_mail_create_tail(struct gyre_stack *stack, const struct gyre_type *type,
					size_t count)
{
	return has_tail(type) ? gy_mail_get_tail(gy_stack_of(stack)->home, type, count) : NULL;
}

struct gyre_mail *gyre_system_mail_create_tail(struct gyre_system *system,
					       const struct gyre_type *type, size_t count)
{
	return system != NULL && has_tail(type) ? gy_mail_get_tail(NULL, type, count) : NULL;
}
