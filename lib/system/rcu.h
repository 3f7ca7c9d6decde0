/*
 * What this floor hangs on RCU: looking from threads that are no loops, and memory that is freed
 * when nobody can look at it any more.
 *
 * A loop is a reader all the time but while it is parked. Any other thread becomes one when it
 * looks for the first time, is offline between its looks so that no grace period waits for it, and
 * is signed off when it ends.
 */
#ifndef GY_SYSTEM_RCU_H
#define GY_SYSTEM_RCU_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/urcu-qsbr.h>

/* The items of a system that are retired and not freed yet. */
struct gy_rcu {
	pthread_mutex_t mutex;
	pthread_cond_t none_left;
	uint64_t pending;
};

/* The first member of what is retired, which is a piece of memory of its own. */
struct gy_rcu_item {
	struct rcu_head head;
	struct gy_rcu *rcu;
	void (*run)(struct gy_rcu_item *item);
};

/*
 * 0 if the process can have another thread, or a negative errno. liburcu ends the process when it
 * cannot start the one of gy_rcu_init().
 */
int gy_rcu_check(void);
/*
 * Also starts the thread that waits for grace periods, if it does not run yet: one a process, which
 * sleeps when there is nothing to wait for.
 */
void gy_rcu_init(struct gy_rcu *rcu);
/* Waits until all that was retired is freed; not on a loop. */
void gy_rcu_fini(struct gy_rcu *rcu);
/* Between these two what was found stays. For any thread; gives what gy_rcu_leave() takes. */
bool gy_rcu_enter(void);
void gy_rcu_leave(bool entered);
/* Frees @item after a grace period; any thread. It has been unpublished. */
void gy_rcu_retire(struct gy_rcu *rcu, struct gy_rcu_item *item);
/* The same, but runs a function. */
void gy_rcu_call(struct gy_rcu *rcu, struct gy_rcu_item *item,
		 void (*run)(struct gy_rcu_item *item));

#endif
