/*
 * Puppets, which the test calls from outside. What only an actor can do is done by a probe, made
 * for it: so there is no actor but those of the test until then.
 */
#include "puppet_kit.h"

#include <gyre/watch.h>

const struct gyre_system_options two_loops = { .loops = 2, HEARD_FROM(GYRE_LOG_WARNING) };

struct gyre_address puppet_spawn(struct gyre_test *test, const struct gyre_class *class,
				 uint32_t loop)
{
	const struct gyre_spawn_options options = { .place = GYRE_PLACE_LOOP, .loop = loop };
	struct gyre_address puppet;

	cr_assert_eq(gyre_system_spawn(gyre_test_system(test), class, GYRE_NO_ARGUMENT, &options,
				       &puppet),
		     0);
	return puppet;
}

void settle(struct gyre_test *test)
{
	gyre_test_advance(test, SETTLE_NS);
}

void pass_since_call(struct gyre_test *test, uint64_t ns)
{
	cr_assert_geq(ns, SETTLE_NS);
	gyre_test_advance(test, ns - SETTLE_NS);
}

void puppet_call(struct gyre_test *test, struct gyre_address puppet, gyre_handler_fn function)
{
	cr_assert_eq(gyre_system_notify(gyre_test_system(test), puppet,
					gyre_test_new(test, call, function)),
		     0);
	settle(test);
}

static int stop(struct gyre_stack *stack, void *arg)
{
	return gyre_stop(stack, *(const struct gyre_address *)arg);
}

void puppet_stop(struct gyre_test *test, struct gyre_address puppet)
{
	(void)gyre_probe_do(gyre_probe_create(test), stop, &puppet);
	settle(test);
}

static struct gyre_probe *watch(struct gyre_test *test, struct gyre_address actor)
{
	struct gyre_probe *probe = gyre_probe_create(test);

	(void)gyre_probe_watch(probe, actor);
	return probe;
}

void expect_alive(struct gyre_test *test, struct gyre_address actor)
{
	(void)gyre_probe_expect_none(watch(test, actor), GYRE_MILLISECONDS(1));
}

/* That its end is not known any more says that it came before. */
void expect_ended(struct gyre_test *test, struct gyre_address actor)
{
	struct gyre_probe *probe = watch(test, actor);

	cr_assert_eq(gyre_probe_expect(probe, gyre_terminated, GYRE_MILLISECONDS(1))->reason,
		     -ESRCH);
}
