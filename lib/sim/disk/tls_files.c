/*
 * Files of certificates and keys, which OpenSSL would read by itself: those of hosts are on the
 * simulated disk, and are given to it from memory. What goes wrong is told by OpenSSL's errors, as
 * where it reads files: that of the C library with errno, and "no start line".
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/sim.h"
#include "sim/wrapped.h"

/* What is in a file. NULL, and OpenSSL's errors say why not. */
static BIO *read_file(const char *path)
{
	FILE *file = __wrap_fopen(path, "re");
	BIO *bytes;
	char part[4096];
	size_t count;

	if (file == NULL) {
		ERR_raise_data(ERR_LIB_SYS, errno, "calling fopen(%s, r)", path);
		ERR_raise(ERR_LIB_BIO, errno == ENOENT ? BIO_R_NO_SUCH_FILE : ERR_R_SYS_LIB);
		return NULL;
	}
	bytes = BIO_new(BIO_s_mem());
	while (bytes != NULL && (count = fread(part, 1, sizeof(part), file)) > 0) {
		if (BIO_write(bytes, part, (int)count) != (int)count) {
			BIO_free(bytes);
			bytes = NULL;
		}
	}
	(void)fclose(file);
	return bytes;
}

/* The error of a PEM file that has come to its end, where one or more were found, is none. */
static bool is_end(void)
{
	unsigned long error = ERR_peek_last_error();

	if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
		return false;
	}
	ERR_clear_error();
	return true;
}

/* ---- certificates ---- */

static bool use_chain(SSL_CTX *context, BIO *bytes)
{
	X509 *certificate =
		PEM_read_bio_X509_AUX(bytes, NULL, SSL_CTX_get_default_passwd_cb(context),
				      SSL_CTX_get_default_passwd_cb_userdata(context));
	bool works = certificate != NULL && SSL_CTX_use_certificate(context, certificate) == 1 &&
		     SSL_CTX_clear_chain_certs(context) == 1;

	X509_free(certificate);
	while (works) {
		certificate = PEM_read_bio_X509(bytes, NULL, NULL, NULL);
		if (certificate == NULL) {
			return is_end();
		}
		if (SSL_CTX_add0_chain_cert(context, certificate) != 1) {
			X509_free(certificate);
			works = false;
		}
	}
	return works;
}

int __wrap_SSL_CTX_use_certificate_chain_file(SSL_CTX *context, const char *path)
{
	BIO *bytes;
	bool works;

	if (gy_sim_here == NULL) {
		return __real_SSL_CTX_use_certificate_chain_file(context, path);
	}
	ERR_clear_error();
	bytes = read_file(path);
	works = bytes != NULL && use_chain(context, bytes);
	BIO_free(bytes);
	return works;
}

/* ---- keys ---- */

int __wrap_SSL_CTX_use_PrivateKey_file(SSL_CTX *context, const char *path, int type)
{
	EVP_PKEY *key = NULL;
	BIO *bytes;
	bool works;

	if (gy_sim_here == NULL || type != SSL_FILETYPE_PEM) {
		return __real_SSL_CTX_use_PrivateKey_file(context, path, type);
	}
	bytes = read_file(path);
	if (bytes != NULL) {
		key = PEM_read_bio_PrivateKey(bytes, NULL, SSL_CTX_get_default_passwd_cb(context),
					      SSL_CTX_get_default_passwd_cb_userdata(context));
	}
	works = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
	EVP_PKEY_free(key);
	BIO_free(bytes);
	return works;
}

/* ---- authorities ---- */

/* Gives each certificate of a file to @take, which returns whether it worked. False where there is
 * none. */
static bool for_each(const char *path, bool (*take)(X509 *certificate, void *arg), void *arg)
{
	BIO *bytes = read_file(path);
	bool works = bytes != NULL;
	uint32_t count = 0;

	while (works) {
		X509 *certificate = PEM_read_bio_X509(bytes, NULL, NULL, NULL);

		if (certificate == NULL) {
			works = count > 0 && is_end();
			break;
		}
		works = take(certificate, arg);
		X509_free(certificate);
		count++;
	}
	BIO_free(bytes);
	return works;
}

static bool add_name(X509 *certificate, void *arg)
{
	STACK_OF(X509_NAME) *names = (STACK_OF(X509_NAME) *)arg;
	X509_NAME *name = X509_NAME_dup(X509_get_subject_name(certificate));

	if (name == NULL || sk_X509_NAME_push(names, name) == 0) {
		X509_NAME_free(name);
		return false;
	}
	return true;
}

STACK_OF(X509_NAME) * __wrap_SSL_load_client_CA_file(const char *path)
{
	STACK_OF(X509_NAME) * names;

	if (gy_sim_here == NULL) {
		return __real_SSL_load_client_CA_file(path);
	}
	names = sk_X509_NAME_new_null();
	if (names == NULL || !for_each(path, add_name, names)) {
		sk_X509_NAME_pop_free(names, X509_NAME_free);
		return NULL;
	}
	return names;
}

static bool trust(X509 *certificate, void *arg)
{
	return X509_STORE_add_cert((X509_STORE *)arg, certificate) == 1;
}

int __wrap_SSL_CTX_load_verify_file(SSL_CTX *context, const char *path)
{
	if (gy_sim_here == NULL) {
		return __real_SSL_CTX_load_verify_file(context, path);
	}
	return for_each(path, trust, SSL_CTX_get_cert_store(context));
}
