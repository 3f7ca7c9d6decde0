/*
 * What programs have compiled into them: sizes of public structures and places of their members.
 * Another value is another soname; see CONTRIBUTING.md. lib/gyre.inline lists what headers inline.
 *
 * Structures that are FROZEN keep their size, those that GROW may get members at their ends.
 * Written by scripts/check_abi.py --keep, as are the lists.
 */
#ifndef GY_SYSTEM_LAYOUTS_H
#define GY_SYSTEM_LAYOUTS_H

#include <gyre/gyre.h>

#include <stddef.h>

#define FROZEN(NAME, BYTES) \
	_Static_assert(sizeof(struct NAME) == (BYTES), "struct " #NAME " has another size")
#define GROWS(NAME, BYTES) \
	_Static_assert(sizeof(struct NAME) >= (BYTES), "struct " #NAME " has lost members")
#define AT(NAME, MEMBER, OFFSET, BYTES)                                          \
	_Static_assert(offsetof(struct NAME, MEMBER) == (OFFSET) &&              \
			       sizeof(((struct NAME *)NULL)->MEMBER) == (BYTES), \
		       #MEMBER " of struct " #NAME " was moved or has another size")
#define TAIL(NAME, MEMBER, OFFSET, BYTES)                                           \
	_Static_assert(offsetof(struct NAME, MEMBER) == (OFFSET) &&                 \
			       sizeof(((struct NAME *)NULL)->MEMBER[0]) == (BYTES), \
		       #MEMBER " of struct " #NAME " was moved or has other elements")

#endif
