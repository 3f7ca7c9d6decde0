/*
 * Protocols: what an actor takes, under one name, and addresses that know it.
 *
 *	GYRE_PROTOCOL(shop, restock, price_of);
 *
 *	struct shop_address shop = gyre_address_as(shop, address);
 *
 *	gyre_tell(stack, shop, restock, .count = 3);
 *	gyre_ask_of(stack, shop, GYRE_SECONDS(1), &frame->price, price_of, .item = 7);
 *
 * A protocol names messages and requests. Through a typed address, a struct around an address, a
 * program sends what the protocol names and nothing else: a message of another protocol does not
 * compile, nor does a request that is sent as a notice, nor an ask of what has no answer. A typed
 * address costs nothing: the calls are those of actor.h and stack.h.
 *
 * The actor's side is a pair of route tables, which compile only if each message of the protocol
 * has its handler:
 *
 *	GYRE_SERVES(counter, shop,
 *		    GYRE_ON_NOTICE(restock, take_in),
 *		    GYRE_ON_ASK(price_of, tell_price));
 *
 *	static const struct gyre_class counter_class = {
 *		.name = "counter",
 *		.behaviour = { GYRE_ROUTES_OF(counter) },
 *	};
 *
 * A message that is missing there is named by the error, as gyre_shop_takes_price_of. An address
 * becomes a typed one where the program says so, by gyre_address_as(): gyre does not look at what
 * the actor behind it serves.
 */
#ifndef GYRE_PROTOCOL_H
#define GYRE_PROTOCOL_H

#include <gyre/each.h>
#include <gyre/outside.h>
#include <gyre/request.h>
#include <gyre/tail.h>

GYRE_BEGIN_DECLS

/**
 * GYRE_PROTOCOL() - declares a protocol, and struct PROTOCOL_address for actors that serve it
 * @PROTOCOL: its name
 * @...: the tags of its messages, from 1 to 64, which were declared before. What GYRE_REQUEST() or
 *   its like has declared is asked; all others are notices
 *
 * The typed address has the size of an address, which is its member `.address`, for all calls that
 * take one. It may be copied, kept and sent in messages like that. Ids of its messages must differ.
 */
#define GYRE_PROTOCOL(PROTOCOL, ...)                                                          \
	enum gyre_protocol_##PROTOCOL{ GYRE_EACH_(GYRE_TAKES_ID_, PROTOCOL, __VA_ARGS__) };   \
	enum { gyre_count_##PROTOCOL = GYRE_EACH_COUNT_(__VA_ARGS__) };                       \
	struct PROTOCOL##_address {                                                           \
		union {                                                                       \
			struct gyre_address address;                                          \
			GYRE_EACH_(GYRE_TAKES_MEMBER_, PROTOCOL, __VA_ARGS__)                 \
		};                                                                            \
	};                                                                                    \
	GYRE_TAKES_ALL_(PROTOCOL, __VA_ARGS__)                                                \
	static inline                                                                         \
		__attribute__((unused)) struct PROTOCOL##_address gyre_address_as_##PROTOCOL( \
			struct gyre_address address) {                                        \
		struct PROTOCOL##_address typed;                                              \
                                                                                              \
		typed.address = address;                                                      \
		return typed;                                                                 \
	} struct gyre_needs_a_semicolon

/* Constants that are named after the protocol and the message, for the errors of compilers. */
#define GYRE_TAKES_ID_(PROTOCOL, NAME) gyre_##PROTOCOL##_takes_##NAME = GYRE_ID(NAME),
/* A member that shows which messages an address is for; nobody reads it. */
#define GYRE_TAKES_MEMBER_(PROTOCOL, NAME) const struct NAME *takes_##NAME;

#ifdef __cplusplus
/* The same for templates. */
#define GYRE_TAKES_ALL_(PROTOCOL, ...)                          \
	extern "C++" {                                          \
	GYRE_EACH_(GYRE_TAKES_FUNCTION_, PROTOCOL, __VA_ARGS__) \
	}
#define GYRE_TAKES_FUNCTION_(PROTOCOL, NAME)                                                     \
	static inline __attribute__((unused)) void gyre_takes(const struct PROTOCOL##_address &, \
							      const struct NAME *const *)        \
	{                                                                                        \
	}
