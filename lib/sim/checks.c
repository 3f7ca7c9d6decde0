/*
 * Checks of users. They run in the name of a task that belongs to no host, so that what they call
 * of gyre finds the simulated threads library, and that may wait for nothing.
 */
#include "sim/checks.h"

#include <errno.h>

#include "base/assert.h"
#include "base/macros.h"
#include "base/reader.h"
#include "loop/foreign_nodes.h"
#include "sim/scheduler.h"

struct check {
	struct gy_list of_sim;
	const char *name;
	gyre_sim_check_fn call;
	void *arg;
};

int gyre_sim_check(struct gyre_sim *sim, const char *name, gyre_sim_check_fn call, void *arg)
{
	struct check *check;

	if (sim == NULL || name == NULL || call == NULL) {
		return -EINVAL;
	}
	check = (struct check *)gy_sim_get(sizeof(*check));
	*check = (struct check){ .name = name, .call = call, .arg = arg };
	gy_list_append(&sim->checks, &check->of_sim);
	return 0;
}

/* Exchanges what the observer has for itself in gyre with what the program outside has: after an
 * even number of calls all is as before. */
static inline void exchange(struct gy_sim_task_locals *other)
{
	struct gy_foreign_mine *foreign_mine = gy_foreign_mine;
	uint32_t reader_reasons = gy_reader_reasons;

	gy_foreign_mine = other->foreign_mine;
	gy_reader_reasons = other->reader_reasons;
	other->foreign_mine = foreign_mine;
	other->reader_reasons = reader_reasons;
}

bool gy_sim_checks_run(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg)
{
	struct gy_sim_task *observer = &sim->scheduler->observer;
	bool answer = false;

	if (when == NULL && gy_list_empty(&sim->checks)) {
		return false;
	}
	gy_assert(gy_sim_here == NULL);
	exchange(&observer->locals);
	gy_sim_here = observer;
	for (struct gy_list *item = sim->checks.next; item != &sim->checks; item = item->next) {
		const struct check *check = gy_container_of(item, struct check, of_sim);
		const char *wrong = check->call(check->arg);

		if (wrong != NULL) {
			gy_sim_fail(sim, "%s: %s", check->name, wrong);
		}
	}
	if (when != NULL && sim->failure[0] == '\0') {
		answer = when(arg);
	}
	gy_assert(gy_sim_here == observer);
	exchange(&observer->locals);
	gy_sim_here = NULL;
	return answer;
}

void gy_sim_checks_fini(struct gyre_sim *sim)
{
	while (!gy_list_empty(&sim->checks)) {
		struct check *check = gy_container_of(sim->checks.next, struct check, of_sim);

		gy_list_remove(&check->of_sim);
		gy_sim_put(check);
	}
}
