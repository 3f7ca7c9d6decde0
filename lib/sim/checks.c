/*
 * Checks of users. They run in the name of a task that belongs to no host, so that what they call
 * of gyre finds the simulated threads library, and that may wait for nothing.
 */
#include "sim/checks.h"

#include <errno.h>

#include "base/macros.h"
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

bool gy_sim_checks_run(struct gyre_sim *sim, gyre_sim_when_fn when, void *arg)
{
	bool answer = false;

	if (when == NULL && gy_list_empty(&sim->checks)) {
		return false;
	}
	gy_sim_task_observe(&sim->scheduler->observer, true);
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
	gy_sim_task_observe(&sim->scheduler->observer, false);
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
