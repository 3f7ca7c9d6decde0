/*
 * walkers: lists the cases of all walkers, or runs one of them.
 *
 * usage: walkers [NAME [damaged]]
 */
#include <stdio.h>
#include <string.h>

#include "gyre_config.h"
#include "walkers.h"

enum { SKIPPED = 77 };

static const struct walker_case *const tables[] = {
	pool_cases,   wheel_cases,   loop_cases, house_cases,
	buffer_cases, channel_cases, link_cases, inlet_cases,
};

static const struct walker_case *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct walker_case *one = tables[i]; one->name != NULL; one++) {
			if (name == NULL) {
				(void)puts(one->name);
			} else if (strcmp(one->name, name) == 0) {
				return one;
			}
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct walker_case *one = find(argc > 1 ? argv[1] : NULL);

	if (GY_ASSERT_LEVEL == 0) {
		return SKIPPED;
	}
	if (argc > 1 && one == NULL) {
		(void)fprintf(stderr, "walkers: no case %s\n", argv[1]);
		return 2;
	}
	if (one != NULL) {
		one->run(argc > 2 && strcmp(argv[2], "damaged") == 0);
	}
	return 0;
}
