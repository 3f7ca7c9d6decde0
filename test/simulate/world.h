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
};

struct world {
	const char *name;
	size_t state_bytes;	/* of the state, which is cleared before a run */
	uint32_t hosts;		/* that trouble meets: the first so many that are added */
	uint32_t trouble;	/* TROUBLE_... */
	uint32_t steps;		/* that the trouble has */
	uint32_t calm_seconds;	/* virtual ones, from the heal until all parts must go on, */
	uint32_t go_on_seconds; /* and in which each of them does */
	/* Adds hosts and checks; 0 or a negative errno. */
	int (*build)(struct gyre_sim *sim, void *state);
	/* How many parts make progress, and how far one has come. After the heal each must go on.
	 * Between two events. */
	uint32_t (*parts)(const void *state);
	uint64_t (*progress)(const void *state, uint32_t part);
	void (*end)(void *state); /* after the simulation was destroyed; may be NULL */
};

extern const struct world world_actors;
extern const struct world world_chat;
extern const struct world world_echo;
extern const struct world world_files;
extern const struct world world_handover;
extern const struct world world_kv;
extern const struct world world_nodes;
extern const struct world world_services;
extern const struct world world_streams;
extern const struct world world_tide;

/* Logs nothing: in trouble there is much to be said. */
void world_no_log(const struct gyre_log_line *line, void *arg);

/* Does some of what a world may meet, for some seconds; 0, or that of gyre_sim_run(). */
int world_make_trouble(struct gyre_sim *sim, const struct world *world);

#endif
