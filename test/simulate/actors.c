/* A random program, with everything drawn. */
#include "actors.h"

#include "../random/random.h"

void actors_play(uint64_t seed)
{
	struct plan plan = plan_draw(seed, 0, 0);
	struct tally tally = { 0 };

	play(&plan, &tally);
}
