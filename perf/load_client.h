/*
 * The client side of the echo measurement: many connections, each with a fixed number of requests
 * under way.
 */
#ifndef PERF_LOAD_CLIENT_H
#define PERF_LOAD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/uring.h"
#include "histogram.h"

enum {
	LOAD_PATTERN_BYTES = 65521, /* a prime: no request size divides it */
	LOAD_BUFFER_BYTES = 16 * 1024,
};

struct load_settings {
	const char *host; /* an IPv4 address, or unix:PATH */
	uint16_t port;
	uint32_t connections;
	uint32_t size_bytes; /* of a request and its reply */
	uint32_t depth;	     /* requests under way on each connection */
	uint32_t rate;	     /* with depth 1: requests a second over all; 0 for no pause */
	bool verify;	     /* compare the contents, not only the count of bytes */
	bool block;	     /* sleep for completions rather than spin */
};

struct load_counts {
	uint64_t requests;     /* whose reply came whole */
	uint64_t errors;       /* connections that broke, and bytes that were wrong */
	uint64_t idle_ns;      /* time in turns that had nothing to do */
	uint64_t system_calls; /* io_uring_enter */
};

struct load_connection {
	int fd;
	uint32_t start; /* its place in the pattern */
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint32_t unsent; /* requests that wait for the send under way */
	uint32_t oldest; /* index into @started_ns */
	bool sending;
	bool broken;
	struct load_connection *next_idle;
	uint64_t started_ns[]; /* of the requests under way, @depth of them */
};

struct load_client {
	struct load_settings settings;
	struct io_uring ring;
	struct io_uring_buf_ring *buffers;
	char *memory;
	char *pattern;
	struct load_connection **connections;
	uint32_t open;		      /* connections that work */
	uint32_t outstanding;	      /* requests under way */
	struct load_connection *idle; /* with a rate: has none, the longest such first */
	struct load_connection **idle_link;
	uint64_t start_ns;
	uint64_t begun; /* with a rate: requests since then */
	uint64_t now_ns;
	bool draining; /* no more requests are to be sent */
	struct load_counts counts;
	struct histogram latency;
};

/* Connects. 0 or a negative errno. */
int load_client_create(const struct load_settings *settings, struct load_client **ret_client);
void load_client_destroy(struct load_client *client);

/* Puts a receive buffer into the ring, at first or again. */
void load_client_give_buffer(struct load_client *client, uint16_t buffer);

/* Sends the first requests of every connection, or begins to send those of the rate. */
void load_client_start(struct load_client *client);

/* Submits, reaps, and answers each reply with the next request. @client->now_ns is read at its end.
 */
void load_client_turn(struct load_client *client);

/* Sends nothing new and waits up to @timeout_ns for the replies that are due; what is missing is an
 * error. */
void load_client_drain(struct load_client *client, uint64_t timeout_ns);

/* Starts to count and to measure anew. */
void load_client_reset(struct load_client *client);

#endif
