/*
 * Ask and reply with no runtime. One actor keeps @outstanding asks under way to another one: each
 * ask is a fresh mail with the address of its promise, each reply a fresh mail that completes it,
 * and a completed promise is at once used for the next ask. With two loops, asker and server live
 * on different threads.
 */
#include "common/cpu.h"
#include "common/options.h"
#include "common/report.h"
#include "limit/bare.h"
#include "limit/pair.h"

struct ask_options {
	int64_t asks;
	int64_t outstanding;
	int64_t loops;
	bool chains;
	bool pin;
	bool json;
};

static void fill_ask(struct bare_mail *mail, struct bare_actor *asker, struct bare_promise *promise)
{
	promise->done = false;
	mail->to = asker->neighbour;
	mail->from = asker;
	mail->promise = promise;
	mail->value = promise->value;
}

static void fill_reply(struct bare_mail *mail, const struct bare_mail *ask)
{
	mail->to = ask->from;
	mail->promise = ask->promise;
	mail->value = ask->value + 1;
}

static struct bare_promise *complete(const struct bare_mail *reply)
{
	reply->promise->value = reply->value;
	reply->promise->done = true;
	return reply->promise;
}

static void serve_local(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct bare_mail *reply = bare_get(loop);

	(void)actor;
	fill_reply(reply, mail);
	bare_push(loop, reply->to, reply);
	bare_put(loop, mail);
}

static void ask_local(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct bare_mail *ask = bare_get(loop);

	fill_ask(ask, actor, complete(mail));
	bare_push(loop, ask->to, ask);
	bare_put(loop, mail);
}

static void serve_chains(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *reply = pair_get_chains(side);

	(void)actor;
	fill_reply(reply, mail);
	pair_send_chains(side, reply);
	pair_return_chains(side, mail);
}

static void ask_chains(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *ask = pair_get_chains(side);

	fill_ask(ask, actor, complete(mail));
	pair_send_chains(side, ask);
	pair_return_chains(side, mail);
}

static void serve_rings(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *reply = bare_get(loop);

	(void)actor;
	fill_reply(reply, mail);
	pair_send_rings(side, reply);
	pair_return_rings(side, mail);
}

static void ask_rings(struct bare_loop *loop, struct bare_actor *actor, struct bare_mail *mail)
{
	struct pair_side *side = pair_side_of(loop);
	struct bare_mail *ask = bare_get(loop);

	fill_ask(ask, actor, complete(mail));
	pair_send_rings(side, ask);
	pair_return_rings(side, mail);
}

/* An asker, actors[0], and its server, actors[1]. */
static void make_actors(struct bare_actor actors[2], bare_receive_fn ask, bare_receive_fn serve)
{
	bare_actor_init(&actors[0], ask);
	bare_actor_init(&actors[1], serve);
	actors[0].neighbour = &actors[1];
	actors[1].neighbour = &actors[0];
}

static struct bare_promise *make_promises(int64_t count)
{
	struct bare_promise *promises = calloc((size_t)count, sizeof(*promises));

	if (promises == NULL) {
		abort();
	}
	return promises;
}

static int run_local(const struct ask_options *options, uint64_t *ret_asks, uint64_t *ret_ns)
{
	struct bare_promise *promises = make_promises(options->outstanding);
	struct bare_actor actors[2];
	struct bare_loop loop;
	uint64_t start_ns;
	int r;

	r = perf_pin(options->pin ? 0 : -1);
	if (r < 0) {
		free(promises);
		return r;
	}
	make_actors(actors, ask_local, serve_local);
	bare_loop_init(&loop, (size_t)options->outstanding + 1, BARE_LINE_BYTES);
	for (int64_t i = 0; i < options->outstanding; i++) {
		struct bare_mail *ask = bare_get(&loop);

		fill_ask(ask, &actors[0], &promises[i]);
		bare_push(&loop, ask->to, ask);
	}
	start_ns = perf_now_ns();
	while (loop.handled < 2 * (uint64_t)options->asks) {
		bare_run_next(&loop);
	}
	*ret_ns = perf_now_ns() - start_ns;
	*ret_asks = loop.handled / 2;
	free(promises);
	return 0;
}

static int run_pair(const struct ask_options *options, uint64_t *ret_asks, uint64_t *ret_ns)
{
	static struct pair pair;
	struct bare_promise *promises = make_promises(options->outstanding);
	struct pair_side *asker = &pair.sides[0];
	static struct bare_actor actors[2];
	int r;

	make_actors(actors, options->chains ? ask_chains : ask_rings,
		    options->chains ? serve_chains : serve_rings);
	pair_init(&pair, (size_t)options->outstanding, options->chains);
	for (int64_t i = 0; i < options->outstanding; i++) {
		struct bare_mail *ask = bare_get(&asker->loop);

		fill_ask(ask, &actors[0], &promises[i]);
		if (options->chains) {
			pair_send_chains(asker, ask);
		} else {
			pair_send_rings(asker, ask);
		}
	}
	r = pair_run(&pair, (uint64_t)options->asks, options->pin, ret_ns);
	*ret_asks = asker->loop.handled;
	free(promises);
	return r;
}

static void report(const struct ask_options *options, uint64_t asks, uint64_t elapsed_ns)
{
	struct perf_report report;

	perf_report_init(&report, "limit/ask");
	perf_report_number(&report, "asks_per_s", (double)asks * 1e9 / (double)elapsed_ns);
	perf_report_number(&report, "ask_ns", (double)elapsed_ns / (double)asks);
	perf_report_number(&report, "outstanding", (double)options->outstanding);
	perf_report_number(&report, "loops", (double)options->loops);
	perf_report_number(&report, "asks", (double)asks);
	perf_report_number(&report, "elapsed_ns", (double)elapsed_ns);
	if (options->loops == 2) {
		perf_report_string(&report, "transport", options->chains ? "chains" : "rings");
	}
	perf_report_print(&report, options->json);
}

int main(int argc, char **argv)
{
	struct ask_options options = { .asks = 50000000, .outstanding = 1, .loops = 1 };
	const struct perf_option table[] = {
		{ "asks", PERF_OPTION_NUMBER, "how many to make in all", &options.asks, 1,
		  INT64_MAX / 2, NULL },
		{ "outstanding", PERF_OPTION_NUMBER, "asks under way at once", &options.outstanding,
		  1, 1 << 20, NULL },
		{ "loops", PERF_OPTION_NUMBER, "threads", &options.loops, 1, 2, NULL },
		{ "chain", PERF_OPTION_FLAG, "two threads: linked chains, not rings of pointers",
		  &options.chains, 0, 0, NULL },
		{ "pin", PERF_OPTION_FLAG, "bind loop 0 to CPU 0, loop 1 to CPU 1", &options.pin, 0,
		  0, NULL },
		{ "json", PERF_OPTION_FLAG, "print one JSON object", &options.json, 0, 0, NULL },
	};
	uint64_t elapsed_ns = 0;
	uint64_t asks = 0;
	int r;

	perf_options_parse(argc, argv, "Ask and reply in bare C.", table,
			   sizeof(table) / sizeof(table[0]));
	r = options.loops == 1 ? run_local(&options, &asks, &elapsed_ns)
			       : run_pair(&options, &asks, &elapsed_ns);
	if (r < 0) {
		return perf_fail("cannot run", r);
	}
	report(&options, asks, elapsed_ns);
	return 0;
}
