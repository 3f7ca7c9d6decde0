/*
 * Two threads, each with its own actors, that send to each other: the part that ring and ask share.
 */
#ifndef PERF_LIMIT_PAIR_H
#define PERF_LIMIT_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "limit/bare.h"
#include "limit/chain.h"
#include "limit/spsc.h"

/* One of the two sides. A loop's @user points to it. */
struct pair_side {
	struct bare_loop loop;
	struct pair_side *other;
	struct chain out;	  /* mail for the other side */
	struct chain back;	  /* mails to be returned to the other side's pool */
	struct chain_inbox inbox; /* with chains */
	struct bare_mail *home;	  /* mails the other side returned */
	struct spsc sent;	  /* with rings: mail for the other side */
	struct spsc returned;	  /* mails to be returned to the other side's pool */
	_Alignas(BARE_LINE_BYTES) bool stop;
	bool chains;
	int cpu;
	uint32_t runs_max; /* of actors in a turn; to be lowered where they keep each other busy */
	uint64_t handled_max;
};

struct pair {
	struct pair_side sides[2];
};

enum { PAIR_BATCH = 32 };

/*
 * Prepares two sides whose pools suffice for @in_flight mails under way at once. @chains chooses
 * between linked chains and rings of pointers.
 */
void pair_init(struct pair *pair, size_t in_flight, bool chains);

/*
 * Runs side 0 on CPU 0 and side 1 on CPU 1 (or both free, without @pin) until side 0 has handled
 * @handled_max mails. Returns 0 and the time it took, or a negative errno.
 */
int pair_run(struct pair *pair, uint64_t handled_max, bool pin, uint64_t *ret_elapsed_ns);

static inline struct pair_side *pair_side_of(struct bare_loop *loop)
{
	return loop->user;
}

/* A mail of this side's pool. */
static inline struct bare_mail *pair_get_chains(struct pair_side *side)
{
	if (side->loop.free == NULL) {
		side->loop.free = __atomic_exchange_n(&side->home, NULL, __ATOMIC_ACQUIRE);
	}
	return bare_get(&side->loop);
}

static inline void pair_send_chains(struct pair_side *side, struct bare_mail *mail)
{
	chain_append(&side->out, mail);
	if (side->out.count == PAIR_BATCH) {
		chain_flush(&side->out, &side->other->inbox);
	}
}

static inline void pair_return_chains(struct pair_side *side, struct bare_mail *mail)
{
	chain_append(&side->back, mail);
	if (side->back.count == PAIR_BATCH) {
		chain_return(&side->back, &side->other->home);
	}
}

static inline void pair_send_rings(struct pair_side *side, struct bare_mail *mail)
{
	spsc_fill_in_batches(&side->sent, mail, PAIR_BATCH);
}

static inline void pair_return_rings(struct pair_side *side, struct bare_mail *mail)
{
	spsc_fill_in_batches(&side->returned, mail, PAIR_BATCH);
}

#endif
