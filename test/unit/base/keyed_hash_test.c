/*
 * The keyed hash, beside OpenSSL's.
 */
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/keyed_hash.h"

enum { BYTES_MAX = 70 };

static uint64_t expected(const struct gy_hash_key *key, const unsigned char *bytes, size_t count)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "SIPHASH", NULL);
	EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
	size_t size = sizeof(uint64_t);
	const OSSL_PARAM parameters[] = { OSSL_PARAM_construct_size_t("size", &size),
					  OSSL_PARAM_construct_end() };
	uint64_t hash = 0;
	size_t written;

	cr_assert_eq(EVP_MAC_init(context, (const unsigned char *)key, sizeof(*key), parameters),
		     1);
	cr_assert_eq(EVP_MAC_update(context, bytes, count), 1);
	cr_assert_eq(EVP_MAC_final(context, (unsigned char *)&hash, &written, sizeof(hash)), 1);
	cr_assert_eq(written, sizeof(hash));
	EVP_MAC_CTX_free(context);
	EVP_MAC_free(mac);
	return hash;
}

Test(keyed_hash, is_that_of_openssl_for_every_length)
{
	const struct gy_hash_key key = { UINT64_C(0x0706050403020100),
					 UINT64_C(0x0f0e0d0c0b0a0908) };
	unsigned char bytes[BYTES_MAX];

	for (size_t i = 0; i < BYTES_MAX; i++) {
		cr_assert_eq(gy_keyed_hash(&key, bytes, i), expected(&key, bytes, i),
			     "of %zu bytes", i);
		bytes[i] = (unsigned char)(7 * i + 3);
	}
	cr_assert_eq(gy_keyed_hash(&key, NULL, 0), UINT64_C(0x726fdb47dd0e0e31));
}
