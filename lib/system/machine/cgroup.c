/*
 * Where in the hierarchy of cgroups, version 2, this process is. Its own cgroup and all above it
 * count, for a limit of any of them is a limit of the process.
 *
 * A process may see less than there is: in a container the mount shows only its own part, while the
 * path that /proc tells may be that of the whole machine. Folders of the path that are not there
 * are passed over; the top of the mount always counts.
 */
#include <string.h>

#include "system/machine/kernel_file.h"

/* The first is where version 2 is alone, the second where both versions are mounted. */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static const char *find_mount(const char *root)
{
	char text[1024];

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char path[GY_PATH_BYTES];

		if (gy_path_join(path, mounts[i], "/cgroup.controllers") &&
		    gy_kernfile_read(root, path, text, sizeof(text)) >= 0) {
			return mounts[i];
		}
	}
	return NULL;
}

/* The path in the line "0::PATH", cut out of @text; NULL when there is none. */
static char *find_own(char *text)
{
	for (char *line = text; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');

		if (end != NULL) {
			*end++ = '\0';
		}
		if (strncmp(line, "0::/", 4) == 0) {
			return line + 3;
		}
		line = end;
	}
	return NULL;
}

void gy_cgroup_walk(const char *root, gy_cgroup_fn visit, void *arg)
{
	const char *mount = find_mount(root);
	char text[GY_PATH_BYTES];
	char folder[GY_PATH_BYTES];
	size_t top = mount == NULL ? 0 : strlen(mount);
	const char *own;

	if (mount == NULL || gy_kernfile_read(root, "/proc/self/cgroup", text, sizeof(text)) < 0) {
		return;
	}
	own = find_own(text);
	if (own == NULL || strstr(own, "/..") != NULL || !gy_path_join(folder, mount, own)) {
		own = ""; /* outside of what can be seen */
		(void)gy_path_join(folder, mount, own);
	}
	for (;;) {
		size_t length = strlen(folder);

		while (length > top && folder[length - 1] == '/') {
			folder[--length] = '\0';
		}
		visit(root, folder, arg);
		if (length <= top) {
			return;
		}
		*strrchr(folder, '/') = '\0';
	}
}

/* "QUOTA PERIOD" in microseconds, where QUOTA may be "max". */
static void add_quota(const char *root, const char *folder, void *arg)
{
	uint64_t *least = (uint64_t *)arg;
	char path[GY_PATH_BYTES];
	char text[64];
	const char *at = text;
	uint64_t quota;
	uint64_t period;

	if (!gy_path_join(path, folder, "/cpu.max") ||
	    gy_kernfile_read(root, path, text, sizeof(text)) < 0 || !gy_text_number(&at, &quota) ||
	    *at++ != ' ' || !gy_text_number(&at, &period) || period == 0 ||
	    __builtin_mul_overflow(quota, UINT64_C(1000), &quota)) {
		return;
	}
	*least = quota / period < *least ? quota / period : *least;
}

uint64_t gy_cgroup_cpu_quota_milli(const char *root)
{
	uint64_t least = UINT64_MAX;

	gy_cgroup_walk(root, add_quota, &least);
	return least;
}
