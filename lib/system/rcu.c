/*
 * Readers that are no loops, and grace periods. The key under which a thread remembers that it is a
 * reader is of file scope, as the threads are not a system's but the process's: one thread looks
 * into several systems, and may outlive them all.
 */
#include "system/rcu.h"

#include "base/assert.h"
#include "base/happens.h"
#include "base/memory/memory.h"
#include "base/reader.h"
#include "base/thread.h"

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void sign_off(void *arg)
{
	(void)arg;
	gy_reader_put();
}

static void make_key(void)
{
	has_key = pthread_key_create(&key, sign_off) == 0;
}

/* Whether this thread is a reader that only rests between two looks. */
static bool is_known(void)
{
	return has_key && pthread_getspecific(key) != NULL;
}

bool gy_rcu_enter(void)
{
	if (urcu_qsbr_read_ongoing() != 0) {
		return false; /* a loop */
	}
	(void)pthread_once(&key_once, make_key);
	if (is_known()) {
		urcu_qsbr_thread_online();
		return true;
	}
	gy_reader_get();
	if (has_key) {
		(void)pthread_setspecific(key, &key_once);
	}
	return true;
}

void gy_rcu_leave(bool entered)
{
	if (!entered) {
		return;
	}
	if (is_known()) {
		urcu_qsbr_thread_offline();
	} else {
		gy_reader_put(); /* there was no memory to remember it */
	}
}

static void *come_and_go(void *arg)
{
	return arg;
}

int gy_rcu_check(void)
{
	pthread_t thread;
	int r = gy_thread_start(NULL, come_and_go, NULL, &thread);

	if (r == 0) {
		(void)pthread_join(thread, NULL);
	}
	return r;
}

/* liburcu starts its thread itself, which would take signals that the program waits for. */
void gy_rcu_init(struct gy_rcu *rcu)
{
	struct call_rcu_data *reclaimer;
	sigset_t before;

	*rcu = (struct gy_rcu){ 0 };
	(void)pthread_mutex_init(&rcu->mutex, NULL);
	(void)pthread_cond_init(&rcu->none_left, NULL);
	gy_thread_block_signals(&before);
	reclaimer = urcu_qsbr_get_default_call_rcu_data();
	gy_thread_restore_signals(&before);
	if (reclaimer != NULL) {
		(void)pthread_setname_np(urcu_qsbr_get_call_rcu_thread(reclaimer), "gyre-rcu");
	}
}

/* liburcu's own barrier would have the sanitizer see races inside it, and waits for others too. */
void gy_rcu_fini(struct gy_rcu *rcu)
{
	bool online = urcu_qsbr_read_ongoing() != 0; /* a handler of another system */

	if (online) {
		urcu_qsbr_thread_offline();
	}
	(void)pthread_mutex_lock(&rcu->mutex);
	while (rcu->pending > 0) {
		(void)pthread_cond_wait(&rcu->none_left, &rcu->mutex);
	}
	(void)pthread_mutex_unlock(&rcu->mutex);
	(void)pthread_cond_destroy(&rcu->none_left);
	(void)pthread_mutex_destroy(&rcu->mutex);
	if (online) {
		urcu_qsbr_thread_online();
	}
}

static void run_item(struct rcu_head *head)
{
	struct gy_rcu_item *item = gy_container_of(head, struct gy_rcu_item, head);
	struct gy_rcu *rcu;

	gy_happens_after(item);
	rcu = item->rcu;
	item->run(item);
	(void)pthread_mutex_lock(&rcu->mutex);
	gy_assert(rcu->pending > 0);
	if (--rcu->pending == 0) {
		(void)pthread_cond_signal(&rcu->none_left);
	}
	(void)pthread_mutex_unlock(&rcu->mutex); /* the last that is touched of the system */
}

void gy_rcu_call(struct gy_rcu *rcu, struct gy_rcu_item *item,
		 void (*run)(struct gy_rcu_item *item))
{
	bool entered = gy_rcu_enter();

	(void)pthread_mutex_lock(&rcu->mutex);
	rcu->pending++;
	(void)pthread_mutex_unlock(&rcu->mutex);
	item->rcu = rcu;
	item->run = run;
	gy_happens_before(item);
	urcu_qsbr_call_rcu(&item->head, run_item);
	gy_rcu_leave(entered);
}

static void free_item(struct gy_rcu_item *item)
{
	gy_memory_put(item);
}

void gy_rcu_retire(struct gy_rcu *rcu, struct gy_rcu_item *item)
{
	gy_rcu_call(rcu, item, free_item);
}
