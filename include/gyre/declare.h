/*
 * The expansion of GYRE_MESSAGE() and its like: nothing here is for direct use.
 *
 * For a struct price they declare gyre_id_price, gyre_type_price, gyre_fill_price(), which puts a
 * value into a mail, so that the compiler checks its type, gyre_put_price(), which does the same by
 * an address, and gyre_copy_price(), which makes a mail for a value. Where C and C++ differ, there
 * is a definition for each.
 */
#ifndef GYRE_DECLARE_H
#define GYRE_DECLARE_H

#include <gyre/api.h>

#ifdef __cplusplus
#define GYRE_ASSERT_(CONDITION, TEXT) static_assert(CONDITION, TEXT)
#define GYRE_ALIGNMENT_(NAME)	      alignof(struct NAME)
#define GYRE_IS_BYTES_(NAME)	      __is_trivially_copyable(NAME)
/* A struct without members has a size in C++ and none in C, where mail has none either. */
#define GYRE_BYTES_(NAME)		      (__is_empty(NAME) ? 0 : sizeof(struct NAME))
#define GYRE_POINTER_(NAME, VALUE)	      static_cast<struct NAME *>(VALUE)
#define GYRE_IS_DESTRUCTOR_OF_(NAME, DESTROY) true
/* It may say that it does not throw. */
#define GYRE_IS_COPY_OF_(NAME, COPY)                             \
	(__is_same(decltype(&(COPY)), int (*)(struct NAME *)) || \
	 __is_same(decltype(&(COPY)), int (*)(struct NAME *) noexcept))
#define GYRE_IS_COUNT_(NAME, COUNT) (sizeof(((struct NAME *)NULL)->COUNT) == 4)
/* A parameter for a value that is not copied, its address, and an argument for it. */
#define GYRE_BY_ADDRESS_(NAME, VALUE) const struct NAME &VALUE
#define GYRE_ADDRESS_OF_(VALUE)	      (&(VALUE))
#define GYRE_PASS_(...)		      __VA_ARGS__
/* The name of a struct that a variable of the same name does not hide; and what finds the type of a
 * message in templates. That gets a pointer to a pointer, which one to a derived struct does not
 * become: that is another message, or none. */
#define GYRE_ALIAS_(NAME) using gyre_struct_##NAME = struct NAME;
#define GYRE_TYPE_FOR_(NAME)                                           \
	extern "C++" {                                                 \
	static inline __attribute__((unused)) const struct gyre_type * \
	gyre_type_for(const struct NAME *const *)                      \
	{                                                              \
		return &gyre_type_##NAME;                              \
	}                                                              \
	}
#define GYRE_TAIL_FOR_(NAME)                                                                 \
	extern "C++" {                                                                       \
	static inline __attribute__((unused)) void gyre_has_tail(const struct NAME *const *) \
	{                                                                                    \
	}                                                                                    \
	}
#define GYRE_FILLED_(NAME, ...) GYRE_VALUE(gyre_struct_##NAME, __VA_ARGS__)
#else
#define GYRE_ASSERT_(CONDITION, TEXT) _Static_assert(CONDITION, TEXT)
#define GYRE_ALIGNMENT_(NAME)	      _Alignof(struct NAME)
#define GYRE_IS_BYTES_(NAME)	      1
#define GYRE_BYTES_(NAME)	      (sizeof(struct NAME))
/* A pointer of another type is an error here, where an argument would only be warned of. */
#define GYRE_POINTER_(NAME, VALUE)    _Generic((VALUE), struct NAME * : (VALUE))
#define GYRE_IS_DESTRUCTOR_OF_(NAME, DESTROY) \
	_Generic(&(DESTROY), void (*)(struct NAME *) : 1, default : 0)
#define GYRE_IS_COPY_OF_(NAME, COPY) _Generic(&(COPY), int (*)(struct NAME *) : 1, default : 0)
#define GYRE_IS_COUNT_(NAME, COUNT) \
	_Generic(&((struct NAME *)NULL)->COUNT, uint32_t * : 1, default : 0)
#define GYRE_BY_ADDRESS_(NAME, VALUE) const struct NAME *VALUE
#define GYRE_ADDRESS_OF_(VALUE)	      (VALUE)
#define GYRE_PASS_(...)		      (&__VA_ARGS__)
#define GYRE_ALIAS_(NAME)
#define GYRE_TYPE_FOR_(NAME)
#define GYRE_TAIL_FOR_(NAME)
#define GYRE_FILLED_(NAME, ...) GYRE_VALUE(NAME, __VA_ARGS__)
#endif

