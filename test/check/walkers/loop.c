/*
 * Damage to a loop: its outboxes, its queues, and its clock.
 */
#include "loop/loop.h"

#include "walkers.h"

static struct gy_loop loop;
static struct gy_loop other;
static struct gy_outbox outboxes[2];
static uint16_t flush_list[2];
static struct gy_node nodes[3];
static struct gy_job jobs[2];
static const struct gy_loop_ops ops;
static _Alignas(
	struct gy_loops) char memory[sizeof(struct gy_loops) + 2 * sizeof(struct gy_loop *)];

/* Two loops without rings; mail for the other one waits in an outbox, and two jobs are ready. */
static void fill(void)
{
	struct gy_loops *loops = (struct gy_loops *)(void *)memory;

	loops->count = loops->made = loops->max = 2;
	loops->loop[0] = &loop;
	loops->loop[1] = &other;
	loop.peers = loops;
	loop.outboxes = outboxes;
	loop.flush_list = flush_list;
	loop.ops = &ops;
	gy_wheel_init(&loop.wheel, 1000, 0);
	gy_sizes_init(&loop.nodes, "node");
	gy_loop_set_clock(&loop, 1000, 10);
	for (uint32_t i = 0; i < 3; i++) {
		gy_loop_send(&loop, 1, &nodes[i]);
	}
	gy_loop_ready_state(&loop, &jobs[0], false);
	gy_loop_ready_state(&loop, &jobs[1], true);
}

static void has_a_short_chain(bool damaged)
{
	fill();
	if (damaged) {
		nodes[0].next = &nodes[2];
	}
	gy_outboxes_check(&loop);
}

static void does_not_end(bool damaged)
{
	fill();
	if (damaged) {
		nodes[2].next = &nodes[0];
	}
	gy_outboxes_check(&loop);
}

static void is_not_to_be_flushed(bool damaged)
{
	fill();
	loop.flush_count -= damaged;
	gy_outboxes_check(&loop);
}

static void has_mail_for_itself(bool damaged)
{
	fill();
	loop.index = damaged;
	gy_outboxes_check(&loop);
}

static void has_lost_a_job(bool damaged)
{
	fill();
	loop.state.count += damaged;
	gy_loop_check(&loop);
}

static void has_a_clock_of_two_times(bool damaged)
{
	fill();
	loop.now_ns += damaged;
	gy_loop_check(&loop);
}

const struct walker_case loop_cases[] = {
	{ "outbox: a node is missing in the chain", has_a_short_chain },
	{ "outbox: a chain does not end", does_not_end },
	{ "outbox: it waits, and nobody will flush it", is_not_to_be_flushed },
	{ "outbox: mail is for the loop itself", has_mail_for_itself },
	{ "loop: a job is lost", has_lost_a_job },
	{ "loop: its clock shows two times", has_a_clock_of_two_times },
	{ 0 },
};
