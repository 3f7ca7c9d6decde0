/*
 * What a crash leaves on a disk, over many seeds: what must always be there, and each of the ways
 * that may be.
 */
#include <sys/file.h>
#include <sys/random.h>

#include "disk_rig.h"

enum { SEEDS = 64, BYTES = 4096 };

static int64_t look(const struct gyre_sim *sim, const char *path, char *ret_bytes)
{
	return gyre_sim_disk_read(sim, 0, path, ret_bytes, BYTES);
}

static int write_and_sync(void *arg)
{
	(void)arg;
	cr_assert_eq(mkdir("/d", 0755), 0);
	cr_assert_eq(fsync(disk_write("/d/a", 'a', BYTES)), 0);
	disk_stay();
	return 0;
}

Test(sim_crash, leaves_a_new_file_that_was_synced)
{
	char bytes[BYTES];

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, write_and_sync);

		cr_assert_eq(look(sim, "/d/a", bytes), BYTES);
		cr_assert_eq(disk_run(bytes, BYTES, 'a'), BYTES);
		gyre_sim_destroy(sim);
	}
}

static int overwrite(void *arg)
{
	int fd = disk_write("/a", 'a', BYTES);

	(void)arg;
	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(pwrite(fd, disk_fill('b', BYTES - 100), BYTES - 100, 100), BYTES - 100);
	disk_stay();
	return 0;
}

Test(sim_crash, keeps_loses_or_tears_a_write)
{
	uint32_t kept = 0;
	uint32_t lost = 0;
	uint32_t torn = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, overwrite);
		char bytes[BYTES];
		size_t written;

		cr_assert_eq(look(sim, "/a", bytes), BYTES);
		cr_assert_eq(disk_run(bytes, 100, 'a'), 100);
		written = disk_run(bytes + 100, BYTES - 100, 'b');
		cr_assert_eq(disk_run(bytes + 100 + written, BYTES - 100 - written, 'a'),
			     BYTES - 100 - written);
		cr_assert(written == 0 || (written + 100) % 512 == 0);
		kept += written == BYTES - 100;
		lost += written == 0;
		torn += written > 0 && written < BYTES - 100;
		gyre_sim_destroy(sim);
	}
	cr_assert(kept > 5 && lost > 5 && torn > 5, "%u, %u, %u", kept, lost, torn);
}

static int write_two(void *arg)
{
	int fd = disk_write("/a", '-', 1024);

	(void)arg;
	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(pwrite(fd, disk_fill('1', 512), 512, 0), 512);
	cr_assert_eq(pwrite(fd, disk_fill('2', 512), 512, 512), 512);
	disk_stay();
	return 0;
}

Test(sim_crash, may_keep_a_later_write_and_lose_an_earlier_one)
{
	uint32_t only_later = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, write_two);
		char bytes[BYTES];

		cr_assert_eq(look(sim, "/a", bytes), 1024);
		only_later += bytes[0] == '-' && bytes[512] == '2';
		gyre_sim_destroy(sim);
	}
	cr_assert(only_later > 0);
}

static int make_and_go_on(void *arg)
{
	(void)arg;
	(void)disk_write("/a", 'a', BYTES);
	disk_stay();
	return 0;
}

Test(sim_crash, may_lose_a_new_file_that_was_not_synced)
{
	uint32_t gone = 0;
	uint32_t empty = 0;
	uint32_t whole = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, make_and_go_on);
		char bytes[BYTES];
		int64_t count = look(sim, "/a", bytes);

		gone += count == -ENOENT;
		empty += count == 0;
		whole += count == BYTES;
		gyre_sim_destroy(sim);
	}
	cr_assert(gone > 5 && empty > 2 && whole > 2, "%u, %u, %u", gone, empty, whole);
}

/* ---- replacing a file ---- */

static void replace(bool sync_content, bool sync_name)
{
	int fd;

	cr_assert_eq(fsync(disk_write("/a", 'a', BYTES)), 0);
	fd = disk_write("/a.new", 'b', BYTES);
	if (sync_content) {
		cr_assert_eq(fsync(fd), 0);
	}
	cr_assert_eq(rename("/a.new", "/a"), 0);
	if (sync_name) {
		disk_sync("/");
	}
	disk_stay();
}

static int replace_safely(void *arg)
{
	(void)arg;
	replace(true, true);
	return 0;
}

