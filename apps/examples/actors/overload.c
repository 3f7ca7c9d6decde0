/*
 * Overload: a cache grows as long as there is memory, and shrinks when the system is busy.
 *
 *	gyre-example-overload [MEBIBYTES]
 *
 * The argument is the limit of resident memory. Above nine tenths of it the system is busy, and
 * neither accepts nor reads; an actor that can give memory back ends that state. The program ends
 * when the cache has been halved and the system has recovered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <gyre/gyre.h>

enum { BLOCK_BYTES = 1 << 20, BLOCKS_MAX = 4096 };

struct cache {
	void *blocks[BLOCKS_MAX];
	int count;
	bool shrunk;
};

static int grow(struct cache *cache)
{
	void *block = cache->count == BLOCKS_MAX
			      ? MAP_FAILED
			      : mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (block == MAP_FAILED) {
		return -ENOMEM;
	}
	cache->blocks[cache->count++] = block;
	return 0;
}

static void shrink(struct cache *cache, int count)
{
	while (cache->count > count) {
		(void)munmap(cache->blocks[--cache->count], BLOCK_BYTES);
	}
}

static int start(struct gyre_stack *stack)
{
	const struct gyre_timer_options often = { .period_ns = GYRE_MILLISECONDS(2) };

	return gyre_timer_start(stack, 0, &often);
}

static int tick(struct gyre_stack *stack)
{
	struct cache *cache = gyre_state(stack);

	if (!gyre_busy(stack) && cache->shrunk) {
		printf("recovered\n");
		return gyre_stop(stack, gyre_self(stack));
	}
	if (!gyre_busy(stack)) {
		return grow(cache);
	}
	if (!cache->shrunk) {
		printf("busy with %d blocks\n", cache->count);
		cache->shrunk = true;
		shrink(cache, cache->count / 2);
	}
	return gyre_return(stack);
}

static void clean(void *state)
{
	shrink(state, 0);
}

static const struct gyre_class cache_class = {
	.name = "cache",
	.state_bytes = sizeof(struct cache),
	.mount = start,
	.behaviour.event = tick,
	.strategy = GYRE_STRATEGY_STOP,
	.clean = clean,
};

int main(int argc, char **argv)
{
	const struct gyre_system_options options = {
		.loops = 1,
		.memory_limit_bytes = strtol(argc > 1 ? argv[1] : "512", NULL, 10) * BLOCK_BYTES,
	};

	return gyre_main(&cache_class, argc, argv, &options);
}
