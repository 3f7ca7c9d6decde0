/*
 * What hosts share, as parts of one program.
 */
#include <pthread.h>

#include "net_rig.h"

static int contend(void *arg)
{
	static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

	for (uint32_t i = 0; i < 100; i++) {
		(void)pthread_mutex_lock(&shared);
		net_pause(GYRE_MICROSECONDS(1));
		(void)pthread_mutex_unlock(&shared);
	}
	++*(uint32_t *)arg;
	return 0;
}

Test(sim_shared, hands_a_mutex_from_a_host_to_another)
{
	struct gyre_sim *sim = sim_make(1);
	uint32_t done = 0;

	(void)sim_add(sim, "alpha", contend, &done);
	(void)sim_add(sim, "beta", contend, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(10)), 0);
	cr_assert_eq(done, 2);
	gyre_sim_destroy(sim);
}
