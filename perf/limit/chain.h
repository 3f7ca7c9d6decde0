/*
 * Linked chains of mail between two threads, each handed over with one atomic exchange.
 *
 * Mail is appended to a private chain, and the chain to the other thread's inbox: the exchange
 * takes the place of its last node, then the chain is linked behind what stood there (a queue with
 * many producers and one consumer, after D. Vyukov; the stub is what stands there when it is
 * empty). Freed mails go home in chains as well: onto a stack of free mails that the owner takes as
 * a whole when it has none left.
 */
#ifndef PERF_LIMIT_CHAIN_H
#define PERF_LIMIT_CHAIN_H

#include <stdint.h>

#include "limit/bare.h"

struct chain {
	struct bare_mail *first;
	struct bare_mail *last;
	uint32_t count;
};

struct chain_inbox {
	_Alignas(BARE_LINE_BYTES) struct bare_mail *last; /* producers */
	_Alignas(BARE_LINE_BYTES) struct bare_mail *head; /* consumer */
	struct bare_mail stub;
};

static inline void chain_append(struct chain *chain, struct bare_mail *mail)
{
	mail->next = NULL;
	if (chain->count++ == 0) {
		chain->first = mail;
	} else {
		chain->last->next = mail;
	}
	chain->last = mail;
}

static inline void chain_inbox_init(struct chain_inbox *inbox)
{
	inbox->stub.next = NULL;
	inbox->head = &inbox->stub;
	inbox->last = &inbox->stub;
}

/* Hands all of @chain to @inbox and empties it. */
static inline void chain_flush(struct chain *chain, struct chain_inbox *inbox)
{
	struct bare_mail *before;

	if (chain->count == 0) {
		return;
	}
	before = __atomic_exchange_n(&inbox->last, chain->last, __ATOMIC_ACQ_REL);
	__atomic_store_n(&before->next, chain->first, __ATOMIC_RELEASE);
	chain->count = 0;
}

/* The next mail or NULL. NULL may also mean that a producer is between its two steps: come back
 * later. */
static inline struct bare_mail *chain_take(struct chain_inbox *inbox)
{
	struct bare_mail *head = inbox->head;
	struct bare_mail *next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);

	if (head == &inbox->stub) {
		if (next == NULL) {
			return NULL;
		}
		inbox->head = head = next;
		next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);
	}
	if (next == NULL && head == __atomic_load_n(&inbox->last, __ATOMIC_ACQUIRE)) {
		struct chain stub = { 0 };

		chain_append(&stub, &inbox->stub);
		chain_flush(&stub, inbox);
		next = __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);
	}
	if (next != NULL) {
		inbox->head = next;
		return head;
	}
	return NULL;
}

/* Puts all of @chain on the stack @home and empties it. */
static inline void chain_return(struct chain *chain, struct bare_mail **home)
{
	struct bare_mail *top = __atomic_load_n(home, __ATOMIC_RELAXED);

	if (chain->count == 0) {
		return;
	}
	do {
		chain->last->next = top;
	} while (!__atomic_compare_exchange_n(home, &top, chain->first, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	chain->count = 0;
}

#endif
