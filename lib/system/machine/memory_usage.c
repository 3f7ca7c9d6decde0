/*
 * Memory in use. A cgroup's memory.current holds the page cache too, which the kernel gives back
 * before it lets anybody starve: so where that number is high the cache on the kernel's lists of
 * files, in memory.stat, is taken off. Else a server that reads files would be busy for ever.
 *
 * Cgroups are looked for once. One that has no limit then is left out, also if it gets one later; a
 * limit that is changed is followed.
 *
 * A limit is near when 90 % of it are used or less than 100 MiB are free. Of a limit under 800 MiB
 * that would be much too much: there an eighth must be free. So what makes a system busy is always
 * at least 7 % of the limit above what ends it.
 */
#include "system/machine/memory_usage.h"

#include <errno.h>
#include <string.h>

#include "base/environment.h"
#include "base/macros.h"

enum { STAT_BYTES = 8192 };

static const uint64_t free_min_bytes = UINT64_C(100) << 20;

/* ---- opening ---- */

static int open_in(const char *root, const char *folder, const char *name)
{
	char path[GY_PATH_BYTES];

	return gy_path_join(path, folder, name) ? gy_kernfile_open(root, path) : -ENAMETOOLONG;
}

static bool reread_number(int fd, uint64_t *ret_number)
{
	char text[64];
	const char *at = text;

	return gy_kernfile_reread(fd, text, sizeof(text)) > 0 && gy_text_number(&at, ret_number);
}

static void close_cgroup(const struct gy_memory_usage_cgroup *cgroup)
{
	gy_kernfile_close(cgroup->max_fd);
	gy_kernfile_close(cgroup->current_fd);
	gy_kernfile_close(cgroup->stat_fd);
}

static void add_cgroup(const char *root, const char *folder, void *arg)
{
	struct gy_memory_usage *memory_usage = (struct gy_memory_usage *)arg;
	struct gy_memory_usage_cgroup cgroup;
	uint64_t number;

	if (memory_usage->cgroups_count == GY_MEMORY_USAGE_CGROUPS_MAX) {
		return;
	}
	cgroup.max_fd = open_in(root, folder, "/memory.max");
	cgroup.current_fd = open_in(root, folder, "/memory.current");
	cgroup.stat_fd = open_in(root, folder, "/memory.stat");
	if (cgroup.max_fd >= 0 && cgroup.current_fd >= 0 && reread_number(cgroup.max_fd, &number) &&
	    reread_number(cgroup.current_fd, &number)) {
		memory_usage->cgroups[memory_usage->cgroups_count++] = cgroup;
	} else {
		close_cgroup(&cgroup);
	}
}

/* "MemTotal:   24684084 kB"; 0 when it is not to be known. */
static uint64_t machine_bytes(const char *root)
{
	char text[256];
	const char *at;
	uint64_t kilobytes;

	if (gy_kernfile_read(root, "/proc/meminfo", text, sizeof(text)) < 0) {
		return 0;
	}
	at = strstr(text, "MemTotal:");
	if (at == NULL) {
		return 0;
	}
	at += strlen("MemTotal:");
	at += strspn(at, " ");
	return gy_text_number(&at, &kilobytes) && kilobytes < UINT64_MAX / 1024 ? kilobytes * 1024
										: 0;
}

void gy_memory_usage_init(struct gy_memory_usage *memory_usage)
{
	*memory_usage = (struct gy_memory_usage){ .statm_fd = -1 };
}

void gy_memory_usage_open(struct gy_memory_usage *memory_usage, const char *root,
			  uint64_t limit_bytes)
{
	gy_memory_usage_init(memory_usage);
	memory_usage->limit_bytes = limit_bytes;
	memory_usage->page_bytes = gy_environment_page_bytes();
	gy_cgroup_walk(root, add_cgroup, memory_usage);
	if (limit_bytes == 0 && memory_usage->cgroups_count == 0) {
		memory_usage->limit_bytes = machine_bytes(root);
	}
	if (memory_usage->limit_bytes > 0) {
		memory_usage->statm_fd = gy_kernfile_open(root, "/proc/self/statm");
	}
}

