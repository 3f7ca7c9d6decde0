/*
 * What GYRE_MESSAGE() and its like write into a program: nothing here is for direct use.
 *
 * For a struct price they declare gyre_id_price, gyre_type_price, and gyre_fill_price(), which puts
 * a value into a mail and so has the compiler check it. What C and C++ say differently is said
 * here once for each.
 */
#ifndef GYRE_DECLARE_H
#define GYRE_DECLARE_H

#include <gyre/api.h>

#ifdef __cplusplus
#define GYRE_ASSERT_(CONDITION, TEXT)	      static_assert(CONDITION, TEXT)
#define GYRE_ALIGNMENT_(NAME)		      alignof(struct NAME)
#define GYRE_IS_BYTES_(NAME)		      __is_trivially_copyable(NAME)
#define GYRE_POINTER_(NAME, VALUE)	      static_cast<struct NAME *>(VALUE)
#define GYRE_IS_DESTRUCTOR_OF_(NAME, DESTROY) true
/* The name of a struct that a variable of the same name does not hide. */
#define GYRE_ALIAS_(NAME)	using gyre_struct_##NAME = struct NAME;
#define GYRE_FILLED_(NAME, ...) GYRE_VALUE(gyre_struct_##NAME, __VA_ARGS__)
#else
#define GYRE_ASSERT_(CONDITION, TEXT) _Static_assert(CONDITION, TEXT)
#define GYRE_ALIGNMENT_(NAME)	      _Alignof(struct NAME)
#define GYRE_IS_BYTES_(NAME)	      1
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

#define GYRE_TYPE_(NAME, ID, DESTROY, ANSWER, ENCODING)                                     \
	GYRE_ASSERT_(sizeof(struct NAME) <= GYRE_MESSAGE_BYTES_MAX,                         \
		     #NAME " is too large for mail");                                       \
	GYRE_ASSERT_(GYRE_ALIGNMENT_(NAME) <= 8, #NAME " is aligned to more than mail is"); \
	GYRE_ASSERT_(GYRE_IS_BYTES_(NAME), #NAME " cannot be moved as bytes");              \
	GYRE_ALIAS_(NAME)                                                                   \
	enum { gyre_id_##NAME = (ID) };                                                     \
	static const struct gyre_type gyre_type_##NAME __attribute__((                      \
		unused)) = { #NAME,	(uint32_t)(ID), (uint32_t)sizeof(struct NAME),      \
			     (DESTROY), (ANSWER),	(ENCODING) };                       \
	static inline __attribute__((unused)) struct gyre_mail *gyre_fill_##NAME(           \
		struct gyre_mail *mail, struct NAME value)                                  \
	{                                                                                   \
		if (mail != NULL) {                                                         \
			*(struct NAME *)gyre_payload(mail) = value;                         \
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
