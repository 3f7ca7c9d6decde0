/*
 * Actors that hold phases of the shutdown. A system that is calm when it stops goes through them in
 * their order: none begins while an actor holds an earlier one, and no actor ends while any is
 * held. Where it is stopped in the midst of it, actors let go of phases as they stop and restart,
 * and only what each is told can be checked.
 */
#include <errno.h>

#include "random.h"

static uint32_t bit_of(enum gyre_shutdown_phase phase)
{
	return 1U << (uint32_t)phase;
}

/* A life that goes on, and holds a phase that comes before @end; 0 for none. */
static uint32_t find_holder(const struct world *world, uint32_t end)
{
	for (uint32_t i = 1; i < LIVES_MAX; i++) {
		if ((gy_load_acquire(&world->lives[i].holds) & (bit_of(end) - 1U)) != 0 &&
		    gy_load_relaxed(&world->lives[i].alive) != 0) {
			return i;
		}
	}
	return 0;
}

/* Without memory it is not known who is to end. */
static bool stops_calmly(const struct world *world)
{
	return !world->plan.abrupt && !world->plan.lean && gy_load_relaxed(&world->stopped) != 0;
}

bool phases_are_held(const struct world *world)
{
	return find_holder(world, GYRE_SHUTDOWN_LAST_WORDS + 1U) != 0;
}

void model_lets_go(struct self *self)
{
	gy_store_release(&self->world->lives[self->life].holds, 0);
	self->told_phase = 0;
}

void expect_no_phase(struct self *self)
{
	const struct world *world = self->world;

	must(self->world, self->life, !stops_calmly(world) || !phases_are_held(world),
	     "it ended while life %u held a phase",
	     find_holder(world, GYRE_SHUTDOWN_LAST_WORDS + 1U));
}

/* ---- holding ---- */

static void hold_phase(struct gyre_stack *stack, enum gyre_shutdown_phase phase)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t *holds = &world->lives[self->life].holds;
	int r = gyre_shutdown_hold(stack, phase);

	trace(self->life, "holds phase", phase, (uint64_t)r);
	if (self->told_phase != 0) { /* this one is not over */
		must(world, self->life,
		     r == (phase > self->told_phase ? 0 : -ESHUTDOWN) || world->plan.lean,
		     "phase %d: %d", phase, r);
	}
	must(world, self->life,
	     r == 0 || (r == -ESHUTDOWN && gy_load_relaxed(&world->stopped) != 0) ||
		     (r == -ENOMEM && world->plan.lean),
	     "%d", r);
	if (r == 0) {
		gy_store_release(holds, *holds | bit_of(phase));
	}
}

void hold(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	int none = (int)GYRE_SHUTDOWN_LAST_WORDS + 1;

	hold_phase(stack,
		   (enum gyre_shutdown_phase)(GYRE_SHUTDOWN_INTAKE +
					      draw(&self->random, GYRE_SHUTDOWN_LAST_WORDS)));
	must(self->world, self->life,
	     gyre_shutdown_hold(stack, (enum gyre_shutdown_phase)none) == -EINVAL &&
		     gyre_shutdown_release(stack, (enum gyre_shutdown_phase)0) == -EINVAL);
}

/* Others may go on at once: what is known must not say that this one holds it still. */
static void release_phase(struct gyre_stack *stack, enum gyre_shutdown_phase phase)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t *holds = &world->lives[self->life].holds;
	bool held = (*holds & bit_of(phase)) != 0;
	int r;

	gy_store_release(holds, *holds & ~bit_of(phase));
	self->told_phase = self->told_phase == (uint32_t)phase ? 0 : self->told_phase;
	r = gyre_shutdown_release(stack, phase);
	trace(self->life, "lets go of phase", phase, (uint64_t)r);
	must(world, self->life, r == (held ? 0 : -ENOENT), "%d", r);
}

void release(struct gyre_stack *stack)
{
	release_phase(stack, (enum gyre_shutdown_phase)(
				     GYRE_SHUTDOWN_INTAKE +
				     draw(&self_of(stack)->random, GYRE_SHUTDOWN_LAST_WORDS)));
}

/* ---- being told ---- */

void expect_stopping(struct gyre_stack *stack, const struct gyre_stopping *stopping)
{
	struct self *self = self_of(stack);
	struct world *world = self->world;
	uint32_t holder = find_holder(world, (uint32_t)stopping->phase);

	trace(self->life, "phase begins", stopping->phase, 0);
	must(world, self->life, gy_load_relaxed(&world->stopped) != 0);
	must(world, self->life,
	     (gy_load_relaxed(&world->lives[self->life].holds) & bit_of(stopping->phase)) != 0,
	     "phase %d, which it does not hold", stopping->phase);
	must(world, self->life, stopping->phase > self->last_phase, "phase %d after phase %u",
	     stopping->phase, self->last_phase);
	must(world, self->life, !stops_calmly(world) || holder == 0,
	     "phase %d began while life %u held an earlier one", stopping->phase, holder);
	self->last_phase = stopping->phase;
	self->told_phase = stopping->phase;
	frame_of(stack)->phase = (uint8_t)stopping->phase;
}

/* What an actor does in a phase that it holds: others are there still. Whether it waits. */
static bool begin_in_phase(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct acquaintance whom = known_any(self->world, &self->random);

	hold(stack);
	if (whom.life != 0) {
		send_letter(stack, whom, 0);
	}
	switch (draw(&self->random, 3)) {
	case 0:
		return await_sleep(stack);
	case 1:
		return whom.life != 0 && await_ask(stack, whom, 0);
	default:
		return false;
	}
}

int hold_on(struct gyre_stack *stack)
{
	struct self *self = self_of(stack);
	struct frame *frame = frame_of(stack);

	if (gyre_stack_state(stack) == 0 ? begin_in_phase(stack) : !settle(stack)) {
		return wait_for_some(stack);
	}
	/* It may have let go meanwhile, or restarted. */
	if (self->told_phase == frame->phase) {
		release_phase(stack, (enum gyre_shutdown_phase)frame->phase);
	}
	return gyre_return(stack);
}

/* Nobody ends before the last phase does. */
void expect_present(struct self *self, uint32_t pledge, int error)
{
	const struct world *world = self->world;
	uint32_t whom = gy_load_relaxed(&world->pledges[pledge].whom);

	must(self->world, self->life,
	     !stops_calmly(world) || (error != -ESRCH && error != -ESHUTDOWN) || whom == 0 ||
		     gy_load_relaxed(&world->lives[whom].alive) == 0,
	     "life %u is there, and yet gone (%d)", whom, error);
}
