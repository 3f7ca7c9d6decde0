/*
 * Bytes between OpenSSL and the buffers of a channel.
 *
 * OpenSSL copies received bytes out of their buffer into a record, and decrypts straight into pages
 * of the pool. Records that it writes are appended to pages of the pool until its call is over, and
 * then go to the channel as one buffer.
 *
 * A record costs some bytes and a fixed time, so small slices are first joined into whole records.
 *
 * While much comes at a time, records are decrypted into a page that has room for two: each with
 * one call, and frames that the peer has put into one record lie together here too. That is so for
 * a channel that receives into a large page (large_receive.c), and between nodes from when half a
 * record waits to be decrypted until there was less several times. The page is used again as soon
 * as nobody has any of it. OpenSSL frees its own buffers after each record, for connections are
 * mostly idle; it keeps them while records come and go one after the other.
 */
#include <openssl/err.h>
#include <string.h>

#include "channel/tls/tls.h"

/* Before each call whose result OpenSSL explains by its queue of errors. To clear that takes longer
 * than to see that it is empty, as it mostly is. */
static inline void forget_errors(void)
{
	if (gy_unlikely(ERR_peek_error() != 0)) {
		ERR_clear_error();
	}
}

/* ---- what OpenSSL calls ---- */

static struct gyre_buffer *out_of(struct gy_tls *tls)
{
	if (tls->out == NULL) {
		tls->out = gy_buffer_get(&tls->channel->channels->pools);
	}
	return tls->out;
}

static int write_out(BIO *bio, const char *bytes, size_t count, size_t *ret_written)
{
	struct gy_tls *tls = (struct gy_tls *)BIO_get_data(bio);
	struct gyre_buffer *out = out_of(tls);

	if (out == NULL || gyre_buffer_append(out, bytes, count) < 0) {
		tls->no_memory = true;
		return 0;
	}
	*ret_written = count;
	return 1;
}

static int read_in(BIO *bio, char *to, size_t count, size_t *ret_read)
{
	struct gy_tls *tls = (struct gy_tls *)BIO_get_data(bio);
	size_t got = gyre_buffer_read(tls->in, to, count);

	BIO_clear_retry_flags(bio);
	if (got == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	*ret_read = got;
	return 1;
}

static long control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

BIO_METHOD *gy_tls_method_create(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "gyre buffers");

	if (method != NULL &&
	    (BIO_meth_set_write_ex(method, write_out) != 1 ||
	     BIO_meth_set_read_ex(method, read_in) != 1 ||
	     BIO_meth_set_ctrl(method, control) != 1 || BIO_meth_set_create(method, create) != 1)) {
		BIO_meth_free(method);
		method = NULL;
	}
	return method;
}

/* ---- outwards ---- */

int gy_tls_flush(struct gy_tls *tls)
{
	struct gyre_buffer *out = tls->out;

	tls->out = NULL;
	return out == NULL ? 0 : gyre_context_write(tls->place, out);
}

/* As many bytes of @data as make whole records, or are the last ones, or half a record, which costs
 * less than a copy; where they stand if they stand together, else in @room. */
static size_t next_piece(const struct gyre_buffer *data, size_t offset, size_t record_bytes,
			 unsigned char *room, const void **ret_bytes)
{
	size_t left = data->bytes - offset;
	size_t together = gyre_buffer_peek(data, offset, ret_bytes);

	if (together == left) {
		return together;
	}
	if (together >= record_bytes) {
		return together - together % record_bytes;
	}
	if (together >= record_bytes / 2) {
		return together;
	}
	*ret_bytes = room;
	return gyre_buffer_copy(data, offset, room, left < record_bytes ? left : record_bytes);
}

/* Whether a write of so many bytes may be one of many: between nodes, which also write little now
 * and then. Other connections wait for their peers after a long answer. */
static bool follows_others(const struct gy_tls *tls, size_t bytes)
{
	return bytes >= GY_TLS_RECORD_BYTES_MAX / 2 && gy_tls_context_is_keyed(tls->context);
}

static void keep_buffers(struct gy_tls *tls, bool keep)
{
	if (keep) {
		(void)SSL_clear_mode(tls->ssl, SSL_MODE_RELEASE_BUFFERS);
	} else {
		(void)SSL_set_mode(tls->ssl, SSL_MODE_RELEASE_BUFFERS);
	}
}

