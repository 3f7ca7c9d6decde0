/*
 * The program's data of each loop: made by the loop's own thread before it turns, so that memory is
 * near the loop, and freed there when it turns no more.
 */
#include "system/loop_data.h"

#include <string.h>
#include <urcu/urcu-qsbr.h>

#include "actor/stack/stack.h"
#include "system/system.h"
#include "system/threads.h"

int gy_loop_data_init(struct gy_worker *worker)
{
	const struct gyre_system_options *options = &worker->system->options;
	struct gy_loop *loop = &worker->home->loop;
	void *data = NULL;
	int r;

	gy_assert(loop->user_data == NULL);
	if (options->loop_init == NULL) {
		return 0;
	}
	urcu_qsbr_thread_offline(); /* it may block */
	r = options->loop_init(worker->system, loop->index, options->loop_arg, &data);
	urcu_qsbr_thread_online();
	if (r < 0) {
		gy_log(&worker->system->log, GYRE_LOG_ERROR,
		       "loop %u does not start: loop_init of the options failed: %s",
		       (unsigned)loop->index, strerrordesc_np(-r));
		return r;
	}
	loop->user_data = data;
	return 0;
}

void gy_loop_data_fini(struct gy_worker *worker)
{
	const struct gyre_system_options *options = &worker->system->options;
	struct gy_loop *loop = &worker->home->loop;

	gy_assert(options->loop_init != NULL || loop->user_data == NULL);
	if (options->loop_fini != NULL) {
		urcu_qsbr_thread_offline();
		options->loop_fini(worker->system, loop->index, loop->user_data, options->loop_arg);
		urcu_qsbr_thread_online();
	}
	loop->user_data = NULL;
}

void *gyre_loop_data(const struct gyre_stack *stack)
{
	return gy_stack_of_const(stack)->home->loop.user_data;
}
