/*
 * What a host has of a process: its environment, limits and user, how it ends, the signals that it
 * sends to itself, and what its threads wait for.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net_rig.h"

#include "sim/scheduler.h"

/* Runs a host to its end. */
static void play(gyre_sim_boot_fn boot, void *arg, uint64_t seed)
{
	struct gyre_sim *sim = sim_make(seed);

	(void)sim_add(sim, "alpha", boot, arg);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert_not(sim->hosts[0]->up);
	gyre_sim_destroy(sim);
}

static int set_and_get(void *arg)
{
	(void)arg;
	cr_assert_null(getenv("HOME"));
	cr_assert_eq(setenv("HOME", "/tmp", 0), 0);
	cr_assert_eq(setenv("HOME", "/etc", 0), 0);
	cr_assert_str_eq(getenv("HOME"), "/tmp");
	cr_assert_eq(setenv("HOME", "/etc", 1), 0);
	cr_assert_str_eq(getenv("HOME"), "/etc");
	cr_assert_str_eq(getenv("GYRE_ENGINE"), "epoll");
	cr_assert_eq(unsetenv("HOME"), 0);
	cr_assert_null(getenv("HOME"));
	cr_assert_eq(setenv("A=B", "", 1), -1);
	cr_assert_eq(errno, EINVAL);
	return setenv("LEFT", "behind", 1);
}

static int find_nothing(void *arg)
{
	*(bool *)arg = getenv("LEFT") == NULL;
	return 0;
}

Test(sim_process, has_an_environment_of_its_own)
{
	struct gyre_sim *sim = sim_make(1);
	bool none = false;

	(void)sim_add(sim, "alpha", set_and_get, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	(void)sim_add(sim, "beta", find_nothing, &none);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert(none);
	gyre_sim_destroy(sim);
}

static int open_as_many_as_may_be(void *arg)
{
	const struct rlimit few = { .rlim_cur = 5, .rlim_max = 65536 };
	const struct rlimit many = { .rlim_cur = 65536, .rlim_max = 65537 };
	struct rlimit is;

	(void)arg;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &is), 0);
	cr_assert_eq(is.rlim_cur, 5);
	cr_assert_eq(open("/dev/null", O_RDONLY), 3);
	cr_assert_eq(open("/dev/null", O_RDONLY), 4);
	cr_assert_eq(open("/dev/null", O_RDONLY), -1);
	cr_assert_eq(errno, EMFILE);
	cr_assert_eq(dup2(0, 5), -1);
	cr_assert_eq(errno, EBADF);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &many), -1);
	cr_assert_eq(errno, EPERM);
	cr_assert_eq(setrlimit(RLIMIT_CORE, &few), -1);
	return 0;
}

Test(sim_process, has_no_more_descriptors_than_it_has_set)
{
	play(open_as_many_as_may_be, NULL, 1);
}

static int be_another(void *arg)
{
	struct stat status;
	int fd;

	(void)arg;
	cr_assert_eq(geteuid(), 0);
	cr_assert_eq(seteuid(1000), 0);
	cr_assert_eq(geteuid(), 1000);
	fd = open("/tmp/file", O_RDWR | O_CREAT, 0600);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_eq(status.st_uid, 1000);
	cr_assert_eq(fchown(fd, 7, 7), 0);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_eq(status.st_uid, 7);
	return close(fd);
}

Test(sim_process, makes_files_of_the_user_that_it_is)
{
	play(be_another, NULL, 1);
}

static void *end_all(void *arg)
{
	(void)arg;
	(void)usleep(1000);
	exit(3);
}

static int exit_in_a_thread(void *arg)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, end_all, NULL), 0);
	(void)pthread_join(thread, NULL);
	*(bool *)arg = true;
	return 0;
}

Test(sim_process, ends_where_one_of_its_threads_exits)
{
	bool went_on = false;

	play(exit_in_a_thread, &went_on, 1);
	cr_assert_not(went_on);
}

/* ---- signals ---- */

static int handled;

static void handle(int signo)
{
	handled = handled * 100 + signo;
}

static int signal_itself(void *arg)
{
	const struct sigaction action = { .sa_handler = handle };
	struct sigaction before;
	sigset_t one;

	(void)arg;
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	cr_assert_eq(raise(SIGUSR1), 0);
	cr_assert_eq(handled, SIGUSR1);
	cr_assert_eq(kill(getpid(), SIGUSR1), 0);
	cr_assert_eq(handled, SIGUSR1 * 101);
	cr_assert_eq(kill(1, SIGUSR1), -1);
	cr_assert_eq(errno, ESRCH);
	cr_assert_eq(signal(SIGUSR1, SIG_IGN), handle);
	cr_assert_eq(raise(SIGUSR1), 0);
	cr_assert_eq(sigaction(SIGUSR1, NULL, &before), 0);
	cr_assert_eq(before.sa_handler, SIG_IGN);
	cr_assert_eq(sigaction(64, &action, NULL), -1);
	cr_assert_eq(handled, SIGUSR1 * 101);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGUSR2);
	(void)pthread_sigmask(SIG_BLOCK, &one, NULL);
	cr_assert_eq(raise(SIGUSR2), 0); /* it waits, and would end all if it did not */
	cr_assert_eq(sigtimedwait(&one, NULL, &(struct timespec){ 0 }), SIGUSR2);
	return 0;
}

Test(sim_process, handles_what_it_sends_to_itself)
{
	play(signal_itself, NULL, 1);
}

/* ---- signals that are waited for ---- */

