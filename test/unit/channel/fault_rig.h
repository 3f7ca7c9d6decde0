/*
 * What the tests of faults share: one channel over TCP with a handler that notes what it hears, and
 * a far end that can be reset.
 */
#ifndef TEST_UNIT_CHANNEL_FAULT_RIG_H
#define TEST_UNIT_CHANNEL_FAULT_RIG_H

#include "rig.h"

enum { FAULT_BYTES_MAX = 1 << 20 };

struct fault {
	struct rig rig;
	struct gyre_channel *channel; /* NULL when it is gone */
	int fd;			      /* its far end */
	bool echo;		      /* its handler sends back what it reads */
	uint32_t registered;
	uint32_t active;
	uint32_t reads;
	uint32_t input_closed;
	uint32_t read_ends;
	uint32_t inactive;
	uint32_t unregistered;
	uint32_t removed;
	uint64_t bytes; /* read */
	bool wrong;	/* not those of rig_fill() */
	int reason;
};

extern struct fault fault;

/* The handler, and a pipeline of it alone. */
extern const struct gyre_handler fault_handler;
extern const struct gyre_handler *const fault_handlers[];

/* Makes the rig; the channel is opened, and not heard of yet, by fault_open(). */
void fault_begin(const struct rig_options *options);
void fault_open(const struct gyre_channel_options *options);
/* Both, and a few turns. */
void fault_begin_open(const struct gyre_channel_options *options);
/* The same with an hour for what is left at a close. */
void fault_begin_patient(const struct gyre_channel_options *options);
/* For a channel that closes when its peer ends, and one that then goes on. */
void fault_begin_closing(void);
void fault_begin_half_closing(void);
struct gyre_handler_context *fault_tail(void);
/* Expects that the channel has ended for @reason, each call of its handler came once, and it was
 * counted; closes the far end if it is not, and the rig. */
void fault_end(int reason);

/* The far end goes away without a word. */
void fault_reset(void);
/* The first @count bytes of rig_fill(). */
struct gyre_buffer *fault_buffer(size_t count);
int fault_write(size_t count);
/* The far end sends so many of rig_fill() beyond those that it has sent. */
void fault_send(size_t count);
/* A condition. */
bool fault_is_closed(struct rig *rig, void *arg);

#endif
