/*
 * The expansion of GYRE_MESSAGE() and its like: nothing here is for direct use.
 *
 * For a struct price they declare gyre_id_price, gyre_type_price, and gyre_fill_price(), which puts
 * a value into a mail, so that the compiler checks its type. Where C and C++ differ, there is a
 * definition for each.
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
/* The name of a struct that a variable of the same name does not hide. */
#define GYRE_ALIAS_(NAME)	using gyre_struct_##NAME = struct NAME;
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
#define GYRE_ALIAS_(NAME)
#define GYRE_FILLED_(NAME, ...) GYRE_VALUE(NAME, __VA_ARGS__)
#endif

/* The destructor, called with the type it was written for. */
#define GYRE_DESTROY_(NAME, DESTROY)                                                  \
	GYRE_ASSERT_(GYRE_IS_DESTRUCTOR_OF_(NAME, DESTROY),                           \
		     "the destructor of " #NAME " takes another type");               \
	static inline __attribute__((unused)) void gyre_destroy_##NAME(void *payload) \
	{                                                                             \
		DESTROY((struct NAME *)payload);                                      \
	}

/* A type of a program's own. */
#define GYRE_TYPE_(NAME, ID, DESTROY, ANSWER, ENCODING_BYTES, ENCODING)                       \
	GYRE_ASSERT_((ID) >= 0x100, "the type id of " #NAME                                   \
				    " is below 0x100: those are gyre's own, choose another"); \
	GYRE_OWN_TYPE_(NAME, ID, DESTROY, ANSWER, ENCODING_BYTES, ENCODING)

/* The same for types of gyre, whose ids are below 0x100. */
#define GYRE_OWN_MESSAGE_(NAME, ID) GYRE_OWN_TYPE_(NAME, ID, NULL, NULL, 0, NULL)
#define GYRE_OWN_MESSAGE_OWNING_(NAME, ID, DESTROY) \
	GYRE_DESTROY_(NAME, DESTROY)                \
	GYRE_OWN_TYPE_(NAME, ID, gyre_destroy_##NAME, NULL, 0, NULL)

#define GYRE_OWN_TYPE_(NAME, ID, DESTROY, ANSWER, ENCODING_BYTES, ENCODING)                 \
	GYRE_ASSERT_(sizeof(struct NAME) <= GYRE_MESSAGE_BYTES_MAX,                         \
		     #NAME " is too large for mail");                                       \
	GYRE_ASSERT_(GYRE_ALIGNMENT_(NAME) <= 8, #NAME " is aligned to more than mail is"); \
	GYRE_ASSERT_(GYRE_IS_BYTES_(NAME), #NAME " cannot be moved as bytes");              \
	GYRE_ALIAS_(NAME)                                                                   \
	enum { gyre_id_##NAME = (ID) };                                                     \
	static const struct gyre_type gyre_type_##NAME                                      \
		__attribute__((unused)) = { #NAME,                                          \
					    (uint32_t)(ID),                                 \
					    (uint32_t)GYRE_BYTES_(NAME),                    \
					    (DESTROY),                                      \
					    (ANSWER),                                       \
					    (uint32_t)sizeof(struct gyre_type),             \
					    (uint32_t)(ENCODING_BYTES),                     \
					    (ENCODING) };                                   \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_##NAME(           \
		struct gyre_mail *mail, struct NAME value)                                  \
	{                                                                                   \
		if (mail != NULL) {                                                         \
			if (gyre_type_##NAME.bytes > 0) {                                   \
				*(struct NAME *)gyre_payload(mail) = value;                 \
			}                                                                   \
		} else if (gyre_type_##NAME.destroy != NULL) {                              \
			gyre_type_##NAME.destroy(&value);                                   \
		}                                                                           \
		return mail;                                                                \
	}                                                                                   \
	struct gyre_needs_a_semicolon

/* The members, if any, end in a comma: a macro may not have no arguments for its dots. */
#define GYRE_NEW_(MAKE, FROM, NAME, ...) \
	gyre_fill_##NAME(MAKE((FROM), &gyre_type_##NAME), GYRE_FILLED_(NAME, __VA_ARGS__))

#endif
