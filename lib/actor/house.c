/*
 * The steps that the status of a house may take.
 */
#include "actor/house.h"

#define TO(status) (1U << GY_HOUSE_##status)

static const uint32_t may_go[GY_HOUSE_STATUSES] = {
	[GY_HOUSE_FREE] = TO(CREATED),
	[GY_HOUSE_CREATED] = TO(MOUNTING) | TO(FREE), /* refused after all */
	[GY_HOUSE_MOUNTING] = TO(WAITING),
	[GY_HOUSE_WAITING] = TO(READY),
	[GY_HOUSE_READY] = TO(SCHEDULED),
	[GY_HOUSE_SCHEDULED] = TO(RUNNING) | TO(READY), /* no thief came */
	[GY_HOUSE_RUNNING] = TO(WAITING) | TO(STOPPING),
	[GY_HOUSE_STOPPING] = TO(FREE),
};

bool gy_house_status_is_allowed(enum gy_house_status from, enum gy_house_status to)
{
	return from < GY_HOUSE_STATUSES && (may_go[from] >> to & 1U) != 0;
}
