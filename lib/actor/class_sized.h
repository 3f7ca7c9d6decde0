/*
 * Classes and behaviours of programs, which may be of another size than ours: what they are checked
 * for where they come in, so that dispatch need not. A loop checks a class for its first actor.
 */
#ifndef GY_ACTOR_CLASS_SIZED_H
#define GY_ACTOR_CLASS_SIZED_H

#include <gyre/actor.h>

#include "actor/home.h"

/*
 * Replaces the pointer to a class of @class_bytes bytes by the one to keep, see base/sized.h, and
 * checks what is reserved in it; it may be NULL. -E2BIG, -EINVAL or -ENOMEM.
 */
int gy_class_sized(struct gy_homes *homes, const struct gyre_class **class, size_t class_bytes);

/* Checks what is reserved in options of a spawn, which may be NULL: -EINVAL. */
static inline int gy_spawn_options_check(const struct gyre_spawn_options *options,
					 const struct gy_log *log)
{
	return options == NULL ? 0 : GY_SIZED_RESERVED(gyre_spawn_options, options, log);
}

/* The first of these on a loop, where a class that has actors is known. */
static inline int gy_class_sized_at(struct gy_home *home, const struct gyre_class **class,
				    size_t class_bytes)
{
	if (gy_likely(class_bytes == sizeof(**class) &&
		      gy_class_infos_have(&home->class_infos, *class))) {
		return 0;
	}
	return gy_class_sized(gy_homes_of(home->options.system), class, class_bytes);
}

/* Checks what is reserved in a behaviour and its routes: -EINVAL. */
int gy_behaviour_check(const struct gyre_behaviour *behaviour, const struct gy_log *log);

#endif
