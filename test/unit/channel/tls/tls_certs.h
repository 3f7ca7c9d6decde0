/*
 * Certificates for tests, made when a test begins: files in a folder of their own.
 */
#ifndef TEST_UNIT_CHANNEL_TLS_CERTS_H
#define TEST_UNIT_CHANNEL_TLS_CERTS_H

enum { TLS_CERTS_PATH = 128 };

struct tls_cert {
	char certificate[TLS_CERTS_PATH];
	char key[TLS_CERTS_PATH];
};

struct tls_certs {
	char folder[TLS_CERTS_PATH / 2];
	struct tls_cert ca;
	struct tls_cert other_ca;
	struct tls_cert server;	  /* CN=server, for localhost and 127.0.0.1, of the CA */
	struct tls_cert renewed;  /* the same with CN=renewed */
	struct tls_cert client;	  /* CN=client,O=gyre, of the CA */
	struct tls_cert expired;  /* CN=expired, for localhost, of the CA */
	struct tls_cert stranger; /* CN=stranger, for localhost, of the other CA */
};

void tls_certs_open(struct tls_certs *certs);
void tls_certs_close(struct tls_certs *certs);

#endif
