/*
 * The addresses that the actors of a stress program know, of which some are stale.
 */
#ifndef GY_TEST_STRESS_BOARD_H
#define GY_TEST_STRESS_BOARD_H

#include <pthread.h>

#include "stress.h"

enum { BOARD_PLACES = 8 };

struct board {
	pthread_mutex_t mutex;
	struct gyre_address addresses[BOARD_PLACES];
	uint32_t next;
};

/* In the place of the oldest. */
static inline void board_put(struct board *board, struct gyre_address address)
{
	(void)pthread_mutex_lock(&board->mutex);
	board->addresses[board->next++ % BOARD_PLACES] = address;
	(void)pthread_mutex_unlock(&board->mutex);
}

/* Any; GYRE_NOBODY while few were put there. */
static inline struct gyre_address board_pick(struct board *board, uint64_t *random)
{
	struct gyre_address address;

	(void)pthread_mutex_lock(&board->mutex);
	address = board->addresses[stress_random(random, BOARD_PLACES)];
	(void)pthread_mutex_unlock(&board->mutex);
	return address;
}

#endif
