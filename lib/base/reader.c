/*
 * Registering threads with RCU. The count is thread-local, as a thread is a reader for all systems
 * of the process.
 */
#include "base/reader.h"

#include <stdint.h>
#include <urcu/urcu-qsbr.h>

#include "base/assert.h"

_Thread_local uint32_t gy_reader_reasons;

void gy_reader_get(void)
{
	if (gy_reader_reasons++ == 0) {
		urcu_qsbr_register_thread();
	} else {
		urcu_qsbr_thread_online();
	}
}

void gy_reader_put(void)
{
	gy_assert(gy_reader_reasons > 0);
	if (--gy_reader_reasons == 0) {
		urcu_qsbr_unregister_thread();
	} else {
		urcu_qsbr_thread_offline();
	}
}