#else
#define GYRE_TAKES_ALL_(PROTOCOL, ...)
#endif

/** gyre_address_as() - an address as a typed one: gyre_address_as(shop, gyre_self(stack)) */
#define gyre_address_as(PROTOCOL, ADDRESS) gyre_address_as_##PROTOCOL(ADDRESS)

/* ---- the actor's side ---- */

/**
 * GYRE_SERVES() - declares the route tables of a behaviour that serves a protocol
 * @NAME: a name for the tables, for GYRE_ROUTES_OF()
 * @PROTOCOL: the name of the protocol
 * @...: GYRE_ON_NOTICE() or GYRE_ON_ASK() for each of its messages, in any order; put the frequent
 *   first
 *
 * Does not compile if a message of the protocol is missing, is there twice or in the wrong form, or
 * is not one of the protocol. An actor with several behaviours declares tables for each of them.
 */
#define GYRE_SERVES(NAME, PROTOCOL, ...)                                                           \
	static const struct gyre_route gyre_notice_routes_##NAME[] __attribute__((                 \
		unused)) = { GYRE_EACH_(GYRE_NOTICE_ROW_, PROTOCOL, __VA_ARGS__) GYRE_ROUTE_END }; \
	static const struct gyre_route gyre_ask_routes_##NAME[] __attribute__((                    \
		unused)) = { GYRE_EACH_(GYRE_ASK_ROW_, PROTOCOL, __VA_ARGS__) GYRE_ROUTE_END };    \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic error \"-Wswitch\"") static inline  \
		__attribute__((unused)) void gyre_##NAME##_serves_##PROTOCOL(                      \
			enum gyre_protocol_##PROTOCOL message)                                     \
	{                                                                                          \
		switch (message) {                                                                 \
			GYRE_EACH_(GYRE_SERVED_, PROTOCOL, __VA_ARGS__)                            \
			break;                                                                     \
		}                                                                                  \
	}                                                                                          \
	_Pragma("GCC diagnostic pop") GYRE_ASSERT_(                                                \
		gyre_count_##PROTOCOL == 0 GYRE_EACH_(GYRE_COUNTED_, PROTOCOL, __VA_ARGS__),       \
		"the routes of " #NAME " are not those of all messages of " #PROTOCOL)

/** GYRE_ON_NOTICE() - for GYRE_SERVES(): notices of type NAME go to HANDLER */
#define GYRE_ON_NOTICE(NAME, HANDLER) (GYRE_ROW_NOTICE_, NAME, HANDLER)
/** GYRE_ON_ASK() - for GYRE_SERVES(): asks of type NAME go to HANDLER */
#define GYRE_ON_ASK(NAME, HANDLER) (GYRE_ROW_ASK_, NAME, HANDLER)

/** GYRE_NOTICE_ROUTES_OF() - the table of GYRE_SERVES() for @notice_routes of a behaviour */
#define GYRE_NOTICE_ROUTES_OF(NAME) (gyre_notice_routes_##NAME)
/** GYRE_ASK_ROUTES_OF() - the table of GYRE_SERVES() for @ask_routes of a behaviour */
#define GYRE_ASK_ROUTES_OF(NAME) (gyre_ask_routes_##NAME)
/** GYRE_ROUTES_OF() - both, as members in the initialiser of a behaviour, in C and C++20 */
#define GYRE_ROUTES_OF(NAME) \
	.notice_routes = GYRE_NOTICE_ROUTES_OF(NAME), .ask_routes = GYRE_ASK_ROUTES_OF(NAME)

/* Each entry is (kind, message, handler), and is taken apart by another macro for each use. */
#define GYRE_NOTICE_ROW_(PROTOCOL, ENTRY)	 GYRE_NOTICE_ROW_OF_ ENTRY
#define GYRE_ASK_ROW_(PROTOCOL, ENTRY)		 GYRE_ASK_ROW_OF_ ENTRY
#define GYRE_COUNTED_(PROTOCOL, ENTRY)		 +GYRE_COUNTED_OF_ ENTRY
#define GYRE_SERVED_(PROTOCOL, ENTRY)		 case GYRE_CASE_(PROTOCOL, GYRE_SERVED_OF_ ENTRY):
#define GYRE_NOTICE_ROW_OF_(KIND, NAME, HANDLER) KIND##IN_NOTICES_(NAME, HANDLER)
#define GYRE_ASK_ROW_OF_(KIND, NAME, HANDLER)	 KIND##IN_ASKS_(NAME, HANDLER)
#define GYRE_COUNTED_OF_(KIND, NAME, HANDLER)	 KIND##IS_(NAME)
#define GYRE_SERVED_OF_(KIND, NAME, HANDLER)	 NAME
#define GYRE_CASE_(PROTOCOL, NAME)		 GYRE_CASE_OF_(PROTOCOL, NAME)
#define GYRE_CASE_OF_(PROTOCOL, NAME)		 gyre_##PROTOCOL##_takes_##NAME

#define GYRE_ROW_NOTICE_IN_NOTICES_(NAME, HANDLER) GYRE_ROUTE(NAME, HANDLER),
#define GYRE_ROW_NOTICE_IN_ASKS_(NAME, HANDLER)
#define GYRE_ROW_NOTICE_IS_(NAME) gyre_is_notice_##NAME
#define GYRE_ROW_ASK_IN_NOTICES_(NAME, HANDLER)
#define GYRE_ROW_ASK_IN_ASKS_(NAME, HANDLER) GYRE_ROUTE(NAME, HANDLER),
#define GYRE_ROW_ASK_IS_(NAME)		     gyre_is_request_##NAME

/* ---- the sender's side ---- */

/* The address inside, if messages of type NAME may go there as KIND. */
#define GYRE_ADDRESS_FOR_(KIND, TO, NAME) \
	((void)sizeof((TO).takes_##NAME), (void)gyre_is_##KIND##_##NAME, (TO).address)

/**
 * gyre_tell() - sends a notice to a typed address: gyre_tell(stack, shop, restock, .count = 3)
 * @STACK: the stack of the running handler; used twice
 * @TO: the typed address, whose protocol has the message
 * @...: the tag of the message, which is no request, and its members as for gyre_new()
 *
 * Is gyre_notify(), and returns what that does.
 */
#define gyre_tell(STACK, TO, ...) GYRE_TELL_(STACK, TO, __VA_ARGS__, )
#define GYRE_TELL_(STACK, TO, NAME, ...)                          \
	gyre_notify((STACK), GYRE_ADDRESS_FOR_(notice, TO, NAME), \
		    GYRE_NEW_(gyre_mail_make, STACK, NAME, __VA_ARGS__))

/**
 * gyre_tell_mail() - sends a mail to a typed address as a notice: (stack, shop, line, mail)
 * @STACK: the stack of the running handler
 * @TO: the typed address, whose protocol has the message
 * @NAME: the tag of the message, which is no request
 * @MAIL: a mail of that type, as of gyre_new_tail() or gyre_take(); taken
 *
 * Is gyre_notify(), and returns what that does; or -EPROTO if the mail is of another type, and then
 * it is destroyed.
 */
#define gyre_tell_mail(STACK, TO, NAME, MAIL) \
	gyre_notify_typed((STACK), GYRE_ADDRESS_FOR_(notice, TO, NAME), &gyre_type_##NAME, (MAIL))

/**
 * gyre_system_tell() - gyre_tell() outside of any actor: (system, shop, restock, .count = 3)
 *
 * Is gyre_system_notify(), and returns what that does.
 */
#define gyre_system_tell(SYSTEM, TO, ...) GYRE_SYSTEM_TELL_(SYSTEM, TO, __VA_ARGS__, )
#define GYRE_SYSTEM_TELL_(SYSTEM, TO, NAME, ...)                          \
	gyre_system_notify((SYSTEM), GYRE_ADDRESS_FOR_(notice, TO, NAME), \
			   GYRE_NEW_(gyre_system_mail_create, SYSTEM, NAME, __VA_ARGS__))

/**
 * gyre_ask_of() - asks a typed address: (stack, shop, 0, &frame->price, price_of, .item = 7)
 * @STACK: the running stack, which will own the promise; used twice
 * @TO: the typed address, whose protocol has the request
 * @TIMEOUT_NS: as for gyre_ask()
 * @FUTURE: as for gyre_ask(); read by gyre_future_answer_to()
 * @...: the tag of the request, and its members as for gyre_new()
 *
 * Is gyre_ask(), and returns what that does.
 */
#define gyre_ask_of(STACK, TO, TIMEOUT_NS, FUTURE, ...) \
	GYRE_ASK_OF_(STACK, TO, TIMEOUT_NS, FUTURE, __VA_ARGS__, )
#define GYRE_ASK_OF_(STACK, TO, TIMEOUT_NS, FUTURE, NAME, ...)  \
	gyre_ask((STACK), GYRE_ADDRESS_FOR_(request, TO, NAME), \
		 GYRE_NEW_(gyre_mail_make, STACK, NAME, __VA_ARGS__), (TIMEOUT_NS), (FUTURE))

/**
 * gyre_ask_mail() - asks a typed address with a mail: (stack, shop, 0, &frame->rank, rank, mail)
 * @STACK: the running stack, which will own the promise
 * @TO: the typed address, whose protocol has the request
 * @TIMEOUT_NS: as for gyre_ask()
 * @FUTURE: as for gyre_ask()
 * @NAME: the tag of the request
 * @MAIL: a mail of that type, as of gyre_new_tail(); taken
 *
 * Is gyre_ask(), and returns what that does; or -EPROTO if the mail is of another type, which the
 * future then shows too, and then the mail is destroyed.
 */
#define gyre_ask_mail(STACK, TO, TIMEOUT_NS, FUTURE, NAME, MAIL)                                 \
	gyre_ask_typed((STACK), GYRE_ADDRESS_FOR_(request, TO, NAME), &gyre_type_##NAME, (MAIL), \
		       (TIMEOUT_NS), (FUTURE))

/**
 * gyre_system_ask_of() - gyre_ask_of() outside of any actor: (system, shop, 0, &answer, price_of)
 * @SYSTEM: where; used twice
 * @TO: the typed address, whose protocol has the request
 * @TIMEOUT_NS: as for gyre_system_ask()
 * @ANSWER: as @ret_answer for gyre_system_ask(); read by gyre_mail_answer_to()
 * @...: the tag of the request, and its members as for gyre_new()
 *
 * Is gyre_system_ask(), and returns what that does.
 */
#define gyre_system_ask_of(SYSTEM, TO, TIMEOUT_NS, ANSWER, ...) \
	GYRE_SYSTEM_ASK_OF_(SYSTEM, TO, TIMEOUT_NS, ANSWER, __VA_ARGS__, )
#define GYRE_SYSTEM_ASK_OF_(SYSTEM, TO, TIMEOUT_NS, ANSWER, NAME, ...)                 \
	gyre_system_ask((SYSTEM), GYRE_ADDRESS_FOR_(request, TO, NAME),                \
			GYRE_NEW_(gyre_system_mail_create, SYSTEM, NAME, __VA_ARGS__), \
			(TIMEOUT_NS), (ANSWER))

/** gyre_mail_is() - whether a mail that the caller has is of a type; true for what is no mail */
static inline bool gyre_mail_is(const struct gyre_mail *mail, const struct gyre_type *type)
{
	return mail == NULL || mail == GYRE_NO_ARGUMENT || gyre_mail_message(mail, type) != NULL;
}

/** gyre_notify_typed() - gyre_notify() for a mail of @type alone: for gyre_tell_mail() */
static inline int gyre_notify_typed(struct gyre_stack *stack, struct gyre_address to,
				    const struct gyre_type *type, struct gyre_mail *mail)
{
	if (!gyre_mail_is(mail, type)) {
		gyre_mail_destroy(stack, mail);
		return -EPROTO;
	}
	return gyre_notify(stack, to, mail);
}

/** gyre_ask_typed() - gyre_ask() for a mail of @type alone: for gyre_ask_mail() */
static inline int gyre_ask_typed(struct gyre_stack *stack, struct gyre_address to,
				 const struct gyre_type *type, struct gyre_mail *mail,
				 uint64_t timeout_ns, struct gyre_future *ret_future)
{
	if (!gyre_mail_is(mail, type)) {
		gyre_mail_destroy(stack, mail);
		if (ret_future == NULL) {
			return -EINVAL;
		}
		ret_future->promise = NULL;
		ret_future->id = 0;
		ret_future->error = -EPROTO;
		return -EPROTO;
	}
	return gyre_ask(stack, to, mail, timeout_ns, ret_future);
}

GYRE_END_DECLS

#endif