static int replace_without_folder(void *arg)
{
	(void)arg;
	replace(true, false);
	return 0;
}

static int replace_carelessly(void *arg)
{
	(void)arg;
	replace(false, true);
	return 0;
}

/* Counts what /a is after crashes: the old file, the new one, or neither. */
static void count_outcomes(gyre_sim_boot_fn boot, uint32_t *ret_old, uint32_t *ret_new,
			   uint32_t *ret_broken)
{
	*ret_old = 0;
	*ret_new = 0;
	*ret_broken = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, boot);
		char bytes[BYTES];
		bool whole = look(sim, "/a", bytes) == BYTES;

		if (whole && disk_run(bytes, BYTES, 'a') == BYTES) {
			(*ret_old)++;
		} else if (whole && disk_run(bytes, BYTES, 'b') == BYTES) {
			(*ret_new)++;
		} else {
			(*ret_broken)++;
		}
		gyre_sim_destroy(sim);
	}
}

Test(sim_crash, leaves_a_rename_whose_folder_was_synced)
{
	uint32_t old;
	uint32_t new;
	uint32_t broken;

	count_outcomes(replace_safely, &old, &new, &broken);
	cr_assert_eq(new, SEEDS);
}

Test(sim_crash, leaves_the_old_or_the_new_file_after_a_rename)
{
	uint32_t old;
	uint32_t new;
	uint32_t broken;

	count_outcomes(replace_without_folder, &old, &new, &broken);
	cr_assert_eq(broken, 0);
	cr_assert(old > 5 && new > 5, "%u, %u", old, new);
}

Test(sim_crash, may_leave_a_name_without_its_content)
{
	uint32_t old;
	uint32_t new;
	uint32_t broken;

	count_outcomes(replace_carelessly, &old, &new, &broken);
	cr_assert(broken > 5 && new > 5 && old == 0, "%u, %u, %u", old, new, broken);
}

static int remove_one(void *arg)
{
	(void)arg;
	cr_assert_eq(fsync(disk_write("/a", 'a', BYTES)), 0);
	cr_assert_eq(unlink("/a"), 0);
	(void)disk_write("/a", 'b', 10);
	disk_stay();
	return 0;
}

Test(sim_crash, may_bring_back_what_was_removed)
{
	uint32_t back = 0;
	uint32_t gone = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct gyre_sim *sim = disk_crash_after(seed, remove_one);
		char bytes[BYTES];
		int64_t count = look(sim, "/a", bytes);

		back += count == BYTES && disk_run(bytes, BYTES, 'a') == BYTES;
		gone += count == -ENOENT;
		gyre_sim_destroy(sim);
	}
	cr_assert(back > 5 && gone > 5, "%u, %u", back, gone);
}

/* ---- syncs that fail ---- */

static int sync_twice(void *arg)
{
	int *results = (int *)arg;
	int fd = disk_write("/a", 'a', 512);

	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(pwrite(fd, disk_fill('b', 512), 512, 0), 512);
	disk_pause(GYRE_SECONDS(2));
	results[0] = fsync(fd);
	disk_pause(GYRE_SECONDS(2));
	results[1] = fsync(fd);
	disk_stay();
	return 0;
}

Test(sim_crash, loses_what_a_sync_has_failed_for_whatever_a_later_one_says)
{
	const struct gyre_sim_disk failing = { .errors = 1000000 };

	for (uint64_t seed = 0; seed < 8; seed++) {
		struct gyre_sim *sim = sim_make(seed);
		int results[2] = { 1, 1 };
		char bytes[BYTES];

		(void)sim_add(sim, "alpha", sync_twice, results);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
		cr_assert_eq(gyre_sim_disk_set(sim, 0, &failing), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(2)), 0);
		cr_assert_eq(gyre_sim_disk_set(sim, 0, NULL), 0);
		cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(3)), 0);
		cr_assert(results[0] == -1 && results[1] == 0);
		cr_assert_eq(look(sim, "/a", bytes), 512);
		cr_assert_eq(bytes[0], 'b');
		cr_assert_eq(gyre_sim_crash(sim, 0), 0);
		cr_assert_eq(look(sim, "/a", bytes), 512);
		cr_assert_eq(bytes[0], 'a');
		gyre_sim_destroy(sim);
	}
}

/* ---- the next life ---- */

struct lives {
	uint32_t count;
	bool read;
};

