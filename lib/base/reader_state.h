/*
 * What a reader of RCU tells about itself in each turn of its loop. The short inline functions of
 * liburcu, which programs of any licence may use, spare a call to code that is in no cache after a
 * system call. The thread sanitizer would see races in them.
 */
#ifndef GY_BASE_READER_STATE_H
#define GY_BASE_READER_STATE_H

#include <urcu/urcu-qsbr.h>

#include "base/happens.h"

#if !defined(GY_SANITIZE_THREAD)
#include <urcu/static/urcu-qsbr.h>
#endif

/* The calling thread looks at nothing now that others may free. */
static inline void gy_reader_quiescent(void)
{
#if defined(GY_SANITIZE_THREAD)
	urcu_qsbr_quiescent_state();
#else
	_urcu_qsbr_quiescent_state();
#endif
}

/* Nor does it until it is online again. */
static inline void gy_reader_offline(void)
{
#if defined(GY_SANITIZE_THREAD)
	urcu_qsbr_thread_offline();
#else
	_urcu_qsbr_thread_offline();
#endif
}

static inline void gy_reader_online(void)
{
#if defined(GY_SANITIZE_THREAD)
	urcu_qsbr_thread_online();
#else
	_urcu_qsbr_thread_online();
#endif
}

#endif
