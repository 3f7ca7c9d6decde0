/*
 * Cache lines that several cores use. Where one core writes a line that another one reads or writes
 * for each message, the message costs a cache miss more, and the more cores there are the more of
 * them wait for each other, though no field is shared. So what loops share stands in parts, each of
 * which begins a line: what senders write, what others only read, and what is the loop's own.
 *
 * A part is all from its first field to that of the next part, so fields that come later belong to
 * one as well.
 */
#include <criterion/criterion.h>
#include <stddef.h>

#include "base/log/log_buffer.h"
#include "loop/foreign_nodes.h"
#include "system/directory/groups.h"
#include "system/system.h"
#include "system/threads.h"

struct part {
	const char *structure;
	const char *first; /* NULL for the end of the structure */
	size_t at;
};

#define PART(STRUCTURE, FIRST)                                        \
	{                                                             \
#STRUCTURE, #FIRST, offsetof(struct STRUCTURE, FIRST) \
	}
#define END(STRUCTURE)                                     \
	{                                                  \
#STRUCTURE, NULL, sizeof(struct STRUCTURE) \
	}

static const struct part parts[] = {
	/* One loop, with mail from all others. */
	PART(gy_loop, inbox.tail),	/* senders write */
	PART(gy_loop, inbox.first),	/* its own */
	PART(gy_loop, parked),		/* senders read; written when it is idle or parks */
	PART(gy_loop, ops),		/* its own, to the next */
	PART(gy_loop, steal_ring.head), /* thieves write */
	PART(gy_loop, steal_ring.tail), /* it writes when it publishes, and thieves read */
	END(gy_loop),
	END(gy_home), /* they stand in an array */

	/* What all loops of a system look at. */
	PART(gy_loops, published), /* written by who publishes jobs or steals them */
	PART(gy_loops, count),	   /* written when loops come and go */
	PART(gyre_system, outside_sent),
	{ "gyre_system", "outside_sent[1]", sizeof(struct gy_outside_line) },
	PART(gyre_system, outside_handled),
	PART(gyre_system, memory_guard.due_ns),	      /* written ten times in a second */
	PART(gyre_system, memory_guard.memory_usage), /* of who measures */

	/* One of many in an array, each of one loop or one actor. */
	END(gy_house),
	END(gy_pool),
	END(gy_cursor),

	/* A thread that turns no loop: what loops give back, and what is its own. */
	END(gy_foreign_chain),
};

Test(lines, of_what_several_loops_use_belong_to_one_part_each)
{
	for (size_t i = 0; i < gy_countof(parts); i++) {
		const char *first = parts[i].first == NULL ? "the end" : parts[i].first;

		cr_expect_eq(parts[i].at % GY_CACHE_LINE, 0, "%s: %s stands at %zu",
			     parts[i].structure, first, parts[i].at);
	}
}

/* Fields between the first of a part and that of the next which are known to be in the wrong one if
 * they ever move. */
Test(lines, that_idle_peers_are_looked_for_in_are_not_written_by_busy_loops)
{
	const size_t line = offsetof(struct gy_loop, parked) / GY_CACHE_LINE;

	cr_assert_eq(offsetof(struct gy_loop, idle_count) / GY_CACHE_LINE, line);
	cr_assert_eq(offsetof(struct gy_loop, ring) / GY_CACHE_LINE, line);
	cr_assert_eq(offsetof(struct gy_loop, index) / GY_CACHE_LINE, line);
	cr_assert_neq(offsetof(struct gy_loop, steal_cursor) / GY_CACHE_LINE, line);
}

/* What a loop has allocated for itself shares no line with what another one has. */
Test(lines, of_the_heap_are_whole)
{
	void *memory[64];

	for (size_t i = 0; i < gy_countof(memory); i++) {
		memory[i] = i % 2 == 0 ? gy_memory_get(i + 1) : gy_memory_get_raw(i + 1);
		cr_assert_eq((uintptr_t)memory[i] % GY_CACHE_LINE, 0);
	}
	for (size_t i = 0; i < gy_countof(memory); i++) {
		for (size_t k = 0; k < i; k++) {
			cr_assert_neq((uintptr_t)memory[i] / GY_CACHE_LINE,
				      (uintptr_t)memory[k] / GY_CACHE_LINE);
		}
	}
	for (size_t i = 0; i < gy_countof(memory); i++) {
		gy_memory_put(memory[i]);
	}
}
