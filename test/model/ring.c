/*
 * A ring without a kernel, behind the calls of lib/ring/ring.h: all that a loop of the model needs
 * of it is to be woken. A wake that was prepared goes out with the next submit; one that came
 * before the wait ends the wait, as with the eventfd of a real ring. No time passes, so a wait ends
 * by a wake or not at all. Besides, what the model has in the place of the log.
 */
#include "ring/ring.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/memory/memory.h"
#include "model.h"

enum { WAKES_MAX = 8 };

struct gy_ring {
	uint32_t woken; /* atomic */
	struct gy_ring *wakes[WAKES_MAX];
	uint32_t prepared;
};

int gy_ring_create(const struct gy_ring_options *options, struct gy_ring **ret_ring)
{
	(void)options;
	*ret_ring = (struct gy_ring *)gy_memory_get(sizeof(struct gy_ring));
	return 0;
}

void gy_ring_destroy(struct gy_ring *ring)
{
	gy_memory_put(ring);
}

bool gy_ring_has_retries(const struct gy_ring *ring)
{
	(void)ring;
	return false;
}

bool gy_ring_has_descriptors(const struct gy_ring *ring)
{
	(void)ring;
	return false;
}

bool gy_ring_is_blind(const struct gy_ring *ring)
{
	(void)ring;
	return false;
}

int gy_ring_enable(struct gy_ring *ring)
{
	(void)ring;
	return 0;
}

bool gy_ring_has_prepared(const struct gy_ring *ring)
{
	return ring->prepared > 0;
}

bool gy_ring_is_full(const struct gy_ring *ring)
{
	return ring->prepared == WAKES_MAX;
}

void gy_ring_wake(struct gy_ring *ring)
{
	(void)gy_exchange_full(&ring->woken, 1);
}

void gy_ring_wake_from(struct gy_ring *from, struct gy_ring *target)
{
	model_check(from->prepared < WAKES_MAX);
	from->wakes[from->prepared++] = target;
}

int gy_ring_submit(struct gy_ring *ring)
{
	uint32_t count = ring->prepared;

	ring->prepared = 0;
	for (uint32_t i = 0; i < count; i++) {
		gy_ring_wake(ring->wakes[i]);
	}
	return (int)count;
}

bool gy_ring_ready(const struct gy_ring *ring)
{
	return gy_load_relaxed(&ring->woken) != 0;
}

int gy_ring_submit_and_wait(struct gy_ring *ring, uint64_t timeout_ns)
{
	int count = gy_ring_submit(ring);

	if (timeout_ns > 0) {
		model_await(&ring->woken);
	}
	return count;
}

uint32_t gy_ring_reap(struct gy_ring *ring)
{
	if (!gy_ring_ready(ring)) {
		return 0;
	}
	return gy_exchange_full(&ring->woken, 0);
}

/* There are no completions besides wakes. */
const struct gy_ring_counters *gy_ring_counters(const struct gy_ring *ring)
{
	static const struct gy_ring_counters none;

	(void)ring;
	return &none;
}

/* ---- the log ---- */

void gy_log(const struct gy_log *log, enum gyre_log_level level, const char *format, ...)
{
	(void)log;
	if (level >= GYRE_LOG_ERROR) {
		model_failed(format);
	}
}

bool gy_log_between(const struct gy_log *log, enum gyre_log_level level, const char *before,
		    const char *after, const char *format, va_list args)
{
	(void)log;
	(void)before;
	(void)after;
	(void)args;
	if (level >= GYRE_LOG_ERROR) {
		model_failed(format);
	}
	return true;
}

_Noreturn void gy_assert_failed(const char *what, const char *file, int line)
{
	(void)file;
	(void)line;
	model_failed(what);
}

/* No loop of the model is embedded in another one. */
bool gy_ring_descriptor_clear(struct gy_ring *ring)
{
	(void)ring;
	return false;
}

void gy_ring_descriptor_arm(struct gy_ring *ring, uint64_t time_ns)
{
	(void)ring;
	(void)time_ns;
}
