#include "tls_certs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DAY_S = 86400 };

/* What a certificate is to say. */
struct wish {
	const char *name;
	const char *organisation; /* NULL for none */
	const char *other_names;  /* NULL for none */
	bool is_ca;
	bool expired;
};

static void require(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "certificates: %s\n", what);
		abort();
	}
}

static void add_name(X509 *certificate, const char *field, const char *value)
{
	require(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8,
					   (const unsigned char *)value, -1, -1, 0) == 1,
		"name");
}

static void add_extension(X509 *certificate, int which, const char *value)
{
	X509V3_CTX context = { 0 };
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, which, value);
	require(extension != NULL && X509_add_ext(certificate, extension, -1) == 1, "extension");
	X509_EXTENSION_free(extension);
}

static X509 *make(const struct wish *wish, EVP_PKEY *key, const X509 *issuer, EVP_PKEY *issuer_key)
{
	X509 *certificate = X509_new();
	static long serial;

	require(certificate != NULL && X509_set_version(certificate, X509_VERSION_3) == 1, "new");
	require(ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial) == 1, "serial");
	(void)X509_gmtime_adj(X509_getm_notBefore(certificate), -2 * DAY_S);
	(void)X509_gmtime_adj(X509_getm_notAfter(certificate), wish->expired ? -DAY_S : DAY_S);
	require(X509_set_pubkey(certificate, key) == 1, "key");
	if (wish->organisation != NULL) {
		add_name(certificate, "O", wish->organisation);
	}
	add_name(certificate, "CN", wish->name);
	require(X509_set_issuer_name(certificate, issuer == NULL
							  ? X509_get_subject_name(certificate)
							  : X509_get_subject_name(issuer)) == 1,
		"issuer");
	add_extension(certificate, NID_basic_constraints,
		      wish->is_ca ? "critical,CA:TRUE" : "CA:FALSE");
	if (wish->other_names != NULL) {
		add_extension(certificate, NID_subject_alt_name, wish->other_names);
	}
	require(X509_sign(certificate, issuer_key, EVP_sha256()) > 0, "signature");
	return certificate;
}

static FILE *create(const struct tls_certs *certs, const char *name, const char *ending,
		    char path[TLS_CERTS_PATH])
{
	FILE *file;

	(void)snprintf(path, TLS_CERTS_PATH, "%s/%s.%s", certs->folder, name, ending);
	file = fopen(path, "we");
	require(file != NULL, path);
	return file;
}

static void save(const struct tls_certs *certs, const char *name, const X509 *certificate,
		 EVP_PKEY *key, struct tls_cert *ret_cert)
{
	FILE *file = create(certs, name, "pem", ret_cert->certificate);

	require(PEM_write_X509(file, certificate) == 1 && fclose(file) == 0, "certificate file");
	file = create(certs, name, "key", ret_cert->key);
	require(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1 &&
			fclose(file) == 0,
		"key file");
}

static EVP_PKEY *make_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	require(key != NULL, "key pair");
	return key;
}

static void make_leaf(const struct tls_certs *certs, const struct wish *wish, const X509 *issuer,
		      EVP_PKEY *issuer_key, struct tls_cert *ret_cert)
{
	EVP_PKEY *key = make_key();
	X509 *certificate = make(wish, key, issuer, issuer_key);

	save(certs, wish->name, certificate, key, ret_cert);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static const char here[] = "DNS:localhost,IP:127.0.0.1";

void tls_certs_open(struct tls_certs *certs)
{
	const char *temporary = getenv("TMPDIR");
	EVP_PKEY *key = make_key();
	EVP_PKEY *other_key = make_key();
	X509 *ca = make(&(struct wish){ .name = "ca", .is_ca = true }, key, NULL, key);
	X509 *other = make(&(struct wish){ .name = "other-ca", .is_ca = true }, other_key, NULL,
			   other_key);

	(void)snprintf(certs->folder, sizeof(certs->folder), "%s/gyre-tls.XXXXXX",
		       temporary == NULL ? "/tmp" : temporary);
	require(mkdtemp(certs->folder) != NULL, certs->folder);
	save(certs, "ca", ca, key, &certs->ca);
	save(certs, "other-ca", other, other_key, &certs->other_ca);
	make_leaf(certs, &(struct wish){ .name = "server", .other_names = here }, ca, key,
		  &certs->server);
	make_leaf(certs, &(struct wish){ .name = "renewed", .other_names = here }, ca, key,
		  &certs->renewed);
	make_leaf(certs, &(struct wish){ .name = "client", .organisation = "gyre" }, ca, key,
		  &certs->client);
	make_leaf(certs, &(struct wish){ .name = "expired", .other_names = here, .expired = true },
		  ca, key, &certs->expired);
	make_leaf(certs, &(struct wish){ .name = "stranger", .other_names = here }, other,
		  other_key, &certs->stranger);
	X509_free(ca);
	X509_free(other);
	EVP_PKEY_free(key);
	EVP_PKEY_free(other_key);
}

static void forget(const struct tls_cert *cert)
{
	(void)unlink(cert->certificate);
	(void)unlink(cert->key);
}

void tls_certs_close(struct tls_certs *certs)
{
	forget(&certs->ca);
	forget(&certs->other_ca);
	forget(&certs->server);
	forget(&certs->renewed);
	forget(&certs->client);
	forget(&certs->expired);
	forget(&certs->stranger);
	require(rmdir(certs->folder) == 0, "something is left in the folder");
}
