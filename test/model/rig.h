/*
 * Loops for the protocols that need whole ones.
 */
#ifndef GY_TEST_MODEL_RIG_H
#define GY_TEST_MODEL_RIG_H

#include "loop/loop.h"
#include "model.h"

enum { RIG_LOOPS_MAX = 3 };

struct rig {
	struct gy_loop *loop[RIG_LOOPS_MAX];
	struct gy_loops *peers;
};

extern struct rig rig;

/* For loops that have no jobs, and deliver nothing but tasks. */
extern const struct gy_loop_ops rig_ops;

/* Options of a loop that never polls, and robs others as soon as it is idle. */
struct gy_loop_options rig_options(uint32_t index, const struct gy_loop_ops *ops);
/* Loops with these options that know each other. */
void rig_begin(uint32_t loops, const struct gy_loop_ops *ops);
/* Turns a loop for ever; for the thread of the model that it belongs to. */
_Noreturn void rig_turn(uint32_t loop);
/* At the end: it has nothing to do, and sleeps. */
void rig_check_asleep(uint32_t loop);

/* The same for threads of the model. */
void rig_turn_0(void);
void rig_turn_1(void);

#endif
