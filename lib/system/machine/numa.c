/*
 * Memory near the loop that uses it. Pools, stacks and mail are got by the loop's own pinned
 * thread, and so are of its node already. But its ring, its receive buffers and the home itself are
 * made by the thread that creates the system, so that what is refused is an error of the creation:
 * that thread prefers the loop's node meanwhile, and moves those pages of the home there that it
 * had touched before. All this is only for speed, so what fails is passed over.
 *
 * The calls are made without libnuma, which would be one more thing to install for three of them.
 */
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/environment.h"
#include "system/machine/topology.h"

enum { NODES_MAX = 8 * sizeof(long) * GY_NUMA_WORDS, PAGES_AT_ONCE = 64 };

void gy_numa_enter(int node, struct gy_numa_policy *ret_before)
{
	unsigned long nodes[GY_NUMA_WORDS] = { 0 };
	const size_t bits = 8 * sizeof(nodes[0]);

	*ret_before = (struct gy_numa_policy){ 0 };
	if (node < 0 || node >= (int)NODES_MAX ||
	    syscall(SYS_get_mempolicy, &ret_before->mode, ret_before->nodes, (long)NODES_MAX, NULL,
		    0L) < 0) {
		return;
	}
	nodes[(size_t)node / bits] = 1UL << (size_t)node % bits;
	ret_before->changed =
		syscall(SYS_set_mempolicy, (long)MPOL_PREFERRED, nodes, (long)NODES_MAX) == 0;
}

void gy_numa_leave(const struct gy_numa_policy *before)
{
	bool any = false;

	if (!before->changed) {
		return;
	}
	for (size_t i = 0; i < GY_NUMA_WORDS; i++) {
		any = any || before->nodes[i] != 0;
	}
	(void)syscall(SYS_set_mempolicy, (long)before->mode, any ? before->nodes : NULL,
		      any ? (long)NODES_MAX : 0L);
}

void gy_numa_move(int node, void *memory, size_t bytes)
{
	uintptr_t page_bytes = (uintptr_t)gy_environment_page_bytes();
	uintptr_t at = ((uintptr_t)memory + page_bytes - 1) / page_bytes * page_bytes;
	uintptr_t end = (uintptr_t)memory + bytes;

	while (node >= 0 && at + page_bytes <= end) {
		void *pages[PAGES_AT_ONCE];
		int nodes[PAGES_AT_ONCE];
		int status[PAGES_AT_ONCE];
		long count = 0;

		for (; count < PAGES_AT_ONCE && at + page_bytes <= end; at += page_bytes) {
			nodes[count] = node;
			pages[count++] = (void *)at; /* an address for the kernel, not for us */
		}
		if (syscall(SYS_move_pages, 0L, count, pages, nodes, status, (long)MPOL_MF_MOVE) <
		    0) {
			return;
		}
	}
}