/*
 * What owns something has a destructor, and perhaps a function that copies: gyre_destroy_NAME() and
 * gyre_own_copy_NAME() call them with the type that they were written for. The macros that declare
 * such messages end in the names of one or two functions.
 */
#define GYRE_OWNING_(NAME, ...) \
	GYRE_OF_TWO_(__VA_ARGS__, GYRE_COPIED_, GYRE_DESTROY_, )(NAME, __VA_ARGS__)

#define GYRE_COPY_OF_(NAME, ...) GYRE_OF_TWO_(__VA_ARGS__, GYRE_OWN_COPY_, GYRE_NO_COPY_, )(NAME)

#define GYRE_OF_TWO_(FIRST, SECOND, PICKED, ...) PICKED
#define GYRE_OWN_COPY_(NAME)			 gyre_own_copy_##NAME
#define GYRE_NO_COPY_(NAME)			 NULL

#define GYRE_COPIED_(NAME, DESTROY, COPY)                                                      \
	GYRE_DESTROY_(NAME, DESTROY)                                                           \
	GYRE_ASSERT_(GYRE_IS_COPY_OF_(NAME, COPY),                                             \
		     "the function that copies " #NAME " is not an int (struct " #NAME " *)"); \
	static inline __attribute__((unused)) int gyre_own_copy_##NAME(void *payload)          \
	{                                                                                      \
		return COPY((struct NAME *)payload);                                           \
	}

#define GYRE_DESTROY_(NAME, DESTROY)                                                  \
	GYRE_ASSERT_(GYRE_IS_DESTRUCTOR_OF_(NAME, DESTROY),                           \
		     "the destructor of " #NAME " takes another type");               \
	static inline __attribute__((unused)) void gyre_destroy_##NAME(void *payload) \
	{                                                                             \
		DESTROY((struct NAME *)payload);                                      \
	}

/* Marks a message that is sent as a notice; a request is marked by GYRE_ANSWER_(). A protocol looks
 * for these names, and so does who reads the error of a compiler that finds none. */
#define GYRE_NOTICE_(NAME)                  \
	enum {                              \
		gyre_is_notice_##NAME = 1,  \
		gyre_has_answer_##NAME = 0, \
	};

/* EXPRESSION, where NAME declares an answer. What else is wrong without one are many lines, and so
 * comes behind the text of this. */
#define GYRE_IF_ANSWERED_(NAME, EXPRESSION)                                                    \
	((void)__extension__({                                                                 \
		 GYRE_ASSERT_(gyre_has_answer_##NAME,                                          \
			      #NAME " declares no answer: what is named here is the request, " \
				    "as in GYRE_REQUEST(), and not the answer");               \
		 0;                                                                            \
	 }),                                                                                   \
	 EXPRESSION)

/* A type of a program's own. */
#define GYRE_TYPE_(NAME, ID, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING)                 \
	GYRE_ASSERT_((ID) >= 0x100, "the type id of " #NAME                                   \
				    " is below 0x100: those are gyre's own, choose another"); \
	GYRE_OWN_TYPE_(NAME, ID, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING)

/* The same for types of gyre, whose ids are below 0x100. */
#define GYRE_OWN_MESSAGE_(NAME, ID) GYRE_OWN_TYPE_(NAME, ID, NULL, NULL, NULL, 0, NULL)
#define GYRE_OWN_MESSAGE_OWNING_(NAME, ID, DESTROY) \
	GYRE_DESTROY_(NAME, DESTROY)                \
	GYRE_OWN_TYPE_(NAME, ID, gyre_destroy_##NAME, NULL, NULL, 0, NULL)
#define GYRE_OWN_MESSAGE_COPIED_(NAME, ID, DESTROY, COPY) \
	GYRE_COPIED_(NAME, DESTROY, COPY)                 \
	GYRE_OWN_TYPE_(NAME, ID, gyre_destroy_##NAME, gyre_own_copy_##NAME, NULL, 0, NULL)

#define GYRE_OWN_TYPE_(NAME, ID, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING)                 \
	GYRE_TABLE_(NAME, ID, GYRE_BYTES_(NAME), DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING, \
		    GYRE_NO_TAIL_)                                                                \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_##NAME(                 \
		struct gyre_mail *mail, struct NAME value)                                        \
	{                                                                                         \
		if (mail != NULL) {                                                               \
			if (gyre_type_##NAME.bytes > 0) {                                         \
				*(struct NAME *)gyre_payload(mail) = value;                       \
			}                                                                         \
		} else if (gyre_type_##NAME.destroy != NULL) {                                    \
			gyre_type_##NAME.destroy(&value);                                         \
		}                                                                                 \
		return mail;                                                                      \
	}                                                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_put_##NAME(                  \
		struct gyre_mail *mail, const struct NAME *value)                                 \
	{                                                                                         \
		return gyre_fill_##NAME(mail, *value);                                            \
	}                                                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_copy_##NAME(                 \
		struct gyre_stack *stack, struct gyre_system *system, const struct NAME *from)    \
	{                                                                                         \
		return gyre_fill_##NAME(                                                          \
			stack != NULL ? gyre_mail_make(stack, &gyre_type_##NAME)                  \
				      : gyre_system_mail_create(system, &gyre_type_##NAME),       \
			*from);                                                                   \
	}                                                                                         \
	struct gyre_needs_a_semicolon

/* What a type needs in any case: its id, its table, and a struct that can be moved. */
#define GYRE_TABLE_(NAME, ID, BYTES, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING, ...)  \
	GYRE_ASSERT_(sizeof(struct NAME) <= GYRE_MESSAGE_BYTES_MAX,                         \
		     #NAME " is too large for mail");                                       \
	GYRE_ASSERT_(GYRE_ALIGNMENT_(NAME) <= 8, #NAME " is aligned to more than mail is"); \
	GYRE_ASSERT_(GYRE_IS_BYTES_(NAME), #NAME " cannot be moved as bytes");              \
	GYRE_ALIAS_(NAME)                                                                   \
	enum { gyre_id_##NAME = (ID) };                                                     \
	static const struct gyre_type gyre_type_##NAME                                      \
		__attribute__((unused)) = { #NAME,                                          \
					    (uint32_t)(ID),                                 \
					    (uint32_t)(BYTES),                              \
					    (DESTROY),                                      \
					    (ANSWER),                                       \
					    (uint32_t)sizeof(struct gyre_type),             \
					    (uint32_t)(ENCODING_BYTES),                     \
					    (ENCODING),                                     \
					    __VA_ARGS__,                                    \
					    (COPY) };                                       \
	GYRE_TYPE_FOR_(NAME)

#define GYRE_NO_TAIL_      \
	{                  \
		0, 0, 0, 0 \
	}

/* The members, if any, end in a comma: a macro may not have no arguments for its dots. */
#define GYRE_NEW_(MAKE, FROM, NAME, ...) \
	gyre_fill_##NAME(MAKE((FROM), &gyre_type_##NAME), GYRE_FILLED_(NAME, __VA_ARGS__))

/* Messages with a tail: see tail.h. */

#define GYRE_NEW_TAIL_(MAKE, FROM, NAME, COUNT, ...)                      \
	gyre_put_counted_##NAME(MAKE((FROM), &gyre_type_##NAME, (COUNT)), \
				GYRE_PASS_(GYRE_FILLED_(NAME, __VA_ARGS__)))

struct gyre_new_tail_is_for_messages_with_tails;

#define GYRE_ELEMENT_(NAME, TAIL) (((struct NAME *)NULL)->TAIL[0])

/* gyre_fill_NAME() is declared so that gyre_new() and its like do not compile. */
#define GYRE_TAIL_TYPE_(NAME, ID, TAIL, COUNT, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING) \
	GYRE_ASSERT_((ID) >= 0x100, "the type id of " #NAME                                     \
				    " is below 0x100: those are gyre's own, choose another");   \
	GYRE_OWN_TAIL_TYPE_(NAME, ID, TAIL, COUNT, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING)

/* The same for types of gyre. */
#define GYRE_OWN_MESSAGE_TAIL_(NAME, ID, TAIL, COUNT) \
	GYRE_OWN_TAIL_TYPE_(NAME, ID, TAIL, COUNT, NULL, NULL, NULL, 0, NULL)

#define GYRE_OWN_TAIL_TYPE_(NAME, ID, TAIL, COUNT, DESTROY, COPY, ANSWER, ENCODING_BYTES,       \
			    ENCODING)                                                           \
	GYRE_ASSERT_(sizeof(struct NAME) - offsetof(struct NAME, TAIL) < GYRE_ALIGNMENT_(NAME), \
		     #TAIL " of " #NAME " is not an array without a length at its end");        \
	GYRE_ASSERT_(GYRE_IS_COUNT_(NAME, COUNT), #COUNT " of " #NAME " is not a uint32_t");    \
	enum {                                                                                  \
		gyre_tail_max_##NAME = (GYRE_MESSAGE_BYTES_MAX - offsetof(struct NAME, TAIL)) / \
				       sizeof(GYRE_ELEMENT_(NAME, TAIL))                        \
	};                                                                                      \
	GYRE_TABLE_(NAME, ID, GYRE_BYTES_VARY, DESTROY, COPY, ANSWER, ENCODING_BYTES, ENCODING, \
		    { (uint32_t)sizeof(struct NAME), (uint32_t)offsetof(struct NAME, TAIL),     \
		      (uint32_t)sizeof(GYRE_ELEMENT_(NAME, TAIL)),                              \
		      (uint32_t)offsetof(struct NAME, COUNT) })                                 \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_##NAME(               \
		struct gyre_mail *mail,                                                         \
		const struct gyre_new_tail_is_for_messages_with_tails *never)                   \
	{                                                                                       \
		(void)never;                                                                    \
		return mail;                                                                    \
	}                                                                                       \
	GYRE_TAIL_FOR_(NAME)                                                                    \
	GYRE_TAIL_PUT_(NAME, TAIL, COUNT)                                                       \
	GYRE_TAIL_COPY_(NAME, TAIL, COUNT)                                                      \
	struct gyre_needs_a_semicolon

/*
 * Puts a value into a mail, up to the first element: the padding of the struct may lie under that.
 * A value without a mail has no elements for the destructor, whatever it says.
 */
#define GYRE_TAIL_PUT_(NAME, TAIL, COUNT)                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_put_##NAME(                  \
		struct gyre_mail *mail, const struct NAME *value)                                 \
	{                                                                                         \
		if (mail != NULL) {                                                               \
			__builtin_memcpy(gyre_payload(mail), value, offsetof(struct NAME, TAIL)); \
		} else if (gyre_type_##NAME.destroy != NULL) {                                    \
			struct NAME alone = *value;                                               \
                                                                                                  \
			alone.COUNT = 0;                                                          \
			gyre_type_##NAME.destroy(&alone);                                         \
		}                                                                                 \
		return mail;                                                                      \
	}                                                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_put_counted_##NAME(          \
		struct gyre_mail *mail, GYRE_BY_ADDRESS_(NAME, value))                            \
	{                                                                                         \
		struct NAME *payload = mail == NULL ? NULL : (struct NAME *)gyre_payload(mail);   \
		const uint32_t count = payload == NULL ? 0 : payload->COUNT;                      \
                                                                                                  \
		(void)gyre_put_##NAME(mail, GYRE_ADDRESS_OF_(value));                             \
		if (payload != NULL) {                                                            \
			payload->COUNT = count;                                                   \
		}                                                                                 \
		return mail;                                                                      \
	}                                                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_elements_##NAME(        \
		struct gyre_mail *mail, const __typeof__(GYRE_ELEMENT_(NAME, TAIL)) *elements)    \
	{                                                                                         \
		struct NAME *payload = mail == NULL ? NULL : (struct NAME *)gyre_payload(mail);   \
                                                                                                  \
		if (payload != NULL && payload->COUNT > 0) {                                      \
			__builtin_memcpy(payload->TAIL, elements,                                 \
					 payload->COUNT * sizeof(*elements));                     \
		}                                                                                 \
		return mail;                                                                      \
	}

#define GYRE_TAIL_COPY_(NAME, TAIL, COUNT)                                                         \
	static inline __attribute__((unused)) struct gyre_mail *gyre_copy_##NAME(                  \
		struct gyre_stack *stack, struct gyre_system *system, const struct NAME *from)     \
	{                                                                                          \
		struct gyre_mail *mail =                                                           \
			stack != NULL                                                              \
				? gyre_mail_create_tail(stack, &gyre_type_##NAME, from->COUNT)     \
				: gyre_system_mail_create_tail(system, &gyre_type_##NAME,          \
							       from->COUNT);                       \
                                                                                                   \
		if (mail != NULL) {                                                                \
			__builtin_memcpy(gyre_payload(mail), from,                                 \
					 offsetof(struct NAME, TAIL) +                             \
						 from->COUNT * sizeof(GYRE_ELEMENT_(NAME, TAIL))); \
		} else if (gyre_type_##NAME.destroy != NULL) {                                     \
			gyre_type_##NAME.destroy((void *)(uintptr_t)from);                         \
		}                                                                                  \
		return mail;                                                                       \
	}

#endif
