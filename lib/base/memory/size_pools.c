/*
 * The set of pools behind gy_sizes_get().
 */
#include "base/memory/size_pools.h"

void gy_sizes_init(struct gy_sizes *sizes, const char *name)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_init(&sizes->pools[i], name, (size_t)1 << (i + GY_SIZES_SHIFT));
	}
}

void gy_sizes_exchange(struct gy_sizes *sizes, uint32_t existing[GY_SIZES_COUNT])
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_exchange(&sizes->pools[i], &existing[i]);
	}
}

void gy_sizes_know_all(struct gy_sizes *sizes)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_know_all(&sizes->pools[i]);
	}
}

void gy_sizes_keep_apart(struct gy_sizes *sizes)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_keep_apart(&sizes->pools[i]);
	}
}

void gy_sizes_each_lost(struct gy_sizes *sizes, gy_lost_fn lost, void *arg)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_each_lost(&sizes->pools[i], lost, arg);
	}
}

int32_t gy_sizes_fini(struct gy_sizes *sizes)
{
	int32_t out = 0;

	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		out += gy_pool_fini(&sizes->pools[i]);
	}
	return out;
}

void gy_sizes_use_add(const struct gy_sizes *sizes, struct gy_pool_use *sum)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_pool_use_add(&sizes->pools[i], sum);
	}
}

bool gy_sizes_trim(struct gy_sizes *sizes, uint32_t keep)
{
	bool again = false;

	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		again = gy_pool_trim(&sizes->pools[i], keep) || again;
	}
	return again;
}

void gy_sizes_check(const struct gy_sizes *sizes)
{
	for (uint32_t i = 0; i < GY_SIZES_COUNT; i++) {
		gy_assert(sizes->pools[i].object_bytes == gy_sizes_bytes((uint8_t)i));
		gy_pool_check(&sizes->pools[i]);
	}
}
