/*
 * The random numbers of OpenSSL, which asks the kernel for its seed by calls of its own. So hosts
 * get those of the simulation; the program outside of hosts has OpenSSL's as ever.
 */
#define OPENSSL_SUPPRESS_DEPRECATED /* the method: a provider would do no better */
#include <openssl/rand.h>

#include "sim/sim.h"

static int draw(unsigned char *memory, int count)
{
	const struct gy_sim_host *host = gy_sim_host_here();

	if (host == NULL) {
		return RAND_OpenSSL()->bytes(memory, count);
	}
	gy_sim_random_bytes(host->sim, memory, count > 0 ? (size_t)count : 0);
	return 1;
}

static int is_seeded(void)
{
	return 1;
}

void gy_sim_tls_random_init(void)
{
	static const RAND_METHOD simulated = { .bytes = draw,
					       .pseudorand = draw,
					       .status = is_seeded };

	if (RAND_get_rand_method() != &simulated) {
		(void)RAND_set_rand_method(&simulated);
	}
}
