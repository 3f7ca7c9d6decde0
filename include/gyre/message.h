/*
 * Messages: structs that a user declares once with GYRE_MESSAGE(), and the mail they travel in.
 *
 *	struct price_of { int item; };
 *	GYRE_MESSAGE(price_of, 0x0101);
 *
 *	gyre_notify(stack, shop, gyre_new(stack, price_of, .item = 7));
 *
 * A mail is one allocation that holds header and payload. Whoever has a mail owns it, and gives it
 * away with every call that takes one; from then on neither the mail nor its payload may be
 * touched, and a library built with -Dassertions=full fills them with 0xdb at once.
 *
 * A message that owns something, as memory or a descriptor, is declared with GYRE_MESSAGE_OWNING()
 * and a destructor, which runs exactly once wherever the mail ends, unless the receiver moves the
 * payload out: see move.h. With a function that copies it, too, it can go to several receivers.
 *
 * A question that has a certain answer is declared with GYRE_REQUEST(): see request.h. A message
 * that ends in an array of any length is declared with GYRE_MESSAGE_TAIL(): see tail.h.
 */
#ifndef GYRE_MESSAGE_H
#define GYRE_MESSAGE_H

#include <gyre/api.h>
#include <gyre/declare.h>

GYRE_BEGIN_DECLS

struct gyre_encoding;
struct gyre_mail;
struct gyre_stack;
struct gyre_system;

/**
 * gyre_destroy_fn - gives back what a payload owns
 * @payload: the payload; the memory it stands in is not the destructor's
 *
 * Runs once for each payload, where its mail ends: on the loop that has handled, lost or recycled
 * it, in phase 2 or 3, also inside a handler; on the thread that made it, if there was no memory
 * for its mail; and on the thread that sent it from outside or waits for the end of the system, if
 * it came too late. It is the last call that sees the payload. It is not re-entered on one thread
 * but runs on several at once, and may call only those of gyre's functions that any thread may
 * call.
 *
 * A payload that was never filled is all zero; the destructor must accept it.
 */
typedef void (*gyre_destroy_fn)(void *payload);

/**
 * gyre_copy_fn - makes a payload that is a copy of another one's bytes own what it names
 * @payload: the copy, with its tail if it has one
 *
 * It takes a reference, or copies what a pointer leads to and points to that. Runs where a
 * message is sent to several receivers or several times: on the loop of the sender in phase 2 or 3,
 * inside its handler or for its timer, or on the thread that sends from outside. The original
 * exists meanwhile. It is not re-entered on one thread but runs on several at once, there is no
 * last call, and it may call only those of gyre's functions that any thread may call.
 *
 * For the argument of a group it also runs on the thread that adds a loop, and while all groups are
 * locked: it may call nothing of group.h.
 *
 * Returns 0; or a negative errno, which counts as -ENOMEM, and then the copy owns nothing: its
 * destructor does not run. A timer tries again each millisecond.
 */
typedef int (*gyre_copy_fn)(void *payload);

/**
 * struct gyre_tail - where the tail of a message stands, and how it is counted; see tail.h
 * @bytes: the size of the struct without elements
 * @at: the offset of the first element, at most @bytes
 * @unit: the size of an element
 * @count_at: the offset of the count, a uint32_t
 */
struct gyre_tail {
	uint32_t bytes;
	uint32_t at;
	uint32_t unit;
	uint32_t count_at;
};

/** GYRE_BYTES_VARY - the size of a type whose payloads have a tail, and each its own size */
#define GYRE_BYTES_VARY UINT32_MAX

/**
 * struct gyre_type - the type of a message
 * @name: for logs
 * @id: unique in a program, and between nodes; ids below 0x100 belong to gyre
 * @bytes: the size of the payload, or GYRE_BYTES_VARY
 * @destroy: gives back what the payload owns; NULL for plain messages
 * @answer: the type of the answer to an ask of this type; NULL for any
 * @type_bytes: the size of this structure in the program; 0 for all of it
 * @encoding_bytes: the size of @encoding in the program; 0 for all of it
 * @encoding: how it travels between nodes (see encode.h); NULL if as its bytes
 * @tail: of a type whose @bytes are GYRE_BYTES_VARY; else not looked at
 * @copy: copies what the payload owns; NULL for plain messages, and where it cannot be copied
 *
 * Types are compared by @id alone. The library asserts that two types with one id agree in @bytes,
 * which finds most ids that were given twice.
 */