static int live(void *arg)
{
	struct lives *lives = (struct lives *)arg;
	char memory[4] = { 0 };

	if (lives->count++ == 0) {
		cr_assert_eq(flock(disk_open("/a", O_RDWR | O_CREAT), LOCK_EX), 0);
		cr_assert_eq(fsync(disk_write("/a", 'a', 3)), 0);
		disk_stay();
	}
	cr_assert_eq(flock(disk_open("/a", O_RDWR), LOCK_EX | LOCK_NB), 0);
	cr_assert_eq(read(disk_open("/a", O_RDONLY), memory, 4), 3);
	cr_assert_str_eq(memory, "aaa");
	lives->read = true;
	return 0;
}

Test(sim_crash, leaves_a_disk_for_the_next_boot_and_no_locks)
{
	struct gyre_sim *sim = sim_make(1);
	struct lives lives = { 0 };

	(void)sim_add(sim, "alpha", live, &lives);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	cr_assert_eq(gyre_sim_restart(sim, 0), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(lives.read);
	gyre_sim_destroy(sim);
}

static uint64_t digest_of(uint64_t seed)
{
	struct gyre_sim *sim = disk_crash_after(seed, make_and_go_on);
	uint64_t digest = gyre_sim_digest(sim);

	gyre_sim_destroy(sim);
	return digest;
}

Test(sim_crash, is_the_same_for_the_same_seed)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		cr_assert_eq(digest_of(seed), digest_of(seed));
	}
	cr_assert_neq(digest_of(1), digest_of(2));
}

/* ---- anything ---- */

enum { PATHS = 9, OPEN = 6, STEPS = 300 };

static const char *const folders[] = { "/", "/p", "/p/q" };
static const char *const paths[PATHS] = { "/a",	  "/b",	    "/c",     "/p/a", "/p/b",
					  "/p/q", "/p/q/a", "/p/q/b", "/p" };

static uint32_t draw(uint32_t count)
{
	uint32_t random;

	cr_assert_eq(getrandom(&random, sizeof(random), 0), sizeof(random));
	return random % count;
}

/* What fails does so because of how things are, and changes nothing. */
static void do_something(int fds[OPEN])
{
	const char *path = paths[draw(PATHS)];
	int *fd = &fds[draw(OPEN)];

	switch (draw(9)) {
	case 0:
	case 1:
		(void)close(*fd);
		*fd = open(path, O_RDWR | O_CREAT | (draw(3) == 0 ? O_TRUNC : 0), 0600);
		break;
	case 2:
	case 3:
		(void)!pwrite(*fd, disk_fill('x', 6000), 1 + draw(6000), draw(6000));
		break;
	case 4:
		(void)!ftruncate(*fd, draw(9000));
		break;
	case 5:
		(void)fsync(*fd);
		break;
	case 6:
		(void)rename(path, paths[draw(PATHS)]);
		break;
	case 7:
		(void)(unlink(path) < 0 ? rmdir(path) : 0);
		break;
	default:
		(void)mkdir(folders[draw(3)], 0700);
		break;
	}
}

static int do_anything(void *arg)
{
	int fds[OPEN];

	(void)arg;
	memset(fds, -1, sizeof(fds));
	for (uint32_t i = 0; i < STEPS; i++) {
		do_something(fds);
	}
	disk_stay();
	return 0;
}

Test(sim_crash, leaves_a_disk_in_order_whatever_was_done)
{
	const struct gyre_sim_disk disk = { .capacity_bytes = 20000, .errors = 10000 };

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct gyre_sim *sim = sim_make(seed);

		(void)sim_add(sim, "alpha", do_anything, NULL);
		cr_assert_eq(gyre_sim_disk_set(sim, 0, &disk), 0);
		for (uint32_t life = 0; life < 5; life++) {
			uint64_t ns = gyre_sim_random(sim) % GYRE_MILLISECONDS(6);

			cr_assert_eq(gyre_sim_run(sim, ns), 0);
			cr_assert_eq(gyre_sim_crash(sim, 0), 0);
			for (uint32_t i = 0; i < PATHS; i++) {
				cr_assert_leq(gyre_sim_disk_read(sim, 0, paths[i], NULL, 0), 20000);
			}
			cr_assert_eq(gyre_sim_restart(sim, 0), 0);
		}
		gyre_sim_destroy(sim);
	}
}
