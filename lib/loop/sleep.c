/*
 * Apart from its caller, so that the simulator can put a function of its own in the place of this
 * one.
 */
#include "loop/sleep.h"

#include "base/reader_state.h"
#include "loop/loop.h"

void gy_loop_sleep(struct gy_loop *loop, uint64_t timeout_ns)
{
	gy_reader_offline();
	(void)gy_ring_submit_and_wait(loop->ring, timeout_ns);
	gy_reader_online();
}
