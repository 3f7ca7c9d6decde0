/*
 * Causes: messages that failures carry, by gyre_throw_with(). The asker of a failed ask gets the
 * mail itself, as an exception of another type than gy_type_exception; its errno stands where an
 * ask has its deadline. All others who hear of a failure, on whatever loop, share one copy.
 */
#ifndef GY_ACTOR_STACK_CAUSE_H
#define GY_ACTOR_STACK_CAUSE_H

#include "actor/mail/mail.h"

struct gy_house;

/* A message that is shared, and never changes. */
struct gy_cause {
	uint32_t references; /* atomic */
	uint32_t bytes;	     /* of the payload */
	const struct gyre_type *type;
	uint64_t payload[];
};

/* Moves the message of @mail, taken; NULL without memory. */
GY_COLD struct gy_cause *gy_cause_make(struct gy_home *home, struct gyre_mail *mail);

/* @cause may be NULL. */
static inline struct gy_cause *gy_cause_ref(struct gy_cause *cause)
{
	if (cause != NULL) {
		(void)gy_add_relaxed(&cause->references, 1);
	}
	return cause;
}

/* Any thread; NULL is allowed. */
void gy_cause_unref(struct gy_cause *cause);

/* The payload if it is of @type, else NULL; @cause may be NULL. */
const void *gy_cause_as(const struct gy_cause *cause, const struct gyre_type *type);

/* The house has failed with @error, for @cause, which is taken and may be NULL. */
void gy_house_set_cause(struct gy_house *house, int error, struct gy_cause *cause);
/* Why it has failed with @error; NULL if that is not known. */
struct gy_cause *gy_house_cause(const struct gy_house *house, int error);

/* The errno of an exception of any type. */
static inline int gy_exception_error(const struct gyre_mail *mail)
{
	return mail->type->id < GY_IDS_OF_GYRE
		       ? ((const struct gy_exception *)(const void *)mail->payload)->error
		       : -(int)mail->deadline;
}

/* An exception that goes to another node with its cause. */
struct gy_caused {
	struct gy_exception exception; /* first */
	struct gy_cause *cause;	       /* owned */
};
extern const struct gyre_type gy_type_caused;

#endif
