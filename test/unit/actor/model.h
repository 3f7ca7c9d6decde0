/*
 * A model of a system: one or two homes on a virtual clock, all turned by the test on its own
 * thread. Nothing happens between two calls, so a test can put mail into a lane, look at a house,
 * and move the clock by a hundred years.
 *
 * Its actors are mostly puppets: what they handle is a function that the test has sent them.
 */
#ifndef TEST_UNIT_ACTOR_MODEL_H
#define TEST_UNIT_ACTOR_MODEL_H

#include "fixture.h"

#include <errno.h>

#include "actor/stack/stack.h"
#include "puppet.h"

enum { MODEL_LOOPS_MAX = 2, MODEL_LINE_BYTES = 1024 };

struct model {
	struct gy_homes homes; /* first, as in a system */
	struct gy_home home[MODEL_LOOPS_MAX];
	struct gy_loops *loops;
	struct gy_log log;
	struct gy_timer moment[MODEL_LOOPS_MAX]; /* so that no loop ever blocks */
	uint64_t now_ns;
	uint32_t shut_down;		/* how often an actor has asked for it */
	uint32_t lost[GYRE_DROP_COUNT]; /* by reason */
	struct letter last_lost;
	uint32_t logged; /* warnings */
	uint32_t errors;
	char line[MODEL_LINE_BYTES];   /* the last that was logged */
	struct gyre_counters counters; /* at the end */
};

/* The one of this process. */
extern struct model model;

/* What is not 0 here replaces the default before model_open(). */
extern struct gy_home_options model_home_options;

void model_open(uint32_t loops);
/* Stops the actors and asserts what must hold of every system. */
void model_close(void);
/* One turn of each loop; the clock stands still. */
void model_turn(void);
void model_turn_one(uint32_t loop);
/* Turns until nothing runs any more. */
void model_settle(void);
/* Moves the clock, then turns until nothing runs any more. */
void model_advance(uint64_t ns);

/* Spawns, and has it mounted. */
struct gyre_address model_spawn(const struct gyre_class *class, uint32_t loop);
/* The house of an actor; NULL for a stale address. */
struct gy_house *model_house(struct gyre_address actor);
/* Puts a number into a lane: where no stack waits for it, an answer is a dead letter. */
void model_put(struct gyre_address to, enum gy_lane lane, uint64_t value);
/* Puts the answer to an ask into its asker: its own id, or -EIO in the lane of exceptions. */
void model_answer(struct gyre_address to, enum gy_lane lane, uint64_t ask_id);
/* The id of an outstanding promise of an actor between two runs: 0 for the last, 1 for the last but
 * one, in the order in which its stacks have begun to wait. */
uint64_t model_ask_id(struct gyre_address actor, uint32_t back);
/* Has the notice handler of a puppet call @function, which may wait; it goes with model_settle().
 */
void model_call(struct gyre_address puppet, gyre_handler_fn function);

#endif