void gy_memory_usage_close(struct gy_memory_usage *memory_usage)
{
	for (uint32_t i = 0; i < memory_usage->cgroups_count; i++) {
		close_cgroup(&memory_usage->cgroups[i]);
	}
	gy_kernfile_close(memory_usage->statm_fd);
	memory_usage->cgroups_count = 0;
	memory_usage->statm_fd = -1;
}

/* ---- reading ---- */

static uint64_t share(uint64_t bytes, uint64_t percent)
{
	/* Without an overflow, and exactly where that matters. */
	return bytes / 100 * percent + bytes % 100 * percent / 100;
}

enum gy_memory_usage_level gy_memory_usage_level_of(uint64_t used_bytes, uint64_t limit_bytes)
{
	uint64_t free_bytes = used_bytes < limit_bytes ? limit_bytes - used_bytes : 0;
	uint64_t least = limit_bytes / 8 < free_min_bytes ? limit_bytes / 8 : free_min_bytes;

	if (used_bytes > share(limit_bytes, 90) || free_bytes < least) {
		return GY_MEMORY_USAGE_OVER;
	}
	if (used_bytes >= share(limit_bytes, 80)) {
		return GY_MEMORY_USAGE_HIGH;
	}
	return used_bytes >= limit_bytes / 2 ? GY_MEMORY_USAGE_HALF : GY_MEMORY_USAGE_LOW;
}

/* The number in the line "NAME NUMBER"; 0 when there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t length = strlen(name);
	const char *line = text;
	uint64_t number = 0;

	while (strncmp(line, name, length) != 0 || line[length] != ' ') {
		line = strchr(line, '\n');
		if (line == NULL) {
			return 0;
		}
		line++;
	}
	line += length + 1;
	return gy_text_number(&line, &number) ? number : 0;
}

/* Page cache that the kernel can drop. Memory that is shared by name is not on these lists. */
static uint64_t cache_bytes(const struct gy_memory_usage_cgroup *cgroup)
{
	char text[STAT_BYTES];

	if (cgroup->stat_fd < 0 || gy_kernfile_reread(cgroup->stat_fd, text, sizeof(text)) < 0) {
		return 0;
	}
	return number_of(text, "inactive_file") + number_of(text, "active_file");
}

static void keep_nearer(struct gy_memory_reading *look, uint64_t used_bytes, uint64_t limit_bytes)
{
	enum gy_memory_usage_level level = gy_memory_usage_level_of(used_bytes, limit_bytes);

	if (look->limit_bytes == 0 || level > look->level ||
	    (level == look->level &&
	     (double)used_bytes / (double)limit_bytes >
		     (double)look->used_bytes / (double)look->limit_bytes)) {
		*look = (struct gy_memory_reading){ level, used_bytes, limit_bytes };
	}
}

static void look_at_cgroup(const struct gy_memory_usage_cgroup *cgroup,
			   struct gy_memory_reading *look)
{
	uint64_t limit;
	uint64_t used;

	if (!reread_number(cgroup->max_fd, &limit) || limit == 0 ||
	    !reread_number(cgroup->current_fd, &used)) {
		return; /* it has no limit any more */
	}
	if (gy_memory_usage_level_of(used, limit) >= GY_MEMORY_USAGE_HIGH) {
		uint64_t cache = cache_bytes(cgroup);

		used -= cache < used ? cache : used;
	}
	keep_nearer(look, used, limit);
}

/* The second number of "SIZE RESIDENT SHARED …", in pages. */
static void look_at_resident(const struct gy_memory_usage *memory_usage,
			     struct gy_memory_reading *look)
{
	char text[128];
	const char *at = text;
	uint64_t pages;

	if (gy_kernfile_reread(memory_usage->statm_fd, text, sizeof(text)) > 0 &&
	    gy_text_number(&at, &pages) && *at++ == ' ' && gy_text_number(&at, &pages) &&
	    pages < UINT64_MAX / memory_usage->page_bytes) {
		keep_nearer(look, pages * memory_usage->page_bytes, memory_usage->limit_bytes);
	}
}

struct gy_memory_reading gy_memory_usage_read(const struct gy_memory_usage *memory_usage)
{
	struct gy_memory_reading look = { 0 };

	for (uint32_t i = 0; i < memory_usage->cgroups_count; i++) {
		look_at_cgroup(&memory_usage->cgroups[i], &look);
	}
	if (memory_usage->statm_fd >= 0) {
		look_at_resident(memory_usage, &look);
	}
	return look;
}