struct patience {
	int timed; /* what the call with a time has given */
	uint64_t waited_ns;
	int signo;
	int next;
};

static int wait_for_signals(void *arg)
{
	const struct timespec five_seconds = { .tv_sec = 5 };
	struct patience *patience = (struct patience *)arg;
	uint64_t since_ns = net_now_ns();
	sigset_t both;

	(void)sigemptyset(&both);
	(void)sigaddset(&both, SIGUSR1);
	(void)sigaddset(&both, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &both, NULL);
	cr_assert_eq(sigtimedwait(&both, NULL, &five_seconds), -1);
	patience->timed = errno;
	patience->waited_ns = net_now_ns() - since_ns;
	cr_assert_eq(sigwait(&both, &patience->signo), 0);
	net_pause(GYRE_SECONDS(10));
	patience->next = sigwaitinfo(&both, NULL);
	return 0;
}

Test(sim_process, waits_for_signals_from_outside)
{
	struct gyre_sim *sim = sim_make(1);
	struct patience patience = { 0 };
	uint32_t host = sim_add(sim, "alpha", wait_for_signals, &patience);

	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_eq(patience.timed, EAGAIN);
	cr_assert_geq(patience.waited_ns, GYRE_SECONDS(5));
	cr_assert_eq(gyre_sim_signal(sim, host, SIGUSR1), 0);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	cr_assert_eq(patience.signo, SIGUSR1);
	cr_assert_eq(gyre_sim_signal(sim, host, SIGTERM), 0, "it stays pending");
	cr_assert_eq(gyre_sim_signal(sim, host, SIGUSR2), -EOPNOTSUPP);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(20)), 0);
	cr_assert_eq(patience.next, SIGTERM);
	cr_assert_not(sim->hosts[0]->up);
	gyre_sim_destroy(sim);
}

static int exit_at_once(void *arg)
{
	*(bool *)arg = true;
	_exit(3);
}

Test(sim_process, ends_alone_where_it_exits_at_once)
{
	bool done = false;

	play(exit_at_once, &done, 1);
	cr_assert(done);
}

/* ---- waiting ---- */

static pthread_barrier_t barrier;
static uint32_t met;
static uint32_t serial;

static void *meet(void *arg)
{
	for (uint32_t i = 0; i < 3; i++) {
		(void)usleep((useconds_t)(uintptr_t)arg);
		met++;
		serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
		cr_assert(met >= 3 * (i + 1));
	}
	return NULL;
}

static int meet_thrice(void *arg)
{
	pthread_t threads[3];

	(void)arg;
	cr_assert_eq(pthread_barrier_init(&barrier, NULL, 3), 0);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(
			pthread_create(&threads[i], NULL, meet, (void *)(uintptr_t)(100 * i + 1)),
			0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	}
	cr_assert_eq(serial, 3);
	return pthread_barrier_destroy(&barrier);
}

Test(sim_process, has_threads_that_wait_for_each_other_at_a_barrier)
{
	play(meet_thrice, NULL, 1);
}

static int wait_by_its_clock(void *arg)
{
	struct timeval patience = { .tv_usec = 30000 };
	int fd = net_bind(SOCK_DGRAM, NET_PORT);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	struct epoll_event event;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	uint64_t times_ns[5];
	char byte;

	(void)arg;
	cr_assert_eq(fcntl(epoll, F_GETFD), FD_CLOEXEC);
	times_ns[0] = net_now_ns();
	net_pause(GYRE_MILLISECONDS(30));
	times_ns[1] = net_now_ns();
	cr_assert_eq(epoll_wait(epoll, &event, 1, 30), 0);
	times_ns[2] = net_now_ns();
	cr_assert_eq(poll(&polled, 1, 30), 0);
	times_ns[3] = net_now_ns();
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	cr_assert_eq(recv(fd, &byte, 1, 0), -1);
	times_ns[4] = net_now_ns();
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_geq(times_ns[i + 1] - times_ns[i], GYRE_MILLISECONDS(30), "%u", i);
	}
	return 0;
}

/* Their clocks run slower than that of the simulation, or faster. */
Test(sim_process, waits_no_less_by_its_own_clock_than_it_wanted)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		play(wait_by_its_clock, NULL, seed);
	}
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder) != NULL) {
		count++;
	}
	cr_assert_eq(closedir(folder), 0);
	return count;
}

static int open_and_count(void *arg)
{
	int before = count_descriptors();
	int fd = open("/dev/null", O_RDONLY);

	(void)arg;
	cr_assert_eq(before, 6, "the console, the folder, and its dots");
	cr_assert_eq(count_descriptors(), before + 1);
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(count_descriptors(), before);
	return 0;
}

Test(sim_process, can_count_its_descriptors)
{
	play(open_and_count, NULL, 1);
}

static int wait_for_nothing(void *arg)
{
	int fds[2];
	char byte;

	(void)arg;
	cr_assert_eq(pipe(fds), 0);
	return (int)read(fds[0], &byte, 1);
}

static void keep(const char *line, void *arg)
{
	(void)snprintf((char *)arg, 256, "%s", line);
}

Test(sim_process, tells_what_its_tasks_wait_for)
{
	struct gyre_sim *sim = sim_make(1);
	char line[256] = "";

	(void)sim_add(sim, "alpha", wait_for_nothing, NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	gy_sim_tasks_tell(sim, keep, line);
	cr_assert_str_eq(line, "alpha: task 0 waits for input of pipe (read)");
	gyre_sim_destroy(sim);
}
