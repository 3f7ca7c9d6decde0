/*
 * The shared secret. Each side shows that it has it by a keyed hash over what both have said in
 * their hellos, random numbers of both among them, and over which side it is: so that no answer can
 * be used again, on another connection or by the other side.
 */
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "remote/remote.h"

int gy_secret_prove(const char *secret, const struct gy_hello *mine, const struct gy_hello *theirs,
		    bool dialled, unsigned char ret_proof[GY_PROOF_BYTES])
{
	unsigned char text[1 + 2 * GY_HELLO_BYTES_MAX];
	unsigned int bytes = 0;
	size_t count = 1;

	text[0] = dialled ? 'd' : 'a';
	count += gy_hello_put(mine, text + count);
	count += gy_hello_put(theirs, text + count);
	if (HMAC(EVP_sha256(), secret, (int)strlen(secret), text, count, ret_proof, &bytes) ==
		    NULL ||
	    bytes != GY_PROOF_BYTES) {
		return -EIO;
	}
	return 0;
}

int gy_secret_random(void *bytes, size_t count)
{
	return RAND_bytes((unsigned char *)bytes, (int)count) == 1 ? 0 : -EIO;
}
