/*
 * Mail from the pools of a loop: getting it, giving it away, and returning it.
 */
#ifndef GY_ACTOR_MAIL_MAIL_POOL_H
#define GY_ACTOR_MAIL_MAIL_POOL_H

#include "actor/home.h"

/* gy_mail_get() where the pool is empty, or the type has a destructor or a tail, or is too large.
 */
GY_COLD struct gyre_mail *gy_mail_get_slow(struct gy_home *home, const struct gyre_type *type,
					   size_t bytes);

/*
 * A mail from this loop's pool with room for a payload of @type, which has no destructor and no
 * tail; NULL when there is no memory. @bytes are those of the mail with its header, @size_class is
 * the pool that has them. The slow path is a tail call, so that the fast path saves no registers.
 */
static inline struct gyre_mail *gy_mail_get_plain(struct gy_home *home,
						  const struct gyre_type *type, size_t bytes,
						  uint8_t size_class)
{
	if (gy_likely(size_class != GY_SIZES_HEAP)) {
		void *memory = gy_pool_take(&home->loop.nodes.pools[size_class]);

		if (gy_likely(memory != NULL)) {
			struct gyre_mail *mail = gy_mail_of(
				gy_loop_node_init(&home->loop, memory, bytes, size_class));

			mail->type = type;
			return mail;
		}
	}
	return gy_mail_get_slow(home, type, bytes);
}

/* The same for any type. */
static inline struct gyre_mail *gy_mail_get_of_class(struct gy_home *home,
						     const struct gyre_type *type, size_t bytes,
						     uint8_t size_class)
{
	return gy_likely(type->destroy == NULL) ? gy_mail_get_plain(home, type, bytes, size_class)
						: gy_mail_get_slow(home, type, bytes);
}

/* A mail of the smallest size. */
static inline struct gyre_mail *gy_mail_get_small(struct gy_home *home,
						  const struct gyre_type *type)
{
	void *memory = gy_pool_take(&home->loop.nodes.pools[0]);
	struct gyre_mail *mail;

	if (gy_unlikely(memory == NULL)) {
		return gy_mail_get_slow(home, type, GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes);
	}
	mail = gy_mail_of(gy_loop_node_init(&home->loop, memory, (size_t)1 << GY_SIZES_SHIFT, 0));
	mail->type = type;
	return mail;
}

/* A mail with room for a payload of the type; with a tail, it has no elements. */
static inline struct gyre_mail *gy_mail_get(struct gy_home *home, const struct gyre_type *type)
{
	size_t bytes = GYRE_MAIL_HEADER_BYTES + (size_t)type->bytes;

	if (gy_likely(bytes <= (size_t)1 << GY_SIZES_SHIFT)) {
		return gy_mail_get_of_class(home, type, bytes, 0); /* a constant: one address */
	}
	return gy_mail_get_of_class(home, type, bytes, gy_sizes_class(bytes));
}

/*
 * Marks a mail as given away by its sender. At assertions=full it moves to other memory, so that a
 * sender who still uses it always sees poison. @home is NULL outside of actors; @mail may be NULL.
 */
#if GY_ASSERT_LEVEL >= 2
struct gyre_mail *gy_mail_given(struct gy_home *home, struct gyre_mail *mail);
#else
static inline struct gyre_mail *gy_mail_given(struct gy_home *home, struct gyre_mail *mail)
{
	gy_mail_expect_new(home, mail);
	return mail;
}
#endif

/* gy_mail_given() for one that is known to be new. */
static inline struct gyre_mail *gy_mail_given_new(struct gy_home *home, struct gyre_mail *mail)
{
#if GY_ASSERT_LEVEL >= 2
	return gy_mail_given(home, mail);
#else
	(void)home;
	return mail;
#endif
}

/* Returns a mail to wherever its memory is from; its payload is destroyed if that is due. */
static inline void gy_mail_put(struct gy_home *home, struct gyre_mail *mail)
{
	gy_loop_node_put(&home->loop, &mail->node);
}

/* The same where there may be no loop: @home is NULL then, and @mail may be missing. */
static inline void gy_mail_put_anywhere(struct gy_home *home, struct gyre_mail *mail)
{
	if (home != NULL && !gy_mail_is_missing(mail)) {
		gy_mail_put(home, mail);
	} else {
		gyre_mail_destroy(NULL, mail);
	}
}

/* gy_mail_get() where there may be no loop: @home is NULL then. */
static inline struct gyre_mail *gy_mail_get_anywhere(struct gy_home *home,
						     const struct gyre_type *type)
{
	return home == NULL ? gy_mail_get_outside(type) : gy_mail_get(home, type);
}

static inline void gy_mail_from(struct gyre_mail *mail, const struct gy_house *house)
{
	mail->from = house->self;
}

#endif
