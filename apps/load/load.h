/*
 * gyre-load: what its parts share.
 *
 *	run.c       one actor that leads the others through the steps of a run
 *	pace.c      one actor on each loop: tells connections when requests are due or late
 *	request.c   what is known of a connection, and what is counted
 *	stream.c    the handler of a connection, for TCP and Unix sockets
 *	datagram.c  the handler of a socket, for UDP and Unix sockets of datagrams
 *	folder.c    where the files of the latter are
 *	report.c    what is printed
 *
 * What belongs to a loop is touched on that loop alone: by the handlers in phase 2, and in phase 3
 * by its pacer, which is never stolen because a loop keeps all it has for itself.
 */
#ifndef APPS_LOAD_H
#define APPS_LOAD_H

#include <gyre/gyre.h>

#include "../histogram.h"

/* A folder with a number behind it is a path that a socket can have. */
enum { LOAD_SIZE_MAX = 1 << 20, LOAD_DEPTH_MAX = 1024, LOAD_FOLDER_MAX = 96, LOAD_NAME_MAX = 128 };

struct load_settings {
	const char *to;
	const char *cpus;
	uint64_t connections;
	uint64_t size_bytes; /* of a request and of its reply */
	uint64_t depth;	     /* requests under way on each connection, at most */
	uint64_t rate;	     /* requests a second over all connections; 0 for a closed loop */
	uint64_t duration_ns;
	uint64_t warmup_ns;
	uint64_t timeout_ns;
	uint64_t loops;
	bool datagrams;
	bool json;
	bool reconnect;
	bool verify;
	char folder[LOAD_FOLDER_MAX]; /* "" for none */
};

enum load_step {
	LOAD_CONNECT,
	LOAD_WARM_UP,
	LOAD_MEASURE,
	LOAD_DRAIN, /* what is under way is awaited */
	LOAD_DONE,
};

/* Of connections that could not be made or were lost, and of what came back wrong. */
enum load_error {
	LOAD_REFUSED,
	LOAD_RESET,
	LOAD_CLOSED,
	LOAD_TIMED_OUT,
	LOAD_CORRUPT,
	LOAD_OTHER,
	LOAD_ERRORS,
};

struct load_counts {
	uint64_t requests; /* that were answered while it was measured */
	uint64_t lost;	   /* datagrams without an answer in time */
	uint64_t unsent; /* that were due, but had no connection, or at the end no room under way */
	uint64_t errors[LOAD_ERRORS];
	int other;	  /* the reason of the last of LOAD_OTHER */
	uint64_t settled; /* connections that were made, or could not be */
	uint64_t open;
	uint64_t under_way;
	uint64_t elapsed_ns;
};
GYRE_MESSAGE(load_counts, 0x300);

struct load_loop {
	const struct load_settings *settings;
	const char *pattern;
	uint32_t index;
	uint32_t connections_max;	      /* its share */
	struct load_connection **connections; /* NULL where one is closed */
	struct gyre_address pacer;
	enum load_step step;
	uint64_t next_request; /* with a rate: how many were due */
	uint64_t begun_ns;     /* the intended time of the first request of all */
	uint64_t measured_ns;  /* when that began */
	struct load_counts counts;
	struct histogram latency;
};

struct load_connection {
	struct load_loop *loop;
	struct gyre_address address;
	uint32_t index; /* in the loop, of which it is a place that is not taken while inactive */
	uint32_t place; /* where in the pattern its stream begins */
	uint32_t under_way;
	uint32_t oldest;     /* of a stream: the slot of the oldest request under way */
	uint64_t due;	     /* with a rate: requests that were to begin by now */
	uint64_t begun;	     /* requests */
	uint64_t heard_ns;   /* when anything came, or the first of those under way was sent */
	uint64_t sent_bytes; /* of a stream */
	uint64_t received_bytes;
	struct load_slot *slots; /* @depth of them */
	uint32_t *free;		 /* of datagrams: the slots that are free, @depth - @under_way */
};

struct load_slot {
	uint64_t started_ns; /* when it was sent, or was to be sent */
	uint64_t sent_ns;    /* of datagrams */
	uint32_t round;	     /* of datagrams: tells those that used a slot apart; 0 when free */
};

/* A notice to a connection: requests may be due, and it is time to look for late ones. */
struct load_look {
	char nothing;
};
GYRE_MESSAGE(load_look, 0x301);

/* A notice to a pacer. */
struct load_order {
	enum load_step step;
};
GYRE_MESSAGE(load_order, 0x302);

/* What the main program and the actor that leads share. */
struct load {
	struct load_settings settings;
	struct load_loop *loops;
	struct load_counts total;
	struct histogram latency;
	char *pattern;
	uint64_t cpu_ns; /* of this process, while it was measured */
};

/* ---- request.c ---- */

/* Adds @requester to the pipeline, with a new struct load_connection as its argument. */
int load_connection_add(struct gyre_channel *channel, struct load_loop *loop,
			const struct gyre_handler *requester);
/* To be called in, or to be, these of its functions. */
void load_connection_active(struct gyre_handler_context *ctx);
void load_connection_inactive(struct gyre_handler_context *ctx);
void load_connection_removed(struct gyre_handler_context *ctx);

void load_count_error(struct load_loop *loop, int reason);

/* How many requests may begin on a connection now. */
uint32_t load_room(const struct load_connection *connection);
/* When the loop's request of that number, from 0, is to begin; there must be a rate. */
uint64_t load_request_ns(const struct load_loop *loop, uint64_t number);
/* When the next request of a connection was to begin, if it does so at @now_ns. */
uint64_t load_intended_ns(const struct load_connection *connection, uint64_t now_ns);
void load_answered(struct load_loop *loop, uint64_t started_ns, uint64_t now_ns);

char *load_pattern_create(const struct load_settings *settings);
const char *load_pattern_at(const struct load_connection *connection, uint64_t offset);
/* Whether @data holds what the pattern has there, from @offset of @data on. */
bool load_pattern_is(const struct load_connection *connection, uint64_t place,
		     const struct gyre_buffer *data, size_t offset);

/* ---- folder.c ---- */

/* Makes one, if sockets have to have files. */
int load_folder_make(struct load_settings *settings);
/* When the sockets are gone. */
void load_folder_remove(const struct load_settings *settings);
/* The address of a socket there, of up to LOAD_NAME_MAX bytes in @text; NULL without a folder. */
const char *load_folder_name(const struct load_settings *settings, uint32_t number, char *text);

/* ---- the rest ---- */

int load_init_stream(struct gyre_channel *channel, void *loop);
int load_init_datagram(struct gyre_channel *channel, void *loop);

extern const struct gyre_class load_pacer_class;
extern const struct gyre_class load_leader_class;

struct load_pacer_start {
	struct load_loop *loop;
};
GYRE_MESSAGE(load_pacer_start, 0x303);

struct load_leader_start {
	struct load *load;
};
GYRE_MESSAGE(load_leader_start, 0x304);

/* From the leader to itself: all is set up, the run begins. */
struct load_begin {
	char nothing;
};
GYRE_MESSAGE(load_begin, 0x307);

struct load_counts_wanted {
	char nothing;
};
GYRE_MESSAGE(load_counts_wanted, 0x305);

void load_print_progress(const struct load_counts *before, const struct load_counts *now,
			 enum load_step step, double seconds);
void load_print_report(const struct load *load);

#endif
