/*
 * Taking classes and behaviours in. A class that is as large as ours stays where it is.
 */
#include "actor/class_sized.h"

#include <errno.h>

#include "base/log/log.h"
#include "base/sized.h"

static int check_routes(const struct gyre_route *route, const struct gy_log *log)
{
	uint32_t reserved = 0;

	if (route == NULL) {
		return 0;
	}
	for (; route->id != 0; route++) {
		reserved |= route->reserved;
	}
	reserved |= route->reserved;
	return gy_sized_reserved(&reserved, sizeof(reserved), "struct gyre_route", log);
}

int gy_behaviour_check(const struct gyre_behaviour *behaviour, const struct gy_log *log)
{
	int r = GY_SIZED_RESERVED(gyre_behaviour, behaviour, log);

	if (r == 0) {
		r = check_routes(behaviour->notice_routes, log);
	}
	if (r == 0) {
		r = check_routes(behaviour->ask_routes, log);
	}
	if (r == 0) {
		r = check_routes(behaviour->event_routes, log);
	}
	return r;
}

static int check(const struct gyre_class *class, const struct gy_log *log)
{
	int r = gy_behaviour_check(&class->behaviour, log);

	return r < 0 ? r : GY_SIZED_RESERVED(gyre_supervision, &class->supervision, log);
}

int gy_class_sized(struct gy_homes *homes, const struct gyre_class **class, size_t class_bytes)
{
	int r = GY_SIZED_TABLE(gyre_class, &homes->tables, class, class_bytes, homes->log);

	return r < 0 || *class == NULL ? r : check(*class, homes->log);
}
