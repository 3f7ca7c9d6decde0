/*
 * What the tests of the simulator share.
 */
#ifndef TEST_SIM_RIG_H
#define TEST_SIM_RIG_H

#include <gyre/gyre.h>
#include <gyre/sim.h>

#include <criterion/criterion.h>

/* A simulation of @seed. */
static inline struct gyre_sim *sim_make(uint64_t seed)
{
	const struct gyre_sim_options options = { .seed = seed };
	struct gyre_sim *sim;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	return sim;
}

static inline uint32_t sim_add(struct gyre_sim *sim, const char *name, gyre_sim_boot_fn boot,
			       void *arg)
{
	uint32_t host;

	cr_assert_eq(gyre_sim_host(sim, name, boot, arg, &host), 0);
	return host;
}

#endif
