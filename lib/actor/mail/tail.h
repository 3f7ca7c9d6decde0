/*
 * Tails: the size of a payload that ends in an array. It is nowhere but in the payload, as the
 * count of its elements, since the head of a mail has no room for it. So the count of a mail that
 * a program may still write is compared with what the mail was made for when it is given away.
 */
#ifndef GY_ACTOR_TAIL_H
#define GY_ACTOR_TAIL_H

#include <string.h>

#include "actor/mail/mail.h"

/* The bytes of a payload with @count elements, which may be more than a mail can have. The padding
 * of the struct may be larger than its first elements. */
static inline uint64_t gy_tail_bytes(const struct gyre_type *type, uint32_t count)
{
	uint64_t bytes = type->tail.at + (uint64_t)count * type->tail.unit;

	gy_assert(gy_type_varies(type) && type->tail.at <= type->tail.bytes);
	return bytes > type->tail.bytes ? bytes : type->tail.bytes;
}

/* Whether a type with a tail has payloads of @bytes with the count that stands in them: what comes
 * from elsewhere is not trusted. */
static inline bool gy_tail_fits(const struct gyre_type *type, const void *payload, uint64_t bytes)
{
	return bytes >= type->tail.bytes && bytes <= GYRE_MESSAGE_BYTES_MAX &&
	       gy_tail_bytes(type, gy_tail_count(type, payload)) == bytes;
}

/* gy_mail_bytes() of a type with a tail. */
uint32_t gy_mail_tail_bytes(const struct gyre_mail *mail);

/* The bytes of the payload of a mail, whatever its type. */
static inline uint32_t gy_mail_bytes(const struct gyre_mail *mail)
{
	uint32_t bytes = mail->type->bytes;

	return gy_likely(bytes != GYRE_BYTES_VARY) ? bytes : gy_mail_tail_bytes(mail);
}

/*
 * A mail with so many elements; NULL when there is no memory, or when they are too many for a mail.
 * @home is NULL for one from the heap. The elements of a type with a destructor are zero, others
 * undefined.
 */
struct gyre_mail *gy_mail_get_tail(struct gy_home *home, const struct gyre_type *type,
				   size_t count);

/* A copy of a mail whose type can be copied; NULL without memory, also for what its payload
 * owns. @home is NULL for one from the heap. */
struct gyre_mail *gy_mail_copy(struct gy_home *home, const struct gyre_mail *mail);

/* Makes mail that was sent the program's, to be changed and given away again. */
void gy_mail_renew(struct gyre_mail *mail);

#endif
