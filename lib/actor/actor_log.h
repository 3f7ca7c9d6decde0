/*
 * Lines that actors log, and the name that they have in the log.
 */
#ifndef GY_ACTOR_ACTOR_LOG_H
#define GY_ACTOR_ACTOR_LOG_H

#include <stdbool.h>

#include <gyre/address.h>
#include <gyre/log.h>

#include "actor/class_info.h"
#include "base/log/log.h"

struct gy_home;
struct gy_house;

/* "actor ", the name of a class, an address, " on loop 65535: ". */
enum { GY_ACTOR_NAME_BYTES = GY_CLASS_NAME_BYTES + GYRE_ADDRESS_TEXT_MAX + 32 };

/* Whether a program's line of that level is written at all; a level that is none is not. */
static inline bool gy_log_takes(const struct gy_log *log, enum gyre_log_level level)
{
	return gy_log_is_written(log, level) && level > GYRE_LOG_DEFAULT && level <= GYRE_LOG_ERROR;
}

/* "actor shop [0:12:3f]: ", and where it runs if that is not its own loop; returns @text. On the
 * thread of @home, which runs it. */
const char *gy_actor_name(const struct gy_home *home, const struct gy_house *house,
			  char text[GY_ACTOR_NAME_BYTES]);

#endif
