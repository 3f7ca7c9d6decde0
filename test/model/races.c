/*
 * Plain accesses. The code that is explored is compiled for the thread sanitizer, whose calls come
 * here: each access to the heap of the model must come after all accesses of other threads that it
 * is in conflict with, by what acquire and release have told; and to memory that is allocated.
 */
#include <string.h>

#include "engine.h"

/* What a byte has seen: when each thread did what last, by its own clock; 0 for never. */
struct cell {
	uint32_t run;	 /* to which all this belongs */
	uint8_t threads; /* that have touched it */
	uint16_t reads[MODEL_THREADS_MAX];
	uint16_t writes[MODEL_THREADS_MAX];
	uint16_t atomic_reads[MODEL_THREADS_MAX];
	uint16_t atomic_writes[MODEL_THREADS_MAX];
};

static struct cell cells[HEAP_BYTES];

/* Whether all that is in @times is before what the thread does now. */
static bool is_before(const uint16_t *times, const struct clock *clock)
{
	for (uint32_t i = 0; i < engine.threads_count; i++) {
		if (times[i] > clock->time[i]) {
			return false;
		}
	}
	return true;
}

static bool is_alone(const struct cell *cell, const struct thread *self)
{
	return (cell->threads & ~(1U << self->index)) == 0;
}

static struct cell *cell_at(size_t offset)
{
	struct cell *cell = &cells[offset];

	if (cell->run != engine.run) {
		*cell = (struct cell){ .run = engine.run };
	}
	return cell;
}

/* Whether the thread has done this since it last released anything: then nothing new is learnt. */
static bool is_known(size_t offset, const struct thread *self, bool writes)
{
	const struct cell *cell = &cells[offset];
	uint16_t now = self->clock.time[self->index];

	return cell->run == engine.run &&
	       (cell->writes[self->index] == now || (!writes && cell->reads[self->index] == now));
}

static bool in_heap(uintptr_t address, size_t bytes, size_t *ret_offset)
{
	if (engine.current == NULL || !heap_holds(address, ret_offset)) {
		return false;
	}
	if (!heap_is_live(*ret_offset) || !heap_is_live(*ret_offset + bytes - 1)) {
		model_failed("memory is used that was freed");
	}
	return true;
}

void races_plain(uintptr_t address, size_t bytes, bool writes)
{
	struct thread *self = engine.current;
	size_t offset;

	if (!in_heap(address, bytes, &offset)) {
		return;
	}
	memory_settle(address, (uint32_t)bytes);
	if (is_known(offset, self, writes) && is_known(offset + bytes - 1, self, writes)) {
		return;
	}
	for (size_t i = 0; i < bytes; i++) {
		struct cell *cell = cell_at(offset + i);
		bool ordered =
			is_alone(cell, self) || (is_before(cell->writes, &self->clock) &&
						 is_before(cell->atomic_writes, &self->clock));

		if (writes) {
			ordered = ordered && (is_alone(cell, self) ||
					      (is_before(cell->reads, &self->clock) &&
					       is_before(cell->atomic_reads, &self->clock)));
			cell->writes[self->index] = self->clock.time[self->index];
		} else {
			cell->reads[self->index] = self->clock.time[self->index];
		}
		cell->threads |= (uint8_t)(1U << self->index);
		if (!ordered) {
			model_failed("two threads access the same memory, and nothing orders them");
		}
	}
}

void races_atomic(uintptr_t address, size_t bytes, bool writes)
{
	struct thread *self = engine.current;
	size_t offset;

	if (!in_heap(address, bytes, &offset)) {
		return;
	}
	for (size_t i = 0; i < bytes; i++) {
		struct cell *cell = cell_at(offset + i);
		bool ordered = is_alone(cell, self) || is_before(cell->writes, &self->clock);

		if (writes) {
			ordered = ordered &&
				  (is_alone(cell, self) || is_before(cell->reads, &self->clock));
			cell->atomic_writes[self->index] = self->clock.time[self->index];
		} else {
			cell->atomic_reads[self->index] = self->clock.time[self->index];
		}
		cell->threads |= (uint8_t)(1U << self->index);
		if (!ordered) {
			model_failed("an atomic and a plain access meet, and nothing orders them");
		}
	}
}

/* ---- what the compiler calls ---- */

#define HOOKS_OF(bytes)                                             \
	void __tsan_read##bytes(uintptr_t address);                 \
	void __tsan_write##bytes(uintptr_t address);                \
	void __tsan_unaligned_read##bytes(uintptr_t address);       \
	void __tsan_unaligned_write##bytes(uintptr_t address);      \
	void __tsan_read_write##bytes(uintptr_t address);           \
	void __tsan_unaligned_read_write##bytes(uintptr_t address); \
	void __tsan_read##bytes(uintptr_t address)                  \
	{                                                           \
		races_plain(address, bytes, false);                 \
	}                                                           \
	void __tsan_write##bytes(uintptr_t address)                 \
	{                                                           \
		races_plain(address, bytes, true);                  \
	}                                                           \
	void __tsan_unaligned_read##bytes(uintptr_t address)        \
	{                                                           \
		races_plain(address, bytes, false);                 \
	}                                                           \
	void __tsan_unaligned_write##bytes(uintptr_t address)       \
	{                                                           \
		races_plain(address, bytes, true);                  \
	}                                                           \
	void __tsan_read_write##bytes(uintptr_t address)            \
	{                                                           \
		races_plain(address, bytes, true);                  \
	}                                                           \
	void __tsan_unaligned_read_write##bytes(uintptr_t address)  \
	{                                                           \
		races_plain(address, bytes, true);                  \
	}

HOOKS_OF(1)
HOOKS_OF(2)
HOOKS_OF(4)
HOOKS_OF(8)
HOOKS_OF(16)

void __tsan_init(void);
void __tsan_func_entry(const void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(uintptr_t address, size_t bytes);
void __tsan_write_range(uintptr_t address, size_t bytes);
void __tsan_atomic_signal_fence(int order);
void *__tsan_memset(void *to, int value, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes);

void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

void __tsan_read_range(uintptr_t address, size_t bytes)
{
	races_plain(address, bytes, false);
}

void __tsan_write_range(uintptr_t address, size_t bytes)
{
	races_plain(address, bytes, true);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
	__tsan_write_range((uintptr_t)to, bytes);
	return memset(to, value, bytes);
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
	__tsan_read_range((uintptr_t)from, bytes);
	__tsan_write_range((uintptr_t)to, bytes);
	return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
	__tsan_read_range((uintptr_t)from, bytes);
	__tsan_write_range((uintptr_t)to, bytes);
	return memmove(to, from, bytes);
}

/* ---- what stands in the place of memcpy() and memset() ---- */

void *model_copy(void *to, const void *from, size_t bytes);
void *model_fill(void *to, int byte, size_t bytes);

void *model_copy(void *to, const void *from, size_t bytes)
{
	if (bytes > 0) {
		races_plain((uintptr_t)from, bytes, false);
		races_plain((uintptr_t)to, bytes, true);
	}
	return memcpy(to, from, bytes);
}

void *model_fill(void *to, int byte, size_t bytes)
{
	if (bytes > 0) {
		races_plain((uintptr_t)to, bytes, true);
	}
	return memset(to, byte, bytes);
}
