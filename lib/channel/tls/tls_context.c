/*
 * The context that TLS connections share: an SSL_CTX that is made of files, and made again of the
 * same files on demand.
 *
 * The present SSL_CTX is read under a mutex, which is held for taking a reference; connections that
 * began with the one before keep it. So certificates are renewed without a restart, and a bad file
 * changes nothing.
 *
 * The machine has hundreds of CAs, which take milliseconds to read. They are read only for clients
 * that verify and were given no CA: with the context when it has no certificate, so that it can
 * only be for such a client; otherwise by the first such client.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <pthread.h>
#include <string.h>

#include "actor/home.h"
#include "actor/house.h"
#include "actor/log_of.h"
#include "base/atomic.h"
#include "base/memory/memory.h"
#include "base/sized.h"
#include "channel/tls/tls.h"

enum { LINES_MAX = 20, LINES_MS = 60000, RECORD_BYTES_MIN = 4096, RECORD_BYTES_DEFAULT = 16384 };
enum { ALPN_BYTES_MAX = GYRE_TLS_PROTOCOLS_MAX * (1 + GY_TLS_PROTOCOL_BYTES_MAX) };

/* Ciphers with forward secrecy and authenticated encryption. */
static const char ciphers_1_2[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

struct gyre_tls_context {
	uint32_t references; /* atomic */
	uint32_t record_bytes;
	const struct gy_log *log; /* NULL for the default one */
	enum gyre_tls_version version_min;
	char *certificate; /* paths; NULL for none */
	char *key;
	char *ca;
	BIO_METHOD *method;
	pthread_mutex_t mutex;
	SSL_CTX *present;	   /* under the mutex, as the next one */
	X509_STORE *machine;	   /* the machine's CAs; NULL while nobody has asked for them */
	struct gy_log_limit limit; /* of lines about failures; atomic */
	uint32_t keys_count;
	struct gy_tls_key keys[GY_TLS_KEYS_MAX]; /* in the place of certificates */
	uint32_t alpn_bytes;
	unsigned char alpn[ALPN_BYTES_MAX]; /* each protocol behind its length */
};

/* ---- options ---- */

static int copy_text(const char *text, char **ret_copy)
{
	size_t bytes;

	if (text == NULL) {
		return 0;
	}
	bytes = strlen(text) + 1;
	*ret_copy = (char *)gy_memory_get_raw(bytes);
	if (*ret_copy == NULL) {
		return -ENOMEM;
	}
	memcpy(*ret_copy, text, bytes);
	return 0;
}

static int add_protocol(struct gyre_tls_context *context, const char *protocol)
{
	size_t bytes = strlen(protocol);

	if (bytes == 0 || bytes > GY_TLS_PROTOCOL_BYTES_MAX) {
		gy_log(context->log, GYRE_LOG_ERROR,
		       "a protocol for ALPN has %zu bytes: it must be from 1 to %d", bytes,
		       (int)GY_TLS_PROTOCOL_BYTES_MAX);
		return -EINVAL;
	}
	context->alpn[context->alpn_bytes] = (unsigned char)bytes;
	memcpy(context->alpn + context->alpn_bytes + 1, protocol, bytes);
	context->alpn_bytes += (uint32_t)bytes + 1;
	return 0;
}

static int take_protocols(struct gyre_tls_context *context, const char *const *protocols)
{
	int r = 0;

	for (size_t i = 0; r == 0 && protocols != NULL && protocols[i] != NULL; i++) {
		if (i == GYRE_TLS_PROTOCOLS_MAX) {
			gy_log(context->log, GYRE_LOG_ERROR,
			       "there are more than %d protocols for ALPN", GYRE_TLS_PROTOCOLS_MAX);
			return -EINVAL;
		}
		r = add_protocol(context, protocols[i]);
	}
	return r;
}

static int check(const struct gyre_tls_context *context,
		 const struct gyre_tls_context_options *options)
{
	unsigned version = (unsigned)options->version_min;

	if ((options->certificate == NULL) != (options->key == NULL)) {
		gy_log(context->log, GYRE_LOG_ERROR,
		       "TLS has a %s without a %s: give both, or none",
		       options->certificate == NULL ? "key" : "certificate",
		       options->certificate == NULL ? "certificate" : "key");
		return -EINVAL;
	}
	if (version != GYRE_TLS_ANY && version != GYRE_TLS_1_2 && version != GYRE_TLS_1_3) {
		gy_log(context->log, GYRE_LOG_ERROR,
		       "version_min of TLS is %u: it must be GYRE_TLS_1_2, GYRE_TLS_1_3 or "
		       "GYRE_TLS_ANY",
		       version);
		return -EINVAL;
	}
	if (context->record_bytes < RECORD_BYTES_MIN ||
	    context->record_bytes > GY_TLS_RECORD_BYTES_MAX) {
		gy_log(context->log, GYRE_LOG_ERROR,
		       "record_bytes of TLS is %u: it must be from %d to %d", context->record_bytes,
		       RECORD_BYTES_MIN, (int)GY_TLS_RECORD_BYTES_MAX);
		return -EINVAL;
	}
	return 0;
}

static int take_options(struct gyre_tls_context *context,
			const struct gyre_tls_context_options *options)
{
	int r;

	context->record_bytes =
		options->record_bytes == 0 ? RECORD_BYTES_DEFAULT : options->record_bytes;
	context->version_min = options->version_min;
	r = check(context, options);
	if (r == 0) {
		r = take_protocols(context, options->alpn);
	}
	if (r == 0) {
		r = copy_text(options->certificate, &context->certificate);
	}
	if (r == 0) {
		r = copy_text(options->key, &context->key);
	}
	if (r == 0) {
		r = copy_text(options->ca, &context->ca);
	}
	return r;
}

/* ---- making an SSL_CTX ---- */

/* Without it OpenSSL asks at the terminal, and blocks. */
static int no_passphrase(char *to, int bytes, int writing, void *arg)
{
	(void)to;
	(void)bytes;
	(void)writing;
	(void)arg;
	return -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_bytes,
			   const unsigned char *offered, unsigned int offered_bytes, void *arg)
{
	const struct gyre_tls_context *context = (const struct gyre_tls_context *)arg;
	unsigned char *chosen = NULL;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_bytes, context->alpn, context->alpn_bytes, offered,
				  offered_bytes) != OPENSSL_NPN_NEGOTIATED) {
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int set_protocol(struct gyre_tls_context *context, SSL_CTX *made)
{
	int version = context->version_min == GYRE_TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;

	(void)SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(made, no_passphrase);
	if (SSL_CTX_set_min_proto_version(made, version) != 1 ||
	    SSL_CTX_set_cipher_list(made, ciphers_1_2) != 1 ||
	    SSL_CTX_set_max_send_fragment(made, context->record_bytes) != 1 ||
	    SSL_CTX_set_session_id_context(made, gy_tls_session_id, sizeof(gy_tls_session_id)) !=
		    1) {
		return -ENOMEM;
	}
	if (context->alpn_bytes > 0) {
		SSL_CTX_set_alpn_select_cb(made, choose_protocol, context);
		if (SSL_CTX_set_alpn_protos(made, context->alpn, context->alpn_bytes) != 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int read_own(const struct gyre_tls_context *context, SSL_CTX *made)
{
	if (context->certificate == NULL) {
		return 0;
	}
	if (SSL_CTX_use_certificate_chain_file(made, context->certificate) != 1) {
		return gy_tls_explain_file(context->log, "certificate", context->certificate);
	}
	if (SSL_CTX_use_PrivateKey_file(made, context->key, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(made) != 1) {
		return gy_tls_explain_file(context->log, "key", context->key);
	}
	return 0;
}

static int read_trusted(const struct gyre_tls_context *context, SSL_CTX *made)
{
	STACK_OF(X509_NAME) * names;

	if (context->ca == NULL) {
		return 0;
	}
	names = SSL_load_client_CA_file(context->ca);
	if (names == NULL || SSL_CTX_load_verify_file(made, context->ca) != 1) {
		sk_X509_NAME_pop_free(names, X509_NAME_free);
		return gy_tls_explain_file(context->log, "CA", context->ca);
	}
	SSL_CTX_set_client_CA_list(made, names);
	return 0;
}

static int read_machine(X509_STORE **ret_store)
{
	X509_STORE *store = X509_STORE_new();

	if (store == NULL) {
		return -ENOMEM;
	}
	(void)X509_STORE_set_default_paths(store); /* without any, nobody is trusted */
	ERR_clear_error();
	*ret_store = store;
	return 0;
}

static int read_files(const struct gyre_tls_context *context, SSL_CTX *made)
{
	int r = read_own(context, made);

	return r < 0 ? r : read_trusted(context, made);
}

static int make(struct gyre_tls_context *context, SSL_CTX **ret_made)
{
	SSL_CTX *made = SSL_CTX_new(TLS_method());
	int r = made == NULL ? -ENOMEM : set_protocol(context, made);

	ERR_clear_error();
	if (r == 0) {
		r = gy_tls_context_is_keyed(context) ? gy_tls_psk_set(made)
						     : read_files(context, made);
	}
	if (r < 0) {
		SSL_CTX_free(made);
		return r;
	}
	*ret_made = made;
	return 0;
}

/* As make(), and with the machine's CAs if @machine; else *@ret_machine is NULL. */
static int make_all(struct gyre_tls_context *context, bool machine, SSL_CTX **ret_made,
		    X509_STORE **ret_machine)
{
	X509_STORE *store = NULL;
	int r = machine ? read_machine(&store) : 0;

	if (r == 0) {
		r = make(context, ret_made);
	}
	if (r < 0) {
		X509_STORE_free(store);
		return r;
	}
	*ret_machine = store;
	return 0;
}

/* ---- life ---- */

static void destroy(struct gyre_tls_context *context)
{
	SSL_CTX_free(context->present);
	X509_STORE_free(context->machine);
	BIO_meth_free(context->method);
	(void)pthread_mutex_destroy(&context->mutex);
	gy_memory_put(context->certificate);
	gy_memory_put(context->key);
	gy_memory_put(context->ca);
	OPENSSL_cleanse(context->keys, sizeof(context->keys));
	gy_memory_put(context);
}

static struct gyre_tls_context *begin(const struct gy_log *log)
{
	struct gyre_tls_context *context =
		(struct gyre_tls_context *)gy_memory_get(sizeof(*context));

	if (context != NULL) {
		context->references = 1;
		context->log = log;
		(void)pthread_mutex_init(&context->mutex, NULL);
		gy_log_limit_init(&context->limit, LINES_MAX, LINES_MS);
		context->method = gy_tls_method_create();
	}
	return context;
}

/* Takes @context, whose options have been taken with that result. */
static int finish(struct gyre_tls_context *context, int r, struct gyre_tls_context **ret_context)
{
	bool machine = context->certificate == NULL && context->ca == NULL &&
		       !gy_tls_context_is_keyed(context);

	if (r == 0) {
		r = context->method == NULL
			    ? -ENOMEM
			    : make_all(context, machine, &context->present, &context->machine);
	}
	if (r < 0) {
		destroy(context);
		return r;
	}
	*ret_context = context;
	return 0;
}

static int create_context(struct gyre_system *system,
			  const struct gyre_tls_context_options *options,
			  struct gyre_tls_context **ret_context)
{
	struct gyre_tls_context *context;

	if (options == NULL || ret_context == NULL) {
		return -EINVAL;
	}
	context = begin(system == NULL ? NULL : gy_homes_of(system)->log);
	return context == NULL ? -ENOMEM
			       : finish(context, take_options(context, options), ret_context);
}

int gyre_tls_context_create_sized(struct gyre_system *system,
				  const struct gyre_tls_context_options *options,
				  size_t options_bytes, struct gyre_tls_context **ret_context)
{
	struct gyre_tls_context_options whole;
	int r = GY_SIZED_READ(gyre_tls_context_options, &whole, options, options_bytes,
			      gy_log_of_system(system));

	return r < 0 ? r : create_context(system, options == NULL ? NULL : &whole, ret_context);
}

int gy_tls_context_create_keyed(const struct gy_log *log, const struct gy_tls_key *keys,
				uint32_t count, struct gyre_tls_context **ret_context)
{
	struct gyre_tls_context *context = begin(log);

	gy_assert(count > 0 && count <= GY_TLS_KEYS_MAX);
	if (context == NULL) {
		return -ENOMEM;
	}
	context->record_bytes = RECORD_BYTES_DEFAULT;
	memcpy(context->keys, keys, count * sizeof(*keys));
	context->keys_count = count;
	return finish(context, 0, ret_context);
}

static void swap_stores(X509_STORE **a, X509_STORE **b)
{
	X509_STORE *store = *a;

	*a = *b;
	*b = store;
}

int gyre_tls_context_reload(struct gyre_tls_context *context)
{
	SSL_CTX *made;
	SSL_CTX *before;
	X509_STORE *machine;
	bool wanted;
	int r;

	if (context == NULL) {
		return -EINVAL;
	}
	(void)pthread_mutex_lock(&context->mutex);
	wanted = context->machine != NULL;
	(void)pthread_mutex_unlock(&context->mutex);
	r = make_all(context, wanted, &made, &machine);
	if (r < 0) {
		return r;
	}
	(void)pthread_mutex_lock(&context->mutex);
	before = context->present;
	context->present = made;
	if (wanted) {
		swap_stores(&context->machine, &machine);
	}
	(void)pthread_mutex_unlock(&context->mutex);
	X509_STORE_free(machine);
	SSL_CTX_free(before);
	return 0;
}

struct gyre_tls_context *gyre_tls_context_ref(struct gyre_tls_context *context)
{
	if (context != NULL) {
		(void)gy_add_relaxed(&context->references, 1);
	}
	return context;
}

void gyre_tls_context_unref(struct gyre_tls_context *context)
{
	if (context != NULL && gy_fetch_add(&context->references, UINT32_MAX) == 1) {
		destroy(context);
	}
}

/* ---- for connections ---- */

SSL *gy_tls_context_connection(struct gyre_tls_context *context)
{
	SSL_CTX *present;
	SSL *ssl;

	(void)pthread_mutex_lock(&context->mutex);
	present = context->present;
	(void)SSL_CTX_up_ref(present);
	(void)pthread_mutex_unlock(&context->mutex);
	ssl = SSL_new(present);
	SSL_CTX_free(present);
	return ssl;
}

/* The first to need them reads them; others wait for that, as they would for their own reading. */
int gy_tls_context_trust(struct gyre_tls_context *context, SSL *ssl)
{
	int r = 0;

	if (context->ca != NULL || gy_tls_context_is_keyed(context)) {
		return 0;
	}
	(void)pthread_mutex_lock(&context->mutex);
	if (context->machine == NULL) {
		r = read_machine(&context->machine);
	}
	if (r == 0 && SSL_set1_verify_cert_store(ssl, context->machine) != 1) {
		r = -ENOMEM;
	}
	(void)pthread_mutex_unlock(&context->mutex);
	return r;
}

bool gy_tls_context_serves(const struct gyre_tls_context *context, bool mutual)
{
	return gy_tls_context_is_keyed(context) ||
	       (context->certificate != NULL && (!mutual || context->ca != NULL));
}

const struct gy_tls_key *gy_tls_context_keys(const struct gyre_tls_context *context,
					     uint32_t *ret_count)
{
	*ret_count = context->keys_count;
	return context->keys;
}

bool gy_tls_context_is_keyed(const struct gyre_tls_context *context)
{
	return context->keys_count > 0;
}

uint32_t gy_tls_context_record_bytes(const struct gyre_tls_context *context)
{
	return context->record_bytes;
}

const BIO_METHOD *gy_tls_context_method(const struct gyre_tls_context *context)
{
	return context->method;
}

struct gy_log_limit *gy_tls_context_limit(struct gyre_tls_context *context)
{
	return &context->limit;
}
