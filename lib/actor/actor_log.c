/*
 * A line of an actor goes to the log of the loop that runs it, so that all lines of a loop keep
 * their order, and counts for its class, on whichever loop.
 */
#include "actor/actor_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "actor/address_text.h"
#include "actor/class_log.h"
#include "actor/stack/stack.h"

const char *gy_actor_name(const struct gy_home *home, const struct gy_house *house,
			  char text[GY_ACTOR_NAME_BYTES])
{
	char address[GYRE_ADDRESS_TEXT_MAX];
	char where[24] = "";

	if (home != house->home) {
		(void)snprintf(where, sizeof(where), " on loop %u", (unsigned)home->loop.index);
	}
	(void)snprintf(text, GY_ACTOR_NAME_BYTES, "actor %s %s%s: ", house->class_info->name,
		       gy_address_text(gy_house_address(house), address), where);
	return text;
}

void gyre_log(const struct gyre_stack *stack, enum gyre_log_level level, const char *format, ...)
{
	const struct gy_stack *s = gy_stack_of_const(stack);
	const struct gy_log *log = s->home->loop.options.log;
	char name[GY_ACTOR_NAME_BYTES];
	int error = errno;
	va_list args;

	if (format == NULL || !gy_log_takes(log, level)) {
		return;
	}
	if (gy_class_log_admit(s->home, s->house->class_info->log)) {
		(void)gy_actor_name(s->home, s->house, name);
		errno = error; /* for %m */
		va_start(args, format);
		(void)gy_log_between(log, level, name, "", format, args);
		va_end(args);
	}
	errno = error;
}
