/*
 * The worker threads of the epoll engine, of which a process has one set; see epoll_workers.c. It
 * is found by a function, so that processes that are simulated can have a set each.
 */
#ifndef GY_RING_EPOLL_WORKERS_H
#define GY_RING_EPOLL_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct gy_epoll_workers {
	pthread_mutex_t life; /* held while rings come and go */
	pthread_mutex_t lock;
	pthread_cond_t come; /* work, or the end */
	struct gy_list queue;
	struct gy_list all;
	uint32_t rings;
	uint32_t count;	  /* of @all */
	uint32_t opening; /* of these */
	uint32_t abandoned;
	uint32_t idle;
	uint32_t queued;
	bool ending;
};

/* What a set is before there are rings. */
#define GY_EPOLL_WORKERS_INIT(WORKERS)                                                 \
	{                                                                              \
		.life = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,  \
		.come = PTHREAD_COND_INITIALIZER,                                      \
		.queue = { .next = &(WORKERS)->queue, .previous = &(WORKERS)->queue }, \
		.all = { .next = &(WORKERS)->all, .previous = &(WORKERS)->all },       \
	}

/* The set of this process. Any thread. */
struct gy_epoll_workers *gy_epoll_workers_here(void);

#endif
