/*
 * Fan-in with no runtime: producers on one thread or two send fresh mails to one consumer on the
 * first, a batch for each credit that it gave back. On the consumer's thread a mail is pushed into
 * its mailbox; from the other it goes through a ring of pointers or a linked chain, and so does its
 * memory on the way home.
 */
#include <errno.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "limit/bare.h"
#include "limit/pair.h"

enum { PRODUCERS_MAX = 64, RUNS_MAX = 8 };

struct fanin_options {
	int64_t producers;
	int64_t messages;
	int64_t batch;
	int64_t window;
	int64_t loops;
	bool apart;
	bool chains;
	bool pin;
	bool json;
};

static struct fanin_options options = {
	.producers = 8, .messages = 100000000, .batch = 256, .window = 2, .loops = 2
};

static struct pair pair;

static struct producer {
	struct bare_actor actor; /* first; its @user is its side */
	uint32_t index;
	uint32_t sent;
} producers[PRODUCERS_MAX];

static struct consumer {
	struct bare_actor actor; /* first */
	uint64_t taken;
	uint32_t expected[PRODUCERS_MAX]; /* the next number of each */
} consumer;

/* ---- sending ---- */

static inline struct bare_mail *get(struct pair_side *side, bool chains)
{
	return chains ? pair_get_chains(side) : bare_get(&side->loop);
}

static inline void deliver(struct pair_side *side, struct bare_mail *mail, bool chains)
{
	if (mail->to->user == side) {
		bare_push(&side->loop, mail->to, mail);
	} else if (chains) {
		pair_send_chains(side, mail);
	} else {
		pair_send_rings(side, mail);
	}
}

/* The memory of @mail goes home to the side of the actor that sent it. */
static inline void put(struct pair_side *side, struct bare_mail *mail, bool chains)
{
	if (mail->from->user == side) {
		bare_put(&side->loop, mail);
	} else if (chains) {
		pair_return_chains(side, mail);
	} else {
		pair_return_rings(side, mail);
	}
}

/* ---- actors ---- */

static inline void send_batch(struct producer *self, bool chains)
{
	struct pair_side *side = self->actor.user;

	for (int64_t i = 0; i < options.batch; i++) {
		struct bare_mail *mail = get(side, chains);

		mail->to = &consumer.actor;
		mail->from = &self->actor;
		mail->value = (uint64_t)self->index << 32 | self->sent++;
		deliver(side, mail, chains);
	}
}

static inline void consume(struct bare_loop *loop, struct bare_mail *mail, bool chains)
{
	struct pair_side *side = pair_side_of(loop);
	uint32_t number = (uint32_t)mail->value;

	if (number != consumer.expected[mail->value >> 32]++) {
		abort();
	}
	consumer.taken++;
	if (((number + 1) & ((uint32_t)options.batch - 1)) == 0) {
		struct bare_mail *credit = get(side, chains);

		credit->to = mail->from;
		credit->from = &consumer.actor;
		deliver(side, credit, chains);
	}
	put(side, mail, chains);
}

static void produce_rings(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	send_batch((struct producer *)(void *)actor, false);
	put(pair_side_of(loop), mail, false);
}

static void produce_chains(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	send_batch((struct producer *)(void *)actor, true);
	put(pair_side_of(loop), mail, true);
}

static void consume_rings(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	(void)actor;
	consume(loop, mail, false);
}

static void consume_chains(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	(void)actor;
	consume(loop, mail, true);
}

/* ---- running ---- */

static struct pair_side *side_of_producer(int64_t index)
{
	int64_t last = options.loops - 1;

	return &pair.sides[options.apart ? last : index & last];
}

static void make_actors(void)
{
	bare_actor_init(&consumer.actor, options.chains ? consume_chains : consume_rings);
	consumer.actor.user = &pair.sides[0];
	for (int64_t i = 0; i < options.producers; i++) {
		struct producer *producer = &producers[i];

		bare_actor_init(&producer->actor, options.chains ? produce_chains : produce_rings);
		producer->actor.user = side_of_producer(i);
		producer->index = (uint32_t)i;
		for (int64_t batch = 0; batch < options.window; batch++) {
			send_batch(producer, options.chains);
		}
	}
}

static int run(uint64_t *ret_messages, uint64_t *ret_ns)
{
	int64_t in_flight = options.producers * (options.window * options.batch + 1);
	uint64_t start_ns;
	int r = 0;

	pair_init(&pair, (size_t)in_flight, options.chains);
	pair.sides[0].runs_max = RUNS_MAX;
	pair.sides[1].runs_max = RUNS_MAX;
	make_actors();
	if (options.loops == 2) {
		/* What side 0 handles is counted, credits among it; the consumer counts its own. */
		r = pair_run(&pair, (uint64_t)options.messages, options.pin, ret_ns);
	} else {
		r = perf_pin(options.pin ? 0 : -1);
		start_ns = perf_now_ns();
		while (r == 0 && consumer.taken < (uint64_t)options.messages) {
			bare_run_next(&pair.sides[0].loop);
		}
		*ret_ns = perf_now_ns() - start_ns;
	}
	*ret_messages = consumer.taken;
	return r;
}

static void report(uint64_t messages, uint64_t elapsed_ns)
{
	struct perf_report report;

	perf_report_init(&report, "limit/fanin");
	perf_report_number(&report, "messages_per_s", (double)messages * 1e9 / (double)elapsed_ns);
	perf_report_number(&report, "ns_per_message", (double)elapsed_ns / (double)messages);
	perf_report_number(&report, "producers", (double)options.producers);
	perf_report_number(&report, "loops", (double)options.loops);
	if (options.loops == 2) {
		perf_report_string(&report, "transport", options.chains ? "chains" : "rings");
	}
	perf_report_print(&report, options.json);
}

int main(int argc, char **argv)
{
	const struct perf_option table[] = {
		{ "producers", PERF_OPTION_NUMBER, "actors that send", &options.producers, 1,
		  PRODUCERS_MAX, NULL },
		{ "messages", PERF_OPTION_NUMBER, "how many in all", &options.messages, 1,
		  INT64_MAX / 2, NULL },
		{ "batch", PERF_OPTION_NUMBER, "messages for a credit, a power of two",
		  &options.batch, 1, 1 << 16, NULL },
		{ "window", PERF_OPTION_NUMBER, "credits of each producer", &options.window, 1, 64,
		  NULL },
		{ "loops", PERF_OPTION_NUMBER, "threads that the producers are dealt out to",
		  &options.loops, 1, 2, NULL },
		{ "apart", PERF_OPTION_FLAG, "all producers on the last thread", &options.apart, 0,
		  0, NULL },
		{ "chain", PERF_OPTION_FLAG, "two threads: linked chains, not rings of pointers",
		  &options.chains, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind loop 0 to CPU 0, loop 1 to CPU 1", &options.pin, 0,
		  0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	uint64_t messages = 0;
	uint64_t ns = 0;
	int r;

	perf_options_parse(argc, argv, "Messages of many actors to one in bare C.", table,
			   sizeof(table) / sizeof(table[0]));
	if ((options.batch & (options.batch - 1)) != 0) {
		return perf_fail("--batch is no power of two", -EINVAL);
	}
	r = run(&messages, &ns);
	if (r < 0) {
		return perf_fail("cannot run", r);
	}
	report(messages, ns);
	return 0;
}
