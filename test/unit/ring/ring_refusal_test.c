/*
 * A refused ring says why in one line, and leaves nothing behind.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "ring/ring_private.h"
#include "ring/ring_support.h"

struct heard {
	uint32_t lines;
	enum gyre_log_level level;
	char line[512];
};

static void hear(const struct gyre_log_line *line, void *arg)
{
	struct heard *heard = arg;

	heard->lines++;
	heard->level = line->level;
	(void)snprintf(heard->line, sizeof(heard->line), "%s", line->text);
}

/* Asks for a ring that will be refused, with @result. */
static void be_refused(int result, struct heard *heard)
{
	const struct gy_log log = { .write = hear, .arg = heard };
	const struct gy_ring_options options = {
		.entries = 8,
		.buffer_count = 16,
		.buffer_bytes = 1024,
		.log = &log,
	};
	struct gy_ring *ring = (void *)heard;

	*heard = (struct heard){ 0 };
	cr_assert_eq(gy_ring_create(&options, &ring), result);
	cr_assert_eq((void *)ring, (void *)heard, "the output was touched");
	cr_assert_eq(heard->lines, 1);
	cr_assert_eq(heard->level, GYRE_LOG_ERROR);
	cr_assert_null(strchr(heard->line, '\n'));
}

static void expect(int error, int sysctl_disabled, const char *cause, const char *remedy)
{
	const struct gy_ring_surroundings around = {
		.sysctl_disabled = sysctl_disabled,
		.locked_bytes_max = 65536,
		.descriptors_max = 1024,
		.release = "5.10.0-test",
	};
	char line[384];

	gy_ring_refusal(line, sizeof(line), error, &around);
	cr_assert_not_null(strstr(line, cause), "%s", line);
	cr_assert_not_null(strstr(line, remedy), "%s", line);
	cr_assert_null(strchr(line, '\n'));
	cr_assert_lt(strlen(line), sizeof(line) - 1, "cut short: %s", line);
}

Test(refusal, names_the_sysctl)
{
	expect(EPERM, 2, "kernel.io_uring_disabled = 2", "sysctl -w kernel.io_uring_disabled=0");
	expect(EPERM, 1, "kernel.io_uring_disabled = 1", "kernel.io_uring_group");
}

Test(refusal, names_the_filter_where_the_sysctl_allows_it_or_is_not_there)
{
	expect(EPERM, 0, "seccomp", "io_uring_setup");
	expect(EPERM, -1, "seccomp", "io_uring_setup");
	expect(EACCES, 0, "seccomp", "io_uring_enter");
}

Test(refusal, names_the_kernel)
{
	expect(ENOSYS, -1, "5.10.0-test", "6.1");
	expect(EINVAL, 0, "5.10.0-test", "6.1");
}

Test(refusal, names_the_limits)
{
	expect(ENOMEM, 0, "64 KiB", "RLIMIT_MEMLOCK");
	expect(EMFILE, 0, "1024", "RLIMIT_NOFILE");
	expect(ENFILE, 0, "full", "fs.file-max");
}

Test(refusal, names_what_it_does_not_know)
{
	expect(EIO, 0, "Input/output error", "errno 5");
}

/* Every step that needs a descriptor fails in turn. */
Test(refusal, says_that_no_descriptor_is_left_and_leaves_none_behind)
{
	int before = descriptors_open();
	struct heard heard;

	for (int room = 0; room < 2; room++) {
		struct rlimit limit, low;
		int lowest = dup(0);

		cr_assert_geq(lowest, 0);
		cr_assert_eq(close(lowest), 0);
		cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
		low = limit;
		low.rlim_cur = (rlim_t)(lowest + room);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
		be_refused(-EMFILE, &heard);
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		cr_assert_not_null(strstr(heard.line, "RLIMIT_NOFILE"), "%s", heard.line);
		cr_assert_eq(descriptors_open(), before);
	}
}

/* From here on @call answers @error, in this process. */
static void filter(unsigned call, unsigned error)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = gy_countof(steps), .filter = steps };

	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

Test(refusal, says_that_a_filter_forbids_it)
{
	int before = descriptors_open();
	struct heard heard;

	filter(SYS_io_uring_setup, EPERM);
	be_refused(-EPERM, &heard);
	cr_assert_not_null(strstr(heard.line, "seccomp"), "%s", heard.line);
	cr_assert_eq(descriptors_open(), before);
}

