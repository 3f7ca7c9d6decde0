/*
 * Shared bytes: each of some threads fills a block, all read all blocks, take references and let
 * them go as they come. Nothing but the count says who is the last, so that a free which does not
 * come behind all reads shows.
 */
#include <pthread.h>

#include <gyre/bytes.h>

#include "stress.h"

enum { THREADS = 4, ROUNDS = 3000, BYTES = 100 };

struct reader {
	uint64_t random;
	uint32_t number;
};

static struct gyre_bytes *blocks[THREADS];
static struct reader readers[THREADS];
static pthread_barrier_t barrier;

static struct gyre_bytes *fill(uint32_t number, uint32_t round)
{
	unsigned char bytes[BYTES];
	struct gyre_bytes *block;

	for (uint32_t i = 0; i < BYTES; i++) {
		bytes[i] = (unsigned char)(number + round * 3 + i);
	}
	block = gyre_bytes_create(bytes, sizeof(bytes));
	check(block != NULL);
	for (uint32_t i = 1; i < THREADS; i++) {
		check(gyre_bytes_ref(block) == block);
	}
	return block;
}

static void read_one(struct reader *reader, struct gyre_bytes *block, uint32_t number,
		     uint32_t round)
{
	const unsigned char *bytes = (const unsigned char *)gyre_bytes_data(block);
	bool twice = stress_random(&reader->random, 2) == 0;

	if (twice) {
		(void)gyre_bytes_ref(block);
	}
	stress_dawdle(&reader->random, 100);
	check(gyre_bytes_count(block) == BYTES);
	for (uint32_t i = 0; i < BYTES; i++) {
		check(bytes[i] == (unsigned char)(number + round * 3 + i));
	}
	gyre_bytes_unref(block);
	if (twice) {
		check(bytes[0] == (unsigned char)(number + round * 3));
		gyre_bytes_unref(block);
	}
}

static void *run(void *arg)
{
	struct reader *reader = (struct reader *)arg;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		blocks[reader->number] = fill(reader->number, round);
		(void)pthread_barrier_wait(&barrier);
		for (uint32_t i = 0; i < THREADS; i++) {
			uint32_t number = (i + reader->number) % THREADS;

			read_one(reader, blocks[number], number, round);
		}
		(void)pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = stress_begin(argc, argv);
	pthread_t threads[THREADS];

	check(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .random = seed + i, .number = i };
		check(pthread_create(&threads[i], NULL, run, &readers[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL) == 0);
	}
	(void)pthread_barrier_destroy(&barrier);
	return 0;
}
