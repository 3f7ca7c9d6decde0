/*
 * Notices from one thread to another with no runtime: the sender swaps each node into the tail of a
 * queue after D. Vyukov, one exchange a node, and the receiver follows the links. The nodes were
 * made before, a window of them, and are used again when the receiver has shown that it is past
 * them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"

enum { LINE_BYTES = 64, SHOW_EVERY = 256 };

struct node {
	_Alignas(LINE_BYTES) struct node *next;
	uint64_t number;
};

struct outside_options {
	int64_t notices;
	int64_t window;
	bool pin;
	bool json;
};

static _Alignas(LINE_BYTES) struct node *tail;
static _Alignas(LINE_BYTES) uint64_t arrived;
static _Alignas(LINE_BYTES) struct outside_options options = { .notices = 100000000,
							       .window = 16384 };
static struct node *nodes;
static struct node stub;

static void send(struct node *node, uint64_t number)
{
	struct node *before;

	node->next = NULL;
	node->number = number;
	before = __atomic_exchange_n(&tail, node, __ATOMIC_SEQ_CST);
	__atomic_store_n(&before->next, node, __ATOMIC_RELEASE);
}

static void *run_sender(void *arg)
{
	uint64_t window = (uint64_t)options.window;

	(void)arg;
	(void)perf_pin(options.pin ? 1 : -1);
	for (uint64_t i = 0; i < (uint64_t)options.notices; i++) {
		if (i % SHOW_EVERY == 0) {
			/* The last node that was read is still linked to, and one line is shown
			 * late. */
			while (i + 2 * (uint64_t)SHOW_EVERY >
			       __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) + window) {
				perf_relax();
			}
		}
		send(&nodes[i % window], i);
	}
	return NULL;
}

/* Returns the sum of what came, so that it is read. */
static uint64_t receive(uint64_t count)
{
	struct node *node = &stub;
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= count; i++) {
		struct node *next;

		while ((next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE)) == NULL) {
			perf_relax();
		}
		node = next;
		sum += node->number;
		if (i % SHOW_EVERY == 0) {
			__atomic_store_n(&arrived, i, __ATOMIC_RELEASE);
		}
	}
	return sum;
}

static int run(uint64_t *ret_ns)
{
	uint64_t count = (uint64_t)options.notices;
	uint64_t start_ns;
	pthread_t sender;
	int r = perf_pin(options.pin ? 0 : -1);

	nodes = aligned_alloc(LINE_BYTES, (size_t)options.window * sizeof(*nodes));
	if (nodes == NULL) {
		abort();
	}
	tail = &stub;
	start_ns = perf_now_ns();
	if (r == 0) {
		r = -pthread_create(&sender, NULL, run_sender, NULL);
	}
	if (r != 0) {
		return r;
	}
	if (receive(count) != count * (count - 1) / 2) {
		abort();
	}
	*ret_ns = perf_now_ns() - start_ns;
	(void)pthread_join(sender, NULL);
	free(nodes);
	return 0;
}

int main(int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "notices", PERF_OPTION_NUMBER, "how many in all", &options.notices, SHOW_EVERY,
		  UINT32_MAX, NULL },
		{ "window", PERF_OPTION_NUMBER, "notices under way at once", &options.window,
		  1 << 10, 1 << 24, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind receiver to CPU 0, sender to CPU 1", &options.pin,
		  0, 0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	struct perf_report report;
	uint64_t ns = 0;
	int r;

	perf_options_parse(argc, argv, "Notices from thread to thread in bare C.", table,
			   sizeof(table) / sizeof(table[0]));
	r = run(&ns);
	if (r < 0) {
		return perf_fail("cannot run", r);
	}
	perf_report_init(&report, "limit/outside");
	perf_report_number(&report, "notices_per_s", (double)options.notices * 1e9 / (double)ns);
	perf_report_number(&report, "ns_each", (double)ns / (double)options.notices);
	perf_report_print(&report, options.json);
	return 0;
}
