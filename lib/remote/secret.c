/*
 * The shared secret. All keys are derived from it and the name of the cluster (HKDF with SHA-256),
 * each for one use; the secret itself is not kept. Whoever sees a handshake can try guesses at it
 * afterwards, as with every such key: so it has to be random, not a word.
 *
 * Links are TLS by such a key: see channel/tls/tls_psk.c. There are two secrets while one takes the
 * place of the other: every node takes both, and dials with the one that was taken last.
 *
 * Where links have certificates, or are not to be encrypted, the secret is proved in their
 * greetings: each side shows a keyed hash over what both have said in their hellos, random numbers
 * of both among them, over which side it is, and over the TLS connection: so that no answer can be
 * used again, on another connection, by the other side, or by a node between the two.
 */
#include "remote/secret.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/random.h"
#include "remote/link/link.h"
#include "remote/node.h"
#include "remote/wire.h"

enum { PURPOSE_BYTES_MAX = 16 };

/* ---- keys ---- */

/* Derives the key of one use; -ENOMEM. */
static int derive(const char *secret, const char *purpose, const char *cluster, unsigned char *key,
		  size_t bytes)
{
	char digest[] = "SHA256";
	char salt[] = "gyre node";
	char info[PURPOSE_BYTES_MAX + GYRE_NODE_NAME_BYTES_MAX + 2];
	size_t info_bytes = (size_t)snprintf(info, sizeof(info), "%s:%s", purpose, cluster);
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *context = kdf == NULL ? NULL : EVP_KDF_CTX_new(kdf);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt, sizeof(salt) - 1),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)secret,
						  strlen(secret)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, info_bytes),
		OSSL_PARAM_construct_end(),
	};
	int r = context != NULL && EVP_KDF_derive(context, key, bytes, params) == 1 ? 0 : -ENOMEM;

	EVP_KDF_CTX_free(context);
	EVP_KDF_free(kdf);
	return r;
}

int gy_secret_derive(const char *secret, const char *cluster, struct gy_secret *ret_secret)
{
	int r = derive(secret, "link", cluster, ret_secret->key.bytes,
		       sizeof(ret_secret->key.bytes));

	if (r == 0) {
		r = derive(secret, "name", cluster, ret_secret->key.name,
			   sizeof(ret_secret->key.name));
	}
	if (r == 0) {
		r = derive(secret, "proof", cluster, ret_secret->proof_key,
			   sizeof(ret_secret->proof_key));
	}
	return r;
}

/* ---- those of a node ---- */

static int check(const struct gy_nodes *nodes, const char *name, const char *secret)
{
	size_t bytes = secret == NULL ? GY_SECRET_BYTES_MIN : strlen(secret);

	if (bytes >= GY_SECRET_BYTES_MIN && bytes <= GY_SECRET_BYTES_MAX) {
		return 0;
	}
	gy_log(nodes->log, GYRE_LOG_ERROR,
	       "%s of the node has %zu bytes: it must have from %d to %d, and be random; `openssl "
	       "rand -hex 32` makes one",
	       name, bytes, GY_SECRET_BYTES_MIN, GY_SECRET_BYTES_MAX);
	return -EINVAL;
}

static int check_all(const struct gy_nodes *nodes)
{
	const struct gyre_node_options *options = &nodes->options;
	const char *wrong = NULL;

	if (options->secret == NULL && options->secret_before != NULL) {
		wrong = "secret_before of the node is given without a secret: secret is the new "
			"one";
	} else if (options->no_encryption && options->tls != NULL) {
		wrong = "tls and no_encryption of the node exclude each other: give one of them";
	}
	if (wrong != NULL) {
		gy_log(nodes->log, GYRE_LOG_ERROR, "%s", wrong);
		return -EINVAL;
	}
	return check(nodes, "secret", options->secret) < 0
		       ? -EINVAL
		       : check(nodes, "secret_before", options->secret_before);
}

/* Makes a context for each secret to dial with; all of them accept all secrets. */
static int make_contexts(struct gy_nodes *nodes)
{
	struct gy_tls_key keys[GY_SECRETS_MAX];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < nodes->secrets_count; i++) {
		for (uint32_t k = 0; k < nodes->secrets_count; k++) {
			keys[k] = nodes->secrets[(i + k) % nodes->secrets_count].key;
		}
		r = gy_tls_context_create_keyed(nodes->log, keys, nodes->secrets_count,
						&nodes->secrets[i].tls);
	}
	OPENSSL_cleanse(keys, sizeof(keys));
	return r;
}

int gy_secrets_init(struct gy_nodes *nodes)
{
	struct gyre_node_options *options = &nodes->options;
	const char *texts[GY_SECRETS_MAX] = { options->secret, options->secret_before };
	int r = check_all(nodes);

	for (uint32_t i = 0; r == 0 && i < GY_SECRETS_MAX && texts[i] != NULL; i++) {
		r = gy_secret_derive(texts[i], nodes->cluster, &nodes->secrets[i]);
		nodes->secrets_count += r == 0;
	}
	options->secret = NULL; /* the caller's, who may forget them now */
	options->secret_before = NULL;
	return r < 0 || gy_secrets_are_proved(nodes) ? r : make_contexts(nodes);
}

void gy_secrets_fini(struct gy_nodes *nodes)
{
	for (uint32_t i = 0; i < GY_SECRETS_MAX; i++) {
		gyre_tls_context_unref(nodes->secrets[i].tls);
	}
	OPENSSL_cleanse(nodes->secrets, sizeof(nodes->secrets));
}

struct gyre_tls_context *gy_secrets_tls(const struct gy_link *link)
{
	const struct gy_nodes *nodes = link->links->nodes;

	return nodes->options.tls != NULL ? nodes->options.tls : nodes->secrets[link->secret].tls;
}

/* ---- proofs ---- */

bool gy_secrets_are_proved(const struct gy_nodes *nodes)
{
	return nodes->secrets_count > 0 &&
	       (nodes->options.tls != NULL || nodes->options.no_encryption);
}

int gy_secret_prove(const struct gy_secret *secret, const unsigned char *binding,
		    const struct gy_hello *mine, const struct gy_hello *theirs, bool dialled,
		    unsigned char ret_proof[GY_PROOF_BYTES])
{
	unsigned char text[1 + GY_TLS_BINDING_BYTES + 2 * GY_HELLO_BYTES_MAX];
	unsigned int bytes = 0;
	size_t count = 1;

	text[0] = dialled ? 'd' : 'a';
	memcpy(text + count, binding, GY_TLS_BINDING_BYTES);
	count += GY_TLS_BINDING_BYTES;
	count += gy_hello_put(mine, text + count);
	count += gy_hello_put(theirs, text + count);
	if (HMAC(EVP_sha256(), secret->proof_key, sizeof(secret->proof_key), text, count, ret_proof,
		 &bytes) == NULL ||
	    bytes != GY_PROOF_BYTES) {
		return -EIO;
	}
	return 0;
}

int gy_secret_random(void *bytes, size_t count)
{
	return gy_random_fill(bytes, count);
}
