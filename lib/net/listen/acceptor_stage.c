/*
 * The stages of an acceptor and the steps between them, and how they and its obstacles are printed.
 */
#include <stdio.h>

#include "net/listen/acceptor.h"

#define TO(stage) (1U << GY_ACCEPTOR_##stage)

static const uint32_t may_go[GY_ACCEPTOR_STAGES] = {
	[GY_ACCEPTOR_SERVING] = TO(MOVING) | TO(CLOSING),
	[GY_ACCEPTOR_MOVING] = TO(HANDED_OVER) | TO(LEFT) | TO(CLOSING),
	[GY_ACCEPTOR_HANDED_OVER] = TO(LEFT) | TO(CLOSING),
};

static const char *const stage_names[GY_ACCEPTOR_STAGES] = {
	[GY_ACCEPTOR_SERVING] = "serving",	   [GY_ACCEPTOR_MOVING] = "moving",
	[GY_ACCEPTOR_HANDED_OVER] = "handed over", [GY_ACCEPTOR_LEFT] = "left",
	[GY_ACCEPTOR_CLOSING] = "closing",
};

static const char *const obstacle_names[GY_OBSTACLES] = {
	"memory is short",
	"a limit is reached",
	"the accept is begun again",
	"the accept is being cancelled",
	"the kernel lacks something",
};

bool gy_acceptor_stage_is_allowed(enum gy_acceptor_stage from, enum gy_acceptor_stage to)
{
	return from < GY_ACCEPTOR_STAGES && (may_go[from] >> to & 1U) != 0;
}

const char *gy_acceptor_stage_name(enum gy_acceptor_stage stage)
{
	return stage < GY_ACCEPTOR_STAGES ? stage_names[stage] : "no stage";
}

const char *gy_obstacles_describe(uint32_t obstacles, char text[GY_OBSTACLES_TEXT_BYTES])
{
	int count = snprintf(text, GY_OBSTACLES_TEXT_BYTES, "%s", obstacles == 0 ? "none" : "");
	const char *separator = "";

	for (uint32_t i = 0; i < GY_OBSTACLES; i++) {
		if ((obstacles >> i & 1U) != 0 && count < GY_OBSTACLES_TEXT_BYTES) {
			count += snprintf(text + count, (size_t)(GY_OBSTACLES_TEXT_BYTES - count),
					  "%s%s", separator, obstacle_names[i]);
			separator = ", ";
		}
	}
	return text;
}
