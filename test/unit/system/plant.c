/*
 * Planting and clearing away. A number is written over the one before with one call, so that who
 * reads it meanwhile finds it whole.
 */
#include "plant.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

enum { PATH_BYTES = 1024, OPEN_MAX_DESCRIPTORS = 8 };

char plant_root[256];

void plant_begin(void)
{
	const char *folder = getenv("TMPDIR");

	(void)snprintf(plant_root, sizeof(plant_root), "%s/gyre-plant-XXXXXX",
		       folder == NULL ? P_tmpdir : folder);
	cr_assert_not_null(mkdtemp(plant_root));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

void plant_end(void)
{
	must_hold(nftw(plant_root, remove_one, OPEN_MAX_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0,
		  plant_root);
}

static void make_folders(char *path)
{
	for (char *slash = strchr(path + strlen(plant_root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
}

static int open_planted(const char *path)
{
	char whole[PATH_BYTES];
	int fd;

	(void)snprintf(whole, sizeof(whole), "%s%s", plant_root, path);
	make_folders(whole);
	fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0, "%s", whole);
	return fd;
}

void plant(const char *path, const char *text)
{
	int fd = open_planted(path);

	cr_assert_eq(ftruncate(fd, 0), 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

void plant_number(const char *path, uint64_t number)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%-24" PRIu64 "\n", number);
	int fd = open_planted(path);

	cr_assert_eq(pwrite(fd, text, (size_t)length, 0), length);
	(void)close(fd);
}

void plant_cgroup(const char *path)
{
	char text[PATH_BYTES];

	(void)snprintf(text, sizeof(text), "12:memory:/old\n0::%s\n", path);
	plant("/proc/self/cgroup", text);
	plant("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
}
