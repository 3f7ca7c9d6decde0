/*
 * Parts of graphs in tests: a graph is built by a function, and what its sink has got is compared
 * with what was expected. The testkit runs it (graph_kit.h), or a system of several loops does
 * (graph_rig.h).
 */
#ifndef GY_TEST_GRAPH_PARTS_H
#define GY_TEST_GRAPH_PARTS_H

#include <gyre/stream.h>
#include <gyre/stream_ends.h>

#include "fixture.h"

enum { GOT_MAX = 4096 };

/* What the sinks have got, of all graphs of the test: of one loop at a time. */
struct got {
	uint64_t values[GOT_MAX];
	uint32_t count;
	int result;	   /* of the graph */
	uint64_t elements; /* that it says it has passed */
};

extern struct got got;
/* Notes how a graph has ended. */
void note_end(const struct gyre_future *done);

typedef void (*build_fn)(struct gyre_graph *graph);

/* A source: @count numbers from @from on. */
struct gyre_stream count_from(struct gyre_graph *graph, uint64_t from, uint32_t count);
/* A source without an end, that counts in @produced how many were asked for. */
extern uint64_t produced;
struct gyre_stream count_on(struct gyre_graph *graph);
/* The sink: puts numbers to the others. */
void collect(struct gyre_stream from);
/* Stages. */
int is_odd(void *arg, const void *in);
int add_arg(void *arg, void *in, void *out); /* the uint64_t that @arg points to */
int fail_at(void *arg, void *in, void *out); /* with -EIO, at the number that @arg points to */

/* Elements that own something: each counts, so that none is lost or destroyed twice. */
struct owned {
	uint64_t *value;
};
void owned_destroy(struct owned *owned);
int owned_copy(struct owned *owned);
GYRE_MESSAGE_OWNING(owned, 0x1101, owned_destroy, owned_copy);
extern uint32_t owned_alive;			/* atomic */
int make_owned(void *arg, void *in, void *out); /* of a number */
int read_owned(void *arg, void *in, void *out); /* a number of it */
int next_owned(void *arg, void *out);		/* without an end */

/* Expects the numbers @from, @from + @step ... , @count of them. */
void expect_numbers(uint64_t from, uint64_t step, uint32_t count);

#endif
