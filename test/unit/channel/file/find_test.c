/* Finding files at once: what is found, what is refused, and when a kept descriptor goes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gyre/file_find.h>

#include "../rig.h"
#include "actor/stack/stack.h"
#include "channel/file/file.h"
#include "channel/file/kept.h"

TestSuite(find, .timeout = 60);

static const struct gyre_file_keeping kept_well = { .files_max = 8 };

static struct rig rig;
static char folder[64];
static char paths[4][80];

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(close(fd), 0);
}

static void begin(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/gyre-find-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	for (size_t i = 0; i < gy_countof(paths); i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
		write_file(paths[i], "words");
	}
	rig_init(&rig, NULL);
}

static void end(void)
{
	rig_fini(&rig); /* which counts the descriptors */
	for (size_t i = 0; i < gy_countof(paths); i++) {
		(void)unlink(paths[i]);
	}
	(void)rmdir(folder);
}

static int find(const char *path, const struct gyre_file_keeping *keeping,
		struct gyre_file_found *ret_found)
{
	return gyre_file_find(&rig_stack(&rig)->head, path, keeping, ret_found);
}

/* The descriptor of a file that is found and closed again. */
static int found_once(const char *path, const struct gyre_file_keeping *keeping)
{
	struct gyre_file_found found;
	int fd;

	cr_assert_eq(find(path, keeping, &found), 0);
	fd = found.file->endpoint.fd;
	gyre_file_close(found.file);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Not every file system remembers the names of files that are not there. */
static bool is_missing(const char *path)
{
	struct gyre_file_found found;
	int r = find(path, &kept_well, &found);

	return r == -ENOENT || r == -EAGAIN;
}

/* ---- what is found ---- */

Test(find, gives_a_file_and_what_is_known_of_it, .init = begin, .fini = end)
{
	struct gyre_file_found found;

	cr_assert_eq(find(paths[0], NULL, &found), 0);
	cr_assert_eq(found.status.bytes, 5);
	cr_assert(S_ISREG(found.status.mode));
	cr_assert_gt(found.status.modified_ns, 0);
	gyre_file_close(found.file);
	rig_settle(&rig);
	cr_assert_null(rig_channels(&rig)->kept_files);
}

Test(find, refuses_what_is_no_regular_file, .init = begin, .fini = end)
{
	struct gyre_file_found found = { .file = NULL };
	char long_path[PATH_MAX + 1];

	memset(long_path, 'x', PATH_MAX);
	long_path[PATH_MAX] = '\0';
	cr_expect_eq(find(folder, NULL, &found), -EISDIR);
	cr_expect_eq(find("/dev/null", &kept_well, &found), -EOPNOTSUPP);
	cr_expect(is_missing("/tmp/there/is/no/such/file"));
	cr_expect_eq(find(long_path, NULL, &found), -ENAMETOOLONG);
	cr_expect_eq(find(NULL, NULL, &found), -EINVAL);
	cr_expect_eq(find(paths[0], NULL, NULL), -EINVAL);
	cr_expect_eq(gyre_file_find(NULL, paths[0], NULL, &found), -EINVAL);
	cr_expect_null(found.file);
}

/* ---- kept files ---- */

Test(find, keeps_a_descriptor_for_the_next_one, .init = begin, .fini = end)
{
	int fd = found_once(paths[0], &kept_well);

	rig_settle(&rig);
	cr_assert(is_open(fd));
	cr_assert_eq(found_once(paths[0], &kept_well), fd);
	cr_assert_neq(found_once(paths[1], &kept_well), fd);
}

Test(find, gives_a_file_that_was_deleted_until_its_time_has_passed, .init = begin, .fini = end)
{
	struct gyre_file_found found;
	int fd = found_once(paths[0], &kept_well);

	cr_assert_eq(unlink(paths[0]), 0);
	cr_assert_eq(found_once(paths[0], &kept_well), fd);
	rig_pass(&rig, GYRE_SECONDS(2));
	cr_assert(is_missing(paths[0]));
	cr_assert_not(is_open(fd));
	write_file(paths[0], "anew");
	cr_assert_eq(find(paths[0], &kept_well, &found), 0, "an error is not kept");
	gyre_file_close(found.file);
}

Test(find, opens_a_file_anew_that_has_taken_the_place, .init = begin, .fini = end)
{
	struct gyre_file_found old;
	struct gyre_file_found found;

	cr_assert_eq(find(paths[0], &kept_well, &old), 0);
	write_file(paths[1], "other words");
	cr_assert_eq(rename(paths[1], paths[0]), 0);
	rig_pass(&rig, GYRE_SECONDS(2));
	cr_assert_eq(find(paths[0], &kept_well, &found), 0);
	cr_assert_eq(found.status.bytes, 11);
	cr_assert(is_open(old.file->endpoint.fd), "somebody uses it");
	cr_assert_neq(found.file->endpoint.fd, old.file->endpoint.fd);
	gyre_file_close(found.file);
	gyre_file_close(old.file);
}

Test(find, sees_a_new_length_when_the_time_has_passed, .init = begin, .fini = end)
{
	struct gyre_file_found found;

	(void)found_once(paths[0], &kept_well);
	cr_assert_eq(truncate(paths[0], 2), 0);
	rig_pass(&rig, GYRE_SECONDS(2));
	cr_assert_eq(find(paths[0], &kept_well, &found), 0);
	cr_assert_eq(found.status.bytes, 2);
	gyre_file_close(found.file);
}

Test(find, goes_on_with_a_file_that_is_the_same, .init = begin, .fini = end)
{
	int fd = found_once(paths[0], &kept_well);

	rig_pass(&rig, GYRE_SECONDS(2));
	cr_assert_eq(found_once(paths[0], &kept_well), fd);
}

Test(find, looks_once_a_turn_whether_a_part_is_in_memory, .init = begin, .fini = end)
{
	const struct gy_channels *channels = rig_channels(&rig);
	struct gyre_file_found found;
	struct gy_kept_file *kept;

	cr_assert_eq(find(paths[0], &kept_well, &found), 0);
	kept = found.file->kept;
	cr_assert_not_null(kept);
	if (gy_kept_is_in_memory(channels, kept, 0, 5)) { /* the kernel can tell */
		cr_assert_eq(truncate(paths[0], 0), 0);
		cr_assert(gy_kept_is_in_memory(channels, kept, 0, 5));
		cr_assert(gy_kept_is_in_memory(channels, kept, 4, 1));
		cr_assert_not(gy_kept_is_in_memory(channels, kept, 4, 2), "that was not seen");
		rig_settle(&rig);
		cr_assert_not(gy_kept_is_in_memory(channels, kept, 0, 5));
	}
	gyre_file_close(found.file);
}

/* ---- bounds ---- */

Test(find, lets_go_what_was_used_least_lately, .init = begin, .fini = end)
{
	const struct gyre_file_keeping two = { .files_max = 2 };
	int first = found_once(paths[0], &two);
	int second = found_once(paths[1], &two);

	(void)found_once(paths[0], &two);
	(void)found_once(paths[2], &two);
	cr_assert(is_open(first));
	/* The number of the second serves the third, or nobody. */
	cr_assert_eq(found_once(paths[0], &two), first);
	cr_assert(!is_open(second) || found_once(paths[2], &two) == second);
}

Test(find, closes_what_is_idle, .init = begin, .fini = end)
{
	const struct gyre_file_keeping moments = { .files_max = 8, .idle_ns = GYRE_SECONDS(5) };
	int first = found_once(paths[0], &moments);
	int second = found_once(paths[1], &moments);

	rig_pass(&rig, GYRE_SECONDS(3));
	(void)found_once(paths[1], &moments);
	rig_pass(&rig, GYRE_SECONDS(3));
	cr_assert_not(is_open(first));
	cr_assert(is_open(second));
	rig_pass(&rig, GYRE_SECONDS(6));
	cr_assert_not(is_open(second));
}

Test(find, gives_back_descriptors_where_none_are_left, .init = begin, .fini = end)
{
	struct rlimit before;
	struct rlimit none;
	int fd = found_once(paths[0], &kept_well);

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)fd + 1;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_expect_eq(found_once(paths[1], &kept_well), fd);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}

Test(find, closes_kept_files_when_memory_is_short, .init = begin, .fini = end)
{
	int fd = found_once(paths[0], &kept_well);

	gy_channels_set_busy(&rig.home, true);
	cr_assert_not(is_open(fd));
	gy_channels_set_busy(&rig.home, false);
	cr_assert_geq(found_once(paths[0], &kept_well), 0);
}