struct gyre_type {
	const char *name;
	uint32_t id;
	uint32_t bytes;
	gyre_destroy_fn destroy;
	const struct gyre_type *answer;
	uint32_t type_bytes;
	uint32_t encoding_bytes;
	const struct gyre_encoding *encoding;
	struct gyre_tail tail;
	gyre_copy_fn copy;
};

/** GYRE_MAIL_HEADER_BYTES - where the payload stands in a mail; a small message fills one cache
 * line */
#define GYRE_MAIL_HEADER_BYTES 56
/** GYRE_MESSAGE_BYTES_MAX - the largest payload; above 16 KiB each mail is an allocation of its own
 */
#define GYRE_MESSAGE_BYTES_MAX (UINT32_C(1) << 24)

/**
 * gyre_mail_create() - makes a mail for a message of a type
 * @stack: the stack of the handler that makes it
 * @type: its type
 *
 * Mostly called through gyre_new(). The payload is undefined; that of a type which owns something
 * is zero. A message with a tail has no elements.
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no memory, or @type is NULL or larger than GYRE_MESSAGE_BYTES_MAX
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_mail_create(struct gyre_stack *stack, const struct gyre_type *type);

/** GYRE_MAIL_SMALL_BYTES - the largest payload of a mail of the smallest size, one cache line */
#define GYRE_MAIL_SMALL_BYTES 8

/**
 * gyre_mail_create_small() - gyre_mail_create() for a small plain message
 * @stack: the stack of the handler that makes it
 * @type: its type, not NULL, whose payload has at most GYRE_MAIL_SMALL_BYTES and no destructor
 *
 * Called through gyre_new(), which knows the type when it is compiled, and so saves the look at it.
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no memory
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 * Context: loop thread, phases 2 and 3, inside a handler.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_mail_create_small(struct gyre_stack *stack,
						  const struct gyre_type *type);

/** gyre_mail_make() - a mail for a message of a type that is known when the call is compiled */
static inline struct gyre_mail *gyre_mail_make(struct gyre_stack *stack,
					       const struct gyre_type *type)
{
	return type->bytes <= GYRE_MAIL_SMALL_BYTES && type->destroy == NULL
		       ? gyre_mail_create_small(stack, type)
		       : gyre_mail_create(stack, type);
}

/**
 * gyre_system_mail_create() - makes a mail outside of any actor
 * @system: the system it will be sent in
 * @type: its type
 *
 * Mostly called through gyre_system_new(). The mail comes from a pool of the calling thread, made
 * at its first mail, to which it returns from wherever it ends; so a thread that goes on sending
 * allocates nothing. The pool keeps 4 MiB at most. Its payload is as by gyre_mail_create().
 *
 * Return: the mail, or NULL, which every call that takes a mail answers with -ENOMEM.
 * Errors:
 *   NULL  there is no memory, @system or @type is NULL, or @type is larger than
 *         GYRE_MESSAGE_BYTES_MAX
 * Ownership: the caller's, until it is given away or gyre_mail_destroy() takes it.
 * Context: any thread, any phase.
 * Since: 0.1
 */
GYRE_API struct gyre_mail *gyre_system_mail_create(struct gyre_system *system,
						   const struct gyre_type *type);

/**
 * gyre_mail_destroy() - throws away a mail that is not to be sent after all
 * @stack: the stack of the running handler; NULL for a mail of gyre_system_mail_create()
 * @mail: the mail, or NULL
 *
 * What its payload owns is destroyed.
 *
 * Ownership: @mail is taken.
 * Context: loop thread, phases 2 and 3, inside a handler; any thread with @stack NULL.
 * Since: 0.1
 */
GYRE_API void gyre_mail_destroy(struct gyre_stack *stack, struct gyre_mail *mail);

