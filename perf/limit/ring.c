/*
 * The actor ring with no runtime: @actors in a ring, @messages tokens that go round, and for each
 * hop a fresh mail, made by the actor that got one. All tokens start at actor 0. With two loops,
 * neighbours live on different threads, so that every hop changes thread.
 */
#include <stdio.h>

#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "limit/bare.h"
#include "limit/pair.h"

struct ring_options {
	int64_t actors;
	int64_t messages;
	int64_t hops;
	int64_t loops;
	bool chains;
	bool pin;
	bool json;
};

static void fill(struct bare_mail *mail, struct bare_actor *from, uint64_t hops)
{
	mail->from = from;
	mail->value = hops;
}

static void receive_local(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct bare_mail *fresh = bare_get(loop);

	fill(fresh, actor, mail->value + 1);
	bare_push(loop, actor->neighbour, fresh);
	bare_put(loop, mail);
}

static void receive_chains(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *fresh = pair_get_chains(side);

	fill(fresh, actor, mail->value + 1);
	fresh->to = actor->neighbour;
	pair_send_chains(side, fresh);
	pair_return_chains(side, mail);
}

static void receive_rings(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *fresh = bare_get(loop);

	fill(fresh, actor, mail->value + 1);
	fresh->to = actor->neighbour;
	pair_send_rings(side, fresh);
	pair_return_rings(side, mail);
}

static int run_local(const struct ring_options *options, uint64_t *ret_hops, uint64_t *ret_ns)
{
	struct bare_actor *actors = bare_ring_create((size_t)options->actors, receive_local);
	struct bare_loop loop;
	uint64_t start_ns;
	int r;

	r = perf_pin(options->pin ? 0 : -1);
	if (r < 0) {
		return r;
	}
	bare_loop_init(&loop, (size_t)options->messages + 1, BARE_LINE_BYTES);
	for (int64_t i = 0; i < options->messages; i++) {
		struct bare_mail *mail = bare_get(&loop);

		fill(mail, NULL, 0);
		bare_push(&loop, &actors[0], mail);
	}
	start_ns = perf_now_ns();
	while (loop.handled < (uint64_t)options->hops) {
		bare_run_next(&loop);
	}
	*ret_ns = perf_now_ns() - start_ns;
	*ret_hops = loop.handled;
	return 0;
}

static int run_pair(const struct ring_options *options, uint64_t *ret_hops, uint64_t *ret_ns)
{
	static struct pair pair;
	struct bare_actor *actors = bare_ring_create(
		(size_t)options->actors, options->chains ? receive_chains : receive_rings);
	struct pair_side *last = &pair.sides[1];
	int r;

	/* Side 1 sends the tokens out, as if actor @actors - 1 did. */
	pair_init(&pair, (size_t)options->messages, options->chains);
	for (int64_t i = 0; i < options->messages; i++) {
		struct bare_mail *mail = bare_get(&last->loop);

		fill(mail, NULL, 0);
		mail->to = &actors[0];
		if (options->chains) {
			pair_send_chains(last, mail);
		} else {
			pair_send_rings(last, mail);
		}
	}
	r = pair_run(&pair, (uint64_t)options->hops / 2, options->pin, ret_ns);
	*ret_hops = pair.sides[0].loop.handled + pair.sides[1].loop.handled;
	return r;
}

static void report(const struct ring_options *options, uint64_t hops, uint64_t elapsed_ns)
{
	double per_s = (double)hops * 1e9 / (double)elapsed_ns;
	struct perf_report report;

	perf_report_init(&report, "limit/ring");
	perf_report_number(&report, "laps_per_s", per_s / (double)options->actors);
	perf_report_number(&report, "hops_per_s", per_s);
	perf_report_number(&report, "hop_ns", (double)elapsed_ns / (double)hops);
	perf_report_number(&report, "actors", (double)options->actors);
	perf_report_number(&report, "messages", (double)options->messages);
	perf_report_number(&report, "loops", (double)options->loops);
	perf_report_number(&report, "hops", (double)hops);
	perf_report_number(&report, "elapsed_ns", (double)elapsed_ns);
	if (options->loops == 2) {
		perf_report_string(&report, "transport", options->chains ? "chains" : "rings");
	}
	perf_report_print(&report, options->json);
}

int main(int argc, char **argv)
{
	struct ring_options options = {
		.actors = 100, .messages = 1024, .hops = 100000000, .loops = 1
	};
	const struct perf_option table[] = {
		{ "actors", PERF_OPTION_NUMBER, "actors in the ring", &options.actors, 1, 1 << 20,
		  NULL },
		{ "messages", PERF_OPTION_NUMBER, "tokens", &options.messages, 1, 1 << 20, NULL },
		{ "hops", PERF_OPTION_NUMBER, "how many hops to make in all", &options.hops, 2,
		  INT64_MAX, NULL },
		{ "loops", PERF_OPTION_NUMBER, "threads", &options.loops, 1, 2, NULL },
		{ "chain", PERF_OPTION_FLAG, "two threads: linked chains, not rings of pointers",
		  &options.chains, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind loop 0 to CPU 0, loop 1 to CPU 1", &options.pin, 0,
		  0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	uint64_t elapsed_ns = 0;
	uint64_t hops = 0;
	int r;

	perf_options_parse(argc, argv, "The actor ring in bare C.", table,
			   sizeof(table) / sizeof(table[0]));
	if (options.loops == 2 && options.actors % 2 != 0) {
		fprintf(stderr, "ring: two loops need an even number of actors\n");
		return 2;
	}
	r = options.loops == 1 ? run_local(&options, &hops, &elapsed_ns)
			       : run_pair(&options, &hops, &elapsed_ns);
	if (r < 0) {
		return perf_fail("cannot run", r);
	}
	report(&options, hops, elapsed_ns);
	return 0;
}
