#include "fork_exempt.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { EXEMPT_MAX = 256, LINE_BYTES = 512, OF_TESTS = 10 };

struct exempt {
	char line[LINE_BYTES]; /* the test's identifier, ended where the colon was */
	const char *reason;
	bool found;
};

static struct exempt exempts[EXEMPT_MAX];
static uint32_t exempts_count;

static struct exempt *find(const char *identifier)
{
	for (uint32_t i = 0; i < exempts_count; i++) {
		if (strcmp(exempts[i].line, identifier) == 0) {
			return &exempts[i];
		}
	}
	return NULL;
}

/* Whether a line says something, and then is without its end. */
static bool has_text(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	return line[0] != '\0' && line[0] != '#';
}

static bool add(const char *path, char *line)
{
	char *colon = strchr(line, ':');
	struct exempt *exempt = &exempts[exempts_count];

	if (colon == NULL || colon[1] != ' ' || colon[2] == '\0') {
		(void)fprintf(stderr, "%s: there is no reason: %s\n", path, line);
		return false;
	}
	*colon = '\0';
	if (exempts_count == EXEMPT_MAX || find(line) != NULL) {
		(void)fprintf(stderr, "%s: %s: %s\n", path, line,
			      exempts_count == EXEMPT_MAX ? "the list is full" : "is there twice");
		return false;
	}
	memcpy(exempt->line, line, sizeof(exempt->line));
	exempt->reason = exempt->line + (colon - line) + 2;
	exempts_count++;
	return true;
}

bool fork_exempt_read(const char *path)
{
	char line[LINE_BYTES];
	FILE *file = fopen(path, "re");
	bool works = file != NULL;

	while (works && fgets(line, sizeof(line), file) != NULL) {
		works = !has_text(line) || add(path, line);
	}
	if (file == NULL || ferror(file) != 0) {
		(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
		works = false;
	}
	if (file != NULL) {
		(void)fclose(file);
	}
	return works;
}

const char *fork_exempt_reason(const char *identifier)
{
	struct exempt *exempt = find(identifier);

	if (exempt == NULL) {
		return NULL;
	}
	exempt->found = true;
	return exempt->reason;
}

bool fork_exempt_fits(size_t tests_count)
{
	bool fits = true;

	for (uint32_t i = 0; i < exempts_count; i++) {
		if (!exempts[i].found) {
			(void)fprintf(stderr, "there is no test %s, which is exempt: %s\n",
				      exempts[i].line, exempts[i].reason);
			fits = false;
		}
	}
	if ((size_t)exempts_count * OF_TESTS > tests_count) {
		(void)fprintf(stderr, "%u of %zu tests are exempt, which is more than one in %d\n",
			      exempts_count, tests_count, (int)OF_TESTS);
		fits = false;
	}
	return fits;
}
