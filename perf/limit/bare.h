/*
 * Actors with nothing round them: what a runtime could cost at the least.
 *
 * A mail is taken from the sender's pool, a last-in first-out list of free nodes, and is itself the
 * node of the mailbox. A mailbox is a list with a pointer to its last link. An actor with mail
 * stands in the run queue, first in first out, and handles at most BARE_QUOTA mails before it goes
 * to the back. There are no timers, no I/O, no addresses, no errors: this measures the floor, it is
 * not a way to write programs.
 */
#ifndef PERF_LIMIT_BARE_H
#define PERF_LIMIT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum {
	BARE_QUOTA = 256,
	BARE_LINE_BYTES = 64,
	BARE_PAIR_BYTES = 128, /* what a processor fetches at once */
};

struct bare_actor;
struct bare_loop;

struct bare_promise {
	uint64_t value;
	bool done;
};

struct bare_mail {
	_Alignas(BARE_LINE_BYTES) struct bare_mail *next;
	struct bare_actor *to;	      /* only between threads */
	struct bare_actor *from;      /* only in an ask */
	struct bare_promise *promise; /* only in an ask and its reply */
	uint64_t value;
};

/* Takes @mail. */
typedef void (*bare_receive_fn)(struct bare_loop *loop, struct bare_actor *actor,
				struct bare_mail *mail);

struct bare_actor {
	_Alignas(BARE_LINE_BYTES) struct bare_mail *first;
	struct bare_mail **link; /* where the next mail is linked */
	struct bare_actor *ready_next;
	bare_receive_fn receive;
	struct bare_actor *neighbour;
	void *user;
	bool ready;
};

struct bare_loop {
	_Alignas(BARE_LINE_BYTES) struct bare_mail *free;
	struct bare_actor *ready;
	struct bare_actor **ready_link;
	uint64_t handled;
	void *user;
};

static inline void bare_actor_init(struct bare_actor *actor, bare_receive_fn receive)
{
	*actor = (struct bare_actor){ .receive = receive };
	actor->link = &actor->first;
}

static inline struct bare_mail *bare_get(struct bare_loop *loop)
{
	struct bare_mail *mail = loop->free;

	if (__builtin_expect(mail == NULL, 0)) {
		abort(); /* pools are made large enough for their program */
	}
	loop->free = mail->next;
	return mail;
}

static inline void bare_put(struct bare_loop *loop, struct bare_mail *mail)
{
	mail->next = loop->free;
	loop->free = mail;
}

static inline void bare_push(struct bare_loop *loop, struct bare_actor *to, struct bare_mail *mail)
{
	mail->next = NULL;
	*to->link = mail;
	to->link = &mail->next;
	if (!to->ready) {
		to->ready = true;
		to->ready_next = NULL;
		*loop->ready_link = to;
		loop->ready_link = &to->ready_next;
	}
}

/* Lets @actor handle up to its quota, and puts it back if more is left. */
static inline void bare_run_actor(struct bare_loop *loop, struct bare_actor *actor)
{
	bare_receive_fn receive = actor->receive;
	uint32_t count = 0;

	do {
		struct bare_mail *mail = actor->first;

		actor->first = mail->next;
		if (actor->first == NULL) {
			actor->link = &actor->first;
		}
		receive(loop, actor, mail);
	} while (++count < BARE_QUOTA && actor->first != NULL);
	loop->handled += count;
	actor->ready = actor->first != NULL;
	if (actor->ready) {
		actor->ready_next = NULL;
		*loop->ready_link = actor;
		loop->ready_link = &actor->ready_next;
	}
}

/* Runs the actor at the front of the run queue; false if there is none. */
static inline bool bare_run_next(struct bare_loop *loop)
{
	struct bare_actor *actor = loop->ready;

	if (actor == NULL) {
		return false;
	}
	loop->ready = actor->ready_next;
	if (loop->ready == NULL) {
		loop->ready_link = &loop->ready;
	}
	bare_run_actor(loop, actor);
	return true;
}

/*
 * Makes @count free mails, one in each @stride_bytes: BARE_LINE_BYTES, or BARE_PAIR_BYTES where
 * neighbours would go to and fro between threads as one. The memory lives as long as the program.
 */
static inline struct bare_mail *bare_mails_create(size_t count, size_t stride_bytes)
{
	size_t pairs = (count * stride_bytes + BARE_PAIR_BYTES - 1) / BARE_PAIR_BYTES;
	char *memory = aligned_alloc(BARE_PAIR_BYTES, pairs * BARE_PAIR_BYTES);
	struct bare_mail *first = NULL;

	if (memory == NULL) {
		abort();
	}
	for (size_t i = count; i > 0; i--) {
		struct bare_mail *mail =
			(struct bare_mail *)(void *)(memory + (i - 1) * stride_bytes);

		mail->next = first;
		first = mail;
	}
	return first;
}

/* Makes a loop whose pool holds @pool_count mails, made as bare_mails_create() says. */
static inline void bare_loop_init(struct bare_loop *loop, size_t pool_count, size_t stride_bytes)
{
	*loop = (struct bare_loop){ .free = bare_mails_create(pool_count, stride_bytes) };
	loop->ready_link = &loop->ready;
}

/* Makes @count actors that send round in a ring. The memory lives as long as the program. */
static inline struct bare_actor *bare_ring_create(size_t count, bare_receive_fn receive)
{
	struct bare_actor *actors = aligned_alloc(BARE_LINE_BYTES, count * sizeof(*actors));

	if (actors == NULL) {
		abort();
	}
	for (size_t i = 0; i < count; i++) {
		bare_actor_init(&actors[i], receive);
		actors[i].neighbour = &actors[(i + 1) % count];
	}
	return actors;
}

#endif
