/*
 * What tests of families and failures share: puppets, which are actors that do what the test sends
 * them. Two loops, since what they tell each other goes other ways between loops than on one.
 */
#ifndef GY_TEST_PUPPET_KIT_H
#define GY_TEST_PUPPET_KIT_H

#include <errno.h>

#include <gyre/stack.h>

#include "kit_test.h"
#include "log_kit.h"
#include "puppet.h"

/* Their log is heard, from warnings on. */
extern const struct gyre_system_options two_loops;

/* On a loop. */
struct gyre_address puppet_spawn(struct gyre_test *test, const struct gyre_class *class,
				 uint32_t loop);
/* Lets all run that can. */
#define SETTLE_NS GYRE_MILLISECONDS(1)
void settle(struct gyre_test *test);
/* Sends it there, and settles. */
void puppet_call(struct gyre_test *test, struct gyre_address puppet, gyre_handler_fn function);
/* Lets so much time pass since the last call of a puppet: at least SETTLE_NS. */
void pass_since_call(struct gyre_test *test, uint64_t ns);
void puppet_stop(struct gyre_test *test, struct gyre_address puppet);
/* Looks whether it lives. */
void expect_alive(struct gyre_test *test, struct gyre_address actor);
void expect_ended(struct gyre_test *test, struct gyre_address actor);

#endif
