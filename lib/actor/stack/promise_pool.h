/*
 * The promises of a loop that are free. Those who recycle one have its id be that of the next use.
 */
#ifndef GY_ACTOR_STACK_PROMISE_POOL_H
#define GY_ACTOR_STACK_PROMISE_POOL_H

#include "actor/mail/mail_pool.h"
#include "actor/stack/bound_ask.h"
#include "actor/stack/promise_places.h"

/* Where the pool is empty: NULL when there is no memory. */
GY_COLD struct gy_promise *gy_promise_get_slow(struct gy_home *home);
/* Where the pool has no room. */
GY_COLD void gy_promise_put_spare(struct gy_home *home, struct gy_promise *promise);

/* A promise, or NULL: the pool does not grow. It is not trimmed either, so it need not know that it
 * was used. */
static inline struct gy_promise *gy_promise_take(struct gy_home *home)
{
	struct gy_pool *pool = &home->promises;
	uint32_t count = pool->free_count;

	if (gy_unlikely(count == 0)) {
		return NULL;
	}
	gy_store_relaxed(&pool->free_count, --count);
	return (struct gy_promise *)pool->free[count];
}

static inline struct gy_promise *gy_promise_get(struct gy_home *home)
{
	struct gy_promise *promise = gy_promise_take(home);

	return gy_likely(promise != NULL) ? promise : gy_promise_get_slow(home);
}

static inline void gy_promise_put(struct gy_home *home, struct gy_promise *promise)
{
	if (gy_likely(home->promises.free_count < home->promises.capacity)) {
		gy_pool_push(&home->promises, promise);
	} else {
		gy_promise_put_spare(home, promise);
	}
}

/* Frees a promise that has completed, and is in no chain any more. */
static inline void gy_promise_recycle(struct gy_home *home, struct gy_promise *promise)
{
	gy_count(&promise->id, gy_promise_done);
	if (promise->answer != NULL) {
		gy_mail_put(home, promise->answer);
	} else if (gy_unlikely(gy_load_relaxed(&promise->lost) > GY_LOST_STOPS) &&
		   !gy_bound_ask_release(promise)) {
		return;
	}
	gy_promise_put(home, promise);
}

/*
 * The same for one that has an answer of the smallest size, of this loop, if there is room for
 * both: without a call. False if it is left to the caller.
 */
static inline bool gy_promise_recycle_plainly(struct gy_home *home, struct gy_promise *promise)
{
	struct gyre_mail *answer = promise->answer;
	struct gy_pool *mails = &home->loop.nodes.pools[0];
	struct gy_pool *promises = &home->promises;

	uint32_t mail_count = mails->free_count;
	uint32_t promise_count = promises->free_count;

	if (gy_unlikely(answer == NULL) ||
	    gy_unlikely(gy_node_head_of(&answer->node) !=
			gy_node_head(home->loop.small_origin, GY_MAIL_REPLY)) ||
	    gy_unlikely(mail_count >= mails->total) ||
	    gy_unlikely(promise_count >= promises->capacity)) {
		return false;
	}
	gy_node_poison(&answer->node);
	gy_pool_push_at(mails, mail_count, answer);
	gy_count(&promise->id, gy_promise_done);
	gy_pool_push_at(promises, promise_count, promise);
	return true;
}

#endif
