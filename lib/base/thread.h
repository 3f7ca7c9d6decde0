/*
 * The one way to start a thread. It begins with every signal blocked, so that it never takes a
 * signal that the program waits for, and has a name that says whose it is. And what else threads
 * ask of the kernel: their signal masks, their CPUs, and waits that end by the clock, for which a
 * simulator has virtual threads and virtual time.
 */
#ifndef GY_BASE_THREAD_H
#define GY_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct gy_cpus;

enum { GY_THREAD_NAME_BYTES = 16 }; /* with the end; the kernel keeps no more */

/* @attributes may be NULL. 0 or a negative errno. */
int gy_thread_start(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
		    pthread_t *ret_thread);

/* Names the calling thread "gyre-" and @what, for debuggers and top. */
void gy_thread_name(const char *what);
/* Names the calling thread as one of several: "gyre-loop-3". */
void gy_thread_name_number(const char *what, uint32_t number);

/* Changes the calling thread's mask of signals; @how as of pthread_sigmask(). @ret_before may be
 * NULL. */
void gy_thread_mask_signals(int how, const sigset_t *signals, sigset_t *ret_before);
/* Has the calling thread block every signal. */
void gy_thread_block_signals(sigset_t *ret_before);
/* Gives the calling thread the mask @before back. */
void gy_thread_restore_signals(const sigset_t *before);

/* The CPUs that the calling thread may run on. 0 or a negative errno. */
int gy_thread_cpus(struct gy_cpus *ret_cpus);
/* Has the calling thread run on @cpus alone. 0 or a negative errno. */
int gy_thread_set_cpus(const struct gy_cpus *cpus);

/* Whether to look again and again is a way to wait: others run meanwhile. */
bool gy_thread_may_poll(void);

/* Makes a condition whose timed waits are by the monotonic clock. pthread_cond_destroy() ends it.
 */
void gy_condition_init(pthread_cond_t *condition);
/*
 * Waits for @condition, with @mutex held, until the machine's clock is at @until_ns. Returns
 * whether time is left; the wait may also end for no reason.
 */
bool gy_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns);

#endif
