/*
 * What the threads of a run did, in order, to be printed when the run has failed; and the program
 * around an exploration, which speaks TAP.
 */
#include <stdio.h>
#include <string.h>

#include "engine.h"

enum { LINES_MAX = 4000 };

struct line {
	const char *thread;
	const char *how;
	struct model_site site;
	uint64_t value;
};

static struct line lines[LINES_MAX];
static uint32_t count;

static const char *const kinds[] = {
	[MODEL_LOAD_RELAXED] = "load relaxed",
	[MODEL_LOAD_ACQUIRE] = "load acquire",
	[MODEL_LOAD_FULL] = "load full",
	[MODEL_STORE_RELAXED] = "store relaxed",
	[MODEL_STORE_RELEASE] = "store release",
	[MODEL_STORE_FULL] = "store full",
	[MODEL_EXCHANGE] = "exchange",
	[MODEL_ADD] = "add",
	[MODEL_ADD_RELAXED] = "add relaxed",
	[MODEL_COMPARE] = "compare and exchange",
	[MODEL_COMPARE_RELAXED] = "compare and exchange relaxed",
	[MODEL_AWAIT] = "has awaited",
	[MODEL_PAUSE] = "has paused",
};

void trace_begin(void)
{
	count = 0;
}

void trace_add(const struct thread *thread, const char *how, const struct model_site *site,
	       uint64_t value)
{
	if (count < LINES_MAX) {
		lines[count++] = (struct line){ thread->name, how, *site, value };
	}
}

void trace_print(void)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct line *line = &lines[i];
		const char *file = strrchr(line->site.file, '/');

		(void)printf("#   %-10s %s %s %s: %llx, in %s(), %s:%d\n", line->thread, line->how,
			     kinds[line->site.kind], line->site.what,
			     (unsigned long long)line->value, line->site.function,
			     file == NULL ? line->site.file : file + 1, line->site.line);
	}
}

/* ---- the program ---- */

static bool explore_whole(const struct model_protocol *protocol, uint32_t number)
{
	struct result result = engine_explore(protocol, NULL);

	(void)printf("# %llu interleavings", (unsigned long long)result.runs);
	if (protocol->preemptions_max > 0) {
		(void)printf(", all with up to %u preemptions\n", protocol->preemptions_max);
	} else {
		(void)printf(", and %llu that were left as the same as one of them\n",
			     (unsigned long long)result.leaves);
	}
	if (result.failure != NULL) {
		(void)printf("# %s:\n", result.failure);
		trace_print();
	}
	(void)printf("%s %u - %s\n", result.failure == NULL && result.runs > 0 ? "ok" : "not ok",
		     number, protocol->title);
	(void)fflush(stdout);
	return result.failure == NULL && result.runs > 0;
}

static bool explore_planted(const struct model_protocol *protocol, const struct model_plant *plant,
			    uint32_t number)
{
	struct result result = engine_explore(protocol, plant);

	if (result.failure != NULL) {
		(void)printf("# found after %llu interleavings: %s:\n",
			     (unsigned long long)result.runs, result.failure);
		trace_print();
	} else {
		(void)printf("# not found in %llu interleavings\n",
			     (unsigned long long)result.runs);
	}
	(void)printf("%s %u - finds %s\n", result.failure != NULL ? "ok" : "not ok", number,
		     plant->title);
	return result.failure != NULL;
}

int model_main(const struct model_protocol *protocols, uint32_t protocols_count,
	       const struct model_plant *plants, uint32_t plants_count)
{
	bool good = true;

	(void)printf("1..%u\n", protocols_count + plants_count);
	for (uint32_t i = 0; i < protocols_count; i++) {
		good = explore_whole(&protocols[i], i + 1) && good;
	}
	for (uint32_t i = 0; i < plants_count; i++) {
		good = explore_planted(&protocols[plants[i].protocol], &plants[i],
				       protocols_count + i + 1) &&
		       good;
	}
	return good ? 0 : 1;
}
