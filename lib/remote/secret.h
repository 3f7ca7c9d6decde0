/*
 * The shared secret of a cluster, and what is derived from it; see secret.c.
 */
#ifndef GY_REMOTE_SECRET_H
#define GY_REMOTE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "channel/tls/tls.h"
#include "remote/wire.h"

struct gy_link;
struct gy_nodes;

enum {
	GY_SECRET_BYTES_MIN = 16,
	GY_SECRET_BYTES_MAX = 255,
	GY_SECRETS_MAX = GY_TLS_KEYS_MAX,
};

/* The keys that are derived from a shared secret; see secret.c. */
struct gy_secret {
	struct gy_tls_key key;
	unsigned char proof_key[GY_PROOF_BYTES];
	struct gyre_tls_context *tls; /* of links that are dialled with it; NULL for none */
};

/* All but its context; -ENOMEM. */
int gy_secret_derive(const char *secret, const char *cluster, struct gy_secret *ret_secret);
/* Takes those of the options, of a node that knows its cluster; what is wrong is logged. */
int gy_secrets_init(struct gy_nodes *nodes);
void gy_secrets_fini(struct gy_nodes *nodes);
/* Whether they are proved in handshakes, and do not encrypt links. */
bool gy_secrets_are_proved(const struct gy_nodes *nodes);
/* The context that encrypts the connections of a link; NULL for none. */
struct gyre_tls_context *gy_secrets_tls(const struct gy_link *link);
/*
 * What one side proves to the other: HMAC-SHA256 over its role, a binding to the connection of
 * GY_TLS_BINDING_BYTES, and both hellos. -EIO.
 */
int gy_secret_prove(const struct gy_secret *secret, const unsigned char *binding,
		    const struct gy_hello *mine, const struct gy_hello *theirs, bool dialled,
		    unsigned char ret_proof[GY_PROOF_BYTES]);
int gy_secret_random(void *bytes, size_t count);

#endif