/**
 * GYRE_NO_ARGUMENT - for a spawn: the mount hook gets no message
 *
 * NULL does not say so: NULL is a mail that could not be made, and fails the spawn with -ENOMEM. A
 * call that sends a mail refuses this constant with -EINVAL.
 */
#ifdef __cplusplus
#define GYRE_NO_ARGUMENT (reinterpret_cast<struct gyre_mail *>(static_cast<uintptr_t>(1)))
#else
#define GYRE_NO_ARGUMENT ((struct gyre_mail *)(uintptr_t)1)
#endif

/** gyre_payload() - the payload of a mail that is not NULL */
static inline void *gyre_payload(struct gyre_mail *mail)
{
	return (char *)(void *)mail + GYRE_MAIL_HEADER_BYTES;
}

/**
 * GYRE_MESSAGE() - declares struct NAME as a message with a type id
 * @NAME: the tag of a complete struct that needs no more than 8 bytes of alignment
 * @ID: its type id, at least 0x100
 *
 * Gives gyre_new(), gyre_future_get() and the rest their typed versions for NAME. The struct is
 * moved as bytes; in C++ it must be trivially copyable. A struct without members has a payload of 0
 * bytes, in C++ too, and a pointer to it is not NULL. An id below 0x100 does not compile.
 */
#define GYRE_MESSAGE(NAME, ID) \
	GYRE_NOTICE_(NAME)     \
	GYRE_TYPE_(NAME, ID, NULL, NULL, NULL, 0, NULL)

/**
 * GYRE_MESSAGE_OWNING() - declares struct NAME as a message that owns something
 * @NAME: as for GYRE_MESSAGE()
 * @ID: its type id, at least 0x100
 * @...: the destructor, a function void (struct NAME *) with the contract of gyre_destroy_fn; and
 *   after it, if the message can be copied, a function int (struct NAME *) with that of
 *   gyre_copy_fn
 *
 * gyre_new() then takes what it is given: if there is no memory for the mail, the destructor runs.
 * A message that can be copied may be published, sent to all members of a group, or sent again and
 * again by a timer, like a plain one.
 */
#define GYRE_MESSAGE_OWNING(NAME, ID, ...) \
	GYRE_OWNING_(NAME, __VA_ARGS__)    \
	GYRE_NOTICE_(NAME)                 \
	GYRE_TYPE_(NAME, ID, gyre_destroy_##NAME, GYRE_COPY_OF_(NAME, __VA_ARGS__), NULL, 0, NULL)

/** GYRE_VALUE() - a struct of type NAME with the given members, in C and in C++ */
#ifdef __cplusplus
#define GYRE_VALUE(NAME, ...) (NAME{ __VA_ARGS__ })
#else
#define GYRE_VALUE(NAME, ...) ((struct NAME){ __VA_ARGS__ })
#endif

/** GYRE_ID() - the type id of a message: a constant, for switch */
#define GYRE_ID(NAME) gyre_id_##NAME

/** gyre_new() - a mail with a message in it: gyre_new(stack, price_of, .item = 7) */
#define gyre_new(STACK, ...) GYRE_NEW_(gyre_mail_make, STACK, __VA_ARGS__, )

/**
 * gyre_new_copy() - a mail with a copy of a struct: gyre_new_copy(stack, price_of, &known)
 * @STACK: the stack of the running handler
 * @NAME: the tag of the struct
 * @FROM: a pointer to the struct; used once
 */
#define gyre_new_copy(STACK, NAME, FROM) gyre_copy_##NAME((STACK), NULL, (FROM))

/**
 * gyre_system_new() - gyre_new() outside of any actor: gyre_system_new(system, price_of, .item = 7)
 */
#define gyre_system_new(SYSTEM, ...) GYRE_NEW_(gyre_system_mail_create, SYSTEM, __VA_ARGS__, )

/** gyre_system_new_copy() - gyre_new_copy() outside of any actor */
#define gyre_system_new_copy(SYSTEM, NAME, FROM) gyre_copy_##NAME(NULL, (SYSTEM), (FROM))

GYRE_END_DECLS

#endif
