/*
 * Disks of hosts, by plain calls: what programs see of them while they are up.
 */
#include <pthread.h>
#include <sys/file.h>
#include <sys/uio.h>

#include "disk_rig.h"

static void expect_error(int r, int error)
{
	cr_assert_eq(r, -1);
	cr_assert_eq(errno, error, "%s in the place of %s", strerror(errno), strerror(error));
}

/* ---- contents ---- */

static int write_and_read(void *arg)
{
	char memory[8] = { 0 };
	struct stat status;
	int fd = disk_open("/tmp/a", O_RDWR | O_CREAT);

	cr_assert_eq(write(fd, "abcdef", 6), 6);
	cr_assert_eq(read(fd, memory, 6), 0);
	cr_assert_eq(lseek(fd, 1, SEEK_SET), 1);
	cr_assert_eq(read(fd, memory, 2), 2);
	cr_assert_str_eq(memory, "bc");
	cr_assert_eq(pwrite(fd, "XY", 2, 8), 2);
	cr_assert_eq(pread(fd, memory, 8, 3), 7);
	cr_assert_eq(memcmp(memory, "def\0\0XY", 7), 0);
	cr_assert_eq(lseek(fd, 0, SEEK_CUR), 3);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_eq(status.st_size, 10);
	cr_assert(S_ISREG(status.st_mode));
	cr_assert_eq(ftruncate(fd, 2), 0);
	cr_assert_eq(stat("/tmp/../tmp/./a", &status), 0);
	cr_assert_eq(status.st_size, 2);
	cr_assert_eq(close(fd), 0);
	return disk_done(arg);
}

Test(sim_disk, gives_back_what_was_written)
{
	disk_let(1, write_and_read);
}

static int open_in_all_ways(void *arg)
{
	char memory[4] = { 0 };
	int fd;

	expect_error(open("/a", O_RDONLY), ENOENT);
	expect_error(open("/none/a", O_RDWR | O_CREAT, 0600), ENOENT);
	cr_assert_eq(close(disk_write("/a", 'x', 3)), 0);
	expect_error(open("/a", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	expect_error(open("/a", O_RDONLY | O_DIRECTORY), ENOTDIR);
	expect_error(open("/a/b", O_RDONLY), ENOTDIR);
	expect_error(open("/tmp", O_RDWR), EISDIR);
	fd = disk_open("/a", O_WRONLY | O_APPEND);
	cr_assert_eq(write(fd, "y", 1), 1);
	expect_error((int)read(fd, memory, 1), EBADF);
	cr_assert_eq(close(fd), 0);
	fd = disk_open("/a", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_assert_eq(read(fd, memory, 4), 4);
	cr_assert_eq(memcmp(memory, "xxxy", 4), 0);
	expect_error((int)write(fd, "z", 1), EBADF);
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(close(disk_open("/a", O_WRONLY | O_TRUNC)), 0);
	cr_assert_eq(lseek(disk_open("/a", O_RDONLY), 0, SEEK_END), 0);
	return disk_done(arg);
}

Test(sim_disk, opens_files_as_the_flags_say)
{
	disk_let(2, open_in_all_ways);
}

static int change_names(void *arg)
{
	struct stat status;
	char memory[2];
	int fd;

	cr_assert_eq(mkdir("/d", 0755), 0);
	expect_error(mkdir("/d", 0755), EEXIST);
	fd = disk_write("/d/a", 'a', 1);
	expect_error(rmdir("/d"), ENOTEMPTY);
	expect_error(unlink("/d"), EISDIR);
	expect_error(rename("/d", "/d/e"), EINVAL);
	cr_assert_eq(close(disk_write("/b", 'b', 2)), 0);
	cr_assert_eq(rename("/b", "/d/a"), 0);
	expect_error(access("/b", F_OK), ENOENT);
	cr_assert_eq(stat("/d/a", &status), 0);
	cr_assert_eq(status.st_size, 2);
	cr_assert_eq(pread(fd, memory, 2, 0), 1, "the file that was replaced is still open");
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(chmod("/d/a", 0400), 0);
	cr_assert_eq(lstat("/d/a", &status), 0);
	cr_assert_eq(status.st_mode, S_IFREG | 0400);
	cr_assert_eq(unlink("/d/a"), 0);
	expect_error(unlink("/d/a"), ENOENT);
	fd = disk_open("/d", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(rmdir("/d"), 0);
	expect_error(openat(fd, "a", O_RDWR | O_CREAT, 0600), ENOENT);
	return disk_done(arg);
}

Test(sim_disk, has_folders_and_names)
{
	disk_let(3, change_names);
}

static int find_no_kernel_files(void *arg)
{
	char bytes[2][16] = { { 0 } };
	int fd;

	expect_error(open("/proc/self/stat", O_RDONLY), ENOENT);
	expect_error(open("/sys/devices/system/cpu/online", O_RDONLY), ENOENT);
	fd = disk_open("/dev/null", O_RDWR);
	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_assert_eq(read(fd, bytes[0], 3), 0);
	fd = disk_open("/dev/urandom", O_RDONLY);
	cr_assert_eq(read(fd, bytes[0], 16), 16);
	cr_assert_eq(read(fd, bytes[1], 16), 16);
	cr_assert(memcmp(bytes[0], bytes[1], 16) != 0);
	return disk_done(arg);
}

Test(sim_disk, has_two_devices_and_no_files_of_the_kernel)
{
	disk_let(4, find_no_kernel_files);
}

/* ---- from outside ---- */

static int read_config(void *arg)
{
	char text[16] = { 0 };
	int fd = disk_open("/etc/server/config", O_RDONLY);

	cr_assert_eq(read(fd, text, sizeof(text)), 5);
	cr_assert_str_eq(text, "hello");
	(void)close(disk_write("/tmp/answer", 'y', 3));
	return disk_done(arg);
}

Test(sim_disk, is_laid_out_and_looked_at_from_outside)
{
	struct gyre_sim *sim = sim_make(5);
	bool done = false;
	char text[8] = { 0 };

	(void)sim_add(sim, "alpha", read_config, &done);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "/etc/server/config", "hello, world", 12), 0);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "/etc/server/config", "hello", 5), 0);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "/etc/server", "x", 1), -EISDIR);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "relative", "x", 1), -EINVAL);
	cr_assert_eq(gyre_sim_disk_write(sim, 1, "/x", "x", 1), -EINVAL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	cr_assert_eq(gyre_sim_disk_read(sim, 0, "/tmp/answer", text, 2), 3);
	cr_assert_str_eq(text, "yy");
	cr_assert_eq(gyre_sim_disk_read(sim, 0, "/tmp/none", NULL, 0), -ENOENT);
	gyre_sim_destroy(sim);
}

