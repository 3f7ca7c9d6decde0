/*
 * Spares the search for leaks at the end of a test that has freed all it allocated.
 *
 * The search looks for pointers in all memory of the process, the sanitizer's own tables of 9 MiB
 * too: three quarters of what a fork costs. Most tests of one thread leave nothing that could be
 * found. So the addresses of allocations are added up, each scattered to 64 bits, and those of what
 * is freed are taken away. 0 is left only where what was allocated since the beginning and what was
 * freed is the same: then nothing of the test's is there to be lost, and nothing of the time before
 * was freed. Otherwise the search takes place.
 */
#include "fork_leaks.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)

#include <sanitizer/lsan_interface.h>

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Of the sanitizer; gcc 12 has no header of it. */
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
					      void (*freed)(const volatile void *));
const char *__asan_default_options(void);

static uint64_t balance; /* atomic */
static bool counting;

static uint64_t scattered(const volatile void *address)
{
	uint64_t bits = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ (bits >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
	return bits ^ (bits >> 32);
}

static void allocated(const volatile void *address, size_t bytes)
{
	(void)bytes;
	(void)__atomic_fetch_add(&balance, scattered(address), __ATOMIC_RELAXED);
}

static void freed(const volatile void *address)
{
	(void)__atomic_fetch_sub(&balance, scattered(address), __ATOMIC_RELAXED);
}

/* The search at the very end of each process gives way to this one, which is the same. */
const char *__asan_default_options(void)
{
	return "leak_check_at_exit=0";
}

static void search(void)
{
	if (!counting || __atomic_load_n(&balance, __ATOMIC_ACQUIRE) != 0) {
		__lsan_do_leak_check();
	}
}

/* A search touches thousands of pages, which forks have from their parent when it has touched them.
 * The C library loads libgcc when the first thread of a process exits, and keeps what that takes.
 */
void fork_leaks_prepare(void)
{
	(void)__lsan_do_recoverable_leak_check();
	(void)dlopen("libgcc_s.so.1", RTLD_NOW);
}

bool fork_leaks_begin(void)
{
	counting = __sanitizer_install_malloc_and_free_hooks(allocated, freed) > 0;
	return atexit(search) == 0;
}

#else

void fork_leaks_prepare(void)
{
}

bool fork_leaks_begin(void)
{
	return true;
}

#endif
