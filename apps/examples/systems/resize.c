/*
 * Resizing: loops are added to a running system and taken from it, and its workers with them.
 *
 * A group with one worker on each loop grows and shrinks with the system. For each number of loops
 * the main thread asks the group 30 times, and prints how many answers came from which loop.
 */
#include <stdio.h>
#include <stdlib.h>

#include <gyre/gyre.h>

enum { LOOPS_MAX = 3, ASKS = 30 };

struct answer {
	uint32_t loop;
};
GYRE_MESSAGE(answer, 0x100);

struct question {
	char nothing;
};
GYRE_REQUEST(question, 0x101, answer);

static int work(struct gyre_stack *stack)
{
	return gyre_reply_to(stack, question, gyre_self(stack).loop);
}

static const struct gyre_class worker_class = { .name = "worker", .behaviour.ask = work };

static int ask_all(struct gyre_system *system, struct gyre_address group, uint32_t *ret_answers)
{
	for (int i = 0; i < ASKS; i++) {
		struct gyre_mail *mail = gyre_system_new(system, question, 0);
		struct gyre_mail *answer;
		int r = gyre_system_ask(system, group, mail, 0, &answer);

		if (r < 0) {
			return r;
		}
		ret_answers[gyre_mail_get(answer, answer)->loop]++;
		gyre_mail_destroy(NULL, answer);
	}
	return 0;
}

static int run_with(struct gyre_system *system, struct gyre_address group, uint32_t loops)
{
	uint32_t answers[LOOPS_MAX] = { 0 };
	int r = gyre_system_resize(system, loops);

	r = r < 0 ? r : ask_all(system, group, answers);
	if (r == 0) {
		printf("%u loops:", gyre_system_loops(system));
		for (uint32_t i = 0; i < LOOPS_MAX; i++) {
			printf(" %u", answers[i]);
		}
		printf("\n");
	}
	return r;
}

int main(void)
{
	const struct gyre_system_options options = { .loops = 1, .loops_max = LOOPS_MAX };
	struct gyre_address group;
	struct gyre_system *system = NULL;
	int r = gyre_system_create(&options, &system);

	r = r < 0 ? r
		  : gyre_system_group_spawn(system, &worker_class, GYRE_NO_ARGUMENT, NULL, &group);
	r = r < 0 ? r : gyre_system_start(system);
	r = r < 0 ? r : run_with(system, group, 1);
	r = r < 0 ? r : run_with(system, group, LOOPS_MAX);
	r = r < 0 ? r : run_with(system, group, 2);
	gyre_system_destroy(system);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
