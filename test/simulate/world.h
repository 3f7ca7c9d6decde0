/*
 * A world is a program on some hosts that is simulated while there is trouble: links are cut and
 * lose packets, hosts crash, calls fail. Then all is healed, and the program must go on.
 *
 * Hosts share the memory of the process, so what a world has seen stands in its state, which the
 * hosts fill and the checks read. A run is a process of its own.
 */
#ifndef SIMULATE_WORLD_H
#define SIMULATE_WORLD_H

#include <gyre/gyre.h>
#include <gyre/sim.h>

/* What may happen to the hosts of a world. */
enum {
	TROUBLE_LINKS = 1,     /* delays, losses, clogs and cuts, each way */
	TROUBLE_CRASHES = 2,   /* and boots */
	TROUBLE_FAULTS = 4,    /* short reads and writes, wake-ups for nothing */
	TROUBLE_DISKS = 8,     /* slow ones, and errors */
	TROUBLE_SIGNALS = 16,  /* SIGTERM, and a boot once the host is down */
	TROUBLE_REFUSALS = 32, /* no memory, no descriptors */
	TROUBLE_RESETS = 64,   /* connections that something in between has forgotten */
};

struct world {
	const char *name;
	size_t state_bytes;	/* of the state, which is cleared before a run */
	uint32_t hosts;		/* that trouble meets: the first so many that are added */
	uint32_t trouble;	/* TROUBLE_... */
	uint32_t steps;		/* that the trouble has */
	uint32_t calm_seconds;	/* virtual ones, from the heal until all parts must go on, */
	uint32_t go_on_seconds; /* and in which each of them does */
	uint32_t parts;		/* that make progress: after the heal each must go on */
	/* Adds hosts and checks; 0 or a negative errno. */
	int (*build)(struct gyre_sim *sim, void *state);
	void (*healed)(void *state); /* all is healed now; may be NULL */
	/* How far one has come. Between two events. */
	uint64_t (*progress)(const void *state, uint32_t part);
	void (*end)(void *state); /* after the simulation was destroyed; may be NULL */
};

extern const struct world world_actors;
extern const struct world world_barriers;
extern const struct world world_chat;
extern const struct world world_crowd;
extern const struct world world_echo;
extern const struct world world_ends;
extern const struct world world_files;
extern const struct world world_handover;
extern const struct world world_kv;
extern const struct world world_lan;
extern const struct world world_nodes;
extern const struct world world_services;
extern const struct world world_silence;
extern const struct world world_streams;
extern const struct world world_thefts;
extern const struct world world_tide;
extern const struct world world_watches;

/* ---- shared.c ---- */

/* Logs nothing: in trouble there is much to be said. */
void world_no_log(const struct gyre_log_line *line, void *arg);

/* Says what is wrong, which ends the run. The first time counts. */
__attribute__((format(printf, 1, 2))) void world_violate(const char *format, ...);
/* What was said, or NULL: a gyre_sim_check_fn. */
const char *world_violation(void *arg);

/*
 * The next number of somebody who draws for himself alone, from a state that begins with any
 * number. What he draws then does not change when others, who draw too, come in another order, so
 * that a run can be made much shorter.
 */
uint64_t world_draw(uint64_t *state);

/* Adds hosts "node-1" to "node-@count", whose boot functions get elements of @bytes from @first. */
int world_add_nodes(struct gyre_sim *sim, uint32_t count, gyre_sim_boot_fn boot, void *first,
		    size_t bytes);

struct world_node {
	uint16_t id; /* from 1 to @nodes */
	uint16_t nodes;
	bool encrypted;
	uint64_t redial_min_ns; /* 0 is the default */
	const struct gyre_type *const *types;
};

/*
 * In the host of a node: its system, with two loops, and all others as peers. It runs with what
 * @spawn puts there, which gets @arg, until it ends.
 */
int world_run_node(const struct world_node *as, int (*spawn)(struct gyre_system *system, void *arg),
		   void *arg);

/*
 * In the host of a node: an actor that looks once a second whether actors of these names are there,
 * of a list that NULL ends and that stays. One that has found no memory for its start is not, and
 * then the node ends, to boot again.
 */
int world_guard(struct gyre_system *system, const char *const *names);

/* For channels that send back what comes. */
int world_init_echo(struct gyre_channel *channel, void *arg);
/* In a host: a server, until it is told to end. @options may be NULL. */
int world_serve(const struct gyre_system_options *options,
		const struct gyre_acceptor_options *listening);

/* In a task of a host: waits. */
void world_pause(uint64_t ns);
/* In a task of a host: a connection to the first host, whose calls wait for no longer than that;
 * the kernel's buffers unless @buffer_bytes is given. -1, and errno says why. */
int world_call(uint16_t port, uint32_t patience_s, int buffer_bytes);
/* In a host: a thread for each element of @bytes from @first, and waits for one. */
int world_run_threads(void *(*run)(void *), void *first, size_t bytes, uint32_t count);

/* ---- trouble.c ---- */

/* Does some of what a world may meet, for some seconds; 0, or that of gyre_sim_run(). */
int world_make_trouble(struct gyre_sim *sim, const struct world *world);

#endif
