#include "threads.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/thread.h"

static int start_really(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
			pthread_t *ret_thread);

/* The real file, under another name. */
#define gy_thread_start start_really
#include "../../lib/base/thread.c"
#undef gy_thread_start

static uint32_t begun; /* atomic, as all of these */
static uint32_t left;
static uint32_t failed;

void threads_end_after(uint32_t count)
{
	gy_store_relaxed(&failed, 0);
	gy_store_relaxed(&left, count);
	gy_store_release(&begun, 1);
}

bool threads_recover(void)
{
	gy_store_release(&begun, 0);
	return gy_load_acquire(&failed) > 0;
}

int gy_thread_start(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
		    pthread_t *ret_thread)
{
	if (gy_load_acquire(&begun) != 0 && (int32_t)gy_fetch_add(&left, -1U) <= 0) {
		(void)gy_fetch_add(&failed, 1);
		return -EAGAIN;
	}
	return start_really(attributes, run, arg, ret_thread);
}
