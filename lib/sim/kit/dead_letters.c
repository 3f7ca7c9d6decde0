/*
 * Messages that are lost while a test runs. Each is kept until the test expects it; those that are
 * left in the end have nobody who knew of them, and fail the test.
 */
#include <string.h>

#include "base/assert.h"
#include "sim/kit/kit.h"

/* A failure that finds no asker has no type that a test could name, and what it is about is known:
 * the asker has timed out or ended. */
static bool counts(const struct gyre_test *test, const struct gyre_type *type,
		   enum gyre_drop reason)
{
	return !test->body_ended && reason != GYRE_DROP_CANCELLED &&
	       type->id != gy_type_exception.id;
}

void gy_test_dead_letter(const struct gyre_type *type, struct gyre_address from,
			 struct gyre_address to, enum gyre_drop reason, void *arg)
{
	struct gyre_test *test = (struct gyre_test *)arg;
	const struct gyre_system_options *options = test->options->system;

	if (type->id == GYRE_ID(gy_tap_call)) {
		return; /* the tap tells it */
	}
	if (options != NULL && options->dead_letter != NULL) {
		options->dead_letter(type, from, to, reason, options->dead_letter_arg);
	}
	if (!counts(test, type, reason)) {
		return;
	}
	if (test->dead_count < GY_TEST_DEAD_MAX) {
		test->dead[test->dead_count++] = (struct gy_test_dead){ type, from, to, reason };
	} else {
		test->dead_more++;
	}
	gy_test_changed(test);
}

/* Takes the first one of a type and a reason; false if there is none. */
static bool take(struct gyre_test *test, const struct gyre_type *type, enum gyre_drop reason)
{
	for (uint32_t i = 0; i < test->dead_count; i++) {
		if (test->dead[i].type->id == type->id && test->dead[i].reason == reason) {
			test->dead_count--;
			memmove(&test->dead[i], &test->dead[i + 1],
				(test->dead_count - i) * sizeof(test->dead[0]));
			return true;
		}
	}
	return false;
}

int gyre_test_expect_dead_letter_at(struct gyre_test *test, const struct gyre_type *type,
				    enum gyre_drop reason, uint64_t within_ns, const char *place)
{
	uint64_t until_ns = gy_test_until(test, within_ns);
	bool in_time = true;

	while (!take(test, type, reason)) {
		if (!in_time) {
			gy_test_fail(test, place, "no message of type %s was lost: %s", type->name,
				     gyre_drop_name(reason));
			return -ETIMEDOUT;
		}
		in_time = gy_test_wait(test, until_ns);
	}
	return 0;
}

void gy_test_tell_dead(struct gyre_test *test)
{
	gy_assert(test->dead_count <= GY_TEST_DEAD_MAX);
	if (test->options->allow_dead_letters) {
		return;
	}
	for (uint32_t i = 0; i < test->dead_count; i++) {
		const struct gy_test_dead *dead = &test->dead[i];

		gy_test_fail(test, "gyre_test_run()",
			     "a message was lost: %s from %u:%u to %u:%u (%s)", dead->type->name,
			     (unsigned)dead->from.loop, (unsigned)dead->from.slot,
			     (unsigned)dead->to.loop, (unsigned)dead->to.slot,
			     gyre_drop_name(dead->reason));
	}
	if (test->dead_more > 0) {
		gy_test_fail(test, "gyre_test_run()", "%u more messages were lost",
			     test->dead_more);
	}
}
