/*
 * As most tests of TLS want them.
 */
#include "tls_pair.h"

#include <criterion/criterion.h>

void tls_pair_open(const struct tls_pair *pair)
{
	const struct tls_cert *ca = &pair->certs->ca;

	tls_certs_open(pair->certs);
	tls_rig_init(pair->server);
	tls_rig_init(pair->client);
	*pair->server_options =
		(struct gyre_tls_options){ .context = tls_rig_context(&pair->certs->server, ca) };
	*pair->client_options = (struct gyre_tls_options){ .context = tls_rig_context(NULL, ca),
							   .server_name = "localhost" };
}

void tls_pair_begin(const struct tls_pair *pair)
{
	cr_assert_eq(tls_rig_begin(pair->server, gyre_tls_server_add, pair->server_options), 0);
	cr_assert_eq(tls_rig_begin(pair->client, gyre_tls_client_add, pair->client_options), 0);
}

void tls_pair_close(const struct tls_pair *pair)
{
	tls_rig_fini(pair->server);
	tls_rig_fini(pair->client);
	gyre_tls_context_unref(pair->server_options->context);
	gyre_tls_context_unref(pair->client_options->context);
	tls_certs_close(pair->certs);
}