Test(refusal, says_that_the_kernel_has_none)
{
	int before = descriptors_open();
	struct heard heard;

	filter(SYS_io_uring_setup, ENOSYS);
	be_refused(-ENOSYS, &heard);
	cr_assert_not_null(strstr(heard.line, "6.1"), "%s", heard.line);
	cr_assert_eq(descriptors_open(), before);
}

Test(refusal, leaves_nothing_behind_when_the_buffers_are_what_is_refused)
{
	int before = descriptors_open();
	struct heard heard;

	filter(SYS_io_uring_register, EPERM);
	be_refused(-EPERM, &heard);
	cr_assert_not_null(strstr(heard.line, "io_uring_register is forbidden"), "%s", heard.line);
	cr_assert_not_null(strstr(heard.line, "seccomp"), "%s", heard.line);
	cr_assert_eq(descriptors_open(), before);
}

Test(refusal, says_that_registering_could_lock_no_memory)
{
	const struct rlimit limit = { .rlim_cur = 1 << 16, .rlim_max = 1 << 16 };
	struct heard heard;

	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	filter(SYS_io_uring_register, ENOMEM);
	be_refused(-ENOMEM, &heard);
	cr_assert_not_null(strstr(heard.line, "io_uring_register could lock no memory"), "%s",
			   heard.line);
	cr_assert_not_null(strstr(heard.line, "64 KiB (ulimit -l"), "%s", heard.line);
}

Test(refusal, blames_no_old_kernel_for_what_a_new_one_is_kept_from)
{
	struct heard heard;

	filter(SYS_io_uring_register, EINVAL);
	be_refused(-EINVAL, &heard);
	cr_assert_not_null(strstr(heard.line, "io_uring_register fails"), "%s", heard.line);
	cr_assert_null(strstr(heard.line, "or later is needed"), "%s", heard.line);
}

Test(refusal, names_the_call_that_enters_when_the_ring_is_enabled)
{
	struct heard heard = { 0 };
	const struct gy_log log = { .write = hear, .arg = &heard };
	const struct gy_ring_options options = { .entries = 8, .log = &log };
	struct gy_ring *ring;

	cr_assert_eq(gy_ring_create(&options, &ring), 0);
	filter(SYS_io_uring_enter, EPERM);
	cr_assert_eq(gy_ring_enable(ring), -EPERM);
	cr_assert_eq(heard.lines, 1);
	cr_assert_not_null(strstr(heard.line, "io_uring_enter is forbidden"), "%s", heard.line);
	gy_ring_destroy(ring);
}

Test(refusal, names_the_limits_of_memory_by_what_is_lacking)
{
	struct gy_ring_surroundings around = { .call = GY_RING_CALL_MEMORY,
					       .no_addresses = true,
					       .locked_bytes_max = 65536,
					       .address_bytes_max = 1 << 20,
					       .release = "6.1" };
	char line[384];

	gy_ring_refusal(line, sizeof(line), ENOMEM, &around);
	cr_assert_not_null(strstr(line, "1024 KiB (ulimit -v, RLIMIT_AS)"), "%s", line);
	around.address_bytes_max = RLIM_INFINITY;
	gy_ring_refusal(line, sizeof(line), ENOMEM, &around);
	cr_assert_not_null(strstr(line, "cgroups"), "%s", line);
	cr_assert_null(strstr(line, "RLIMIT"), "%s", line);
}

#if defined(GY_SANITIZE_ADDRESS) || defined(GY_SANITIZE_THREAD)
static const bool takes_all_address_space = true;
#else
static const bool takes_all_address_space = false;
#endif

Test(refusal, says_that_no_address_space_is_left)
{
	const struct gy_ring_options small = { .entries = 8 };
	struct heard heard = { 0 };
	const struct gy_log log = { .write = hear, .arg = &heard };
	const struct gy_ring_options large = {
		.entries = 8, .buffer_count = 1024, .buffer_bytes = 1 << 20, .log = &log
	};
	const struct rlimit limit = { .rlim_cur = 1 << 29, .rlim_max = RLIM_INFINITY };
	struct gy_ring *ring;

	if (takes_all_address_space) {
		cr_skip_test("a sanitizer takes more than any limit");
	}
	cr_assert_eq(gy_ring_create(&small, &ring), 0);
	gy_ring_destroy(ring);
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	cr_assert_eq(gy_ring_create(&large, &ring), -ENOMEM);
	cr_assert_eq(heard.lines, 1);
	cr_assert_not_null(strstr(heard.line, "RLIMIT_AS"), "%s", heard.line);
	cr_assert_null(strstr(heard.line, "RLIMIT_MEMLOCK"), "%s", heard.line);
}
