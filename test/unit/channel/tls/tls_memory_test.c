/*
 * TLS while OpenSSL gets no memory, from each of its allocations on: who asked for something is
 * told so, and nothing is left.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "tls_pair.h"

TestSuite(tls_memory, .timeout = 60);

enum { WHOLE = 1 << 20, ROUNDS_MAX = 1000 };

static struct tls_certs certs;
static struct tls_rig server;
static struct tls_rig client;
static struct gyre_tls_options server_options;
static struct gyre_tls_options client_options;
static const struct tls_pair pair = { &certs, &server, &client, &server_options, &client_options };

/* ---- the heap of OpenSSL ---- */

static struct {
	bool begun; /* something is to fail */
	bool once;  /* and no more than one */
	bool is_ours;
	uint32_t left;
	uint32_t failed;
} heap;

static bool has_one(void)
{
	bool fails = heap.begun && heap.left == 0 && (!heap.once || heap.failed == 0);

	if (heap.begun && heap.left > 0) {
		heap.left--;
	}
	heap.failed += fails;
	return !fails;
}

static void *allocate(size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	return has_one() ? malloc(bytes) : NULL;
}

static void *reallocate(void *memory, size_t bytes, const char *file, int line)
{
	(void)file;
	(void)line;
	return has_one() ? realloc(memory, bytes) : NULL;
}

static void release(void *memory, const char *file, int line)
{
	(void)file;
	(void)line;
	free(memory);
}

/* Before its first allocation, which Criterion's own libraries may make. */
static __attribute__((constructor)) void take_heap(void)
{
	heap.is_ours = CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;
}

static void lack_after(uint32_t count, bool once)
{
	heap.left = count;
	heap.failed = 0;
	heap.once = once;
	heap.begun = true;
}

/* Whether anything has failed. */
static bool recover(void)
{
	heap.begun = false;
	return heap.failed > 0;
}

/* ---- the pair ---- */

static void open_pair(void)
{
	cr_assert(heap.is_ours);
	tls_pair_open(&pair);
}

static void close_pair(void)
{
	tls_pair_close(&pair);
}

/* Whether an allocation failed. The handshake does not begin before the channel is active. */
static bool add_once(struct tls_rig *tls, tls_add_fn add, const struct gyre_tls_options *options,
		     uint32_t round, bool once)
{
	bool lacked;
	int r;

	codec_rig_flags(&tls->rig, GY_EVENT_ACTIVE, 0);
	lack_after(round, once);
	r = tls_rig_begin(tls, add, options);
	lacked = recover();
	cr_assert(r == 0 || (lacked && r == -ENOMEM), "round %u: %d", round, r);
	cr_assert_eq(gyre_pipeline_get(&tls->rig.channel, "tls") == NULL, r < 0);
	codec_rig_flags(&tls->rig, 0, GY_EVENT_ACTIVE);
	tls_rig_reset(tls);
	return lacked;
}

static void add_in_rounds(struct tls_rig *tls, tls_add_fn add,
			  const struct gyre_tls_options *options)
{
	for (int once = 0; once < 2; once++) {
		uint32_t round = 0;

		while (add_once(tls, add, options, round, once != 0)) {
			cr_assert_lt(++round, ROUNDS_MAX);
		}
		cr_expect_gt(round, 0, "nothing was lacking");
	}
}

Test(tls_memory, that_a_new_handler_lacks_is_told_by_the_call_that_adds_it, .init = open_pair,
     .fini = close_pair)
{
	add_in_rounds(&server, gyre_tls_server_add, &server_options);
	add_in_rounds(&client, gyre_tls_client_add, &client_options);
	client_options.server_name = "127.0.0.1";
	add_in_rounds(&client, gyre_tls_client_add, &client_options);
}

Test(tls_memory, that_a_write_lacks_is_told_by_the_write, .init = open_pair, .fini = close_pair)
{
	tls_pair_begin(&pair);
	tls_rig_settle(&client, &server, WHOLE);
	cr_assert_eq(client.sessions, 1, "%s", client.line);
	lack_after(0, false);
	cr_expect_eq(tls_rig_write(&client, "question", 8), -ENOMEM);
	cr_assert(recover());
	cr_expect_eq(client.rig.channel.reason, -ENOMEM);
}
