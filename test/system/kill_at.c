/*
 * Runs a program and kills it at one of its system calls, before that has any effect: at the one
 * with number AT, from 0, of those from the first connect() to a Unix socket on, or the first
 * accept(). Calls that nobody outside the process can see anything of, as those for memory, locks
 * and signals, are not counted, and threads are counted together.
 *
 * usage: kill-at connect|accept AT PROGRAM ARGUMENT...
 *
 * SIGTERM is passed on. The exit status is the program's, 99 when it was killed, and the call is
 * named on standard error; or 77 where processes may not be traced.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLED = 99, SKIPPED = 77, SYSCALL_STOP = SIGTRAP | 0x80 };

static volatile sig_atomic_t child;
static long first; /* the call that counting begins with */
static bool counts;
static long left;

static void pass_on(int number)
{
	if (child > 0) {
		(void)kill((pid_t)child, number);
	}
}

/* What changes nothing for anybody else. */
static bool is_silent(uint64_t call)
{
	static const int silent[] = {
		SYS_brk,
		SYS_clock_gettime,
		SYS_clone3,
		SYS_futex,
		SYS_getegid,
		SYS_geteuid,
		SYS_getpid,
		SYS_getrandom,
		SYS_gettid,
		SYS_madvise,
		SYS_mmap,
		SYS_mprotect,
		SYS_munmap,
		SYS_newfstatat,
		SYS_read,
		SYS_rseq,
		SYS_rt_sigaction,
		SYS_rt_sigprocmask,
		SYS_pread64,
		SYS_sched_setaffinity,
		SYS_set_robust_list,
		SYS_sched_getaffinity,
		SYS_set_mempolicy,
	};

	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
		if (call == (uint64_t)silent[i]) {
			return true;
		}
	}
	return false;
}

static bool begins(pid_t thread, const struct __ptrace_syscall_info *info)
{
	sa_family_t family = AF_UNSPEC;
	struct iovec to = { &family, sizeof(family) };
	struct iovec from = { (void *)(uintptr_t)info->entry.args[1], sizeof(family) };

	if (info->entry.nr != (uint64_t)first) {
		return false;
	}
	return first == SYS_accept4 ||
	       (process_vm_readv(thread, &to, 1, &from, 1, 0) > 0 && family == AF_UNIX);
}

/* Whether it was killed there. */
static bool look_at(pid_t thread)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY) {
		return false;
	}
	counts = counts || begins(thread, &info);
	if (!counts || is_silent(info.entry.nr) || left-- > 0) {
		return false;
	}
	(void)fprintf(stderr, "killed at system call %u\n", (unsigned)info.entry.nr);
	(void)kill((pid_t)child, SIGKILL);
	return true;
}

/* Until the program has ended: its status. */
static int trace(void)
{
	bool killed = false;

	for (;;) {
		int status;
		int pass = 0;
		pid_t thread = waitpid(-1, &status, __WALL);

		if (thread < 0 && errno == EINTR) {
			continue;
		}
		if (thread < 0) {
			return KILLED;
		}
		if (!WIFSTOPPED(status)) {
			if (thread == (pid_t)child) {
				return killed		   ? KILLED
				       : WIFEXITED(status) ? WEXITSTATUS(status)
							   : 128 + WTERMSIG(status);
			}
			continue;
		}
		if (WSTOPSIG(status) == SYSCALL_STOP) {
			killed = (!killed && look_at(thread)) || killed;
		} else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) {
			pass = WSTOPSIG(status);
		}
		(void)ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(uintptr_t)pass);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = pass_on };
	int status;

	if (argc < 4) {
		(void)fprintf(stderr, "usage: kill-at connect|accept AT PROGRAM ARGUMENT...\n");
		return 2;
	}
	first = strcmp(argv[1], "accept") == 0 ? SYS_accept4 : SYS_connect;
	left = strtol(argv[2], NULL, 10);
	(void)sigaction(SIGTERM, &action, NULL);
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
			_exit(SKIPPED);
		}
		(void)raise(SIGSTOP);
		(void)execv(argv[3], argv + 3);
		_exit(127);
	}
	if (child < 0 || waitpid((pid_t)child, &status, __WALL) < 0) {
		return 2;
	}
	if (WIFEXITED(status)) {
		return WEXITSTATUS(status);
	}
	if (ptrace(PTRACE_SETOPTIONS, (pid_t)child, NULL,
		   (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
				       PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC |
				       PTRACE_O_EXITKILL)) < 0) {
		(void)kill((pid_t)child, SIGKILL);
		return SKIPPED;
	}
	(void)ptrace(PTRACE_SYSCALL, (pid_t)child, NULL, NULL);
	return trace();
}
