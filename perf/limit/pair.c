/*
 * A side's thread takes what the other side sent, runs its actors until none is ready, or as many
 * as a turn may, shows what is left of its own batches, and begins again; it never sleeps. Side 0
 * counts and tells side 1 when to stop.
 *
 * A pool must never run dry. Of a side's mails, at most @in_flight are on their way or in
 * mailboxes; as many again the other side may have freed and not shown yet, since in one turn it
 * handles each mail in its hands once; and as many are taken in this side's own turn. Four times
 * @in_flight is enough.
 */
#include "limit/pair.h"

#include <pthread.h>
#include <string.h>

#include "common/cpu.h"

static void run_actors(struct pair_side *side)
{
	for (uint32_t left = side->runs_max; left > 0 && bare_run_next(&side->loop); left--) {
	}
}

static void turn_chains(struct pair_side *side)
{
	struct bare_mail *mail;

	while ((mail = chain_take(&side->inbox)) != NULL) {
		bare_push(&side->loop, mail->to, mail);
	}
	run_actors(side);
	chain_flush(&side->out, &side->other->inbox);
	chain_return(&side->back, &side->other->home);
}

static void turn_rings(struct pair_side *side)
{
	struct spsc *home = &side->other->returned;
	struct spsc *inbox = &side->other->sent;

	for (uint32_t count = spsc_ready(home); count > 0; count--) {
		bare_put(&side->loop, spsc_take(home));
	}
	for (uint32_t count = spsc_ready(inbox); count > 0; count--) {
		struct bare_mail *mail = spsc_take(inbox);

		bare_push(&side->loop, mail->to, mail);
	}
	run_actors(side);
	spsc_show(&side->sent);
	spsc_show(&side->returned);
}

static void *run_side(void *arg)
{
	struct pair_side *side = arg;
	uint64_t handled = 0;

	if (perf_pin(side->cpu) < 0) {
		abort();
	}
	while (!__atomic_load_n(&side->stop, __ATOMIC_RELAXED)) {
		if (side->chains) {
			turn_chains(side);
		} else {
			turn_rings(side);
		}
		if (side->loop.handled == handled) {
			perf_relax();
		}
		handled = side->loop.handled;
		if (handled >= side->handled_max) {
			break;
		}
	}
	__atomic_store_n(&side->other->stop, true, __ATOMIC_RELAXED);
	return NULL;
}

void pair_init(struct pair *pair, size_t in_flight, bool chains)
{
	size_t pool_count = 1024;

	while (pool_count < 4 * in_flight) {
		pool_count *= 2;
	}
	memset(pair, 0, sizeof(*pair));
	for (int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];

		bare_loop_init(&side->loop, pool_count, BARE_PAIR_BYTES);
		side->loop.user = side;
		side->other = &pair->sides[1 - i];
		side->chains = chains;
		side->runs_max = UINT32_MAX;
		chain_inbox_init(&side->inbox);
		spsc_init(&side->sent, (uint32_t)pool_count);
		spsc_init(&side->returned, (uint32_t)pool_count);
	}
}

int pair_run(struct pair *pair, uint64_t handled_max, bool pin, uint64_t *ret_elapsed_ns)
{
	pthread_t threads[2];
	uint64_t start_ns;
	int r;

	for (int i = 0; i < 2; i++) {
		pair->sides[i].cpu = pin ? i : -1;
		pair->sides[i].handled_max = i == 0 ? handled_max : UINT64_MAX;
	}
	r = pthread_create(&threads[1], NULL, run_side, &pair->sides[1]);
	if (r != 0) {
		return -r;
	}
	start_ns = perf_now_ns();
	r = pthread_create(&threads[0], NULL, run_side, &pair->sides[0]);
	if (r != 0) {
		__atomic_store_n(&pair->sides[1].stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[1], NULL);
		return -r;
	}
	pthread_join(threads[0], NULL);
	*ret_elapsed_ns = perf_now_ns() - start_ns;
	pthread_join(threads[1], NULL);
	return 0;
}
