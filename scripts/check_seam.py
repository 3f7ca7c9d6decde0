#!/usr/bin/env python3
"""The seam: nothing above lib/ring/ talks to the kernel or to the machine by itself.

usage: check_seam.py [ROOT]

SEAM lists the calls of the C library that ask the kernel, the clocks, the random numbers or the
environment, and what to call instead: thin functions of lib/ring/ and of a few files of lib/base/, BELOW,
in whose place a simulator can put files of its own when a program is linked. Elsewhere in lib/ none of these
names may stand, not even as the address of a function. A name that is also a word of WORDS, by which members and
variables are called, is only looked at where it is called; and not in a file that has a function of
that name. EXCEPTIONS names the files that may all the same, with the reason.

Threads may start, lock and wait for each other as they like, as long as no time is involved.
"""
import os
import sys

import csource

# What a simulator replaces, and so may do as it likes; and the simulator.
BELOW = ("lib/ring/", "lib/sim/", "lib/base/clock.c", "lib/base/environment.c", "lib/base/random.c",
         "lib/base/thread.c", "lib/base/wakeup.c")

# Names, and what to use instead.
SEAM = [
    ("socket socketpair bind listen connect accept accept4 shutdown getsockname getpeername "
     "setsockopt getsockopt send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg",
     "use ring/socket.h"),
    ("close close_range dup dup2 dup3 fcntl ioctl pipe pipe2 poll ppoll select pselect "
     "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd eventfd_read eventfd_write "
     "timerfd_create timerfd_settime timerfd_gettime read readv write writev fstat fchmod",
     "use ring/descriptor.h"),
    ("open open64 openat openat2 creat fopen fdopen freopen opendir fdopendir readdir closedir scandir "
     "pread pwrite preadv preadv2 pwritev pwritev2 lseek stat lstat fstatat statx access faccessat chmod "
     "fchmodat chown fchown lchown fchownat unlink unlinkat rename renameat renameat2 link linkat symlink "
     "symlinkat readlink readlinkat realpath mkdir mkdirat mkdtemp mkstemp mkostemp rmdir truncate ftruncate "
     "fallocate posix_fallocate posix_fadvise fsync fdatasync sync_file_range flock lockf sendfile splice "
     "tee vmsplice copy_file_range memfd_create umask",
     "use ring/file.h, or an operation of the ring"),
    ("signal sigaction signalfd sigwait sigwaitinfo sigtimedwait sigsuspend sigprocmask kill raise tgkill "
     "pthread_kill pthread_sigqueue sigqueue alarm setitimer",
     "use ring/signal.h"),
    ("getaddrinfo getnameinfo gethostbyname gethostbyname_r if_nametoindex if_indextoname if_nameindex "
     "getifaddrs gethostname uname",
     "use ring/host.h"),
    ("time clock gettimeofday clock_gettime clock_getres timespec_get sleep usleep nanosleep clock_nanosleep",
     "use base/clock.h"),
    ("getrandom getentropy random random_r rand rand_r srand drand48 arc4random RAND_bytes RAND_priv_bytes",
     "use base/random.h"),
    ("pthread_create thrd_create pthread_sigmask pthread_setaffinity_np "
     "pthread_getaffinity_np sched_setaffinity sched_getaffinity pthread_cond_timedwait "
     "pthread_cond_clockwait pthread_mutex_timedlock pthread_mutex_clocklock pthread_timedjoin_np",
     "use base/thread.h"),
    ("sem_init sem_wait sem_timedwait sem_clockwait sem_post", "use base/wakeup.h"),
    ("getenv secure_getenv setenv putenv unsetenv getpid getppid gettid getuid geteuid getgid getegid "
     "getpwnam getpwuid getrlimit setrlimit prlimit sysconf getpagesize getrusage sysinfo",
     "use base/environment.h"),
    ("fork vfork clone execv execve execvp execvpe fexecve posix_spawn posix_spawnp wait wait3 wait4 waitid "
     "waitpid system popen",
     "the library starts no programs"),
    ("syscall prctl mmap munmap mremap mprotect madvise",
     "a call of the kernel belongs to lib/ring/ or lib/base/"),
]
WORDS = set(
    "access accept alarm bind clock clone close connect creat dup fork kill link listen open pipe poll raise "
    "random read rename select send shutdown signal sleep socket splice stat statx symlink system tee time "
    "truncate wait write".split())
EXCEPTIONS = {
    ("lib/system/machine/numa.c", "syscall"):
        "where memory lies, which only speed depends on",
    ("lib/system/observe/stall.c", "sigaction"):
        "stalls of real threads, which a simulation does not have",
    ("lib/system/observe/watchdog.c", "pthread_cond_timedwait"):
        "the watchdog looks at real threads by real time",
    ("lib/system/observe/watchdog.c", "pthread_kill"):
        "the watchdog interrupts a real thread",
    ("lib/system/observe/watchdog.c", "pthread_sigmask"):
        "the watchdog interrupts a real thread",
}


def seam_calls():
    return {name: instead for names, instead in SEAM for name in names.split()}


def uses(source, names):
    """Each token that names one of @names and not a member, a type or a function of the file."""
    own = {function.name for function in source.functions}
    tokens = [t for t in source.tokens if t.kind not in ("comment", "header", "directive")]
    for i, token in enumerate(tokens):
        if token.kind != "ident" or token.text not in names or token.text in own:
            continue
        before = tokens[i - 1].text if i > 0 else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if before in (".", "->", "struct", "union", "enum"):
            continue
        if after == "(" or token.text not in WORDS:
            yield token


def check_exceptions(root, used, problems):
    for (path, name), _ in EXCEPTIONS.items():
        if os.path.exists(os.path.join(root, path)) and (path, name) not in used:
            problems.append((path, 0, f"does not use {name}: take the exception back"))


def main(arguments):
    root = csource.root_of(arguments)
    names = seam_calls()
    problems = []
    used = set()
    files = [path for path in csource.find(root, ["lib"]) if not path.replace(os.sep, "/").startswith(BELOW)]
    for path in files:
        for token in uses(csource.load(root, path), names):
            plain = path.replace(os.sep, "/")
            if (plain, token.text) in EXCEPTIONS:
                used.add((plain, token.text))
            else:
                problems.append((path, token.line, f"{token.text} goes round the seam: {names[token.text]}"))
    check_exceptions(root, used, problems)
    return csource.report("seam", problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
