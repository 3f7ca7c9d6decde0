/*
 * The one way to start a thread. It begins with every signal blocked, so that it never takes a
 * signal that the program waits for, and has a name that says whose it is.
 */
#ifndef GY_BASE_THREAD_H
#define GY_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

enum { GY_THREAD_NAME_BYTES = 16 }; /* with the end; the kernel keeps no more */

/* @attributes may be NULL. 0 or a negative errno. */
int gy_thread_start(const pthread_attr_t *attributes, void *(*run)(void *), void *arg,
		    pthread_t *ret_thread);

/* Names the calling thread "gyre-" and @what, for debuggers and top. */
void gy_thread_name(const char *what);
/* Names the calling thread as one of several: "gyre-loop-3". */
void gy_thread_name_number(const char *what, uint32_t number);

#endif
