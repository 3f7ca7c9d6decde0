/*
 * A server and a client of tls_rig.h that know each other's certificates.
 */
#ifndef TEST_UNIT_CHANNEL_TLS_PAIR_H
#define TEST_UNIT_CHANNEL_TLS_PAIR_H

#include "tls_rig.h"

struct tls_pair {
	struct tls_certs *certs;
	struct tls_rig *server;
	struct tls_rig *client;
	struct gyre_tls_options *server_options;
	struct gyre_tls_options *client_options;
};

/* Makes all of it; nothing begins. */
void tls_pair_open(const struct tls_pair *pair);
void tls_pair_begin(const struct tls_pair *pair);
void tls_pair_close(const struct tls_pair *pair);

#endif
