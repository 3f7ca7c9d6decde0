/*
 * Folders that are read, and files with names that nobody has. An open folder has the names that
 * were in it when it was opened. /proc/self/fd has the descriptors of the host, also that of the
 * folder itself, as in Linux; there is nothing else under /proc.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/macros.h"
#include "sim/descriptor/table.h"
#include "sim/disk/disk.h"
#include "sim/scheduler.h"
#include "sim/wrapped.h"

struct folder {
	int fd;
	uint32_t count;
	uint32_t next;
	uint32_t room;
	struct dirent *entries;
};

static struct folder *folder_of(DIR *folder)
{
	return (struct folder *)(void *)folder;
}

static void add(const char *name, unsigned char type, void *arg)
{
	struct folder *folder = (struct folder *)arg;
	struct dirent *entry;

	gy_sim_grow((void **)&folder->entries, &folder->room, folder->count + 1,
		    sizeof(*folder->entries));
	entry = &folder->entries[folder->count++];
	memset(entry, 0, sizeof(*entry));
	entry->d_ino = folder->count;
	entry->d_type = type;
	(void)snprintf(entry->d_name, sizeof(entry->d_name), "%s", name);
}

static void add_descriptors(struct folder *folder)
{
	const struct gy_sim_host *host = gy_sim_host_here();
	char name[16];

	for (int fd = 0; (fd = gy_sim_table_next(host, (uint32_t)fd)) >= 0; fd++) {
		(void)snprintf(name, sizeof(name), "%d", fd);
		add(name, DT_LNK, folder);
	}
}

/* A descriptor of the folder; -1, and errno says why not. */
static int open_folder(const char *path, bool is_of_descriptors)
{
	return is_of_descriptors ? __wrap_open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				 : __wrap_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

DIR *__wrap_opendir(const char *path)
{
	bool is_of_descriptors;
	struct folder *folder;
	int fd;

	if (gy_sim_here == NULL) {
		return __real_opendir(path);
	}
	is_of_descriptors = strcmp(path, "/proc/self/fd") == 0;
	fd = open_folder(path, is_of_descriptors);
	if (fd < 0) {
		return NULL;
	}
	folder = (struct folder *)gy_sim_get(sizeof(*folder));
	folder->fd = fd;
	add(".", DT_DIR, folder);
	add("..", DT_DIR, folder);
	if (is_of_descriptors) {
		add_descriptors(folder);
	} else {
		gy_sim_inode_names(gy_sim_file_inode(gy_sim_file_at(fd)), add, folder);
	}
	return (DIR *)(void *)folder;
}

struct dirent *__wrap_readdir(DIR *folder)
{
	struct folder *of = folder_of(folder);

	if (gy_sim_here == NULL) {
		return __real_readdir(folder);
	}
	return of->next == of->count ? NULL : &of->entries[of->next++];
}

GY_SIM_WRAPPED_SAME(readdir64, readdir);

int __wrap_closedir(DIR *folder)
{
	struct folder *of = folder_of(folder);
	int fd;

	if (gy_sim_here == NULL) {
		return __real_closedir(folder);
	}
	fd = of->fd;
	gy_sim_put(of->entries);
	gy_sim_put(of);
	return __wrap_close(fd);
}

/* ---- names that nobody has ---- */

enum { DRAWN = 6, TRIES_MAX = 100 };

/* Where the last six letters of a path are, which must be X; NULL. */
static char *drawn_part(char *path)
{
	size_t bytes = strlen(path);

	return bytes < DRAWN || strcmp(path + bytes - DRAWN, "XXXXXX") != 0 ? NULL
									    : path + bytes - DRAWN;
}

static void draw(char *part)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	for (uint32_t i = 0; i < DRAWN; i++) {
		uint8_t byte;

		gy_sim_random_bytes(gy_sim_here->sim, &byte, sizeof(byte));
		part[i] = letters[byte % (sizeof(letters) - 1)];
	}
}

static int make_file(char *path, int flags)
{
	const mode_t own = 0600;
	char *part = drawn_part(path);
	int fd = -1;

	if (part == NULL) {
		return gy_sim_result(-EINVAL);
	}
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		draw(part);
		fd = __wrap_open(path, flags | O_RDWR | O_CREAT | O_EXCL, own);
		if (fd >= 0 || errno != EEXIST) {
			return fd;
		}
	}
	return fd;
}

int __wrap_mkostemp(char *path, int flags)
{
	return gy_sim_here == NULL ? __real_mkostemp(path, flags) : make_file(path, flags);
}

int __wrap_mkstemp(char *path)
{
	return gy_sim_here == NULL ? __real_mkstemp(path) : make_file(path, 0);
}

GY_SIM_WRAPPED_SAME(mkostemp64, mkostemp);
GY_SIM_WRAPPED_SAME(mkstemp64, mkstemp);

char *__wrap_mkdtemp(char *path)
{
	const mode_t own = 0700;
	char *part;

	if (gy_sim_here == NULL) {
		return __real_mkdtemp(path);
	}
	part = drawn_part(path);
	if (part == NULL) {
		errno = EINVAL;
		return NULL;
	}
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		draw(part);
		if (__wrap_mkdir(path, own) == 0) {
			return path;
		}
		if (errno != EEXIST) {
			break;
		}
	}
	return NULL;
}