Test(sim_disk, belongs_to_one_host)
{
	struct gyre_sim *sim = sim_make(6);
	bool done = false;

	(void)sim_add(sim, "alpha", read_config, &done);
	(void)sim_add(sim, "beta", disk_done, &done);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "/etc/server/config", "hello", 5), 0);
	cr_assert_eq(gyre_sim_disk_read(sim, 1, "/etc/server/config", NULL, 0), -ENOENT);
	gyre_sim_destroy(sim);
}

/* ---- locks ---- */

struct locking {
	uint32_t inside;
	uint32_t count;
};

static void *lock_and_count(void *arg)
{
	struct locking *locking = (struct locking *)arg;
	int fd = disk_open("/lock", O_RDWR | O_CREAT);

	for (uint32_t i = 0; i < 20; i++) {
		cr_assert_eq(flock(fd, LOCK_EX), 0);
		cr_assert_eq(locking->inside++, 0);
		disk_pause(GYRE_MILLISECONDS(1));
		locking->inside--;
		locking->count++;
		cr_assert_eq(flock(fd, LOCK_UN), 0);
	}
	return NULL;
}

static int lock_in_threads(void *arg)
{
	struct locking locking = { 0 };
	pthread_t threads[3];
	int fd = disk_open("/lock", O_RDWR | O_CREAT);

	cr_assert_eq(flock(fd, LOCK_SH), 0);
	expect_error(flock(disk_open("/lock", O_RDWR), LOCK_EX | LOCK_NB), EWOULDBLOCK);
	cr_assert_eq(flock(disk_open("/lock", O_RDWR), LOCK_SH | LOCK_NB), 0);
	for (int other = fd; other <= fd + 2; other++) {
		cr_assert_eq(close(other), 0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_create(&threads[i], NULL, lock_and_count, &locking), 0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	cr_assert_eq(locking.count, 60);
	return disk_done(arg);
}

Test(sim_disk, has_locks_that_keep_open_files_apart)
{
	disk_let(7, lock_in_threads);
}

/* ---- trouble ---- */

static int fill_it(void *arg)
{
	int fd = disk_write("/a", 'a', 3000);
	int other = disk_open("/b", O_RDWR | O_CREAT);

	cr_assert_eq(write(other, disk_fill('b', 10000), 10000), 5192);
	expect_error((int)write(other, "b", 1), ENOSPC);
	expect_error(ftruncate(other, 5193), ENOSPC);
	cr_assert_eq(pwrite(fd, "x", 1, 0), 1, "what is there already needs no room");
	cr_assert_eq(unlink("/a"), 0);
	expect_error((int)write(other, "b", 1), ENOSPC);
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(write(other, disk_fill('b', 3000), 3000), 3000);
	expect_error((int)write(other, "b", 1), ENOSPC);
	return disk_done(arg);
}

Test(sim_disk, refuses_what_it_has_no_room_for)
{
	const struct gyre_sim_disk disk = { .capacity_bytes = 8192 };
	struct gyre_sim *sim = sim_make(8);
	bool done = false;

	(void)sim_add(sim, "alpha", fill_it, &done);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &disk), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	cr_assert_eq(gyre_sim_disk_write(sim, 0, "/c", "c", 1), -ENOSPC);
	gyre_sim_destroy(sim);
}

static int write_little(void *arg)
{
	(void)close(disk_write("/a", 'a', 3000));
	return disk_done(arg);
}

Test(sim_disk, may_be_as_large_as_a_number_can_say)
{
	const struct gyre_sim_disk disk = { .capacity_bytes = UINT64_MAX };
	struct gyre_sim *sim = sim_make(8);
	bool done = false;

	(void)sim_add(sim, "alpha", write_little, &done);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &disk), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static int meet_errors(void *arg)
{
	char memory[4];
	int fd = disk_open("/a", O_RDWR | O_CREAT);

	expect_error((int)write(fd, "a", 1), EIO);
	expect_error((int)read(fd, memory, 1), EIO);
	expect_error((int)pread(fd, memory, 1, 0), EIO);
	expect_error(fsync(fd), EIO);
	return disk_done(arg);
}

Test(sim_disk, has_errors)
{
	const struct gyre_sim_disk disk = { .errors = 1000000 };
	const struct gyre_sim_disk wrong = { .errors = 1000001 };
	struct gyre_sim *sim = sim_make(9);
	bool done = false;

	(void)sim_add(sim, "alpha", meet_errors, &done);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &wrong), -EINVAL);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &disk), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static int sync_slowly(void *arg)
{
	struct timespec times[2];
	int fd = disk_write("/a", 'a', 1);

	(void)clock_gettime(CLOCK_MONOTONIC, &times[0]);
	cr_assert_eq(fdatasync(fd), 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &times[1]);
	cr_assert(times[1].tv_sec - times[0].tv_sec >= 9);
	return disk_done(arg);
}

Test(sim_disk, takes_its_time)
{
	const struct gyre_sim_disk disk = { .delay_ns = GYRE_SECONDS(10) };
	struct gyre_sim *sim = sim_make(10);
	bool done = false;

	(void)sim_add(sim, "alpha", sync_slowly, &done);
	cr_assert_eq(gyre_sim_disk_set(sim, 0, &disk), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(9)), 0);
	cr_assert(!done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(30)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static int write_until_done(void *arg)
{
	int fd = disk_open("/a", O_RDWR | O_CREAT);
	size_t done = 0;
	uint32_t calls = 0;

	while (done < DISK_BYTES_MAX) {
		ssize_t r = write(fd, disk_fill('a', DISK_BYTES_MAX - done), DISK_BYTES_MAX - done);

		cr_assert(r > 0);
		done += (size_t)r;
		calls++;
	}
	cr_assert(calls > 1);
	return disk_done(arg);
}

Test(sim_disk, cuts_calls_short_where_faults_are_wanted)
{
	const struct gyre_sim_options options = { .seed = 11, .faults = 500000 };
	struct gyre_sim *sim;
	bool done = false;

	cr_assert_eq(gyre_sim_create(&options, &sim), 0);
	(void)sim_add(sim, "alpha", write_until_done, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}