int gy_tls_encrypt(struct gy_tls *tls, struct gyre_buffer *data)
{
	size_t record_bytes = gy_tls_context_record_bytes(tls->context);
	unsigned char room[GY_TLS_RECORD_BYTES_MAX];
	size_t offset = 0;
	bool good = true;

	keep_buffers(tls, tls->page != NULL || follows_others(tls, data->bytes));
	forget_errors();
	while (good && offset < data->bytes) {
		const void *bytes;
		size_t count = next_piece(data, offset, record_bytes, room, &bytes);
		size_t written;

		good = SSL_write_ex(tls->ssl, bytes, count, &written) == 1;
		offset += count;
	}
	gy_buffer_put(data);
	if (!good) {
		/* The peer has no part in it. */
		int error = gy_tls_lacks_memory(tls, ERR_peek_error()) ? -ENOMEM : -EPROTO;

		gy_channel_fail(tls->channel, error);
		return error;
	}
	return gy_tls_flush(tls);
}

/* ---- inwards ---- */

enum {
	PAGE_BYTES = 2 * GY_TLS_RECORD_BYTES_MAX,
	MUCH_BYTES = GY_TLS_RECORD_BYTES_MAX / 2,
	LITTLE_TIMES = 8,
};

void gy_tls_drop_page(struct gy_tls *tls)
{
	if (tls->page != NULL) {
		gy_page_unref(&tls->channel->channels->pools, tls->page);
		tls->page = NULL;
		keep_buffers(tls, false);
	}
}

/* Whether a page is worth it, with what waits to be decrypted. */
static bool wants_page(struct gy_tls *tls)
{
	if (tls->channel->large_page != NULL) {
		return true;
	}
	if (!gy_tls_context_is_keyed(tls->context)) {
		return false;
	}
	if (tls->in != NULL && tls->in->bytes >= MUCH_BYTES) {
		tls->little = 0;
		return true;
	}
	tls->little = (uint8_t)(tls->little + (tls->little < LITTLE_TIMES));
	return tls->page != NULL && tls->little < LITTLE_TIMES;
}

/* Whether there is a page to decrypt into of which nobody has any. */
static bool have_page(struct gy_tls *tls)
{
	bool wanted = wants_page(tls);

	if (!wanted || (tls->page != NULL && tls->page->references > 1)) {
		gy_tls_drop_page(tls);
	}
	if (wanted && tls->page == NULL) {
		tls->page = gy_page_get_of(&tls->channel->channels->pools, PAGE_BYTES);
		if (tls->page != NULL) {
			tls->page->used = tls->page->bytes; /* nothing is appended there */
			keep_buffers(tls, true);
		}
	}
	return tls->page != NULL;
}

/* How many bytes came, at most @room; if none, what OpenSSL says is in @ret_error. */
static size_t read_some(struct gy_tls *tls, unsigned char *to, size_t room, int *ret_error)
{
	size_t got = 0;

	forget_errors();
	*ret_error = SSL_ERROR_NONE;
	if (SSL_read_ex(tls->ssl, to, room, &got) != 1) {
		got = 0;
		*ret_error = SSL_get_error(tls->ssl, 0);
	}
	return got;
}

/* Whether bytes came into a page of the pool; else what OpenSSL says is in @ret_error. */
static bool decrypt_some(struct gy_tls *tls, struct gyre_buffer *plain, int *ret_error)
{
	uint32_t room;
	unsigned char *to = gy_buffer_extend_most(plain, &room);
	size_t got;

	if (to == NULL) {
		tls->no_memory = true;
		*ret_error = SSL_ERROR_SSL;
		return false;
	}
	got = read_some(tls, to, room, ret_error);
	gy_buffer_unreserve(plain, room - (uint32_t)got);
	return got > 0;
}

/* Into the page, whole records at a time. */
static int decrypt_records(struct gy_tls *tls, struct gyre_buffer **ret_plain)
{
	struct gy_page *page = tls->page;
	size_t bytes = 0;
	size_t got;
	int error;

	do {
		got = read_some(tls, page->memory + bytes, page->bytes - bytes, &error);
		bytes += got;
	} while (got > 0 && bytes <= PAGE_BYTES - GY_TLS_RECORD_BYTES_MAX);
	if (bytes > 0) {
		*ret_plain = gy_buffer_of_page(&tls->channel->channels->pools, page, page->memory,
					       (uint32_t)bytes);
		if (*ret_plain == NULL) {
			tls->no_memory = true;
			return SSL_ERROR_SSL;
		}
		gy_page_ref(page);
	}
	return error;
}

int gy_tls_decrypt(struct gy_tls *tls, struct gyre_buffer **ret_plain)
{
	struct gyre_buffer *plain;
	int error = SSL_ERROR_NONE;

	*ret_plain = NULL;
	if (have_page(tls)) {
		return decrypt_records(tls, ret_plain);
	}
	plain = gy_buffer_get(&tls->channel->channels->pools);
	if (plain == NULL) {
		tls->no_memory = true;
		return SSL_ERROR_SSL;
	}
	while (plain->bytes < GY_TLS_RECORD_BYTES_MAX && decrypt_some(tls, plain, &error)) {
	}
	if (plain->bytes == 0) {
		gy_buffer_put(plain);
	} else {
		*ret_plain = plain;
	}
	return error;
}
