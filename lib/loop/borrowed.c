/*
 * Borrowed nodes: making room for them, and giving them back.
 */
#include "loop/borrowed.h"

#include "base/memory/memory.h"

bool gy_outbox_may_borrow(struct gy_outbox *outbox)
{
	outbox->borrowed =
		(struct gy_node **)gy_memory_get(GY_BORROWED_MAX * sizeof(*outbox->borrowed));
	return outbox->borrowed != NULL;
}

void gy_loop_give_back(struct gy_loop *loop)
{
	uint32_t made = loop->peers == NULL ? 0 : gy_loops_made(loop->peers);

	for (uint32_t peer = 0; peer < made; peer++) {
		struct gy_outbox *outbox = &loop->outboxes[peer];

		while (outbox->borrowed_count > 0) {
			gy_loop_return_now(loop, outbox->borrowed[--outbox->borrowed_count]);
		}
	}
}

void gy_loop_end_borrowing(struct gy_loop *loop)
{
	loop->borrows = false;
	gy_loop_give_back(loop);
}

void gy_borrowed_fini(struct gy_loop *loop)
{
	uint32_t max = loop->outboxes == NULL || loop->peers == NULL ? 0 : loop->peers->max;

	for (uint32_t peer = 0; peer < max; peer++) {
		gy_memory_put((void *)loop->outboxes[peer].borrowed);
	}
}
