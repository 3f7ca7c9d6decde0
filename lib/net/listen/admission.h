/*
 * Who is let in: the limits of one call of gyre_system_listen(), shared by its acceptors and
 * workers on all loops, and the report about its connections. There is none where there are no
 * limits and nobody is to be told, and then nothing is counted.
 */
#ifndef GY_NET_LISTEN_ADMISSION_H
#define GY_NET_LISTEN_ADMISSION_H

#include <pthread.h>

#include <gyre/listen.h>

#include "channel/channel.h"

/* Tells an acceptor that waits that there is room. */
extern const struct gyre_type gy_type_room;

/* On heap, counted. All fields but the options and @acceptor are atomic. */
struct gy_admission {
	uint32_t references;
	uint32_t connections;
	uint64_t next_ns; /* when the next may come, if they come evenly */
	uint64_t interval_ns;
	uint32_t connections_max;
	uint32_t loop_connections_max;
	bool refuse;
	gyre_listen_fn report;
	void *report_arg;
	pthread_mutex_t mutex; /* of where acceptors are */
	uint32_t loops_count;
	struct {
		uint32_t connections; /* of a loop */
		uint32_t waiting;     /* the acceptor of the socket of this number, for room */
		struct gyre_address acceptor; /* under the mutex */
	} loops[];			      /* as many as there may be */
};

/* NULL with 0 when none is needed; else with one reference; -ENOMEM. */
int gy_admission_create(const struct gyre_acceptor_options *options, uint32_t loops,
			struct gy_admission **ret_admission);
/* NULL is allowed. */
struct gy_admission *gy_admission_ref(struct gy_admission *admission);
void gy_admission_unref(struct gy_admission *admission);

/* How long the rate keeps the next one waiting; 0 for not. */
uint64_t gy_admission_delay_ns(const struct gy_admission *admission, uint64_t now_ns);
/* Counts one in for @loop; false when there is no room. */
bool gy_admission_enter(struct gy_admission *admission, uint16_t loop, uint64_t now_ns);
/* A connection that was counted has gone; acceptors that wait are told. On a loop. */
void gy_admission_leave(struct gy_admission *admission, uint16_t loop, struct gy_home *home);
/* The acceptor of a socket, before it waits for the first time, wherever that one was before. */
void gy_admission_join(struct gy_admission *admission, uint32_t number,
		       struct gyre_address acceptor);
/* The acceptor is to be told when there is room; it has to try once more after this call. */
void gy_admission_wait(struct gy_admission *admission, uint32_t number);
/* A connection that was counted for a loop goes to another, which may then have one too many. */
void gy_admission_move(struct gy_admission *admission, uint16_t from, uint16_t to);

int gy_admission_report(const struct gy_admission *admission, struct gyre_stack *stack,
			const struct gyre_listen_event *event, struct gyre_channel *channel);

/* Puts the handler into a pipeline that reports, and that counts the connection out at its end. */
int gy_admission_update(struct gy_admission *admission, struct gyre_channel *channel);

#endif
